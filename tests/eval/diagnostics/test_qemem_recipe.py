"""The diagnostics over traces that the real recipe leaves, with a scripted model."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from bench_rows import JUDGE, run_of
from evidence_rows import dataset

from evimem.embed.hashing import HashingEmbedder
from evimem.eval.baselines.common import latest_of
from evimem.eval.diagnostics.budget_section import budget_section
from evimem.eval.diagnostics.card_audit import cards_of
from evimem.eval.diagnostics.refinement import clear_boundary, refinement, replay_check
from evimem.eval.diagnostics.temporal_audit import temporal_audit
from evimem.eval.diagnostics.turns import EvidenceTurns
from evimem.eval.diagnostics.visibility import progression
from evimem.eval.harness.blind import blind, blind_question
from evimem.eval.harness.registry import systems_named
from evimem.eval.harness.rows import AskRow, SystemRun
from evimem.eval.harness.system import SystemInfo, Tools
from evimem.llm.scripted import ScriptedModels, ScriptedReply
from evimem.model.chat import ChatRequest
from evimem.model.turn import JsonValue
from evimem.trace import Trace

DATA = dataset(only=("q2",))
PLAN: dict[str, JsonValue] = {
    "need": "what became of the pear trees",
    "answer_type": "description",
    "aggregate": False,
    "temporal": False,
    "queries": ["three pear trees planted"],
}


def label_of(prompt: str, words: str) -> str:
    """The label under which a prompt shows some words."""
    line = next(one for one in prompt.splitlines() if words in one and "[T" in one)
    return line.partition("[")[2].partition("]")[0]


def script(request: ChatRequest) -> ScriptedReply:
    told = "\n".join(one.text for one in request.messages)
    if request.role == "plan":
        return PLAN
    if request.role == "answer":
        return "REASONING: it is told.\nFINAL ANSWER: one died"
    shown = "I planted three pear trees yesterday" in told and "[T" in told
    cards: list[JsonValue] = []
    if shown:
        cards.append(
            {
                "claim": "Bo planted three pear trees.",
                "sources": [label_of(told, "I planted three pear trees yesterday")],
                "quote": "I planted three pear trees yesterday",
                "time": "10 January 2024",
                "relation": "intermediate fact",
            }
        )
    return {"cards": cards, "sufficient": True, "missing": "", "follow_up_queries": []}


@pytest.fixture(scope="module")
def run() -> SystemRun:
    """One question asked of the recipe as the runner asks it."""
    [system] = systems_named(("qemem-on-lite",))
    history = DATA.histories["c"]
    models = ScriptedModels(script)
    tools = Tools(session=models.session(), embedder=HashingEmbedder(), now=latest_of(history))
    hidden = blind(history)
    [question] = DATA.questions
    asked = system.build(hidden, tools).ask(blind_question(question), tools)
    row = AskRow(
        system=system.name,
        question_id=question.question_id,
        answer=asked.answer,
        shown=asked.shown,
        steps=asked.steps,
        stop=asked.stop,
        traced=asked.trace is not None,
    )
    traces: Mapping[str, Trace | None] = {question.question_id: asked.trace}
    return SystemRun(
        info=SystemInfo(name=system.name),
        builds={},
        asks={question.question_id: row},
        own_labels={JUDGE: {question.question_id: True}},
        trace=traces.get,
    )


def test_qem_39_the_recipes_pools_and_its_prompt_are_read_by_turn(run: SystemRun) -> None:
    found = progression(run, EvidenceTurns(DATA))
    assert found.from_rows == 0
    assert (found.initial.estimate, found.refined.estimate, found.final.estimate) == (1.0, 1.0, 1.0)
    assert found.cited is not None
    assert found.cited.estimate == 0.5  # one of the two gold turns is cited


def test_qem_40_the_recipes_cards_come_with_the_words_they_cite(run: SystemRun) -> None:
    cards, left_out = cards_of(run, DATA)
    assert left_out == {}
    [one] = cards
    assert one.provenance == "turn"
    assert [source.payload for source in one.sources] == [
        "Bo: I planted three pear trees yesterday."
    ]


def test_qem_41_the_recipes_reply_keeps_the_time_that_the_normaliser_replaced(
    run: SystemRun,
) -> None:
    [kept] = temporal_audit(run, ["c-q2"]).checks
    [written] = temporal_audit(run, ["c-q2"], times="written").checks
    assert (kept.expression, kept.verdict) == ("yesterday / last night", "agrees")
    assert written.verdict == "disagrees"
    assert temporal_audit(run, ["c-q2"], times="model").checks == ()


def test_qem_46_qem_48_the_recipes_rounds_are_read(run: SystemRun) -> None:
    found = refinement(run, run, DATA, judge=JUDGE)
    assert found.triggered.estimate == 0.0
    trace = run.trace("c-q2")
    assert trace is not None
    assert not clear_boundary(trace)
    checks = replay_check(run, run, ["c-q2"])
    assert {one.space for one in checks} >= {"turn", "episode"}
    assert all(one.median == 1.0 for one in checks)


def test_qem_52_the_recipes_context_is_paid_by_the_turn(run: SystemRun) -> None:
    section = budget_section(run_of(run, data=DATA))
    assert section.plots
    for plot in section.plots:
        assert max(plot.lines[0].y) == 1.0
