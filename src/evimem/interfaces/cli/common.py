"""What all commands share: options, opening the memory, JSON output, exit codes, progress."""

from __future__ import annotations

import calendar
import functools
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, tzinfo
from typing import Any, NoReturn, TypeVar

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)

from evimem.compose import Memory
from evimem.errors import EvimemError, ProviderError, StorageError, UsageError
from evimem.model.codec import to_json
from evimem.model.time import is_moment
from evimem.model.zone import parse_zone
from evimem.settings import Settings

__all__ = [
    "EXIT_FAILED_ITEMS",
    "EXIT_INTERRUPTED",
    "EXIT_NOTHING",
    "bank_option",
    "emit_error",
    "emit_json",
    "failing_clearly",
    "json_option",
    "open_memory",
    "out",
    "parse_time",
    "progress_bar",
]

EXIT_NOTHING = 1
"""The command worked and found nothing: no hit, not in memory."""
EXIT_USAGE = 2
"""The command cannot be carried out as given."""
EXIT_FAILED_ITEMS = 3
"""The command worked and some items failed, or doctor found a problem."""
EXIT_STORAGE = 4
"""The bank's file failed."""
EXIT_PROVIDER = 5
"""An embedder or endpoint failed."""
EXIT_INTERRUPTED = 130
"""Stopped by Ctrl-C, as shells count it."""

F = TypeVar("F", bound=Callable[..., Any])


def out() -> Console:
    """The console for people; made per call so that a test's capture is respected."""
    return Console(highlight=False, soft_wrap=True)


def bank_option(command: F) -> F:
    """--bank and --path, the same on every command."""
    command = click.option(
        "--path", metavar="FILE", help="The bank file [default: EVIMEM_PATH or the data folder]."
    )(command)
    return click.option(
        "--bank", metavar="NAME", help='The bank in it [default: EVIMEM_BANK or "default"].'
    )(command)


def json_option(command: F) -> F:
    """--json, the same on every command."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


@contextmanager
def open_memory(path: str | None, bank: str | None, *, read_only: bool = False) -> Iterator[Memory]:
    """The memory that the options and settings name; closed at the end."""
    settings = Settings.load(path=path, bank=bank)
    with Memory.from_settings(settings, read_only=read_only) as memory:
        yield memory


def emit_json(value: Any) -> None:
    """One JSON document on standard output, with real characters."""
    text = json.dumps(to_json(value), ensure_ascii=False, indent=2)
    sys.stdout.buffer.write(text.encode("utf-8", "replace") + b"\n")
    sys.stdout.buffer.flush()


def emit_error(kind: str, message: str) -> None:
    """An error as the JSON document that every command prints for one."""
    emit_json({"error": {"type": kind, "message": message}})


def failing_clearly(command: F) -> F:
    """Errors raised on purpose become one clear message and an exit code that scripts can use."""

    @functools.wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        try:
            return command(*args, **kwargs)
        except EvimemError as error:
            _fail(error, as_json=bool(kwargs.get("as_json")))

    return wrapped  # type: ignore[return-value]  # functools.wraps keeps the signature


def _fail(error: EvimemError, *, as_json: bool) -> NoReturn:
    code = EXIT_FAILED_ITEMS
    if isinstance(error, UsageError):
        code = EXIT_USAGE
    elif isinstance(error, StorageError):
        code = EXIT_STORAGE
    elif isinstance(error, ProviderError):
        code = EXIT_PROVIDER
    if as_json:
        emit_error(type(error).__name__, str(error))
    click.echo(f"evimem: {error}", err=True)
    raise SystemExit(code)


_STAGES = {
    "store": "storing turns",
    "extract": "extracting facts",
    "episodes": "making episodes",
    "manage": "managing records",
    "embed": "computing vectors",
}


@contextmanager
def progress_bar(*, quiet: bool) -> Iterator[Callable[[str, int, int | None], None]]:
    """A bar on standard error, one task per stage; nothing where output is not a terminal."""
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield lambda stage, done, total: None
        return
    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
    ) as bar:
        tasks: dict[str, Any] = {}

        def show(stage: str, done: int, total: int | None) -> None:
            if stage not in tasks:
                tasks[stage] = bar.add_task(_STAGES.get(stage, stage), total=total)
            bar.update(tasks[stage], completed=done, total=total)

        yield show


def parse_time(value: str | None, *, tz: str, end: bool = False) -> datetime | None:
    """A year, month, day or ISO 8601 time; `end` gives the last moment of it.

    Raises:
        UsageError: the value is none of these.
    """
    if value is None:
        return None
    zone = parse_zone(tz)
    for form, step in (("%Y", "year"), ("%Y-%m", "month"), ("%Y-%m-%d", "day")):
        try:
            start = datetime.strptime(value, form).replace(tzinfo=zone)
        except ValueError:
            continue
        moment = _last_moment(start, step) if end else start
        break
    else:
        moment = _written(value, zone)
    if not is_moment(moment):
        raise UsageError(f"time {value!r} lies outside the years 1 to 9999 of UTC")
    return moment


def _written(value: str, zone: tzinfo) -> datetime:
    try:
        moment = datetime.fromisoformat(value)
    except ValueError as error:
        raise UsageError(
            f"time {value!r} is not a year, month, day or ISO 8601 time (2023, 2023-05, "
            "2023-05-08, 2023-05-08T13:56)"
        ) from error
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=zone)


def _last_moment(start: datetime, step: str) -> datetime:
    """The last moment of the year, month or day that begins at `start`."""
    month = 12 if step == "year" else start.month
    day = start.day if step == "day" else calendar.monthrange(start.year, month)[1]
    return start.replace(
        month=month, day=day, hour=23, minute=59, second=59, microsecond=999_999, fold=1
    )
