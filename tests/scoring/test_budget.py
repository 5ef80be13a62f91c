"""Budget curves: published rules, analytic areas, agreement with a step-by-step walk."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from evimem.scoring.budget import (
    TOKEN_BUDGETS,
    TURN_BUDGETS,
    budget_to_reach,
    completeness_price,
    coverage,
    normalised_auc,
    shown_units,
    unit_costs,
)


def test_qem_52_an_episode_of_12_stops_at_10_of_20_and_nothing_after_it_is_taken() -> None:
    episode = [f"e{i}" for i in range(12)]
    units = [[f"t{i}"] for i in range(10)] + [episode] + [["later"]]
    costs = unit_costs(units)
    assert shown_units(costs, 20) == 10
    assert shown_units(costs, 22) == 11
    assert shown_units(costs, 23) == 12


def test_qem_53_the_inclusive_rule_lets_the_next_unit_exceed() -> None:
    costs = unit_costs([["a"], ["b", "c", "d"], ["e"]])
    assert [shown_units(costs, b, rule="inclusive") for b in (0, 1, 2, 4, 5, 99)] == [
        0,
        1,
        2,
        2,
        3,
        3,
    ]
    assert [shown_units(costs, b) for b in (0, 1, 2, 4, 5, 99)] == [0, 1, 1, 2, 3, 3]


def test_turns_shown_before_cost_nothing() -> None:
    assert unit_costs([["a", "b"], ["b", "c"], ["a"]]).tolist() == [2, 1, 0]
    assert unit_costs([["a"], ["a", "b"]], {"a": 30, "b": 12}).tolist() == [30, 12]


def test_price_is_the_least_budget_that_shows_all_gold() -> None:
    ranking = ["a", "b", "c"]
    tokens = {"a": 100.0, "b": 250.0, "c": 10.0}
    assert completeness_price(ranking, ["b"]) == 2
    assert completeness_price(ranking, ["b"], cost=tokens) == 350
    assert completeness_price(ranking, ["z", "a"]) == math.inf
    assert completeness_price(["a", "b", "c"], ["b", "c"], aliases={"b": "a"}) == 2
    with pytest.raises(ValueError, match="no gold"):
        completeness_price(ranking, [])


def test_price_agrees_with_showing_unit_by_unit_on_random_rankings() -> None:
    rng = random.Random(3)
    pool = [f"t{i}" for i in range(25)]
    for _ in range(200):
        ranking = rng.sample(pool, 20)
        gold = rng.sample(pool, rng.randint(1, 3))
        tokens = {one: float(rng.randint(1, 60)) for one in pool}
        budget = rng.randint(1, 700)
        shown = shown_units(unit_costs([[one] for one in ranking], tokens), budget)
        visible = set(gold) <= set(ranking[:shown])
        assert (completeness_price(ranking, gold, cost=tokens) <= budget) == visible


def test_qem_54_known_curves_have_their_analytic_area() -> None:
    grid = np.array(TURN_BUDGETS, dtype=float)
    assert float(normalised_auc(TURN_BUDGETS, np.full(12, 0.7))) == pytest.approx(0.7)
    assert float(normalised_auc(TURN_BUDGETS, (grid - 10) / 110)) == pytest.approx(0.5)
    step = (grid >= 65).astype(float)  # rises between 60 and 70
    assert float(normalised_auc(TURN_BUDGETS, step)) == pytest.approx((5 + 50) / 110)


def test_area_of_the_mean_curve_is_the_mean_of_the_areas() -> None:
    rows = coverage([15, 300, math.inf, 10], TURN_BUDGETS)
    assert rows.shape == (4, 12)
    assert float(normalised_auc(TURN_BUDGETS, rows.mean(axis=0))) == pytest.approx(
        float(normalised_auc(TURN_BUDGETS, rows).mean())
    )
    assert rows[0].tolist() == [0] + [1] * 11
    assert rows[1].sum() == rows[2].sum() == 0
    assert rows[3].sum() == 12


def test_the_published_grids_are_used() -> None:
    assert (TURN_BUDGETS[0], TURN_BUDGETS[-1], len(TURN_BUDGETS)) == (10, 120, 12)
    assert (TOKEN_BUDGETS[0], TOKEN_BUDGETS[-1], len(TOKEN_BUDGETS)) == (300, 3600, 12)


def test_qem_54_budget_to_reach_is_interpolated_and_may_be_none() -> None:
    assert budget_to_reach([10, 20, 30], [0.5, 0.7, 0.9]) == pytest.approx(25)
    assert budget_to_reach([10, 20, 30], [0.8, 0.9, 0.9]) == 10
    assert budget_to_reach([10, 20], [0.5, 0.7]) is None


def test_a_grid_that_does_not_ascend_is_refused() -> None:
    for grid in ([10], [10, 10], [20, 10]):
        with pytest.raises(ValueError, match="should ascend"):
            normalised_auc(grid, np.zeros(len(grid)))
