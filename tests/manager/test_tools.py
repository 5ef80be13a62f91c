"""What the tools are told to be, and which arguments of a call are right."""

from __future__ import annotations

from typing import Any

import pytest
from manager_world import call, chunk, question

from evimem.manager.tools import (
    MAX_CONTENT,
    NAMES,
    TOOLS,
    BadArguments,
    read_arguments,
    tools_for,
    unwrapped,
)
from evimem.model.chat import ToolCall

ALL = ["memory_search", "create_memory", "update_memory", "delete_memory", "finish_event"]


def test_there_are_five_tools_with_the_arguments_of_the_paper() -> None:
    assert [tool.name for tool in TOOLS] == ALL
    assert set(NAMES) == set(ALL)
    arguments = {tool.name: list(tool.parameters["properties"]) for tool in TOOLS}
    required = {tool.name: tool.parameters["required"] for tool in TOOLS}
    assert arguments == {
        "memory_search": ["query", "limit"],
        "create_memory": ["content"],
        "update_memory": ["memory_id", "content"],
        "delete_memory": ["memory_id"],
        "finish_event": ["summary"],
    }
    assert required == {
        "memory_search": ["query"],
        "create_memory": ["content"],
        "update_memory": ["memory_id", "content"],
        "delete_memory": ["memory_id"],
        "finish_event": [],
    }


def test_uni_15_a_question_is_offered_searching_and_finishing_only() -> None:
    assert [tool.name for tool in tools_for(question())] == ["memory_search", "finish_event"]
    assert [tool.name for tool in tools_for(chunk(1))] == ALL


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("memory_search", {}, "'query' is missing"),
        ("memory_search", {"query": None}, "'query' is missing"),
        ("memory_search", {"query": " \n"}, "'query' is blank"),
        ("memory_search", {"query": ["cat"]}, "must be a string"),
        ("memory_search", {"query": "cat", "limit": "many"}, "whole number"),
        ("memory_search", {"query": "cat", "limit": True}, "whole number"),
        ("memory_search", {"query": "cat", "limit": 2.5}, "whole number"),
        (
            "memory_search",
            {"query": "cat", "top_k": 3},
            "'top_k'; memory_search takes query, limit",
        ),
        ("create_memory", {"content": ""}, "'content' is blank"),
        ("create_memory", {"content": {"text": "x"}}, "must be a string"),
        ("create_memory", {"content": "x" * (MAX_CONTENT + 1)}, "20001 characters"),
        ("create_memory", {"content": "half \ud83d"}, "half a character"),
        ("update_memory", {"memory_id": "m1"}, "'content' is missing"),
        ("update_memory", {"content": "x"}, "'memory_id' is missing"),
        ("delete_memory", {"memory_id": 1}, "must be a string"),
        ("finish_event", {"summary": 3}, "must be a string"),
        ("finish_event", {"status": "ok"}, "'status'; finish_event takes summary"),
        ("finish_event", [], "must be a JSON object"),
        ("finish_event", "not json", "must be a JSON object"),
        ("create_memory", 5, "must be a JSON object"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_with_what_to_change(
    name: str, arguments: Any, told: str
) -> None:
    with pytest.raises(BadArguments, match=told):
        read_arguments(ToolCall(name=name, arguments=arguments))


def test_arguments_that_fit_are_read_as_given() -> None:
    read = read_arguments(call("update_memory", memory_id=" m3 ", content=" Ana:\n two cats "))
    assert (read.memory_id, read.content) == ("m3", " Ana:\n two cats ")
    assert read_arguments(call("finish_event")).summary == ""
    assert read_arguments(call("finish_event", summary=None)).summary == ""
    assert read_arguments(call("create_memory", content="x" * MAX_CONTENT)).content
    for written, limit in (
        (3, 3),
        ("3", 3),
        (3.0, 3),
        (-4, -4),
        (None, None),
        ("9" * 30, 999999999),
    ):
        assert read_arguments(call("memory_search", query="cat", limit=written)).limit == limit


def test_arguments_written_as_a_json_string_are_read() -> None:
    assert unwrapped('{"query": "cat"}') == {"query": "cat"}
    assert unwrapped({"query": "cat"}) == {"query": "cat"}
    for text in ("cat", '"cat"', "[1]", "{" * 50_000, '{"query": '):
        assert unwrapped(text) == text
