"""The command line: every command parses, answers in words and in JSON, and fails clearly."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from evimem.interfaces.cli.main import cli

Run = Callable[..., Result]

CHAT = [
    {"id": "1", "ts": "2024-03-05T10:00:00Z", "speaker": "Ana", "text": "I adopted a parrot."},
    {"id": "2", "ts": "2024-03-05T10:01:00Z", "speaker": "Bo", "text": "What is it called?"},
    {
        "id": "3",
        "ts": "2024-06-05T10:01:00Z",
        "speaker": "Ana",
        "text": "The parrot is called Kiwi",
    },
]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("EVIMEM_PATH", str(tmp_path / "m.evimem"))
    monkeypatch.setenv("EVIMEM_EMBEDDER", "hash")

    def call(*args: str, code: int = 0, **more: Any) -> Result:
        result = CliRunner().invoke(cli, args, **more)
        assert result.exit_code == code, (result.output, result.stderr, result.exception)
        return result

    return call


@pytest.fixture
def chat(tmp_path: Path, run: Run) -> Path:
    path = tmp_path / "chat.jsonl"
    lines = (json.dumps({"session_id": "s1", **row}) for row in CHAT)
    path.write_text("\n".join(lines), encoding="utf-8")
    run("import", str(path))
    return path


def test_import_gives_a_receipt_and_again_adds_nothing(run: Run, chat: Path) -> None:
    again = json.loads(run("import", str(chat), "--json").stdout)
    assert (again["stored"], again["unchanged"], again["failed"]) == (0, 3, [])


def test_ask_prints_answer_citation_and_rounds(run: Run, chat: Path) -> None:
    shown = run("ask", "What is the parrot called?").stdout
    assert "Kiwi" in shown
    assert "round 1" in shown
    data = json.loads(run("ask", "What is the parrot called?", "--json").stdout)
    assert data["status"] == "supported"
    assert data["citations"][0]["source_id"] == "3"


def test_ask_about_nothing_stored_exits_with_1(run: Run, chat: Path) -> None:
    shown = run("ask", "What does the submarine cost?", code=1).stdout
    assert "not in memory" in shown


def test_search_filters_by_time_and_speaker(run: Run, chat: Path) -> None:
    found = json.loads(run("search", "parrot", "--since", "2024-06", "--json").stdout)
    assert [hit["source_id"] for hit in found["hits"]] == ["3"]
    found = json.loads(run("search", "parrot", "--until", "2024-03-05", "--json").stdout)
    assert "3" not in [hit["source_id"] for hit in found["hits"]]
    run("search", "parrot", "--since", "2030", code=1)
    assert "ranks:" in run("search", "parrot", "--explain").stdout


def test_trace_show_last_has_query_why_ranks_decision(run: Run, chat: Path) -> None:
    run("ask", "What is the parrot called?")
    shown = run("trace", "show", "LAST").stdout
    for word in ("query:", "why:", "bm25:", "accept", "stopped:"):
        assert word in shown
    fate = run("trace", "show", "LAST", "--turn", "3").stdout
    assert "round 1: rank" in fate
    assert len(json.loads(run("trace", "list", "--json").stdout)) == 1


def test_forget_removes_and_says_so(run: Run, chat: Path) -> None:
    shown = run("forget", "--speaker", "Ana").stdout
    assert "erased: 2 turns" in shown
    assert "no byte" in shown
    assert "Kiwi" not in run("search", "Kiwi").stdout


def test_export_show_history_sessions_context_banks_where_doctor_work(
    run: Run, chat: Path, tmp_path: Path
) -> None:
    run("export", "-o", str(tmp_path / "out.jsonl"))
    lines = (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["type"] for line in lines].count("turn") == 3
    run("export", "-o", str(tmp_path / "out.jsonl"), code=2)
    assert "> 3" in run("show", "3").stdout
    assert json.loads(run("history", "3", "--json").stdout)
    assert len(json.loads(run("sessions", "--json").stdout)) == 1
    assert "[e1]" in run("context", "parrot").stdout
    assert json.loads(run("banks", "--json").stdout)[0]["turns"] == 3
    assert json.loads(run("where", "--json").stdout)["set_by"] == "EVIMEM_PATH"
    assert "all is well" in run("doctor").stdout
    assert json.loads(run("embed", "--json").stdout) == {"embedded": 0}
    assert json.loads(run("reindex", "--json").stdout) == {"embedded": 3}
    run("backup", str(tmp_path / "copy.evimem"))
    assert (tmp_path / "copy.evimem").exists()


@pytest.mark.parametrize(
    ("args", "code", "told"),
    [
        (("show", "D9:9"), 2, "no turn or item 'D9:9'"),
        (("trace", "show"), 2, "no question has been asked"),
        (("search", "x", "--since", "last tuesday"), 2, "'last tuesday'"),
        (("ask", " "), 2, "empty"),
        (("forget",), 2, "exactly one"),
        (("import", "no-such-file.json"), 2, "no-such-file.json"),
        (("search", "x", "--bank", "a/b"), 2, "a/b"),
        (("add", "x", "--at", "32 March"), 2, "32 March"),
    ],
)
def test_errors_are_one_clear_line_and_an_exit_code(
    run: Run, args: tuple[str, ...], code: int, told: str
) -> None:
    result = run(*args, code=code)
    assert told in result.stderr
    assert "Traceback" not in result.output
    data = json.loads(run(*args, "--json", code=code).stdout)
    assert told in data["error"]["message"]


def test_a_file_that_is_no_bank_exits_with_4_and_is_left_alone(run: Run, tmp_path: Path) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("my notes", encoding="utf-8")
    run("banks", "--path", str(other), code=4)
    assert other.read_text(encoding="utf-8") == "my notes"


def test_bad_settings_are_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVIMEM_EMBEDDER", "wishful")
    assert "EVIMEM_EMBEDDER is 'wishful'" in run("search", "x", code=2).stderr


def test_case_p049_text_survives_the_command_line_under_the_c_locale(tmp_path: Path) -> None:
    env = {
        **{k: v for k, v in os.environ.items() if not k.startswith("EVIMEM_")},
        "LC_ALL": "C",
        "EVIMEM_PATH": str(tmp_path / "m.evimem"),
        "EVIMEM_EMBEDDER": "none",
    }
    base = [sys.executable, "-m", "evimem.interfaces.cli.main"]
    subprocess.run([*base, "add", "東京に行きました 😀"], env=env, check=True, capture_output=True)
    done = subprocess.run([*base, "export"], env=env, check=True, capture_output=True)
    assert "東京に行きました 😀" in done.stdout.decode("utf-8")


def _leaves(
    command: click.Command, words: tuple[str, ...]
) -> list[tuple[tuple[str, ...], click.Command]]:
    if not isinstance(command, click.Group):
        return [(words, command)]
    found = []
    for name, inner in command.commands.items():
        found += _leaves(inner, (*words, name))
    return found


@pytest.mark.parametrize(
    ("words", "command"), [pytest.param(w, c, id="-".join(w)) for w, c in _leaves(cli, ())]
)
def test_every_command_has_help_with_an_example_and_json(
    words: tuple[str, ...], command: click.Command
) -> None:
    help_text = CliRunner().invoke(cli, [*words, "--help"]).output
    assert "Example" in help_text
    assert f"evimem {' '.join(words)}" in help_text
    assert "--json" in help_text


def test_case_p130_every_way_of_choosing_the_file_leads_to_the_same_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def chosen(*args: str) -> dict[str, Any]:
        result = CliRunner().invoke(cli, ["where", "--json", *args])
        data: dict[str, Any] = json.loads(result.stdout)
        return data

    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    assert chosen()["path"] == str(tmp_path / ".local/share/evimem/memory.evimem")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert chosen()["path"] == str(tmp_path / "data/evimem/memory.evimem")
    monkeypatch.setenv("EVIMEM_PATH", str(tmp_path / "env.evimem"))
    assert chosen() == {**chosen(), "path": str(tmp_path / "env.evimem"), "set_by": "EVIMEM_PATH"}
    flagged = chosen("--path", str(tmp_path / "flag.evimem"))
    assert (flagged["path"], flagged["set_by"]) == (str(tmp_path / "flag.evimem"), "argument")


def test_demo_imports_answers_and_keeps_nothing(run: Run, tmp_path: Path) -> None:
    data = json.loads(run("demo", "--json").stdout)
    assert data["import"]["stored"] == 40
    statuses = [answer["status"] for answer in data["answers"]]
    assert statuses[-1] == "not_in_memory"
    assert not (tmp_path / "m.evimem").exists()
