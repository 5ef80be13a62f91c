"""Accuracy by type, with numerators, denominators and the set of questions."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench_rows import JUDGE, ask, cells, dataset, run_of, system

from evimem.datasets import load
from evimem.eval.diagnostics.accuracy import accuracy, answerable_only, section, unjudged
from evimem.eval.diagnostics.trajectories import gold_turns
from evimem.eval.harness.rows import SharedRow, SystemRun
from evimem.scoring.stats import Interval

LABELS = {"q1": True, "q2": False, "q3": True, "q4": None, "q5": True}


def run(**more: object) -> SystemRun:
    rows = [ask(name) for name in LABELS]
    return system(*rows, labels=LABELS, **more)  # type: ignore[arg-type]


def test_mera_87_every_type_has_its_accuracy_and_n_and_uni_59_overall_is_the_micro_average() -> (
    None
):
    report = accuracy(run(), dataset(), judge=JUDGE)

    assert report is not None
    assert [(one.name, one.correct, one.n) for one in report.groups] == [
        ("overall", 3, 5),
        ("multi-hop", 2, 2),
        ("single-hop", 0, 2),
        ("open-domain", 1, 1),
    ]
    whole = report.overall
    assert whole.correct == sum(one.correct for one in report.groups[1:])
    assert whole.unread == 1


def test_x1_the_table_names_numerator_denominators_and_the_set() -> None:
    [table] = section(run_of(run())).tables

    row = cells(table, "s")
    assert row["correct"] == "3/5"
    assert "multi-hop (n=2)" in table.columns
    assert "locomo/mini@" in table.title
    assert any(JUDGE in note for note in table.notes)
    assert row["unread"] == 1


def test_x1_the_figure_without_unanswerable_questions_stands_beside_the_whole() -> None:
    mixed = dataset(unanswerable=("q2", "q4"))

    whole, answerable = section(run_of(run(), data=mixed)).tables

    assert cells(whole, "s")["correct"] == "3/5"
    assert cells(answerable, "s")["correct"] == "3/3"
    assert answerable_only(dataset()) is None
    part = answerable_only(mixed)
    assert part is not None and part.split == "mini-answerable"


def test_questions_that_failed_or_were_not_asked_count_as_wrong_and_are_told() -> None:
    partial = system(
        ask("q1"), ask("q2", failed="down"), labels={"q1": True, "q2": None}, name="partial"
    )

    [table] = section(run_of(partial)).tables

    row = cells(table, "partial")
    assert (row["correct"], row["without answer"], row["unread"]) == ("1/5", 4, 0)


def test_there_is_no_accuracy_before_all_answers_are_judged() -> None:
    half = system(ask("q1"), ask("q2"), labels={"q1": True})

    assert unjudged(half, dataset(), judge=JUDGE) == 1
    assert accuracy(half, dataset(), judge=JUDGE) is None
    made = section(run_of(half))
    assert made.tables == ()
    assert any("1 answers are not judged yet" in note for note in made.notes)


def test_answers_by_the_shared_prompt_have_a_table_of_their_own() -> None:
    rows = [SharedRow(system="s", question_id=name, prompt="p") for name in LABELS]
    both = run(shared=rows, shared_labels=dict.fromkeys(LABELS, True))

    own, shared = section(run_of(both)).tables

    assert (cells(own, "s")["correct"], cells(shared, "s")["correct"]) == ("3/5", "5/5")
    figure = cells(shared, "s")["overall (n=5)"]
    assert isinstance(figure, Interval) and figure.estimate == pytest.approx(1.0)
    assert "shared prompt" in shared.title


@pytest.mark.data
def test_x1_x4_locomo_has_1986_questions_1540_answerable_and_1982_with_a_gold_turn(
    data_dir: Path,
) -> None:
    whole = load(data_dir / "locomo10.json")

    part = answerable_only(whole)

    assert len(whole.questions) == 1986
    assert part is not None and len(part.questions) == 1540
    assert len(gold_turns(whole)) == 1982
    assert len(gold_turns(part)) == 1536
