"""Which format a file is of, by its content."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from evimem.errors import ImportFormatError
from evimem.importers import (
    chatgpt,
    claude,
    csv,
    discord,
    jsonl,
    langchain,
    locomo,
    longmemeval,
    mem0,
    openai,
    sharegpt,
    slack,
    telegram,
    whatsapp,
)
from evimem.importers._format import Format
from evimem.importers._head import Head
from evimem.importers._zip import PACKED

__all__ = ["FORMATS", "recognise", "required", "unknown_format"]

# From the most particular to the most general: the first that recognises a file reads it.
_ORDER = (
    chatgpt.FORMAT,
    claude.FORMAT,
    longmemeval.FORMAT,
    locomo.FORMAT,
    discord.FORMAT,
    telegram.FORMAT,
    slack.FORMAT,
    langchain.GRAPH,
    langchain.FORMAT,
    openai.FORMAT,
    openai.FINETUNE,
    sharegpt.FORMAT,
    mem0.FORMAT,
    mem0.MARKDOWN,
    whatsapp.FORMAT,
    csv.FORMAT,
    jsonl.FORMAT,
)

FORMATS: Mapping[str, Format] = MappingProxyType({f.name: f for f in _ORDER})
"""Every format by the name used in `--format`."""

# Names that read the same files, so that either may be given.
_SAME = ({"openai", "openai-finetune"}, {"mem0", "mem0-markdown"})


def recognise(head: Head) -> Format | None:
    """The format of a file that begins so; None if it is none that is known."""
    if head.binary:
        return None
    for record in head.records or (head.record,):
        seen = replace(head, record=record)
        found = next((f for f in _ORDER if f.recognises(seen)), None)
        if found is not None:
            return found
    return None


def required(name: str, head: Head) -> Format:
    """The format `name`, if a file that begins so can be of it.

    Files that show no format are read as told; `jsonl` and `csv` take any file of their kind.

    Raises:
        ImportFormatError: the file is of another format, or not of this one's kind.
    """
    wanted = FORMATS[name]
    found = recognise(head)
    if found is not None and (found is wanted or {found.name, name} in _SAME):
        return found
    any_json = name == "jsonl" and bool(head.outer)
    any_table = name == "csv" and not head.outer and not head.binary
    if found is not None and not any_json and not any_table:
        raise ImportFormatError(
            f"{head.name!r} is not {name!r}: it looks like {found.name!r} ({found.what}); "
            f"pass --format {found.name} or none"
        )
    if head.binary or (wanted.is_json and not head.outer and name != "jsonl"):
        start = head.text[:40]
        raise ImportFormatError(
            f"{head.name!r} is not {name!r}: it is {_kind(head)} and begins with {start!r}"
        )
    return wanted


def unknown_format(head: Head) -> ImportFormatError:
    """The error for a file of no known format."""
    if head.empty:
        return ImportFormatError(f"{head.name!r} is empty: there is nothing to import")
    if head.binary and head.name.lower().endswith(PACKED):
        return ImportFormatError(f"{head.name!r} is packed: unpack it and import what is in it")
    return ImportFormatError(
        f"{head.name!r} is {_kind(head)} of no format known here; pass --format with one of: "
        f"{', '.join(FORMATS)}"
    )


def _kind(head: Head) -> str:
    if head.binary:
        return "a binary file"
    return "JSON" if head.outer else "text"
