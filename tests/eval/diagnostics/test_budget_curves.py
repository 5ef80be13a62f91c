"""Budgets over what systems viewed and showed, by hand."""

from __future__ import annotations

import random

import numpy as np
import pytest
from bench_rows import ask, cells, run_of, step, system
from evidence_rows import WORDS, dataset

from evimem.errors import UsageError
from evimem.eval.diagnostics.budget_curves import (
    Mode,
    ablation_sample,
    budget_curve,
    covered,
    curve_gain,
    planning_ablation,
    units_of,
)
from evimem.eval.diagnostics.budget_section import MODES, budget_section, planning_section
from evimem.eval.diagnostics.turns import EvidenceTurns
from evimem.eval.harness.rows import AskRow, SystemRun
from evimem.eval.harness.system import Shown
from evimem.eval.retrieval_bench import shown_text
from evimem.scoring.budget import TURN_BUDGETS, BudgetRule, shown_units, unit_costs
from evimem.scoring.tokens import estimate_tokens


def piece(*numbers: int, words: bool = True, name: str = "c") -> Shown:
    """A shown piece made from some turns, in their words or not."""
    text = " ".join(WORDS[n] for n in numbers) if words else "A summary."
    return Shown(text=text, turn_ids=tuple(f"{name}-t{n}" for n in numbers))


def viewing(name: str, key: str, *numbers: int, conversation: str = "c") -> AskRow:
    turns = " ".join(f"{conversation}-t{n}" for n in numbers)
    return ask(f"{conversation}-{key}", step(turns, "", "query"), system=name)


def test_qem_52_an_episode_that_would_exceed_the_budget_ends_the_showing() -> None:
    units = [("a",), tuple(f"e{n}" for n in range(12)), ("gold",)]

    strict = covered(units, frozenset({"gold"}), [10, 12, 13, 14])

    assert list(strict) == [0, 0, 0, 1]
    assert list(covered(units, frozenset({"e5"}), [10, 12, 13, 14])) == [0, 0, 1, 1]


def test_qem_53_the_inclusive_rule_shows_the_piece_that_exceeds() -> None:
    units = [("a",), tuple(f"e{n}" for n in range(12)), ("gold",)]
    inside = covered(units, frozenset({"e5"}), [1, 2, 10], rule="inclusive")
    assert list(inside) == [0, 1, 1]
    behind = covered(units, frozenset({"gold"}), [10, 13, 14], rule="inclusive")
    assert list(behind) == [0, 0, 1]


@pytest.mark.parametrize("rule", ["strict", "inclusive"])
def test_qem_52_qem_53_coverage_is_what_the_rules_of_showing_units_give(rule: BudgetRule) -> None:
    rng = random.Random(5)
    names = [f"t{n}" for n in range(30)]
    cost = {one: float(rng.randint(0, 9)) for one in names}
    for prices in (None, cost):
        for _ in range(200):
            units = [rng.sample(names, rng.randint(0, 5)) for _ in range(rng.randint(0, 12))]
            wanted = frozenset(rng.sample(names, rng.randint(1, 3)))
            budgets = [0, 1, 4, 9, 17, 40, np.inf]
            expected = []
            for budget in budgets:
                count = shown_units(unit_costs(units, prices), budget, rule=rule)
                expected.append(float(wanted <= {one for unit in units[:count] for one in unit}))
            found = covered(units, wanted, budgets, cost=prices, rule=rule)
            assert list(found) == expected


def test_evidence_that_never_comes_is_never_covered() -> None:
    assert list(covered([("a",)], frozenset({"b"}), [10, np.inf])) == [0, 0]
    assert list(covered([], frozenset({"b"}), [10])) == [0]


def test_qem_52_a_turn_counts_and_costs_only_where_its_own_words_are_shown() -> None:
    gold = EvidenceTurns(dataset(only=("q1",)))
    row = ask("c-q1", shown=(piece(0, 1, words=False), piece(1, 2), piece(2, 3)))

    assert units_of(row, gold, "shown") == [(), ("c-t1", "c-t2"), ("c-t2", "c-t3")]


def test_qem_54_curve_area_and_the_budget_for_80_percent_follow_from_places() -> None:
    data = dataset(only=("q1", "q2"))
    gold = EvidenceTurns(data)
    first = [11, 10, 9, 8, 7, 6, 4, 3, 2, 1]
    run = system(viewing("s", "q1", 1), viewing("s", "q2", *first, 0, 5))

    curve = budget_curve(run, gold, Mode())

    # q1 is complete at once; q2 with its 12th turn, so from a budget of 20 on.
    assert [point.estimate for point in curve.points] == [0.5] + [1.0] * 11
    expected = np.trapezoid([0.5] + [1.0] * 11, TURN_BUDGETS) / 110
    assert curve.auc.estimate == pytest.approx(expected)
    assert curve.to_80 == pytest.approx(10 + 10 * (0.8 - 0.5) / 0.5)
    assert curve.at(10).estimate == 0.5
    assert curve.whole.estimate == 1.0


def test_qem_54_a_level_that_is_not_reached_says_so() -> None:
    run = system(viewing("s", "q1", 1), viewing("s", "q2", 1))
    data = dataset(only=("q1", "q2"))

    section = budget_section(run_of(run, data=data))

    row = cells(section.tables[0], "s")
    assert row["turns to 80%"] == "not reached"
    whole = row["whole list"]
    assert getattr(whole, "estimate", None) == 0.5


def test_qem_53_tokens_are_those_of_the_turns_shown() -> None:
    data = dataset(only=("q2",))
    gold = EvidenceTurns(data)
    run = system(ask("c-q2", shown=(piece(1), piece(4, words=False), piece(5))))
    turns = data.histories["c"].turns
    price = sum(estimate_tokens(shown_text(turns[n])) for n in (1, 5))

    curve = budget_curve(run, gold, Mode(order="shown", unit="tokens"))

    assert price < 300
    assert curve.points[0].estimate == 1.0
    assert list(covered([("c-t1",), ("c-t5",)], gold.of("c-q2"), [price - 1, price],
                        cost=gold.conversation("c-q2").tokens)) == [0, 1]  # fmt: skip


def test_qem_53_the_restriction_leaves_out_questions_that_were_refined() -> None:
    data = dataset(only=("q1", "q2"))
    twice = ask("c-q2", step("c-t1", "", "first"), step("c-t5", "", "again"))
    run = system(viewing("s", "q1", 1), twice)

    curve = budget_curve(run, EvidenceTurns(data), Mode(unrefined=True))

    assert curve.questions == ("c-q1",)
    tables = budget_section(run_of(run, data=data)).tables
    assert any("unrefined questions (n=1)" in one.title for one in tables)
    alone = system(twice)
    only = dataset(only=("q2",))
    with pytest.raises(ValueError, match="no question left"):
        budget_curve(alone, EvidenceTurns(only), Mode(unrefined=True))
    assert len(budget_section(run_of(alone, data=only)).plots) == len(MODES) - 1


def test_qem_55_the_section_covers_questions_whose_evidence_is_mapped_in_full() -> None:
    import dataclasses

    data = dataset(only=("q1", "q2"))
    partly = dataclasses.replace(data.gold["c-q2"], unmapped=("D99:1",))
    data = data.with_gold({"c-q2": partly}, note="partly mapped")
    run = system(viewing("s", "q1", 1), viewing("s", "q2", 1, 5))

    section = budget_section(run_of(run, data=data))

    assert section.tables[0].title.endswith("(n=1)")
    assert EvidenceTurns(data).questions == ("c-q1", "c-q2")
    assert EvidenceTurns(data, fully_mapped=True).questions == ("c-q1",)


def late(name: str, key: str, conversation: str = "c") -> AskRow:
    """All gold turns, behind eleven others: complete with the budget of 20."""
    gold = {"q1": [1], "q2": [1, 5]}[key]
    others = [n for n in range(12) if n not in gold]
    return viewing(name, key, *others, *gold, conversation=conversation)


def test_qem_54_gains_are_question_by_question_and_leave_one_conversation_out() -> None:
    data = dataset("c", "d", only=("q1",))
    gold = EvidenceTurns(data)
    early = system(
        viewing("early", "q1", 1), viewing("early", "q1", 1, conversation="d"), name="early"
    )
    mixed = system(viewing("mixed", "q1", 1), ask("d-q1", system="mixed"), name="mixed")

    gain = curve_gain(budget_curve(early, gold, Mode()), budget_curve(mixed, gold, Mode()), gold)

    assert gain.at[20].difference.estimate == 0.5
    assert gain.at[80].difference.estimate == 0.5
    assert gain.auc.difference.estimate == pytest.approx(0.5)
    assert gain.without == {"c": 1.0, "d": 0.0}
    with pytest.raises(ValueError, match="not curves of the same"):
        curve_gain(
            budget_curve(early, gold, Mode()),
            budget_curve(mixed, gold, Mode(rule="inclusive")),
            gold,
        )


def test_qem_57_final_visibility_is_a_table_of_its_own_and_no_point_of_a_curve() -> None:
    data = dataset(only=("q1", "q2"))
    run = system(
        ask("c-q1", step("c-t1", "", "x"), shown=(piece(1),)),
        ask("c-q2", step("c-t1", "", "x"), shown=(piece(1, 5),)),
    )

    section = budget_section(run_of(run, data=data))

    *curves, endpoint = section.tables
    assert endpoint.ids == ("QEM-57",)
    final = cells(endpoint, "s")["complete in the final context"]
    assert getattr(final, "estimate", None) == 1.0
    assert all("final context" not in column for one in curves for column in one.columns)
    for plot in section.plots:
        for line in plot.lines:
            assert max(line.y) <= 1.0
            assert len(line.x) == 12
    assert max(section.plots[0].lines[0].y) == 0.5


def test_systems_that_cannot_be_traced_are_named_and_references_must_exist() -> None:
    data = dataset(only=("q1",))
    blind = system(ask("c-q1", system="blind"), name="blind", traces_turns=False)
    first = system(viewing("first", "q1", 1), name="first")
    second = system(late("second", "q1"), name="second")

    section = budget_section(run_of(blind, first, second, data=data), reference="second")

    assert "Not traceable to turns: blind." in section.notes
    gains = [one for one in section.tables if one.title.startswith("Coverage gained over second")]
    assert len(gains) == len(MODES)
    assert [row[0] for row in gains[0].rows] == ["first"]
    with pytest.raises(UsageError, match="no system that traces turns is called 'blind'"):
        budget_section(run_of(blind, first, data=data), reference="blind")


def test_qem_56_the_sample_is_seeded_and_in_the_order_of_the_data_set() -> None:
    names = [f"c{n}" for n in range(30)]
    gold = EvidenceTurns(dataset(*names, only=("q1", "q2")))

    sample = ablation_sample(gold, n=20, seed=3)

    assert len(sample) == len(set(sample)) == 20
    assert list(sample) == [one for one in gold.questions if one in set(sample)]
    assert ablation_sample(gold, n=20, seed=3) == sample
    assert ablation_sample(gold, n=20, seed=4) != sample
    assert ablation_sample(gold) == gold.questions


def test_qem_56_planning_may_lose_at_20_turns_and_win_over_the_full_list() -> None:
    data = dataset("c", "d", only=("q1", "q2"), extra=30)
    gold = EvidenceTurns(data)

    def planned(name: str) -> list[AskRow]:
        return [
            viewing("full", "q1", *range(12, 42), 1, conversation=name),
            viewing("full", "q2", *range(12, 42), 1, 5, conversation=name),
        ]

    def direct(name: str) -> list[AskRow]:
        return [
            viewing("direct", "q1", 1, conversation=name),
            viewing("direct", "q2", 1, conversation=name),
        ]

    full = system(*planned("c"), *planned("d"), name="full")
    without = system(*direct("c"), *direct("d"), name="direct")

    found = planning_ablation(full, without, gold)

    ends = {
        name: (n, tight.difference.estimate, loose.difference.estimate)
        for name, (n, tight, loose) in found.groups.items()
    }
    assert ends == {
        "all": (4, -0.5, 0.5),
        "multi-hop": (2, 0.0, 1.0),
        "cross-session": (2, 0.0, 1.0),
    }
    section = planning_section([found])
    assert [row[0] for row in section.tables[0].rows] == [
        "full against direct: all",
        "full against direct: multi-hop",
        "full against direct: cross-session",
    ]
    assert any("not adapted" in note for note in section.notes)


def test_questions_without_an_answer_row_are_never_complete() -> None:
    data = dataset(only=("q1", "q2"))
    run: SystemRun = system(viewing("s", "q1", 1), ask("c-q2", step("c-t1 c-t5"), failed="down"))

    curve = budget_curve(run, EvidenceTurns(data), Mode())

    assert curve.whole.estimate == 0.5
    assert curve.whole.n == 2
