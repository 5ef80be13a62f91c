"""The figures of memory managers: per bank what was done, per cell what was found and right.

A cell is a bank, a policy that searched it, and a search budget. J stands with the set of questions
and its denominator. What a perfect search could have brought of the bank, answered and judged, is
the storage ceiling (Eq. 5), and J over it, on the same questions, the retrieval efficiency.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from evimem.datasets import Dataset
from evimem.eval.evidence_index import Standing
from evimem.eval.judging import JReport, j_report, j_table, set_id
from evimem.eval.manager_stats import BankFigures, EventCount
from evimem.eval.summary import clusters_of, share_of
from evimem.manager.prompts.judge import Label
from evimem.scoring.stats import Interval, cluster_bootstrap

__all__ = [
    "Ceiling",
    "Cell",
    "CellFigures",
    "CurvePoint",
    "EvidenceFigures",
    "ManagerReport",
    "Scored",
    "cell_of",
    "cross_table",
    "curve",
    "curve_table",
    "manager_table",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """Who built, who searched, how often (UNI-61, 65)."""

    bank: str
    """The manager that built the bank."""
    policy: str
    """The manager that searched it."""
    searches: int
    """Searches per question at most."""

    @property
    def name(self) -> str:
        """The cell in words."""
        return f"bank {self.bank}, retrieval {self.policy}, at most {self.searches} searches"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """One question in one cell. Holds no words."""

    question_id: str
    """Its id."""
    history_id: str
    """Its conversation."""
    category: str
    """Its type."""
    event: EventCount
    """How it was searched."""
    records: int
    """Records found."""
    label: Label | None
    """Judgement of the answer; None without a judge or where no label could be read."""
    answer_tokens: int
    """Tokens of the answer's calls."""
    answer: str
    """`AnswerRow.records` of the kept answer; empty where nobody answered."""
    first: Standing | None
    """Gold chunks behind any record and behind the first 20 found; None without a gold chunk."""
    all: Standing | None
    """The same for all records found."""

    @property
    def tokens(self) -> int:
        """Tokens of searching and answering."""
        return self.event.tokens + self.answer_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceFigures:
    """Chunks with gold turns, stored and found: means over questions with such chunks."""

    name: str
    """"overall" or a category."""
    n: int
    """Questions with a gold chunk; the others are masked."""
    masked: int
    """Questions without one."""
    stored: Interval
    """Mean share of a question's gold chunks behind any record."""
    found_first: Interval
    """The same behind the first 20 records found: recall@20 of evidence chunks."""
    found: Interval
    """The same behind any record found."""
    all_stored: Interval
    """Share of questions with all their gold chunks stored."""
    all_found: Interval
    """Share of questions with all their gold chunks behind the records found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """What the bank would have answered, had the right records been found (UNI-70)."""

    n: int
    """Questions with a gold chunk; the others are masked."""
    masked: int
    """Questions without one."""
    correct: int
    """Answers from Index(E, B) judged CORRECT."""
    found_correct: int
    """Answers from the records found judged CORRECT, on the same questions."""

    @property
    def efficiency(self) -> float | None:
        """J / ceiling; None where nothing was right. Above 1 where records of other chunks help."""
        return self.found_correct / self.correct if self.correct else None


@dataclass(frozen=True, slots=True, kw_only=True)
class CellFigures:
    """One cell."""

    cell: Cell
    """Which."""
    set_id: str
    """The questions."""
    n: int
    """How many."""
    evidence: EvidenceFigures | None
    """Gold chunks stored and found; None where no question has any."""
    categories: tuple[EvidenceFigures, ...]
    """The same per category that has any."""
    searches: float
    """Searches per question."""
    records: float
    """Records found per question."""
    forced: int
    """Questions closed by force."""
    refused: Mapping[str, int]
    """Calls not carried out, by reason."""
    tokens: float
    """Tokens per question of searching and answering; 0 where no model was asked."""
    shown: float
    """Estimated tokens per question that the tools gave back."""
    j: JReport | None
    """J; None without a judge."""
    ceiling: Ceiling | None
    """Storage ceiling; None without a judge or gold chunks."""
    questions: tuple[Scored, ...] = ()
    """Every question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagerReport:
    """A whole run."""

    kind: str
    """"manager"."""
    manifest: Mapping[str, str]
    """What to repeat it with."""
    banks: tuple[BankFigures, ...]
    """What was built."""
    cells: tuple[CellFigures, ...]
    """Every bank with every policy under every budget."""
    notes: tuple[str, ...] = field(default=())
    """What must be said beside the figures."""


def cell_of(
    dataset: Dataset,
    cell: Cell,
    scored: Sequence[Scored],
    *,
    ceiling: Mapping[str, Label | None],
    answerer: str | None,
    judge: str | None,
    seed: int = 0,
) -> CellFigures:
    """The figures of one cell.

    Args:
        dataset: the questions, all of them scored.
        cell: which cell.
        scored: the questions in it.
        ceiling: judgements of the answers from the evidence index, where not masked.
        answerer: who answered; None: nobody.
        judge: who judged; None: nobody.
        seed: of the interval's resampling.
    """
    n = len(scored)
    labels = {one.question_id: one.label for one in scored}
    judged = answerer is not None and judge is not None
    refused: Counter[str] = Counter()
    for one in scored:
        refused.update(one.event.refused)
    return CellFigures(
        cell=cell,
        set_id=set_id(dataset),
        n=n,
        evidence=_evidence("overall", scored, seed),
        categories=tuple(
            figures
            for name in dict.fromkeys(one.category for one in scored)
            if (figures := _evidence(name, [one for one in scored if one.category == name], seed))
        ),
        searches=sum(one.event.searches for one in scored) / n,
        records=sum(one.records for one in scored) / n,
        forced=sum(one.event.forced for one in scored),
        refused=dict(refused),
        tokens=sum(one.tokens for one in scored) / n,
        shown=sum(one.event.shown for one in scored) / n,
        j=j_report(
            dataset,
            labels,
            name=cell.name,
            answerer=answerer or "",
            judge=judge or "",
            seed=seed,
        )
        if judged
        else None,
        ceiling=_ceiling(labels, ceiling) if judged and ceiling else None,
        questions=tuple(scored),
    )


def _ceiling(found: Mapping[str, Label | None], index: Mapping[str, Label | None]) -> Ceiling:
    """Answers from the records found beside those from the evidence index."""
    return Ceiling(
        n=len(index),
        masked=len(found) - len(index),
        correct=sum(label == "CORRECT" for label in index.values()),
        found_correct=sum(found[one] == "CORRECT" for one in index),
    )


def _evidence(name: str, scored: Sequence[Scored], seed: int) -> EvidenceFigures | None:
    pairs = [
        (one.first, one.all) for one in scored if one.first is not None and one.all is not None
    ]
    if not pairs:
        return None
    clusters = clusters_of([one.history_id for one in scored if one.all is not None])

    def mean(values: Sequence[float]) -> Interval:
        return cluster_bootstrap(values, clusters, seed=seed)

    def share(hits: Sequence[bool]) -> Interval:
        return share_of(np.array(hits, dtype=np.float64), clusters, seed)

    return EvidenceFigures(
        name=name,
        n=len(pairs),
        masked=len(scored) - len(pairs),
        stored=mean([every.stored_share for _, every in pairs]),
        found_first=mean([first.retrieved / first.gold for first, _ in pairs]),
        found=mean([every.retrieved / every.gold for _, every in pairs]),
        all_stored=share([every.stored == every.gold for _, every in pairs]),
        all_found=share([every.retrieved == every.gold for _, every in pairs]),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint:
    """J and its price under one search budget."""

    searches: int
    """Searches per question at most."""
    j: float | None
    """J in percent; None without a judge."""
    tokens: float
    """Tokens per question; of what the tools gave back, estimated, where no model was asked."""
    ratio: float | None
    """Times the tokens of the budget before; None for the first."""


def curve(report: ManagerReport, *, bank: str, policy: str) -> tuple[CurvePoint, ...]:
    """J and tokens over search budgets, ascending (UNI-65)."""
    cells = [c for c in report.cells if c.cell.bank == bank and c.cell.policy == policy]
    cells.sort(key=lambda one: one.cell.searches)
    asked = any(one.tokens for one in cells)
    points: list[CurvePoint] = []
    for one in cells:
        tokens = one.tokens if asked else one.shown
        before = points[-1].tokens if points else 0.0
        points.append(
            CurvePoint(
                searches=one.cell.searches,
                j=None if one.j is None else one.j.overall.j,
                tokens=tokens,
                ratio=tokens / before if before else None,
            )
        )
    return tuple(points)


def curve_table(report: ManagerReport, *, bank: str, policy: str) -> str:
    """The curve of `curve` in words, with the ratio of tokens from each budget to the next."""
    cells = [one for one in report.cells if one.cell.bank == bank and one.cell.policy == policy]
    asked = any(one.tokens for one in cells)
    kind = "tokens of searching and answering" if asked else "tokens shown by the tools, estimated"
    lines = [
        f"search budget, bank {bank}, retrieval {policy}; {cells[0].set_id}, n = {cells[0].n}",
        f"{'searches':>10}{'J':>10}{'tokens/question':>18}{'times':>9}   ({kind})",
    ]
    for point in curve(report, bank=bank, policy=policy):
        j = "-" if point.j is None else f"{point.j:.2f}"
        ratio = "-" if point.ratio is None else f"x{point.ratio:.2f}"
        lines.append(f"{point.searches:>10}{j:>10}{point.tokens:>18,.0f}{ratio:>9}")
    return "\n".join(lines)


def cross_table(report: ManagerReport, *, searches: int) -> str:
    """Banks in rows, policies in columns: J, or recall@20 of gold chunks without a judge (UNI-61).

    A table holds one budget of searches and one set of questions, as a report does.
    """
    cells = {
        (one.cell.bank, one.cell.policy): one
        for one in report.cells
        if one.cell.searches == searches
    }
    banks = list(dict.fromkeys(bank for bank, _ in cells))
    policies = list(dict.fromkeys(policy for _, policy in cells))
    width = max(4, *(len(one) for one in banks)) + 2
    column = max(20, *(len(one) + 2 for one in policies))
    some = next(iter(cells.values()))
    what = "J" if some.j is not None else "recall@20 of gold chunks"
    lines = [
        f"{what} in percent, banks in rows, retrieval in columns; {some.set_id}",
        f"{'bank':<{width}}" + "".join(f"{one:>{column}}" for one in policies),
    ]
    for bank in banks:
        told = "".join(f"{_cross(cells[bank, one]):>{column}}" for one in policies)
        lines.append(f"{bank:<{width}}{told}")
    return "\n".join(lines)


def _cross(one: CellFigures) -> str:
    if one.j is not None:
        overall = one.j.overall
        return f"{overall.j:.2f} ({overall.correct}/{overall.n})"
    if one.evidence is None:
        return "-"
    return f"{100 * one.evidence.found_first.estimate:.2f} (n={one.evidence.n})"


def manager_table(report: ManagerReport) -> str:
    """Banks, then cells, then J where there is a judge."""
    lines: list[str] = []
    for bank in report.banks:
        lines += _bank_lines(bank)
    for one in report.cells:
        lines += ["", *_cell_lines(one)]
    judged = [one.j for one in report.cells if one.j is not None]
    if judged:
        lines += ["", j_table(judged)]
    return "\n".join(lines)


def _bank_lines(bank: BankFigures) -> list[str]:
    ops = {kind: bank.ops.get(kind, 0) for kind in ("create", "update", "delete")}
    told = ", ".join(f"{n} {kind} ({n / max(1, bank.events):.2f}/event)" for kind, n in ops.items())
    cosine = bank.duplicates.by_cosine
    near = "" if cosine is None else f", {_percent(cosine, bank.records)} by cosine"
    lines = [
        f"bank {bank.bank}: {bank.conversations} conversations, {bank.events} events,"
        f" {bank.changed} changed something",
        f"  operations: {told}",
        f"  records: {bank.records} ({bank.record_tokens:,} tokens, estimated); near-equal:"
        f" {_percent(bank.duplicates.by_words, bank.records)} by words{near}",
        f"  responses: {bank.responses} ({_percent(bank.well_formed, bank.responses)} well-formed),"
        f" searches {bank.searches}, tokens {bank.tokens:,}",
        f"  rejected writes {bank.rejected_writes}, bundled finishes {bank.bundled},"
        f" forced closures {bank.forced}",
    ]
    return lines + _refused_line(bank.refused)


def _cell_lines(one: CellFigures) -> list[str]:
    lines = [
        f"{one.cell.name}; {one.set_id}, n = {one.n}",
        f"  per question: {one.searches:.2f} searches, {one.records:.1f} records,"
        f" {one.tokens:,.0f} tokens, {one.shown:,.0f} shown (estimated); {one.forced} forced",
        *_refused_line(one.refused),
    ]
    if one.evidence is not None:
        lines += [
            "  chunks with gold turns: mean share behind records stored, behind the first 20 found",
            "  (recall@20), behind all found; share of questions with all of them stored, found",
            f"  {'':<26}{'n':>5}{'masked':>8}{'stored':>8}{'@20':>8}{'found':>8}"
            f"{'all st.':>9}{'all f.':>8}   95% of @20",
        ]
        for e in (one.evidence, *one.categories):
            shares = (e.stored, e.found_first, e.found)
            low, high = 100 * e.found_first.low, 100 * e.found_first.high
            lines.append(
                f"  {e.name:<26}{e.n:>5}{e.masked:>8}"
                + "".join(f"{100 * share.estimate:>8.1f}" for share in shares)
                + f"{100 * e.all_stored.estimate:>9.1f}{100 * e.all_found.estimate:>8.1f}"
                + f"   [{low:.1f}, {high:.1f}]"
            )
    if one.ceiling is not None:
        c = one.ceiling
        efficiency = "-" if c.efficiency is None else f"{100 * c.efficiency:.1f}%"
        lines.append(
            f"  storage ceiling {_percent(c.correct, c.n)}, J on the same questions"
            f" {_percent(c.found_correct, c.n)}, retrieval efficiency {efficiency}"
            f" ({c.masked} masked)"
        )
    return lines


def _refused_line(refused: Mapping[str, int]) -> list[str]:
    if not refused:
        return []
    told = ", ".join(f"{reason} {n}" for reason, n in sorted(refused.items()))
    return [f"  calls not carried out: {told}"]


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.2f}% ({part}/{whole})" if whole else "-"
