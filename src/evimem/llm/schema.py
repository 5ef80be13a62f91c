"""The portable subset of JSON Schema: is a schema inside it, and does a value fit.

Servers differ in what they compile and some answer with free text without a word, so only what
all of them know is used, and every reply is checked here whatever the server promised (P014).

Our own check and not a library's, for three things that a validator does not do: bad items of a
list are dropped one by one with a reason while the others stay, a few harmless slips are mended
and noted, and the messages are words that a model can follow ("facts[1].text: missing; got keys
['fact_text']") because they go back to it.
"""

from __future__ import annotations

import json
import math
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evimem.model.chat import JsonSchema
from evimem.model.turn import JsonValue

__all__ = ["Checked", "check", "check_schema", "list_fields", "repeats", "skeleton"]

_TYPES = ("object", "array", "string", "number", "integer", "boolean", "null")
_KEYWORDS = {
    "object": {"type", "description", "properties", "required", "additionalProperties"},
    "array": {"type", "description", "items"},
}
_SCALAR_KEYWORDS = {"type", "description", "enum"}
_DIGITS = re.compile(r"-?(?:0|[1-9][0-9]{0,14})")
_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]{0,14})\.[0-9]{1,15}")

_LOOKED_AT = 500
"""Shorter strings are never called repetitive."""
_REPEATS = 0.08
"""Share of its size that a text shrinks below if it says the same thing over and over; prose
stays above 0.3, a list of similar lines above 0.1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What a schema says of a value."""

    value: JsonValue
    """The value with what was mended, and without the items that were left out."""
    problems: tuple[str, ...] = ()
    """Why the value as a whole cannot be used, one line per place."""
    rejected: tuple[str, ...] = ()
    """Items of its lists that were left out, each with its reason."""
    notes: tuple[str, ...] = ()
    """What was mended: "facts[0].n: '5' taken as 5"."""
    kept: int = 0
    """Items of its lists that fit."""

    @property
    def fits(self) -> bool:
        """True if nothing is wrong anywhere; mended slips count as fitting."""
        return not self.problems and not self.rejected

    @property
    def usable(self) -> bool:
        """True if the value fits once bad items are left out, and not all of its items are bad:
        a list emptied by rejection must not pass for an empty list."""
        return not self.problems and (not self.rejected or self.kept > 0)


def check(data: JsonValue, schema: JsonSchema, *, cut: bool = False) -> Checked:
    """Compare a value with a schema.

    Lists at the first level (or a list that is the whole value) lose their bad items one by one.
    Mended and noted: a key that the schema does not have is left out, an absent key whose value
    may be null becomes null, 5.0 is 5 where an integer is due, digits in quotes are a number where
    one is due, "true" and "false" a boolean, a number text where text is due, and a word of an
    enum may differ in case, and a list or object may be written as a string of JSON. Nothing else.

    Args:
        data: the value, of JSON types only.
        schema: a schema of the portable subset.
        cut: the value comes from a reply that broke off; lists that it never reached are empty.

    Raises:
        ValueError: the schema is outside the subset; the message names the keyword.
    """
    check_schema(schema)
    walk = _Walk()
    if cut and isinstance(data, dict):
        data = {**{name: [] for name in list_fields(schema)}, **data}
    value = walk.top(data, schema)
    return Checked(
        value=value,
        problems=tuple(walk.problems),
        rejected=tuple(walk.rejected),
        notes=tuple(walk.notes),
        kept=walk.kept,
    )


def check_schema(schema: JsonSchema, where: str = "schema") -> None:
    """Refuse a schema outside the portable subset (see `model.chat.JsonSchema`).

    Raises:
        ValueError: it is; the message names the place and the keyword.
    """
    inner, _ = _without_null(schema, where)
    kind = inner.get("type")
    if kind not in _TYPES and "enum" not in inner:
        raise ValueError(f"{where}: 'type' is {kind!r}; use one of {', '.join(_TYPES)}")
    allowed = _KEYWORDS.get(str(kind), _SCALAR_KEYWORDS)
    for keyword in inner:
        if keyword not in allowed:
            raise ValueError(
                f"{where}: keyword {keyword!r} is outside the portable subset of JSON Schema; "
                f"here may stand {', '.join(sorted(allowed))}"
            )
    if kind == "object":
        _check_object(inner, where)
    elif kind == "array":
        items = inner.get("items")
        if not isinstance(items, Mapping):
            raise ValueError(f"{where}: 'items' must be a schema, not {items!r}")
        check_schema(items, f"{where}[]")
    elif "enum" in inner:
        choices = inner["enum"]
        if not isinstance(choices, list) or not choices:
            raise ValueError(f"{where}: 'enum' must be a list with values, not {choices!r}")
        if any(isinstance(choice, list | dict | float) for choice in choices):
            raise ValueError(f"{where}: 'enum' may hold words, integers, booleans and null only")


def _check_object(schema: JsonSchema, where: str) -> None:
    names = schema.get("properties")
    if not isinstance(names, Mapping) or not names:
        raise ValueError(f"{where}: 'properties' must name at least one property, not {names!r}")
    required = schema.get("required")
    if not isinstance(required, list) or set(map(str, required)) != set(names):
        raise ValueError(
            f"{where}: 'required' must list every property ({', '.join(names)}), not {required!r}; "
            "what may be missing is a union with null"
        )
    if schema.get("additionalProperties") is not False:
        raise ValueError(f"{where}: 'additionalProperties' must be false")
    for name, inner in names.items():
        if not isinstance(inner, Mapping):
            raise ValueError(f"{where}.{name}: a schema is due, not {inner!r}")
        check_schema(inner, f"{where}.{name}")


def _without_null(schema: JsonSchema, where: str = "schema") -> tuple[JsonSchema, bool]:
    """The schema without its union with null, and whether null is allowed.

    Both spellings are known: {"type": ["string", "null"]} and {"anyOf": [..., {"type": "null"}]}.
    """
    choices = schema.get("anyOf")
    if choices is not None:
        others = [c for c in choices if c != {"type": "null"}] if isinstance(choices, list) else []
        if set(schema) - {"anyOf", "description"} or len(others) != 1 or choices == others:
            raise ValueError(f"{where}: keyword 'anyOf' may only join one schema with null")
        if not isinstance(others[0], Mapping):
            raise ValueError(f"{where}: keyword 'anyOf' holds {others[0]!r}, which is no schema")
        return others[0], True
    kinds = schema.get("type")
    if isinstance(kinds, list):
        named = [kind for kind in kinds if kind != "null"]
        if len(kinds) != 2 or len(named) != 1:
            raise ValueError(f"{where}: 'type' {kinds!r} may only join one type with null")
        return {**schema, "type": named[0]}, True
    return schema, kinds == "null"


def list_fields(schema: JsonSchema) -> tuple[str, ...]:
    """Names of the properties at the first level that are lists."""
    names: Any = schema.get("properties") or {}
    return tuple(n for n, inner in names.items() if _without_null(inner)[0].get("type") == "array")


def skeleton(schema: JsonSchema) -> JsonValue:
    """A value that fits the schema, with dots for words: an example of last resort."""
    inner: Any = _without_null(schema)[0]
    if "enum" in inner:
        first: JsonValue = inner["enum"][0]
        return first
    kind = inner["type"]
    if kind == "object":
        return {name: skeleton(part) for name, part in inner["properties"].items()}
    if kind == "array":
        return [skeleton(inner["items"])]
    plain: dict[str, JsonValue] = {"string": "...", "number": 0.5, "integer": 1, "boolean": True}
    return plain.get(kind)


def repeats(text: str) -> bool:
    """True if a text of some length is one word or phrase over and over (P011).

    Measured by how far it can be packed, which holds for every language and for scripts without
    spaces.
    """
    raw = text.encode("utf-8", "replace")
    return len(raw) >= _LOOKED_AT and len(zlib.compress(raw, 6)) < _REPEATS * len(raw)


@dataclass(slots=True)
class _Walk:
    """One comparison in progress."""

    problems: list[str] = field(default_factory=list)
    """Of the value as a whole."""
    rejected: list[str] = field(default_factory=list)
    """Of items left out."""
    notes: list[str] = field(default_factory=list)
    """What was mended."""
    kept: int = 0
    """Items that fit."""

    def top(self, data: JsonValue, schema: JsonSchema) -> JsonValue:
        """The first level, where lists lose bad items instead of failing."""
        inner: Any = _without_null(schema)[0]
        if inner.get("type") == "array" and isinstance(data, list):
            return self._items(data, inner["items"], "items")
        if inner.get("type") != "object" or not isinstance(data, dict):
            return self.value(data, schema, "")
        names = list_fields(inner)
        data = {n: self._unquoted(part, n) if n in names else part for n, part in data.items()}
        lists = {n: part for n, part in data.items() if n in names and isinstance(part, list)}
        rest = {
            **inner,
            "properties": {n: p for n, p in inner["properties"].items() if n not in lists},
        }
        others = {name: part for name, part in data.items() if name not in lists}
        found: Any = self._object(others, rest, "", tuple(data))
        for name, items in lists.items():
            part: Any = _without_null(inner["properties"][name])[0]
            found[name] = self._items(items, part["items"], name)
        return {name: found[name] for name in inner["properties"] if name in found}

    def _items(self, items: list[JsonValue], schema: JsonSchema, path: str) -> list[JsonValue]:
        good: list[JsonValue] = []
        for place, item in enumerate(items):
            one = _Walk()
            value = one.value(item, schema, f"{path}[{place}]")
            if one.problems:
                self.rejected.append("; ".join(one.problems))
            else:
                good.append(value)
                self.notes += one.notes
        self.kept += len(good)
        return good

    def value(self, data: JsonValue, schema: JsonSchema, path: str) -> JsonValue:
        """One value by one schema; problems and notes are collected."""
        inner, nullable = _without_null(schema)
        if data is None and nullable:
            return None
        if "enum" in inner:
            return self._choice(data, inner, path)
        kind = inner.get("type")
        if kind in ("object", "array"):
            data = self._unquoted(data, path)
        if kind == "object" and isinstance(data, dict):
            return self._object(data, inner, path, tuple(data))
        if kind == "array" and isinstance(data, list):
            part: Any = inner["items"]
            return [self.value(item, part, f"{path}[{i}]") for i, item in enumerate(data)]
        return self._scalar(data, str(kind), path)

    def _object(
        self, data: dict[str, JsonValue], schema: JsonSchema, path: str, keys: tuple[str, ...]
    ) -> dict[str, JsonValue]:
        properties: Any = schema["properties"]
        found: dict[str, JsonValue] = {}
        before = len(self.problems)
        for name, inner in properties.items():
            place = f"{path}.{name}" if path else name
            if name in data:
                found[name] = self.value(data[name], inner, place)
            elif _without_null(inner)[1]:
                found[name] = None
                self.notes.append(f"{place}: missing, taken as null")
            else:
                self.problems.append(f"{place}: missing; got keys {_short(list(keys))}")
        bare = keys == tuple(data) and not any(name in properties for name in keys)
        if bare and len(self.problems) == before:
            # Where every property may be null, any object would fit once its keys are left out.
            self._add(path, f"no key of the schema; got keys {_short(list(keys))}")
        for name in data:
            if name not in properties:
                self.notes.append(f"{path or 'top level'}: unknown key {_short(name)} left out")
        return found

    def _unquoted(self, data: JsonValue, path: str) -> JsonValue:
        """A list or object that a model wrote as a string of JSON; anything else as it is."""
        if not isinstance(data, str) or data.strip()[:1] not in ("[", "{"):
            return data
        try:
            inner: JsonValue = json.loads(data)
            # Refuses what `llm.parse` would: NaN, and lone surrogates that no file can take.
            json.dumps(inner, allow_nan=False, ensure_ascii=False).encode("utf-8")
        except (ValueError, RecursionError):
            return data
        self.notes.append(f"{path or 'top level'}: JSON in a string read as such")
        return inner

    def _choice(self, data: JsonValue, schema: JsonSchema, path: str) -> JsonValue:
        choices: Any = schema["enum"]
        if any(data == choice and type(data) is type(choice) for choice in choices):
            return data
        if isinstance(data, str):
            same = [c for c in choices if isinstance(c, str) and c.lower() == data.strip().lower()]
            if len(same) == 1:
                return self._mended(data, same[0], path)
        self._wrong(path, f"one of {_short(choices, 200)}", data)
        return data

    def _scalar(self, data: JsonValue, kind: str, path: str) -> JsonValue:
        if kind == "string" and isinstance(data, str):
            if repeats(data):
                self._add(path, f"repeats the same words ({len(data)} characters)")
            return data
        number = isinstance(data, int | float) and not isinstance(data, bool)
        if isinstance(data, float) and not math.isfinite(data):
            self._wrong(path, kind, data)
            return data
        if kind == "boolean" and isinstance(data, bool):
            return data
        if kind == "number" and number:
            return data
        if kind == "integer" and number and not isinstance(data, float):
            return data
        mended = _mend(data, kind)
        if mended is None:
            self._wrong(path, kind, data)
            return data
        return self._mended(data, mended, path)

    def _mended(self, data: JsonValue, mended: JsonValue, path: str) -> JsonValue:
        self.notes.append(f"{path or 'top level'}: {_short(data)} taken as {_short(mended)}")
        return mended

    def _wrong(self, path: str, due: str, data: JsonValue) -> None:
        self._add(path, f"{due} is due, got {_kind(data)} {_short(data)}")

    def _add(self, path: str, words: str) -> None:
        self.problems.append(f"{path or 'top level'}: {words}")


def _mend(data: JsonValue, kind: str) -> JsonValue:
    """A value of the due type that means the same beyond doubt; None if there is none."""
    if isinstance(data, float):
        exact = kind == "integer" and data.is_integer() and abs(data) < 2**53
        return int(data) if exact else None
    if isinstance(data, int) and not isinstance(data, bool):
        return str(data) if kind == "string" else None
    if isinstance(data, str):
        word = data.strip()
        if kind == "boolean" and word.lower() in ("true", "false"):
            return word.lower() == "true"
        if kind in ("integer", "number") and _DIGITS.fullmatch(word):
            return int(word)
        if kind == "number" and _DECIMAL.fullmatch(word):
            return float(word)
    return None


def _kind(data: JsonValue) -> str:
    """The JSON word for a value's type."""
    if data is None:
        return "null"
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array"}
    return names.get(type(data), "object")


def _short(value: object, longest: int = 60) -> str:
    """A value for a message, shortened."""
    if isinstance(value, str) and len(value) > longest:
        return repr(value[:longest] + "...")
    text = repr(value[:20] if isinstance(value, list) else value)
    return text if len(text) <= longest + 20 else text[:longest] + "..."
