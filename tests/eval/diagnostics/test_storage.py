"""What is stored of the gold turns, for systems that keep different things."""

from __future__ import annotations

import pytest
from bench_rows import JUDGE, ask, cells, dataset, run_of, step, system

from evimem.eval.diagnostics.storage import section, standings, storage
from evimem.eval.harness.rows import BuildRow, SystemRun

# q1 t0 t1: both behind pieces; q2 t2: behind nothing; q3 t3 t4: t3 only; q4 t6 by its alias t7.
PIECES = (("t0", "t5"), ("t1",), ("t0", "t3"), ("t7",), ())
ROWS = (
    ask("q1", step("t0"), step("t1")),
    ask("q2", step("t2")),  # viewed, though nothing that is kept stands on it
    ask("q3", step("t4")),
    ask("q4", step("t6")),
    ask("q5", step("t0")),
)
LABELS = {"q1": True, "q2": False, "q3": True, "q4": True, "q5": True}


def run(**more: object) -> SystemRun:
    built = BuildRow(system="s", history_id="h", stored=PIECES)
    return system(*ROWS, builds=(built,), labels=LABELS, **more)  # type: ignore[arg-type]


def test_uni_70_gold_turns_are_stored_by_the_turns_behind_each_piece() -> None:
    found, left = standings(run(), dataset())

    assert {name: (s.gold, s.stored, s.retrieved) for name, s in found.items()} == {
        "q1": (2, 2, 2),
        "q2": (1, 0, 0),
        "q3": (2, 1, 0),
        "q4": (1, 1, 1),
    }
    assert left == {"no gold turn": 1}
    assert found["q1"].items == ("0", "1", "2"), "Index(E, B): every piece on a gold turn"


def test_uni_70_the_ceiling_and_retrieval_efficiency_are_over_the_same_questions() -> None:
    found = storage(run(), dataset(), judge=JUDGE)

    assert found.n == 4 and found.kept == 5
    assert found.size == pytest.approx((3 + 0 + 1 + 1) / 4)
    assert found.ceiling is not None and found.ceiling.estimate == pytest.approx(2 / 4)
    assert found.any_stored is not None and found.any_stored.estimate == pytest.approx(3 / 4)
    assert found.turns_stored is not None
    assert found.turns_stored.estimate == pytest.approx((1 + 0 + 0.5 + 1) / 4)
    assert found.j is not None and found.j.estimate == pytest.approx(3 / 4)
    assert found.efficiency == pytest.approx(1.5), "above 1: q3 was right from less than all"


def test_uni_70_questions_with_nothing_stored_are_masked_and_say_nothing_of_the_search() -> None:
    found = storage(run(), dataset())

    assert found.turns_found is not None and found.turns_found.n == 3
    assert found.turns_found.estimate == pytest.approx((1 + 0 + 1) / 3)
    assert found.all_found is not None and found.all_found.n == 2
    assert found.all_found.estimate == 1.0
    assert found.j is None and found.efficiency is None


def test_uni_70_answers_written_from_the_index_are_a_second_ceiling() -> None:
    indexed = {"q1": True, "q2": False, "q3": True, "q4": True}

    found = storage(run(), dataset(), judge=JUDGE, indexed=indexed)

    assert found.indexed_j is not None and found.indexed_j.estimate == 0.75
    assert found.indexed_efficiency == 1.0
    made = section(run_of(run()), judge=JUDGE, indexed={"s": indexed})
    assert cells(made.tables[1], "s")["J / J from the index"] == 1.0


def test_a_system_that_keeps_the_turns_has_a_full_ceiling() -> None:
    built = BuildRow(system="full", history_id="h", stored=tuple((f"t{n}",) for n in range(8)))
    full = system(*ROWS, builds=(built,), name="full")

    found = storage(full, dataset())

    assert found.ceiling is not None and found.ceiling.estimate == 1.0


def test_systems_without_provenance_and_failed_builds_are_told_and_not_zero() -> None:
    blind = system(
        *ROWS, builds=(BuildRow(system="blind", history_id="h", stored=((), ())),), name="blind"
    )
    broken = system(builds=(BuildRow(system="x", history_id="h", failed="down"),), name="broken")

    made = section(run_of(blind, broken))

    assert cells(made.tables[0], "blind")["all stored"] is None
    assert any("blind: 0" in note and "cannot be traced" in note for note in made.notes)
    assert any("broken" in note and "4 not built" in note for note in made.notes)


def test_a_system_that_stored_nothing_of_a_conversation_has_a_ceiling_of_zero() -> None:
    empty = system(*ROWS, builds=(BuildRow(system="none", history_id="h"),), name="none")

    found = storage(empty, dataset())

    assert found.ceiling is not None and found.ceiling.estimate == 0.0
    assert found.turns_found is None


def test_questions_that_failed_or_were_not_asked_are_left_out_with_their_number() -> None:
    built = BuildRow(system="s", history_id="h", stored=PIECES)
    partial = system(ROWS[0], ask("q2", failed="down"), builds=(built,))

    found, left = standings(partial, dataset())

    assert list(found) == ["q1"]
    assert left == {"failed or not asked": 3, "no gold turn": 1}
