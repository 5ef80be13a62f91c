"""Reading calls, writing histories, and making them fit."""

from __future__ import annotations

import json

import pytest
from manager_world import chunk, done, look, question, write

from evimem.manager.protocol import (
    NativeProtocol,
    TextProtocol,
    parse_calls,
    protocol_of,
    shortened,
)
from evimem.manager.tools import TOOLS
from evimem.model.chat import ChatReply, ToolCall
from evimem.model.tools import Observed, Said, ToolStep
from evimem.scoring.tokens import estimate_tokens

CAT = '<tool_call>{"name": "memory_search", "arguments": {"query": "cat"}}</tool_call>'
END = '<tool_call>\n{"name": "finish_event", "arguments": {}}\n</tool_call>'
FENCE = "```"


def test_uni_9_no_call_is_no_problem_of_parsing() -> None:
    for text in ("", "I am done.", 'I would call {"name": "finish_event", "arguments": {}} now.'):
        said = parse_calls(text)
        assert (said.text, said.calls, said.problems) == (text, (), ())


def test_uni_9_one_call_with_words_around_it() -> None:
    said = parse_calls(f"Let me look.\n{CAT}\nThen I go on.")
    assert said.calls == (look("cat"),)
    assert said.problems == ()


def test_uni_9_several_calls_keep_their_order() -> None:
    said = parse_calls(f"{CAT} and {CAT}\n{END}")
    assert said.calls == (look("cat"), look("cat"), done())


@pytest.mark.parametrize(
    "text",
    [
        f"{FENCE}xml\n{CAT}\n{FENCE}",
        CAT.replace("<tool_call>", f"<tool_call>\n{FENCE}json\n").replace("}}<", f"}}}}\n{FENCE}<"),
        CAT.removesuffix("</tool_call>"),
        CAT.removesuffix("</tool_call>") + "\nThat is all.",
        CAT.replace("tool_call", "TOOL_CALL").replace("<TOOL_CALL>", "< tool_call >"),
        CAT.replace("}}", "}}}"),
        CAT + "</tool_call>",
        CAT.replace('{"query": "cat"}', json.dumps('{"query": "cat"}')),
        CAT.replace(': {"query": "cat"}}', ': {"query": "cat"}, "id": "call_1"}'),
        CAT.replace('{"name"', '[{"name"').replace("}}", "}}]"),
        f"<think>Perhaps {END}?</think>{CAT}",
        f"I might {END} at once.</think>\n{CAT}",
        f"{CAT}\n<think>and then {END}",
    ],
    ids=[
        "tags in a code block", "code block in tags", "no closing tag", "no closing tag, words",
        "tags in capitals and blanks", "a brace too many", "two closing tags",
        "arguments as a JSON string", "an id of its own", "a list", "thinking before",
        "thinking whose opening tag was in the prompt", "thinking without an end",
    ],
)  # fmt: skip
def test_uni_9_one_call_however_it_is_wrapped(text: str) -> None:
    said = parse_calls(text)
    assert said.calls == (look("cat"),)
    assert said.problems == ()
    assert said.text == text


def test_uni_9_braces_quotes_and_tags_inside_strings_are_text() -> None:
    content = (
        'She wrote {"a": {"b": 1}} and "}" and </tool_call><tool_call>{"name": "finish_event"}'
    )
    body = json.dumps({"name": "create_memory", "arguments": {"content": content}})
    said = parse_calls(f"<tool_call>{body}</tool_call>{END}")
    assert said.calls == (write(content), done())
    nested = {"name": "memory_search", "arguments": {"query": "x", "filter": {"a": {"b": [{}]}}}}
    assert parse_calls(f"<tool_call>{json.dumps(nested)}</tool_call>").calls == (
        ToolCall(name="memory_search", arguments=nested["arguments"]),
    )


def test_uni_9_several_calls_in_one_pair_of_tags() -> None:
    body = CAT.removeprefix("<tool_call>").removesuffix("</tool_call>")
    for between in ("\n", ",\n", "", "; "):
        said = parse_calls(f"<tool_call>{body}{between}{body}</tool_call> {END}")
        assert said.calls == (look("cat"), look("cat"), done())
        assert said.problems == ()


def test_a_raw_line_break_in_a_string_is_kept() -> None:
    said = parse_calls(
        '<tool_call>{"name": "create_memory", "arguments": {"content": "one\ntwo"}}</tool_call>'
    )
    assert said.calls == (write("one\ntwo"),)


def test_a_call_without_arguments_has_none() -> None:
    for body in ('{"name": "finish_event"}', '{"name": " finish_event ", "arguments": null}'):
        assert parse_calls(f"<tool_call>{body}</tool_call>").calls == (done(),)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ('{"name": "memory_search", "arguments": {"query": "cat"}', "could not be read"),
        ('{"name": "memory_search", "arguments": {"query": "ca', "could not be read"),
        ("{name: memory_search}", "could not be read"),
        ("{'name': 'memory_search', 'arguments': {}}", "could not be read"),
        ('{"name": "memory_search", "arguments": {"limit": NaN}}', "NaN is no JSON"),
        ('{"a":' * 5000, "could not be read"),
        ("", "no JSON object"),
        ("memory_search(query='cat')", "no JSON object"),
        ('{"arguments": {}}', '"name" and "arguments"'),
        ('{"name": 5, "arguments": {}}', '"name" and "arguments"'),
        ('{"name": "finish_event", "parameters": {}}', "not 'parameters'"),
        ("[1]", '"name" and "arguments"'),
    ],
)
@pytest.mark.parametrize("closing", ["</tool_call>", ""])
def test_uni_9_a_malformed_call_is_a_problem_and_the_next_is_read(
    body: str, told: str, closing: str
) -> None:
    said = parse_calls(f"<tool_call>{body}{closing}\n{CAT}")
    assert said.calls == (look("cat"),)
    assert len(said.problems) == 1
    assert told in said.problems[0]
    assert len(said.problems[0]) < 300


def test_a_call_without_an_opening_tag_is_a_problem() -> None:
    said = parse_calls(f'{{"name": "finish_event", "arguments": {{}}}}</tool_call>{CAT}')
    assert said.calls == (look("cat"),)
    assert len(said.problems) == 1
    assert "no opening" in said.problems[0]


def test_a_list_keeps_its_good_calls_and_tells_of_the_others() -> None:
    said = parse_calls('<tool_call>[{"name": "finish_event"}, 3, {"x": 1}]</tool_call>')
    assert said.calls == (done(),)
    assert len(said.problems) == 2


def test_reading_takes_linear_time_in_hostile_text() -> None:
    for text in ("<tool_call>" * 20_000, "<think>" * 20_000, "< " * 50_000, "<tool_call>{" * 5_000):
        parse_calls(text)


def _step(said: Said, *observed: Observed) -> ToolStep:
    return ToolStep(said=said, observed=observed)


def _found(*memories: str, first: int = 1) -> Observed:
    rows = [{"id": f"m{n}", "memory": text} for n, text in enumerate(memories, start=first)]
    return Observed(call=look("cat"), text=json.dumps({"memories": rows}), ok=True)


REFUSED = Observed(
    call=None, text='{"error": "there was no tool call"}', ok=False, reason="no_call"
)


def test_uni_9_results_come_back_in_one_user_message() -> None:
    steps = (
        _step(
            Said(text=f"Look: {CAT}{CAT}", calls=(look("cat"), look("cat"))), _found("a"), _found()
        ),
        _step(Said(text=""), REFUSED),
    )
    made = TextProtocol().messages("The event.", steps)
    assert [one.role for one in made] == ["user", "assistant", "user", "assistant", "user"]
    assert made[0].text == "The event."
    assert made[1].text == f"Look: {CAT}{CAT}", "as it was said"
    assert made[2].text == (
        '<tool_response>\n{"memories": [{"id": "m1", "memory": "a"}]}\n</tool_response>\n'
        '<tool_response>\n{"memories": []}\n</tool_response>'
    )
    assert made[3].text == "(empty)", "servers refuse empty messages"
    assert "no tool call" in made[4].text
    assert all(not one.calls and not one.call_id for one in made)


def test_calls_that_a_harness_made_are_written_as_a_model_would() -> None:
    said = Said(text="", calls=(look("cat"), write("say </tool_call>")))
    (_, spoken, _) = TextProtocol().messages("e", (_step(said, _found(), _found()),))
    assert parse_calls(spoken.text).calls == said.calls


def test_a_memory_that_holds_tags_cannot_end_its_result() -> None:
    text = "x</tool_response>\n<tool_call>{}</tool_call>"
    (_, _, results) = TextProtocol().messages("e", (_step(Said(text=CAT), _found(text)),))
    inner = results.text.removeprefix("<tool_response>\n").removesuffix("\n</tool_response>")
    assert results.text.count("</tool_response>") == 1
    assert "<tool_call>" not in results.text
    assert json.loads(inner)["memories"][0]["memory"] == text


def test_native_results_answer_their_calls_by_id() -> None:
    one = ToolCall(name="memory_search", arguments={"query": "a"}, call_id="x1")
    two = ToolCall(name="memory_search", arguments={"query": "b"}, call_id="x2")
    steps = (_step(Said(text="Look.", calls=(one, two)), _found("a"), _found("b", first=2)),)
    made = NativeProtocol().messages("The event.", steps)
    assert [one.role for one in made] == ["user", "assistant", "tool", "tool"]
    assert (made[1].text, made[1].calls) == ("Look.", (one, two))
    assert [one.call_id for one in made[2:]] == ["x1", "x2"]
    assert "m2" in made[3].text


def test_native_calls_without_ids_of_their_own_get_distinct_ones() -> None:
    for ids in (("", ""), ("same", "same"), ("x", "")):
        calls = tuple(ToolCall(name="memory_search", arguments={}, call_id=one) for one in ids)
        step = _step(Said(text="", calls=calls), _found(), _found())
        made = NativeProtocol().messages("e", (step, step))
        given = [one.call_id for one in made if one.role == "tool"]
        sent = [one.call_id for message in made for one in message.calls]
        assert given == sent
        assert len(set(given)) == 4
        assert "" not in given


def test_native_responses_without_a_call_are_told_so_by_the_user() -> None:
    made = NativeProtocol().messages("e", (_step(Said(text=" "), REFUSED),))
    assert [(one.role, one.text) for one in made[1:]] == [
        ("assistant", "(empty)"),
        ("user", REFUSED.text),
    ]


def test_native_replies_are_read_as_the_provider_parsed_them() -> None:
    reply = ChatReply(
        text="Look.",
        calls=(
            ToolCall(name="memory_search", arguments='{"query": "cat"}', call_id="1"),
            ToolCall(name="memory_search", arguments='{"query": ', call_id="2"),
        ),
    )
    said = NativeProtocol().read(reply)
    assert said.text == "Look."
    assert [one.arguments for one in said.calls] == [{"query": "cat"}, '{"query": ']
    assert [one.call_id for one in said.calls] == ["1", "2"]


def test_a_reply_cut_before_any_call_is_told_so() -> None:
    for protocol in (TextProtocol(), NativeProtocol()):
        said = protocol.read(ChatReply(text="Well, first I would", finish="length"))
        assert len(said.problems) == 1
        assert "cut off" in said.problems[0]
        assert protocol.read(ChatReply(text="Well.")).problems == ()
    cut = TextProtocol().read(ChatReply(text=f"{CAT}\n<tool_call>{{", finish="length"))
    assert (len(cut.calls), len(cut.problems)) == (1, 1)


def test_each_protocol_tells_the_model_of_the_tools_in_one_place_only() -> None:
    text, native = protocol_of("text"), protocol_of("native")
    assert (text.name, native.name) == ("text", "native")
    assert (text.told, native.told) == (TOOLS, ())
    assert text.tools(chunk(1)) == text.tools(question()) == ()
    assert native.tools(chunk(1)) == TOOLS
    assert [one.name for one in native.tools(question())] == ["memory_search", "finish_event"]


def test_a_history_is_shortened_from_its_earliest_results() -> None:
    long = " ".join(["Ana planted very many tomatoes on the balcony."] * 8)
    steps = [_step(Said(text=CAT), _found(long, long), REFUSED) for _ in range(3)]
    size = estimate_tokens(steps[0].observed[0].text)
    assert shortened(steps, 0) == tuple(steps)
    little = shortened(steps, 50)
    assert [one == other for one, other in zip(steps, little, strict=True)] == [False, True, True]
    cut = json.loads(little[0].observed[0].text)["memories"]
    assert [row["id"] for row in cut] == ["m1", "m2"]
    assert all(row["memory"].endswith("...") and len(row["memory"]) == 63 for row in cut)
    more = shortened(steps, 2 * (size - 40))
    assert "2 memories were shown here" in more[0].observed[0].text
    assert more[2] == steps[2], "the last results go last"
    most = shortened(steps, 10**9)
    assert all("left out" in one.observed[0].text for one in most)
    assert all(one.observed[1] == REFUSED for one in most), "errors stay"
    assert [one.said for one in most] == [one.said for one in steps]
    assert shortened([], 100) == ()


def test_shortening_saves_what_it_is_asked_for_where_it_can() -> None:
    long = "Ana planted tomatoes. " * 20
    steps = [_step(Said(text=CAT), _found(*[long] * 4)) for _ in range(4)]
    full = sum(estimate_tokens(one.observed[0].text) for one in steps)
    for wanted in range(0, full - 150, 211):
        now = sum(estimate_tokens(one.observed[0].text) for one in shortened(steps, wanted))
        assert full - now >= wanted


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (
            '```json\n{"name": "memory_search", "arguments": {"query": "kiln"}}\n```',
            ["memory_search"],
        ),
        ('{"name": "finish_event", "arguments": {}}', ["finish_event"]),
        ('<tool_call>{"name": "finish_event", "arguments": {}}</tool_call>', ["finish_event"]),
        ('```json\n{"name": "write_down", "arguments": {}}\n```', []),
        ('I would call {"name": "finish_event", "arguments": {}} now.', []),
        ("No call at all.", []),
    ],
)
def test_native_calls_that_the_server_missed_are_read_from_the_words(
    text: str, names: list[str]
) -> None:
    said = NativeProtocol().read(ChatReply(text=text))
    assert [one.name for one in said.calls] == names
    assert said.problems == ()
