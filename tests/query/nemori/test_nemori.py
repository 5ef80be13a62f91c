"""The baseline over the store that QEMem shares: one search, one call."""

from __future__ import annotations

import itertools

from evimem.llm.scripted import ScriptedModels, ScriptedReply
from evimem.model.chat import ChatRequest
from evimem.model.evidence import Question
from evimem.query.loop import RunInput, run
from evimem.recipes import MODEL_RECIPES, REBUILT
from evimem.trace import Trace

import qemem_world as w  # isort: skip


def asked(
    reply: ScriptedReply, question: str = "From whom did Mira buy the kiln?"
) -> tuple[Trace, list[ChatRequest]]:
    models = ScriptedModels({"answer": lambda request: reply})
    session = models.session()
    start = RunInput(question=Question(text=question), bank="b", trace_id="q", created_at="")
    recipe = MODEL_RECIPES["nemori"](session, {})
    trace = run(recipe, w.view(), start, seconds=itertools.count().__next__, session=session)
    return trace, list(models.requests)


def test_qem_4_nemori_asks_once_over_episodes_and_facts_by_vectors_alone() -> None:
    trace, requests = asked("Pavel")
    assert [(*s.request.filters.kinds, s.request.ranker) for s in trace.rounds[0].searches] == [
        ("episode", "dense"),
        ("semantic", "dense"),
    ]
    assert {step.request.text for step in trace.rounds[0].searches} == {trace.question}
    assert len(requests) == 1
    assert {one.label[0] for one in trace.rounds[0].candidates} == {"E", "S"}
    assert trace.stop_reason == "finished"


def test_nemori_shows_the_messages_of_the_two_best_episodes() -> None:
    trace, (request,) = asked("Pavel")
    words = request.messages[-1].text
    episodes = {one.item_id: one.rank for one in trace.rounds[0].candidates if one.label[0] == "E"}
    best = {name for name, rank in episodes.items() if rank <= 2}
    shown = {one.session_id for one in trace.context}
    assert shown == {name.removeprefix("e-") for name in best}
    assert set(trace.exposed) == {one.item_id for one in trace.context}
    assert all(one.payload in words for one in trace.context)


def test_nemori_cites_turns_and_marks_what_they_do_not_hold() -> None:
    trace, _ = asked("Pavel")
    assert trace.answer is not None
    assert (trace.answer.text, trace.answer.status) == ("Pavel", "supported")
    bodies = {one.turn_id: one.body for one in w.turns()}
    for cited in trace.answer.citations:
        assert bodies[cited.turn_id][cited.start : cited.end] == cited.quote
    wrong, _ = asked("Oskar")
    assert wrong.answer is not None
    told, _ = asked("He paid 7000 for it")
    assert told.answer is not None
    assert told.answer.status == "unverified"


def test_nemori_declining_is_not_in_memory() -> None:
    trace, _ = asked("There is no information about that.")
    assert trace.answer is not None
    assert trace.answer.status == "not_in_memory"


def test_nemori_replays_to_the_byte() -> None:
    trace, requests = asked("Pavel")
    stored = Trace.from_json(trace.to_json())
    assert [one.request for one in REBUILT["nemori"](stored, {})] == requests


def test_an_answer_whose_words_stand_in_no_cited_turn_is_unverified() -> None:
    trace, _ = asked("a dreamlike journey towards inner creativity")
    assert trace.answer is not None
    assert trace.answer.status == "unverified"
