"""The portable subset of JSON Schema: what it refuses, mends, and drops item by item."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evimem.llm.schema import check, check_schema, list_fields, repeats, skeleton


def obj(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


STRING = {"type": "string"}
FACT = obj(text=STRING, when={"type": ["string", "null"]})
FACTS = obj(facts={"type": "array", "items": FACT})


@pytest.mark.parametrize(
    ("schema", "word"),
    [
        ({"type": "string", "pattern": "a+"}, "pattern"),
        ({"type": "string", "minLength": 1}, "minLength"),
        ({"type": "string", "format": "date"}, "format"),
        ({"type": "integer", "minimum": 0}, "minimum"),
        ({"$ref": "#/x"}, "type"),
        ({"type": "object", "oneOf": []}, "oneOf"),
        ({"anyOf": [STRING, {"type": "integer"}]}, "anyOf"),
        ({"type": ["string", "integer"]}, "type"),
        ({"type": "array", "items": STRING, "maxItems": 3}, "maxItems"),
        ({"type": "array"}, "items"),
        ({**FACTS, "additionalProperties": True}, "additionalProperties"),
        ({**FACTS, "required": []}, "required"),
        ({"enum": [1.5]}, "enum"),
        ({"enum": []}, "enum"),
    ],
)
def test_case_p014_a_schema_outside_the_portable_subset_is_refused_by_keyword(
    schema: Any, word: str
) -> None:
    with pytest.raises(ValueError, match=word.replace("$", r"\$")):
        check_schema(schema)


def test_the_place_of_a_foreign_keyword_is_named() -> None:
    schema = obj(facts={"type": "array", "items": obj(text={"type": "string", "pattern": "x"})})
    with pytest.raises(ValueError, match=r"schema\.facts\[\]\.text: keyword 'pattern'"):
        check_schema(schema)


def test_an_item_that_does_not_fit_is_dropped_with_its_place_and_keys() -> None:
    data = {"facts": [{"text": "a", "when": None}, {"fact_text": "b"}, {"text": 5, "when": []}]}
    checked = check(data, FACTS)
    assert checked.value == {"facts": [{"text": "a", "when": None}]}
    assert checked.rejected == (
        "facts[1].text: missing; got keys ['fact_text']",
        "facts[2].when: string is due, got array []",
    )
    assert checked.kept == 1 and checked.usable and not checked.fits


def test_a_list_emptied_by_rejection_is_not_an_empty_list() -> None:
    assert check({"facts": []}, FACTS).fits
    assert not check({"facts": [{"x": 1}]}, FACTS).usable


@pytest.mark.parametrize(
    ("kind", "given_", "taken"),
    [
        ("integer", 5.0, 5),
        ("integer", "5", 5),
        ("integer", " -12 ", -12),
        ("number", "2.5", 2.5),
        ("boolean", "True", True),
        ("boolean", "false", False),
        ("string", 2023, "2023"),
    ],
)
def test_harmless_slips_are_mended_and_noted(kind: str, given_: Any, taken: Any) -> None:
    checked = check({"x": given_}, obj(x={"type": kind}))
    assert checked.value == {"x": taken} and type(checked.value["x"]) is type(taken)
    assert checked.fits and len(checked.notes) == 1 and "taken as" in checked.notes[0]


@pytest.mark.parametrize(
    ("kind", "given_"),
    [
        ("integer", 5.5),
        ("integer", True),
        ("integer", 1e300),
        ("integer", "5 cats"),
        ("integer", "1e3"),
        ("number", float("nan")),
        ("number", float("inf")),
        ("number", False),
        ("number", ""),
        ("boolean", 1),
        ("boolean", "yes"),
        ("string", 2.5),
        ("string", None),
        ("string", ["a"]),
        ("null", 0),
    ],
)
def test_nothing_else_is_mended(kind: str, given_: Any) -> None:
    checked = check({"x": given_}, obj(x={"type": kind}))
    assert not checked.usable and checked.problems[0].startswith(f"x: {kind} is due")


def test_words_of_an_enum_may_differ_in_case_only() -> None:
    schema = obj(x={"type": "string", "enum": ["accept", "reject"]}, n={"enum": [1, True, None]})
    checked = check({"x": "Accept ", "n": True}, schema)
    assert checked.value == {"x": "accept", "n": True} and checked.fits
    assert not check({"x": "maybe", "n": 1}, schema).usable
    assert check({"x": "accept", "n": 1.0}, schema).problems == (
        "n: one of [1, True, None] is due, got number 1.0",
    )


def test_a_list_or_object_written_as_a_string_of_json_is_read_as_such() -> None:
    checked = check({"facts": '[{"text": "a", "when": null}]'}, FACTS)
    assert checked.value == {"facts": [{"text": "a", "when": None}]} and checked.fits
    assert checked.notes == ("facts: JSON in a string read as such",)
    inner = check({"x": {"text": "a", "when": "[]"}}, obj(x=FACT))
    assert inner.value == {"x": {"text": "a", "when": "[]"}} and inner.notes == ()
    for text in ("[" * 5000, "[oops", "[NaN]", '["\\ud800"]', '{"text": 1}'):
        assert not check({"facts": text}, FACTS).usable
    words = obj(words={"type": "array", "items": STRING})
    assert check({"words": '["\\u00e9"]'}, words).value == {"words": ["é"]}
    assert not check({"words": '["\\ud800"]'}, words).usable


def test_unknown_keys_are_left_out_with_a_note_and_absent_nullable_keys_are_null() -> None:
    checked = check({"facts": [{"text": "a", "score": 1}]}, FACTS)
    assert checked.value == {"facts": [{"text": "a", "when": None}]}
    assert checked.notes == (
        "facts[0].when: missing, taken as null",
        "facts[0]: unknown key 'score' left out",
    )


def test_an_object_with_no_known_key_never_fits_even_if_all_may_be_null() -> None:
    schema = obj(a={"type": ["string", "null"]}, b={"anyOf": [STRING, {"type": "null"}]})
    assert check({"b": "x"}, schema).value == {"a": None, "b": "x"}
    assert check({"text": "x"}, schema).problems == (
        "top level: no key of the schema; got keys ['text']",
    )


def test_lists_that_a_cut_reply_never_reached_are_empty() -> None:
    schema = obj(a={"type": "array", "items": STRING}, b={"type": "array", "items": STRING})
    assert list_fields(schema) == ("a", "b")
    assert check({"a": ["x"]}, schema, cut=True).value == {"a": ["x"], "b": []}
    assert check({"a": ["x"]}, schema).problems == ("b: missing; got keys ['a']",)


def test_case_p011_a_text_of_one_word_over_and_over_is_rejected() -> None:
    checked = check({"facts": [{"text": "la " * 58_000, "when": None}]}, FACTS)
    assert checked.rejected == ("facts[0].text: repeats the same words (174000 characters)",)
    assert repeats("哈" * 400) and repeats("I see. " * 200)
    assert not repeats("la " * 20)
    prose = " ".join(f"On day {n} they walked {n * 7 % 13} miles to town {n}." for n in range(60))
    assert not repeats(prose)


SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["a", "b", "x y"])
DATA = st.recursive(
    SCALARS | st.floats(allow_nan=False, allow_infinity=False, width=16),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=8,
)
SCHEMAS = st.recursive(
    st.sampled_from(
        [
            {"type": "string"},
            {"type": "integer"},
            {"type": "number"},
            {"type": "boolean"},
            {"type": "null"},
            {"type": ["string", "null"]},
            {"enum": ["a", 1, True]},
        ]
    ),
    lambda inner: (
        inner.map(lambda s: {"type": "array", "items": s})
        | st.dictionaries(st.sampled_from("abc"), inner, min_size=1, max_size=3).map(
            lambda p: obj(**p)
        )
        | inner.map(lambda s: s if "anyOf" in s else {"anyOf": [s, {"type": "null"}]})
    ),
    max_leaves=6,
)


def reference(data: Any, schema: Any) -> bool:
    """Validity by the letter of JSON Schema, written apart from the code under test."""
    if "anyOf" in schema:
        return any(reference(data, part) for part in schema["anyOf"])
    if "enum" in schema:
        return any(
            data == c and isinstance(data, bool) == isinstance(c, bool) for c in schema["enum"]
        )
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return any(of_type(data, kind, schema) for kind in kinds)


def of_type(data: Any, kind: str, schema: Any) -> bool:
    if kind == "object":
        return (
            isinstance(data, dict)
            and set(data) == set(schema["properties"])
            and all(reference(data[k], s) for k, s in schema["properties"].items())
        )
    if kind == "array":
        return isinstance(data, list) and all(reference(d, schema["items"]) for d in data)
    if kind == "integer":
        return isinstance(data, (int, float)) and not isinstance(data, bool) and data == int(data)
    if kind == "number":
        return isinstance(data, (int, float)) and not isinstance(data, bool)
    types = {"string": str, "boolean": bool, "null": type(None)}
    return isinstance(data, types[kind])


@settings(max_examples=400, deadline=None)
@given(data=DATA, schema=SCHEMAS)
def test_what_fits_without_a_note_is_valid_and_what_comes_out_always_is(
    data: Any, schema: Any
) -> None:
    try:
        check_schema(schema)
    except ValueError:
        return  # a union with null of a union with null
    checked = check(data, schema)
    if checked.usable:
        assert reference(checked.value, schema)
    if checked.fits and not checked.notes:
        assert checked.value == data and reference(data, schema)
    if reference(data, schema) and "enum" not in str(schema):
        assert checked.fits


@settings(max_examples=200, deadline=None)
@given(schema=SCHEMAS)
def test_the_example_made_from_a_schema_fits_it(schema: Any) -> None:
    try:
        check_schema(schema)
    except ValueError:
        return
    assert check(skeleton(schema), schema).fits
