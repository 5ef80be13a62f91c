"""Commands that build memory from stored turns: facts, episodes, and how far they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import click
from rich.console import Console

from evimem.compose import build_models
from evimem.engine import (
    BuildEstimate,
    BuildReport,
    BuildState,
    EpisodeEstimate,
    EpisodeReport,
    EpisodeState,
    ModelUsage,
    SessionState,
)
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
from evimem.interfaces.cli.render import secrets_lines
from evimem.llm.pool import ModelPool
from evimem.model.codec import to_json
from evimem.model.cost import Price, call_cost
from evimem.settings import Settings

__all__ = ["COMMANDS", "cost_of", "priced", "prices_of"]

MOST_FAILURES = 0.05
"""Share of turns without a usable reply above which the command fails (case P019)."""
_SHOWN = 10  # failures and sessions that are listed; the rest is counted


@click.group()
def build() -> None:
    """Build what questions are answered from: facts and episodes, by a language model."""


@build.command("facts")
@click.option("--session", "sessions", multiple=True, metavar="REF", help="Only this session.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="At most N turns.")
@click.option("--failed", is_flag=True, help="Only turns that failed before or stand as words.")
@click.option(
    "--workers", type=click.IntRange(1, 64), default=4, show_default=True, help="Calls at a time."
)
@click.option("--max-calls", type=click.IntRange(min=0), metavar="N", help="At most N calls.")
@click.option("--max-tokens", type=click.IntRange(min=0), metavar="N", help="At most N tokens.")
@click.option("--dry-run", is_flag=True, help="Only tell what it would take; nothing is sent.")
@bank_option
@json_option
@failing_clearly
def facts(
    sessions: tuple[str, ...],
    limit: int | None,
    failed: bool,
    workers: int,
    max_calls: int | None,
    max_tokens: int | None,
    dry_run: bool,
    path: str | None,
    bank: str | None,
    as_json: bool,
) -> None:
    """Extract atomic facts from every turn that has none up to date.

    Each turn is kept as soon as it is read: after a stop the same command goes on from there, and
    nothing is read twice under one model. Ends with code 3 if a share of turns above 5% got no
    usable reply, or if it stopped early.

    \b
    Examples:
      evimem build facts --dry-run
      evimem build facts --limit 100 --max-tokens 500000
      evimem build facts --failed
    """
    prices = prices_of(path, bank)
    chosen: dict[str, Any] = {"sessions": sessions, "limit": limit, "only_failed": failed}
    if dry_run:
        with open_memory(path, bank) as memory:
            estimate = memory.estimate_build(**chosen)
        _show_estimate(estimate, prices, as_json=as_json)
        return
    with open_memory(path, bank) as memory, progress_bar(quiet=as_json) as progress:
        report = memory.build_facts(
            **chosen,
            workers=workers,
            max_calls=max_calls,
            max_tokens=max_tokens,
            progress=progress,
        )
    cost = cost_of(report.usage, prices)
    if as_json:
        emit_json({**to_json(report), "calls": report.calls, "cost": cost})
    else:
        _show_report(out(), report, cost)
    if report.stopped or report.failure_rate > MOST_FAILURES:
        raise SystemExit(EXIT_FAILED_ITEMS)


@build.command("episodes")
@click.option("--lite", is_flag=True, help="Without a model: cut by silence and subject.")
@click.option("--session", "sessions", multiple=True, metavar="REF", help="Only this session.")
@click.option(
    "--limit", type=click.IntRange(min=1), metavar="N", help="At most N batches of turns."
)
@click.option("--failed", is_flag=True, help="Only batches that failed or got an unusable reply.")
@click.option(
    "--workers", type=click.IntRange(1, 64), default=4, show_default=True, help="Drafts at a time."
)
@click.option("--max-calls", type=click.IntRange(min=0), metavar="N", help="At most N calls.")
@click.option("--max-tokens", type=click.IntRange(min=0), metavar="N", help="At most N tokens.")
@click.option("--dry-run", is_flag=True, help="Only tell what it would take; nothing is sent.")
@bank_option
@json_option
@failing_clearly
def episodes(
    lite: bool,
    sessions: tuple[str, ...],
    limit: int | None,
    failed: bool,
    workers: int,
    max_calls: int | None,
    max_tokens: int | None,
    dry_run: bool,
    path: str | None,
    bank: str | None,
    as_json: bool,
) -> None:
    """Sort turns into episodes, tell each, and keep what lasts as semantic facts.

    A model reads up to 20 turns at a time. Each such batch is kept as soon as it is made: after a
    stop the same command goes on from there, and nothing is made twice under one model. With
    --lite no model is needed: whole sessions are cut by silence and change of subject. A bank holds
    one of the two forms: building the other one takes the first out. Ends with code 3 if a share of
    batches above 5% got an unusable reply, or if it stopped early.

    \b
    Examples:
      evimem build episodes --lite
      evimem build episodes --dry-run
      evimem build episodes --limit 20 --max-tokens 500000
    """
    prices = prices_of(path, bank)
    chosen: dict[str, Any] = {
        "sessions": sessions, "limit": limit, "only_failed": failed, "lite": lite,
    }  # fmt: skip
    if dry_run:
        with open_memory(path, bank) as memory:
            estimate = memory.estimate_episodes(**chosen)
        _show_episode_estimate(estimate, prices, as_json=as_json)
        return
    with open_memory(path, bank) as memory, progress_bar(quiet=as_json) as progress:
        report = memory.build_episodes(
            **chosen,
            workers=workers,
            max_calls=max_calls,
            max_tokens=max_tokens,
            progress=progress,
        )
    cost = cost_of(report.usage, prices)
    if as_json:
        emit_json({**to_json(report), "calls": report.calls, "cost": cost})
    else:
        _show_episode_report(out(), report, cost)
    if report.stopped or report.failure_rate > MOST_FAILURES:
        raise SystemExit(EXIT_FAILED_ITEMS)


@build.command("status")
@bank_option
@json_option
@failing_clearly
def status(path: str | None, bank: str | None, as_json: bool) -> None:
    """How far the facts and the episodes of a bank are: done, failed and pending, by session.

    \b
    Example:
      evimem build status
    """
    states: dict[str, Any] = {}
    missing: SettingsError | None = None
    with open_memory(path, bank) as memory:
        for name, look in (
            ("facts", lambda: memory.estimate_build().state),
            ("episodes", memory.episode_state),
        ):
            try:
                states[name] = look()
            except SettingsError as error:  # the lite form of episodes needs no model
                missing = missing or error
    if missing is not None and not states:
        raise missing
    if as_json:
        found = to_json(states["facts"]) if "facts" in states else {}
        emit_json({**found, "episodes": states["episodes"]})
        return
    if "facts" in states:
        _show_state(out(), states["facts"])
    else:
        out().print(f"facts: {missing}", style="dim", markup=False)
    _show_episode_state(out(), states["episodes"])


def prices_of(path: str | None, bank: str | None) -> Mapping[str, Price]:
    """What the configured models cost, by model; empty without any."""
    models = build_models(Settings.load(path=path, bank=bank))
    return models.prices if isinstance(models, ModelPool) else {}


def cost_of(usage: Iterable[ModelUsage], prices: Mapping[str, Price]) -> float | None:
    """What calls cost; None where a model has no price."""
    total = 0.0
    for one in usage:
        price = prices.get(one.model)
        if price is None:
            return None
        total += call_cost(
            price,
            tokens_in=one.tokens_in,
            tokens_out=one.tokens_out,
            tokens_cached=min(one.tokens_cached, one.tokens_in),
        )
    return total


def _show_estimate(estimate: BuildEstimate, prices: Mapping[str, Price], *, as_json: bool) -> None:
    usage = ModelUsage(
        model=estimate.model,
        calls=estimate.calls,
        tokens_in=estimate.tokens_in,
        tokens_out=estimate.tokens_out,
    )
    cost = cost_of([usage], prices)
    if as_json:
        emit_json({**to_json(estimate), "cost": cost})
        return
    console = out()
    console.print(
        f"{estimate.turns:,} turns to read with {estimate.model}: about {estimate.calls:,} calls, "
        f"{estimate.tokens_in:,} tokens in and {estimate.tokens_out:,} out{priced(cost)}",
        markup=False,
    )
    _show_state(console, estimate.state)


def priced(cost: float | None) -> str:
    """A cost as it goes behind a count of tokens; empty where it is unknown."""
    return "" if cost is None else f", cost {cost:.4f}"


def _show_report(console: Console, report: BuildReport, cost: float | None) -> None:
    tokens_in = sum(one.tokens_in for one in report.usage)
    tokens_out = sum(one.tokens_out for one in report.usage)
    console.print(
        f"{report.built:,} turns read in {report.seconds:.1f} s: {report.calls:,} calls, "
        f"{tokens_in:,} tokens in and {tokens_out:,} out{priced(cost)}",
        markup=False,
    )
    _show_state(console, report.state)
    if report.rejected:
        console.print(f"left out: {_listed(report.rejected)}", style="yellow", markup=False)
    if report.changed:
        console.print(f"{report.changed} turns changed while they were read", style="yellow")
    _show_troubles(console, report)
    if report.state.failed or report.state.fallback:
        console.print("read them again with: evimem build facts --failed", markup=False)


def _show_troubles(console: Console, report: BuildReport | EpisodeReport) -> None:
    for turn_id, why in list(report.failures.items())[:_SHOWN]:
        console.print(f"{turn_id}: {why}", style="yellow", markup=False)
    if len(report.failures) > _SHOWN:
        console.print(f"{len(report.failures) - _SHOWN} more (see --json)", style="yellow")
    for line in secrets_lines(report.secrets):
        console.print(line, style="yellow", markup=False)
    for reason in report.degraded:
        console.print(f"degraded: {reason}", style="yellow", markup=False)
    if report.stopped:
        console.print(f"stopped: {report.stopped}", style="red", markup=False)


def _show_state(console: Console, state: BuildState) -> None:
    console.print(
        f"{state.done + state.fallback:,}/{state.turns:,} turns extracted: {state.facts:,} facts "
        f"of {state.with_facts:,} turns; {state.fallback} stand as their own words, "
        f"{state.refused} refused, {state.failed} failed, {state.pending} pending",
        markup=False,
    )
    if state.causes:
        console.print(f"causes: {_listed(state.causes)}", markup=False)
    _show_unfinished(console, state.sessions)


def _show_unfinished(console: Console, sessions: Sequence[SessionState]) -> None:
    unfinished = [one for one in sessions if one.failed or one.pending]
    for one in unfinished[:_SHOWN]:
        console.print(
            f"session {one.source_id or one.session_id}: {one.done} of {one.turns} turns done, "
            f"{one.failed} failed, {one.pending} pending",
            style="dim",
            markup=False,
        )
    if len(unfinished) > _SHOWN:
        console.print(f"{len(unfinished) - _SHOWN} more sessions (see --json)", style="dim")


def _show_episode_estimate(
    estimate: EpisodeEstimate, prices: Mapping[str, Price], *, as_json: bool
) -> None:
    usage = ModelUsage(
        model=estimate.model,
        calls=estimate.calls,
        tokens_in=estimate.tokens_in,
        tokens_out=estimate.tokens_out,
    )
    cost = cost_of([usage] if estimate.model else [], prices)
    if as_json:
        emit_json({**to_json(estimate), "cost": cost})
        return
    console = out()
    what = f"{estimate.turns:,} turns in {estimate.batches:,} {_units(estimate.state)} to make"
    if estimate.model:
        what = (
            f"{what} with {estimate.model}: roughly {estimate.calls:,} calls, "
            f"{estimate.tokens_in:,} tokens in and {estimate.tokens_out:,} out{priced(cost)}"
        )
    else:
        what = f"{what} without a model"
    console.print(what, markup=False)
    _show_episode_state(console, estimate.state)


def _units(state: EpisodeState) -> str:
    return "batches" if state.builder == "episodes" else "sessions"


def _show_episode_report(console: Console, report: EpisodeReport, cost: float | None) -> None:
    line = f"{report.built:,} {_units(report.state)} made in {report.seconds:.1f} s"
    if report.usage:
        tokens_in = sum(one.tokens_in for one in report.usage)
        tokens_out = sum(one.tokens_out for one in report.usage)
        line += (
            f": {report.calls:,} calls, {tokens_in:,} tokens in and {tokens_out:,} out"
            f"{priced(cost)}"
        )
    console.print(line, markup=False)
    if report.replaced:
        console.print(
            f"{report.replaced:,} episodes and facts of the other form were taken out: a bank "
            "holds one form",
            style="yellow",
        )
    _show_episode_state(console, report.state)
    if report.rejected:
        console.print(
            f"left out or mended: {_listed(report.rejected)}", style="yellow", markup=False
        )
    if report.changed:
        console.print(
            f"{report.changed} {_units(report.state)} changed while they were made: the same "
            "command makes them anew",
            style="yellow",
        )
    _show_troubles(console, report)
    if report.state.failed or report.state.fallback:
        console.print("make them again with: evimem build episodes --failed", markup=False)


def _show_episode_state(console: Console, state: EpisodeState) -> None:
    if not state.episodes and state.pending == state.batches:
        hint = "" if not state.batches else f", {state.turns:,} turns wait for `build episodes`"
        console.print(f"no episodes yet{hint}", markup=False)
    else:
        console.print(
            f"{state.done + state.fallback:,}/{state.batches:,} {_units(state)} made, form "
            f"{state.builder}: {state.episodes:,} episodes, {state.facts:,} semantic facts; "
            f"{state.fallback} with own words in parts, {state.refused} refused, {state.failed} "
            f"failed, {state.pending} pending",
            markup=False,
        )
        if state.causes:
            console.print(f"causes: {_listed(state.causes)}", markup=False)
        _show_unfinished(console, state.sessions)
    if state.others:
        console.print(
            f"the bank holds {state.others:,} episodes and facts of the other form: they go as "
            "soon as this one is built",
            style="yellow",
        )


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{n} x {name}" for name, n in sorted(counts.items()))


COMMANDS = (build,)
