"""How results look in a terminal. Colour where there is a terminal, plain text elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from evimem.engine import ScanReport, SearchResult
from evimem.model.answer import Answer, Citation, Usage
from evimem.model.cards import ViewCard
from evimem.model.chat import ModelCall
from evimem.model.evidence import Assessment, Plan
from evimem.model.graph import GraphDelta
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
    "unverified": "[yellow]unverified[/]",
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
    if answer.usage.calls:
        console.print(f"  {_cost_line(answer.usage)}", style="dim", markup=False)
    _show_degraded(console, answer.degraded)
    if answer.trace_id:
        console.print(f"  more: evimem trace show {answer.trace_id}", style="dim", markup=False)


def _cited(cited: Citation) -> str:
    place = cited.source_id or cited.turn_id
    return f'{cited.speaker}, {when(cited.said_at)} ({place}): "{cited.quote}"'


def _short(text: str, limit: int = 60) -> str:
    return text if len(text) <= limit else text[: limit - 3].rstrip() + "..."


def _round_line(r: Round) -> str:
    asked = dict.fromkeys(_short(step.request.text) for step in r.searches)
    queries = "; ".join(map(repr, asked)) or "no new query"
    accepted = len(r.assessment.evidence) if r.assessment is not None else 0
    return (
        f"round {r.n}: searched {queries}: {len(r.candidates)} candidates, {accepted} new evidence"
    )


def _cost_line(usage: Usage) -> str:
    return (
        f"{usage.calls} model calls, {usage.tokens_in:,} tokens in and {usage.tokens_out:,} out, "
        f"{usage.seconds:.1f} s"
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
    if trace.plan is not None:
        _show_need(console, trace.plan)
    if trace.seeds is not None:
        seeds = ", ".join(f"{node.name} ({node.type})" for node in trace.seeds.nodes)
        console.print(f"seeds: {seeds}", markup=False)
    for note in trace.notes:
        console.print(f"  left out: {note}", style="yellow", markup=False)
    _show_calls(console, trace.opening)
    for r in trace.rounds:
        _show_round(console, r, texts)
    _show_calls(console, trace.closing)
    console.print(f"stopped: {trace.stop_reason}", markup=False)
    if trace.answer is not None:
        show_answer(console, trace.answer)


def _show_round(console: Console, r: Round, texts: dict[str, str]) -> None:
    console.print(f"\nround {r.n}  ({r.seconds * 1000:.0f} ms)", style="bold")
    if r.plan is not None:
        _show_plan(console, r.plan)
    reasons: dict[str, dict[str, None]] = {}
    for step in r.searches:
        reasons.setdefault(step.request.text, {})[step.why] = None
    for query, why in reasons.items():
        console.print(f"  query: {query!r}", markup=False)
        console.print(f"  why:   {', '.join(why)}", style="dim", markup=False)
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
    if r.assessment is not None:
        _show_assessment(console, r.assessment)
    _show_calls(console, r.calls)


def _show_assessment(console: Console, made: Assessment) -> None:
    if made.missing:
        console.print(f"  missing: {made.missing}", style="yellow", markup=False)
    for card in made.cards:
        _show_card(console, card)
    for query in made.follow_ups:
        console.print(f"  asks next: {query!r}", markup=False)
    if made.graph is not None:
        _show_delta(console, made.graph)
    for reason in (made.problem, *made.dropped):
        if reason:
            console.print(f"  left out: {reason}", style="yellow", markup=False)


def _show_need(console: Console, plan: Plan) -> None:
    need = plan.need
    if need is not None:
        marks: list[str] = [need.answer_type]
        marks += ["over several sessions"] if need.aggregate else []
        marks += ["about time"] if need.temporal else []
        console.print(f"needs: {need.need} ({', '.join(marks)})", markup=False)
    for query in plan.queries:
        console.print(f"  planned query: {query!r}", markup=False)


def _show_card(console: Console, card: ViewCard) -> None:
    """A card: its claim, what it stands on, and what a check of it found."""
    mark = "verified" if card.quote_verified else "UNVERIFIED"
    where = ", ".join((*card.sources, *(f"{one} (unknown)" for one in card.unresolved)))
    console.print(f"  [{card.card_id}] {card.claim}", markup=False)
    style = "green" if card.quote_verified else "yellow"
    when_ = f", {card.time} (by the {card.time_origin})" if card.time else ""
    console.print(
        f'       {mark} from {where or "no source"}: "{card.quote}"{when_}; {card.role}',
        style=style,
        markup=False,
    )


def _show_plan(console: Console, plan: Plan) -> None:
    vote = "says it is enough" if plan.sufficient else f"misses: {plan.missing or '-'}"
    console.print(f"  planner {vote}", markup=False)
    surplus = (f"{plan.surplus} intents beyond three",) if plan.surplus else ()
    for reason in (plan.problem, *plan.dropped, *surplus):
        if reason:
            console.print(f"  left out: {reason}", style="yellow", markup=False)


def _show_delta(console: Console, delta: GraphDelta) -> None:
    for node in delta.nodes:
        console.print(f"  + {node.name} ({node.type})", style="green", markup=False)
    for edge in delta.edges:
        console.print(f"  + {edge.src} -> {edge.label} -> {edge.dst}", style="green", markup=False)
    for one in delta.attributes:
        console.print(f"  + {one.node}: {one.key} = {one.value}", style="green", markup=False)
    for closed in delta.invalid:
        console.print(f"  x {closed.text}: {closed.why}", style="red", markup=False)


def _show_calls(console: Console, calls: Sequence[ModelCall]) -> None:
    for call in calls:
        problem = f"  {call.problem}" if call.problem else ""
        console.print(
            f"  {call.role}: {call.model}, {call.prompt}: {call.outcome}, {call.tokens_in} + "
            f"{call.tokens_out} tokens, {call.seconds:.1f} s{problem}",
            style="dim",
            markup=False,
        )
