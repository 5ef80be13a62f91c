"""Weights in the safetensors format: what is written is read, and nothing else is."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pytest

from evimem.errors import UsageError
from evimem.query.selector.tensors import read_tensors, write_tensors

ARRAYS = {"b": np.array([[1.0, -2.5], [0.0, 4.0]]), "a": np.array([0.5])}


def file(header: object, body: bytes = b"") -> bytes:
    told = json.dumps(header).encode()
    return len(told).to_bytes(8, "little") + told + body


def test_what_is_written_is_read_with_its_hash_and_words() -> None:
    data = write_tensors(ARRAYS, {"z": "last", "made": "here"})
    back = read_tensors(data, name="w")
    assert {name: one.tolist() for name, one in back.arrays.items()} == {
        "a": [0.5],
        "b": [[1.0, -2.5], [0.0, 4.0]],
    }
    assert back.metadata == {"z": "last", "made": "here"}
    assert back.sha256 == hashlib.sha256(data).hexdigest()


def test_the_layout_is_that_of_the_format() -> None:
    data = write_tensors(ARRAYS, {})
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    assert header["b"] == {"dtype": "F32", "shape": [2, 2], "data_offsets": [4, 20]}
    begin, end = header["b"]["data_offsets"]
    assert (
        data[8 + size + begin : 8 + size + end] == np.array([1.0, -2.5, 0.0, 4.0], "<f4").tobytes()
    )
    assert (8 + size) % 8 == 0


def test_equal_content_gives_equal_bytes_whatever_the_order() -> None:
    turned = dict(reversed(list(ARRAYS.items())))
    assert write_tensors(turned, {"x": "1", "y": "2"}) == write_tensors(
        ARRAYS, {"y": "2", "x": "1"}
    )


def test_doubles_of_other_writers_are_read() -> None:
    body = np.array([1.25, 3.0], "<f8").tobytes()
    header = {"v": {"dtype": "F64", "shape": [2], "data_offsets": [0, 16]}}
    assert read_tensors(file(header, body), name="w").arrays["v"].tolist() == [1.25, 3.0]


ONE = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}
BAD = {
    "too short": (b"abc", "no safetensors"),
    "a header longer than the file": ((99).to_bytes(8, "little") + b"{}", "no safetensors"),
    "no JSON": ((2).to_bytes(8, "little") + b"{x", "no JSON"),
    "no object": (file([1]), "no object"),
    "metadata that are no words": (file({"__metadata__": {"a": 1}}), "metadata"),
    "no place": (file({"a": {"dtype": "F32", "shape": [1]}}, b"0000"), "no place"),
    "another type": (file({"a": {**ONE, "dtype": "I64"}}, b"0000"), "'I64'"),
    "a bad shape": (file({"a": {**ONE, "shape": [-1]}}, b"0000"), "shape"),
    "a place beyond the file": (file({"a": ONE}, b""), "does not fit"),
    "a shape that does not fit": (file({"a": {**ONE, "shape": [2]}}, b"0000"), "does not fit"),
    "bytes that nothing names": (file({"a": ONE}, b"00001111"), "holds 8 bytes"),
    "no finite number": (
        file({"a": ONE}, np.array([np.nan], "<f4").tobytes()),
        "not finite",
    ),
}


@pytest.mark.parametrize("why", BAD)
def test_a_file_with(why: str) -> None:
    data, message = BAD[why]
    with pytest.raises(UsageError, match=message):
        read_tensors(data, name="w")
