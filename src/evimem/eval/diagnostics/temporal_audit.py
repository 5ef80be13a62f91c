"""Do the times of evidence cards agree with what their sources say? By rules alone (QEM-41, 42).

A relation is checkable where a cited source has a time expression that the engine resolves from the
day it was said, or has none, where the time should be the day of the session (QEM-17). Agreement is
with these rules, not with when anything happened.

Three views of the same cards: every time as it stands, those that a model wrote and the normaliser
let stand, and the model's own words before the normaliser saw them. The middle one is what is left
after times that disagree were replaced, so it says little; the last is the model's own figure.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal

from evimem.eval.harness.rows import SystemRun
from evimem.eval.harness.tables import Cell, Section, Table
from evimem.model.cards import ViewCard
from evimem.model.evidence import Candidate
from evimem.model.time import TimeSpan
from evimem.scoring.stats import Interval, wilson
from evimem.temporal import find, normalise_date_answer, render
from evimem.trace import Trace

__all__ = [
    "SESSION_DATE",
    "TemporalAudit",
    "TimeCheck",
    "Times",
    "check_time",
    "temporal_audit",
    "temporal_section",
    "written_times",
]

Times = Literal["all", "model", "written"]
"""Whose times: all fields as they stand; those with origin "model"; the model's words as it wrote
them."""

Verdict = Literal["agrees", "coarser", "disagrees"]
"""coarser: the stretch that the card names holds the one that the source gives."""

SESSION_DATE = "session date"
"""The expression of a source that names no time."""

_NAMES = {"yesterday": "yesterday / last night", "last_night": "yesterday / last night"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeCheck:
    """One card's time against its sources."""

    question_id: str
    """The question that the card was made for."""
    card_id: str
    """The card."""
    expression: str
    """Kind of expression in the source, such as "last year"."""
    verdict: Verdict
    """What the rules say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TemporalAudit:
    """Agreement of a system's card times with the rules."""

    system: str
    """The system."""
    times: Times
    """Whose times."""
    checks: tuple[TimeCheck, ...]
    """Every time that could be checked."""
    unchecked: Mapping[str, int]
    """Cards left out, by reason."""

    @property
    def overall(self) -> Interval | None:
        """Share that agrees; None without checks."""
        return _share(self.checks)

    def by_expression(self) -> dict[str, Interval]:
        """Share that agrees by kind of expression, most frequent first; `n` is the number of
        cards."""
        counts = Counter(one.expression for one in self.checks)
        shares = {}
        for name, _ in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])):
            share = _share([one for one in self.checks if one.expression == name])
            if share is not None:
                shares[name] = share
        return shares


def _share(checks: Sequence[TimeCheck]) -> Interval | None:
    if not checks:
        return None
    return wilson(sum(one.verdict == "agrees" for one in checks), len(checks))


@dataclass(frozen=True, slots=True)
class _Relation:
    """What a source says of when."""

    expression: str
    start: date | None
    end: date | None
    words: str
    vague: bool = False


def check_time(
    time: str, card: ViewCard, sources: Sequence[Candidate]
) -> tuple[str, Verdict] | str:
    """A time against the sources of its card.

    Expressions of the quote come first; without any, those of the cited sources; without any, the
    days of their sessions. A time agrees if it is, in words or in days, one of those. Vague ones
    ("recently") are no relation that can be checked.

    Args:
        time: the words of the time.
        card: the card.
        sources: what it cites, as it was shown.

    Returns:
        Kind of expression and verdict; or why it cannot be checked, in words.
    """
    dated = [one for one in sources if one.said_at]
    if not dated:
        return "no dated source"
    relations = [one for one in _relations(card, dated) if not one.vague]
    if not relations:
        return "the source tells the time vaguely"
    said = normalise_date_answer(time)
    days = [(one.start, one.end) for one in find(time, None) if (one.start, one.end) != _NO_DAYS]
    for one in relations:
        if normalise_date_answer(one.words) == said or (one.start, one.end) in days:
            return one.expression, "agrees"
    if not days:
        return "the time names no days"
    for one in relations:
        if any(_holds(outer, (one.start, one.end)) for outer in days):
            return one.expression, "coarser"
    return relations[0].expression, "disagrees"


_NO_DAYS = (None, None)


def _holds(outer: tuple[date | None, date | None], inner: tuple[date | None, date | None]) -> bool:
    starts = outer[0] is None or (inner[0] is not None and outer[0] <= inner[0])
    ends = outer[1] is None or (inner[1] is not None and inner[1] <= outer[1])
    return starts and ends


def _relations(card: ViewCard, sources: Sequence[Candidate]) -> list[_Relation]:
    """What the sources say of when, never empty."""
    quoted = [one for one in sources if one.item_id == card.quoted_from] or list(sources[:1])
    found = [_relation(span) for one in quoted for span in _spans(card.quote, one)]
    if not found:
        found = [_relation(span) for one in sources for span in _spans(one.payload, one)]
    if found:
        return found
    return [
        _Relation(
            SESSION_DATE,
            _day(one),
            _day(one),
            render(
                TimeSpan(kind="none", text="", text_start=0, text_end=0, anchor=_day(one)), "qemem"
            ),
        )
        for one in sources
    ]


def _day(source: Candidate) -> date:
    return datetime.fromisoformat(source.said_at or "").date()


def _spans(text: str, source: Candidate) -> list[TimeSpan]:
    return [one for one in find(text, _day(source)) if (one.start, one.end) != _NO_DAYS]


def _relation(span: TimeSpan) -> _Relation:
    name = _NAMES.get(span.rule, span.rule.replace("_", " "))
    return _Relation(name, span.start, span.end, render(span, "qemem"), span.vague)


def written_times(trace: Trace, round_: int) -> list[tuple[str, str]]:
    """Claims of a round with the times that a model wrote for them, as they stand in its replies,
    last reply first. Replies that hold no plain JSON are passed over."""
    done = next(one for one in trace.rounds if one.n == round_)
    return [
        pair
        for call in reversed(done.calls)
        if call.outcome != "failed" and call.role == "verify"
        for pair in _claims(call.text)
    ]


def _claims(text: str) -> Iterable[tuple[str, str]]:
    start, end = text.find("{"), text.rfind("}")
    try:
        data = json.loads(text[start : end + 1])
    except ValueError:
        return
    cards = data.get("cards") if isinstance(data, dict) else None
    for one in cards if isinstance(cards, list) else ():
        claim = one.get("claim") if isinstance(one, dict) else None
        time = one.get("time") if isinstance(one, dict) else None
        if isinstance(claim, str) and isinstance(time, str):
            yield " ".join(claim.split()), time.strip()


def temporal_audit(
    run: SystemRun, questions: Iterable[str], *, times: Times = "all"
) -> TemporalAudit:
    """Check every card's time of a system.

    Args:
        run: the system's run, with traces.
        questions: ids of questions.
        times: whose times; "model" leaves out what the normaliser wrote, "written" takes the
            model's own words in place of what was made of them.
    """
    checks: list[TimeCheck] = []
    unchecked: Counter[str] = Counter()
    for question_id in questions:
        trace = run.trace(question_id)
        if trace is None:
            unchecked["question without a trace"] += 1
            continue
        for card, time, sources in _timed(trace, times, unchecked):
            outcome = check_time(time, card, sources)
            if isinstance(outcome, str):
                unchecked[outcome] += 1
                continue
            checks.append(
                TimeCheck(
                    question_id=question_id,
                    card_id=card.card_id,
                    expression=outcome[0],
                    verdict=outcome[1],
                )
            )
    return TemporalAudit(
        system=run.name, times=times, checks=tuple(checks), unchecked=dict(unchecked)
    )


def _timed(
    trace: Trace, times: Times, unchecked: Counter[str]
) -> Iterable[tuple[ViewCard, str, list[Candidate]]]:
    """Cards with the time to be checked and what they cite; others are counted."""
    shown = {one.label: one for done in trace.rounds for one in done.candidates if one.label}
    for done in trace.rounds:
        written = written_times(trace, done.n) if times == "written" else []
        for card in done.assessment.cards if done.assessment is not None else ():
            time: str | None = card.time
            if times == "written":  # a stored claim may be the beginning of the one written
                time = next((said for claim, said in written if claim.startswith(card.claim)), None)
            if time is None:
                unchecked["the model's words are not known"] += 1
            elif not time:
                unchecked["not time-relevant"] += 1
            elif times == "model" and card.time_origin != "model":
                unchecked["written by the normaliser"] += 1
            else:
                yield card, time, [shown[one] for one in card.sources if one in shown]


LIMITS = (
    "The audit measures agreement with deterministic rules over the cited words and the day they "
    "were said. It is consistency with rules and not accuracy of event dates: nobody verified when "
    "the events took place.",
    "Only expressions that rules can resolve are covered, in English.",
    'Times of origin "model" are those that the normaliser let stand, after it replaced those that '
    "disagree with the source; the model's own figure is that of its words as written.",
)
"""What the audit does not say (QEM-42)."""

_VIEWS: Mapping[Times, str] = {
    "all": "all times as they stand",
    "model": "written by the model, kept",
    "written": "the model's words before any rule",
}


def temporal_section(audits: Sequence[TemporalAudit]) -> Section:
    """Agreement overall and by expression, with n for each."""
    overall: list[tuple[Cell, ...]] = []
    expressions: list[tuple[Cell, ...]] = []
    for one in audits:
        counts = Counter(check.verdict for check in one.checks)
        left_out = sum(one.unchecked.values())
        head = (one.system, _VIEWS[one.times])
        overall.append(
            (*head, len(one.checks), one.overall, counts["coarser"], counts["disagrees"], left_out)
        )
        expressions += [
            (*head, name, share.n, share) for name, share in one.by_expression().items()
        ]
    told = [
        f"{one.system}, {_VIEWS[one.times]}: not checked: "
        + ", ".join(f"{n} {why}" for why, n in sorted(one.unchecked.items()))
        for one in audits
        if one.unchecked
    ]
    return Section(
        name="temporal-audit",
        title="Temporal audit of evidence cards",
        tables=(
            Table(
                title="Card times that agree with the rules",
                columns=("system", "times", "n", "agree", "coarser", "disagree", "not checked"),
                rows=tuple(overall),
                percent=("agree",),
                notes=tuple(told),
                ids=("QEM-41",),
            ),
            Table(
                title="Agreement by expression in the source",
                columns=("system", "times", "expression", "n", "agree"),
                rows=tuple(expressions),
                percent=("agree",),
                ids=("QEM-41",),
            ),
        ),
        notes=LIMITS,
    )
