"""Commands that look after the store: banks, where, embed, reindex, backup, scan, doctor."""

from __future__ import annotations

import os
from pathlib import Path

import click
from rich.console import Console

from evimem.errors import SettingsError
from evimem.interfaces.cli.common import (
    EXIT_FAILED_ITEMS,
    bank_option,
    emit_json,
    failing_clearly,
    json_option,
    open_memory,
    out,
    progress_bar,
)
from evimem.interfaces.cli.render import show_scan
from evimem.llm.probe import ModelProbe, probe
from evimem.model.codec import to_json
from evimem.ports import BankStats
from evimem.settings import Settings

__all__ = ["COMMANDS"]


@click.command()
@bank_option
@json_option
@failing_clearly
def banks(path: str | None, bank: str | None, as_json: bool) -> None:
    """List the banks of the file with their counts.

    \b
    Example:
      evimem banks --json
    """
    with open_memory(path, bank) as memory:
        found = memory.banks()
    if as_json:
        emit_json(found)
        return
    if not found:
        click.echo("no bank yet: `evimem import` or `evimem add` makes one")
    for stats in found:
        out().print(_bank_line(stats), markup=False)


def _bank_line(stats: BankStats) -> str:
    items = sum(stats.items.values())
    return (
        f"{stats.bank}: {stats.turns} turns in {stats.sessions} sessions, {items} derived items, "
        f"{stats.vectors} with vectors ({stats.pending} pending), {stats.traces} traces, "
        f"embedder {stats.embedder or 'none yet'}"
    )


@click.command()
@bank_option
@json_option
@failing_clearly
def where(path: str | None, bank: str | None, as_json: bool) -> None:
    """Print which bank file and bank the other commands use, and why.

    \b
    Example:
      evimem where
    """
    settings = Settings.load(path=path, bank=bank)
    found = {
        "path": str(settings.path),
        "set_by": settings.path_from,
        "exists": os.path.exists(settings.path),
        "bank": settings.bank,
        "embedder": settings.embedder,
    }
    if as_json:
        emit_json(found)
        return
    for key, value in found.items():
        click.echo(f"{key}: {value}")


@click.command()
@bank_option
@json_option
@failing_clearly
def embed(path: str | None, bank: str | None, as_json: bool) -> None:
    """Add the vectors that are missing.

    \b
    Example:
      evimem embed
    """
    with open_memory(path, bank) as memory, progress_bar(quiet=as_json) as progress:
        done = memory.embed(progress=progress)
    if as_json:
        emit_json({"embedded": done})
    else:
        click.echo(f"{done} entries got a vector")


@click.command()
@bank_option
@json_option
@failing_clearly
def reindex(path: str | None, bank: str | None, as_json: bool) -> None:
    """Make tokens and vectors anew from the words, also where they are damaged.

    \b
    Example:
      evimem reindex --bank work
    """
    with open_memory(path, bank) as memory, progress_bar(quiet=as_json) as progress:
        done = memory.reindex(progress=progress)
    if as_json:
        emit_json({"embedded": done})
    else:
        click.echo(f"tokens renewed; {done} entries got a vector")


@click.command()
@click.argument("target", type=click.Path(path_type=Path))
@bank_option
@json_option
@failing_clearly
def backup(target: Path, path: str | None, bank: str | None, as_json: bool) -> None:
    """A consistent copy of the whole bank file, while others write.

    \b
    Example:
      evimem backup memory-2024-03-05.evimem
    """
    with open_memory(path, bank) as memory:
        memory.backup(target)
    if as_json:
        emit_json({"backup": str(target)})
    else:
        click.echo(f"copied to {target}")


@click.command()
@click.option("--fix", is_flag=True, help="Take them out: words, log, traces and files.")
@bank_option
@json_option
@failing_clearly
def scan(fix: bool, path: str | None, bank: str | None, as_json: bool) -> None:
    """Find keys and passwords in what is stored. Shows where and which kind, never the value.

    \b
    Examples:
      evimem scan
      evimem scan --fix
    """
    with open_memory(path, bank) as memory:
        report = memory.scan(fix=fix)
    if as_json:
        emit_json(report)
    else:
        show_scan(out(), report)
    if report.findings and not (report.fixed and report.scrubbed):
        raise SystemExit(EXIT_FAILED_ITEMS)


@click.command()
@click.option("--models", is_flag=True, help="Also call every model endpoint once.")
@bank_option
@json_option
@failing_clearly
def doctor(models: bool, path: str | None, bank: str | None, as_json: bool) -> None:
    """Check the bank file, the embedder, counts and checksums, and say what to do.

    \b
    Examples:
      evimem doctor
      evimem doctor --models
    """
    with open_memory(path, bank) as memory:
        report = memory.doctor()
    probes = _probes(Settings.load(path=path, bank=bank)) if models else ()
    if as_json:
        emit_json({**to_json(report), "models": probes} if models else report)
    else:
        console = out()
        for key, value in report.facts.items():
            console.print(f"{key}: {value}", markup=False)
        for stats in report.banks:
            console.print(_bank_line(stats), markup=False)
        for one in probes:
            _show_probe(console, one)
        for problem in report.problems:
            style = "red" if problem.severity == "error" else "yellow"
            console.print(f"{problem.severity}: {problem.what}", style=style, markup=False)
            console.print(f"  do: {problem.todo}", markup=False)
        if report.healthy and not any(one.problem for one in probes):
            console.print("all is well", style="green")
    if not report.healthy or any(one.problem for one in probes):
        raise SystemExit(EXIT_FAILED_ITEMS)


def _probes(settings: Settings) -> tuple[ModelProbe, ...]:
    """One tiny call per endpoint.

    Raises:
        SettingsError: no endpoint is set.
    """
    if settings.models is None:
        raise SettingsError(
            "no model endpoint is set: set EVIMEM_LLM_MODEL and EVIMEM_LLM_URL, or EVIMEM_MODELS"
        )
    return tuple(probe(one) for one in settings.models.endpoints)


def _show_probe(console: Console, one: ModelProbe) -> None:
    window = one.effective_window
    told = f"{window} tokens" if window else "unknown (the server tells none, none is set)"
    console.print(f"endpoint {one.endpoint}: {one.model}", markup=False)
    console.print(f"  JSON by {one.strategy}; window {told}", markup=False)
    if one.reply:
        console.print(
            f"  replied in {one.seconds:.2f} s: {one.reply} "
            f"({one.tokens_in} tokens in, {one.tokens_out} out)",
            markup=False,
        )
    if one.problem:
        console.print(f"  error: {one.problem}", style="red", markup=False)


COMMANDS = (banks, where, embed, reindex, backup, scan, doctor)
