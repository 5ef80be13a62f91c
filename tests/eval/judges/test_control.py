"""The control set: what it holds, rates by hand, no second call, the section of a report."""

from __future__ import annotations

from collections import Counter

import pytest

from evimem.errors import ModelServerError
from evimem.eval.harness.rows import JudgeRow
from evimem.eval.judges.control import ControlRates, control_items, control_rates, section
from evimem.eval.judges.judge import ProfileJudge
from evimem.eval.judges.profiles import load_profile
from evimem.eval.rows import Rows
from evimem.llm.scripted import ScriptedModels
from evimem.model.chat import ChatRequest
from evimem.scoring.stats import wilson
from evimem.scoring.text import exact_match

ITEMS = control_items()


def rows() -> Rows[JudgeRow]:
    return Rows(JudgeRow, lambda row: (row.question_id, row.judge, row.answer))


def models(accepts: set[str], *, unread: set[str] = frozenset()) -> ScriptedModels:  # type: ignore[assignment]
    """A judge that accepts answers of these worths, and mumbles at others."""
    worth = {one.answer: one.worth for one in ITEMS}

    def reply(request: ChatRequest) -> str:
        answer = request.messages[-1].text.rpartition("Answer to be marked: ")[2].strip()
        kind = worth[answer]
        if kind in unread:
            return "Hm."
        return '{"label": "%s"}' % ("CORRECT" if kind in accepts else "WRONG")

    return ScriptedModels({"judge": reply})


def rates(scripted: ScriptedModels, kept: Rows[JudgeRow] | None = None) -> ControlRates:
    judge = ProfileJudge(load_profile("mem0"), scripted)
    return control_rates(judge, rows=rows() if kept is None else kept)


def test_ben_8_the_set_has_three_answers_to_each_of_forty_questions() -> None:
    assert Counter(one.worth for one in ITEMS) == {"right": 40, "vague": 40, "wrong": 40}
    assert len({one.gold.question_id for one in ITEMS}) == 40
    assert len({one.answer for one in ITEMS}) == 120
    kinds = Counter(load_profile("longmemeval").kinds.get(one.gold.category, "base")
                    for one in ITEMS if one.worth == "right" and one.gold.answerable)  # fmt: skip
    assert set(kinds) == {"base", "temporal", "update", "preference"}
    assert sum(not one.gold.answerable for one in ITEMS if one.worth == "right") == 4


def test_ben_8_no_control_answer_is_the_gold_itself() -> None:
    assert not any(exact_match(one.answer, one.gold.answer) for one in ITEMS)


@pytest.mark.parametrize(
    ("accepts", "expected"),
    [
        ({"right"}, (40, 0, 0)),
        ({"right", "vague"}, (40, 40, 0)),
        ({"right", "vague", "wrong"}, (40, 40, 40)),
        (set(), (0, 0, 0)),
    ],
)
def test_ben_8_rates_are_the_shares_accepted_of_each_worth(
    accepts: set[str], expected: tuple[int, int, int]
) -> None:
    found = rates(models(accepts))
    shares = (found.right_accepted, found.vague_accepted, found.wrong_accepted)
    assert shares == tuple(wilson(k, 40) for k in expected)
    assert (found.n, found.unread) == (40, 0)


def test_ben_8_a_reply_that_cannot_be_read_accepts_nothing_and_is_counted() -> None:
    found = rates(models({"right"}, unread={"vague"}))
    assert (found.unread, found.vague_accepted.estimate) == (40, 0.0)
    assert "40 of 120 unread" in found.told()
    told = rates(models({"right", "vague"})).told()
    assert "accepts 100.0% of right answers in other words, 100.0% of vague and 0.0%" in told
    assert "unread" not in told


def test_ben_8_a_second_run_makes_no_call_and_says_the_same() -> None:
    scripted, kept = models({"right"}), rows()
    first = rates(scripted, kept)
    assert len(scripted.requests) == len(kept) == 120
    assert rates(scripted, kept) == first
    assert len(scripted.requests) == 120


def test_ben_8_judging_in_parallel_gives_the_same_rates() -> None:
    judge = ProfileJudge(load_profile("mem0"), models({"right", "wrong"}))
    one, many = (control_rates(judge, rows=rows(), parallel=n) for n in (1, 4))
    assert one == many


def test_ben_8_what_was_judged_before_a_failure_is_kept() -> None:
    replies = ['{"label": "WRONG"}'] * 7
    scripted = ScriptedModels(
        {"judge": lambda r: replies.pop() if replies else ModelServerError("x")}
    )
    kept = rows()
    with pytest.raises(ModelServerError):
        rates(scripted, kept)
    assert len(kept) == 7


def test_ben_8_the_section_has_a_row_per_judge_with_intervals() -> None:
    found = [rates(models({"right"})), rates(models({"right", "vague"}))]
    made = section(found)
    (table,) = made.tables
    assert [row[0] for row in table.rows] == [one.judge for one in found]
    assert [row[2] for row in table.rows] == [wilson(0, 40), wilson(40, 40)]
    assert set(table.percent) < set(table.columns)
    assert "BEN-8" in table.ids
