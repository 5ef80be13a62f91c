"""How well answers stand on the conversation, on a weighted sample (QEM-58 to 62).

Questions are drawn evenly over type, evidence complexity and correctness, and the same questions
are judged for every system against the same packs; figures are weighted back to the whole set.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from evimem.datasets import Dataset
from evimem.errors import UsageError
from evimem.eval.diagnostics.answer_judge import AnswerVerdict, judge_answer
from evimem.eval.diagnostics.answer_pack import Packs
from evimem.eval.diagnostics.labels import Answers, right_answers
from evimem.eval.diagnostics.sampling import Sample, draw, ratio, ratio_gap, weights
from evimem.eval.harness.rows import SystemRun
from evimem.ports import Models
from evimem.scoring.stats import Comparison, Interval

__all__ = [
    "METRICS",
    "N_SMALL",
    "AnswerAudit",
    "Dispute",
    "N",
    "Stability",
    "answer_audit",
    "sample_questions",
    "stability",
]

N = 240
"""Questions drawn."""
N_SMALL = 68
"""Questions drawn for a smaller answer model (QEM-62)."""
STABILITY_N = 40
"""Answers judged again over a re-ordered pack (QEM-61)."""

_Part = tuple[float, float]

METRICS: Mapping[str, Callable[[AnswerVerdict, bool], _Part]] = {
    "fully grounded": lambda one, right: (one.grounded, 1.0),
    "correct and grounded": lambda one, right: (one.grounded and right, 1.0),
    "correct, not grounded": lambda one, right: (right and not one.grounded, 1.0),
    "any contradiction": lambda one, right: (one.contradicted, 1.0),
    "abstention": lambda one, right: (one.abstained, 1.0),
    "claims per answer": lambda one, right: (len(one.claims), 1.0),
    "core-only grounded": lambda one, right: (one.core_grounded, 1.0),
    "claim support": lambda one, right: (
        sum(claim.label == "supported" for claim in one.claims),
        float(len(one.claims)),
    ),
    "grounded among correct": lambda one, right: (one.grounded and right, float(right)),
}
"""Figures of QEM-60 as numerator and denominator of one answer, given whether it was marked right.
Shares are of all answers, abstentions among them; claim support is of all claims."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerAudit:
    """The audit of several systems on one sample."""

    judge: str
    """Who audited; not who marked answers as right."""
    strata: Mapping[tuple[str, ...], int]
    """Questions of the set by type, complexity and correctness."""
    stratum: Mapping[str, tuple[str, ...]]
    """Stratum of each question drawn."""
    verdicts: Mapping[str, Mapping[str, AnswerVerdict]]
    """System -> question -> verdict."""
    right: Mapping[str, Mapping[str, bool]]
    """System -> question -> whether the answer was marked right."""
    seed: int = 0
    """Of sample and resampling."""

    @property
    def read(self) -> tuple[str, ...]:
        """Questions whose answers could be judged for every system: the ones that figures are of,
        so that all systems are compared on the same."""
        return tuple(
            one
            for one in self.stratum
            if all(not held[one].problem for held in self.verdicts.values())
        )

    def figure(self, system: str, metric: str) -> Interval | None:
        """A figure of `METRICS`, weighted to the whole set; None where it has no denominator."""
        num, den = self._parts(system, metric)
        strata = [self.stratum[one] for one in self.read]
        return ratio(num, den, weights(self.strata, strata), strata, seed=self.seed)

    def gap(self, system: str, other: str, metric: str) -> Comparison | None:
        """The difference of a figure between two systems, questions drawn together."""
        strata = [self.stratum[one] for one in self.read]
        return ratio_gap(
            self._parts(system, metric),
            self._parts(other, metric),
            weights(self.strata, strata),
            strata,
            seed=self.seed,
        )

    def _parts(self, system: str, metric: str) -> tuple[list[float], list[float]]:
        measure = METRICS[metric]
        parts = [measure(self.verdicts[system][one], self.right[system][one]) for one in self.read]
        return [float(num) for num, _ in parts], [float(den) for _, den in parts]


def sample_questions(
    dataset: Dataset,
    right: Mapping[str, Mapping[str, bool]],
    *,
    n: int = N,
    seed: int = 0,
) -> Sample[str]:
    """Questions drawn evenly over type, number of supporting turns (0, 1, 2, 3+), and whether every
    system was right. Correctness is that of all systems together, so that the sample favours none.

    Args:
        dataset: the questions; unanswerable ones are left out.
        right: system -> question -> marked right.
        n: how many to draw.
        seed: of the draw.
    """

    def stratum(question_id: str) -> tuple[str, ...]:
        gold = dataset.gold[question_id]
        turns = min(len(gold.evidence), 3)
        everyone = all(held[question_id] for held in right.values())
        return (
            gold.category,
            f"{turns}{'+' if turns == 3 else ''} turns",
            "all right" if everyone else "not all right",
        )

    asked = [
        one.question_id for one in dataset.questions if dataset.gold[one.question_id].answerable
    ]
    return draw(asked, stratum, n=n, seed=seed)


def _answer(run: SystemRun, question_id: str, answers: Answers) -> tuple[str, bool]:
    """An answer and whether it abstains; ("", True) where there is none."""
    row = (run.asks if answers == "own" else run.shared).get(question_id)
    if row is None or row.failed:
        return "", True
    return row.answer, row.abstained


def answer_audit(
    runs: Sequence[SystemRun],
    dataset: Dataset,
    models: Models,
    *,
    judge: str,
    answers: Answers = "own",
    n: int = N,
    seed: int = 0,
    packs: Packs | None = None,
) -> AnswerAudit:
    """Audit the answers of several systems on one sample.

    Args:
        runs: the systems, all run on the same questions.
        dataset: the questions.
        models: the endpoints; the role is `judge`.
        judge: whose labels say which answers are right.
        answers: which answers.
        n: questions to draw; `N_SMALL` for a smaller answer model.
        seed: of sample and resampling.
        packs: what answers are checked against; None: packs of the usual size.

    Raises:
        ModelError: the judge could not be reached.
        UsageError: an answer has no label, or there is no system.
    """
    if not runs:
        raise UsageError("an audit of answers needs at least one system")
    asked = [one for one in dataset.questions if dataset.gold[one.question_id].answerable]
    right = {
        run.name: right_answers(
            run,
            dataset,
            judge=judge,
            answers=answers,
            questions=[one.question_id for one in asked],
        )
        for run in runs
    }
    sample = sample_questions(dataset, right, n=n, seed=seed)
    words = {one.question_id: one for one in asked}
    packs = packs or Packs(dataset)
    verdicts: dict[str, dict[str, AnswerVerdict]] = {run.name: {} for run in runs}
    for drawn in sample.drawn:
        pack = packs.of(drawn.unit)
        for run in runs:
            answer, abstained = _answer(run, drawn.unit, answers)
            verdicts[run.name][drawn.unit] = judge_answer(
                words[drawn.unit],
                answer,
                pack,
                packs,
                models,
                system=run.name,
                abstained=abstained,
            )
    return AnswerAudit(
        judge=models.session().model("judge").model_id,
        strata=sample.strata,
        stratum={drawn.unit: drawn.stratum for drawn in sample.drawn},
        verdicts=verdicts,
        right=right,
        seed=seed,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispute:
    """An answer with another outcome over the re-ordered pack: one for a person to read."""

    question_id: str
    """The question."""
    system: str
    """Whose answer."""
    before: str
    """What came of it at first."""
    after: str
    """What came of it over the re-ordered pack."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stability:
    """How far verdicts depend on the order of a pack (QEM-61)."""

    n: int
    """Answers judged again."""
    disputes: tuple[Dispute, ...] = field(default=())
    """Those with another outcome."""

    @property
    def unchanged(self) -> int:
        """Answers with the same outcome."""
        return self.n - len(self.disputes)


def stability(
    audit: AnswerAudit,
    runs: Sequence[SystemRun],
    dataset: Dataset,
    models: Models,
    *,
    answers: Answers = "own",
    n: int = STABILITY_N,
    packs: Packs | None = None,
) -> Stability:
    """Judge a seeded sample of answers again, each over its pack in another order.

    Args:
        audit: the first verdicts; those that took no call, or could not be read, are left out.
        runs: the systems.
        dataset: the questions.
        models: the endpoints; the role is `judge`.
        answers: which answers the audit was of.
        n: how many answers.
        packs: the packs of the audit.

    Raises:
        ModelError: the judge could not be reached.
    """
    packs = packs or Packs(dataset)
    by_name = {run.name: run for run in runs}
    words = {one.question_id: one for one in dataset.questions}
    judged = [
        verdict
        for name in sorted(audit.verdicts)
        for verdict in audit.verdicts[name].values()
        if verdict.calls and not verdict.problem
    ]
    chosen = random.Random(audit.seed).sample(judged, min(n, len(judged)))
    disputes = []
    for before in chosen:
        answer, _ = _answer(by_name[before.system], before.question_id, answers)
        after = judge_answer(
            words[before.question_id],
            answer,
            packs.of(before.question_id).reordered(audit.seed + 1),
            packs,
            models,
            system=before.system,
        )
        if after.outcome != before.outcome:
            disputes.append(
                Dispute(
                    question_id=before.question_id,
                    system=before.system,
                    before=before.outcome,
                    after=after.outcome,
                )
            )
    return Stability(n=len(chosen), disputes=tuple(disputes))
