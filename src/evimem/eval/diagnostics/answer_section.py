"""The audit of answers as a part of a report (QEM-58 to 62)."""

from __future__ import annotations

from collections import Counter

from evimem.eval.diagnostics.answer_audit import METRICS, AnswerAudit, Stability
from evimem.eval.diagnostics.answer_judge import AGAIN, CLAIMS
from evimem.eval.harness.tables import Cell, Line, Plot, Section, Table

__all__ = ["answer_section"]

_COUNTED = ("claims per answer",)
"""Figures that are no shares."""

_NOTES = (
    "All systems are checked against the same passages of the original conversation. These may "
    "still leave out what bears on an answer; claims without support are searched for once more "
    "in the whole conversation, which cannot be complete either.",
    "A single model judges, without system, reference answer or correctness. It is sensitive to "
    "how times, inferences and premises of a question are read; see the check with re-ordered "
    "passages and let a person read the disputes.",
    "Fully grounded depends on how many claims an answer makes: a longer one has more chances of "
    "an unsupported one. Read it beside core-only, claim support and claims per answer.",
    "Grounded is not correct, and correct is not grounded: an answer may be borne out and leave "
    "out half of what was asked for.",
)


def answer_section(
    audit: AnswerAudit,
    *,
    reference: str | None = None,
    stability: Stability | None = None,
) -> Section:
    """Figures per system, differences from `reference`, and how stable the verdicts are.

    Args:
        audit: the verdicts.
        reference: the system that the others are compared with; None: no comparison.
        stability: of the verdicts under re-ordered packs.
    """
    names = tuple(METRICS)
    shares = tuple(one for one in names if one not in _COUNTED)
    tables = [_figures(audit, names, shares)]
    if reference is not None:
        tables.append(_gaps(audit, reference, names, shares))
    tables.append(_claims(audit))
    tables.append(_sample(audit))
    if stability is not None:
        tables.append(_stability(stability))
    return Section(
        name="answer-audit",
        title="Answers against the conversation",
        tables=tuple(tables),
        plots=(_plot(audit),),
        notes=_NOTES,
    )


def _figures(audit: AnswerAudit, names: tuple[str, ...], shares: tuple[str, ...]) -> Table:
    unread = {
        system: sum(bool(one.problem) for one in held.values())
        for system, held in audit.verdicts.items()
    }
    return Table(
        title=f"Grounding of answers, weighted to all questions ({len(audit.read)} judged)",
        columns=("system", *names, "unread"),
        rows=tuple(
            (system, *(audit.figure(system, name) for name in names), unread[system])
            for system in audit.verdicts
        ),
        percent=shares,
        notes=(
            f"Judge {audit.judge}, prompts {CLAIMS.tag} and {AGAIN.tag}; seed {audit.seed}. "
            "Questions with an unread reply for any system are left out for all.",
            "Abstentions are in every denominator but those of claims and of correct answers, and "
            "are never grounded.",
        ),
        ids=("QEM-58", "QEM-60", "QEM-62"),
    )


def _gaps(
    audit: AnswerAudit, reference: str, names: tuple[str, ...], shares: tuple[str, ...]
) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for system in audit.verdicts:
        if system == reference:
            continue
        gaps = [audit.gap(reference, system, name) for name in names]
        rows.append((system, *(None if one is None else one.difference for one in gaps)))
    return Table(
        title=f"{reference} minus the system, on the same questions",
        columns=("system", *names),
        rows=tuple(rows),
        percent=shares,
        notes=("Questions are resampled within their strata, the same ones for both systems.",),
        ids=("QEM-60",),
    )


def _claims(audit: AnswerAudit) -> Table:
    rows: list[tuple[Cell, ...]] = []
    labels = ("supported", "unsupported", "contradicted", "unverifiable")
    for system, held in audit.verdicts.items():
        for core in (True, False):
            claims = [
                one for verdict in held.values() for one in verdict.claims if one.core == core
            ]
            counts = Counter[str](one.label for one in claims)
            again = [one for one in claims if one.again]
            rows.append(
                (
                    system,
                    "core" if core else "auxiliary",
                    len(claims),
                    *(counts[label] for label in labels),
                    len(again),
                    sum(one.label != one.first for one in again),
                )
            )
    return Table(
        title="Claims of the answers judged, as counted",
        columns=("system", "claims", "n", *labels, "searched again", "changed by it"),
        rows=tuple(rows),
        notes=("Only claims that the pack left unsupported are searched for again.",),
        ids=("QEM-59",),
    )


def _sample(audit: AnswerAudit) -> Table:
    counts = Counter(audit.stratum.values())
    read = Counter(audit.stratum[one] for one in audit.read)
    return Table(
        title="The sample",
        columns=(
            "question type",
            "supporting turns",
            "systems right",
            "questions",
            "drawn",
            "weight",
        ),
        rows=tuple(
            (*stratum, size, counts[stratum], size / read[stratum] if read[stratum] else None)
            for stratum, size in audit.strata.items()
        ),
        notes=(f"{len(audit.stratum)} questions of {sum(audit.strata.values())}.",),
        ids=("QEM-58",),
    )


def _stability(one: Stability) -> Table:
    return Table(
        title=(
            f"Answers judged again over re-ordered passages: {one.unchanged} of {one.n} unchanged"
        ),
        columns=("question", "system", "at first", "re-ordered"),
        rows=tuple(
            (dispute.question_id, dispute.system, dispute.before, dispute.after)
            for dispute in one.disputes
        ),
        notes=("What is listed here is for a person to read.",),
        ids=("QEM-61",),
    )


def _plot(audit: AnswerAudit) -> Plot:
    bars = ("fully grounded", "core-only grounded", "any contradiction")
    lines = []
    for system in audit.verdicts:
        known = [
            (float(place), figure)
            for place, name in enumerate(bars)
            if (figure := audit.figure(system, name)) is not None
        ]
        lines.append(
            Line(
                label=system,
                x=tuple(place for place, _ in known),
                y=tuple(figure.estimate for _, figure in known),
                low=tuple(figure.low for _, figure in known),
                high=tuple(figure.high for _, figure in known),
            )
        )
    return Plot(
        title="Grounding of answers",
        x_label="figure",
        y_label="share of answers",
        kind="bars",
        ticks=bars,
        lines=tuple(lines),
    )
