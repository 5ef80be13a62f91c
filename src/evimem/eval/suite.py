"""The benchmarks that the command line offers: which parts, which systems, one run each.

Systems come from this package and its recipes; the embedder and the makers of stores come from
outside, so that nothing here picks an adapter.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evimem.build.lite_spaces import BUILDER, lite_spaces
from evimem.datasets import Dataset, find, load, take
from evimem.errors import UsageError
from evimem.eval import answer_bench, qemem_bench, retrieval_bench, stored_bench
from evimem.eval.manifest import make_manifest, report_notes
from evimem.eval.results import BenchReport
from evimem.eval.systems import Ask, IndexPool, RankFactory, ViewedSystem
from evimem.model.evidence import Question
from evimem.model.search import Ranker
from evimem.model.turn import History
from evimem.ports import Embedder
from evimem.query.loop import RunInput, run
from evimem.recipes import RECIPES
from evimem.trace import Trace

__all__ = [
    "PARTS",
    "QEMEM_DRAWN",
    "Part",
    "answers",
    "parts_of",
    "qemem",
    "retrieval",
    "stored",
]

PARTS: Mapping[str, tuple[str, ...]] = {
    "locomo": ("tune", "report", "all"),
    "longmemeval": ("tune", "report"),
    "beam": ("report",),
}
"""Parts of each benchmark: constants are chosen on `tune` only."""

_RANKERS: tuple[Ranker, ...] = ("bm25", "dense", "rrf", "fusion")
_REFERENCES = ("bm25", "rrf")
_QEMEM_REFERENCES = (qemem_bench.MATCHED, "dense", "fusion", "lite")
QEMEM_DRAWN = (qemem_bench.QEMEM, *_QEMEM_REFERENCES)
"""What the plot of `qemem` shows; the table has its ablations too."""

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True)
class Part:
    """A named part of a benchmark that is at hand."""

    dataset: str
    """The benchmark."""
    split: str
    """The part's name."""


def parts_of(
    data: Path, *, datasets: Sequence[str] = (), splits: Sequence[str] = ()
) -> list[tuple[Part, Dataset]]:
    """The parts to run, loaded.

    Args:
        data: a benchmark's file or folder, or a folder that holds several.
        datasets: only these; empty: all that are there.
        splits: only these parts; empty: all.

    Raises:
        UsageError: nothing is left to run.
    """
    places = find(data) if data.is_dir() else {}
    loaded = [load(path) for path in places.values()] if places else [load(data)]
    chosen = [
        (Part(dataset.name, split), part)
        for dataset in loaded
        if not datasets or dataset.name in datasets
        for split in PARTS[dataset.name]
        if (not splits or split in splits) and (part := take(dataset, split)).questions
    ]
    if not chosen:
        raise UsageError(
            f"nothing to run in {str(data)!r}: it holds "
            f"{', '.join(dataset.name for dataset in loaded)} with parts "
            f"{', '.join(dict.fromkeys(name for names in PARTS.values() for name in names))}"
        )
    return chosen


def _asking(pool: IndexPool, recipe: str) -> Ask:
    """A recipe over conversations in memory, through the loop that answers stored banks."""

    def ask(question: Question, history: History) -> Trace:
        given = RunInput(question=question, bank="bench", trace_id="bench", created_at="")
        return run(RECIPES[recipe](), pool.view(history), given, seconds=time.perf_counter)

    return ask


def retrieval(
    parts: Sequence[tuple[Part, Dataset]],
    *,
    embedder: Embedder | None,
    code: str,
    recipes: Sequence[str] = ("lite",),
    seed: int = 0,
    on_progress: Progress | None = None,
) -> BenchReport:
    """How completely each ranking, and each recipe over its rounds, brings the gold turns."""
    pool = IndexPool(embedder)
    names = _RANKERS if embedder is not None else ("bm25", "fusion")
    systems: dict[str, RankFactory] = dict(pool.rankers(names))
    for recipe in recipes:
        systems[recipe] = _viewed(pool, recipe)
    references = [name for name in _REFERENCES if name in systems]
    results = [
        retrieval_bench.run(
            dataset, systems, references=references, seed=seed, on_progress=on_progress
        )
        for _, dataset in parts
    ]
    datasets = [dataset for _, dataset in parts]
    manifest = make_manifest(
        datasets,
        code=code,
        embedder=embedder,
        params={"systems": ", ".join(systems), "seed": seed, "depth": retrieval_bench.DEPTH},
    )
    return BenchReport(
        kind="retrieval", manifest=manifest, parts=tuple(results), notes=report_notes(datasets)
    )


def qemem(
    parts: Sequence[tuple[Part, Dataset]],
    *,
    embedder: Embedder,
    code: str,
    seed: int = 0,
    on_progress: Progress | None = None,
) -> BenchReport:
    """QEMem's retrieval over three spaces without a model, beside single-list retrieval of the
    same store, the rankings of the foundation and `lite` (QEM-31, 52 to 54)."""
    foundation = IndexPool(embedder)
    systems: dict[str, RankFactory] = {
        **qemem_bench.qemem_systems(qemem_bench.space_pool(embedder), embedder),
        **foundation.rankers(("dense", "fusion")),
        "lite": _viewed(foundation, "lite"),
    }
    results = [
        retrieval_bench.run(
            dataset, systems, references=_QEMEM_REFERENCES, seed=seed, on_progress=on_progress
        )
        for _, dataset in parts
    ]
    datasets = [dataset for _, dataset in parts]
    manifest = make_manifest(
        datasets,
        code=code,
        embedder=embedder,
        params={
            "systems": ", ".join(systems),
            "spaces": BUILDER,
            "seed": seed,
            "depth": retrieval_bench.DEPTH,
        },
    )
    return BenchReport(
        kind="qemem", manifest=manifest, parts=tuple(results), notes=report_notes(datasets)
    )


def stored(
    parts: Sequence[tuple[Part, Dataset]],
    *,
    embedder: Embedder | None,
    code: str,
    seed: int = 0,
    on_progress: Progress | None = None,
) -> stored_bench.StoredReport:
    """What the `lite` spaces hold of the gold turns, and what QEMem's first pool brings (E4)."""
    pool = qemem_bench.space_pool(embedder)
    results = [
        stored_bench.run(
            dataset,
            build=lambda history: lite_spaces(history.turns),
            view=pool.view,
            seed=seed,
            on_progress=on_progress,
        )
        for _, dataset in parts
    ]
    datasets = [dataset for _, dataset in parts]
    manifest = make_manifest(
        datasets, code=code, embedder=embedder, params={"spaces": BUILDER, "seed": seed}
    )
    return stored_bench.StoredReport(
        kind="stored", manifest=manifest, parts=tuple(results), notes=report_notes(datasets)
    )


def _viewed(pool: IndexPool, recipe: str) -> RankFactory:
    return lambda: ViewedSystem(_asking(pool, recipe))


def answers(
    parts: Sequence[tuple[Part, Dataset]],
    *,
    embedder: Embedder | None,
    code: str,
    recipe: str = "lite",
    seed: int = 0,
    on_progress: Progress | None = None,
) -> list[answer_bench.AnswerReport]:
    """Times of "when" questions and saying "not in memory", scored by rule, per part."""
    pool = IndexPool(embedder)
    manifest = make_manifest(
        [dataset for _, dataset in parts],
        code=code,
        embedder=embedder,
        params={"recipe": recipe, "seed": seed},
    )
    return [
        answer_bench.run(
            dataset,
            _asking(pool, recipe),
            manifest=manifest,
            seed=seed,
            on_progress=on_progress,
        )
        for _, dataset in parts
    ]
