"""Endpoints and roles from the settings: what is taken, what is refused and how that is told."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evimem.compose import Memory, build_models
from evimem.errors import BudgetExceeded, MissingExtra, SettingsError
from evimem.llm.endpoints import base_url, chat_model, endpoint
from evimem.model.chat import ChatMessage, ChatRequest
from evimem.settings import Settings

ONE = {"HOME": "/h", "EVIMEM_LLM_MODEL": "m"}

FILE = """
[endpoints.big]
kind = "anthropic"
model = "claude-x"
key_env = "BIG_KEY"
price_in = 3
price_out = 15.0

[endpoints.local]
url = "http://127.0.0.1:8080"
model = "qwen"
context = 32768
timeout = 300
parallel = 1
strategy = "json"
extra_body = { chat_template_kwargs = { enable_thinking = false } }

[roles]
default = "big"
plan = "local"
plan-small = "local"
"""


def load(text: str, tmp_path: Path, **environ: str) -> Settings:
    file = tmp_path / "models.toml"
    file.write_text(text, encoding="utf-8")
    return Settings.load(environ={"HOME": "/h", "EVIMEM_MODELS": str(file), **environ})


def test_without_a_model_there_are_none() -> None:
    for env in ({}, {"EVIMEM_LLM_MAX_CALLS": "9"}):
        settings = Settings.load(environ={"HOME": "/h", **env})
        assert settings.models is None
        assert build_models(settings) is None


def test_one_endpoint_for_all_roles_comes_from_a_few_variables() -> None:
    env = {
        **ONE,
        "EVIMEM_LLM_KIND": "ollama",
        "EVIMEM_LLM_URL": "http://127.0.0.1:11434/v1/",
        "EVIMEM_LLM_CONTEXT": "16384",
        "EVIMEM_LLM_TIMEOUT": "7.5",
        "EVIMEM_LLM_PARALLEL": "2",
        "EVIMEM_LLM_STRATEGY": "json",
        "EVIMEM_LLM_MAX_CALLS": "9",
        "EVIMEM_LLM_MAX_TOKENS": "5000",
    }
    models = Settings.load(environ=env).models
    assert models is not None
    (one,) = models.endpoints
    assert (one.kind, one.url, one.model) == ("ollama", "http://127.0.0.1:11434", "m")
    assert (one.context, one.timeout, one.parallel, one.strategy) == (16384, 7.5, 2, "json")
    assert (models.max_calls, models.max_tokens) == (9, 5000)
    assert models.roles == {"default": one.name}
    plain = Settings.load(environ=ONE).models
    assert plain is not None
    assert (plain.endpoints[0].kind, plain.endpoints[0].url) == (
        "openai",
        "https://api.openai.com/v1",
    )
    assert (plain.max_calls, plain.max_tokens) == (60, 200_000)


def test_a_file_names_endpoints_and_who_uses_which(tmp_path: Path) -> None:
    models = load(FILE, tmp_path, BIG_KEY="sk-big\n").models
    assert models is not None
    big, local = models.endpoints
    assert (big.name, big.kind, big.url) == ("big", "anthropic", "https://api.anthropic.com")
    assert (big.key, big.key_from, big.price_in, big.price_out) == ("sk-big", "BIG_KEY", 3, 15)
    assert (local.url, local.context, local.timeout, local.parallel, local.strategy) == (
        "http://127.0.0.1:8080/v1",
        32768,
        300,
        1,
        "json",
    )
    assert local.extra_body == {"chat_template_kwargs": {"enable_thinking": False}}
    assert models.roles == {"default": "big", "plan": "local", "plan-small": "local"}


def test_one_endpoint_without_roles_is_the_default(tmp_path: Path) -> None:
    models = load('[endpoints.a]\nmodel = "m"\n', tmp_path).models
    assert models is not None
    assert models.roles == {"default": "a"}


@pytest.mark.parametrize(
    ("env", "told"),
    [
        ({"EVIMEM_LLM_KIND": "gemini"}, "EVIMEM_LLM_KIND is 'gemini': use openai"),
        ({"EVIMEM_LLM_URL": "localhost:80"}, "EVIMEM_LLM_URL is 'localhost:80'"),
        ({"EVIMEM_LLM_URL": "http://h:x/"}, "EVIMEM_LLM_URL is 'http://h:x/'"),
        ({"EVIMEM_LLM_URL": "http://h/v1?a=b"}, "leave out what follows"),
        ({"EVIMEM_LLM_CONTEXT": "8k"}, "EVIMEM_LLM_CONTEXT is '8k'"),
        ({"EVIMEM_LLM_PARALLEL": "0"}, "EVIMEM_LLM_PARALLEL is '0'"),
        ({"EVIMEM_LLM_TIMEOUT": "never"}, "EVIMEM_LLM_TIMEOUT is 'never'"),
        ({"EVIMEM_LLM_TIMEOUT": "nan"}, "EVIMEM_LLM_TIMEOUT is 'nan'"),
        ({"EVIMEM_LLM_STRATEGY": "tools"}, "EVIMEM_LLM_STRATEGY is 'tools'"),
        ({"EVIMEM_LLM_MAX_CALLS": "-1"}, "EVIMEM_LLM_MAX_CALLS is '-1'"),
        ({"EVIMEM_LLM_MODEL": "", "EVIMEM_LLM_KEY": "k"}, "EVIMEM_LLM_MODEL is not"),
        ({"EVIMEM_LLM_TIME_OUT": "5"}, "EVIMEM_LLM_TIME_OUT is not known: use EVIMEM_LLM_KIND"),
        ({"EVIMEM_MODELS": "/no/such.toml"}, "both set"),
        ({"EVIMEM_LLM_MODEL": "", "EVIMEM_MODELS": "/no/such.toml"}, "'/no/such.toml'"),
    ],
)
def test_a_bad_variable_is_named_and_shown(env: dict[str, str], told: str) -> None:
    with pytest.raises(SettingsError) as caught:
        Settings.load(environ={**ONE, **env})
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "names no endpoint"),
        ("[endpoints.a\n", "cannot be read"),
        ("[endpoints.a]\n", "model of [endpoints.a] is not set"),
        ('[endpoints.a]\nmodel = "m"\ncolour = 1\n', "'colour' is not known: use kind, url"),
        ('[endpoints.a]\nmodel = "m"\nkey = "sk-hush"\n', "name that with key_env"),
        ('[endpoints.a]\nmodel = "m"\nkey_env = 3\n', "key_env is 3"),
        ('[endpoints.a]\nmodel = "m"\ncontext = true\n', "context of [endpoints.a] is True"),
        ('[endpoints.a]\nmodel = "m"\nprice_in = 1\n', "has one price"),
        ('[endpoints.a]\nmodel = "m"\nprice_in = -1\nprice_out = 1\n', "price_in of"),
        ('[endpoints.a]\nmodel = "m"\nextra_body = 3\n', "extra_body of [endpoints.a] is 3"),
        ('[endpoints.a]\nmodel = "m"\nextra_body = {model = "x"}\n', "sets 'model'"),
        ('[endpoints."a b"]\nmodel = "m"\n', "letters, digits"),
        ("[endpoints]\na = 3\n", "endpoints.a is 3"),
        ('[endpoint.a]\nmodel = "m"\n', "'endpoint' is not known: use endpoints, roles"),
        ('[endpoints.a]\nmodel = "m"\n[roles]\nplanner = "a"\n', "has 'planner': use default"),
        ('[endpoints.a]\nmodel = "m"\n[roles]\nplan = "b"\n', "'plan' to 'b', and there is no"),
        ('roles = 3\n[endpoints.a]\nmodel = "m"\n', "roles is 3"),
    ],
)
def test_a_mistake_in_the_file_is_named_and_shown(text: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        load(text, tmp_path)
    assert told in str(caught.value)
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize(
    "given",
    ["", "h", "ftp://h", "http://", "http://a..b/v1", "http://a b", "http://a\x00b", "http://h\\x"]
    + ["http://[::1", "http://" + "a" * 70 + ".example", "//h/v1", 7, None, "http://h:99999"],
)
def test_an_address_that_no_connection_can_use_is_refused_at_once(given: Any) -> None:
    with pytest.raises(SettingsError, match=r"EVIMEM_LLM_URL is .*such as http"):
        base_url(given, kind="openai", setting="EVIMEM_LLM")


@pytest.mark.parametrize(
    ("given", "kind", "made"),
    [
        ("http://h:8000", "openai", "http://h:8000/v1"),
        ("http://h:8000/v1/", "openai", "http://h:8000/v1"),
        ("https://h/api/v1/chat/completions", "openai", "https://h/api/v1"),
        ("https://h/openai", "openai", "https://h/openai"),
        ("https://h/v1/messages", "anthropic", "https://h"),
        ("https://h/proxy/v1", "anthropic", "https://h/proxy"),
        ("http://h:11434/api/chat", "ollama", "http://h:11434"),
        ("http://h:11434/api", "ollama", "http://h:11434"),
    ],
)
def test_an_address_is_taken_in_every_common_form(given: str, kind: Any, made: str) -> None:
    assert base_url(given, kind=kind, setting="EVIMEM_LLM") == made


def test_keys_are_shown_nowhere(tmp_path: Path) -> None:
    settings = Settings.load(environ={**ONE, "EVIMEM_LLM_KEY": "sk-hush"})
    from_file = load(FILE, tmp_path, BIG_KEY="sk-hush")
    for each in (settings, from_file):
        assert each.models is not None
        assert each.models.endpoints[0].key == "sk-hush"
        assert "hush" not in repr(each)
        models = build_models(each)
        assert models is not None
        assert "hush" not in repr(models.describe()) + repr(models)
    for env in ({"EVIMEM_LLM_KEY": "sk-hush 2"}, {"EVIMEM_LLM_URL": "http://me:hush@h/v1"}):
        with pytest.raises(SettingsError, match="not shown") as caught:
            Settings.load(environ={**ONE, **env})
        assert "hush" not in str(caught.value)


def test_a_provider_that_wants_a_key_says_which_variable_is_not_set(tmp_path: Path) -> None:
    alone = build_models(Settings.load(environ=ONE))
    several = build_models(load(FILE, tmp_path))
    assert alone is not None
    assert several is not None
    assert "no key: EVIMEM_LLM_KEY is not set" in alone.describe()["default"]
    assert "no key: BIG_KEY is not set" in several.describe()["default"]
    assert "no key" not in several.describe()["plan"]


def test_mera_51_each_role_is_asked_at_its_own_endpoint(tmp_path: Path, chat_server: Any) -> None:
    text = f"""
[endpoints.big]
kind = "anthropic"
url = "{chat_server.url}"
model = "claude-x"

[endpoints.local]
url = "{chat_server.url}"
model = "qwen"
context = 4096

[roles]
default = "big"
plan-small = "local"
"""
    models = build_models(load(text, tmp_path))
    assert models is not None
    told = models.describe()
    assert sorted(told) == ["default", "plan-small"]
    assert "qwen" in told["plan-small"]
    assert "native" in told["plan-small"]
    assert "4096 tokens" in told["plan-small"]
    session = models.session()
    request = ChatRequest(messages=(ChatMessage(role="user", text="hi"),), role="plan")
    session.model("plan").chat(request)
    session.model("plan", slot="plan-small").chat(request)
    assert [(seen.dialect, seen.body["model"]) for seen in chat_server.seen] == [
        ("anthropic", "claude-x"),
        ("openai", "qwen"),
    ]
    assert [call.outcome for call in session.calls] == ["ok", "ok"]
    with pytest.raises(SettingsError, match="plan-large"):
        session.model("plan", slot="plan-large")


def test_ceilings_of_the_settings_hold(chat_server: Any) -> None:
    env = {**ONE, "EVIMEM_LLM_URL": chat_server.openai_url, "EVIMEM_LLM_MAX_CALLS": "1"}
    models = build_models(Settings.load(environ=env))
    assert models is not None
    session = models.session(max_calls=99)
    request = ChatRequest(messages=(ChatMessage(role="user", text="hi"),), role="answer")
    session.model("answer").chat(request)
    with pytest.raises(BudgetExceeded, match="EVIMEM_LLM_MAX_CALLS"):
        session.model("answer").chat(request)


def test_a_missing_sdk_is_told_with_the_line_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"pip install 'evimem\[llm\]'"):
        build_models(Settings.load(environ=ONE))


def test_no_sdk_is_loaded_before_the_first_call() -> None:
    code = (
        "import sys; from evimem.compose import build_models; from evimem.settings import Settings;"
        "build_models(Settings.load(environ={'HOME': '/h', 'EVIMEM_LLM_MODEL': 'm'}));"
        "print([m for m in ('openai', 'anthropic', 'httpx2', 'pydantic') if m in sys.modules])"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True
    )
    assert run.stdout.strip() == "[]"


def test_an_opened_memory_knows_the_models_and_doctor_tells_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVIMEM_LLM_MODEL", "m")
    monkeypatch.setenv("EVIMEM_LLM_CONTEXT", "8192")
    with Memory.open(tmp_path / "a.evimem", embedder="none") as memory:
        told = memory.doctor().facts["model for default"]
    assert "m@https://api.openai.com/v1" in told
    assert "native" in told
    assert "window 8192 tokens" in told


def test_an_adapter_is_made_for_every_kind() -> None:
    paths = {"openai": "/chat/completions", "anthropic": "/v1/messages", "ollama": "/api/chat"}
    for kind in paths:
        made = chat_model(endpoint("a", {"kind": kind, "model": "m"}, setting="EVIMEM_LLM"))
        assert made.model_id.startswith("m@http")


def test_ben_11_saved_replies_answer_a_second_run_without_a_call(
    tmp_path: Path, chat_server: Any
) -> None:
    chat_server.script = [chat_server.reply("hello")]
    environ = {
        "EVIMEM_LLM_URL": chat_server.openai_url,
        "EVIMEM_LLM_MODEL": "m",
        "EVIMEM_LLM_SAVED": str(tmp_path / "replies.jsonl"),
    }
    request = ChatRequest(messages=(ChatMessage(role="user", text="hi"),), role="judge")
    for _ in range(2):
        models = build_models(Settings.load(environ=environ))
        assert models is not None
        assert models.session().model("judge").chat(request).text == "hello"
    assert len(chat_server.seen) == 1
