"""Outputs of a planner on a real index: the same searches and exclusion as in the loop."""

from __future__ import annotations

import dataclasses
import json

import pytest
from mera_world import World, intents
from training_world import CONFIG, PLANS, TOLD, asked, state, trajectory

from evimem.errors import UsageError
from evimem.llm.structured import Structured
from evimem.model.evidence import EvidenceState
from evimem.model.search import Filters, SearchRequest
from evimem.ports import ChatModel
from evimem.query.mera.records import AtomicFacts, ParentTurnFacts
from evimem.query.mera.state import with_graph
from evimem.query.parts import BankView, Proposal, Proposed
from evimem.trace import Trace
from evimem.training.execution import Trials, execute, view_of, with_facts
from evimem.training.rewards import REWARDS, Reward, outcome_of
from evimem.training.states import PlannerState, bank_hash, states_of


def read_once(model: ChatModel) -> ChatModel:
    return Structured(model, attempts=1)


@pytest.fixture
def w() -> World:
    return World(*TOLD)


def trials(w: World, **changed: object) -> Trials:
    config = dataclasses.replace(CONFIG, **changed)  # type: ignore[arg-type]
    return Trials(config=config, banks={"b1": w.view}, read=read_once)


def said(*facts: str) -> str:
    return json.dumps(intents(*facts))


def states(trace: Trace, *gold: str) -> list[PlannerState]:
    return states_of(trajectory(trace, *gold), with_graph)


def test_mera_64_an_output_does_what_it_did_in_the_trajectory_it_comes_from(w: World) -> None:
    trace = asked(w, *PLANS)
    tried = trials(w)
    collected = states(trace, "t0", "t1", "t2", "t3", "none")
    assert len(collected) == 4
    for one, done in zip(collected, trace.rounds, strict=True):
        text = [c.text for c in done.calls if c.role == "plan"][-1]
        executed = tried.run(one, text)
        assert [s.request for s in executed.steps] == [s.request for s in done.searches]
        assert [s.hits for s in executed.steps] == [s.hits for s in done.searches]
        assert executed.retrieved == tuple(c.item_id for c in done.candidates)
        assert executed.parsed == (done.plan is not None and not done.plan.problem)


def test_mera_64_the_exclusion_of_inference_holds(w: World) -> None:
    tried = trials(w)
    fresh = tried.run(state("t3"), said("bakery in Porto"))
    seen = tried.run(state("t3", "t0", viewed=("t3",)), said("bakery in Porto"))
    assert fresh.retrieved == ("t3",)
    assert seen.retrieved and "t3" not in seen.retrieved, "k unseen hits come back"
    assert seen.steps[0].request.exclusion.parents == {"t3"}
    assert seen.recovered == ()


@pytest.mark.parametrize("text", ["", "no idea", '{"intents": 3}', '{"intents": [{"fa', "[]"])
def test_mera_64_an_unparsable_output_retrieves_nothing_and_earns_its_penalty(
    w: World, text: str
) -> None:
    one = state("t3")
    executed = trials(w).run(one, text)
    assert (executed.retrieved, executed.recovered, executed.steps) == ((), (), ())
    assert not executed.parsed
    reward = REWARDS["mera"]
    assert isinstance(reward, Reward)
    assert reward(outcome_of(one, executed, length=50)).total == 0.0
    assert reward(outcome_of(one, executed, length=5)).total == pytest.approx(-0.075)


def test_of_an_output_cut_at_the_ceiling_the_complete_intents_count(w: World) -> None:
    whole = said("Porto", "cello")
    text = whole[: whole.index("cello") + 3]
    executed = trials(w).run(state("t3", "t0"), text, cut=True)
    assert executed.retrieved == ("t3",)
    assert executed.plan is not None
    assert [one[:9] for one in executed.plan.dropped] == ["reply cut"], "told as inference tells it"


def test_mera_12_three_intents_are_searched_at_most(w: World) -> None:
    executed = trials(w).run(state("t3"), said("cello", "Graz", "runs", "Porto"))
    assert len(executed.steps) == 3
    assert executed.recovered == ()


def test_mera_59_other_words_with_the_same_new_turns_earn_the_same(w: World) -> None:
    one, tried, reward = state("t3", "t1"), trials(w), REWARDS["mera"]
    assert isinstance(reward, Reward)
    made = [tried.run(one, said(words)) for words in ("in Porto", "Porto Porto bakery of")]
    assert made[0].steps[0].request.text != made[1].steps[0].request.text
    totals = [reward(outcome_of(one, each, length=60)).total for each in made]
    assert totals == [0.5, 0.5]


def test_mera_59_what_was_found_before_earns_nothing(w: World) -> None:
    one, reward = state("t3", "t1", viewed=("t3",)), REWARDS["mera"]
    assert isinstance(reward, Reward)
    executed = trials(w).run(one, said("in Porto"))
    assert reward(outcome_of(one, executed, length=60)).total == 0.0


def test_mera_60_a_state_with_nothing_missing_is_refused(w: World) -> None:
    with pytest.raises(UsageError, match="nothing is missing"):
        trials(w).run(state("t3", viewed=("t3",)), said("Porto"))
    with pytest.raises(UsageError, match="nothing is missing"):
        trials(w).run(state(), said("Porto"))


def test_mera_68_rollouts_leave_the_memory_as_it_was(w: World) -> None:
    before = bank_hash(w.view.get([*(t.turn_id for t in w.turns), *(f.item_id for f in w.facts)]))
    for text in (said("Porto"), "broken", said("cello", "Graz")):
        trials(w).run(state("t3"), text)
    after = bank_hash(w.view.get([*(t.turn_id for t in w.turns), *(f.item_id for f in w.facts)]))
    assert after == before == bank_hash([*w.turns, *w.facts])


def test_the_prompt_is_that_of_inference(w: World) -> None:
    trace = asked(w, *PLANS)
    digests = [c.request for done in trace.rounds for c in done.calls if c.role == "plan"]
    tried = trials(w)
    made = [tried.prompt(one).digest for one in states(trace, "t3")]
    assert made == [digests[0], digests[1], digests[3], digests[4]], "the third is a repair"


def test_without_aggregation_single_facts_stand_for_their_turns(w: World) -> None:
    assert trials(w, aggregate=False).run(state("t3"), said("Porto")).recovered == ("t3",)


class Pointer:
    """Searches for one word and excludes nothing."""

    def __init__(self, word: str) -> None:
        self.word = word

    def propose(self, state: EvidenceState, view: BankView) -> Proposed:
        facts = Filters(kinds=frozenset({"fact"}))
        request = SearchRequest(text=self.word, k=1, ranker="bm25", filters=facts)
        return Proposed(searches=(Proposal(request=request, why=""),))


def test_any_proposer_can_be_tried_without_words(w: World) -> None:
    executed = execute(state("t1", "t0"), Pointer("Graz"), ParentTurnFacts(), w.view)
    assert executed.plan is None and executed.parsed
    assert executed.keywords == 0
    assert executed.recovered == ("t1",)


def test_mera_59_a_policy_that_excludes_nothing_earns_nothing_twice(w: World) -> None:
    seen = state("t1", "t0", viewed=("t1",))
    for packager in (ParentTurnFacts(), AtomicFacts()):
        executed = execute(seen, Pointer("Graz"), packager, w.view)
        assert executed.recovered == ()


def test_keywords_are_entities_and_topics_of_the_broadest_intent(w: World) -> None:
    text = json.dumps(
        {
            "missing": "",
            "sufficient": False,
            "intents": [
                {"fact": "a b c d e f", "entities": ["x"], "topics": []},
                {"fact": "Porto", "entities": ["Mira", "Porto"], "topics": ["baking"]},
            ],
        }
    )
    assert trials(w).run(state("t3"), text).keywords == 3


def test_a_missing_memory_is_named(w: World) -> None:
    with pytest.raises(UsageError, match="memory 'b1' of 'h'"):
        view_of(state("t3"), {})
    turns = {"b1": w.view}
    assert set(with_facts(turns)(state("t3", "t1", "none"))) == {"t3", "t1"}


def test_mera_43_a_vote_of_sufficiency_searches_for_nothing(w: World) -> None:
    one = state("t3", viewed=("t0",))
    late = dataclasses.replace(one, state=dataclasses.replace(one.state, round=1))
    text = json.dumps(intents("Porto", sufficient=True))
    assert trials(w).run(one, text).recovered == ("t3",), "too early to stop"
    assert trials(w).run(late, text).recovered == ()
