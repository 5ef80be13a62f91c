"""The list of removals is cut when it grows too long; caches then load the bank anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from evimem.storage.sqlite import SqliteStore, writer


def test_a_cut_list_of_removals_resets_those_that_need_it_and_no_others(
    open_store: Callable[..., SqliteStore], make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "REMOVED_KEPT", 10)
    store = open_store(synchronous="NORMAL")
    with store.write("default") as tx:
        tx.put([make.turn(f"t{n}", index=n) for n in range(40)])
    generations = []
    for n in range(0, 24, 2):
        with store.read("default") as reader:
            generations.append(reader.generation())
        with store.write("default") as tx:
            tx.erase([f"t{n}", f"t{n + 1}"])
    with store.read("default") as reader:
        feeds = [reader.changes(generation) for generation in generations]
        full = reader.changes(0)
    resets = [feed.reset for feed in feeds]
    assert resets == sorted(resets, reverse=True) and True in resets and False in resets
    for number, feed in enumerate(feeds):
        if feed.reset:
            assert len(feed.rows) == len(full.rows) == 16
        else:
            assert len(feed.removed) == 2 * (12 - number) <= 10
            assert feed.rows == ()
    assert store.scrub() and store.check() == []
