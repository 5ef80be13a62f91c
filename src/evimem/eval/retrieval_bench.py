"""How completely a ranking brings the gold turns of benchmark questions (issue 2, QEM-49 to 55)."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from evimem.datasets import Dataset, Gold, alias_groups, ids_hash
from evimem.errors import UsageError
from evimem.eval.results import PartResult, QuestionResult, SystemResult, Timing
from evimem.eval.summary import compare, summarise
from evimem.eval.systems import RankFactory, RetrievalSystem
from evimem.model.evidence import Question
from evimem.model.turn import History, Turn
from evimem.scoring.budget import completeness_price
from evimem.scoring.retrieval import gold_ranks
from evimem.scoring.tokens import estimate_tokens

__all__ = ["DEPTH", "TIMED_K", "Progress", "run", "shown_text", "to_score"]

DEPTH = 400
"""Turns asked of a ranking: enough for the largest token budget on short turns."""
TIMED_K = 10
"""Turns asked of the call that is timed: what a user asks for."""

Progress = Callable[[int, int, str], None]
"""Called with questions done, questions in all, and the system at work."""


def shown_text(turn: Turn) -> str:
    """A turn as a token budget pays for it: the speaker and what was said."""
    return f"{turn.speaker}: {turn.body}"


def to_score(dataset: Dataset) -> tuple[list[Question], dict[str, int]]:
    """The questions that say something about a ranking, and why the others are left out.

    Scored are answerable questions with at least one gold turn.
    """
    kept: list[Question] = []
    left_out: Counter[str] = Counter()
    for question in dataset.questions:
        gold = dataset.gold[question.question_id]
        if not gold.answerable:
            left_out["unanswerable"] += 1
        elif not gold.evidence:
            left_out["no gold turn"] += 1
        else:
            kept.append(question)
    return kept, dict(left_out)


def run(
    dataset: Dataset,
    systems: Mapping[str, RankFactory],
    *,
    references: Sequence[str] = (),
    depth: int = DEPTH,
    seed: int = 0,
    on_progress: Progress | None = None,
) -> PartResult:
    """Run ranking systems over one part of a benchmark.

    Args:
        dataset: the part, already cut to its split.
        systems: factories by name; each is built afresh per conversation.
        references: names that all other systems are compared with, question by question.
        depth: how many turns a ranking may bring.
        seed: of the resampling.
        on_progress: called after every conversation and system.

    Raises:
        UsageError: the part has no question to score, or a reference is not among the systems.
    """
    questions, left_out = to_score(dataset)
    if not questions:
        raise UsageError(f"{dataset.name}/{dataset.split} has no question with gold turns here")
    unknown = [name for name in references if name not in systems]
    if unknown:
        raise UsageError(f"no system is called {unknown[0]!r}; there are {sorted(systems)}")
    found = _run_all(dataset, questions, systems, depth=depth, on_progress=on_progress)
    results = [
        SystemResult(
            system=name,
            groups=summarise(rows, seed=seed),
            timing=_timing(rows, built),
            questions=tuple(rows),
        )
        for name, (rows, built) in found.items()
    ]
    pairs = [
        compare(found[name][0], found[base][0], names=(name, base), seed=seed)
        for base in references
        for name in systems
        if name not in references
    ]
    return PartResult(
        dataset=dataset.name,
        split=dataset.split,
        questions_sha256=ids_hash(question.question_id for question in questions),
        n=len(questions),
        left_out=left_out,
        conversations=len({dataset.gold[q.question_id].history_id for q in questions}),
        systems=tuple(results),
        pairs=tuple(pairs),
    )


def _run_all(
    dataset: Dataset,
    questions: Sequence[Question],
    systems: Mapping[str, RankFactory],
    *,
    depth: int,
    on_progress: Progress | None,
) -> dict[str, tuple[list[QuestionResult], float]]:
    """Per system its questions in the order given, and the seconds spent building."""
    made = {name: factory() for name, factory in systems.items()}
    rows: dict[str, dict[str, QuestionResult]] = {name: {} for name in systems}
    built = dict.fromkeys(systems, 0.0)
    by_history: dict[str, list[Question]] = {}
    for question in questions:
        by_history.setdefault(dataset.gold[question.question_id].history_id, []).append(question)
    done, total = 0, len(questions) * len(systems)
    for history_id, asked in by_history.items():
        scorer = _Scorer(dataset.histories[history_id])
        for name, system in made.items():  # conversation outside: an index is built once for all
            start = time.perf_counter()
            system.build(scorer.history)
            built[name] += time.perf_counter() - start
            for question in asked:
                gold = dataset.gold[question.question_id]
                rows[name][question.question_id] = scorer.score(system, question, gold, depth)
            done += len(asked)
            if on_progress is not None:
                on_progress(done, total, f"{dataset.name}/{dataset.split} {name}")
    return {
        name: ([rows[name][question.question_id] for question in questions], built[name])
        for name in systems
    }


class _Scorer:
    """Places and prices of gold turns in the rankings of one conversation."""

    def __init__(self, history: History) -> None:
        self.history = history
        self._aliases = alias_groups(history)
        self._tokens = {
            turn.turn_id: float(estimate_tokens(shown_text(turn))) for turn in history.turns
        }
        self._ids = {turn.source_id: turn.turn_id for turn in history.turns}

    def score(
        self, system: RetrievalSystem, question: Question, gold: Gold, depth: int
    ) -> QuestionResult:
        system.prepare(question.text)
        start = time.perf_counter()
        system.rank(question.text, TIMED_K)
        elapsed = time.perf_counter() - start
        ranking = system.rank(question.text, depth)
        wanted = [self._ids[source_id] for source_id in gold.evidence]
        ranks = gold_ranks(ranking, wanted, aliases=self._aliases)
        turns = completeness_price(ranking, wanted, aliases=self._aliases)
        tokens = completeness_price(ranking, wanted, cost=self._tokens, aliases=self._aliases)
        return QuestionResult(
            question_id=question.question_id,
            history_id=gold.history_id,
            category=gold.category,
            gold=len(ranks),
            ranks=tuple(int(rank) for rank in ranks if math.isfinite(rank)),
            turn_price=turns if math.isfinite(turns) else None,
            token_price=tokens if math.isfinite(tokens) else None,
            milliseconds=elapsed * 1000,
        )


def _timing(rows: Sequence[QuestionResult], built: float) -> Timing:
    times = np.array([row.milliseconds for row in rows])
    return Timing(
        build_seconds=built,
        median_ms=float(np.median(times)),
        p95_ms=float(np.quantile(times, 0.95)),
    )
