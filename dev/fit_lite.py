"""Fits the assessor's constants of `lite` and shows how far its rounds reach; run by hand.

    python dev/fit_lite.py --data $EVIMEM_DATA --cache ~/.cache/evimem-fit [--report]

Constants are chosen on LoCoMo conv-26 and conv-30 and the LongMemEval `tune` part; --report only
measures the other conversations. What was tried, with figures, stands in dev/notes-lite.md.
"""

from __future__ import annotations

import argparse
import dataclasses
import time
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import numpy as np

from evimem.datasets import Dataset, Gold, load, take
from evimem.embed.local import LocalEmbedder
from evimem.eval.vector_cache import CachedEmbedder
from evimem.model.evidence import Assessment, Candidate, EvidenceState, StopReason
from evimem.model.search import SearchRequest
from evimem.ports import Embedder
from evimem.query.lite import assessor
from evimem.query.lite.assessor import WEIGHTS, Features, LiteAssessor
from evimem.query.loop import RunInput, run
from evimem.query.memory_view import MemoryView
from evimem.query.parts import BankView, Draft
from evimem.recipes.lite import lite
from evimem.scoring.retrieval import complete_at, gold_ranks
from evimem.trace import Trace

BUDGETS = (10, 20, 40, 80)


class NoAnswer:
    """Skips the answer: only the rounds are measured here."""

    def answer(self, state: EvidenceState, view: BankView) -> Draft:
        return Draft(text="", status="not_in_memory", support=())


class NoStop:
    """Never stops before the ceiling, so that every candidate is seen."""

    def stop(self, rounds: object, state: EvidenceState) -> StopReason | None:
        return None


@dataclasses.dataclass(frozen=True)
class Labelled:
    """One candidate with its features, and whether it is gold."""

    given: Features
    gold: bool


class Recorder(LiteAssessor):
    """The assessor, with the features of every candidate kept."""

    seen: ClassVar[list[tuple[str, Features]]] = []

    def assess(
        self, state: EvidenceState, candidates: tuple[Candidate, ...], view: BankView
    ) -> Assessment:
        real = assessor.features

        def kept(analysis, best, entry, **rest):  # type: ignore[no-untyped-def]
            out = real(analysis, best, entry, **rest)
            self.seen.append((assessor.entry_id(entry), out))
            return out

        assessor.features = kept
        try:
            return super().assess(state, candidates, view)
        finally:
            assessor.features = real


def ask(view: MemoryView, question, recipe) -> Trace:  # type: ignore[no-untyped-def]
    given = RunInput(question=question, bank="fit", trace_id="t", created_at="")
    return run(recipe, view, given, seconds=time.perf_counter)


def per_question(data: Dataset, embedder: Embedder) -> Iterator[tuple[MemoryView, object, Gold]]:
    """Questions with gold turns, one conversation's index at a time."""
    for history_id, history in data.histories.items():
        asked = [
            q
            for q in data.questions
            if (g := data.gold[q.question_id]).history_id == history_id and g.evidence
        ]
        if asked:
            view = MemoryView(history, embedder=embedder)
            for question in asked:
                yield view, question, data.gold[question.question_id]


def sources(view: MemoryView, ids: tuple[str, ...]) -> list[str]:
    return [entry.source_id for entry in view.get(ids)]


def labelled(data: Dataset, embedder: Embedder) -> list[Labelled]:
    """Every candidate of every answerable question, over all rounds."""
    recipe = dataclasses.replace(lite(), assessor=Recorder(), stop=NoStop(), answerer=NoAnswer())
    rows: list[Labelled] = []
    for view, question, gold in per_question(data, embedder):
        if not gold.answerable:
            continue
        Recorder.seen.clear()
        ask(view, question, recipe)
        for item_id, given in Recorder.seen:
            rows.append(Labelled(given, sources(view, (item_id,))[0] in gold.evidence))
    return rows


def fitted(rows: list[Labelled]) -> dict[str, float]:
    """Logistic regression by Newton steps with a small ridge."""
    names = [n for n in WEIGHTS if n != "bias"]
    x = np.array([[1.0, *(getattr(r.given, n) for n in names)] for r in rows])
    y = np.array([r.gold for r in rows], dtype=float)
    w = np.zeros(x.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-x @ w))
        hessian = (x * (p * (1 - p))[:, None]).T @ x + 0.01 * np.eye(len(w))
        w += np.linalg.solve(hessian, x.T @ (y - p) - 0.01 * w)
    return dict(zip(["bias", *names], w.tolist(), strict=True))


def show_confidence(rows: list[Labelled]) -> None:
    """Calibration and the F1 of keeping from each confidence on."""
    p = np.array([assessor.confidence(r.given) for r in rows])
    y = np.array([r.gold for r in rows])
    for low in np.arange(0, 1, 0.1):
        at = (p >= low) & (p < low + 0.1)
        if at.any():
            print(f"  confidence {low:.1f}..: n {at.sum():6d}  gold {y[at].mean():.3f}")
    for cut in (0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5):
        kept = p >= cut
        right = (kept & y).sum()
        precision, recall = right / max(kept.sum(), 1), right / y.sum()
        f1 = 2 * precision * recall / max(precision + recall, 1e-9)
        print(f"  keep from {cut:.2f}: precision {precision:.3f} recall {recall:.3f} F1 {f1:.3f}")


def show_reach(title: str, data: Dataset, embedder: Embedder) -> None:
    """complete@k of one search and of the rounds of `lite` as it ships, per category."""
    recipe = dataclasses.replace(lite(), answerer=NoAnswer())
    rows: dict[str, list[list[float]]] = {}
    stops: dict[str, int] = {}
    begun = time.perf_counter()
    for view, question, gold in per_question(data, embedder):
        if not gold.answerable:
            continue
        trace = ask(view, question, recipe)
        stops[trace.stop_reason] = stops.get(trace.stop_reason, 0) + 1
        plain = view.search(SearchRequest(text=question.text, k=max(BUDGETS)))
        both = (sources(view, tuple(h.item_id for h in plain)), sources(view, trace.viewed))
        row = [
            float(complete_at(gold_ranks(ranking, gold.evidence), k))
            for ranking in both
            for k in BUDGETS
        ]
        row += [len(trace.viewed), len(trace.rounds), len(trace.accepted)]
        for name in (gold.category, "all"):
            rows.setdefault(name, []).append(row)
    print(f"{title}: {time.perf_counter() - begun:.0f} s, stops {stops}")
    for name, values in rows.items():
        mean = np.mean(values, axis=0)
        one, many = 100 * mean[: len(BUDGETS)], 100 * mean[len(BUDGETS) : 2 * len(BUDGETS)]
        print(
            f"  {name:26s} n {len(values):4d}  one search {np.round(one, 1)}  "
            f"rounds {np.round(many, 1)}  viewed {mean[-3]:.0f} in {mean[-2]:.1f}, "
            f"accepted {mean[-1]:.1f}"
        )


def main() -> None:
    """Fit on the tuning parts, show reach."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True, help="folder for vectors")
    parser.add_argument("--report", action="store_true", help="measure the other conversations")
    args = parser.parse_args()
    with CachedEmbedder(LocalEmbedder(), args.cache) as embedder:
        study(args.data, embedder, report=args.report)


def study(data_dir: Path, embedder: Embedder, *, report: bool) -> None:
    """All figures."""
    locomo = load("locomo", data_dir=data_dir)
    chats = load("longmemeval", data_dir=data_dir)
    if report:
        show_reach("LoCoMo report", take(locomo, "report"), embedder)
        show_reach("LongMemEval report", take(chats, "report"), embedder)
        return
    parts = [take(locomo, "tune"), take(chats, "tune")]
    rows = [row for part in parts for row in labelled(part, embedder)]
    print({name: round(value, 2) for name, value in fitted(rows).items()})
    show_confidence(rows)
    for part in parts:
        show_reach(f"{part.name} tune", part, embedder)


if __name__ == "__main__":
    main()
