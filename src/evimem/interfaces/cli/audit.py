"""`evimem audit`: checks of what builders wrote against what it was written from."""

from __future__ import annotations

from collections.abc import Iterator

import click
from rich.console import Console

from evimem.errors import UsageError
from evimem.eval.write_fidelity import BuilderFidelity, ItemFidelity, WriteAudit, audit_writes
from evimem.interfaces.cli.common import (
    EXIT_FAILED_ITEMS,
    bank_option,
    emit_json,
    failing_clearly,
    json_option,
    open_memory,
    out,
)
from evimem.model.codec import from_json
from evimem.model.item import Item
from evimem.model.turn import Turn

__all__ = ["COMMANDS"]

_SHOWN = 20
_CLASSES: dict[str, type[Turn] | type[Item]] = {"turn": Turn, "item": Item}


@click.group()
def audit() -> None:
    """Check derived memories against their sources."""


@audit.command()
@click.option("--builder", metavar="NAME", help="Only what this builder wrote.")
@bank_option
@json_option
@failing_clearly
def writes(builder: str | None, path: str | None, bank: str | None, as_json: bool) -> None:
    """Quotes, numbers and names in facts, episodes and records that their source turns do not
    hold. It checks words, not truth: a wrong claim in the right words passes.

    \b
    Examples:
      evimem audit writes
      evimem audit writes --builder facts --json
    """
    with open_memory(path, bank, read_only=True) as memory:
        name = memory.bank
        found = audit_writes(_entries(memory.export()), bank=name, builder=builder)
    if builder is not None and not found.builders:
        raise UsageError(
            f"bank {name!r} holds nothing by builder {builder!r}: `evimem audit writes` without "
            "--builder lists who wrote what"
        )
    if as_json:
        emit_json(found)
    else:
        _show(out(), found)
    if found.altered:
        raise SystemExit(EXIT_FAILED_ITEMS)


def _entries(records: Iterator[dict[str, object]]) -> Iterator[Turn | Item]:
    for record in records:
        made = _CLASSES.get(str(record.pop("type")))
        if made is not None:
            yield from_json(made, record)


def _show(console: Console, found: WriteAudit) -> None:
    if not found.builders:
        console.print(f"bank {found.bank!r} holds no derived items: nothing to check", markup=False)
        return
    for group in found.builders:
        console.print(_line(group), markup=False)
    flagged = [one for one in found.items if one.findings]
    for one in sorted(flagged, key=lambda one: all(f.nearby for f in one.findings))[:_SHOWN]:
        console.print(_told(one), style="yellow", markup=False)
    if len(flagged) > _SHOWN:
        console.print(f"{len(flagged) - _SHOWN} more (see --json)", style="yellow")


def _line(group: BuilderFidelity) -> str:
    line = (
        f"{group.kind} by {group.builder or 'an import'}: {group.items} items, {group.checked} "
        f"with source turns; {group.faithful} hold only words of these, {group.nearby} words of "
        f"turns nearby, {group.altered} others"
    )
    counts = ", ".join(f"{n} x {kind}" for kind, n in sorted(group.findings.items()))
    return line + (f" ({counts})" if counts else "") + f"; {group.quotes} quotes"


def _told(item: ItemFidelity) -> str:
    words = "; ".join(
        f"{one.kind} {one.words!r}" + (" (stands nearby)" if one.nearby else "")
        for one in item.findings
    )
    return f"{item.kind} {item.item_id}: {words}"


COMMANDS = (audit,)
