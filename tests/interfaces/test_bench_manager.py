"""`evimem bench manager` and `bench rejudge` on a small file of our own, with scripted models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from evimem.datasets import load_split
from evimem.interfaces.cli import bench_manager
from evimem.interfaces.cli.main import cli
from evimem.llm.scripted import ScriptedModels
from evimem.model.chat import ChatRequest


@pytest.fixture(autouse=True)
def exact(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("EVIMEM_EMBEDDER", "hash")
    monkeypatch.setenv("EVIMEM_PATH", str(tmp_path / "m.evimem"))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Two questions, each with a haystack of two sessions; their ids are of the benchmark."""
    ids = load_split("longmemeval", "500").question_ids[:2]
    records = [
        {
            "question_id": one,
            "question_type": "single-session-user",
            "question": "Which plant did I buy?",
            "answer": f"plant{number}",
            "question_date": "2023/06/01 (Thu) 10:00",
            "haystack_dates": ["2023/05/01 (Mon) 09:00", "2023/05/02 (Tue) 09:00"],
            "haystack_session_ids": ["a", "b"],
            "answer_session_ids": ["a"],
            "haystack_sessions": [
                [
                    {"role": "user", "content": f"I bought a plant{number}.", "has_answer": True},
                    {"role": "assistant", "content": "Nice."},
                ],
                [{"role": "user", "content": "My desk is made of oak."}],
            ],
        }
        for number, one in enumerate(ids)
    ]
    path = tmp_path / "longmemeval_oracle.json"
    path.write_text(json.dumps(records), encoding="utf-8")
    return path


def scripted(label: str = "CORRECT") -> ScriptedModels:
    def say(request: ChatRequest) -> str:
        if request.role == "answer":
            return "ANSWER: plant0"
        if request.role == "judge":
            return json.dumps({"label": label})
        said = [one for one in request.messages if one.role == "assistant"]
        call: dict[str, Any] = {"name": "finish_event", "arguments": {}}
        if not said:
            call = {"name": "memory_search", "arguments": {"query": "plant"}}
        elif len(said) == 1 and "new_turns" in request.messages[1].text:
            call = {"name": "create_memory", "arguments": {"content": "The user bought plant0."}}
        return f"<tool_call>{json.dumps(call)}</tool_call>"

    return ScriptedModels(say)


def bench(*args: str, code: int = 0) -> Result:
    result = CliRunner().invoke(cli, ["bench", *args])
    assert result.exit_code == code, (result.output, result.exception)
    return result


def given(data: Path, tmp_path: Path, *more: str) -> tuple[str, ...]:
    return (
        "manager", "--data", str(data), "--dataset", "longmemeval", "--part", "test",
        "--out", str(tmp_path / "out"), *more,
    )  # fmt: skip


def use(monkeypatch: pytest.MonkeyPatch, models: ScriptedModels | None) -> None:
    monkeypatch.setattr(bench_manager, "build_models", lambda settings: models)


def test_without_a_model_the_lite_manager_reports_what_needs_none(
    data: Path, tmp_path: Path
) -> None:
    shown = bench(*given(data, tmp_path, "--lite")).stdout
    assert "2 conversations, 4 events" in shown
    assert any(line.split()[:3] == ["overall", "2", "0"] for line in shown.splitlines())
    assert "storage ceiling" not in shown
    report = json.loads((tmp_path / "out" / "manager.json").read_text(encoding="utf-8"))
    assert report["kind"] == "manager"
    assert report["cells"][0]["j"] is None
    assert report["manifest"]["part"] == report["cells"][0]["set_id"]
    assert "plant" not in json.dumps(report)


def test_json_is_the_report(data: Path, tmp_path: Path) -> None:
    printed = bench(*given(data, tmp_path, "--lite", "--json")).stdout
    written = (tmp_path / "out" / "manager.json").read_text(encoding="utf-8")
    assert json.loads(printed) == json.loads(written)


def test_with_models_it_gives_j_and_the_ceiling_and_a_second_run_makes_no_call(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = scripted()
    use(monkeypatch, models)
    keep = str(tmp_path / "rows")
    first = bench(*given(data, tmp_path, "--keep", keep, "--searches", "1", "--searches", "8"))
    assert "100.00 (2/2)" in first.stdout
    assert "storage ceiling 100.00% (2/2)" in first.stdout
    assert "tokens of searching and answering" in first.stdout
    made = len(models.requests)
    again = bench(*given(data, tmp_path, "--keep", keep, "--searches", "1", "--searches", "8"))
    assert again.stdout == first.stdout
    assert len(models.requests) == made


def test_events_and_questions_cut_the_run_and_its_name(data: Path, tmp_path: Path) -> None:
    shown = bench(*given(data, tmp_path, "--lite", "--events", "1", "--questions", "1")).stdout
    assert "first 1 events, first 1 questions@" in shown
    assert "1 conversations, 1 events" in shown


def test_uni_66_rejudge_asks_the_judge_alone(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, scripted())
    keep = str(tmp_path / "rows")
    bench(*given(data, tmp_path, "--keep", keep))
    prompts = tmp_path / "prompts"
    prompts.mkdir()
    (prompts / "uni.judge.txt").write_text("{question} {answer} {response}", encoding="utf-8")
    monkeypatch.setenv("EVIMEM_PROMPTS", str(prompts))
    strict = scripted("WRONG")
    use(monkeypatch, strict)
    report = str(tmp_path / "out" / "manager.json")
    shown = bench("rejudge", report, "--keep", keep, "--data", str(data)).stdout
    assert "100.00 (2/2)" in shown
    assert "0.00 (0/2)" in shown
    assert "uni.judge@file#" in shown
    assert {request.role for request in strict.requests} == {"judge"}
    assert strict.requests[0].messages[0].text == "Which plant did I buy? plant0 plant0"
    both = json.loads(
        bench("rejudge", report, "--keep", keep, "--data", str(data), "--json").stdout
    )
    assert [one["groups"][0]["correct"] for one in both] == [2, 0]
    assert len(strict.requests) == 2


def test_ben_7_rejudge_takes_a_profile_of_the_benchmark(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, scripted())
    keep = str(tmp_path / "rows")
    bench(*given(data, tmp_path, "--keep", keep))
    models = ScriptedModels(lambda request: "no")
    use(monkeypatch, models)
    report = str(tmp_path / "out" / "manager.json")
    again = ("rejudge", report, "--keep", keep, "--data", str(data), "--judge", "longmemeval")
    shown = bench(*again).stdout
    assert "0.00 (0/2)" in shown
    assert "judge.longmemeval@1#" in shown
    assert {request.role for request in models.requests} == {"judge"}
    bench(*again)
    assert len(models.requests) == 2


def test_what_cannot_be_done_is_said(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "use --lite" in bench(*given(data, tmp_path), code=2).output
    wrong = bench("manager", "--data", str(data), "--dataset", "locomo", "--lite", code=2)
    assert "name it with --dataset" in wrong.output
    part = given(data, tmp_path, "--lite", "--part", "val")
    assert "no part 'val'" in bench(*part, code=2).output
    use(monkeypatch, scripted())
    keep = tmp_path / "rows"
    bench(*given(data, tmp_path, "--lite", "--keep", str(keep)))
    monkeypatch.setenv("EVIMEM_EMBEDDER", "none")
    other = bench(*given(data, tmp_path, "--lite", "--keep", str(keep)), code=2)
    assert "were made with embedder" in other.output
    report = str(tmp_path / "out" / "manager.json")
    empty = tmp_path / "empty"
    empty.mkdir()
    lost = bench("rejudge", report, "--keep", str(empty), "--data", str(data), code=2)
    assert "no stored answer" in lost.output
    broken = tmp_path / "broken.json"
    broken.write_text("{}", encoding="utf-8")
    said = bench("rejudge", str(broken), "--keep", str(empty), "--data", str(data), code=2)
    assert "is no report of `bench manager`" in said.output
    use(monkeypatch, None)
    bare = bench("rejudge", report, "--keep", str(keep), "--data", str(data), code=2)
    assert "no model is set to judge" in bare.output
