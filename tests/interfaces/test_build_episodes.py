"""`evimem build episodes`: both forms, the estimate, the status, exit codes."""

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
    """The command on a bank of 20 turns in two sessions with the scripted server as its model."""
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
                    "text": f"I saw bird number {n} today.", "ts": f"2024-03-0{n // 10 + 1}"})
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


def reply(body: dict[str, Any]) -> Any:
    """A plain reply to any prompt of the builders."""
    seen = json.loads(body["messages"][1]["content"])
    numbers = [one["n"] for one in seen.get("messages", ())]
    words = " ".join(one["text"] for one in seen.get("messages", ()))
    every: dict[str, Any] = {
        "episodes": [{"topic": "birds", "messages": numbers}],
        "title": "Birds that Ana saw", "narrative": f"Ana said: {words}",
        "statements": [{"text": f"Ana saw: {words[:22]}", "messages": numbers[:1]}],
        "prediction": "Ana saw a bird.", "decision": "new", "number": 0, "facts": [],
    }  # fmt: skip
    wanted = body["response_format"]["json_schema"]["schema"]["properties"]
    return {key: value for key, value in every.items() if key in wanted}


def test_build_episodes_tells_batches_items_calls_tokens_and_cost(
    run: Run, chat_server: Any
) -> None:
    shown = run("build", "episodes").stdout
    assert "2 batches made in" in shown and "7 calls" in shown and ", cost 0.0" in shown
    assert "2/2 batches made, form episodes: 2 episodes, 2 semantic facts" in shown
    again = json.loads(run("build", "episodes", "--json").stdout)
    assert (again["built"], again["calls"], again["cost"], again["replaced"]) == (0, 0, 0.0, 0)
    assert (again["state"]["done"], again["state"]["turns"]) == (2, 20)
    assert len(chat_server.seen) == 7


def test_the_dry_run_sends_nothing_and_tells_what_it_would_take(run: Run, chat_server: Any) -> None:
    shown = run("build", "episodes", "--dry-run").stdout
    assert "20 turns in 2 batches to make with small@http" in shown and "roughly 14 calls" in shown
    assert "cost 0.0" in shown and "no episodes yet, 20 turns wait" in shown
    data = json.loads(run("build", "episodes", "--dry-run", "--limit", "1", "--json").stdout)
    assert (data["batches"], data["turns"]) == (1, 10)
    assert data["cost"] == pytest.approx((data["tokens_in"] + 2 * data["tokens_out"]) / 1e6)
    lite = run("build", "episodes", "--lite", "--dry-run").stdout
    assert "20 turns in 2 sessions to make without a model" in lite
    assert chat_server.seen == []


def test_the_lite_form_needs_no_model_and_status_shows_it(
    run: Run, monkeypatch: pytest.MonkeyPatch, chat_server: Any
) -> None:
    monkeypatch.delenv("EVIMEM_MODELS")
    wrong = run("build", "episodes", code=2).stderr
    assert "no model is configured" in wrong and "evimem build episodes --lite" in wrong
    shown = run("build", "episodes", "--lite").stdout
    assert "2 sessions made in" in shown and "2/2 sessions made, form lite_spaces/1" in shown
    assert "calls" not in shown
    status = run("build", "status").stdout
    assert "facts: no model is configured" in status and "2/2 sessions made" in status
    data = json.loads(run("build", "status", "--json").stdout)
    assert set(data) == {"episodes"} and data["episodes"]["done"] == 2
    assert json.loads(run("build", "episodes", "--lite", "--json").stdout)["built"] == 0
    assert chat_server.seen == []


def test_building_one_form_takes_out_the_other_and_says_so(run: Run) -> None:
    run("build", "episodes", "--lite")
    shown = run("build", "episodes", "--dry-run").stdout
    assert "episodes and facts of the other form: they go as soon as this one is built" in shown
    shown = run("build", "episodes").stdout
    assert "of the other form were taken out: a bank holds one form" in shown
    assert "they go as soon" not in shown


def test_status_shows_facts_and_episodes_in_one_document(run: Run) -> None:
    first = run("build", "status").stdout
    assert "0/20 turns extracted" in first and "no episodes yet, 20 turns wait" in first
    run("build", "episodes", "--session", "s1")
    shown = run("build", "status").stdout
    assert "1/2 batches made" in shown and "session s0: 0 of 10 turns done" in shown
    data = json.loads(run("build", "status", "--json").stdout)
    assert (data["turns"], data["pending"]) == (20, 20), "facts stand where they stood before"
    assert (data["episodes"]["batches"], data["episodes"]["pending"]) == (2, 1)
    assert [one["source_id"] for one in data["episodes"]["sessions"]] == ["s0", "s1"]
    run("build", "episodes", "--session", "s9", code=2)


def test_a_ceiling_that_stops_a_run_is_told_with_code_3(run: Run, chat_server: Any) -> None:
    shown = run("build", "episodes", "--max-calls", "4", code=3).stdout
    assert "stopped: no call is left" in shown and "1 pending" in shown
    shown = run("build", "episodes", "--max-calls", "1", code=3).stdout
    assert "no batch was finished, and one takes about 7 calls" in shown
    run("build", "episodes")


def test_case_p019_failures_above_the_share_fail_the_command_and_failed_makes_only_them(
    run: Run, chat_server: Any
) -> None:
    def broken(body: dict[str, Any], path: str, headers: dict[str, str]) -> Any:
        good = reply(body)
        return "no JSON" if "narrative" in good and "number 13" in str(body) else good

    chat_server.script = broken
    shown = run("build", "episodes", code=3).stdout
    assert "2/2 batches made" in shown and "1 with own words in parts" in shown
    assert "causes: 1 x invalid_reply" in shown
    assert "evimem build episodes --failed" in shown
    asked = len(chat_server.seen)
    run("build", "episodes", code=3)
    assert len(chat_server.seen) == asked
    chat_server.script = lambda body, path, headers: reply(body)
    data = json.loads(run("build", "episodes", "--failed", "--json").stdout)
    assert (data["built"], data["state"]["fallback"]) == (1, 0)


def test_a_wrong_key_ends_with_code_5_and_one_clear_message(run: Run, chat_server: Any) -> None:
    chat_server.script = lambda body, path, headers: chat_server.reply("bad key", status=401)
    result = run("build", "episodes", "--workers", "1", code=5)
    assert "0 of 2 batches were read before" in result.stderr


def test_forgetting_a_turn_shows_in_the_status_and_the_next_build_mends_it(run: Run) -> None:
    run("build", "episodes")
    run("forget", "--turn", "m3")
    shown = run("build", "status").stdout
    assert "1/2 batches made" in shown and "session s0: 0 of 9 turns done" in shown
    assert "2/2 batches made" in run("build", "episodes").stdout
