"""What systems cost: tokens offline and online, calls by role, seconds, money (MERA-73 to 77).

Offline is what turns conversations into memory, counted per conversation (LongMemEval: per
question, since every question has a haystack of its own); online is everything that a question
takes. The counting rules are those of `model.cost`; embeddings, judge calls and answers by the
shared prompt are counted apart and enter no total.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evimem.datasets import Dataset
from evimem.errors import UsageError
from evimem.eval.diagnostics.trajectories import standing_notes
from evimem.eval.harness.calls import model_calls
from evimem.eval.harness.rows import RunData, SystemRun
from evimem.eval.harness.tables import Cell, Section, Table
from evimem.model.chat import Role
from evimem.model.cost import Cost, Price, TokenSum, Totals, totals
from evimem.model.cost import cost as priced

__all__ = [
    "GROUPS",
    "Runtime",
    "SystemCost",
    "calls_per_question",
    "group_shares",
    "runtime",
    "section",
    "shares",
    "system_cost",
]

GROUPS: Mapping[str, tuple[Role, ...]] = {
    "planning": ("seed", "plan"),
    "evidence": ("verify",),
    "answering": ("answer",),
    "other": ("extract", "manage"),
}
"""Roles of the online cost, as shares of the cost are told (QEM-44)."""

_ROLES: tuple[Role, ...] = ("seed", "plan", "verify", "answer", "extract", "manage")


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemCost:
    """What one system cost in one run."""

    system: str
    """The system."""
    unit: str
    """What the offline cost is shared among: "conversation" or "question" (MERA-73)."""
    builds: int
    """How many of them."""
    asked: int
    """Questions asked, failed ones too: the denominator of the online cost."""
    offline: Totals
    """All builds together; only `summary` and `update` are filled by a system that keeps to the
    phases."""
    online: Totals
    """All questions together."""
    offline_money: Cost
    """Of all builds, one time."""
    online_money: Cost
    """Of all questions."""
    money_by_role: Mapping[Role, float]
    """Of all questions, by role; adds up to `online_money`."""
    shared: TokenSum
    """Answers by the shared prompt; in no total."""
    seconds_offline: float
    """Wall time of all builds."""
    seconds_online: float
    """Wall time of all questions."""
    failed_builds: int
    """Builds that failed; what they used is counted."""
    failed_asks: int
    """Questions that failed; what they used is counted."""
    stray: int
    """Calls of another phase than where they were made; they count where they were made."""


def system_cost(
    run: SystemRun, dataset: Dataset, *, prices: Mapping[str, Price] | None = None
) -> SystemCost:
    """What one system cost (MERA-73 to 76, QEM-43).

    Args:
        run: the system.
        dataset: the questions; sums run in their order, so that threads change nothing.
        prices: model -> price of a million tokens; None: no money.
    """
    built = [run.builds[one] for one in dataset.histories if one in run.builds]
    asked = [run.asks[q.question_id] for q in dataset.questions if q.question_id in run.asks]
    shared = [run.shared[q.question_id] for q in dataset.questions if q.question_id in run.shared]
    offline = model_calls(call for row in built for call in row.calls)
    online = model_calls(call for row in asked for call in row.calls)
    offline_sum = totals(offline, embeddings=sum(row.embeddings for row in built))
    online_sum = totals(online, embeddings=sum(row.embeddings for row in asked))
    table = prices or {}
    return SystemCost(
        system=run.name,
        unit="question" if dataset.name == "longmemeval" else "conversation",
        builds=len(built),
        asked=len(asked),
        offline=offline_sum,
        online=online_sum,
        offline_money=priced([one for one in offline if one.role != "judge"], table),
        online_money=priced([one for one in online if one.role != "judge"], table),
        money_by_role={
            role: priced([one for one in online if one.role == role], table).amount
            for role in _ROLES
        },
        shared=totals(model_calls(call for row in shared for call in row.calls)).online,
        seconds_offline=sum(row.seconds for row in built),
        seconds_online=sum(row.seconds for row in asked),
        failed_builds=sum(bool(row.failed) for row in built),
        failed_asks=sum(bool(row.failed) for row in asked),
        stray=offline_sum.online.calls + online_sum.offline.calls,
    )


def calls_per_question(one: SystemCost) -> tuple[float, float] | None:
    """Calls of a question with and without the planner's (X8); None where none was asked."""
    if not one.asked:
        return None
    every = one.online.online.calls
    plan = one.online.roles.get("plan", TokenSum()).calls
    return every / one.asked, (every - plan) / one.asked


def shares(parts: Mapping[str, float], *, digits: int = 1) -> dict[str, float]:
    """Parts of a whole in percent, rounded so that they add up to 100 exactly (QEM-44).

    The largest remainders are rounded up, ties in the order given.

    Args:
        parts: name -> amount, none below zero.
        digits: decimals kept.

    Raises:
        ValueError: an amount is negative.
    """
    if any(amount < 0 for amount in parts.values()):
        raise ValueError(f"no share of a negative amount: {dict(parts)!r}")
    whole = sum(parts.values())
    if whole == 0:
        return dict.fromkeys(parts, 0.0)
    grains = 100 * 10**digits
    exact = {name: grains * amount / whole for name, amount in parts.items()}
    rounded = {name: math.floor(value) for name, value in exact.items()}
    missing = grains - sum(rounded.values())
    for name in sorted(exact, key=lambda one: rounded[one] - exact[one])[:missing]:
        rounded[name] += 1
    return {name: value / 10**digits for name, value in rounded.items()}


def group_shares(one: SystemCost, *, money: bool) -> dict[str, float]:
    """Shares of the online cost by `GROUPS`, in percent: of money, or of tokens."""
    amounts = {
        name: sum(
            one.money_by_role[role] if money else one.online.roles.get(role, TokenSum()).total
            for role in roles
        )
        for name, roles in GROUPS.items()
    }
    return shares(amounts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """Seconds and calls of a question, averaged per question, then over runs (MERA-77)."""

    system: str
    """The system."""
    runs: int
    """Runs averaged."""
    asked: int
    """Questions of all runs together."""
    calls: float
    """Calls of a question."""
    without_planner: float
    """The same without the planner's (X8)."""
    seconds: float
    """Seconds of a question."""
    ratio: float | None
    """`seconds` over the reference's; None where that is not in the runs or took no time."""


def runtime(runs: Sequence[RunData], *, reference: str | None = None) -> tuple[Runtime, ...]:
    """Seconds and calls per question of every system (MERA-77).

    A run counts as one whatever its number of questions.

    Args:
        runs: runs of the same systems on the same questions.
        reference: the system that the others' seconds are laid beside.

    Raises:
        UsageError: the runs are of different questions.
    """
    sets = {frozenset(q.question_id for q in one.dataset.questions) for one in runs}
    if len(sets) > 1:
        raise UsageError("runs of different questions cannot be averaged; make a table for each")
    found: dict[str, list[tuple[float, float, float]]] = {}
    asked: dict[str, int] = {}
    for data in runs:
        for run in data.systems:
            one = system_cost(run, data.dataset)
            calls = calls_per_question(one)
            if calls is not None:
                found.setdefault(run.name, []).append((*calls, one.seconds_online / one.asked))
                asked[run.name] = asked.get(run.name, 0) + one.asked
    means = {name: _columns_mean(rows) for name, rows in found.items()}
    base = means[reference][2] if reference in means else 0.0
    return tuple(
        Runtime(
            system=name,
            runs=len(found[name]),
            asked=asked[name],
            calls=calls,
            without_planner=without,
            seconds=seconds,
            ratio=seconds / base if base else None,
        )
        for name, (calls, without, seconds) in means.items()
    )


def _columns_mean(rows: Sequence[tuple[float, float, float]]) -> tuple[float, float, float]:
    one, two, three = (sum(column) / len(rows) for column in zip(*rows, strict=True))
    return one, two, three


def section(
    data: RunData,
    *,
    prices: Mapping[str, Price] | None = None,
    currency: str = "USD",
    reference: str | None = None,
    parallel: int | None = None,
    repeats: Sequence[RunData] = (),
) -> Section:
    """Tokens, calls, seconds and money of every system.

    Args:
        data: the run.
        prices: model -> price of a million tokens; None leaves the tables of money out.
        currency: what prices are in.
        reference: the system that seconds are laid beside.
        parallel: questions asked at a time; None: what the manifest says.
        repeats: more runs of the same, whose seconds are averaged in.

    Raises:
        UsageError: the repeats are of different questions.
    """
    costs = [system_cost(run, data.dataset, prices=prices) for run in data.systems]
    at_a_time = str(parallel) if parallel else data.manifest.get("parallel", "unknown")
    tables = [
        _offline(costs, standing_notes(data)),
        _online(costs),
        _roles(costs),
        _calls(costs),
        _shares(costs, money=False),
        _runtime(runtime((data, *repeats), reference=reference), reference, at_a_time),
        _apart(costs),
    ]
    if prices:
        tables += [_money(costs, currency), _shares(costs, money=True)]
    return Section(name="cost", title="Cost", tables=tuple(tables), notes=_strays(costs))


def _strays(costs: Sequence[SystemCost]) -> tuple[str, ...]:
    """Numbers that a reader must know of: partial work and calls in another phase."""
    notes = [
        f"{one.system}: {one.failed_builds} builds and {one.failed_asks} questions failed; what "
        "they used until then is counted"
        for one in costs
        if one.failed_builds or one.failed_asks
    ]
    notes += [
        f"{one.system}: {one.stray} calls belong to another phase than where they were made and "
        "are in neither total"
        for one in costs
        if one.stray
    ]
    return tuple(notes)


def _offline(costs: Sequence[SystemCost], notes: tuple[str, ...]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for one in costs:
        n = max(one.builds, 1)
        update = one.offline.update
        rows.append(
            (
                one.system,
                f"per {one.unit}",
                one.builds,
                *one.offline.summary.per(n)[:2],
                *((None, None) if update is None else update.per(n)[:2]),
                one.offline.offline.per(n)[2],
                one.seconds_offline / n,
            )
        )
    return Table(
        title="Offline tokens: conversations into memory",
        columns=(
            "system",
            "unit",
            "n",
            "summary in",
            "summary out",
            "update in",
            "update out",
            "total",
            "seconds",
        ),
        rows=tuple(rows),
        notes=(
            *notes,
            "summary: raw turns into memory; update: changes of what is stored, - where a system "
            "has no such phase (that is not 0). The four columns add up to the total.",
            "Generated text that was thrown away and prompt tokens from a prefix cache count; a "
            "saved reply counts once; calls that came to nothing do not count.",
        ),
        ids=("MERA-73", "MERA-76", "QEM-43"),
    )


def _online(costs: Sequence[SystemCost]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for one in costs:
        each = one.online.online.per(one.asked) if one.asked else (None, None, None)
        rows.append((one.system, one.asked, *each))
    return Table(
        title="Online tokens per question, answered by the own prompt",
        columns=("system", "n", "in", "out", "total"),
        rows=tuple(rows),
        notes=(
            "Every call between question and answer: opening, planning, reading evidence, "
            "answering. Building memory, embeddings, search and judging are not in it.",
        ),
        ids=("MERA-74", "MERA-75"),
    )


def _roles(costs: Sequence[SystemCost]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for one in costs:
        sums = [one.online.roles.get(role) for role in _ROLES]
        each = [None if s is None or not one.asked else s.total / one.asked for s in sums]
        total = one.online.online.total / one.asked if one.asked else None
        rows.append((one.system, *each, total))
    return Table(
        title="Online tokens per question by role",
        columns=("system", *_ROLES, "total"),
        rows=tuple(rows),
        notes=("The roles add up to the total; - : no call of that role.",),
        ids=("MERA-74",),
    )


def _calls(costs: Sequence[SystemCost]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for one in costs:
        both = calls_per_question(one)
        sums = [one.online.roles.get(role) for role in _ROLES]
        each = [None if s is None or not one.asked else s.calls / one.asked for s in sums]
        rows.append((one.system, *each, *(both or (None, None))))
    return Table(
        title="Model calls per question by role",
        columns=("system", *_ROLES, "all", "without planner"),
        rows=tuple(rows),
        notes=(
            "Repaired and repeated calls count. Published calls per question do not say whether a "
            "small planner's calls are among them, so both counts stand here.",
        ),
        ids=("QEM-44", "X8"),
    )


def _shares(costs: Sequence[SystemCost], *, money: bool) -> Table:
    what = "money" if money else "tokens"
    rows: list[tuple[Cell, ...]] = []
    for one in costs:
        parts = group_shares(one, money=money)
        spent = sum(parts.values()) > 0
        # Shares are kept as fractions, so that they print like every other share.
        rows.append((one.system, *(v / 100 if spent else None for v in parts.values())))
    return Table(
        title=f"Shares of the online cost in {what}",
        columns=("system", *GROUPS),
        rows=tuple(rows),
        percent=tuple(GROUPS),
        notes=(
            "Rounded so that every row adds up to 100.0%; - : no call. planning: opening and "
            "plans; evidence: reading candidates; other: managers that search by calling tools.",
        ),
        ids=("QEM-44",),
    )


def _runtime(found: Sequence[Runtime], reference: str | None, parallel: str) -> Table:
    return Table(
        title="Seconds per question over memory that is built already",
        columns=("system", "runs", "n", "calls", "without planner", "seconds", "ratio"),
        rows=tuple(
            (
                one.system,
                one.runs,
                one.asked,
                one.calls,
                one.without_planner,
                one.seconds,
                one.ratio,
            )
            for one in found
        ),
        notes=(
            f"Questions asked at a time: {parallel}. Averaged per question, then over runs. "
            f"Ratio: to the seconds of {reference or '- (no reference named)'}.",
            "Planning, search, reading evidence and answering, embeddings of queries too. Where "
            "saved replies were played again the seconds are those of the replay.",
        ),
        ids=("MERA-77", "X8"),
    )


def _apart(costs: Sequence[SystemCost]) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (
            one.system,
            one.offline.embeddings,
            one.online.embeddings,
            one.offline.judge.total + one.online.judge.total,
            one.shared.total,
            one.offline.discarded + one.online.discarded,
            one.offline.failed + one.online.failed,
            one.online.online.tokens_cached + one.offline.offline.tokens_cached,
        )
        for one in costs
    ]
    return Table(
        title="Counted apart, over the whole run",
        columns=(
            "system",
            "texts embedded, offline",
            "texts embedded, online",
            "judge tokens",
            "shared prompt tokens",
            "discarded replies",
            "failed calls",
            "cached prompt tokens",
        ),
        rows=tuple(rows),
        notes=(
            "Embeddings, judge calls and answers by the shared prompt are in no total. Failed "
            "calls have no tokens. Discarded replies and cached prompt tokens are in the totals "
            "and stand here to be seen.",
        ),
        ids=("MERA-75", "MERA-76"),
    )


def _money(costs: Sequence[SystemCost], currency: str) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for one in costs:
        unpriced = sorted({*one.offline_money.unpriced, *one.online_money.unpriced})
        each = one.online_money.amount / one.asked if one.asked else None
        rows.append((one.system, one.offline_money.amount, each, one.asked, ", ".join(unpriced)))
    return Table(
        title=f"Money, in {currency}",
        columns=("system", "building, once", "per question", "n", "models without a price"),
        rows=tuple(rows),
        notes=(
            "Building is a one-time cost and stands apart from the cost of a question. Judging "
            "and other evaluation is in neither. A model without a price makes the figure a lower "
            "bound.",
        ),
        ids=("QEM-43", "BEN-10"),
    )
