"""Word scores of a run: what is defined for which question, means by hand, own and shared."""

from __future__ import annotations

import dataclasses
import math

import pytest

from evimem.datasets import Dataset, Gold
from evimem.eval.harness.rows import AskRow, RunData, SharedRow, SystemRun
from evimem.eval.harness.system import SystemInfo
from evimem.eval.harness.tables import Cell
from evimem.eval.judges.lexical import LEXICAL, lexical_scores, lexical_section
from evimem.model.evidence import Question
from evimem.scoring.stats import Interval

GOLD = Gold(
    question_id="q0", history_id="x", category="multi-hop", category_id=1, answer="painting, chess"
)


def test_ben_7_each_metric_has_its_own_name_and_value() -> None:
    found = lexical_scores(GOLD, "chess and paintings")
    assert set(found) == set(LEXICAL)
    assert found["locomo_f1"] == pytest.approx(2 / 3)  # per gold, stemmed, best part
    assert found["mem0_f1"] == pytest.approx(2 * 1 / 5)  # sets, neither stemmed
    assert found["token_f1"] == pytest.approx(2 * 1 / 5)
    assert found["bleu1"] == pytest.approx(1 / 3 * math.exp(1 - 3 / 3))
    assert found["exact_match"] == 0.0


def test_ben_7_a_question_that_cannot_be_answered_has_locomos_refusal_score_only() -> None:
    gold = dataclasses.replace(GOLD, category_id=5, answerable=False, answer="", trap="chess")
    assert lexical_scores(gold, "Not mentioned.") == {"locomo_f1": 1.0}
    assert lexical_scores(gold, "chess") == {"locomo_f1": 0.0}
    explained = dataclasses.replace(gold, category_id=None, answer="never said")
    assert lexical_scores(explained, "never said") == {}


def test_ben_7_locomos_f1_is_not_defined_for_another_benchmark() -> None:
    found = lexical_scores(dataclasses.replace(GOLD, category_id=None), "painting, chess")
    assert "locomo_f1" not in found
    assert found["exact_match"] == 1.0


def run(*, shared: bool) -> RunData:
    golds = [dataclasses.replace(GOLD, question_id=f"q{n}", answer="red kayak") for n in range(4)]
    dataset = Dataset(
        name="locomo",
        histories={},
        questions=tuple(Question(text="q?", question_id=one.question_id) for one in golds),
        gold={one.question_id: one for one in golds},
        split="mini",
    )
    asks = {
        "q0": AskRow(system="s", question_id="q0", answer="red kayak"),
        "q1": AskRow(system="s", question_id="q1", answer="blue"),
        "q2": AskRow(system="s", question_id="q2", answer="red kayak", failed="no server"),
    }  # q3 was not asked
    other = {"q0": SharedRow(system="s", question_id="q0", prompt="p", answer="red")}
    system = SystemRun(
        info=SystemInfo(name="s"), builds={}, asks=asks, shared=other if shared else {}
    )
    return RunData(dataset=dataset, systems=[system], manifest={})


def estimate(cell: Cell) -> float:
    assert isinstance(cell, Interval)
    return cell.estimate


def test_ben_7_means_count_failed_and_unasked_questions_as_nothing() -> None:
    (table,) = lexical_section(run(shared=False)).tables
    (row,) = table.rows
    assert row[0] == "s"
    assert [estimate(cell) for cell in row[1:]] == [0.25] * 5
    assert table.columns == ("system", *LEXICAL)
    assert table.percent == LEXICAL
    assert "bleu1 4" in table.notes[0]


def test_ben_7_answers_by_the_shared_prompt_have_a_table_of_their_own() -> None:
    own, shared = lexical_section(run(shared=True)).tables
    assert "own prompt" in own.title
    assert "shared prompt" in shared.title
    assert "locomo/mini@" in shared.title
    cells = dict(zip(shared.columns, shared.rows[0], strict=True))
    assert estimate(cells["token_f1"]) == pytest.approx(2 / 3 / 4)
    assert estimate(cells["bleu1"]) == pytest.approx(math.exp(-1) / 4)
    assert estimate(cells["exact_match"]) == 0.0
