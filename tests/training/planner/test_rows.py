"""Rows and rewards for a trainer of language models, without one."""

from __future__ import annotations

import json

import pytest
from mera_world import World, intents
from training_world import CONFIG, TOLD, state

from evimem.errors import UsageError
from evimem.llm.structured import Structured
from evimem.model.evidence import EvidenceItem, EvidenceState, Question
from evimem.ports import ChatModel
from evimem.training.execution import Trials
from evimem.training.planner.rows import (
    PlannerReward,
    heuristic_plan,
    messages,
    planner_rows,
    question_plan,
    sft_rows,
)
from evimem.training.rewards import REWARDS, Reward
from evimem.training.states import PlannerState

LONG = [0] * 60
"""Tokens of an output of a length that costs nothing."""


def read_once(model: ChatModel) -> ChatModel:
    return Structured(model, attempts=1)


@pytest.fixture
def trials() -> Trials:
    return Trials(config=CONFIG, banks={"b1": World(*TOLD).view}, read=read_once)


def rewarding(trials: Trials, *states: PlannerState, ceiling: int = 0) -> PlannerReward:
    reward = REWARDS["mera"]
    assert isinstance(reward, Reward)
    return PlannerReward(trials, {one.state_id: one for one in states}, reward, ceiling)


def plan(*facts: str) -> list[dict[str, str]]:
    return [{"role": "assistant", "content": json.dumps(intents(*facts))}]


def test_a_row_holds_the_prompt_of_inference_and_the_id_of_its_state(trials: Trials) -> None:
    one = state("t3")
    row = planner_rows([one], trials)[0]
    asked = trials.prompt(one)
    assert row["prompt"] == [{"role": m.role, "content": m.text} for m in asked.messages]
    assert row["state_id"] == one.state_id


def test_mera_60_complete_states_and_states_given_twice_are_refused(trials: Trials) -> None:
    with pytest.raises(UsageError, match="nothing is missing"):
        planner_rows([state("t3", viewed=("t3",))], trials)
    with pytest.raises(UsageError, match="given twice"):
        planner_rows([state("t3"), state("t3")], trials)


def test_mera_58_59_64_rewards_come_from_what_the_words_retrieve(trials: Trials) -> None:
    one, other = state("t3", "t1"), state("t0", viewed=("t2",))
    given = rewarding(trials, one, other)
    made = given(
        completions=[plan("in Porto"), plan("Porto Porto bakery of"), "no plan", plan("cello")],
        completion_ids=[LONG] * 4,
        state_id=[one.state_id] * 3 + [other.state_id],
        trainer_state=None,
    )
    assert made == [0.5, 0.5, 0.0, 1.0]


def test_a_reward_reads_plain_words_and_prices_length(trials: Trials) -> None:
    one = state("t3")
    words = plan("Porto")[0]["content"]
    made = rewarding(trials, one)(
        completions=[words, words], completion_ids=[LONG, LONG[:10]], state_id=[one.state_id] * 2
    )
    assert made == [1.0, pytest.approx(0.95)]


def test_an_output_at_the_ceiling_counts_as_cut(trials: Trials) -> None:
    one = state("t3")
    words = plan("Porto", "cello")[0]["content"]
    half = words[: words.index("cello") + 3]
    executed, _ = rewarding(trials, one, ceiling=60).tried(half, 60, one.state_id)
    assert executed.recovered == ("t3",)
    whole, _ = rewarding(trials, one, ceiling=61).tried(half, 60, one.state_id)
    assert executed.plan is not None and any("cut" in note for note in executed.plan.dropped)
    assert whole.plan is None or not any("cut" in note for note in whole.plan.dropped)


def test_the_parts_of_a_reward_are_logged(trials: Trials) -> None:
    one = state("t3")
    seen: list[tuple[str, float]] = []
    rewarding(trials, one)(
        completions=[plan("Porto"), "nothing"],
        completion_ids=[LONG, LONG],
        state_id=[one.state_id] * 2,
        log_metric=lambda name, value: seen.append((name, value)),
    )
    assert ("plan/retrieval", 1.0) in seen
    assert [value for name, value in seen if name == "plan/parsed"] == [1.0, 0.0]


def test_an_unknown_state_is_an_error_and_no_zero(trials: Trials) -> None:
    with pytest.raises(UsageError, match="no state 'x'"):
        rewarding(trials)(completions=["a"], completion_ids=[[1]], state_id=["x"])


def test_the_reward_has_the_name_that_a_log_shows(trials: Trials) -> None:
    assert rewarding(trials).__name__ == "mera"


def test_a_heuristic_plan_is_read_by_the_planner_and_asks_for_what_is_missing(
    trials: Trials,
) -> None:
    found = EvidenceItem(item_id="t2", quote="My sister has a bakery.", start=0, end=23, round=1)
    asked = EvidenceState(
        question=Question(text="Where is the bakery of Mira's sister?"),
        evidence=(found,), viewed=("t2",), missing="where the bakery is", round=1,
    )  # fmt: skip
    one = PlannerState(
        question_id="q", history_id="h", bank="b1", recipe="mera", state=asked, gold=("t3",)
    )
    text = heuristic_plan(one, trials.banks["b1"])
    executed = trials.run(one, text)
    assert executed.plan is not None and not executed.plan.problem
    assert 1 <= len(executed.plan.intents) <= 3
    assert executed.plan.surplus == 0 and executed.plan.dropped == ()
    assert executed.plan.missing == "where the bakery is"
    assert executed.recovered == ("t3",)


def test_plans_that_bring_nothing_are_no_example_to_follow(trials: Trials) -> None:
    rows = sft_rows([state("t2"), state("nowhere")], trials)
    assert [row["prompt"] for row in rows] == [messages(trials, state("t2"))]
    said = rows[0]["completion"]
    assert said[0]["role"] == "assistant"
    assert trials.run(state("t2"), said[0]["content"]).recovered == ("t2",)


def test_the_plan_of_the_question_asks_for_it_and_is_read(trials: Trials) -> None:
    one = state("t3")
    executed = trials.run(one, question_plan(one, trials.banks["b1"]))
    assert [step.request.text for step in executed.steps] == ["Where is the bakery?"]
    assert executed.parsed
