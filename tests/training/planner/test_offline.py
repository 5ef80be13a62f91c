"""MERA's loop with rules for every model but the planner's."""

from __future__ import annotations

import random

import pytest
from mera_world import World
from training_world import CONFIG, TOLD

from evimem.datasets.generated import generate
from evimem.llm.structured import Structured
from evimem.model.evidence import EvidenceState, Question
from evimem.ports import ChatModel
from evimem.query.graph import serialise
from evimem.query.loop import replay
from evimem.query.memory_view import MemoryView
from evimem.query.mera.state import with_graph
from evimem.query.mera.verifier import GateVerifier
from evimem.recipes.mera import MeraConfig, planner_of
from evimem.recipes.rebuilt import SILENT
from evimem.training.planner.offline import (
    Heuristic,
    RuleGate,
    RuleOpener,
    offline_recipe,
    turn_facts,
)
from evimem.training.searching import asked


def read_once(model: ChatModel) -> ChatModel:
    return Structured(model, attempts=1)


WIDE = MeraConfig(name="mera-bm25", ranker="bm25", k=2)


def test_mera_10_every_turn_with_words_is_one_flagged_fact_of_its_own() -> None:
    history = next(iter(generate("tiny", 3).histories.values()))
    facts = turn_facts(history)
    spoken = [turn for turn in history.turns if turn.body.strip()]
    assert [one.links[0].target for one in facts] == [turn.turn_id for turn in spoken]
    assert all(one.kind == "fact" and one.speaker for one in facts)
    assert facts[0].text == " ".join(spoken[0].body.split())
    assert facts[0].attrs["flags"] == ["fallback"]


def test_mera_24_95_the_state_begins_with_names_of_the_question_and_a_date() -> None:
    view = World(*TOLD).view
    opened = RuleOpener().open(Question(text="Which city did Mira visit with Tomas?"), view)
    graph = opened.state.graph
    assert graph is not None
    assert {(node.name, node.type) for node in graph.nodes if node.type == "person"} == {
        ("Mira", "person"),
        ("Tomas", "person"),
    }
    assert all(node.seed and node.active for node in graph.nodes)
    assert opened.state.question.asked_at is not None


def test_the_gate_accepts_few_records_and_a_prompt_shows_them_as_a_verifiers() -> None:
    history = next(iter(generate("tiny", 3).histories.values()))
    view = MemoryView(history, items=turn_facts(history))
    data = generate("tiny", 3)
    recipe = offline_recipe(WIDE, Heuristic(config=WIDE, read=read_once))
    accepted = 0
    for question in data.questions[:10]:
        trace = asked(recipe, view, question)
        for done in trace.rounds:
            assert done.assessment is not None
            kept = [d for d in done.assessment.decisions if d.verdict == "accept"]
            assert len(kept) == len(done.assessment.evidence) <= RuleGate().most
            accepted += len(kept)
        *_, last = replay(with_graph, trace)
        assert [one.handle for one in last.evidence] == [
            f"e{n}" for n in range(1, len(last.evidence) + 1)
        ]
        shown = serialise(last, token_budget=3000).text
        for one in last.evidence:
            assert one.claim.splitlines()[0] in shown and one.refs == (one.item_id,)
            assert one.item_id not in shown
    assert accepted > 5


def test_mera_17_no_turn_comes_back_and_every_search_has_the_same_rounds() -> None:
    view = World(*TOLD).view
    recipe = offline_recipe(WIDE, Heuristic(config=WIDE, read=read_once), rounds=4)
    trace = asked(recipe, view, Question(text="Where is the bakery of Mira's sister?"))
    assert len(trace.rounds) == 4, "rounds that bring nothing are made too"
    seen = [c.item_id for done in trace.rounds for c in done.candidates]
    assert len(seen) == len(set(seen))


def test_a_collecting_planner_uses_some_of_its_intents_and_a_plain_one_all() -> None:
    view = World(*TOLD).view
    state = RuleOpener().open(Question(text="When did Mira visit Porto and Graz?"), view).state
    plain = Heuristic(config=WIDE, read=read_once).propose(state, view)
    assert plain.plan is not None and len(plain.searches) == len(plain.plan.intents) == 3
    few = Heuristic(config=WIDE, read=read_once, rng=random.Random(0))
    made = [few.propose(state, view) for _ in range(20)]
    assert {len(one.searches) for one in made} == {1, 2}
    for one in made:
        assert one.plan is not None and set(one.plan.intents) <= set(plain.plan.intents)
        assert [s.why for s in one.searches] == [i.fact for i in one.plan.intents]


def test_prompts_are_those_of_the_recipe() -> None:
    view = World(*TOLD).view
    state = RuleOpener().open(Question(text="Where is the bakery?"), view).state
    recipe = offline_recipe(CONFIG, planner_of(CONFIG, SILENT))
    assert recipe.proposer == planner_of(CONFIG, SILENT)
    assert recipe.updater is with_graph
    verifier = GateVerifier(model=SILENT, graph=True, state_tokens=100, reply_tokens=100)
    assert isinstance(state, EvidenceState) and verifier.request(state, ()).role == "verify"


def test_a_planner_that_cannot_be_asked_says_so() -> None:
    view = World(*TOLD).view
    recipe = offline_recipe(CONFIG, planner_of(CONFIG, SILENT))
    with pytest.raises(AssertionError, match="calls no model"):
        asked(recipe, view, Question(text="Where is the bakery?"))
