"""Reading a source in tests: all its events, sorted by kind."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from evimem.importers import (
    Detected,
    FactRead,
    Failed,
    ImportEvent,
    ImportOptions,
    SessionStart,
    Skipped,
    TurnRead,
    Warned,
    import_path,
)
from evimem.model.item import Item
from evimem.model.turn import Session, Turn


@dataclass
class Result:
    """Everything that one import told."""

    events: list[ImportEvent]
    sessions: list[Session] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    facts: list[Item] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    failed: list[Failed] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    formats: list[str] = field(default_factory=list)

    @property
    def texts(self) -> list[str]:
        return [turn.text for turn in self.turns]

    @property
    def ids(self) -> list[str]:
        return [turn.turn_id for turn in self.turns]

    @property
    def source_ids(self) -> list[str]:
        return [turn.source_id for turn in self.turns]


def _result(events: list[ImportEvent]) -> Result:
    result = Result(events)
    begun: set[str] = set()
    for event in events:
        match event:
            case SessionStart(session):
                result.sessions.append(session)
                begun.add(session.session_id)
            case TurnRead(turn):
                assert turn.session_id in begun, "a turn came before its session"
                turn.text.encode("utf-8")
                json.dumps(turn.attrs, allow_nan=False)
                result.turns.append(turn)
            case FactRead(item):
                result.facts.append(item)
            case Skipped(reason):
                result.skipped[reason] += 1
            case Failed():
                result.failed.append(event)
            case Warned(message):
                result.warnings.append(message)
            case Detected(name):
                result.formats.append(name)
    return result


Read = Callable[..., Result]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Import a path, or text, bytes or a JSON value written to a file first."""

    def run(
        what: Any, *, name: str = "in.json", format: str | None = None, **options: Any
    ) -> Result:
        path = what
        if not isinstance(what, Path):
            path = tmp_path / name
            if isinstance(what, bytes):
                path.write_bytes(what)
            else:
                text = what if isinstance(what, str) else json.dumps(what)
                path.write_bytes(text.encode("utf-8"))
        return _result(list(import_path(path, format=format, options=ImportOptions(**options))))

    return run


@pytest.fixture(scope="session")
def samples() -> Path:
    """The hand-written samples."""
    return Path(__file__).parent.parent / "samples" / "import"


@pytest.fixture(scope="session")
def expected(samples: Path) -> dict[str, Any]:
    """What each sample should give."""
    loaded: dict[str, Any] = json.loads((samples / "expected.json").read_text(encoding="utf-8"))
    return loaded


def chatgpt_tree(
    texts: list[tuple[str, str]], *, key: str = "c1", created: Any = 1709632800.5
) -> dict[str, Any]:
    """A ChatGPT conversation with one line of messages, a second apart."""
    mapping: dict[str, Any] = {"root": {"id": "root", "message": None, "parent": None}}
    parent = "root"
    for number, (role, text) in enumerate(texts):
        node = f"{key}-{number}"
        mapping[node] = {
            "id": node,
            "parent": parent,
            "message": {
                "id": node,
                "author": {"role": role},
                "create_time": 1709632800.5 + number,
                "content": {"content_type": "text", "parts": [text]},
                "weight": 1.0,
                "recipient": "all",
            },
        }
        parent = node
    return {
        "conversation_id": key,
        "title": f"title {key}",
        "create_time": created,
        "mapping": mapping,
        "current_node": parent,
    }


@pytest.fixture
def tree() -> Callable[..., dict[str, Any]]:
    """Builds a ChatGPT conversation."""
    return chatgpt_tree
