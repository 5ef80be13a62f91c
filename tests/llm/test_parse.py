"""JSON out of a model's words: what is forgiven, what is refused, and in what time."""

from __future__ import annotations

import contextlib
import json
import time
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from evimem.llm.lenient import read_value
from evimem.llm.parse import Found, NotJson, find_json, spoken


def fit(value: Any, cut: bool) -> int:
    """Fits what looks like {"facts": [...]} or a list of facts."""
    facts = value.get("facts") if isinstance(value, dict) else value
    if not isinstance(facts, list):
        return 0
    good = [isinstance(fact, dict) and "text" in fact for fact in facts]
    return 2 if all(good) and not cut else int(any(good) or not good)


def found(text: str) -> Found:
    return find_json(text, fit)


A = {"facts": [{"text": "a"}]}


@pytest.mark.parametrize(
    ("text", "value", "notes"),
    [
        ('{"facts": [{"text": "a"}]}', A, ()),
        ('\n\n {"facts": [{"text": "a"}]} \n', A, ()),
        ('\ufeff{"facts": [{"text": "a"}]}', A, ("byte order mark",)),
        ('```json\n{"facts": [{"text": "a"}]}\n```', A, ("code fence",)),
        ('Sure!\n{"facts": [{"text": "a"}]}\nBye.', A, ("prose around the JSON",)),
        ('{"facts": [{"text": "a",},],}', A, ("trailing comma",)),
        ('{"facts": [{"text": "a"},,]}', A, ("comma too many", "trailing comma")),
        ("{'facts': [{'text': 'a'}]}", A, ("single quotes",)),
        ("{'facts': [{'text': 'Mira's cat'}]}", {"facts": [{"text": "Mira's cat"}]},
         ("single quotes", "quotes inside a string")),
        ('{“facts”: [{“text”: “a”}]}', A, ("curly quotes",)),
        ('{facts: [{text: "a"}]}', A, ("keys without quotes",)),
        ('{"facts": [ // all\n {"text": "a"} /* one */ # end\n]}', A, ("comments",)),
        ('{"facts": [{"text": "a", "b": True, "c": None}]}',
         {"facts": [{"text": "a", "b": True, "c": None}]}, ("Python literals",)),
        ('{"facts": [{"text": "a"}\n {"text": "b"}]}',
         {"facts": [{"text": "a"}, {"text": "b"}]}, ("missing comma",)),
        ('{"facts": [{"text": "x\ny"}]}', {"facts": [{"text": "x\ny"}]},
         ("control characters in a string",)),
        ('{"facts": [{"text": "5\\% of\\\' it"}]}', {"facts": [{"text": "5\\% of' it"}]},
         ("unknown escape",)),
        ('{"facts": [{"text": "she said "hi" twice"}]}',
         {"facts": [{"text": 'she said "hi" twice'}]}, ("quotes inside a string",)),
        ('{"facts": [], "facts": [{"text": "a"}]}', A, ("duplicate key",)),
        ('{"facts": [{"text": "a"}]', A, ("closing brackets missing",)),
        ('"{\\"facts\\": [{\\"text\\": \\"a\\"}]}"', A, ("JSON inside a JSON string",)),
        ('{"facts": [{"text": "a\\ud800b\\u0000"}]}', {"facts": [{"text": "a\ufffdb\ufffd"}]},
         ("lone surrogates or NUL",)),
        ('{"facts": [{"text": "a\udcb4b"}]}', {"facts": [{"text": "a\ufffdb"}]},
         ("lone surrogates or NUL",)),
        ("{'facts': [{'text': '\\ud83d\\ude00'}]}", {"facts": [{"text": "😀"}]},
         ("single quotes",)),
        ('<|channel|>analysis<|message|>so {"facts": []}<|end|><|start|>assistant<|channel|>final'
         '<|message|>{"facts": [{"text": "a"}]}', A, ("thinking block",)),
        ('[THINK]{"facts": []}[/THINK]{"facts": [{"text": "a"}]}', A, ("thinking block",)),
        ('no end tag before {"facts": []} </think>\n[{"text": "a"}]', [{"text": "a"}],
         ("thinking block",)),
        ('Draft: {"facts": []}\nFinal: {"facts": [{"text": "a"}]}', A,
         ("prose around the JSON", "several JSON values")),
        ('{"facts": [{"text": "a"}]}\nUsed {} and [1].', A, ("prose around the JSON",)),
        ('Use {"curly" braces. {"facts": [{"text": "a"}]}', A, ("prose around the JSON",)),
        ('{"facts": [{"text": "the <think> tag"}]}', {"facts": [{"text": "the <think> tag"}]}, ()),
    ],
)  # fmt: skip
def test_what_is_forgiven_is_noted(text: str, value: Any, notes: tuple[str, ...]) -> None:
    result = found(text)
    assert result.value == value
    assert result.notes == notes
    assert not result.cut


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("", "none"),
        ("No facts here.", "none"),
        ("As the list [1] shows.", "none"),
        ('<think>{"facts": [{"text": "x"}]}', "thinking"),
        ('{"facts": []} <think> hm', "thinking"),
        ('{"facts": [NaN]}', "broken"),
        ('{"facts": [Infinity]}', "broken"),
        ('{"facts": [{"text": 1e999}]}', "broken"),
        ('{"facts": [' + "9" * 5000 + "]}", "broken"),
        ('{"facts": [{"text": 007}]}', "broken"),
        ("[" * 5000, "deep"),
        ('{"a":' * 300, "deep"),
        ("{" + " " * 1_000_000 + "}", "large"),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_cause(text: str, cause: str) -> None:
    with pytest.raises(NotJson) as caught:
        found(text)
    assert caught.value.cause == cause


@pytest.mark.parametrize("end", range(len('{"facts": [{"text": "a"}, {"text": "b'), 12, -1))
def test_a_text_that_breaks_off_anywhere_keeps_its_complete_items(end: int) -> None:
    text = '{"facts": [{"text": "a"}, {"text": "b"}]}'[:end]
    result = found(text)
    complete = text.count("}")
    assert result.value == {"facts": [{"text": t} for t in "ab"[:complete]]}
    if text.endswith('"a"}'):
        assert not result.cut and result.notes == ("closing brackets missing",)
    else:
        assert result.cut == (end > 11)


def test_a_number_or_word_at_the_very_end_may_be_cut_and_is_dropped() -> None:
    assert read_value("[1, 2", 0).value == [1]
    assert read_value('{"a": "x", "b": 12', 0).value == {"a": "x"}
    assert read_value('{"a": "x", "b": tru', 0).value == {"a": "x"}
    assert read_value('{"a": "x", "b": "y"', 0).value == {"a": "x", "b": "y"}


def test_nested_parts_of_a_cut_item_are_not_kept() -> None:
    text = '{"facts": [{"text": "a"}, {"text": "b", "keywords": ["k"'
    assert found(text).value == {"facts": [{"text": "a"}]}


def test_case_p013_nothing_is_taken_from_a_thinking_block() -> None:
    reply = 'Okay.<think>maybe {"facts": []}</think>{"facts": [{"text": "Mira plays the cello"}]}'
    assert found(reply).value == {"facts": [{"text": "Mira plays the cello"}]}
    nested = '<think>a<think>b</think>{"facts": [{"text": "no"}]}</think>' + json.dumps(A)
    assert found(nested).value == A
    hidden = 'Use {"odd <think>{"facts": [{"text": "no"}]}</think> here.'
    assert fit(found(hidden).value, False) == 0


def test_words_outside_of_thinking_blocks() -> None:
    assert spoken("<think>hm</think> Porto.").text == "Porto."
    assert spoken("hm </think> Porto.").text == "Porto."
    assert spoken("Porto. <think>or").text == "Porto."
    assert spoken("<reasoning>or").unclosed
    assert spoken("Porto.").notes == ()
    assert spoken("<Think a='1'>x</THINK>y<|im_end|>").text == "y"


HOSTILE = {
    "brackets": "[" * 999_000,
    "open braces": "{ " * 499_000,
    "quotes": '{"' + '"' * 999_000,
    "brace and quote": '{"' * 499_000,
    "empty objects": "{}" * 499_000,
    "lists of objects": "[{" * 499_000,
    "blanks after quotes": ('"' + " " * 1000) * 990,
    "key and lines": ('{"' + "\n" * 1000) * 990,
    "comments": "{/*" * 333_000,
    "thinking": "<think>" * 140_000,
    "thinking ends": "</think>" * 120_000,
    "escapes": '{"a":"' + "\\" * 990_000,
    "items": '{"facts":[' + '{"text":"y"},' * 76_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_of_a_megabyte_is_read_in_bounded_time(name: str) -> None:
    text = HOSTILE[name]
    assert len(text) > 900_000
    began = time.process_time()
    with contextlib.suppress(NotJson):
        found(text)
    assert time.process_time() - began < 15.0  # 0.1 to 3 s here; quadratic code takes hours


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
).filter(lambda value: isinstance(value, (dict, list)))  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(value=JSON, ascii_only=st.booleans(), indent=st.sampled_from([None, 1]))
def test_the_forgiving_reader_reads_every_valid_json_as_it_is(
    value: Any, ascii_only: bool, indent: int | None
) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    read = read_value(text, 0)
    assert read.value == json.loads(text)
    assert read.end == len(text)
    assert read.notes == () and not read.cut


PIECES = st.sampled_from(
    ['{"facts": [', '{"text": "a"}', "]", "}", "[", "{", '"', "'", "“", ",", ":", "\\", "\\u12",
     "<think>", "</think>", "```json\n", "```", "//", "/*", "*/", "#", "NaN", "True", "nul", "1e9",
     "-", "\n", "\ud800", "\x00", "\ufeff", "facts", " ", "<|end|>", "[THINK]", "1" * 500]
)  # fmt: skip


@settings(max_examples=1500, deadline=None)
@given(text=st.lists(PIECES | st.text(max_size=4), max_size=25).map("".join))
@example(text='{"facts": [{"text": "a"}]}' * 3)
def test_no_text_raises_anything_but_its_own_error(text: str) -> None:
    spoken(text)
    try:
        result = found(text)
    except NotJson:
        return
    json.dumps(result.value, allow_nan=False).encode("ascii")
    json.dumps(result.value, ensure_ascii=False).encode("utf-8")  # no lone surrogate is left
