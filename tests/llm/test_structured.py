"""Replies that fit their schema, or an error that says why not."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evimem.errors import (
    EmptyReply,
    InvalidReply,
    ModelServerError,
    RefusedReply,
    ReplyError,
    SchemaEcho,
    TruncatedReply,
)
from evimem.llm.scripted import ScriptedModel, ScriptedReply
from evimem.llm.structured import Structured
from evimem.model.chat import ChatMessage, ChatReply, ChatRequest, Outcome

ITEM: dict[str, Any] = {
    "type": "object",
    "properties": {"text": {"type": "string"}},
    "required": ["text"],
    "additionalProperties": False,
}
FACTS: dict[str, Any] = {
    "type": "object",
    "properties": {"facts": {"type": "array", "items": ITEM}},
    "required": ["facts"],
    "additionalProperties": False,
}
ANSWER: dict[str, Any] = {
    "type": "object",
    "properties": {"answer": {"type": "string"}, "sure": {"type": "boolean"}},
    "required": ["answer", "sure"],
    "additionalProperties": False,
}


def ask(
    *replies: ScriptedReply, schema: Any = FACTS, attempts: int = 2, example: Any = None
) -> tuple[ChatReply | ReplyError, ScriptedModel, list[tuple[str, Outcome, str]]]:
    model = ScriptedModel(replies)
    settled: list[tuple[str, Outcome, str]] = []
    structured = Structured(
        model,
        attempts=attempts,
        settle=lambda reply, outcome, problem: settled.append((reply.text, outcome, problem)),
    )
    request = ChatRequest(
        messages=(
            ChatMessage(role="system", text="Extract facts."),
            ChatMessage(role="user", text="Mira plays the cello."),
        ),
        role="extract",
        schema=schema,
        example=example,
    )
    try:
        return structured.chat(request), model, settled
    except ReplyError as error:
        return error, model, settled


def test_a_valid_reply_carries_its_data_and_its_words() -> None:
    reply, model, settled = ask('{"facts": [{"text": "a"}]}')
    assert isinstance(reply, ChatReply)
    assert reply.data == {"facts": [{"text": "a"}]} and reply.rejected == () and reply.notes == ()
    assert reply.text == '{"facts": [{"text": "a"}]}'
    assert len(model.requests) == 1
    assert settled == [('{"facts": [{"text": "a"}]}', "ok", "")]


def test_an_empty_reply_is_an_error_at_once() -> None:
    for text in ("", "  \n", "<think>hm</think>\n"):
        error, model, settled = ask(text)
        assert isinstance(error, EmptyReply) and error.raw == text
        assert len(model.requests) == 1
        assert settled[0][1] == "discarded"


@pytest.mark.parametrize(
    "words",
    [
        "I'm sorry, but I can't help with that.",
        "I cannot assist with this request.",
        "Es tut mir leid, das kann ich nicht beantworten.",
        "Je suis désolé, je ne peux pas répondre.",
        "Lo siento, no puedo ayudar con eso.",
        "申し訳ありませんが、お答えできません。",
        "抱歉，我无法回答这个问题。",
        "К сожалению, я не могу помочь.",
    ],
)
def test_a_refusal_is_told_apart_and_never_asked_again(words: str) -> None:
    error, model, _ = ask(words)
    assert isinstance(error, RefusedReply) and len(model.requests) == 1


def test_a_refusal_by_finish_reason_counts_whatever_the_words_are() -> None:
    error, model, _ = ask(ChatReply(text='{"facts": []}', finish="refusal"))
    assert isinstance(error, RefusedReply) and len(model.requests) == 1
    error, _, _ = ask(ChatReply(text="", finish="refusal"), schema=None)
    assert isinstance(error, RefusedReply)


def test_words_that_only_sound_like_a_refusal_are_repaired() -> None:
    sorry = "Sorry for the wait. Mira plays the cello."
    reply, model, _ = ask(sorry, '{"facts": [{"text": "a"}]}')
    assert isinstance(reply, ChatReply) and len(model.requests) == 2
    inside = '{"facts": [{"text": "I cannot swim, says Mira"}]}'
    reply, model, _ = ask(inside)
    assert isinstance(reply, ChatReply) and len(model.requests) == 1


def test_no_json_is_repaired_once_with_the_reason_and_the_reply() -> None:
    reply, model, settled = ask("Mira plays the cello.", '{"facts": [{"text": "a"}]}')
    assert isinstance(reply, ChatReply) and reply.data == {"facts": [{"text": "a"}]}
    first, second = model.requests
    assert second.messages[:2] == first.messages
    assert second.messages[2] == ChatMessage(role="assistant", text="Mira plays the cello.")
    assert "there is no JSON in the reply" in second.messages[3].text
    assert [outcome for _, outcome, _ in settled] == ["discarded", "ok"]


def test_after_the_limit_the_reply_is_invalid_and_kept() -> None:
    error, model, settled = ask("nothing", "nothing at all", "unused")
    assert isinstance(error, InvalidReply) and error.raw == "nothing at all"
    assert len(model.requests) == 2 and len(settled) == 2


def test_more_attempts_show_the_model_its_latest_reply() -> None:
    _, model, _ = ask("one", "two", {"facts": []}, attempts=3)
    assert [r.messages[2].text for r in model.requests[1:]] == ["one", "two"]
    assert len(model.requests[2].messages) == 4


def test_a_wrong_type_deep_inside_is_named_to_the_model() -> None:
    _, model, _ = ask('{"answer": "x", "sure": "maybe"}', '{"answer": "x", "sure": true}',
                      schema=ANSWER)  # fmt: skip
    assert "sure: boolean is due, got string 'maybe'" in model.requests[1].messages[-1].text


def test_of_two_replies_the_one_with_more_valid_items_is_used() -> None:
    better = '{"facts": [{"text": "a"}, {"text": "b"}, {"no": 1}]}'
    worse = '{"facts": [{"text": "a"}, {"no": 1}]}'
    for replies in ((better, worse), (worse, better)):
        reply, _, settled = ask(*replies)
        assert isinstance(reply, ChatReply)
        assert reply.data == {"facts": [{"text": "a"}, {"text": "b"}]}
        assert reply.rejected == ("facts[2].text: missing; got keys ['no']",)
        assert {text: outcome for text, outcome, _ in settled} == {better: "ok", worse: "discarded"}


def test_what_was_valid_survives_a_failed_repair() -> None:
    partly = '{"facts": [{"text": "a"}, {"no": 1}]}'
    for second in ("nothing", "", "I cannot do that.", ModelServerError("503")):
        reply, _, settled = ask(partly, second)
        assert isinstance(reply, ChatReply) and reply.data == {"facts": [{"text": "a"}]}
        assert settled[-1][:2] == (partly, "ok") and "left out facts[1]" in settled[-1][2]


def test_an_object_with_one_bad_scalar_is_no_partial_success() -> None:
    error, _, _ = ask('{"answer": "x"}', '{"answer": "x"}', schema=ANSWER)
    assert isinstance(error, InvalidReply) and "sure: missing" in str(error)


def test_a_reply_wrapped_in_one_foreign_key_is_unwrapped() -> None:
    reply, model, _ = ask('{"reply": {"facts": [{"text": "a"}]}}')
    assert isinstance(reply, ChatReply) and len(model.requests) == 1
    assert reply.data == {"facts": [{"text": "a"}]}
    assert reply.notes == ("object within an object",)


def test_a_reply_inside_a_tool_call_is_taken_out() -> None:
    call = '<tool_call>{"name": "reply", "arguments": {"facts": [{"text": "a"}]}}</tool_call>'
    reply, model, _ = ask(call)
    assert isinstance(reply, ChatReply) and reply.data == {"facts": [{"text": "a"}]}
    assert len(model.requests) == 1


def test_a_schema_filled_in_under_properties_is_a_reply_and_no_echo() -> None:
    reply, _, _ = ask('{"properties": {"facts": [{"text": "a"}]}}')
    assert isinstance(reply, ChatReply) and reply.data == {"facts": [{"text": "a"}]}


def test_an_echo_without_an_example_is_answered_with_one_made_from_the_schema() -> None:
    error, model, _ = ask('{"type": "object", "properties": {}}', '{"$defs": {}}')
    assert isinstance(error, SchemaEcho)
    assert '{"facts": [{"text": "..."}]}' in model.requests[1].messages[-1].text
    assert [m.role for m in model.requests[1].messages] == ["system", "user"]


def test_a_reply_cut_at_the_ceiling_carries_its_complete_items_and_is_not_asked_again() -> None:
    cut = ChatReply(text='{"facts": [{"text": "a"}, {"text": "b', finish="length", tokens_out=9)
    error, model, settled = ask(cut)
    assert isinstance(error, TruncatedReply) and error.data == {"facts": [{"text": "a"}]}
    assert len(model.requests) == 1
    assert settled[0][1] == "ok" and "1 complete items" in settled[0][2]


@pytest.mark.parametrize("text", ['{"facts": [{"te', '{"fac', "Here", "<think>so long", "", "{"])
def test_a_cut_reply_with_nothing_complete_has_no_data(text: str) -> None:
    error, model, settled = ask(ChatReply(text=text, finish="length"))
    assert isinstance(error, TruncatedReply) and error.data is None
    assert len(model.requests) == 1 and settled[0][1] == "discarded"


def test_a_complete_reply_with_finish_length_is_still_told_as_cut() -> None:
    error, _, _ = ask(ChatReply(text='{"facts": [{"text": "a"}]}', finish="length"))
    assert isinstance(error, TruncatedReply) and error.data == {"facts": [{"text": "a"}]}


def test_an_endless_loop_up_to_the_ceiling_is_invalid_and_not_merely_cut() -> None:
    loop = ChatReply(text='{"facts": [{"text": "' + "la " * 4000, finish="length")
    error, model, _ = ask(loop, loop)
    assert isinstance(error, InvalidReply) and "repeats" in str(error)
    assert len(model.requests[1].messages[2].text) < 2100  # not the whole loop goes back


def test_a_reply_that_stops_in_the_middle_without_saying_so_is_repaired() -> None:
    broken = '{"facts": [{"text": "a"}, {"text": "b'
    reply, _, _ = ask(broken, broken)
    assert isinstance(reply, ChatReply) and reply.data == {"facts": [{"text": "a"}]}
    assert reply.rejected == ("the reply broke off after 1 complete items",)


def test_plain_words_lose_their_thinking_and_keep_the_rest() -> None:
    reply, _, settled = ask("<think>cello?</think>\nThe cello.", schema=None)
    assert isinstance(reply, ChatReply) and reply.text == "The cello." and reply.data is None
    assert settled == [("<think>cello?</think>\nThe cello.", "ok", "thinking block")]
    error, _, _ = ask("<think>cello?</think>", schema=None)
    assert isinstance(error, EmptyReply)
    error, _, _ = ask("<think>cello?", schema=None)
    assert isinstance(error, InvalidReply)
    error, _, _ = ask("la " * 1000, schema=None)
    assert isinstance(error, InvalidReply)


def test_case_p008_no_repair_sends_the_same_body_twice() -> None:
    bad = ["", "nothing", '{"facts": [{"no": 1}]}', '{"$defs": {}}', "<think>", "[" * 999]
    for first in bad[1:]:
        for second in bad:
            _, model, _ = ask(first, second, "nothing", attempts=3)
            bodies = [request.digest for request in model.requests]
            assert len(bodies) >= 2
            assert all(a != b for a, b in itertools.pairwise(bodies))


def test_a_schema_outside_the_subset_is_refused_before_anything_is_sent() -> None:
    model = ScriptedModel([])
    request = ChatRequest(messages=(), role="plan", schema={"type": "string", "pattern": "x"})
    with pytest.raises(ValueError, match="pattern"):
        Structured(model).chat(request)
    assert model.requests == ()
    with pytest.raises(ValueError, match="attempts=0"):
        Structured(model, attempts=0)


THOUGHT = '<think>so {"facts": [{"text": "THOUGHT"}]} or [{"text": "THOUGHT"}]</think>'
PIECES = st.sampled_from(
    [THOUGHT, THOUGHT, '{"facts": [', '{"text": "a"}', '{"text": "b", "x": 1}', "]", "}", "[", "{",
     '"', "'", ",", ":", "\n", "```json\n", "```", "//", "#", " ", "Sure: ",
     '{"facts": [{"text": "c"}]}', "[1]", "{}", "null", "\\", "<think>", "</think>",
     "I cannot", "$defs", '"type": "object"']
)  # fmt: skip


@settings(max_examples=600, deadline=None)
@given(
    first=st.lists(PIECES | st.text(max_size=3), max_size=12).map("".join),
    second=st.lists(PIECES | st.text(max_size=3), max_size=12).map("".join),
    finish=st.sampled_from(["stop", "length", "other"]),
)
def test_whatever_a_model_says_the_data_fits_or_an_error_of_its_own_type_is_raised(
    first: str, second: str, finish: Any
) -> None:
    reply, model, settled = ask(*(ChatReply(text=text, finish=finish) for text in (first, second)))
    data = reply.data if isinstance(reply, (ChatReply, TruncatedReply)) else None
    if isinstance(reply, ChatReply) or data is not None:
        assert isinstance(data, dict) and set(data) == {"facts"}
        for item in data["facts"]:
            assert set(item) == {"text"} and isinstance(item["text"], str)
            assert item["text"] != "THOUGHT"
    assert len(settled) >= len(model.requests) <= 2
    used = [text for text, outcome, _ in settled if outcome == "ok"]
    assert len(used) <= 1 and (len(used) == 1) == (data is not None)
