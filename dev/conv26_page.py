"""The report page of dev/run_conv26.py: one HTML file that needs nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from evimem.model.chat import ModelCall
from evimem.model.evidence import Assessment, Candidate, Decision, Plan
from evimem.model.graph import EvidenceGraph, GraphDelta
from evimem.trace import Round, Trace

if TYPE_CHECKING:
    from run_conv26 import Asked, Run

__all__ = ["page"]

STYLE = """
:root { color-scheme: light; --ink: #1d2733; --soft: #5b6876; --line: #dfe4ea; --back: #f6f7f9;
  --good: #1b7f4b; --warn: #9a6200; --bad: #b3261e; --mark: #fff6d6; }
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main { max-width: 68rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.5rem; margin: .5rem 0; } h2 { font-size: 1.2rem; margin: 2rem 0 .5rem; }
h3 { font-size: 1rem; margin: 1.2rem 0 .3rem; }
p { margin: .4rem 0; } .soft { color: var(--soft); } .small { font-size: .85rem; }
.scroll { overflow-x: auto; background: #fff; border: 1px solid var(--line); border-radius: 8px; }
table { border-collapse: collapse; width: 100%; font-size: .88rem; }
th, td { text-align: left; vertical-align: top; padding: .35rem .6rem;
  border-bottom: 1px solid var(--line); }
tr:last-child td { border-bottom: 0; }
th { color: var(--soft); font-weight: 600; white-space: nowrap; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.text { min-width: 16rem; overflow-wrap: anywhere; }
tr.gold { background: var(--mark); }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); gap: .6rem; }
.card { background: #fff; border: 1px solid var(--line); border-radius: 8px; padding: .6rem .8rem; }
.card b { display: block; font-size: 1.25rem; font-variant-numeric: tabular-nums; }
details.q, details.block { background: #fff; border: 1px solid var(--line); border-radius: 8px;
  margin: .6rem 0; padding: .2rem .8rem; }
details > summary { cursor: pointer; padding: .5rem 0; }
details.q > summary { font-weight: 600; }
details .scroll { margin: .4rem 0; }
.tag { display: inline-block; border-radius: 999px; padding: 0 .55rem; font-size: .8rem;
  border: 1px solid var(--line); color: var(--soft); background: #fff; font-weight: 400;
  white-space: nowrap; }
.good { color: var(--good); } .warn { color: var(--warn); } .bad { color: var(--bad); }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: var(--back); margin: .3rem 0;
  padding: .5rem; border-radius: 6px; font-size: .8rem; max-height: 20rem; overflow-y: auto; }
ul { margin: .2rem 0; padding-left: 1.2rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; margin: 0;
  font-size: .9rem; } dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
@media (max-width: 40rem) { dl { grid-template-columns: 1fr; } dt { margin-top: .4rem; } }
"""
STATUS = {"supported": "good", "partial": "warn", "unverified": "warn", "not_in_memory": "bad"}
VERDICT = {"accept": "good", "flag": "warn", "reject": "soft"}
RAW = 600


def page(run: Run, figures: dict[str, Any]) -> str:
    """The whole page.

    Args:
        run: what was done.
        figures: its summary.
    """
    title = "MERA on conv-26 with a small model"
    parts = [
        f"<h1>{title}</h1>",
        '<p class="soft">A check that every prompt, schema and limit works over a real server. The '
        "model is too small for its answers to say anything about the method.</p>",
        _pairs(run.manifest),
        "<h2>Totals</h2>",
        _cards(figures),
        _roles(figures),
        _recall(figures),
        "<h2>Facts</h2>",
        _build(run, figures["build"]),
        "<h2>Questions</h2>",
        '<p class="soft small">Open a question for its rounds. Candidates on yellow ground are '
        "gold turns; recall is the share of a question's gold turns up to its last round.</p>",
        _overview(figures["questions"]),
        *(_question(one, run) for one in run.asked),
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{STYLE}</style></head><body><main>\n"
        + "\n".join(parts)
        + "\n</main></body></html>\n"
    )


def _e(value: object) -> str:
    return escape(str(value), quote=True)


def _pairs(pairs: dict[str, str]) -> str:
    rows = "".join(f"<dt>{_e(key)}</dt><dd>{_e(value)}</dd>" for key, value in pairs.items())
    return f"<dl>{rows}</dl>"


def _table(
    head: Sequence[str], rows: Iterable[Sequence[str]], marks: Sequence[str] | None = None
) -> str:
    """A table. Cells are HTML; a heading that begins with # is of numbers, with * of long text."""
    kinds = [{"#": "n", "*": "text"}.get(one[:1], "") for one in head]
    named = [one.lstrip("#*") for one in head]
    top = "".join(f'<th class="{k}">{_e(n)}</th>' for k, n in zip(kinds, named, strict=True))
    body = []
    for n, row in enumerate(rows):
        cells = "".join(f'<td class="{k}">{c}</td>' for k, c in zip(kinds, row, strict=True))
        body.append(f'<tr class="{marks[n] if marks is not None else ""}">{cells}</tr>')
    if not body:
        return ""
    return f'<div class="scroll"><table><tr>{top}</tr>{"".join(body)}</table></div>'


def _number(value: float) -> str:
    return f"{value:,.1f}" if isinstance(value, float) else f"{value:,}"


def _share(value: float) -> str:
    return f"{100 * value:.0f}%"


def _cards(figures: dict[str, Any]) -> str:
    roles = figures["by_role"].values()
    build = figures["build"]
    rows = figures["questions"]
    shown = {
        "questions asked": len(rows),
        "without an answer": sum(1 for row in rows if row["problem"]),
        "turns read": build["turns"],
        "facts": build["facts"],
        "turns as fallback": build["fallback"],
        "plans unusable": sum(row.get("plans_unusable", 0) for row in rows),
        "checks unusable": sum(row.get("checks_unusable", 0) for row in rows),
        "tokens, facts": build["tokens_in"] + build["tokens_out"],
        "tokens, questions": sum(one["tokens_in"] + one["tokens_out"] for one in roles),
        "seconds, facts": build["seconds"],
        "seconds, questions": figures["seconds"],
    }
    cards = (
        f'<div class="card"><b>{_number(value)}</b><span class="soft small">{_e(name)}</span></div>'
        for name, value in shown.items()
    )
    return f'<div class="cards">{"".join(cards)}</div>'


def _roles(figures: dict[str, Any]) -> str:
    head = ["role", "#calls", "#thrown away", "#failed", "#tokens in", "#cached", "#tokens out"]
    keys = ["calls", "discarded", "failed", "tokens_in", "tokens_cached", "tokens_out", "seconds"]
    rows = [
        [_e(role), *(_number(held[key]) for key in keys)]
        for role, held in figures["by_role"].items()
    ]
    return "<h3>Calls of the questions by role</h3>" + _table([*head, "#seconds"], rows)


def _recall(figures: dict[str, Any]) -> str:
    viewed = figures["recall_viewed_by_round"]
    accepted = figures["recall_accepted_by_round"]
    head = ["gold turns, mean share", *(f"#round {n}" for n in range(1, len(viewed) + 1))]
    rows = [["viewed", *map(_share, viewed)], ["accepted", *map(_share, accepted)]]
    return (
        "<h3>Recall of gold turns up to each round</h3>"
        + _table(head, rows if viewed else [])
        + '<p class="soft small">A question that ended earlier keeps its last value. A gold turn '
        "that was not found does not prove that a decision to stop was wrong.</p>"
    )


def _build(run: Run, build: dict[str, Any]) -> str:
    names = ("turns", "done", "fallback", "refused", "failed", "turns_with_facts", "facts")
    counts = {
        **{name.replace("_", " "): str(build[name]) for name in names},
        "calls": f"{build['calls']:,.0f}, {build['seconds']:,.0f} s",
        "tokens": f"{build['tokens_in']:,.0f} in ({build['tokens_cached']:,.0f} cached), "
        f"{build['tokens_out']:,.0f} out",
        "left out": ", ".join(f"{n} {why}" for why, n in build["rejected"].items()) or "nothing",
        "why not done": ", ".join(f"{n} {why}" for why, n in build["causes"].items()) or "-",
    }
    rows = []
    for record in run.records:
        turn = run.turns.get(record["turn_id"])
        raw = record.get("raw", "")
        rows.append(
            [
                _e(turn.source_id if turn is not None else record["turn_id"]),
                _e(record["status"]),
                _e(record.get("detail", "")) + (f"<pre>{_e(raw[:RAW])}</pre>" if raw else ""),
            ]
        )
    table = _table(["turn", "status", "*why, and the reply"], rows)
    block = (
        f'<details class="block"><summary>{len(rows)} turns whose reply was not used as it came'
        f"</summary>{table}</details>"
        if rows
        else ""
    )
    return _pairs(counts) + block


def _overview(rows: list[dict[str, Any]]) -> str:
    head = ["question", "category", "status", "stopped", "#rounds", "#calls", "#tokens", "#s"]
    body = []
    for row in rows:
        status = row.get("status") or "no answer"
        viewed, accepted = row.get("recall_viewed") or [0.0], row.get("recall_accepted") or [0.0]
        body.append(
            [
                f'<a href="#{_anchor(row["id"])}">{_e(row["id"])}</a>',
                _e(row["category"]),
                f'<span class="{STATUS.get(status, "bad")}">{_e(status)}</span>',
                _e(row.get("stop_reason", row["problem"])),
                _number(row.get("rounds", 0)),
                _number(row.get("calls", 0)),
                _number(row.get("tokens_in", 0) + row.get("tokens_out", 0)),
                _number(row.get("seconds", 0.0)),
                _share(viewed[-1]),
                _share(accepted[-1]),
            ]
        )
    return _table([*head, "#viewed", "#accepted"], body)


def _anchor(question_id: str) -> str:
    return "q-" + "".join(letter if letter.isalnum() else "-" for letter in question_id)


def _question(one: Asked, run: Run) -> str:
    trace = one.trace
    answer = trace.answer if trace is not None else None
    status = answer.status if answer is not None else "no answer"
    gold = ", ".join(run.turns[ident].source_id for ident in one.gold_turns)
    facts = {
        "answer": answer.text if answer is not None else one.problem,
        "gold answer": one.gold.answer or "(the conversation does not tell)",
        "gold turns": gold,
    }
    if answer is not None and answer.missing:
        facts["missing"] = answer.missing
    if trace is not None:
        facts["asked as of"] = trace.reference_time or "-"
        facts["stopped"] = trace.stop_reason
        facts["left out"] = "; ".join(trace.degraded) or "nothing"
    body = _pairs(facts)
    if trace is not None:
        body += _trace(trace, one, run)
    return (
        f'<details class="q" id="{_anchor(one.question.question_id)}"><summary>'
        f"{_e(one.question.text)} "
        f'<span class="tag">{_e(one.gold.category)}</span> '
        f'<span class="tag {STATUS.get(status, "bad")}">{_e(status)}</span></summary>'
        f"{body}</details>"
    )


def _trace(trace: Trace, one: Asked, run: Run) -> str:
    parts = []
    if trace.seeds is not None:
        seeds = ", ".join(f"{node.name} ({node.type})" for node in trace.seeds.nodes)
        parts.append(f"<h3>Seeds</h3><p>{_e(seeds) or '-'}</p>{_calls(trace.opening)}")
    parts += [_round(each, one, run) for each in trace.rounds]
    if one.graph is not None:
        parts.append("<h3>Final graph</h3>" + _graph(one.graph))
    parts.append("<h3>Answer</h3>" + _calls(trace.closing))
    if trace.answer is not None:
        cited = [
            [_e(c.source_id or c.turn_id), _e(c.speaker), _e(c.quote)]
            for c in trace.answer.citations
        ]
        parts.append(_table(["cited", "speaker", "*quote"], cited))
    return "".join(parts)


def _round(done: Round, one: Asked, run: Run) -> str:
    gained = f'<span class="soft small">{done.seconds:.1f} s, gained {done.gained}</span>'
    parts = [f"<h3>Round {done.n} {gained}</h3>", _plan(done.plan)]
    found = ", ".join(str(len(step.hits)) for step in done.searches)
    if done.searches:
        parts.append(f'<p class="soft small">facts found per intent: {found}</p>')
    parts.append(_candidates(done.candidates, done.assessment, one, run))
    if done.cut:
        parts.append(f'<p class="warn small">{len(done.cut)} candidates were left unread</p>')
    if done.assessment is not None:
        parts.append(_assessment(done.assessment))
    parts.append(_calls(done.calls))
    return "".join(parts)


def _plan(plan: Plan | None) -> str:
    if plan is None:
        return ""
    if plan.problem:
        return f'<p class="bad">Plan unusable: {_e(plan.problem)}</p>'
    vote = "says that it is enough" if plan.sufficient else f"misses: {plan.missing or '-'}"
    rows = [
        [_e(intent.fact), _e(", ".join(intent.entities)), _e(", ".join(intent.topics))]
        for intent in plan.intents
    ]
    left = [*plan.dropped, *([f"{plan.surplus} intents beyond three"] if plan.surplus else [])]
    return (
        f"<p>The planner {_e(vote)}.</p>"
        + _table(["*desired fact", "entities", "topics"], rows)
        + _left_out(left)
    )


def _left_out(reasons: Iterable[str]) -> str:
    lines = "".join(f"<li>{_e(reason)}</li>" for reason in reasons)
    return f'<ul class="warn small">{lines}</ul>' if lines else ""


def _candidates(
    candidates: Sequence[Candidate], assessment: Assessment | None, one: Asked, run: Run
) -> str:
    decided: dict[str, Decision] = {}
    if assessment is not None:
        decided = {decision.item_id: decision for decision in assessment.decisions}
    gold = set(one.gold_turns)
    rows, marks = [], []
    for candidate in candidates:
        decision = decided.get(candidate.item_id)
        verdict = decision.verdict if decision is not None else "-"
        sources = [run.turns[ref].source_id for ref in candidate.refs if ref in run.turns]
        marks.append("gold" if gold & {candidate.item_id, *candidate.refs} else "")
        rows.append(
            [
                _number(candidate.rank),
                f"{candidate.score:.3f}",
                _e(", ".join(sources) or candidate.item_id),
                _e(candidate.payload).replace("\n", "<br>"),
                f'<span class="{VERDICT.get(verdict, "")}">{_e(verdict)}</span>',
                _e(decision.reason if decision is not None else ""),
            ]
        )
    return _table(["#", "#score", "turn", "*record", "decision", "why"], rows, marks)


def _assessment(assessment: Assessment) -> str:
    if assessment.problem:
        return f'<p class="bad">Check unusable, nothing accepted: {_e(assessment.problem)}</p>'
    vote = "enough" if assessment.sufficient else f"not enough: {assessment.missing or '-'}"
    added = _delta(assessment.graph) if assessment.graph is not None else ""
    return f"<p>The verifier says: {_e(vote)}.</p>{added}{_left_out(assessment.dropped)}"


def _delta(delta: GraphDelta) -> str:
    lines = [
        *(f"{node.name} ({node.type})" for node in delta.nodes),
        *(f"{edge.src} → {edge.label} → {edge.dst}" for edge in delta.edges),
        *(f"{one.node}: {one.key} = {one.value}" for one in delta.attributes),
        *(f"closed: {one.text} ({one.why})" for one in delta.invalid),
    ]
    items = "".join(f"<li>{_e(line)}</li>" for line in lines)
    return f'<p class="soft small">added to the graph:</p><ul>{items}</ul>' if lines else ""


def _graph(graph: EvidenceGraph) -> str:
    names = {node.node_id: node.name for node in graph.nodes}
    rows = [
        *(["entity", _e(f"{node.name} ({node.type})"), _number(len(node.refs))]
          for node in graph.nodes),
        *(["relation",
           _e(f"{names.get(edge.src, edge.src)} → {edge.label} → {names.get(edge.dst, edge.dst)}"),
           _number(len(edge.refs))] for edge in graph.edges),
        *(["value",
           _e(f"{names.get(one.node, one.node)}: {one.key} = {one.value} (v{one.version})"
              + (f" = {one.calc.kind} {one.calc.result}" if one.calc is not None else "")),
           _number(len(one.refs))] for one in graph.attributes),
        *([one.status, _e(f"{one.text} {one.why}"), _number(len(one.refs))]
          for one in graph.directions),
    ]  # fmt: skip
    return _table(["kind", "*what", "#turns"], rows) or "<p>empty</p>"


def _calls(calls: Sequence[ModelCall]) -> str:
    rows = []
    for call in calls:
        kind = {"ok": "good", "replayed": "good"}.get(call.outcome, "bad")
        reply = (
            f"<details><summary>reply</summary><pre>{_e(call.text)}</pre></details>"
            if call.text
            else ""
        )
        rows.append(
            [
                _e(call.role),
                f'<span class="{kind}">{_e(call.outcome)}</span>',
                _number(call.tokens_in),
                _number(call.tokens_cached),
                _number(call.tokens_out),
                f"{call.seconds:.1f}",
                _e(call.problem) + reply,
            ]
        )
    head = ["call", "outcome", "#in", "#cached", "#out", "#s", "*problem, reply"]
    return _table(head, rows)
