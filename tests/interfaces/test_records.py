"""`evimem manage` and `evimem records`: summaries, chains, corrections, exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from evimem.interfaces.cli.main import cli

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chat_server: Any) -> Run:
    """The command on a bank of two sessions with the scripted server as its model."""
    monkeypatch.setenv("EVIMEM_PATH", str(tmp_path / "m.evimem"))
    monkeypatch.setenv("EVIMEM_EMBEDDER", "hash")
    monkeypatch.setenv("EVIMEM_LLM_URL", chat_server.openai_url)
    monkeypatch.setenv("EVIMEM_LLM_MODEL", "small")
    chat_server.script = lambda body, path, headers: reply(body)
    said = [("s1", "2024-05-01", "I live in Leeds."), ("s1", "2024-05-01", "I have a parrot."),
            ("s2", "2026-02-10", "I moved to York.")]  # fmt: skip
    lines = [
        json.dumps({"session_id": session, "id": f"m{n}", "speaker": "Ana", "text": text,
                    "ts": f"{day}T10:0{n}:00Z"})
        for n, (session, day, text) in enumerate(said)
    ]  # fmt: skip
    source = tmp_path / "chat.jsonl"
    source.write_text("\n".join(lines), encoding="utf-8")

    def call(*args: str, code: int = 0) -> Result:
        result = CliRunner().invoke(cli, args)
        assert result.exit_code == code, (result.output, result.stderr, result.exception)
        return result

    call("import", str(source))
    return call


def reply(body: dict[str, Any]) -> str:
    """Searches, writes one record per new turn too early, then in its place, then finishes."""
    messages = body["messages"]
    answered = sum(message["role"] == "assistant" for message in messages)
    turns = json.loads(messages[1]["content"])["new_turns"]
    create = [("create_memory", {"content": f"Ana says: {turn['text']}"}) for turn in turns]
    search = ("memory_search", {"query": turns[0]["text"]})
    steps: list[Any] = [[search, create[0]], create, [("finish_event", {})]]
    return "\n".join(
        f"<tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>"
        for name, arguments in steps[min(answered, 2)]
    )


def ids(run: Run) -> list[str]:
    found = json.loads(run("records", "list", "--json").stdout)
    return [one["record"]["record_id"] for one in found]


def test_manage_tells_events_changes_calls_and_what_was_refused(run: Run, chat_server: Any) -> None:
    shown = run("manage").stdout
    assert "2 events with 3 turns in" in shown and "6 calls" in shown
    assert "changes of records: 3 create; 3 records now, 0 events still to be done" in shown
    assert "6 responses, 100.0% with a call that could be read" in shown
    assert "2 writes refused, 0 finishes bundled" in shown
    assert "refused calls: 2 write_gate" in shown
    again = json.loads(run("manage", "--json").stdout)
    assert (again["events"], again["calls"], again["pending"]) == (0, 0, 0)
    assert again["format_rate"] is None
    assert len(chat_server.seen) == 6


def test_limit_session_and_ceilings_bound_a_run(run: Run, chat_server: Any) -> None:
    assert "1 events with 2 turns" in run("manage", "--limit", "1").stdout
    run("manage", "--session", "s1")
    assert len(chat_server.seen) == 3
    shown = run("manage", "--max-calls", "1", code=3).stdout
    assert "stopped: no call is left" in shown and "1 events still to be done" in shown
    run("manage", "--max-tokens", "5", code=3)
    run("manage", "--session", "s9", code=2)
    data = json.loads(run("manage", "--json").stdout)
    assert (data["events"], data["records"], data["bundled"], data["forced"]) == (1, 3, 0, 0)


def test_a_refused_event_is_told_with_code_3_and_a_bad_key_with_5(
    run: Run, chat_server: Any
) -> None:
    told = "I cannot help with that."
    chat_server.script = lambda body, path, headers: chat_server.reply(told, finish="refusal")
    shown = run("manage", "--limit", "1", code=3).stdout
    assert "refused: provider:" in shown and "0 events with 0 turns" in shown
    chat_server.script = lambda body, path, headers: chat_server.reply("bad key", status=401)
    assert "0 of 1 events" in run("manage", code=5).stderr
    assert run("records", "list", code=1).stdout.startswith("no records: `evimem manage`")


def test_lite_needs_no_model_and_the_chain_shows_dates_and_turns(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EVIMEM_LLM_URL")
    monkeypatch.delenv("EVIMEM_LLM_MODEL")
    assert "manage --lite" in run("manage", code=2).stderr
    shown = run("manage", "--lite").stdout
    assert "changes of records: 2 create, 1 update; 2 records now" in shown
    listed = run("records", "list").stdout
    assert "Ana moved to York." in listed
    assert "changed once; before: Ana lives in Leeds." in listed
    chain = run("records", "show", ids(run)[0]).stdout.splitlines()
    assert chain[0] == "2024-05-01 create (event 1)"
    assert "  [m0] Ana: I live in Leeds." in chain
    assert "2026-02-10 update (event 2)" in chain and "  before: Ana lives in Leeds." in chain
    assert "  [m2] Ana: I moved to York." in chain
    then = run("records", "list", "--as-of", "2025").stdout
    assert "Ana lives in Leeds." in then and "York" not in then
    run("records", "list", "--as-of", "2020", code=1)
    data = json.loads(run("records", "show", ids(run)[0], "--json").stdout)
    assert [op["kind"] for op in data["history"]] == ["create", "update"]
    assert len(data["turns"]) == 3


def test_records_are_corrected_deleted_and_brought_back(run: Run) -> None:
    run("manage", "--lite")
    ref = ids(run)[0]
    told = run("records", "update", ref, "Ana moved to Porto.", "--reason", "wrong city").stdout
    assert told.startswith(f"update: {ref}") and "Ana moved to Porto." in told
    assert "(by hand)" in run("records", "show", ref).stdout
    data = json.loads(run("records", "delete", ref, "--json").stdout)
    assert (data["kind"], data["before"]) == ("delete", "Ana moved to Porto.")
    assert ref not in ids(run)
    assert run("records", "undo", ref).stdout.startswith(f"create: {ref}")
    assert ref in ids(run)
    run("records", "update", ref, " ", code=2)
    for action in ("show", "delete", "undo"):
        assert "records list" in run("records", action, "absent", code=2).stderr
    error = json.loads(run("records", "undo", "absent", "--json", code=2).stdout)["error"]
    assert error["type"] == "NotFound"


def test_records_that_contradict_each_other_are_pointed_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVIMEM_PATH", str(tmp_path / "c.evimem"))
    monkeypatch.setenv("EVIMEM_EMBEDDER", "none")

    def evimem(*args: str) -> str:
        done = CliRunner().invoke(cli, args)
        assert done.exit_code == 0, done.output
        return done.output

    evimem("add", "I live in Porto.", "--speaker", "Ana", "--at", "2031-03-01T10:00:00Z")
    evimem("add", "I play the cello.", "--speaker", "Ana", "--at", "2031-03-02T10:00:00Z")
    evimem("manage", "--lite")
    assert "no two records" in evimem("records", "conflicts")
    listed = json.loads(evimem("records", "list", "--json"))
    cello = next(one["record"]["record_id"] for one in listed if "cello" in str(one))
    evimem("records", "update", cello, "Ana lives in Lisbon.")
    shown = evimem("records", "conflicts")
    assert "Porto" in shown and "Lisbon" in shown and "1 pairs" in shown
    (pair,) = json.loads(evimem("records", "conflicts", "--json"))
    assert set(pair) == {"older", "newer"}
