"""Native tool calls, over real HTTP in every dialect, and through the whole stack."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evimem.errors import (
    BadModelRequest,
    EmptyReply,
    ModelError,
    ModelServerError,
    PromptTooLong,
    RefusedReply,
)
from evimem.llm.pool import Endpoint, ModelPool
from evimem.llm.saved import SavedReplies
from evimem.llm.scripted import ScriptedModel, ScriptedModels
from evimem.llm.session import most_tokens
from evimem.llm.structured import Structured
from evimem.llm.tool_calls import arguments_of, paired, told
from evimem.model.chat import ChatMessage, ChatReply, ChatRequest, ToolCall, ToolSpec
from evimem.model.cost import totals

KINDS = ("openai", "anthropic", "ollama")
SEARCH = ToolSpec(
    name="memory_search",
    description="Finds memories.",
    parameters={
        "type": "object",
        "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}},
        "required": ["query"],
        "additionalProperties": False,
    },
)
FINISH = ToolSpec(
    name="finish",
    description="Ends the event.",
    parameters={"type": "object", "properties": {}, "required": [], "additionalProperties": False},
)
TOOLS = (SEARCH, FINISH)


def talk(*more: ChatMessage, tools: tuple[ToolSpec, ...] = TOOLS) -> ChatRequest:
    messages = (
        ChatMessage(role="system", text="Keep the memory."),
        ChatMessage(role="user", text="Ann moved to Porto."),
        *more,
    )
    return ChatRequest(messages=messages, role="manage", prompt="m@1#0", tools=tools)


def said(*calls: ToolCall, text: str = "") -> ChatMessage:
    return ChatMessage(role="assistant", text=text, calls=calls)


def result(text: str, call_id: str = "") -> ChatMessage:
    return ChatMessage(role="tool", text=text, call_id=call_id)


def function(spec: ToolSpec) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {
            "name": spec.name,
            "description": spec.description,
            "parameters": dict(spec.parameters),
        },
    }


def test_tools_go_out_in_the_words_of_each_dialect(chat_server: Any, model_at: Any) -> None:
    for kind in KINDS:
        model_at(kind).chat(talk())
        model_at(kind).chat(talk(tools=()))
    openai, anthropic, ollama = (seen.body for seen in chat_server.seen[::2])
    assert openai["tools"] == ollama["tools"] == [function(SEARCH), function(FINISH)]
    assert anthropic["tools"] == [
        {"name": s.name, "description": s.description, "input_schema": dict(s.parameters)}
        for s in TOOLS
    ]
    for body in (openai, anthropic, ollama):
        assert not {"tool_choice", "response_format", "format", "output_config"} & set(body)
        assert body.get("stream", False) is False
    for seen in chat_server.seen[1::2]:
        assert "tools" not in seen.body


@pytest.mark.parametrize("kind", KINDS)
def test_several_calls_of_one_reply_come_back_in_order_with_no_words(
    kind: str, chat_server: Any, model_at: Any
) -> None:
    made = [("memory_search", {"query": "Ærø", "limit": 3}), ("none_such", {"a": [1, None]})]
    chat_server.script = [
        chat_server.reply("", calls=made),
        chat_server.reply("I look.", calls=[*made, ("finish", {})]),
        "No call.",
    ]
    model = Structured(model_at(kind))
    first, second, third = (model.chat(talk()) for _ in range(3))
    assert (first.text, first.finish, first.notes) == ("", "stop", ())
    assert [(c.name, c.arguments) for c in first.calls] == made
    assert second.text == "I look."
    assert [c.name for c in second.calls] == ["memory_search", "none_such", "finish"]
    assert second.calls[2].arguments == {}
    assert (third.text, third.calls) == ("No call.", ())
    ids = [c.call_id for c in second.calls]
    assert (
        ids
        == {
            "openai": ["c0", "c1", "c2"],
            "anthropic": ["toolu_0", "toolu_1", "toolu_2"],
            "ollama": ["", "", ""],
        }[kind]
    )


@pytest.mark.parametrize("kind", ["openai", "ollama"])
def test_a_null_text_and_thoughts_beside_a_call_are_nothing_amiss(
    kind: str, chat_server: Any, model_at: Any
) -> None:
    thought = {"reasoning_content": "hm", "thinking": "hm"}
    calls: list[Any] = [("finish", {})]
    chat_server.script = [chat_server.reply(None, calls=calls, more=thought)]
    reply = Structured(model_at(kind)).chat(talk())
    assert (reply.text, [c.name for c in reply.calls], reply.notes) == ("", ["finish"], ())


BROKEN = ['{"query": "Porto"', "query=Porto", '{"limit": NaN}', "{'query': 'x'}", '{"n": 1e999}']


@pytest.mark.parametrize("given", [*BROKEN, "[" * 100_000, '{"n": ' + "9" * 5000 + "}"])
def test_arguments_that_are_no_json_come_back_as_they_were_written(
    given: str, chat_server: Any, model_at: Any
) -> None:
    calls = [("memory_search", given), ("finish", {})]
    chat_server.script = [chat_server.reply("", calls=calls)]
    reply = Structured(model_at("openai")).chat(talk())
    assert [c.arguments for c in reply.calls] == [given, {}]


def test_arguments_are_read_from_every_form_that_servers_give_them() -> None:
    assert arguments_of('{"a": 1}') == arguments_of({"a": 1}) == {"a": 1}
    assert arguments_of('"{\\"a\\": 1}"') == {"a": 1}  # an object written down twice
    assert arguments_of(None) == arguments_of("") == arguments_of(" \n") == {}
    assert arguments_of("[1]") == [1]
    assert arguments_of("7") == 7
    assert arguments_of('"words"') == "words"
    assert arguments_of({"a": float("inf")}) == '{"a": Infinity}'


@pytest.mark.parametrize("kind", ["openai", "ollama"])
def test_entries_that_are_no_calls_do_no_harm_and_are_noted(
    kind: str, chat_server: Any, model_at: Any
) -> None:
    listed = [7, {}, {"function": "finish"}, {"id": "x", "function": {"name": " finish "}}]
    chat_server.script = [
        chat_server.reply("", more={"tool_calls": listed}),
        chat_server.reply("words", more={"tool_calls": None}),
        chat_server.reply("words", more={"tool_calls": {"0": 1}}),
    ]
    model = model_at(kind)
    reply = model.chat(talk())
    assert [(c.name, c.arguments) for c in reply.calls] == [("", {}), ("", {}), ("finish", {})]
    assert reply.notes == ("a tool call that is no object",)
    assert [model.chat(talk()).calls for _ in range(2)] == [(), ()]


def test_a_call_of_anthropic_that_the_ceiling_cut_cannot_be_carried_out(
    chat_server: Any, model_at: Any
) -> None:
    calls = [("memory_search", {"query": "a"}), ("memory_search", {"query": "b"})]
    chat_server.script = [
        chat_server.reply("", calls=calls, finish="length"),
        chat_server.reply("", calls=[("memory_search", None)]),
    ]
    model = model_at("anthropic")
    reply = model.chat(talk())
    assert [c.arguments for c in reply.calls] == [{"query": "a"}, '{"query": "b ... [cut off]']
    assert reply.finish == "length"
    assert reply.notes == ("the last tool call was cut at the token ceiling",)
    assert [c.arguments for c in model.chat(talk()).calls] == [{}]


@pytest.mark.parametrize("kind", KINDS)
def test_calls_where_no_tools_were_offered_are_left_out_with_a_note(
    kind: str, chat_server: Any, model_at: Any
) -> None:
    chat_server.script = [chat_server.reply("Hi.", calls=[("finish", {})])]
    reply = model_at(kind).chat(talk(tools=()))
    assert (reply.text, reply.calls) == ("Hi.", ())
    assert reply.notes == ("1 tool calls and no tools to call",)
    chat_server.script = [chat_server.reply("", calls=[("finish", {})])]
    with pytest.raises(EmptyReply):
        Structured(model_at(kind)).chat(talk(tools=()))


def test_neither_words_nor_calls_is_an_empty_reply_and_a_refusal_stays_one(
    chat_server: Any, model_at: Any
) -> None:
    model = Structured(model_at("openai"))
    chat_server.script = [
        "",
        chat_server.reply("", finish="refusal", calls=[("finish", {})]),
        chat_server.reply("<think>hm", calls=[("finish", {})]),
    ]
    with pytest.raises(EmptyReply):
        model.chat(talk())
    with pytest.raises(RefusedReply):
        model.chat(talk())
    thinking = model.chat(talk())
    assert (thinking.text, len(thinking.calls)) == ("", 1)


ONE = ToolCall(name="memory_search", arguments={"query": "Ærø"}, call_id="a1")
BAD = ToolCall(name="memory_search", arguments='{"query"', call_id="b2")
TALK = (
    said(ONE, BAD, text="I look."),
    result('{"memories": []}', "a1"),
    result('{"error": "no JSON"}', "b2"),
    said(ToolCall(name="finish", arguments={}, call_id="c3")),
    result("{}", "c3"),
    ChatMessage(role="user", text="Go on."),
)


def test_calls_and_results_go_back_to_openai(chat_server: Any, model_at: Any) -> None:
    model_at("openai").chat(talk(*TALK))
    _, _, first, found, failed, second, done, last = chat_server.seen[0].body["messages"]
    assert (first["role"], first["content"]) == ("assistant", "I look.")
    assert [(c["id"], c["type"]) for c in first["tool_calls"]] == [
        ("a1", "function"),
        ("b2", "function"),
    ]
    functions = [c["function"] for c in first["tool_calls"]]
    assert functions[0] == {"name": "memory_search", "arguments": '{"query": "Ærø"}'}
    assert json.loads(functions[1]["arguments"]) == {"unreadable_arguments": '{"query"'}
    assert found == {"role": "tool", "content": '{"memories": []}', "tool_call_id": "a1"}
    assert failed["tool_call_id"] == "b2"
    assert (second["content"], done["tool_call_id"]) == ("", "c3")
    assert last == {"role": "user", "content": "Go on."}


def test_calls_and_results_go_back_to_anthropic_as_blocks(chat_server: Any, model_at: Any) -> None:
    model_at("anthropic").chat(talk(*TALK))
    body = chat_server.seen[0].body
    use = {"type": "tool_use", "name": "memory_search"}
    assert body["system"] == "Keep the memory."
    assert body["messages"][1:] == [
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "I look."},
                {**use, "id": "a1", "input": {"query": "Ærø"}},
                {**use, "id": "b2", "input": {"unreadable_arguments": '{"query"'}},
            ],
        },
        {  # all results of one message's calls in one message
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "a1", "content": '{"memories": []}'},
                {"type": "tool_result", "tool_use_id": "b2", "content": '{"error": "no JSON"}'},
            ],
        },
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "c3", "name": "finish", "input": {}}],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "c3", "content": "{}"}],
        },
        {"role": "user", "content": "Go on."},
    ]


def test_calls_and_results_go_back_to_ollama_by_name(chat_server: Any, model_at: Any) -> None:
    model_at("ollama").chat(talk(*TALK))
    first, found, failed, second, done = chat_server.seen[0].body["messages"][2:7]
    assert [c["function"] for c in first["tool_calls"]] == [
        {"name": "memory_search", "arguments": {"query": "Ærø"}},
        {"name": "memory_search", "arguments": {"unreadable_arguments": '{"query"'}},
    ]
    assert (found["role"], found["content"]) == ("tool", '{"memories": []}')
    assert [m["tool_name"] for m in (found, failed, done)] == [
        "memory_search",
        "memory_search",
        "finish",
    ]
    assert [c["id"] for c in second["tool_calls"]] == ["c3"]


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_reply_called_can_be_sent_back_with_its_results(
    kind: str, chat_server: Any, model_at: Any
) -> None:
    """The round of an agent: a nameless call too, and ids that come twice or not at all."""
    calls = [("memory_search", {"query": "Ærø"}), ("", {}), ("finish", {})]
    chat_server.script = [chat_server.reply("", calls=calls)] * 2 + ["done"]
    model = model_at(kind)
    messages: list[ChatMessage] = []
    for _ in range(2):
        reply = model.chat(talk(*messages))
        messages += [said(*reply.calls), *(result("{}", c.call_id) for c in reply.calls)]
    assert model.chat(talk(*messages)).text == "done"
    sent = json.dumps(chat_server.seen[-1].body, ensure_ascii=False)
    assert '"query": "Ærø"' in sent.replace('\\"', '"')
    assert '"name": "unnamed"' in sent
    assert sent.count("memory_search") >= 2
    if kind == "anthropic":
        blocks = [b for m in chat_server.seen[-1].body["messages"][1:] for b in m["content"]]
        used = [b["id"] for b in blocks if b["type"] == "tool_use"]
        answered = [b["tool_use_id"] for b in blocks if b["type"] == "tool_result"]
    else:
        after = chat_server.seen[-1].body["messages"][2:]
        used = [c["id"] for m in after for c in m.get("tool_calls", [])]
        answered = [m["tool_call_id"] for m in after if m["role"] == "tool"]
    assert used == answered
    assert len(set(used)) == 6


@pytest.mark.parametrize("kind", KINDS)
def test_half_a_surrogate_pair_in_a_call_is_neither_kept_nor_in_the_way(
    kind: str, chat_server: Any, model_at: Any
) -> None:
    assert arguments_of('{"query": "a\\ud83d"}') == arguments_of({"query": "a\ud83d"})
    assert arguments_of('{"query": "a\\ud83d"}') == {"query": "a?"}
    assert arguments_of("{a\ud83d") == "{a?"
    call = ToolCall(name="memory_search", arguments={"query": "a\ud83d"}, call_id="a1")
    assert model_at(kind).chat(talk(said(call), result("\ud83d", "a1"))).text == "ok"
    assert "a?" in json.dumps(chat_server.seen[0].body)


@pytest.mark.parametrize("kind", KINDS)
def test_arguments_that_no_server_would_take_go_back_in_an_object(
    kind: str, chat_server: Any, model_at: Any
) -> None:
    odd: list[Any] = [["a"], {"n": float("nan")}, None, 7]
    for number, given in enumerate(odd):
        call = ToolCall(name="finish", arguments=given, call_id="a1")
        model_at(kind).chat(talk(said(call), result("{}", "a1")))
        sent = json.dumps(chat_server.seen[number].body).replace("\\", "")
        assert '{"unreadable_arguments": "' in sent


def test_results_find_their_calls_by_id_in_any_order_and_by_place_without_one() -> None:
    a, b = (ToolCall(name=n, arguments={}, call_id=n) for n in "ab")
    made, names = paired([said(a, b), result("of b", "b"), result("of a", "a")])
    assert [m.call_id for m in made] == ["", "b", "a"]
    assert names == {"a": "a", "b": "b"}
    nameless = replace(a, call_id="")
    made, names = paired([said(nameless, b, nameless), result("1"), result("2", "b"), result("3")])
    first, second, third = (c.call_id for c in made[0].calls)
    assert [m.call_id for m in made[1:]] == [first, second, third]
    assert second == "b" and len({first, second, third}) == 3
    assert names == {first: "a", "b": "b", third: "a"}


@pytest.mark.parametrize("kind", KINDS)
def test_calls_without_results_and_results_without_calls_are_not_sent(
    kind: str, chat_server: Any, model_at: Any
) -> None:
    model = model_at(kind)
    words = ChatMessage(role="user", text="Go on.")
    for wrong in (
        [said(ONE)],
        [said(ONE, BAD), result("{}", "a1"), words],
        [said(ONE), words, result("{}", "a1")],
    ):
        with pytest.raises(ValueError, match="have no result, first 'memory_search'"):
            model.chat(talk(*wrong))
    for wrong in (
        [result("{}", "a1")],
        [said(ONE), result("{}", "z9")],
        [said(ONE), result("{}", "a1"), result("{}", "a1")],
    ):
        with pytest.raises(ValueError, match="answers no call"):
            model.chat(talk(*wrong))
        with pytest.raises(ValueError, match="answers no call"):
            ScriptedModel(["a"]).chat(talk(*wrong))
    assert chat_server.seen == []


def test_tools_together_with_a_schema_are_refused(schema: Any) -> None:
    with pytest.raises(ValueError, match="2 tools and the schema 'reply'"):
        replace(talk(), schema=schema)


REFUSALS = [
    ("openai", 400, '"auto" tool choice requires --enable-auto-tool-choice to be set'),
    ("openai", 500, "tools param requires --jinja flag"),
    ("openai", 404, "No endpoints found that support tool use."),
    ("openai", 400, "Unrecognized request argument supplied: tools"),
    ("anthropic", 400, "tools: Extra inputs are not permitted"),
    ("ollama", 400, "registry.example/library/small-3b:latest does not support tools"),
]


@pytest.mark.parametrize(("kind", "status", "words"), REFUSALS)
def test_a_server_that_takes_no_tools_is_told_of_at_once_with_the_text_protocol_as_the_way_out(
    kind: str, status: int, words: str, chat_server: Any, model_at: Any
) -> None:
    chat_server.script = [chat_server.reply(words, status=status)]  # one call: no ladder, no retry
    with pytest.raises(BadModelRequest, match="use the text protocol") as caught:
        one_endpoint(model_at(kind)).session().model("manage").chat(talk())
    assert words[:20] in str(caught.value)
    assert "'small-3b' at http://127.0.0.1" in str(caught.value)
    assert "sk-secret" not in str(caught.value)


def test_a_refusal_in_a_body_with_status_200_is_told_alike(chat_server: Any, model_at: Any) -> None:
    body = b'{"error": {"message": "this model does not support tools", "code": 400}}'
    chat_server.script = [chat_server.reply(raw=body)]
    with pytest.raises(BadModelRequest, match="use the text protocol"):
        model_at("openai").chat(talk())


@pytest.mark.parametrize(
    ("status", "words", "error"),
    [
        (500, "error parsing tool call: raw='{', err=unexpected end of JSON", ModelServerError),
        (500, "out of memory", ModelServerError),
        (400, "bad request", BadModelRequest),
        (404, "model 'tool-7b' not found", BadModelRequest),
        (400, "prompt is too long: 9000 tokens with tools", PromptTooLong),
    ],
)
def test_other_failures_keep_their_meaning_when_tools_are_sent(
    status: int, words: str, error: type[ModelError], chat_server: Any, model_at: Any
) -> None:
    chat_server.script = [chat_server.reply(words, status=status)]
    with pytest.raises(error) as caught:
        model_at("openai", model="tool-7b").chat(talk())
    assert "text protocol" not in str(caught.value)


def test_a_refusal_that_names_tools_is_an_ordinary_one_where_none_were_sent(
    chat_server: Any, model_at: Any
) -> None:
    chat_server.script = [chat_server.reply("tools are not supported", status=400)]
    with pytest.raises(BadModelRequest) as caught:
        model_at("openai").chat(talk(tools=()))
    assert "text protocol" not in str(caught.value)


def test_a_refused_parameter_is_left_out_with_tools_too(chat_server: Any, model_at: Any) -> None:
    chat_server.script = [
        chat_server.reply("temperature is not supported with tools", status=400),
        chat_server.reply("", calls=[("finish", {})]),
    ]
    assert len(model_at("openai").chat(talk()).calls) == 1
    assert "temperature" not in chat_server.seen[1].body


def one_endpoint(model: Any, saved: SavedReplies | None = None) -> ModelPool:
    return ModelPool(
        [Endpoint(name="a", model=model)],
        slots={"default": "a"},
        saved=saved,
        sleep=lambda seconds: None,
    )


CALLING = ChatReply(
    text="I look.",
    calls=(ONE, ToolCall(name="finish", arguments="{oops")),
    tokens_in=30,
    tokens_out=4,
)
AS_TEXT = (
    'I look.\n<tool_call>{"name": "memory_search", "arguments": {"query": "Ærø"}}</tool_call>\n'
    '<tool_call>{"name": "finish", "arguments": "{oops"}</tool_call>'
)


def test_the_ledger_tells_the_calls_as_text() -> None:
    models = ScriptedModels({"manage": [CALLING, replace(CALLING, text="")]})
    session = models.session()
    first, second = (session.model("manage").chat(talk()) for _ in range(2))
    assert (first.calls, second.calls) == (CALLING.calls, CALLING.calls)
    assert [c.text for c in session.calls] == [AS_TEXT, AS_TEXT.partition("\n")[2]]
    assert [c.outcome for c in session.calls] == ["ok", "ok"]
    assert told(ChatReply(text="words")) == "words"


def test_ben_11_calls_are_saved_and_played_again_and_count_once(tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl"
    script = [CALLING, replace(CALLING, calls=CALLING.calls[:1])]
    requests = (talk(), talk(*TALK))

    def ask(model: ScriptedModel, saved: SavedReplies) -> tuple[list[ChatReply], Any]:
        session = one_endpoint(model, saved).session()
        return [session.model("manage").chat(one) for one in requests], session.calls

    first, calls = ask(ScriptedModel(script), SavedReplies(path))
    again, replayed = ask(silent := ScriptedModel([]), SavedReplies(path, mode="replay"))
    assert first == again == script
    assert silent.requests == ()
    assert totals([*calls, *replayed]).online == totals(calls).online
    line = json.loads(path.read_text(encoding="utf-8").splitlines()[0])
    del line["reply"]["calls"]  # a file from before there were calls
    path.write_text(json.dumps(line) + "\n", encoding="utf-8")
    old = SavedReplies(path, mode="replay").find("scripted", talk())
    assert isinstance(old, ChatReply) and old.calls == ()


def test_ben_11_tools_calls_and_ids_are_part_of_what_is_sent() -> None:
    base = talk(*TALK)
    others = [
        replace(base, tools=(SEARCH,)),
        replace(base, tools=(replace(SEARCH, description="Other."), FINISH)),
        talk(said(replace(ONE, arguments={"query": "x"}), BAD), *TALK[1:]),
        talk(said(replace(ONE, call_id="z"), BAD), result("{}", "z"), *TALK[2:]),
        talk(),
    ]
    assert len({base.digest, *(one.digest for one in others)}) == len(others) + 1
    assert talk(*TALK).digest == base.digest


def test_the_budget_holds_tokens_for_tools_and_calls() -> None:
    long = ToolCall(name="memory_search", arguments={"query": "x" * 3000}, call_id="a1")
    bare, tools = most_tokens(talk(tools=())), most_tokens(talk())
    called = most_tokens(talk(said(long), result("{}", "a1")))
    assert tools - bare > 40
    assert called - tools > 1000
