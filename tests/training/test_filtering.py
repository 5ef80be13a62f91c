"""Informative states and the funnel: every loss is counted with its reason."""

from __future__ import annotations

import pytest
from training_world import state

from evimem.errors import UsageError
from evimem.training.filtering import Funnel, Verdict, filtered, informative, validated


@pytest.mark.parametrize(
    ("recovered", "missing", "verdict"),
    [
        ((0, 0, 0), 2, "too_hard"),
        ((2, 2, 2), 2, "too_easy"),
        ((0, 1, 2), 2, "kept"),
        ((0, 2, 2), 2, "kept"),
        ((0, 0, 1), 2, "kept"),
        ((1, 1, 1), 2, "kept"),  # uniformly partial
        ((1, 1), 1, "too_easy"),
        ((0,), 1, "too_hard"),
    ],
)
def test_mera_57_mixed_and_uniformly_partial_states_are_kept(
    recovered: tuple[int, ...], missing: int, verdict: Verdict
) -> None:
    assert informative(recovered, missing=missing) == verdict


@pytest.mark.parametrize(("recovered", "missing"), [((0, 1), 0), ((), 2), ((3,), 2), ((-1,), 2)])
def test_mera_60_a_state_without_missing_turns_or_outputs_is_refused(
    recovered: tuple[int, ...], missing: int
) -> None:
    with pytest.raises(UsageError):
        informative(recovered, missing=missing)


def test_mera_56_57_the_funnel_counts_every_loss_with_its_reason() -> None:
    states = [
        state(),
        state("t9"),
        state("t1", viewed=("t1",)),
        state("t1"),
        state("t1", "t2"),
        state("t1", "t2", viewed=("t1",)),
        state("t2", "t3"),
    ]
    funnel = Funnel()
    reach = {"t1", "t2", "t3"}
    left = list(validated(states, lambda one: reach, funnel))
    assert left == states[3:]
    outcomes = iter([[0, 0], [1, 2], [1, 1], [1, 1]])
    kept = list(filtered(left, lambda one: next(outcomes), funnel))
    assert kept == [states[4], states[6]]
    assert funnel == Funnel(
        collected=7, no_gold=1, unaligned=1, complete=1, rollout_input=4,
        too_hard=1, too_easy=1, kept=2,
    )  # fmt: skip
    assert funnel.valid == 5
    assert funnel.valid == funnel.complete + funnel.rollout_input
    assert funnel.rollout_input == funnel.too_hard + funnel.too_easy + funnel.kept


def test_mera_56_the_papers_table_prints_with_its_shares() -> None:
    funnel = Funnel(collected=17_752, unaligned=3_277, rollout_input=14_475, kept=2_312)
    assert funnel.valid == 14_475
    assert "kept 2,312 (16.0%)" in funnel.lines()[-1]
    funnel = Funnel(collected=74_742, rollout_input=74_742, kept=2_996)
    assert "kept 2,996 (4.0%)" in funnel.lines()[-1]
    funnel.add(Funnel(collected=1, no_gold=1))
    assert (funnel.collected, funnel.no_gold) == (74_743, 1)


def test_mera_60_a_complete_state_is_an_error_where_it_was_not_left_out() -> None:
    with pytest.raises(UsageError, match="nothing is missing"):
        list(filtered([state("t1", viewed=("t1",))], lambda one: [0], Funnel()))
