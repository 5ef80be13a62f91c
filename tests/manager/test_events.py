"""The stream of construction events."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import pytest
from manager_world import turn

from evimem.datasets import load
from evimem.manager.events import constructions_of


def _session(count: int, name: str) -> list[object]:
    return [turn(f"line {n}", n=n, session=name) for n in range(count)]


def test_uni_12_two_new_turns_and_up_to_ten_before_them_of_the_same_session() -> None:
    first, second = _session(15, "s1"), _session(3, "s2")
    events = constructions_of([first, second])  # type: ignore[list-item]
    assert [event.index for event in events] == list(range(1, 11))
    assert [len(event.turns) for event in events] == [2] * 7 + [1, 2, 1]
    assert [len(event.context) for event in events] == [0, 2, 4, 6, 8, 10, 10, 10, 0, 2]
    assert [*events[6].context, *events[6].turns] == first[2:14]
    assert [*events[9].context, *events[9].turns] == second
    assert events[4].observed_at == events[4].turns[0].said_at
    assert [event.turns for event in events[:8]] == [
        tuple(first[n : n + 2]) for n in range(0, 15, 2)
    ]


def test_uni_12_turns_without_words_make_no_event() -> None:
    silent = [turn(" ", n=0), turn("word", n=1), turn("\n", n=2), turn("more", n=3)]
    (event,) = constructions_of([silent, [turn("", n=9, session="s2")], []], first=7)
    assert [one.text for one in event.turns] == ["word", "more"]
    assert (event.index, event.context) == (7, ())


@pytest.mark.data
def test_uni_12_locomo_has_3011_construction_events(data_dir: Path) -> None:
    counts = {
        name: len(
            constructions_of(
                [list(turns) for _, turns in groupby(history.turns, lambda turn: turn.session_id)]
            )
        )
        for name, history in load("locomo", data_dir=data_dir).histories.items()
    }
    assert sum(counts.values()) == 3011
    assert [counts[f"conv-{n}"] for n in (26, 43, 44, 47)] == [214, 349, 343, 355]
