"""Settings: one order of precedence, clear errors, no key in any text."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from evimem.errors import SettingsError, UsageError
from evimem.settings import Settings


def test_an_argument_beats_the_environment_and_the_environment_the_default() -> None:
    env = {"EVIMEM_PATH": "/a/env.evimem", "EVIMEM_BANK": "work", "HOME": "/h"}
    assert Settings.load(path="/a/arg.evimem", environ=env).path == Path("/a/arg.evimem")
    assert Settings.load(environ=env).path == Path("/a/env.evimem")
    assert Settings.load(environ=env).bank == "work"
    assert Settings.load(bank="home", environ=env).bank == "home"
    default = Settings.load(environ={"HOME": "/h"})
    assert default.path == Path("/h/.local/share/evimem/memory.evimem")
    assert (default.path_from, default.bank, default.embedder) == ("default", "default", "local")


@pytest.mark.parametrize(
    ("env", "told"),
    [
        ({"EVIMEM_EMBEDDER": "magic"}, "EVIMEM_EMBEDDER is 'magic'"),
        ({"EVIMEM_EMBEDDER": "endpoint"}, "EVIMEM_EMBEDDER_URL is not set"),
        (
            {
                "EVIMEM_EMBEDDER": "endpoint",
                "EVIMEM_EMBEDDER_URL": "ftp://x",
                "EVIMEM_EMBEDDER_MODEL": "m",
                "EVIMEM_EMBEDDER_DIM": "3",
            },
            "EVIMEM_EMBEDDER_URL is 'ftp://x'",
        ),
        ({"EVIMEM_EMBEDDER_DIM": "many"}, "EVIMEM_EMBEDDER_DIM is 'many'"),
        ({"EVIMEM_EMBEDDER_DIM": "0"}, "EVIMEM_EMBEDDER_DIM is '0'"),
        ({"EVIMEM_SYNCHRONOUS": "OFF"}, "EVIMEM_SYNCHRONOUS is 'OFF'"),
    ],
)
def test_a_bad_value_is_named_and_shown(env: dict[str, str], told: str) -> None:
    with pytest.raises(SettingsError) as caught:
        Settings.load(environ={"HOME": "/h", **env})
    assert told in str(caught.value)


def test_a_bad_bank_name_is_refused_with_the_rule() -> None:
    with pytest.raises(UsageError, match="letters and digits"):
        Settings.load(bank="a/b", environ={"HOME": "/h"})


def test_the_key_is_in_no_printed_form() -> None:
    settings = Settings.load(environ={"HOME": "/h", "EVIMEM_EMBEDDER_KEY": "sk-secret"})
    assert settings.embedder_key == "sk-secret"
    assert "sk-secret" not in repr(settings)


def test_every_setting_is_in_the_docs() -> None:
    root = Path(__file__).resolve().parents[1]
    named = set(re.findall(r"EVIMEM_[A-Z_]+", (root / "src/evimem/settings.py").read_text("utf-8")))
    page = (root / "docs/settings.md").read_text("utf-8")
    assert [name for name in sorted(named) if name not in page] == []
