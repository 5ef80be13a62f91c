"""States of generated conversations, and plans that a start imitates."""

from __future__ import annotations

import json
import random

import pytest

from evimem.datasets.generated import generate
from evimem.errors import UsageError
from evimem.llm.structured import Structured
from evimem.ports import ChatModel
from evimem.query.selector.options import options
from evimem.recipes.mera import MeraConfig
from evimem.training.execution import Trials, view_of
from evimem.training.planner.gathering import DrawnPlan, Gathered, gather, memory_of, spread
from evimem.training.states import bank_hash

CONFIG = MeraConfig(name="mera-bm25", ranker="bm25")


def read_once(model: ChatModel) -> ChatModel:
    return Structured(model, attempts=1)


@pytest.fixture(scope="module")
def gathered() -> Gathered:
    return gather(generate("tiny", 5), CONFIG, read_once, histories=1, seed=5)


def test_mera_55_states_come_from_all_rounds_and_name_their_memory(gathered: Gathered) -> None:
    assert {one.state.round for one in gathered.states} == {0, 1, 2}
    assert len(gathered.banks) == 1
    assert {one.bank for one in gathered.states} == set(gathered.banks)
    later = [one for one in gathered.states if one.state.round]
    assert all(one.state.requests and one.state.viewed for one in later)
    assert any(one.state.evidence for one in later)


def test_mera_56_60_states_have_something_missing_and_the_rest_is_counted(
    gathered: Gathered,
) -> None:
    funnel = gathered.funnel
    assert all(one.missing for one in gathered.states)
    assert (
        funnel.rollout_input == len(gathered.states) == len({s.state_id for s in gathered.states})
    )
    assert funnel.collected == funnel.rollout_input + funnel.complete and funnel.complete > 0


def test_equal_seeds_gather_equal_states_and_others_do_not(gathered: Gathered) -> None:
    again = gather(generate("tiny", 5), CONFIG, read_once, histories=1, seed=5)
    other = gather(generate("tiny", 5), CONFIG, read_once, histories=1, seed=6)
    assert [s.state_id for s in again.states] == [s.state_id for s in gathered.states]
    assert [s.state_id for s in other.states] != [s.state_id for s in gathered.states]


def test_mera_54_held_out_conversations_and_questions_are_refused() -> None:
    data = generate("tiny", 5)
    name = next(iter(data.histories))
    for held in (name, f"{name}#3"):
        with pytest.raises(UsageError, match="belong to the test set"):
            gather(data, CONFIG, read_once, histories=1, test_ids=[held])


def test_a_memory_is_named_by_its_turns_and_facts() -> None:
    history = next(iter(generate("tiny", 5).histories.values()))
    memory = memory_of(history, None)
    ids = [turn.turn_id for turn in history.turns]
    facts = [fact for made in memory.view.facts_of(ids).values() for fact in made]
    assert len(facts) == sum(bool(turn.body.strip()) for turn in history.turns)
    assert memory.bank == bank_hash([*history.turns, *facts])


def test_a_drawn_plan_asks_for_options_of_the_state_and_can_be_read(gathered: Gathered) -> None:
    trials = Trials(config=CONFIG, banks=gathered.banks, read=read_once)
    draw = DrawnPlan(rng=random.Random(0), intents=2)
    asked: set[str] = set()
    for state in gathered.states[:20]:
        view = view_of(state, gathered.banks)
        words = draw(state, view)
        facts = [one["fact"] for one in json.loads(words)["intents"]]
        known = {one.text for one in options(state.state, view) if one.ranker == "fusion"}
        assert len(facts) == len(set(facts)) == min(2, len(known)) and set(facts) <= known
        executed = trials.run(state, words)
        assert executed.parsed and len(executed.steps) == len(facts)
        asked.update(facts)
    assert len(asked) > 20, "other states are asked about in other words"


def test_a_draw_keeps_the_order_and_takes_no_more_than_it_may(gathered: Gathered) -> None:
    states = gathered.states
    some = spread(states, 7, seed=1)
    assert len(some) == 7 and some == [one for one in states if one in some]
    assert spread(states, 10_000, seed=1) == list(states)
    assert spread(states, 7, seed=2) != some
