"""Cases from real use over real HTTP, through the whole stack from session to server."""

from __future__ import annotations

from typing import Any

import pytest

from evimem.errors import InvalidReply, PromptTooLong
from evimem.llm.pool import Endpoint, ModelPool
from evimem.ports import ChatModel


def through_the_stack(adapter: Any, waits: list[float]) -> tuple[Any, ChatModel]:
    pool = ModelPool(
        [Endpoint(name="one", model=adapter)], slots={"default": "one"}, sleep=waits.append
    )
    session = pool.session()
    return session, session.model("answer")


def test_case_p014_a_server_that_ignores_the_schema_is_caught_here(
    chat_server: Any, model_at: Any, asking: Any, schema: Any
) -> None:
    """A schema that servers read differently is not sent at all; a fitting one is checked here,
    whatever the server promised."""
    narrow = {**schema, "properties": {"city": {"type": "string", "pattern": "^[A-Z]"}}}
    length = {**schema, "properties": {"city": {"type": "string", "minLength": 2}}}
    _, model = through_the_stack(model_at("openai"), [])
    for unportable in (narrow, length):
        with pytest.raises(ValueError, match="portable subset"):
            model.chat(asking(schema=unportable))
    assert chat_server.seen == []
    chat_server.script = lambda body, path, headers: "She lives in a city by the sea."
    with pytest.raises(InvalidReply):
        model.chat(asking(schema=schema))
    assert chat_server.seen[0].body["response_format"]["type"] == "json_schema"
    chat_server.script = ["Sure! It is:", {"city": "Oslo"}]
    assert model.chat(asking(schema=schema)).data == {"city": "Oslo"}


def test_case_p020_a_body_of_blank_lines_is_tried_again(
    chat_server: Any, model_at: Any, asking: Any
) -> None:
    chat_server.script = [chat_server.reply(raw=b"\n" * 500), "In Oslo."]
    waits: list[float] = []
    session, model = through_the_stack(model_at("openai"), waits)
    assert model.chat(asking()).text == "In Oslo."
    assert [call.outcome for call in session.calls] == ["failed", "ok"]
    assert len(waits) == 1


def test_case_p016_a_silent_cut_is_not_tried_again_in_the_same_words(
    chat_server: Any, model_at: Any, asking: Any
) -> None:
    chat_server.script = [chat_server.reply("Looks complete.", tokens_in=2050)]
    _, model = through_the_stack(model_at("openai"), [])
    with pytest.raises(PromptTooLong):
        model.chat(asking("word and word " * 2200))
    assert len(chat_server.seen) == 1
