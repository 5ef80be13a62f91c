"""Figures of a planner on given states, and of whole searches."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from mera_world import World, intents
from training_world import CONFIG, TOLD, state

from evimem.datasets import Gold
from evimem.llm.structured import Structured
from evimem.model.chat import ChatReply, ChatRequest
from evimem.model.evidence import Question
from evimem.ports import ChatModel
from evimem.query.parts import Proposer
from evimem.recipes.mera import planner_of
from evimem.training.execution import Trials
from evimem.training.planner.measuring import (
    Measured,
    compared,
    earned,
    searched,
    told_by,
    tries,
)
from evimem.training.planner.offline import Heuristic, offline_recipe
from evimem.training.planner.rows import PlannerReward, heuristic_plan
from evimem.training.rewards import REWARDS, Reward
from evimem.training.states import PlannerState

ONE, OTHER = state("t3", "t1"), state("t0", viewed=("t2",))


def read_once(model: ChatModel) -> ChatModel:
    return Structured(model, attempts=1)


def rewarding() -> PlannerReward:
    trials = Trials(config=CONFIG, banks={"b1": World(*TOLD).view}, read=read_once)
    reward = REWARDS["mera"]
    assert isinstance(reward, Reward)
    return PlannerReward(trials, {one.state_id: one for one in (ONE, OTHER)}, reward)


class Saying:
    """Says one thing after the other."""

    def __init__(self, *words: str) -> None:
        self.words = list(words)

    def __call__(self, states: Sequence[PlannerState]) -> list[tuple[str, int]]:
        return [(self.words.pop(0), 60) for _ in states]


def said(*facts: str) -> str:
    return json.dumps(intents(*facts))


def test_outputs_are_carried_out_priced_and_averaged() -> None:
    say = Saying(said("in Porto"), said("Graz", "Porto"), said("cello"), "no plan")
    made = tries([ONE, OTHER], say, rewarding(), samples=2)
    assert [one.reward for one in made] == [0.5, 1.0, 1.0, 0.0]
    assert [one.recovered for one in made] == [1, 2, 1, 0]
    assert list(earned(made).values()) == [0.75, 0.5]
    told = Measured.of(made)
    assert (told.n, told.outputs, told.reward, told.parsed) == (2, 4, 0.625, 0.75)
    assert told.recall == pytest.approx((0.5 + 1 + 1 + 0) / 4)
    assert (told.intents, told.length) == (1.0, 60.0)


def test_two_planners_are_compared_on_the_same_states_only() -> None:
    good = tries([ONE, OTHER], Saying(said("in Porto"), said("cello")), rewarding())
    bad = tries([ONE, OTHER], Saying("no", "no"), rewarding())
    questions = {ONE.state_id: "q1", OTHER.state_id: "q2"}
    difference = compared(good, bad, questions).difference
    assert difference.estimate == pytest.approx(0.75)
    assert (difference.low, difference.high) == pytest.approx((0.5, 1.0))
    alike = compared(good, bad, dict.fromkeys(questions, "q1")).difference
    assert (alike.low, alike.high) == pytest.approx((0.75, 0.75)), "one question has no spread"
    with pytest.raises(ValueError, match="not the same"):
        compared(good, bad[:1], questions)


def test_plans_by_rules_are_tried_like_any_other() -> None:
    reward = rewarding()
    made = tries([ONE], told_by(heuristic_plan, reward.trials), reward)
    assert made[0].parsed and made[0].intents >= 1


def ask(planner: Proposer, rounds: int) -> tuple[float, int, int, int]:
    told = Gold(
        question_id="q1", history_id="h", category="single-hop", answer="Porto", evidence=("D1:3",)
    )
    view = World(*TOLD).view
    question = Question(text="Where is the bakery?", question_id="q1")
    recipe = offline_recipe(CONFIG, planner, rounds=rounds)
    one = searched(recipe, view, question, told, ("t3", "none"))
    assert one.complete is False and one.category == "single-hop"
    return one.recall, one.rounds, one.read, one.searches


def test_a_search_is_measured_to_its_ceiling_of_rounds_whatever_its_plans() -> None:
    model = Speaking(said("Graz"), "no plan", said("in Porto"))
    assert ask(planner_of(CONFIG, read_once(model)), 3) == (0.5, 3, 2, 2)
    assert ask(Heuristic(config=CONFIG, read=read_once), 2)[1] == 2


class Speaking:
    """A model that says one thing after the other, as it is."""

    def __init__(self, *words: str) -> None:
        self.words = list(words)

    model_id = "speaking"
    window = 0

    def chat(self, request: ChatRequest) -> ChatReply:
        return ChatReply(text=self.words.pop(0), finish="stop")
