"""Stratified samples: sizes, weights, and estimates that can be worked out by hand."""

from __future__ import annotations

import pytest

from evimem.eval.diagnostics.sampling import allocation, draw, ratio, ratio_gap, weights

SIZES = {("a",): 100, ("b",): 3, ("c",): 20}


def test_every_stratum_gets_the_same_share_as_far_as_it_has_as_many() -> None:
    assert allocation(SIZES, 24) == {("a",): 11, ("b",): 3, ("c",): 10}
    assert allocation(SIZES, 3) == {("a",): 1, ("b",): 1, ("c",): 1}
    assert allocation(SIZES, 2) == {("a",): 1, ("b",): 1, ("c",): 0}
    assert allocation(SIZES, 999) == SIZES
    assert allocation({}, 5) == {}
    with pytest.raises(ValueError, match="-1"):
        allocation(SIZES, -1)


def test_twelve_even_strata_give_twelve_each_of_144() -> None:
    strata = {(f"type {n % 4}", f"kind {n // 4}"): 50 + n for n in range(12)}
    assert set(allocation(strata, 144).values()) == {12}


def test_weights_add_up_to_the_population_and_the_seed_decides_the_draw() -> None:
    units = [("a", n) for n in range(100)] + [("b", n) for n in range(3)]

    sample = draw(units, lambda one: (one[0],), n=10, seed=7)

    assert sum(one.weight for one in sample.drawn) == pytest.approx(103)
    assert sample.population == 103
    assert [one.unit for one in sample.drawn if one.stratum == ("b",)] != []
    assert len({one.unit for one in sample.drawn}) == 10
    assert draw(units, lambda one: (one[0],), n=10, seed=7) == sample
    assert draw(units, lambda one: (one[0],), n=10, seed=8) != sample


def test_units_that_could_not_be_measured_leave_their_weight_to_their_stratum() -> None:
    held = weights({("a",): 90, ("b",): 10}, [("a",), ("a",), ("a",), ("b",)])
    assert list(held) == [30, 30, 30, 10]


def test_a_ratio_weighs_strata_by_their_size() -> None:
    strata = ["a", "a", "b", "b"]
    found = ratio([1, 1, 0, 0], [1, 1, 1, 1], [40, 40, 10, 10], strata)
    assert found is not None
    # Within each stratum all units are alike, so no resample differs.
    assert (found.estimate, found.low, found.high) == pytest.approx((0.8, 0.8, 0.8))
    assert (found.n, found.method) == (4, "stratified-bootstrap")


def test_the_interval_of_a_ratio_is_that_of_resamples_within_strata() -> None:
    # One stratum of two units, 0 and 1: resamples have means 0, 0.5, 1 with odds 1, 2, 1.
    found = ratio([0, 1], [1, 1], [5, 5], ["a", "a"], resamples=4000)
    assert found is not None
    assert (found.estimate, found.low, found.high) == (0.5, 0.0, 1.0)
    narrow = ratio([0, 1], [1, 1], [5, 5], ["a", "a"], resamples=4000, level=0.4)
    assert narrow is not None
    assert (narrow.low, narrow.high) == (0.5, 0.5)


def test_a_ratio_without_a_denominator_is_not_measured() -> None:
    assert ratio([0, 0], [0, 0], [1, 1], ["a", "b"]) is None
    assert ratio([], [], [], []) is None
    assert ratio_gap(([1], [1]), ([0], [0]), [1], ["a"]) is None


def test_a_gap_draws_the_same_units_for_both() -> None:
    # The first is right wherever the second is, and once more: every resample has a gap of 0 to 1.
    first, second = [1, 1, 0, 1], [1, 1, 0, 0]
    ones = [1.0] * 4
    found = ratio_gap((first, ones), (second, ones), [1, 1, 1, 1], ["a", "a", "a", "b"])
    assert found is not None
    # Unit 4 is the whole of its stratum, so it is in every resample.
    assert found.difference.estimate == pytest.approx(0.25)
    assert (found.difference.low, found.difference.high) == pytest.approx((0.25, 0.25))
    assert found.p_value == pytest.approx(1 / 2000)
