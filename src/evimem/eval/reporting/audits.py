"""Audits that ask the judge model: of what cards claim, of what answers stand on (QEM-40, 58)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from evimem.errors import UsageError
from evimem.eval.diagnostics.accuracy import judges_of
from evimem.eval.diagnostics.answer_audit import N, answer_audit, stability
from evimem.eval.diagnostics.answer_section import answer_section
from evimem.eval.diagnostics.card_audit import PER_BACKBONE, audit_cards, card_section, cards_of
from evimem.eval.harness.rows import RunData
from evimem.eval.harness.tables import Section
from evimem.ports import Models

__all__ = ["AUDITS", "audited"]

_Audit = Callable[[RunData, Models, "int | None", int], Section]


def _cards(data: RunData, models: Models, n: int | None, seed: int) -> Section:
    runs = [run for run in data.systems if cards_of(run, data.dataset)[0]]
    if not runs:
        raise UsageError("no system of the run keeps cards: an audit of cards needs a QEMem recipe")
    return card_section(
        [audit_cards(run, data.dataset, models, n=n or PER_BACKBONE, seed=seed) for run in runs]
    )


def _answers(data: RunData, models: Models, n: int | None, seed: int) -> Section:
    judges = judges_of(data)
    if not judges:
        raise UsageError("an audit of answers needs judged answers: name a judge (--judge)")
    audit = answer_audit(data.systems, data.dataset, models, judge=judges[0], n=n or N, seed=seed)
    again = stability(audit, data.systems, data.dataset, models)
    return answer_section(audit, reference=data.systems[0].name, stability=again)


AUDITS: Mapping[str, _Audit] = {"cards": _cards, "answers": _answers}
"""Audits by name."""


def audited(
    names: Sequence[str], data: RunData, models: Models, *, n: int | None = None, seed: int = 0
) -> list[Section]:
    """The sections of these audits.

    Args:
        names: of `AUDITS`.
        data: the run.
        models: endpoints; the role is `judge`.
        n: cards of a system, or questions; None: as many as the paper.
        seed: of samples and resampling.

    Raises:
        UsageError: the run has nothing to audit.
        ModelError: the judge could not be reached.
    """
    return [AUDITS[name](data, models, n, seed) for name in dict.fromkeys(names)]
