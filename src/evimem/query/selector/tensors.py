"""Small arrays in the safetensors format: eight bytes of length, a JSON header, raw numbers.

Weights are data: nothing in such a file is ever run, and everything in it is checked before it is
used. Only what a small policy needs is read: little-endian float32 and float64 arrays.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from evimem.errors import UsageError

__all__ = ["FloatArray", "Tensors", "read_tensors", "write_tensors"]

FloatArray = npt.NDArray[np.float64]

MAX_HEADER = 1_000_000
"""Bytes of a header at most; those of a policy have some hundred."""

_TYPES = {"F32": "<f4", "F64": "<f8"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tensors:
    """The content of a file."""

    arrays: Mapping[str, FloatArray]
    """Arrays by name."""
    metadata: Mapping[str, str]
    """What the file says of itself."""
    sha256: str
    """Hash of the file's bytes, in hex."""


def read_tensors(data: bytes, *, name: str) -> Tensors:
    """The arrays of a file.

    Args:
        data: its bytes.
        name: what it is called, for messages.

    Raises:
        UsageError: the bytes are not such a file; the message says where they fail.
    """
    size = int.from_bytes(data[:8], "little") if len(data) >= 8 else -1
    if not 0 < size <= min(MAX_HEADER, len(data) - 8):
        raise UsageError(f"{name!r} is no safetensors file: its header would have {size} bytes")
    try:
        header = json.loads(data[8 : 8 + size].decode("utf-8"))
    except ValueError as error:
        raise UsageError(f"the header of {name!r} is no JSON: {error}") from error
    if not isinstance(header, dict):
        raise UsageError(f"the header of {name!r} is no object")
    told = header.pop("__metadata__", {})
    if not (isinstance(told, dict) and all(isinstance(one, str) for one in told.values())):
        raise UsageError(f"the metadata of {name!r} are not words by name")
    body = data[8 + size :]
    arrays = {str(key): _array(body, one, f"{key!r} of {name!r}") for key, one in header.items()}
    used = sum(_span(one, f"{name!r}")[1] - _span(one, f"{name!r}")[0] for one in header.values())
    if used != len(body):
        raise UsageError(f"{name!r} holds {len(body)} bytes of numbers, its header names {used}")
    return Tensors(arrays=arrays, metadata=told, sha256=hashlib.sha256(data).hexdigest())


def _span(told: Any, where: str) -> tuple[int, int]:
    span = told.get("data_offsets") if isinstance(told, dict) else None
    if not (isinstance(span, list) and len(span) == 2 and all(type(one) is int for one in span)):
        raise UsageError(f"{where} has no place in the file")
    return span[0], span[1]


def _array(body: bytes, told: Any, where: str) -> FloatArray:
    begin, end = _span(told, where)
    kind = _TYPES.get(str(told.get("dtype")))
    shape = told.get("shape")
    if kind is None:
        raise UsageError(f"{where} has numbers of type {told.get('dtype')!r}, not F32 or F64")
    if not (isinstance(shape, list) and all(type(one) is int and one >= 0 for one in shape)):
        raise UsageError(f"{where} has the shape {shape!r}")
    count = int(np.prod(shape, dtype=np.int64)) if shape else 1
    if not 0 <= begin <= end <= len(body) or end - begin != count * np.dtype(kind).itemsize:
        raise UsageError(f"{where} does not fit its place {begin}..{end}")
    values = np.frombuffer(body[begin:end], dtype=kind).reshape(shape).astype(np.float64)
    if not np.isfinite(values).all():
        raise UsageError(f"{where} holds a number that is not finite")
    return values


def write_tensors(arrays: Mapping[str, FloatArray], metadata: Mapping[str, str]) -> bytes:
    """A file with these arrays as float32; equal content gives equal bytes.

    Args:
        arrays: by name.
        metadata: what the file says of itself.
    """
    header: dict[str, Any] = {"__metadata__": dict(sorted(metadata.items()))}
    parts: list[bytes] = []
    at = 0
    for name, values in sorted(arrays.items()):
        raw = np.ascontiguousarray(values, dtype="<f4").tobytes()
        header[name] = {
            "dtype": "F32",
            "shape": list(values.shape),
            "data_offsets": [at, at + len(raw)],
        }
        parts.append(raw)
        at += len(raw)
    told = json.dumps(header, ensure_ascii=True, separators=(",", ":")).encode("ascii")
    told += b" " * (-len(told) % 8)  # numbers begin at a multiple of eight
    return len(told).to_bytes(8, "little") + told + b"".join(parts)
