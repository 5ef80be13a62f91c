"""How results look in a terminal. Colour where there is a terminal, plain text elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from evimem.engine import ScanReport, SearchResult
from evimem.model.answer import Answer, Citation
from evimem.model.receipt import ImportReceipt
from evimem.ports import EraseReceipt
from evimem.trace import Round, Trace

__all__ = [
    "secrets_lines",
    "show_answer",
    "show_erased",
    "show_import",
    "show_scan",
    "show_search",
    "show_trace",
    "when",
]

_STATUS = {
    "supported": "[green]supported[/]",
    "partial": "[yellow]partial[/]",
    "not_in_memory": "[red]not in memory[/]",
}


def when(moment: datetime | None) -> str:
    """A time for people; an unknown one is never shown as now."""
    return moment.strftime("%a %d %b %Y, %H:%M") if moment is not None else "time unknown"


def show_answer(console: Console, answer: Answer, *, trace: Trace | None = None) -> None:
    """The answer, its citations, the rounds that found it."""
    console.print(f"[bold]{escape(answer.text)}[/]  ({_STATUS[answer.status]})")
    if answer.missing:
        console.print(f"  missing: {escape(answer.missing)}", style="yellow")
    label = "nearest evidence" if answer.status == "not_in_memory" else "evidence"
    for n, cited in enumerate(answer.citations, 1):
        console.print(f"  [{label} {n}] {_cited(cited)}", markup=False)
    if trace is not None:
        for r in trace.rounds:
            console.print(f"  {_round_line(r)}", style="dim", markup=False)
        console.print(f"  stopped: {trace.stop_reason}", style="dim", markup=False)
    _show_degraded(console, answer.degraded)
    if answer.trace_id:
        console.print(f"  more: evimem trace show {answer.trace_id}", style="dim", markup=False)


def _cited(cited: Citation) -> str:
    place = cited.source_id or cited.turn_id
    return f'{cited.speaker}, {when(cited.said_at)} ({place}): "{cited.quote}"'


def _short(text: str, limit: int = 60) -> str:
    return text if len(text) <= limit else text[: limit - 3].rstrip() + "..."


def _round_line(r: Round) -> str:
    queries = "; ".join(repr(_short(s.request.text)) for s in r.searches) or "no new query"
    accepted = len(r.assessment.evidence) if r.assessment is not None else 0
    return (
        f"round {r.n}: searched {queries}: {len(r.candidates)} candidates, {accepted} new evidence"
    )


def _show_degraded(console: Console, degraded: tuple[str, ...]) -> None:
    for reason in degraded:
        console.print(f"  degraded: {escape(reason)}", style="yellow")


def show_search(console: Console, result: SearchResult, *, explain: bool) -> None:
    """Hits as a list; with `explain` the place in every list."""
    if not result.hits:
        console.print(f"nothing found ({result.reason or 'nothing_matches'})", style="yellow")
    for hit in result.hits:
        place = hit.source_id or hit.turn_id
        head = f"{hit.rank:>3}. {hit.speaker}, {when(hit.said_at)} ({place})  {hit.score:.3f}"
        console.print(head, style="cyan", markup=False)
        console.print(f"     {' '.join(hit.text.split())}", markup=False)
        if explain:
            ranks = ", ".join(f"{name} {rank}" for name, rank in sorted(hit.ranks.items()))
            console.print(f"     ranks: {ranks}", style="dim", markup=False)
    _show_degraded(console, result.degraded)


def show_import(console: Console, receipt: ImportReceipt) -> None:
    """The receipt: stored, skipped and why, failed."""
    console.print(f"format: {', '.join(receipt.formats) or 'none'}", markup=False)
    console.print(
        f"turns: [green]{receipt.stored} stored[/], {receipt.unchanged} already there, "
        f"{receipt.updated} updated, {receipt.blank} blank; {receipt.sessions} sessions"
    )
    if receipt.facts:
        console.print(f"facts: {receipt.facts}")
    for line in secrets_lines(receipt.secrets):
        console.print(line, style="yellow", markup=False)
    for reason, count in sorted(receipt.skipped.items()):
        console.print(f"skipped: {count} x {reason}", style="dim", markup=False)
    for warning in receipt.warnings:
        console.print(f"warning: {warning}", style="yellow", markup=False)
    for failure in receipt.failed[:20]:
        console.print(f"failed: {failure.where}: {failure.message}", style="red", markup=False)
    if len(receipt.failed) > 20:
        console.print(f"failed: {len(receipt.failed) - 20} more (see --json)", style="red")
    console.print(f"took {receipt.seconds:.1f} s", style="dim", markup=False)


def secrets_lines(secrets: Mapping[str, int]) -> list[str]:
    """What a receipt says about secrets: how many of which kind, never what they are."""
    return [f"secrets: {count} x {kind}" for kind, count in sorted(secrets.items())]


def show_scan(console: Console, report: ScanReport) -> None:
    """Where secrets are stored, and whether they are gone."""
    for one in report.findings:
        where = f"{one.place} {one.ref}" + (f" ({one.source_id})" if one.source_id else "")
        console.print(f"{where}: {one.count} x {one.kind}", markup=False)
    console.print(
        f"{len(report.findings)} findings in {report.scanned} turns and facts", markup=False
    )
    if not report.findings:
        return
    if not report.fixed:
        console.print("run `evimem scan --fix` to take them out for good", style="yellow")
    elif report.scrubbed:
        console.print("taken out; no byte of them is left in the bank's files", style="green")
    else:
        console.print(
            "taken out; a reader still keeps the log: run `evimem doctor` when it is done",
            style="yellow",
        )
    _show_degraded(console, report.degraded)


def show_erased(console: Console, receipt: EraseReceipt) -> None:
    """What was erased, and whether the files are clean."""
    console.print(
        f"erased: {len(receipt.turns)} turns, {len(receipt.items)} derived items, "
        f"{len(receipt.sessions)} sessions, {receipt.vectors} vectors, {receipt.traces} traces; "
        f"{receipt.changes_blanked} log entries blanked"
    )
    if receipt.scrubbed:
        console.print("no byte of it is left in the bank's files", style="green")
    else:
        console.print(
            "another process is reading: run `evimem doctor` when it is done, to clean the log",
            style="yellow",
        )


def show_trace(console: Console, trace: Trace, texts: dict[str, str]) -> None:
    """Every round: query, why, candidates with ranks per list, decision and reason."""
    console.print(f"[bold]{escape(trace.question)}[/]")
    console.print(
        f"{trace.trace_id}  recipe {trace.recipe}  bank {trace.bank}  asked {trace.created_at}",
        style="dim",
        markup=False,
    )
    for r in trace.rounds:
        _show_round(console, r, texts)
    console.print(f"stopped: {trace.stop_reason}", markup=False)
    if trace.answer is not None:
        show_answer(console, trace.answer)


def _show_round(console: Console, r: Round, texts: dict[str, str]) -> None:
    console.print(f"\nround {r.n}  ({r.seconds * 1000:.0f} ms)", style="bold")
    for step in r.searches:
        console.print(f"  query: {step.request.text!r}", markup=False)
        console.print(f"  why:   {step.why}", style="dim", markup=False)
    ranks = {hit.item_id: hit.ranks for step in r.searches for hit in step.hits}
    decisions = {d.item_id: d for d in r.assessment.decisions} if r.assessment is not None else {}
    table = Table(box=None, pad_edge=False, padding=(0, 1))
    for title in ("#", "score", "lists", "decision", "why", "text"):
        table.add_column(title, overflow="fold")
    for candidate in r.candidates:
        decision = decisions.get(candidate.item_id)
        places = ranks.get(candidate.item_id, {})
        table.add_row(
            str(candidate.rank),
            f"{candidate.score:.2f}",
            " ".join(f"{name}:{rank}" for name, rank in sorted(places.items())),
            decision.verdict if decision is not None else "-",
            decision.reason if decision is not None else "-",
            escape(" ".join(texts.get(candidate.item_id, "").split())[:160]),
        )
    if r.candidates:
        console.print(table)
    if r.assessment is not None and r.assessment.missing:
        console.print(f"  missing: {r.assessment.missing}", style="yellow", markup=False)
