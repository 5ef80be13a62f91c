"""`evimem audit writes`: what it prints, writes as JSON, and ends with."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from evimem.compose import SystemClock
from evimem.engine.ingest import new_entry
from evimem.interfaces.cli.main import cli
from evimem.model.item import Item, Link
from evimem.model.turn import Session, Turn
from evimem.storage.sqlite import SqliteStore

TURN = Turn(
    turn_id="t0",
    session_id="s",
    index=0,
    speaker="Ana",
    role="person",
    text="I adopted two kittens.",
)


@pytest.fixture(autouse=True)
def bank(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("EVIMEM_EMBEDDER", "none")
    monkeypatch.setenv("EVIMEM_PATH", str(tmp_path / "m.evimem"))


def stored(tmp_path: Path, *texts: str) -> None:
    """A bank with one turn and facts of it."""
    facts = [
        Item(
            item_id=f"f{n}",
            kind="fact",
            text=text,
            links=(Link(role="parent", target="t0"),),
            attrs={"builder": "facts"},
        )
        for n, text in enumerate(texts)
    ]
    store = SqliteStore.open(tmp_path / "m.evimem", clock=SystemClock())
    with store.write("default") as tx:
        tx.put_sessions([Session(session_id="s", source_id="s")])
        values: Sequence[Turn | Item] = [TURN, *facts]
        tx.put([new_entry(value) for value in values])
    store.close()


def audit(*args: str, code: int = 0) -> Result:
    result = CliRunner().invoke(cli, ["audit", "writes", *args])
    assert result.exit_code == code, (result.output, result.exception)
    return result


def test_altered_words_are_shown_and_end_with_a_code_for_scripts(tmp_path: Path) -> None:
    stored(tmp_path, "Ana adopted two kittens.", "Ana adopted 3 kittens with Zoltan.")
    shown = audit(code=3).stdout
    assert "fact by facts: 2 items, 2 with source turns; 1 hold only words of these" in shown
    assert "fact f1: number '3'; name 'Zoltan'" in shown


def test_json_has_the_words_and_the_counts(tmp_path: Path) -> None:
    stored(tmp_path, "Ana adopted two kittens.", "Ana adopted 3 kittens.")
    told = json.loads(audit("--json", "--builder", "facts", code=3).stdout)
    assert told["bank"] == "default"
    assert told["builders"][0]["findings"] == {"number": 1}
    assert told["items"][0]["findings"] == [{"kind": "number", "words": "3", "nearby": False}]


def test_faithful_writes_end_well(tmp_path: Path) -> None:
    stored(tmp_path, "Ana adopted two kittens.")
    assert "0 others" in audit().stdout


def test_a_bank_without_derived_items_says_so(tmp_path: Path) -> None:
    stored(tmp_path)
    assert "nothing to check" in audit().stdout


def test_an_unknown_builder_is_wrong_usage(tmp_path: Path) -> None:
    stored(tmp_path, "Ana adopted two kittens.")
    assert "'nobody'" in audit("--builder", "nobody", code=2).stderr


def test_an_absent_file_is_not_made(tmp_path: Path) -> None:
    assert "there is no file" in audit(code=2).stderr
    assert not (tmp_path / "m.evimem").exists()
