"""The retrieval benchmark: what is scored, what a ranking earns, and what a report says."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from evimem.datasets import Dataset, ids_hash
from evimem.errors import UsageError
from evimem.eval.report import plot, read_report, table, write_report
from evimem.eval.results import BenchReport, PartResult, QuestionResult, SystemResult
from evimem.eval.retrieval_bench import run, shown_text, to_score
from evimem.eval.summary import compare, summarise
from evimem.eval.systems import IndexPool
from evimem.model.turn import History
from evimem.scoring.tokens import estimate_tokens


class InOrder:
    """Ranks turns in the order said, or backwards."""

    def __init__(self, *, backwards: bool = False) -> None:
        self.backwards = backwards
        self.built: list[str] = []
        self.seen: list[str] = []

    def build(self, history: History) -> None:
        self.built.append(history.history_id)
        self.ids = [turn.turn_id for turn in history.turns]

    def prepare(self, question: str) -> None:
        self.seen.append(question)

    def rank(self, question: str, k: int) -> list[str]:
        assert self.seen[-1] == question
        return (self.ids[::-1] if self.backwards else self.ids)[:k]


def first(part: PartResult, system: str) -> SystemResult:
    return next(one for one in part.systems if one.system == system)


def test_only_answerable_questions_with_gold_turns_are_scored(dataset: Dataset) -> None:
    questions, left_out = to_score(dataset)
    assert [one.question_id for one in questions] == ["x#0", "x#1", "y#0", "y#1"]
    assert left_out == {"unanswerable": 2, "no gold turn": 2}


def test_places_and_prices_of_gold_turns_are_those_of_the_ranking(dataset: Dataset) -> None:
    part = run(dataset, {"order": InOrder})
    rows = {row.question_id: row for row in first(part, "order").questions}
    assert rows["x#0"].ranks == (1,)
    assert rows["x#1"].ranks == (4, 8)
    assert (rows["x#0"].turn_price, rows["x#1"].turn_price) == (1, 8)
    turns = dataset.histories["x"].turns
    assert rows["x#0"].token_price == estimate_tokens(shown_text(turns[0]))
    assert rows["x#1"].token_price == sum(estimate_tokens(shown_text(turn)) for turn in turns)
    assert part.questions_sha256 == ids_hash(["x#0", "x#1", "y#0", "y#1"])
    assert (part.n, part.conversations) == (4, 2)


def test_depth_cuts_the_ranking_and_missing_turns_are_never_complete(dataset: Dataset) -> None:
    rows = first(run(dataset, {"order": InOrder}, depth=5), "order").questions
    assert rows[1].ranks == (4,)
    assert rows[1].turn_price is None
    assert rows[1].token_price is None


def test_every_conversation_is_built_once_per_system(dataset: Dataset) -> None:
    made: list[InOrder] = []

    def factory() -> InOrder:
        made.append(InOrder())
        return made[-1]

    calls: list[tuple[int, int, str]] = []
    run(dataset, {"a": factory, "b": factory}, on_progress=lambda *call: calls.append(call))
    assert [one.built for one in made] == [["x", "y"], ["x", "y"]]
    assert [done for done, _, _ in calls] == [2, 4, 6, 8]
    assert {total for _, total, _ in calls} == {8}


def test_groups_are_overall_categories_and_numbers_of_gold_turns(dataset: Dataset) -> None:
    groups = {one.name: one for one in first(run(dataset, {"order": InOrder}), "order").groups}
    assert {name: one.n for name, one in groups.items()} == {
        "overall": 4,
        "single-hop": 2,
        "multi-hop": 2,
        "1 gold turn": 2,
        "2 gold turns": 2,
    }
    overall = groups["overall"]
    assert overall.recall["5"].estimate == pytest.approx((1 + 0.5) / 2)
    assert overall.complete["5"].estimate == 0.5
    assert overall.any["5"] == 1.0
    assert overall.complete["10"].estimate == 1.0
    assert overall.mrr == pytest.approx((1 + 1 / 4) / 2)
    assert overall.turns.auc.estimate == pytest.approx(1.0)
    assert overall.turns.to_80 == 10
    assert overall.complete["5"].low < 0.5 < overall.complete["5"].high


def test_qem_54_area_and_curve_follow_from_prices() -> None:
    rows = [
        QuestionResult(
            question_id=f"q{i}",
            history_id="h",
            category="c",
            gold=1,
            ranks=() if price is None else (int(price),),
            turn_price=price,
            token_price=None if price is None else 30 * price,
            milliseconds=1.0,
        )
        for i, price in enumerate([5, 15, 65, None])
    ]
    overall = summarise(rows)[0]
    assert overall.turns.coverage == (0.25, *[0.5] * 5, *[0.75] * 6)
    expected = np.trapezoid(overall.turns.coverage, overall.turns.budgets) / 110
    assert overall.turns.auc.estimate == pytest.approx(expected)
    assert overall.turns.to_80 is None
    assert overall.tokens.coverage == (0.25, *[0.5] * 5, *[0.75] * 6)
    with pytest.raises(ValueError, match="no question"):
        summarise([])


def test_references_are_compared_on_identical_questions(dataset: Dataset) -> None:
    systems = {"order": InOrder, "back": lambda: InOrder(backwards=True)}
    part = run(dataset, systems, references=("back",))
    (pair,) = part.pairs
    assert (pair.first, pair.second) == ("order", "back")
    assert pair.auc_turns.difference.estimate == 0.0  # both complete within ten turns
    assert pair.mcnemar_20 == 1.0
    assert pair.behind_at == ()


def test_being_behind_is_reported_by_budget() -> None:
    def row(price: float) -> QuestionResult:
        return QuestionResult(
            question_id="q",
            history_id="h",
            category="c",
            gold=1,
            ranks=(int(price),),
            turn_price=price,
            token_price=100.0,
            milliseconds=1.0,
        )

    pair = compare([row(25)], [row(15)], names=("slow", "fast"))
    assert pair.behind_at == ("20 turns",)
    assert compare([row(15)], [row(25)], names=("fast", "slow")).behind_at == ()
    with pytest.raises(ValueError, match="different questions"):
        compare([row(1)], [dataclasses.replace(row(1), question_id="p")], names=("a", "b"))


def test_intervals_resample_conversations_where_there_are_enough() -> None:
    def rows(conversations: int, each: int) -> list[QuestionResult]:
        return [
            QuestionResult(
                question_id=f"{c}#{i}",
                history_id=str(c),
                category="c",
                gold=1,
                ranks=(1,) if c % 2 else (),
                turn_price=1.0 if c % 2 else None,
                token_price=1.0 if c % 2 else None,
                milliseconds=1.0,
            )
            for c in range(conversations)
            for i in range(each)
        ]

    many, few, single = summarise(rows(6, 4)), summarise(rows(2, 12)), summarise(rows(24, 1))
    assert many[0].complete["20"].method == "cluster-bootstrap"
    assert few[0].complete["20"].method == single[0].complete["20"].method == "wilson"
    assert few[0].recall["20"].method == "bootstrap"


def test_a_part_without_gold_and_an_unknown_reference_are_refused(dataset: Dataset) -> None:
    with pytest.raises(UsageError, match="has no question with gold turns"):
        run(dataset.only(["x#2"], split="s"), {"order": InOrder})
    with pytest.raises(UsageError, match="no system is called 'bm26'"):
        run(dataset, {"order": InOrder}, references=("bm26",))


def test_ben_13_report_is_written_and_read_back_without_loss(
    dataset: Dataset, tmp_path: Path
) -> None:
    part = run(dataset, {"order": InOrder})
    report = BenchReport(kind="retrieval", manifest={"data": "0" * 64}, parts=(part,))
    path = tmp_path / "new" / "report.json"
    write_report(report, path)
    assert read_report(path) == report
    text = path.read_text(encoding="utf-8")
    assert not any(turn.text in text for turn in dataset.histories["x"].turns)
    assert not any(question.text in text for question in dataset.questions)


def test_table_shows_systems_intervals_and_gains(dataset: Dataset) -> None:
    systems = {"order": InOrder, "back": lambda: InOrder(backwards=True)}
    text = table(run(dataset, systems, references=("back",)), groups=("*",))
    assert "n = 4, 2 unanswerable, 2 no gold turn; 2 conversations" in text
    assert "multi-hop" in text
    assert "100.0 [100.0, 100.0]" in text
    assert "order - back: AUC turns +0.0" in text
    assert "multi-hop" not in table(run(dataset, systems))


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_plot_is_a_picture_and_the_same_for_the_same_run(
    dataset: Dataset, tmp_path: Path, ending: str
) -> None:
    part = run(dataset, {"order": InOrder})
    paths = [tmp_path / f"{name}.{ending}" for name in "ab"]
    for path in paths:
        plot([part], path)
    one, two = (path.read_bytes() for path in paths)
    assert one == two
    assert one.startswith(b"<?xml" if ending == "svg" else b"\x89PNG")


def test_our_rankers_run_over_one_shared_index(dataset: Dataset) -> None:
    pool = IndexPool(None)
    part = run(dataset, pool.rankers(("bm25", "fusion")))
    rows = {row.question_id: row for row in first(part, "bm25").questions}
    assert rows["x#0"].ranks == (1,)
    history = dataset.histories["x"]
    assert pool.view(history) is pool.view(history)
    with pytest.raises(RuntimeError, match="build"):
        pool.rankers(("bm25",))["bm25"]().rank("kayak", 1)
