"""Looks into JSON of unknown shape: each look says what it needs or fails with one clear error."""

from __future__ import annotations

from collections.abc import Mapping

from evimem.errors import ItemError
from evimem.importers._faults import shown
from evimem.model.turn import JsonValue

__all__ = ["compact", "first_text", "list_of", "object_of", "text_or_number", "text_parts"]

Object = dict[str, JsonValue]


def object_of(value: JsonValue, what: str) -> Object:
    """The value as an object.

    Raises:
        ItemError: it is something else.
    """
    if isinstance(value, dict):
        return value
    raise ItemError(f"{what} should be an object, is {shown(value)}")


def list_of(value: JsonValue, what: str) -> list[JsonValue]:
    """The value as a list.

    Raises:
        ItemError: it is something else.
    """
    if isinstance(value, list):
        return value
    raise ItemError(f"{what} should be a list, is {shown(value)}")


def text_or_number(value: JsonValue) -> str:
    """A text or number as text (ids come as both); empty for anything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return ""


def first_text(record: Mapping[str, JsonValue], *names: str) -> str:
    """The first of these fields that holds text or a number; empty if none does."""
    for name in names:
        found = text_or_number(record.get(name))
        if found:
            return found
    return ""


def compact(**values: JsonValue) -> Object:
    """An object of the values that say something (not None, empty or False)."""
    return {key: value for key, value in values.items() if value not in (None, "", False, [], {})}


class Parts:
    """Content in parts, sorted: words, attachments, and types that are neither."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.attachments: list[JsonValue] = []
        self.other: list[str] = []

    @property
    def text(self) -> str:
        """The words, a line per part."""
        return "\n".join(self.texts)


_TEXT = ("text", "input_text", "output_text", "refusal")
_MEDIA = ("image", "audio", "video", "file", "media", "document")


def text_parts(content: JsonValue, what: str) -> Parts:
    """Content as model APIs write it: a text, null, or a list of texts and typed blocks.

    Embedded data (base64) is left out of the attachments; addresses are kept.

    Raises:
        ItemError: it is something else.
    """
    parts = Parts()
    if content is None:
        return parts
    if isinstance(content, str):
        parts.texts.append(content)
        return parts
    for block in list_of(content, what):
        if block is None or isinstance(block, str | int | float):
            parts.texts += [text_or_number(block)] if block is not None else []
            continue
        found = object_of(block, f"a part of {what}")
        kind = first_text(found, "type")
        if kind in _TEXT:
            parts.texts.append(first_text(found, "text", "refusal"))
        elif any(media in kind for media in _MEDIA):
            parts.attachments.append(compact(type=kind, url=_address(found)))
        else:
            parts.other.append(kind or "untyped")
    return parts


def _address(block: Object) -> str:
    for value in block.values():
        inner = value.get("url") if isinstance(value, dict) else value
        if isinstance(inner, str) and inner.startswith(("http:", "https:")):
            return inner
    return ""
