"""Frozen values to JSON and back, driven by their annotations.

One codec for traces, exports and reports, so a value has exactly one written form:
dataclasses become objects, tuples and frozensets lists (sets sorted), times ISO 8601 strings.
"""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

__all__ = ["from_json", "to_json"]

T = TypeVar("T")


def to_json(value: Any) -> Any:
    """A value made of dicts, lists, strings, numbers, booleans and None.

    Raises:
        TypeError: the value holds something that has no written form here.
    """
    kind: type = type(value)
    if kind in _PLAIN:
        return value
    names = _field_names(kind)
    if names is not None:
        return {name: to_json(getattr(value, name)) for name in names}
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, frozenset | set):
        return sorted(to_json(part) for part in value)
    if isinstance(value, tuple | list):
        return [part if type(part) in _PLAIN else to_json(part) for part in value]
    if isinstance(value, Mapping):
        return {str(key): to_json(part) for key, part in value.items()}
    if isinstance(value, bool | int | float | str):  # a subclass, such as an enum of numbers
        return value
    raise TypeError(f"no JSON form for {kind.__name__}: {value!r}")


_PLAIN = frozenset({type(None), bool, int, float, str})


@functools.cache
def _field_names(cls: type) -> tuple[str, ...] | None:
    """Names of a dataclass's fields; None for any other class."""
    if not dataclasses.is_dataclass(cls):
        return None
    return tuple(field.name for field in dataclasses.fields(cls))


@functools.cache
def _hints(cls: type) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def from_json(cls: type[T], data: Any) -> T:
    """The value of class `cls` that `to_json` wrote as `data`.

    Unknown keys are an error (they would be lost in silence); absent keys take their defaults.

    Raises:
        ValueError: `data` does not fit the class; the message names the field.
    """
    return typing.cast(T, _decode(cls, data, cls.__name__))


def _decode(hint: Any, data: Any, where: str) -> Any:
    origin = get_origin(hint)
    if hint is Any or isinstance(hint, TypeVar):
        return data
    if origin in (Union, types.UnionType):
        return _decode_union(hint, data, where)
    if origin is Literal:
        if data not in get_args(hint):
            raise ValueError(f"{where}: {data!r} is not one of {get_args(hint)}")
        return data
    if origin in (tuple, frozenset, list):
        if not isinstance(data, list):
            raise ValueError(f"{where}: expected a list, got {data!r}")
        part = get_args(hint)[0]
        return origin(_decode(part, value, f"{where}[{i}]") for i, value in enumerate(data))
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping | dict):
        if not isinstance(data, dict):
            raise ValueError(f"{where}: expected an object, got {data!r}")
        part = get_args(hint)[1]
        return {key: _decode(part, value, f"{where}.{key}") for key, value in data.items()}
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return _decode_dataclass(hint, data, where)
    return _decode_plain(hint, data, where)


def _decode_union(hint: Any, data: Any, where: str) -> Any:
    options = get_args(hint)
    if data is None and type(None) in options:
        return None
    rest = [option for option in options if option is not type(None)]
    if len(rest) == 1:
        return _decode(rest[0], data, where)
    return data  # a JsonValue: already in its written form


def _decode_dataclass(cls: type, data: Any, where: str) -> Any:
    if not isinstance(data, dict):
        raise ValueError(f"{where}: expected an object, got {data!r}")
    hints = _hints(cls)
    known = {f.name for f in dataclasses.fields(cls)}
    unknown = sorted(set(data) - known)
    if unknown:
        raise ValueError(
            f"{where}: unknown field {unknown[0]!r}; this evimem knows {sorted(known)}"
        )
    values = {name: _decode(hints[name], value, f"{where}.{name}") for name, value in data.items()}
    try:
        return cls(**values)
    except TypeError as error:
        raise ValueError(f"{where}: {error}") from error


def _decode_plain(hint: Any, data: Any, where: str) -> Any:
    try:
        if hint is datetime:
            return datetime.fromisoformat(data)
        if hint is date:
            return date.fromisoformat(data)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{where}: {data!r} is not an ISO 8601 time ({error})") from error
    if hint is float and isinstance(data, int) and not isinstance(data, bool):
        return float(data)
    if isinstance(hint, type) and not isinstance(data, hint):
        raise ValueError(f"{where}: expected {hint.__name__}, got {data!r}")
    return data
