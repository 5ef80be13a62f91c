"""An answer without refinement, from the trace of one with it (QEM-32)."""

from __future__ import annotations

import dataclasses
import itertools

import qemem_world as w

from evimem.llm.scripted import ScriptedModels, ScriptedReply
from evimem.model.chat import ChatRequest
from evimem.model.evidence import Question
from evimem.query.loop import RunInput, run
from evimem.query.qemem.fusion import Budgets
from evimem.recipes.qemem import QEM_RECIPES, unrefined
from evimem.trace import Trace

FULL = QEM_RECIPES["qem-full"]
SMALL = dataclasses.replace(FULL, narrow=Budgets(episode=0, semantic=1, turn=1))
"""So small a pool that a second round finds something."""
QUESTION = "What did Mira pay for the kiln?"


def triggered(request: ChatRequest) -> ScriptedReply:
    if request.role == "plan":
        return w.plan("kiln")
    if request.role == "answer":
        return "FINAL ANSWER: about 900 crowns"
    first = next(iter(w.shown(request)))
    return w.cards(w.card("a kiln", first, quote="kiln"), missing="a price", ask=["pear trees"])


def again(trace: Trace) -> tuple[Trace, ScriptedModels]:
    models = ScriptedModels({"answer": ["FINAL ANSWER: 900"], "plan": [], "verify": []})
    session = models.session()
    recipe = unrefined(SMALL, trace, session)
    assert recipe is not None
    start = RunInput(question=Question(text=QUESTION), bank="b", trace_id="q2", created_at="")
    clock = itertools.count().__next__
    return run(recipe, w.view(), start, seconds=clock, session=session), models


def test_qem_32_a_triggered_question_is_answered_again_from_its_first_round_alone() -> None:
    trace, _ = w.ask(QUESTION, triggered, SMALL)
    assert [len(done.candidates) > 0 for done in trace.rounds] == [True, True, True]
    stored = Trace.from_json(trace.to_json())
    replayed, models = again(stored)
    assert [one.role for one in models.requests] == ["answer"], "plan and cards cost nothing"
    assert len(replayed.rounds) == 1
    first, second = stored.rounds[0].assessment, replayed.rounds[0].assessment
    assert second == first
    assert replayed.plan == stored.plan
    assert replayed.answer is not None
    assert replayed.answer.text == "900"


def test_qem_32_a_question_that_triggered_nothing_keeps_its_answer() -> None:
    def enough(request: ChatRequest) -> ScriptedReply:
        reply = triggered(request)
        return w.cards() if request.role == "verify" else reply

    trace, models = w.ask(QUESTION, enough, FULL)
    assert unrefined(FULL, trace, models.session()) is None
    norefine, _ = w.ask(QUESTION, enough, QEM_RECIPES["qem-norefine"])
    assert norefine.answer is not None
    assert trace.answer is not None
    assert norefine.answer.text == trace.answer.text
