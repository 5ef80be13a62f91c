"""The pull reader agrees with the standard library on every document, however it is cut."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evimem.importers._faults import ReadFault
from evimem.importers._json import JsonReader

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=30)
)
documents = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=6), inner, max_size=6)
    ),
    max_leaves=30,
)


def pieces(text: str, size: int) -> Iterator[str]:
    for start in range(0, len(text), size):
        yield text[start : start + size]


def reader(text: str, size: int = 7, **options: Any) -> JsonReader:
    return JsonReader(pieces(text, size), name="f", **options)


def walk(r: JsonReader) -> Any:
    """A document read level by level, never whole."""
    found = r.peek()
    if found == "[":
        return [walk(r) for _ in r.items()]
    if found == "{":
        return {key: walk(r) for key in r.members()}
    return r.value()


@pytest.fixture(autouse=True, scope="module")
def small_buffer() -> Iterator[None]:
    """Buffers of a few characters, so that every edge is met."""
    patch = pytest.MonkeyPatch()
    patch.setattr("evimem.importers._json._FIRST", 4)
    yield
    patch.undo()


@given(documents, st.integers(1, 40), st.booleans(), st.sampled_from([None, 1]))
def test_values_and_levels_equal_json_loads(
    value: Any, size: int, ascii_only: bool, indent: int | None
) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    want = json.loads(text)
    assert reader(text, size).value() == want
    assert walk(reader(text, size)) == want


@given(documents, st.integers(1, 40), st.data())
def test_a_cut_document_is_never_taken_for_a_whole_one(value: Any, size: int, data: Any) -> None:
    text = json.dumps([value], ensure_ascii=False)
    cut = text[: data.draw(st.integers(1, len(text) - 1))]
    with pytest.raises(ReadFault):
        reader(cut, size).value()
    with pytest.raises(ReadFault):
        walk(reader(cut, size))


@given(st.lists(documents, max_size=5), st.integers(1, 20))
def test_several_documents_in_one_file_are_read_one_by_one(values: list[Any], size: int) -> None:
    r = reader("\n".join(json.dumps(value) for value in values), size)
    found = []
    while r.peek():
        found.append(r.value())
    assert found == json.loads(json.dumps(values))


def test_items_before_the_cut_are_given_and_the_byte_is_named() -> None:
    r = reader('[{"a": "é"}, {"b": 2}, {"c": ')
    found = []
    with pytest.raises(ReadFault) as caught:
        for _ in r.items():
            found.append(r.value())
    assert found == [{"a": "é"}, {"b": 2}]
    assert caught.value.where == "f, byte 24"  # é has two bytes
    assert "cut off" in caught.value.message


def test_a_fault_in_the_middle_is_named_without_reading_to_the_end() -> None:
    def endless() -> Iterator[str]:
        yield '[1, 2, {"a" 3}'
        yield " " * 40
        raise AssertionError("read on after a certain fault")

    r = JsonReader(endless(), name="f")
    with pytest.raises(ReadFault, match="byte 12"):
        for _ in r.items():
            r.value()


@pytest.mark.parametrize(
    "text", ["[1 2]", "[1,]", '{"a":1,}', '{"a" 1}', "{1: 2}", "[1}", '{"a":1]']
)
def test_malformed_levels_fail(text: str) -> None:
    with pytest.raises(ReadFault):
        walk(reader(text))


def test_depth_bombs_and_endless_numbers_fail_clearly() -> None:
    with pytest.raises(ReadFault, match="too deeply"):
        reader("[" * 200_000, 65536).value()
    with pytest.raises(ReadFault, match="number that is too long"):
        reader("[" + "9" * 10_000 + "]", 65536).value()


def test_a_value_above_the_limit_fails_and_names_it() -> None:
    with pytest.raises(ReadFault, match="max_record_chars=100"):
        reader('["' + "x" * 1000, 10, limit=100).value()


def test_control_characters_and_nan_are_read() -> None:
    assert reader('["a\tb\nc", NaN, -Infinity]').value() == ["a\tb\nc", None, None]


def test_a_megabyte_word_is_read_in_time_linear_in_its_length() -> None:
    text = json.dumps(["x" * 1_000_000])
    handed: list[int] = []

    def counted() -> Iterator[str]:
        for piece in pieces(text, 1000):
            handed.append(len(piece))
            yield piece

    assert len(JsonReader(counted(), name="f").value()[0]) == 1_000_000  # type: ignore[index, arg-type]
    assert sum(handed) == len(text)
