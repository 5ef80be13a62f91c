"""`evimem build`: facts over the scripted server, the estimate, the status, exit codes."""

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
    """The command on a bank of 20 turns with the scripted server as its model."""
    models = tmp_path / "models.toml"
    models.write_text(
        f"""
        [roles]
        default = "small"
        [endpoints.small]
        kind = "openai"
        url = "{chat_server.openai_url}"
        model = "small"
        price_in = 1.0
        price_out = 2.0
        """,
        encoding="utf-8",
    )
    monkeypatch.setenv("EVIMEM_PATH", str(tmp_path / "m.evimem"))
    monkeypatch.setenv("EVIMEM_EMBEDDER", "none")
    monkeypatch.setenv("EVIMEM_MODELS", str(models))
    chat_server.script = lambda body, path, headers: reply(body)
    lines = [
        json.dumps({"session_id": f"s{n // 10}", "id": f"m{n}", "speaker": "Ana",
                    "text": f"Ana saw bird {n}", "ts": "2024-03-05T10:00:00Z"})
        for n in range(20)
    ]  # fmt: skip
    source = tmp_path / "chat.jsonl"
    source.write_text("\n".join(lines), encoding="utf-8")

    def call(*args: str, code: int = 0) -> Result:
        result = CliRunner().invoke(cli, args)
        assert result.exit_code == code, (result.output, result.stderr, result.exception)
        return result

    call("import", str(source))
    return call


def said(body: dict[str, Any]) -> str:
    text: str = json.loads(body["messages"][1]["content"])["turn"]["text"]
    return text


def reply(body: dict[str, Any]) -> dict[str, Any]:
    return {"facts": [{"text": said(body), "keywords": ["bird"], "topics": ["nature"]}]}


def test_build_facts_tells_turns_facts_calls_tokens_and_cost(run: Run, chat_server: Any) -> None:
    shown = run("build", "facts").stdout
    assert "20 turns read" in shown and "20 calls" in shown
    assert "20/20 turns extracted: 20 facts of 20 turns" in shown
    assert ", cost 0.0" in shown
    again = json.loads(run("build", "facts", "--json").stdout)
    assert (again["built"], again["calls"], again["cost"]) == (0, 0, 0.0)
    assert (again["state"]["done"], again["state"]["pending"]) == (20, 0)
    assert len(chat_server.seen) == 20


def test_the_dry_run_sends_nothing_and_tells_what_it_would_take(run: Run, chat_server: Any) -> None:
    shown = run("build", "facts", "--dry-run").stdout
    assert "20 turns to read with small@http" in shown and "about 20 calls" in shown
    assert "cost 0.0" in shown and "20 pending" in shown
    data = json.loads(run("build", "facts", "--dry-run", "--limit", "5", "--json").stdout)
    assert (data["turns"], data["calls"]) == (5, 5)
    assert data["cost"] == pytest.approx((data["tokens_in"] + 2 * data["tokens_out"]) / 1e6)
    assert chat_server.seen == []


def test_limit_and_session_bound_a_run_and_status_names_what_is_left(run: Run) -> None:
    run("build", "facts", "--limit", "3")
    run("build", "facts", "--session", "s1", "--workers", "2")
    shown = run("build", "status").stdout
    assert "13/20 turns extracted" in shown and "7 pending" in shown
    assert "session s0: 3 of 10 turns done, 0 failed, 7 pending" in shown
    assert "session s1" not in shown
    data = json.loads(run("build", "status", "--json").stdout)
    assert [(one["source_id"], one["pending"]) for one in data["sessions"]] == [
        ("s0", 7), ("s1", 0),
    ]  # fmt: skip
    run("build", "facts", "--session", "s9", code=2)


def test_a_ceiling_that_stops_a_run_is_told_with_code_3(run: Run, chat_server: Any) -> None:
    shown = run("build", "facts", "--max-calls", "4", code=3).stdout
    assert "stopped: no call is left" in shown and "16 pending" in shown
    run("build", "facts", "--max-tokens", "10", code=3)
    run("build", "facts")
    assert len(chat_server.seen) == 20


def test_case_p019_failures_above_the_share_fail_the_command_and_failed_reads_only_them(
    run: Run, chat_server: Any
) -> None:
    def broken(body: dict[str, Any], path: str, headers: dict[str, str]) -> Any:
        return "no JSON" if said(body).endswith("7") else reply(body)

    chat_server.script = broken
    shown = run("build", "facts", code=3).stdout
    assert "20/20 turns extracted" in shown and "2 stand as their own words" in shown
    assert "causes: 2 x invalid_reply" in shown
    assert "evimem build facts --failed" in shown
    asked = len(chat_server.seen)
    run("build", "facts", code=3)
    assert len(chat_server.seen) == asked
    chat_server.script = lambda body, path, headers: reply(body)
    data = json.loads(run("build", "facts", "--failed", "--json").stdout)
    assert (data["built"], data["state"]["fallback"]) == (2, 0)
    assert len(chat_server.seen) == asked + 2


def test_a_share_of_failures_up_to_the_limit_is_told_and_is_no_failure(
    run: Run, chat_server: Any
) -> None:
    chat_server.script = lambda body, path, headers: (
        "no JSON" if said(body).endswith(" 7") else reply(body)
    )
    assert "1 stand as their own words" in run("build", "facts").stdout


def test_a_wrong_key_ends_with_code_5_and_one_clear_message(run: Run, chat_server: Any) -> None:
    chat_server.script = lambda body, path, headers: chat_server.reply("bad key", status=401)
    result = run("build", "facts", "--workers", "1", code=5)
    assert "0 of 20 turns were read before" in result.stderr
    assert len(chat_server.seen) == 1


def test_without_a_model_the_command_says_how_to_set_one(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EVIMEM_MODELS")
    for words in (("build", "facts"), ("build", "facts", "--dry-run"), ("build", "status")):
        assert "no model is configured: set EVIMEM_LLM_URL" in run(*words, code=2).stderr


def test_show_lists_the_facts_of_a_turn(run: Run) -> None:
    run("build", "facts")
    shown = run("show", "m3").stdout
    assert shown.count("fact f_") == 1 and "Ana saw bird 3" in shown
    data = json.loads(run("show", "m3", "--json").stdout)
    assert data["entry"]["turn_id"].startswith("t_")
    (fact,) = data["facts"]
    assert fact["attrs"]["keywords"] == ["bird"]
    assert json.loads(run("show", fact["item_id"], "--json").stdout)["facts"] == [fact]
