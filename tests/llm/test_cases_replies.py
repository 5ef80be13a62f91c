"""Cases of broken replies and provider errors, over real HTTP against a scripted local server."""

from __future__ import annotations

import itertools
import json
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from evimem.errors import (
    BudgetExceeded,
    EmptyReply,
    InvalidReply,
    ReplyError,
    SchemaEcho,
    TruncatedReply,
)
from evimem.llm.endpoints import chat_model, endpoint
from evimem.llm.ledger import causes
from evimem.llm.pool import Endpoint, ModelPool
from evimem.model.chat import ChatMessage, ChatReply, ChatRequest, Role
from evimem.model.cost import totals

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


def pool(server: Any, *, parallel: int = 4, **options: Any) -> ModelPool:
    settings = endpoint(
        "local",
        {"kind": "openai", "url": server.openai_url, "model": "m", "strategy": "prompt"},
        setting="EVIMEM_LLM",
    )
    one = Endpoint(name="local", model=chat_model(settings), parallel=parallel)
    return ModelPool([one], slots={"default": "local"}, **options)


def extract(text: str = "Mira is spending the week in Porto.", **fields: Any) -> ChatRequest:
    role: Role = fields.pop("role", "extract")
    return ChatRequest(
        messages=(ChatMessage(role="user", text=text),),
        role=role,
        phase=fields.pop("phase", "summary"),
        prompt="test.facts@1#00000000",
        schema=fields.pop("schema", FACTS),
        example={"facts": [{"text": "Ada owns a boat"}]},
        **fields,
    )


def ask(server: Any, *replies: Any) -> tuple[ChatReply | ReplyError, Any]:
    server.script = list(replies)
    session = pool(server).session()
    try:
        return session.model("extract").chat(extract()), session
    except ReplyError as error:
        return error, session


def test_case_p001_an_empty_reply_is_an_error_with_its_own_type_and_is_counted(
    chat_server: Any,
) -> None:
    error, session = ask(chat_server, "")
    assert isinstance(error, EmptyReply)
    assert [call.outcome for call in session.calls] == ["discarded"]
    assert "empty" in session.calls[0].problem
    assert totals(session.calls).summary.tokens_in > 0


def test_case_p002_json_between_prose_and_fences_is_found_and_noted(chat_server: Any) -> None:
    reply, session = ask(
        chat_server,
        'Sure, here you go:\n```json\n{"facts": [{"text": "Mira plays the cello"}]}\n```\n'
        "Anything else?",
    )
    assert isinstance(reply, ChatReply)
    assert reply.data == {"facts": [{"text": "Mira plays the cello"}]}
    assert reply.notes == ("code fence", "prose around the JSON")
    assert session.calls[0].outcome == "ok"
    assert session.calls[0].problem == "code fence; prose around the JSON"


def test_case_p004_a_schema_echo_is_retried_once_with_an_example(chat_server: Any) -> None:
    echo = (
        '{"$defs": {"Fact": {"type": "object"}}, "properties": {"facts": {"type": "array"}}, '
        '"type": "object"}'
    )
    reply, session = ask(chat_server, echo, {"facts": [{"text": "Mira is in Porto"}]})
    assert isinstance(reply, ChatReply) and reply.data == {"facts": [{"text": "Mira is in Porto"}]}
    assert "Ada owns a boat" not in chat_server.seen[0].prompt
    assert "Ada owns a boat" in chat_server.seen[1].prompt
    assert [call.outcome for call in session.calls] == ["discarded", "ok"]
    error, session = ask(chat_server, echo, echo)
    assert isinstance(error, SchemaEcho) and len(session.calls) == 2


def test_case_p005_a_bare_list_with_a_synonym_key_is_repaired_and_then_saved_item_by_item(
    chat_server: Any,
) -> None:
    bare = '[{"fact_text": "Tomas moved to Graz"}, {"text": "Tomas has a dog"}]'
    reply, _ = ask(chat_server, bare, bare)
    assert isinstance(reply, ChatReply)
    assert reply.data == {"facts": [{"text": "Tomas has a dog"}]}
    assert reply.rejected == ("facts[0].text: missing; got keys ['fact_text']",)
    assert "bare list" in reply.notes
    assert "facts[0].text: missing; got keys ['fact_text']" in chat_server.seen[1].prompt
    whole, _ = ask(chat_server, bare, [{"text": "Tomas moved to Graz"}, {"text": "x"}])
    assert isinstance(whole, ChatReply) and whole.rejected == ()


def test_case_p007_complete_items_of_a_cut_reply_are_kept(chat_server: Any) -> None:
    seven = ", ".join(json.dumps({"text": f"fact {n}"}) for n in range(7))
    cut = chat_server.reply(f'{{"facts": [{seven}, {{"text": "fac', finish="length")
    error, _ = ask(chat_server, cut)
    assert isinstance(error, TruncatedReply)
    assert error.data == {"facts": [{"text": f"fact {n}"} for n in range(7)]}
    assert len(chat_server.seen) == 1


def test_case_p008_the_same_body_is_never_sent_again_after_a_length_stop(chat_server: Any) -> None:
    """The caller halves; this layer sends one body per question asked of it."""

    def script(body: Any, path: str, headers: Any) -> Any:
        long = len(body["messages"][-1]["content"]) > 2000
        if long:
            return chat_server.reply('{"facts": [{"text": "a', finish="length")
        return {"facts": [{"text": "a"}]}

    chat_server.script = script
    model = pool(chat_server).session().model("extract")
    text = " ".join(f"On day {n} Mira went to town {n}." for n in range(200))

    def halve(part: str) -> int:
        try:
            reply = model.chat(extract(part))
        except TruncatedReply:
            middle = len(part) // 2
            return halve(part[:middle]) + halve(part[middle:])
        assert isinstance(reply.data, dict)
        return 1

    parts = halve(text)
    bodies = [json.dumps(seen.body, sort_keys=True) for seen in chat_server.seen]
    assert all(a != b for a, b in itertools.pairwise(bodies))
    assert len(bodies) == 2 * parts - 1


def test_case_p011_a_fact_of_one_word_over_and_over_is_invalid(chat_server: Any) -> None:
    loop = {"facts": [{"text": "la " * 58_000}]}
    error, session = ask(chat_server, loop, loop)
    assert isinstance(error, InvalidReply) and "repeats the same words" in str(error)
    assert len(str(error)) < 500
    assert [call.outcome for call in session.calls] == ["discarded", "discarded"]
    mixed = {"facts": [{"text": "Mira is in Porto"}, {"text": "la " * 58_000}]}
    reply, _ = ask(chat_server, mixed, mixed)
    assert isinstance(reply, ChatReply) and reply.data == {"facts": [{"text": "Mira is in Porto"}]}


def test_case_p013_json_inside_a_thinking_block_is_never_used(chat_server: Any) -> None:
    closed = 'Okay.<think>maybe {"facts": []}</think>{"facts": [{"text": "Mira plays the cello"}]}'
    reply, _ = ask(chat_server, closed)
    assert isinstance(reply, ChatReply)
    assert reply.data == {"facts": [{"text": "Mira plays the cello"}]}
    unclosed = closed.replace("</think>", "")
    error, session = ask(chat_server, unclosed, unclosed)
    assert isinstance(error, InvalidReply)
    assert [call.outcome for call in session.calls] == ["discarded", "discarded"]


def test_case_p014_a_reply_is_checked_whatever_the_server_promised(chat_server: Any) -> None:
    error, session = ask(chat_server, "Mira is in Porto.", "She is in Porto this week.")
    assert isinstance(error, InvalidReply) and "no JSON" in str(error)
    foreign = extract(schema={**FACTS, "minProperties": 1})
    with pytest.raises(ValueError, match="minProperties"):
        session.model("extract").chat(foreign)
    assert len(chat_server.seen) == 2


def test_case_p019_ten_percent_broken_replies_are_read_and_their_causes_counted(
    chat_server: Any,
) -> None:
    broken = [
        '```json\n{"facts": [{"text": "x"}]}\n```',
        '{"facts": [{"text": "x"},]}',
        "{'facts': [{'text': 'x'}]}",
        '[{"text": "x"}]',
        '{"facts": [{"text": "x"}, {"text": "y',
        '{"facts": [{"text": "x"}] // all\n}',
    ]

    def script(body: Any, path: str, headers: Any) -> Any:
        text = body["messages"][-1]["content"]
        number = int(text.split("document ")[-1].split()[0]) if "document " in text else 1
        return broken[number // 10 % 6] if number % 10 == 0 else '{"facts": [{"text": "x"}]}'

    chat_server.script = script
    session = pool(chat_server).session()
    model = session.model("extract")
    replies = [model.chat(extract(f"Read document {n} now.")) for n in range(1, 201)]
    assert all(reply.data == {"facts": [{"text": "x"}]} for reply in replies)
    assert causes(session.calls) == {
        "trailing comma": 4,
        "single quotes": 4,
        "bare list": 3,
        "code fence": 3,
        "comments": 3,
        "the reply broke off after N complete items": 3,
    }
    assert [call.outcome for call in session.calls].count("discarded") == 3


def test_case_p023_rate_limits_are_waited_out_with_fewer_calls_at_a_time(chat_server: Any) -> None:
    lock = threading.Lock()
    asked: Counter[int] = Counter()
    waits: list[float] = []

    def script(body: Any, path: str, headers: Any) -> Any:
        number = int(body["messages"][-1]["content"].split()[1])
        with lock:
            asked[number] += 1
            limited = number % 3 == 0 and asked[number] <= 2
        if limited:
            return chat_server.reply("slow down", status=429, headers={"Retry-After": "1"})
        return {"facts": []}

    def sleep(seconds: float) -> None:
        with lock:
            waits.append(seconds)

    chat_server.script = script
    models = pool(chat_server, parallel=6, sleep=sleep)
    session = models.session()
    model = session.model("extract")
    with ThreadPoolExecutor(6) as workers:
        replies = list(workers.map(lambda n: model.chat(extract(f"Session {n} .")), range(50)))
    assert all(reply.data == {"facts": []} for reply in replies)
    assert asked == {n: 3 if n % 3 == 0 else 1 for n in range(50)}  # no call was made in vain
    assert totals(session.calls).failed == 34 and totals(session.calls).summary.calls == 50
    assert sum(1 for wait in waits if 1.0 <= wait <= 2.0) >= 34
    assert models.limits()["local"] < 6


def test_case_p025_no_argument_raises_the_operators_ceiling(chat_server: Any) -> None:
    chat_server.script = lambda body, path, headers: chat_server.reply(
        {"facts": []}, tokens_in=500, tokens_out=100
    )
    models = pool(chat_server, max_tokens=4000, max_calls=100)
    session = models.session(max_tokens=100_000, max_calls=10_000)
    model = session.model("answer")
    with pytest.raises(BudgetExceeded, match="EVIMEM_LLM_MAX_TOKENS"):
        model.chat(extract(role="answer", phase="online", max_tokens=100_000))
    assert chat_server.seen == []
    with pytest.raises(BudgetExceeded, match=r"of 4000 are used"):
        for _ in range(100):
            model.chat(extract(role="answer", phase="online", max_tokens=600))
    assert totals(session.calls).online.total <= 4000
    assert len(session.calls) == 6  # 3,600 used: a seventh could end above 4,000
