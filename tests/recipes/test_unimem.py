"""The manager at query time: its own searches, a round per response, one answer, cited by turns."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import qemem_world as w

from evimem.llm.scripted import ScriptedModels, ScriptedReply
from evimem.model.chat import ChatReply, ChatRequest, ToolCall
from evimem.model.evidence import Question
from evimem.model.item import Item, Link
from evimem.query.loop import RunInput, run
from evimem.recipes import MODEL_RECIPES, REBUILT
from evimem.trace import Trace

QUESTION = "What did Mira pay Pavel in all?"


def record(name: str, text: str, *turns: str) -> Item:
    said = {one.turn_id: one for one in w.turns()}
    return Item(
        item_id=name,
        kind="record",
        text=text,
        links=tuple(Link(role="source", target=one, hidden=True) for one in turns),
        said_at=said[turns[0]].said_at,
        attrs={"builder": "manager", "chunks": [1]},
    )


RECORDS = [
    record("r-kiln", "On 3 March 2031 Mira bought a kiln from Pavel", "s1-2"),
    record("r-price", "Mira paid Pavel about 900 crowns for the kiln", "s1-2", "s1-4"),
    record("r-more", "Mira gave Pavel 400 crowns more", "s3-2"),
    record("r-pears", "Jon planted three pear trees", "s2-0"),
]


def call(name: str, **arguments: Any) -> str:
    return f"<tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>"


Script = Callable[[ChatRequest, int], ScriptedReply]


def asked(
    script: Script | Sequence[str],
    *,
    recipe: str = "unimem",
    answer: str = "ANSWER: 900 crowns",
    window: int = 0,
) -> tuple[Trace, ScriptedModels]:
    count = itertools.count()

    def play(request: ChatRequest) -> ScriptedReply:
        if request.role == "answer":
            return answer
        n = next(count)
        return script(request, n) if callable(script) else script[min(n, len(script) - 1)]

    models = ScriptedModels(play, window=window)
    session = models.session()
    start = RunInput(question=Question(text=QUESTION), bank="b", trace_id="q", created_at="")
    made = MODEL_RECIPES[recipe](session, {})
    view = w.view(RECORDS, built=False)
    trace = run(made, view, start, seconds=itertools.count().__next__, session=session)
    return trace, models


TWO_SEARCHES = [
    call("memory_search", query="Mira paid Pavel crowns"),
    call("memory_search", query="pear trees"),
    call("finish_event"),
]


def test_uni_15_17_a_response_is_a_round_and_finish_hands_the_records_to_the_answer_model() -> None:
    trace, models = asked(TWO_SEARCHES)
    assert [len(one.searches) for one in trace.rounds] == [1, 1, 0]
    assert trace.stop_reason == "finished"
    assert [one.role for one in models.requests] == ["manage", "manage", "manage", "answer"]
    words = models.requests[-1].messages[-1].text
    assert "about 900 crowns" in words
    assert trace.answer is not None
    assert trace.answer.text == "900 crowns"
    assert trace.answer.status == "supported"
    assert {cited.turn_id for cited in trace.answer.citations} <= {"s1-2", "s1-4", "s3-2"}


def test_uni_16_records_accumulate_each_once_and_the_turns_behind_are_for_graders_only() -> None:
    again = [call("memory_search", query="Mira paid Pavel crowns")] * 2 + [call("finish_event")]
    trace, models = asked(again)
    shown = [one.item_id for done in trace.rounds for one in done.candidates]
    assert len(shown) == len(set(shown)) == len(RECORDS)
    assert {ref for done in trace.rounds for one in done.candidates for ref in one.refs} >= {"s1-4"}
    for request in models.requests:
        words = " ".join(message.text for message in request.messages)
        assert "s1-4" not in words and "r-price" not in words, "UNI-2, 11: hidden from models"


def test_uni_15_a_write_while_a_question_is_asked_is_refused_and_changes_nothing() -> None:
    trace, models = asked(
        [
            call("memory_search", query="kiln"),
            call("create_memory", content="Mira owes nothing"),
            call("finish_event"),
        ]
    )
    refused = trace.rounds[1].plan
    assert refused is not None
    assert refused.step is not None
    assert [one.ok for one in refused.step.observed] == [False]
    assert refused.dropped
    assert trace.stop_reason == "finished"
    told = models.requests[2].messages[-1].text
    assert "error" in told


def test_uni_16_finish_before_any_search_is_rejected_and_the_event_goes_on() -> None:
    trace, _ = asked([call("finish_event"), *TWO_SEARCHES])
    assert len(trace.rounds) == 4
    first = trace.rounds[0].plan
    assert first is not None
    assert not first.sufficient


def test_uni_18_the_ninth_search_is_refused_and_24_responses_close_the_event() -> None:
    def search_on(request: ChatRequest, n: int) -> ScriptedReply:
        return call("memory_search", query=f"kiln {n}")

    trace, models = asked(search_on)
    assert sum(len(one.searches) for one in trace.rounds) == 8
    assert len(trace.rounds) == 24
    assert trace.stop_reason in ("finished", "max_iterations")
    assert models.requests[-1].role == "answer", "the evidence so far is used"


@pytest.mark.parametrize("window", [0, 2600])
def test_the_prompts_of_a_trace_are_made_again_to_the_byte(window: int) -> None:
    trace, models = asked(TWO_SEARCHES, window=window)
    stored = Trace.from_json(trace.to_json())
    assert [one.request for one in REBUILT["unimem"](stored, {})] == list(models.requests)


def test_native_tool_calls_go_the_same_way() -> None:
    def native(request: ChatRequest, n: int) -> ScriptedReply:
        assert request.tools
        names = {one.name for one in request.tools}
        assert names == {"memory_search", "finish_event"}
        calls = [
            ToolCall(name="memory_search", arguments={"query": "crowns"}, call_id="c1"),
            ToolCall(name="finish_event", arguments={}, call_id="c2"),
        ]
        return ChatReply(text="", calls=(calls[min(n, 1)],))

    trace, models = asked(native, recipe="unimem-native")
    assert trace.stop_reason == "finished"
    assert [one.role for one in models.requests[1].messages][-2:] == ["assistant", "tool"]
    stored = Trace.from_json(trace.to_json())
    assert [one.request for one in REBUILT["unimem-native"](stored, {})] == list(models.requests)


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ("ANSWER: Not in memory.", "not_in_memory"),
        ("ANSWER: 7000 crowns", "unverified"),
        ("", "unverified"),
    ],
)
def test_an_answer_says_how_far_the_turns_behind_the_records_carry_it(
    answer: str, status: str
) -> None:
    trace, _ = asked(TWO_SEARCHES, answer=answer)
    assert trace.answer is not None
    assert trace.answer.status == status
