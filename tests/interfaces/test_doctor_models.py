"""`evimem doctor` about models: who plays which role, and with --models whether they answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from evimem.interfaces.cli.main import cli


@pytest.fixture
def doctor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("EVIMEM_PATH", str(tmp_path / "m.evimem"))
    monkeypatch.setenv("EVIMEM_EMBEDDER", "none")

    def call(*args: str, code: int = 0, **env: str) -> Result:
        for name, value in env.items():
            monkeypatch.setenv(f"EVIMEM_LLM_{name}", value)
        result = CliRunner().invoke(cli, ["doctor", *args])
        assert result.exit_code == code, (result.output, result.stderr, result.exception)
        return result

    return call


def test_case_p017_doctor_shows_model_strategy_and_window_per_role(
    doctor: Any, chat_server: Any
) -> None:
    env = {"MODEL": "small-3b", "KIND": "ollama", "URL": chat_server.url, "CONTEXT": "16384"}
    shown = doctor(**env).stdout
    line = next(line for line in shown.splitlines() if line.startswith("model for default"))
    for words in (f"small-3b@{chat_server.url}", "native: format", "window 16384 tokens"):
        assert words in line
    assert chat_server.seen == []


def test_doctor_models_calls_every_endpoint_once_and_prints_what_came(
    doctor: Any, chat_server: Any
) -> None:
    chat_server.script = lambda body, path, headers: {"city": "Oslo"}
    chat_server.pages["/props"] = {"default_generation_settings": {"n_ctx": 4096}}
    env = {"MODEL": "m", "URL": chat_server.openai_url, "KEY": "sk-hush"}
    shown = doctor("--models", **env).stdout
    assert f"endpoint llm: m@{chat_server.openai_url}" in shown
    assert "JSON by native: response_format json_schema, strict; window 4096 tokens" in shown
    assert "replied in 0." in shown
    assert '{"city": "Oslo"}' in shown
    assert "all is well" in shown
    data = json.loads(doctor("--models", "--json").stdout)
    assert data["models"][0]["window"] == 4096
    assert data["problems"] == []
    assert len(chat_server.seen) == 2
    assert "hush" not in shown + json.dumps(data)


def test_doctor_models_fails_clearly(doctor: Any, chat_server: Any) -> None:
    assert "no model endpoint is set" in doctor("--models", code=2).stderr
    chat_server.script = lambda body, path, headers: chat_server.reply("bad key", status=401)
    failed = doctor("--models", code=3, MODEL="m", URL=chat_server.url, KEY="sk-hush").stdout
    assert "check EVIMEM_LLM_KEY" in failed
    assert "all is well" not in failed
