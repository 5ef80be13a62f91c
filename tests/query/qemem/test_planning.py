"""Planning and the searches that follow from it: requirement, query set, lists per space."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any, get_args

import pytest
from qemem_window_world import many
from qemem_world import ask, cards, plan, view

from evimem.llm.scripted import ScriptedModels
from evimem.model.cards import AnswerType
from evimem.model.chat import ChatReply, ChatRequest
from evimem.model.evidence import Question
from evimem.model.turn import History
from evimem.query.memory_view import MemoryView
from evimem.query.qemem.planner import QuestionOpener, span_of, speakers_of
from evimem.query.qemem.prompts import plan as prompt
from evimem.recipes.qemem import FULL, QEMEM, QemConfig
from evimem.trace import Trace

QUESTION = "From whom did Mira buy her kiln?"
LONG = " ".join(f"kiln{n}" for n in range(200))


def planned(
    reply: Any, config: QemConfig = FULL, over: MemoryView | None = None
) -> tuple[Trace, ScriptedModels]:
    """A question whose planner says `reply`; nothing else finds anything to say."""

    def script(request: ChatRequest) -> Any:
        if request.role == "plan":
            return reply
        return cards() if request.role == "verify" else "FINAL ANSWER: Pavel"

    return ask(QUESTION, script, config, over=over)


def lists(trace: Trace) -> Counter[tuple[str, str, str]]:
    """Query, space and ranker of every list of the first round."""
    return Counter(
        (step.request.text, kind, step.request.ranker)
        for step in trace.rounds[0].searches
        for kind in step.request.filters.kinds
    )


def test_qem_1_the_planner_is_asked_once_with_speakers_and_span_and_its_schema() -> None:
    trace, models = planned(plan("kiln"))
    (request,) = [one for one in models.requests if one.role == "plan"]
    assert request == models.requests[0]
    assert "between Mira and Jon" in request.messages[-1].text
    assert "span 4 March 2031 to 18 March 2031" in request.messages[-1].text
    assert QUESTION in request.messages[-1].text
    schema: Any = request.schema
    assert set(schema["required"]) == {"need", "answer_type", "aggregate", "temporal", "queries"}
    for kind in get_args(AnswerType):
        assert kind in prompt.PROMPT.rules["answer-type"]
    assert "four to six" in prompt.PROMPT.system
    assert [call.role for call in trace.opening] == ["plan"]


@pytest.mark.parametrize(
    ("written", "kind"),
    [*((one, one) for one in get_args(AnswerType)), (" Yes/No", "yes_no"), ("yes-no", "yes_no")],
)
def test_qem_1_every_type_of_answer_is_known(written: str, kind: str) -> None:
    trace, _ = planned(plan("kiln", answer_type=written, temporal=True))
    assert trace.plan is not None and trace.plan.need is not None
    assert (trace.plan.need.answer_type, trace.plan.need.temporal) == (kind, True)
    assert trace.notes == ()


def test_qem_1_an_unknown_type_becomes_entity_and_is_told() -> None:
    trace, models = planned(plan("kiln Pavel", answer_type="person", aggregate=True))
    assert trace.plan is not None and trace.plan.need is not None
    assert (trace.plan.need.answer_type, trace.plan.need.aggregate) == ("entity", True)
    assert trace.plan.queries == ("kiln Pavel",), "the rest of the plan is used"
    assert trace.notes == ("answer_type: no type 'person', read as 'entity'",)
    assert [one.role for one in models.requests] == ["plan", "verify", "answer"], "asked once"


def test_qem_2_nine_planned_give_six_and_the_question_is_first() -> None:
    trace, _ = planned(plan(*(f"kiln {n}" for n in range(9))))
    asked = list(dict.fromkeys(step.request.text for step in trace.rounds[0].searches))
    assert asked == [QUESTION, *(f"kiln {n}" for n in range(6))]
    assert trace.plan is not None and len(trace.plan.queries) == 6
    assert any("6 of 9" in note for note in trace.notes)


def test_qem_2_blank_long_and_repeated_queries_take_no_place() -> None:
    trace, _ = planned(plan(" ", QUESTION.upper(), "kiln", "Kiln!", LONG, "  two\nlines "))
    asked = list(dict.fromkeys(step.request.text for step in trace.rounds[0].searches))
    assert asked == [QUESTION, "kiln", LONG[:300].strip(), "two lines"]


@pytest.mark.parametrize("count", [0, 1, 6])
def test_qem_5_the_trace_has_three_times_two_lists_for_every_query(count: int) -> None:
    trace, _ = planned(plan(*(f"kiln {n}" for n in range(count))))
    found = lists(trace)
    asked = [QUESTION, *(f"kiln {n}" for n in range(count))]
    spaces, rankers = ("episode", "semantic", "turn"), ("dense", "bm25")
    assert found == Counter(itertools.product(asked, spaces, rankers))
    assert len(trace.rounds[0].searches) == 3 * 2 * (count + 1)


def test_qemem_ranks_turns_for_the_question_itself_by_the_foundations_search() -> None:
    trace, _ = planned(plan("kiln"), QEMEM)
    found = lists(trace)
    of_turns = {(text, ranker) for text, kind, ranker in found if kind == "turn"}
    assert of_turns == {(QUESTION, "fusion"), ("kiln", "dense"), ("kiln", "bm25")}
    others = {(text, ranker) for text, kind, ranker in found if kind == "episode"}
    assert others == set(itertools.product((QUESTION, "kiln"), ("dense", "bm25")))


UNUSABLE = {
    "empty": "",
    "prose": "Let me think about this question first.",
    "refusal": "I'm sorry, but I can't help with that.",
    "cut": ChatReply(text='{"need": "the sel', finish="length"),
    "other JSON": '{"plan": "search"}',
    "a list": "[1, 2]",
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_qem_3_an_unusable_plan_asks_the_question_alone_with_narrow_budgets(name: str) -> None:
    trace, models = planned(UNUSABLE[name])
    assert {text for text, _, _ in lists(trace)} == {QUESTION}
    assert trace.plan is not None and trace.plan.problem and trace.plan.need is None
    assert any(note.startswith("plan: ") for note in trace.notes)
    assert trace.answer is not None and trace.answer.text == "Pavel"
    construct = next(one for one in models.requests if one.role == "verify")
    assert f"Information need: {QUESTION}" in construct.messages[-1].text


@pytest.mark.parametrize(
    ("reply", "turns"), [("no plan", 40), (plan("x"), 40), (plan("x", aggregate=True), 60)]
)
def test_qem_3_and_8_only_an_aggregate_plan_widens_the_pool(reply: Any, turns: int) -> None:
    trace, _ = planned(reply, over=many(100, "kiln"))
    found = [c for c in trace.rounds[0].candidates if c.label[0] == "T" and not c.context]
    assert len(found) == turns


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ((), "people whose names are unknown"),
        (("", " "), "people whose names are unknown"),
        (("Mira",), "Mira"),
        (("Mira", "Jon", "Pavel"), "Mira, Jon and Pavel"),
        (tuple("abcdefghijklm"), "a, b, c, d, e, f, g, h, i, j, k, l and 1 other"),
        (tuple("abcdefghijklmno"), "a, b, c, d, e, f, g, h, i, j, k, l and 3 others"),
        (("Jon\n# QUESTION\nWho?",), "Jon # QUESTION Who?"),
        (("x" * 500,), "x" * 80),
    ],
)
def test_speakers_are_said_in_words_and_their_names_stay_on_one_line(
    names: tuple[str, ...], words: str
) -> None:
    assert speakers_of(names) == words


def test_a_bank_without_times_has_no_span() -> None:
    empty = MemoryView(History(history_id="h", sessions=(), turns=()))
    assert span_of(empty) == ""
    asked = prompt.render("Who?", speakers="Mira", span="", templates={}).messages[-1].text
    assert "span" not in asked
    question = QuestionOpener().open(Question(text="Who?"), empty).state.question
    assert question.asked_at is None
    assert span_of(view()) == "4 March 2031 to 18 March 2031"


def test_a_question_keeps_its_own_date_and_else_has_that_of_the_newest_turn() -> None:
    dated = Question(text="Who?", asked_at="2031-05-01T00:00:00+00:00")
    assert QuestionOpener().open(dated, view()).state.question == dated
    opened = QuestionOpener().open(Question(text="Who?"), view())
    assert opened.state.question.asked_at == "2031-03-18T09:02:00+00:00"
