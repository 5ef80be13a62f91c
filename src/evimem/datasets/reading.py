"""Reading benchmark files: bytes with their hash, JSON with errors that say where."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from evimem.datasets.base import SourceFile
from evimem.errors import ImportFormatError, UsageError

__all__ = ["MONTHS", "as_list", "as_record", "field_text", "read_json"]

MONTHS = {
    name: number
    for number, name in enumerate(
        (
            *("january", "february", "march", "april", "may", "june", "july", "august"),
            *("september", "october", "november", "december"),
        ),
        start=1,
    )
}
"""English month names in lower case to their numbers; independent of the locale."""

_SHOWN = 80  # characters of a value quoted in a message


def read_json(path: Path) -> tuple[Any, SourceFile]:
    """The parsed file and its name with hash.

    Raises:
        UsageError: there is no such file, or it cannot be read.
        ImportFormatError: the file is not JSON in UTF-8.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {str(path)!r}: {error.strerror}; check the path") from error
    try:
        data = json.loads(raw)
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ImportFormatError(
            f"{path.name!r} is not JSON ({error}); it may be cut short: fetch it again"
        ) from error
    return data, SourceFile(name=path.name, sha256=hashlib.sha256(raw).hexdigest())


def as_list(value: Any, where: str) -> list[Any]:
    """`value` if it is a list.

    Raises:
        ImportFormatError: it is something else.
    """
    if not isinstance(value, list):
        raise ImportFormatError(f"{where} should be a list, got {_short(value)}")
    return value


def as_record(value: Any, where: str) -> dict[str, Any]:
    """`value` if it is an object.

    Raises:
        ImportFormatError: it is something else.
    """
    if not isinstance(value, dict):
        raise ImportFormatError(f"{where} should be an object, got {_short(value)}")
    return value


def field_text(record: dict[str, Any], key: str, where: str) -> str:
    """A field of text; integers are cast (some golds are bare numbers).

    Raises:
        ImportFormatError: the field is absent, or neither text nor a number.
    """
    value = record.get(key)
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    raise ImportFormatError(f"{where}: field {key!r} should be text, got {_short(value)}")


def _short(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "..."
