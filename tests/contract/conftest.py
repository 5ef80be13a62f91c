"""Stores for the contract suite: one parameter per implementation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from evimem.ports import Store
from evimem.storage.sqlite import SqliteStore


class TickingClock:
    """A clock that moves on by a second with every look."""

    def __init__(self) -> None:
        self._now = datetime(2025, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        self._now += timedelta(seconds=1)
        return self._now


def _sqlite(folder: Path) -> SqliteStore:
    return SqliteStore.open(folder / "bank.db", clock=TickingClock(), synchronous="NORMAL")


# A store for a server is added here, and every test of the folder runs on it.
STORES: dict[str, Callable[[Path], Store]] = {"sqlite": _sqlite}


@pytest.fixture(params=sorted(STORES))
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """An empty store of each implementation."""
    opened = STORES[request.param](tmp_path)
    yield opened
    assert opened.scrub() and opened.check() == []
    opened.close()
