"""E1 to E3: two systems in one recipe, each off by default and each replayed to the byte."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import qemem_world as w
from mera_world import verdict

from evimem.llm.scripted import ScriptedModels, ScriptedReply
from evimem.model.chat import ChatRequest
from evimem.model.evidence import EvidenceState, Question
from evimem.model.item import Item, Link
from evimem.model.search import Filters, SearchRequest
from evimem.query.loop import RunInput, run
from evimem.query.memory_view import MemoryView
from evimem.query.selector.packager import WeighedFacts
from evimem.recipes import MODEL_RECIPES, REBUILT
from evimem.trace import SearchStep, Trace


def fact(turn: str, n: int, text: str) -> Item:
    said = next(one for one in w.turns() if one.turn_id == turn)
    return Item(
        item_id=f"fact-{turn}-{n}",
        kind="fact",
        text=text,
        links=(Link(role="parent", target=turn),),
        session_id=said.session_id,
        speaker=said.speaker,
        said_at=said.said_at,
        attrs={"n": n, "keywords": [], "topics": []},
    )


FACTS = [
    fact("s1-2", 0, "Mira bought a new kiln from Pavel"),
    fact("s1-4", 0, "The kiln cost about 900 crowns"),
    fact("s3-0", 0, "Pavel wants the kiln back"),
]


def asked(name: str, script: Any, view: MemoryView) -> tuple[Trace, ScriptedModels]:
    models = ScriptedModels(script)
    session = models.session()
    start = RunInput(
        question=Question(text="What did Mira pay for the kiln?"),
        bank="b",
        trace_id="q",
        created_at="",
    )
    recipe = MODEL_RECIPES[name](session, {})
    trace = run(recipe, view, start, seconds=itertools.count().__next__, session=session)
    return trace, models


def same_prompts(name: str, trace: Trace, models: ScriptedModels) -> None:
    stored = Trace.from_json(trace.to_json())
    assert [one.request for one in REBUILT[name](stored, {})] == list(models.requests)


def cards_of_mera(request: ChatRequest) -> ScriptedReply:
    if request.role == "seed":
        return {"seeds": [{"name": "kiln", "type": "state"}]}
    if request.role == "plan":
        intent = {"fact": "price of the kiln", "entities": ["kiln"], "topics": []}
        return {"missing": "the price", "sufficient": False, "intents": [intent]}
    if request.role == "verify":
        shown = w.shown(request)
        price = next((label for label, text in shown.items() if "900 crowns" in text), "T9")
        buyer = next((label for label, text in shown.items() if "new kiln" in text), "T9")
        return w.cards(
            w.card("Mira paid about 900 crowns", price, quote="About 900 crowns"),
            w.card("Mira stole the kiln", buyer, quote="I stole a new kiln"),
        )
    return {"answer": "About 900 crowns", "evidence": ["e1"], "covered": "full"}


def test_e1_cards_with_a_verified_quote_are_the_evidence_of_mera_and_others_are_not() -> None:
    view = w.view(FACTS)
    trace, models = asked("mera-cards", cards_of_mera, view)
    first = trace.rounds[0].assessment
    assert first is not None
    assert [card.quote_verified for card in first.cards] == [True, False]
    assert [(one.handle, one.refs) for one in first.evidence] == [("e1", ("s1-4",))]
    assert '"About 900 crowns"' in first.evidence[0].claim
    verdicts = {one.item_id: one.verdict for one in first.decisions}
    assert verdicts["s1-4"] == "accept"
    assert verdicts["s1-2"] == "reject", "the gate is hard"
    assert first.graph is not None
    assert [(one.node, one.refs) for one in first.graph.attributes] == [("Mira", ("s1-4",))]
    assert trace.answer is not None
    assert trace.answer.text == "About 900 crowns"
    assert [cited.turn_id for cited in trace.answer.citations] == ["s1-4"]
    same_prompts("mera-cards", trace, models)


def test_e1_labels_run_on_and_turns_never_return() -> None:
    trace, _ = asked("mera-cards", cards_of_mera, w.view(FACTS))
    shown = [one for done in trace.rounds for one in done.candidates]
    assert [one.label for one in shown] == [f"T{n}" for n in range(1, len(shown) + 1)]
    assert len({one.item_id for one in shown}) == len(shown)


def plans_nothing(request: ChatRequest) -> ScriptedReply:
    if request.role == "seed":
        return {"seeds": [{"name": "kiln", "type": "state"}]}
    if request.role == "verify":
        return verdict(request, "The kiln cost about 900 crowns")
    assert request.role == "answer", "the selector plans, no model does"
    return {"answer": "About 900 crowns", "evidence": ["e1"], "covered": "full"}


def test_mera_searches_facts_with_the_trained_selector_in_the_place_of_its_planner() -> None:
    trace, models = asked("mera-selector", plans_nothing, w.view(FACTS))
    first = trace.rounds[0]
    assert first.searches[0].request.text == "What did Mira pay for the kiln?"
    assert len(first.searches) > 1, "the question is not all that is asked"
    assert {k for one in first.searches for k in one.request.filters.kinds} == {"fact"}
    assert "s1-4" in {one.item_id for one in first.candidates}, "the turn that tells the price"
    shown = [one.item_id for done in trace.rounds for one in done.candidates]
    assert len(set(shown)) == len(shown)
    assert trace.answer is not None
    assert [cited.turn_id for cited in trace.answer.citations] == ["s1-4"]
    same_prompts("mera-selector", trace, models)


def test_only_the_best_facts_of_a_round_are_read() -> None:
    view = w.view(FACTS)
    state = EvidenceState(question=Question(text="Mira kiln crowns Pavel"))
    request = SearchRequest(
        text=state.question.text, filters=Filters(kinds=frozenset({"fact"})), origin="question"
    )
    step = SearchStep(request=request, why="", hits=view.search(request))
    assert len(step.hits) == 3
    one = WeighedFacts(best=1).package([step], state, view)
    assert [c.item_id for c in one] == [
        c.item_id for c in WeighedFacts().package([step], state, view)
    ][:1]


def gap_of_mera(request: ChatRequest) -> ScriptedReply:
    if request.prompt.startswith("qem.plan"):
        return w.plan("kiln bought")
    if request.role == "plan":
        intent = {"fact": "pear trees of Jon", "entities": ["Conference"], "topics": []}
        return {"missing": "x", "sufficient": False, "intents": [intent]}
    if request.role == "verify":
        first = next(iter(w.shown(request)))
        return w.cards(w.card("a claim", first, quote="kiln"), missing="the price in crowns")
    return "FINAL ANSWER: 900 crowns"


def test_e2_the_planner_of_mera_reads_cards_and_gap_and_its_intents_search_every_space(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trace, models = asked("qem-gapplan", gap_of_mera, w.view())
    later = [one for one in models.requests if one.prompt.startswith("mera.plan")]
    assert later, "the second round asks MERA's planner"
    words = later[0].messages[-1].text
    assert "the price in crowns" in words
    assert "a claim" in words
    second = trace.rounds[1]
    assert second.plan is not None
    asked_for = {step.request.text for step in second.searches}
    assert asked_for == {second.plan.intents[0].query}
    assert {kind for s in second.searches for kind in s.request.filters.kinds} == {
        "episode", "semantic", "turn",
    }  # fmt: skip
    same_prompts("qem-gapplan", trace, models)


def test_e3_records_are_a_fourth_space_with_labels_and_a_budget_of_their_own() -> None:
    record = Item(
        item_id="r1",
        kind="record",
        text="Mira paid Pavel 1300 crowns in all for the kiln",
        links=(Link(role="source", target="s3-2"),),
    )

    def script(request: ChatRequest) -> ScriptedReply:
        if request.role == "plan":
            return w.plan("kiln crowns")
        if request.role == "verify":
            label = w.label_of(request, "1300 crowns", "R")
            return w.cards(w.card("Mira paid 1300 crowns", label, quote="1300 crowns in all"))
        return "FINAL ANSWER: 1300 crowns"

    trace, models = asked("qem-records", script, w.view([record]))
    spaces = {kind for s in trace.rounds[0].searches for kind in s.request.filters.kinds}
    assert spaces == {"episode", "semantic", "turn", "record"}
    assert "## Records" in models.requests[1].messages[-1].text
    assert trace.rounds[0].assessment is not None
    assert trace.rounds[0].assessment.cards[0].quoted_from == "r1"
    plain, _ = asked("qem-full", script_without_records, w.view([record]))
    assert not any(one.label.startswith("R") for r in plain.rounds for one in r.candidates)
    same_prompts("qem-records", trace, models)


def script_without_records(request: ChatRequest) -> ScriptedReply:
    if request.role == "plan":
        return w.plan("kiln crowns")
    return w.cards() if request.role == "verify" else "FINAL ANSWER: 900 crowns"


def test_complements_are_recipes_and_none_is_the_default() -> None:
    assert {"mera-cards", "qem-gapplan", "qem-records"} < set(MODEL_RECIPES)
