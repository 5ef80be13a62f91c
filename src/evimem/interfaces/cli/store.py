"""Commands that write: import, add, forget, export."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from evimem.errors import UsageError
from evimem.importers import FORMATS, ImportOptions
from evimem.interfaces.cli.common import (
    EXIT_FAILED_ITEMS,
    bank_option,
    emit_json,
    failing_clearly,
    json_option,
    open_memory,
    out,
    parse_time,
    progress_bar,
)
from evimem.interfaces.cli.render import secrets_lines, show_erased, show_import
from evimem.settings import Settings

__all__ = ["COMMANDS"]


@click.command("import")
@click.argument("source", type=click.Path(path_type=Path))
@click.option("--format", "format_name", type=click.Choice(sorted(FORMATS)), help="Its format.")
@click.option("--tz", metavar="ZONE", help="Zone of times that have none [default: EVIMEM_TZ].")
@click.option("--session-date", metavar="TIME", help="Date for formats without times.")
@click.option("--date-order", type=click.Choice(("dmy", "mdy")), help="For dates like 3/4/24.")
@click.option("--all-branches", is_flag=True, help="Keep edited and regenerated messages too.")
@click.option("--encoding", metavar="NAME", help="Character encoding of text files.")
@click.option("--field", "fields", multiple=True, metavar="OURS=THEIRS", help="JSONL/CSV columns.")
@click.option("--no-embed", is_flag=True, help="Leave the vectors to a later `evimem embed`.")
@bank_option
@json_option
@failing_clearly
def import_(
    source: Path,
    format_name: str | None,
    tz: str | None,
    session_date: str | None,
    date_order: str | None,
    all_branches: bool,
    encoding: str | None,
    fields: tuple[str, ...],
    no_embed: bool,
    path: str | None,
    bank: str | None,
    as_json: bool,
) -> None:
    """Import SOURCE: a chat export as a file, folder or zip. Importing again adds what is new.

    \b
    Examples:
      evimem import chats.zip
      evimem import _chat.txt --format whatsapp --tz Europe/Berlin --date-order dmy
      evimem import rows.csv --field text=message --field speaker=sender
    """
    zone = tz or Settings.load(path=path, bank=bank).tz
    options = ImportOptions(
        tz=zone or None,
        session_date=parse_time(session_date, tz=zone),
        date_order=date_order,  # type: ignore[arg-type]  # click checked the choice
        all_branches=all_branches,
        encoding=encoding,
        fields=_pairs(fields),
    )
    with open_memory(path, bank) as memory, progress_bar(quiet=as_json) as progress:
        receipt = memory.import_file(
            source, format=format_name, options=options, embed=not no_embed, progress=progress
        )
    if as_json:
        emit_json(receipt)
    else:
        show_import(out(), receipt)
    if receipt.failed:
        raise SystemExit(EXIT_FAILED_ITEMS)


def _pairs(fields: tuple[str, ...]) -> dict[str, str]:
    pairs = {}
    for field in fields:
        ours, equals, theirs = field.partition("=")
        if not equals or not ours or not theirs:
            raise UsageError(f"--field {field!r} must be OURS=THEIRS, such as text=message")
        pairs[ours] = theirs
    return pairs


@click.command()
@click.argument("text", required=False)
@click.option("--speaker", metavar="NAME", help="Who says it [default: user].")
@click.option("--session", metavar="ID", help="The session it belongs to [default: one per day].")
@click.option("--at", "said_at", metavar="TIME", help="When it was said [default: now].")
@bank_option
@json_option
@failing_clearly
def add(
    text: str | None,
    speaker: str | None,
    session: str | None,
    said_at: str | None,
    path: str | None,
    bank: str | None,
    as_json: bool,
) -> None:
    """Store TEXT (or standard input) as a turn.

    \b
    Example:
      evimem add "I moved to Porto last week" --speaker Mira --at 2024-03-05
    """
    words = text if text is not None else _piped()
    if not words.strip():
        raise UsageError("there is nothing to add: give a text, or pipe one in")
    tz = Settings.load(path=path, bank=bank).tz
    with open_memory(path, bank) as memory:
        receipt = memory.add(
            words, session_id=session, speaker=speaker, timestamp=parse_time(said_at, tz=tz)
        )
    if as_json:
        emit_json(receipt)
        return
    for label, ids in (
        ("stored", receipt.stored),
        ("already there", receipt.unchanged),
        ("updated", receipt.updated),
    ):
        for one in ids:
            click.echo(f"{label}: {one}")
    for line in secrets_lines(receipt.secrets):
        click.echo(line, err=True)
    for reason in receipt.degraded:
        click.echo(f"degraded: {reason}", err=True)


def _piped() -> str:
    data = sys.stdin.buffer.read()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"standard input is not UTF-8: byte {error.start} is 0x{data[error.start]:02X}"
        ) from error


@click.command()
@click.option("--turn", metavar="REF", help="A turn, by id or id in the source.")
@click.option("--session", metavar="REF", help="A session, by id or id in the source.")
@click.option("--speaker", metavar="NAME", help="All that NAME said.")
@click.option("--whole-bank", metavar="NAME", help="A whole bank; repeat its name in --confirm.")
@click.option("--confirm", metavar="NAME", default="", help="The bank's name again.")
@bank_option
@json_option
@failing_clearly
def forget(
    turn: str | None,
    session: str | None,
    speaker: str | None,
    whole_bank: str | None,
    confirm: str,
    path: str | None,
    bank: str | None,
    as_json: bool,
) -> None:
    """Delete for good, with everything derived from it and every trace that quotes it.

    \b
    Examples:
      evimem forget --turn D1:3
      evimem forget --speaker Tom
      evimem forget --whole-bank work --confirm work
    """
    with open_memory(path, bank) as memory:
        if whole_bank is not None:
            if turn or session or speaker:
                raise UsageError("--whole-bank goes with no other choice")
            receipt = memory.forget_bank(whole_bank, confirm=confirm)
        else:
            receipt = memory.forget(turn=turn, session=session, speaker=speaker)
    if as_json:
        emit_json(receipt)
    else:
        show_erased(out(), receipt)


@click.command()
@click.option("-o", "--output", type=click.Path(path_type=Path), help="File [default: stdout].")
@bank_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON (export always does).")
@failing_clearly
def export(output: Path | None, path: str | None, bank: str | None, as_json: bool) -> None:
    """Everything of a bank as JSON lines: sessions, turns and facts.

    \b
    Example:
      evimem export -o memory.jsonl
    """
    with open_memory(path, bank) as memory:
        if output is None:
            for line in _lines(memory.export()):
                sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()
            return
        try:
            with output.open("xb") as file:
                for line in _lines(memory.export()):
                    file.write(line)
        except FileExistsError as error:
            raise UsageError(f"{str(output)!r} exists already: choose another name") from error
        except OSError as error:
            raise UsageError(f"cannot write {str(output)!r}: {error.strerror}") from error
    click.echo(f"exported to {output}", err=True)


def _lines(records: Iterator[dict[str, object]]) -> Iterator[bytes]:
    for record in records:
        yield json.dumps(record, ensure_ascii=False).encode("utf-8") + b"\n"


COMMANDS = (import_, add, forget, export)
