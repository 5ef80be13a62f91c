"""Commands of the memory manager: let it keep records, look at them and their past, mend them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click
from rich.console import Console

from evimem.engine import KeptRecord, ManageReport
from evimem.errors import UsageError
from evimem.interfaces.cli.build import cost_of, priced, prices_of
from evimem.interfaces.cli.common import (
    EXIT_FAILED_ITEMS,
    EXIT_NOTHING,
    bank_option,
    emit_json,
    failing_clearly,
    json_option,
    open_memory,
    out,
    parse_time,
    progress_bar,
)
from evimem.interfaces.cli.render import secrets_lines
from evimem.model.codec import to_json
from evimem.model.records import MemoryOp
from evimem.model.turn import Turn
from evimem.settings import Settings

__all__ = ["COMMANDS"]

_SHOWN = 10
_BY_HAND = -1


@click.command()
@click.option("--lite", is_flag=True, help="Without a model: by fixed rules, for English.")
@click.option("--session", "sessions", multiple=True, metavar="REF", help="Only this session.")
@click.option(
    "--limit", type=click.IntRange(min=1), metavar="N", help="At most N events of two turns."
)
@click.option("--max-calls", type=click.IntRange(min=0), metavar="N", help="At most N calls.")
@click.option("--max-tokens", type=click.IntRange(min=0), metavar="N", help="At most N tokens.")
@bank_option
@json_option
@failing_clearly
def manage(
    lite: bool,
    sessions: tuple[str, ...],
    limit: int | None,
    max_calls: int | None,
    max_tokens: int | None,
    path: str | None,
    bank: str | None,
    as_json: bool,
) -> None:
    """Let the memory manager read what is new and keep its records by it.

    It reads two turns at a time, searches its records, and creates, updates or deletes some. Each
    step is kept as a whole: after a stop the same command goes on from there, and nothing is read
    twice by one model. Ends with code 3 if anything is left undone that was to be done.

    \b
    Examples:
      evimem manage --lite
      evimem manage --limit 50 --max-tokens 500000
    """
    prices = prices_of(path, bank)
    with open_memory(path, bank) as memory, progress_bar(quiet=as_json) as progress:
        report = memory.manage(
            sessions=sessions,
            limit=limit,
            lite=lite,
            max_calls=max_calls,
            max_tokens=max_tokens,
            progress=progress,
        )
    cost = cost_of(report.usage, prices)
    if as_json:
        more = {"calls": report.calls, "format_rate": report.format_rate, "cost": cost}
        emit_json({**to_json(report), **more})
    else:
        _show_report(out(), report, cost)
    if report.stopped or report.failures or report.changed:
        raise SystemExit(EXIT_FAILED_ITEMS)


def _show_report(console: Console, report: ManageReport, cost: float | None) -> None:
    line = f"{report.events:,} events with {report.turns:,} turns in {report.seconds:.1f} s"
    if report.usage:
        tokens_in = sum(one.tokens_in for one in report.usage)
        tokens_out = sum(one.tokens_out for one in report.usage)
        line += (
            f": {report.calls:,} calls, {tokens_in:,} tokens in and {tokens_out:,} out"
            f"{priced(cost)}"
        )
    console.print(line, markup=False)
    done = ", ".join(f"{n:,} {kind}" for kind, n in sorted(report.ops.items())) or "none"
    console.print(
        f"changes of records: {done}; {report.records:,} records now, {report.pending:,} events "
        f"still to be done",
        markup=False,
    )
    rate = report.format_rate
    if rate is not None:
        console.print(
            f"{report.responses:,} responses, {rate:.1%} with a call that could be read; "
            f"{report.rejected_writes} writes refused, {report.bundled} finishes bundled with "
            f"other calls, {report.forced} events closed by force",
            markup=False,
        )
    if report.rejected:
        told = ", ".join(f"{n} {why}" for why, n in sorted(report.rejected.items()))
        console.print(f"refused calls: {told}", style="yellow", markup=False)
    if report.withdrawn:
        console.print(
            f"{report.withdrawn} records were taken out first: their turns or the manager changed",
            style="yellow",
        )
    if report.changed:
        console.print(
            f"{report.changed} events changed while they were read: the same command does them",
            style="yellow",
        )
    for turn_id, why in list(report.failures.items())[:_SHOWN]:
        console.print(f"{turn_id}: {why}", style="yellow", markup=False)
    for told in secrets_lines(report.secrets):
        console.print(told, style="yellow", markup=False)
    for reason in report.degraded:
        console.print(f"degraded: {reason}", style="yellow", markup=False)
    if report.stopped:
        console.print(f"stopped: {report.stopped}", style="red", markup=False)


@click.group()
def records() -> None:
    """Look at the manager's records, their past and their sources; correct them."""


@records.command("list")
@click.option("--as-of", metavar="TIME", help="As they stood then: a year, month, day or time.")
@bank_option
@json_option
@failing_clearly
def list_(as_of: str | None, path: str | None, bank: str | None, as_json: bool) -> None:
    """All records, with what they said before. Ends with code 1 if there are none.

    \b
    Examples:
      evimem records list
      evimem records list --as-of 2025-06
    """
    moment = parse_time(as_of, tz=Settings.load(path=path, bank=bank).tz, end=True)
    with open_memory(path, bank, read_only=True) as memory:
        found = memory.records(as_of=moment)
    if as_json:
        emit_json(found)
    else:
        _show_list(out(), found)
    if not found:
        raise SystemExit(EXIT_NOTHING)


def _show_list(console: Console, found: Sequence[KeptRecord]) -> None:
    if not found:
        console.print("no records: `evimem manage` (or with --lite, without a model) makes them")
    for one in found:
        console.print(f"{one.record.record_id}  {_day(one.record.observed_at)}", style="dim")
        console.print(f"  {one.record.content}", markup=False)
        if one.changed:
            times = "once" if one.changed == 1 else f"{one.changed} times"
            console.print(f"  changed {times}; before: {one.before}", style="yellow", markup=False)


@records.command()
@bank_option
@json_option
@failing_clearly
def conflicts(path: str | None, bank: str | None, as_json: bool) -> None:
    """Pairs of records that say different things of the same, as far as words tell.

    \b
    Example:
      evimem records conflicts
    """
    with open_memory(path, bank, read_only=True) as memory:
        found = memory.record_conflicts()
    if as_json:
        emit_json([{"older": older, "newer": newer} for older, newer in found])
        return
    console = out()
    for older, newer in found:
        for word, one in (("older", older), ("newer", newer)):
            console.print(f"{word} {one.record_id}: {one.content}", markup=False)
        console.print()
    console.print(
        f"{len(found)} pairs; `records update` or `records delete` settles one"
        if found
        else "no two records were found to contradict each other"
    )


@records.command()
@click.argument("ref")
@bank_option
@json_option
@failing_clearly
def show(ref: str, path: str | None, bank: str | None, as_json: bool) -> None:
    """All that was done to record REF, oldest first, with dates and the turns behind it.

    \b
    Example:
      evimem records show r_3k5m...
    """
    with open_memory(path, bank, read_only=True) as memory:
        ops = memory.record_history(ref)
        turns = {one: memory.get(one) for op in ops for one in op.refs}
    if as_json:
        emit_json({"record_id": ref, "history": ops, "turns": turns})
        return
    console = out()
    for op in ops:
        console.print(_headline(op), style="bold", markup=False)
        if op.before:
            console.print(f"  before: {op.before}", style="dim", markup=False)
        if op.after:
            console.print(f"  {op.after}", markup=False)
        for one in op.refs:
            turn = turns[one]
            if isinstance(turn, Turn):
                told = f"  [{turn.source_id or turn.turn_id}] {turn.speaker}: {turn.body}"
                console.print(told, style="dim", markup=False)


def _headline(op: MemoryOp) -> str:
    who = "by hand" if op.event == _BY_HAND else f"event {op.event}"
    return f"{_day(op.at)} {op.kind} ({who})"


def _day(moment: Any) -> str:
    return "date unknown" if moment is None else f"{moment:%Y-%m-%d}"


@records.command()
@click.argument("ref")
@click.argument("text")
@click.option("--reason", default="", metavar="WORDS", help="Why; kept in the history.")
@bank_option
@json_option
@failing_clearly
def update(
    ref: str, text: str, reason: str, path: str | None, bank: str | None, as_json: bool
) -> None:
    """Put TEXT into record REF; what it said stays in its history.

    \b
    Example:
      evimem records update r_3k5m... "Ana moved to Porto in May 2024." --reason "wrong city"
    """
    if not text.strip():
        raise UsageError("there is nothing to write: give a text, or use `evimem records delete`")
    with open_memory(path, bank) as memory:
        _done(memory.update_record(ref, text, reason=reason), as_json=as_json)


@records.command()
@click.argument("ref")
@click.option("--reason", default="", metavar="WORDS", help="Why; kept in the history.")
@bank_option
@json_option
@failing_clearly
def delete(ref: str, reason: str, path: str | None, bank: str | None, as_json: bool) -> None:
    """Take record REF out; `records undo` brings it back, `forget` leaves no byte of it.

    \b
    Example:
      evimem records delete r_3k5m... --reason "never said"
    """
    with open_memory(path, bank) as memory:
        _done(memory.delete_record(ref, reason=reason), as_json=as_json)


@records.command()
@click.argument("ref")
@bank_option
@json_option
@failing_clearly
def undo(ref: str, path: str | None, bank: str | None, as_json: bool) -> None:
    """Take back the last change of record REF, as a new entry of its history.

    \b
    Example:
      evimem records undo r_3k5m...
    """
    with open_memory(path, bank) as memory:
        _done(memory.undo_record(ref), as_json=as_json)


def _done(op: MemoryOp, *, as_json: bool) -> None:
    if as_json:
        emit_json(op)
        return
    console = out()
    console.print(f"{op.kind}: {op.record_id}", markup=False)
    if op.before:
        console.print(f"  before: {op.before}", style="dim", markup=False)
    if op.after:
        console.print(f"  {op.after}", markup=False)


COMMANDS = (manage, records)
