"""Pages lose no turn; heat, overlap of keywords and forgetting are as published."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from evimem.datasets.loading import load
from evimem.eval.baselines.memory_os import MEMORY_OS, MEMORY_OS_LOCOMO
from evimem.eval.baselines.memory_os_store import (
    MidTerm,
    Page,
    Segment,
    Settings,
    heat,
    opener_of,
    overlap,
    pages_of,
)
from evimem.eval.harness.system import Tools
from evimem.model.turn import History


def ids(pages: list[Page]) -> list[tuple[str, ...]]:
    return [tuple(turn.turn_id for turn in page.turns) for page in pages]


def test_a_page_holds_a_turn_and_its_reply_and_half_pages_are_kept(history: History) -> None:
    assert opener_of(history) == "Ines"
    assert ids(pages_of(history)) == [("t0", "t1"), ("t2",), ("t3",), ("t4", "t5"), ("t6", "t7")], (
        "no page spans two sessions"
    )


def test_turns_in_a_row_by_one_speaker_are_half_pages_each(history: History) -> None:
    turns = history.turns
    again = (
        dataclasses.replace(turns[0], turn_id="a"),
        dataclasses.replace(turns[0], turn_id="b"),
        dataclasses.replace(turns[1], turn_id="c"),
        dataclasses.replace(turns[1], turn_id="d"),
        dataclasses.replace(turns[1], turn_id="blank", text="  "),
    )
    assert ids(pages_of(dataclasses.replace(history, turns=again))) == [("a",), ("b", "c"), ("d",)]


@pytest.mark.data
def test_on_locomo_every_turn_is_in_one_page_where_the_original_loses_61_and_93(
    data_dir: Path,
) -> None:
    raw = json.loads((data_dir / "locomo10.json").read_text(encoding="utf-8"))
    lost = [_lost_by_the_original(sample["conversation"]) for sample in raw]
    assert (sum(one for one, _ in lost), sum(half for _, half in lost)) == (61, 93)

    said = 0
    for history in load("locomo", data_dir=data_dir).histories.values():
        paged = [turn_id for page in ids(pages_of(history)) for turn_id in page]
        assert paged == [turn.turn_id for turn in history.turns if turn.body.strip()]
        assert all(
            len({turn.session_id for turn in page.turns}) == 1 and len(page.turns) <= 2
            for page in pages_of(history)
        )
        said += len(paged)
    assert said == 5882


def _lost_by_the_original(conversation: dict[str, object]) -> tuple[int, int]:
    """Turns that the published parser overwrites, half pages that its eviction drops."""
    pages: list[list[bool]] = []
    overwritten = 0
    for key, turns in conversation.items():
        if not key.startswith("session_") or not isinstance(turns, list):
            continue
        for turn in turns:
            if turn["speaker"] == conversation["speaker_a"]:
                pages.append([True, False])
            elif pages:
                overwritten += pages[-1][1]
                pages[-1][1] = True
            else:
                pages.append([False, True])
    return overwritten, sum(not all(page) for page in pages)


def test_forgetting_spares_visited_segments_and_pages_filed_elsewhere_and_closes_chains(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    tools = tools_of([])
    middle = MidTerm(Settings(segments=2))
    pages = pages_of(history)[:4]
    for page in pages:
        middle.add(page, tools)
    for after, page in itertools.pairwise(pages):
        middle.link(page, after)
    middle.open("visited", frozenset(), pages[:1], tools).visits = 1
    middle.open("not visited", frozenset(), pages[1:3], tools)
    middle.open("new", frozenset(), pages[2:], tools)

    assert [one.summary for one in middle.segments.values()] == ["visited", "new"]
    assert list(middle.pages) == ["p0", "p2", "p3"] and middle.forgotten == 1
    assert (pages[2].previous, pages[0].following) == ("p0", "p2")


def test_heat_is_the_weighted_sum_with_recency_by_the_time_said() -> None:
    then = datetime(2024, 3, 1, tzinfo=UTC)
    segment = Segment(
        segment_id="m", summary="", keywords=frozenset(), visits=2, gained=3, changed_at=then
    )
    regular, script = MEMORY_OS.settings, MEMORY_OS_LOCOMO.settings
    later = then + timedelta(hours=48)
    assert heat(segment, regular, later) == pytest.approx(2 + 3 + math.exp(-2))
    assert heat(segment, script, later) == pytest.approx(0.8 * 5 + 0.0001 * math.exp(-2))
    assert heat(segment, regular, None) == 6.0
    assert heat(segment, regular, then - timedelta(days=1)) == 6.0


def test_keywords_overlap_as_coverage_or_jaccard() -> None:
    one, other = frozenset("abc"), frozenset("ad")
    assert overlap(one, other, "coverage") == pytest.approx(0.5 * (1 / 3 + 1 / 2))
    assert overlap(one, other, "jaccard") == pytest.approx(1 / 4)
    assert overlap(one, frozenset(), "jaccard") == 0.0
