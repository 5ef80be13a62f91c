"""Groups by evidence, accuracy in each, and the difference of gaps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from bench_rows import JUDGE, ask, run_of, system
from evidence_rows import dataset

from evimem.datasets import Complexity, Dataset, load_locomo, take
from evimem.errors import UsageError
from evimem.eval.diagnostics.complexity_table import (
    GROUPS,
    complexity_rows,
    complexity_section,
    gap_difference,
    groups_of,
    spread,
)
from evimem.eval.harness.rows import SystemRun


def answered(name: str, data: Dataset, right: Callable[[str], bool]) -> SystemRun:
    ids = [one.question_id for one in data.questions]
    return system(
        *(ask(one, system=name) for one in ids),
        name=name,
        labels={one: right(one) for one in ids},
    )


def test_qem_49_groups_are_turns_sessions_and_days_between_the_first_and_the_last() -> None:
    found = spread(dataset())

    assert {group: members for group, members in found.items() if members} == {
        "1 turn": ["c-q1"],
        "2 turns": ["c-q2", "c-q4"],
        "3+ turns": ["c-q3"],
        "single session": ["c-q1", "c-q4"],
        "cross-session": ["c-q2", "c-q3"],
        "31-90 days": ["c-q2"],
        ">180 days": ["c-q3"],
    }


@pytest.mark.parametrize(
    ("days", "group"),
    [
        (0, "1-30 days"),
        (30, "1-30 days"),
        (31, "31-90 days"),
        (90, "31-90 days"),
        (91, "91-180 days"),
        (180, "91-180 days"),
        (181, ">180 days"),
    ],
)
def test_qem_50_bounds_of_the_four_spans(days: int, group: str) -> None:
    assert groups_of(Complexity(turns=2, sessions=2, span_days=days))[-1] == group


def test_undated_and_unmapped_evidence_is_in_no_span() -> None:
    assert groups_of(Complexity(turns=0, sessions=0, span_days=None)) == ()
    assert groups_of(Complexity(turns=2, sessions=2, span_days=None)) == (
        "2 turns",
        "cross-session",
    )


@pytest.mark.data
def test_qem_49_qem_50_x15_the_groups_have_the_published_counts(data_dir: Path) -> None:
    data = take(load_locomo(data_dir / "locomo10.json", evidence="exact"), "1540")

    sizes = {group: len(members) for group, members in spread(data).items()}

    assert sizes == dict(
        zip(GROUPS, (1122, 229, 184, 1535 - 332, 332, 87, 81, 98, 66), strict=True)
    )
    crossing = spread(data)["cross-session"]
    assert sum(data.gold[one].category == "multi-hop" for one in crossing) == 269


def test_qem_50_accuracy_is_told_by_group_with_its_n() -> None:
    data = dataset("c", "d")
    run = answered("s", data, lambda one: one in ("c-q1", "d-q1", "c-q2", "c-q3"))

    [row] = complexity_rows(run_of(run, data=data), judge=JUDGE)

    shares = {
        group: (held.estimate, held.n) for group, held in row.accuracy.items() if held is not None
    }
    assert shares == {
        "1 turn": (1.0, 2),
        "2 turns": (0.25, 4),
        "3+ turns": (0.5, 2),
        "single session": (0.5, 4),
        "cross-session": (0.5, 4),
        "31-90 days": (0.5, 2),
        ">180 days": (0.5, 2),
    }
    [table] = complexity_section(run_of(run, data=data), judge=JUDGE).tables
    assert "2 turns (n=4)" in table.columns
    assert table.notes == ("Questions across sessions by type: 4 multi-hop.",)


def test_qem_51_the_gap_difference_is_that_of_the_two_groups_and_resamples_conversations() -> None:
    names = ("c", "d")
    data = dataset(*names)
    # In c the system is ahead on q3 alone, in d nowhere: gaps on 3+ turns 1 and 0, on 1 turn 0.
    system_ = answered("ours", data, lambda one: one in ("c-q1", "d-q1", "c-q3"))
    other = answered("base", data, lambda one: one in ("c-q1", "d-q1"))

    found = gap_difference(system_, other, data, judge=JUDGE, high="3+ turns", low="1 turn")

    assert found.difference.estimate == 0.5
    # Resamples draw c twice, each once, or d twice: 1, 0.5 or 0, with odds 1, 2, 1.
    assert (found.difference.low, found.difference.high) == (0.0, 1.0)
    assert found.difference.method == "cluster-bootstrap"
    assert found.without == {"c": 0.0, "d": 1.0}
    assert not found.same_sign
    back = gap_difference(other, system_, data, judge=JUDGE, high="3+ turns", low="1 turn")
    assert back.difference.estimate == -0.5


def test_qem_51_leaving_a_conversation_out_that_holds_a_whole_group_is_skipped() -> None:
    both = dataset("c", "d")
    data = both.only([one for one in both.gold if one != "d-q3"], split="part")
    one = answered("ours", data, lambda key: True)
    two = answered("base", data, lambda key: key.endswith("q1"))

    found = gap_difference(one, two, data, judge=JUDGE, high="3+ turns", low="1 turn")

    assert found.without == {"d": 1.0}
    assert found.same_sign


def test_qem_51_the_section_compares_all_systems_with_the_reference() -> None:
    data = dataset("c", "d")
    ours = answered("ours", data, lambda one: True)
    base = answered("base", data, lambda one: one.endswith("q1"))

    _, gaps = complexity_section(
        run_of(ours, base, data=data), judge=JUDGE, reference="ours"
    ).tables

    assert [row[:2] for row in gaps.rows] == [
        ("base", "3+ turns against 1 turn"),
        ("base", "cross-session against single session"),
    ]
    assert [row[-1] for row in gaps.rows] == ["yes", "yes"]
    with pytest.raises(UsageError, match="no system is called 'x'"):
        complexity_section(run_of(ours, data=data), judge=JUDGE, reference="x")
    with pytest.raises(UsageError, match="no question is in the group '91-180 days'"):
        gap_difference(ours, base, data, judge=JUDGE, high="91-180 days", low="1 turn")
