"""`evimem bench run` and `bench systems` on a small file of our own, over a scripted server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from evimem.datasets import load_split
from evimem.interfaces.cli.main import cli


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
            "haystack_session_ids": ["answer_a", "b"],
            "answer_session_ids": ["answer_a"],
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
    (tmp_path / "longmemeval_oracle.json").write_text(json.dumps(records), encoding="utf-8")
    return tmp_path


@pytest.fixture
def model(chat_server: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """A server that answers "plant0", and judges it wrong beside the gold "plant1"."""

    def say(body: dict[str, Any], path: str, headers: object) -> object:
        told = body["messages"][-1]["content"]
        if "label" in json.dumps(body["messages"]):
            return json.dumps({"label": "WRONG" if "plant1" in told else "CORRECT"})
        return "plant0"

    chat_server.script = say
    monkeypatch.setenv("EVIMEM_EMBEDDER", "hash")
    monkeypatch.setenv("EVIMEM_PATH", str(tmp_path / "m.evimem"))
    monkeypatch.setenv("EVIMEM_LLM_URL", chat_server.openai_url)
    monkeypatch.setenv("EVIMEM_LLM_MODEL", "scripted")
    return chat_server


def bench(*args: str, code: int = 0) -> Result:
    result = CliRunner().invoke(cli, ["bench", *args])
    assert result.exit_code == code, (result.output, result.exception)
    return result


def arguments(data: Path, *more: str) -> list[str]:
    return [
        "run", "--data", str(data), "--set", "lme-oracle-500", "--keep", str(data / "rows"),
        "--out", str(data / "out"), "--cache", str(data / "cache"),
        "--system", "full-text", "--system", "naive-rag", "--system", "lite", *more,
    ]  # fmt: skip


def test_a_run_writes_a_page_markdown_and_json_and_a_second_one_asks_nothing(
    data: Path, model: Any
) -> None:
    first = bench(*arguments(data, "--judge", "mem0"))
    asked = len(model.seen)
    pages = {one.name: one.read_text(encoding="utf-8") for one in (data / "out").iterdir()}

    bench(*arguments(data, "--judge", "mem0"))

    assert set(pages) == {"report.html", "report.md", "report.json"}
    assert "full-text" in first.stdout and "1 right by mem0" in first.stdout
    assert asked > 0 and len(model.seen) == asked
    again = {one.name: one.read_text(encoding="utf-8") for one in (data / "out").iterdir()}
    assert again == pages
    report = json.loads(pages["report.json"])
    assert report["n"] == 2
    assert not any("bought" in page for page in pages.values()), "no word of the benchmark"


def test_another_judge_reads_the_same_answers_and_nothing_else_is_asked(
    data: Path, model: Any
) -> None:
    bench(*arguments(data))
    before = len(model.seen)

    bench(*arguments(data, "--judge", "strict"))

    added = model.seen[before:]
    assert added
    for one in added:
        told = one.body["messages"][-1]["content"]
        assert not any(head in told for head in ("Memories:", "Conversation:", "Passages:"))


def test_json_is_the_report_and_nothing_else(data: Path, model: Any) -> None:
    shown = bench(*arguments(data, "--json")).stdout

    assert json.loads(shown)["sections"][0]["name"] == "systems"


def test_a_dry_run_asks_nothing_and_says_what_a_run_would_cost(data: Path, model: Any) -> None:
    shown = bench(*arguments(data, "--dry-run")).stdout

    assert len(model.seen) == 0
    assert "full-text           4 calls" in shown
    assert not (data / "rows" / "run.json").exists()


def test_without_a_model_every_system_shows_what_it_finds_alone(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVIMEM_EMBEDDER", "hash")

    shown = bench(*arguments(data, "--no-model")).stdout

    assert "naive-rag           2 asked, 0 failed" in shown
    told = bench(*arguments(data, "--no-model", "--judge", "mem0"), code=2).output
    assert "nothing to judge" in told


def test_a_sweep_runs_a_system_of_mera_at_every_k(data: Path, model: Any) -> None:
    more = ("--sweep", "mera-on-turns", "--sweep-k", "2", "--sweep-k", "4", "--rounds", "2")

    shown = bench(*arguments(data, *more)).stdout

    assert "mera-k2-t10" in shown and "mera-k4-t10" in shown
    told = bench(*arguments(data, "--sweep", "lite"), code=2).output
    assert "'lite' cannot be swept: name a recipe of MERA" in told


def test_a_budget_ends_the_run_clearly(data: Path, model: Any) -> None:
    told = bench(*arguments(data, "--max-calls", "1"), code=3).output

    assert "1 calls of 1" in told and "goes on from here" in told


def test_wrong_names_are_told_with_what_there_is(data: Path, model: Any) -> None:
    told = bench("run", "--set", "locomo-99", "--keep", str(data), "--data", str(data), code=2)
    assert "no set 'locomo-99'; there are" in told.output
    told = bench(*arguments(data, "--system", "nope"), code=2)
    assert "no system 'nope'" in told.output
    told = bench(*arguments(data, "--system", "package:nope"), code=2)
    assert "nope" in told.output


def test_systems_are_listed_with_how_they_differ() -> None:
    shown = bench("systems").stdout

    assert "a-mem" in shown and "differs:" in shown and "package:mem0ai-1.0.11" in shown
    assert {"full-text", "mem-t", "lite"} <= {
        one["name"] for one in json.loads(bench("systems", "--json").stdout)
    }
