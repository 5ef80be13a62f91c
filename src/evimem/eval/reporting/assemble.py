"""All that can be said of a run, put together: the sections of a report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from evimem.errors import UsageError
from evimem.eval.diagnostics import (
    accuracy,
    attribution,
    behaviour,
    cost,
    recall,
    storage,
    tables_mera,
    termination,
)
from evimem.eval.diagnostics.budget_curves import planning_ablation
from evimem.eval.diagnostics.budget_section import budget_section, planning_section
from evimem.eval.diagnostics.comparisons import comparison_section
from evimem.eval.diagnostics.complexity_table import complexity_section
from evimem.eval.diagnostics.frontier import frontier, frontier_section
from evimem.eval.diagnostics.refinement import (
    refinement,
    refinement_section,
    replay_check,
)
from evimem.eval.diagnostics.temporal_audit import temporal_audit, temporal_section
from evimem.eval.diagnostics.turns import EvidenceTurns
from evimem.eval.diagnostics.visibility import progression, visibility_section
from evimem.eval.harness.rows import RunData, SystemRun
from evimem.eval.harness.tables import Section
from evimem.eval.judges.control import ControlRates
from evimem.eval.judges.control import section as control_section
from evimem.eval.judges.lexical import lexical_section
from evimem.eval.judging import set_id
from evimem.eval.manifest import report_notes
from evimem.eval.reporting.papers import papers_section
from evimem.eval.reporting.report import Report
from evimem.eval.reporting.systems import systems_section
from evimem.model.cost import Price

__all__ = ["assemble"]

_CAVEATS = (
    "figures of different sets of questions, judges or answer models cannot be compared; every"
    " table names its set and denominator",
    "an accuracy is worth what its judge is worth: read the judge's acceptance of vague and of"
    " right control answers beside it",
    "the wording of an answer prompt moves accuracy as much as a memory does: compare systems under"
    " the shared prompt, and with their published figures under their own",
)


def assemble(
    data: RunData,
    *,
    title: str,
    rates: Sequence[ControlRates] = (),
    prices: Mapping[str, Price] | None = None,
    reference: str | None = None,
    points: Sequence[tables_mera.SweepPoint] = (),
    extra: Sequence[Section] = (),
    seed: int = 0,
) -> Report:
    """The report of a run. A section that the run cannot give is left out, and a caveat says why.

    Args:
        data: the run, read back.
        title: its head.
        rates: what each judge accepted of the control set.
        prices: model -> price, for money.
        reference: the system that others are compared with; None: the first.
        points: of a sweep over k and rounds, where one was run.
        extra: sections made elsewhere, such as audits that ask a judge.
        seed: of intervals.
    """
    judges = [one for one in accuracy.judges_of(data) if _judged(data, one)]
    base = reference or data.systems[0].name
    builders: _Parts = {
        "systems": lambda: systems_section(data),
        **(_judged_parts(data, judges[0], base, prices, points, seed) if judges else {}),
        "judges": lambda: control_section(rates) if rates else None,
        **_unjudged_parts(data, judges[0] if judges else None, prices, seed),
    }
    made: list[Section] = []
    missing: list[str] = []
    for what, build in builders.items():
        try:
            section = build()
        except UsageError as error:
            missing.append(f"left out: {what}: {error}")
            continue
        if section is not None and (section.tables or section.plots):
            made.append(section)
    notes = report_notes([data.dataset])
    return Report(
        title=title,
        set_id=set_id(data.dataset),
        n=len(data.dataset.questions),
        manifest=data.manifest,
        sections=(*made, *extra),
        caveats=(*_CAVEATS, *(one.told() for one in rates), *notes, *missing),
    )


_Parts: TypeAlias = "dict[str, Callable[[], Section | None]]"


def _judged_parts(
    data: RunData,
    judge: str,
    base: str,
    prices: Mapping[str, Price] | None,
    points: Sequence[tables_mera.SweepPoint],
    seed: int,
) -> _Parts:
    """Sections that stand on the labels of judges; those that take one judge take the first."""
    return {
        "accuracy": lambda: accuracy.section(data, seed=seed),
        "comparisons": lambda: comparison_section(data, reference=base, seed=seed),
        "papers": lambda: papers_section(data),
        "complexity": lambda: complexity_section(data, judge=judge, seed=seed),
        "attribution": lambda: attribution.section(data, judge=judge, seed=seed),
        "frontier": lambda: frontier_section(frontier(data, judge=judge, prices=prices, seed=seed)),
        "planners and graphs": lambda: tables_mera.section(
            data, judge=judge, points=points, seed=seed
        ),
        "refinement": lambda: _refinement(data, judge, prices, seed),
    }


def _unjudged_parts(
    data: RunData, judge: str | None, prices: Mapping[str, Price] | None, seed: int
) -> _Parts:
    """Sections that need no judge."""
    return {
        "lexical scores": lambda: lexical_section(data, seed=seed),
        "recall": lambda: recall.section(data, seed=seed),
        "visibility": lambda: _visibility(data, seed),
        "budget curves": lambda: budget_section(data, seed=seed),
        "termination": lambda: termination.section(data, seed=seed),
        "query behaviour": lambda: behaviour.section(data),
        "storage": lambda: storage.section(data, judge=judge, seed=seed),
        "cost": lambda: cost.section(data, prices=prices),
        "planning": lambda: _planning(data, seed),
        "times of cards": lambda: _times(data),
    }


def _judged(data: RunData, judge: str) -> bool:
    """True if every answer by own prompts has a judgement."""
    return all(not accuracy.unjudged(run, data.dataset, judge=judge) for run in data.systems)


def _traced(data: RunData) -> list[SystemRun]:
    return [run for run in data.systems if any(row.traced for row in run.asks.values())]


def _visibility(data: RunData, seed: int) -> Section | None:
    runs = [run for run in data.systems if run.info.traces_turns]
    gold = EvidenceTurns(data.dataset)
    return visibility_section([progression(run, gold, seed=seed) for run in runs])


def _times(data: RunData) -> Section | None:
    asked = [one.question_id for one in data.dataset.questions]
    audits = [temporal_audit(run, asked) for run in _traced(data)]
    found = [one for one in audits if one.checks]
    return temporal_section(found) if found else None


_STORES = ("", "-on-lite")


def _pairs(data: RunData, full: str, without: str) -> list[tuple[SystemRun, SystemRun]]:
    """A recipe of QEMem and its ablation over the same store, where the run has both."""
    runs = {run.name: run for run in data.systems}
    names = [(full + store, without + store) for store in _STORES]
    return [(runs[one], runs[two]) for one, two in names if one in runs and two in runs]


def _refinement(
    data: RunData, judge: str, prices: Mapping[str, Price] | None, seed: int
) -> Section | None:
    """What refining brings (QEM-46, 47), and whether the first pools are the same (QEM-48)."""
    pairs = _pairs(data, "qem-full", "qem-norefine")
    if not pairs:
        return None
    asked = [one.question_id for one in data.dataset.questions]
    made = [
        refinement(full, base, data.dataset, judge=judge, prices=prices, seed=seed)
        for full, base in pairs
    ]
    checks = [check for full, base in pairs for check in replay_check(full, base, asked)]
    return refinement_section(made, checks)


def _planning(data: RunData, seed: int) -> Section | None:
    """What planning brings at a tight and at a loose budget (QEM-56)."""
    pairs = _pairs(data, "qem-full", "qem-noplan")
    if not pairs:
        return None
    gold = EvidenceTurns(data.dataset)
    return planning_section(
        [planning_ablation(full, without, gold, seed=seed) for full, without in pairs]
    )
