"""How fast storing and searching are, and what they need, beside a peer in the same run.

Text and vectors are synthetic (`synthetic`), so no model slows the measurement; what encoding a
question costs with the real embedder is a figure of its own.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from evimem.errors import MissingExtra
from evimem.eval.loop_bench import LoopRow
from evimem.eval.synthetic import Babble, NoiseEmbedder
from evimem.ports import Embedder

if TYPE_CHECKING:
    from evimem.engine.memory import Memory

__all__ = [
    "MemoryTarget",
    "SpeedReport",
    "SpeedRow",
    "SpeedTarget",
    "TargetFactory",
    "encode_ms",
    "run",
    "speed_table",
]

SIZES = (1_000, 10_000, 100_000)
"""Turns in one bank."""
MANY_BANKS = (1_000, 600)
"""Banks, and turns in each."""
_K = 10
_QUERIES = 200
_VISITED = 100  # banks searched, of many

Progress = Callable[[int, int, str], None]
"""Called with steps done, steps in all, and what is under way."""


class SpeedTarget(Protocol):
    """A store that can be filled and searched."""

    name: str
    """Its name in reports."""

    def store(self, bank: str, source: Path) -> None:
        """Import a JSONL file of turns, without vectors."""
        ...

    def embed(self, bank: str) -> None:
        """Add the vectors that are missing."""
        ...

    def search(self, bank: str, query: str, k: int) -> int:
        """A hybrid search over words and vectors, texts fetched; returns how many hits."""
        ...

    def close(self) -> None:
        """Release everything."""
        ...


TargetFactory = Callable[[Path, Embedder], SpeedTarget]
"""Makes an empty store in a folder, for vectors of an embedder."""


class MemoryTarget:
    """Our own memory, through its public calls."""

    name = "evimem"
    """Its name in reports."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def store(self, bank: str, source: Path) -> None:
        """Import a JSONL file, without vectors."""
        self._memory.import_file(source, format="jsonl", bank=bank, embed=False)

    def embed(self, bank: str) -> None:
        """Add the vectors that are missing."""
        self._memory.embed(bank=bank)

    def search(self, bank: str, query: str, k: int) -> int:
        """The default ranking, with texts."""
        return len(self._memory.search(query, top_k=k, bank=bank).hits)

    def close(self) -> None:
        """Close the memory."""
        self._memory.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedRow:
    """One store at one size."""

    target: str
    """The store."""
    banks: int
    """Banks filled."""
    turns: int
    """Turns in each."""
    stored_per_second: float = 0.0
    """Turns imported per second, without vectors."""
    vectors_per_second: float = 0.0
    """Vectors stored per second; making them costs nearly nothing here."""
    file_mb: float = 0.0
    """Size of all files, in MiB."""
    rss_mb: float = 0.0
    """Memory of the whole process after the searches, in MiB."""
    rss_growth_mb: float = 0.0
    """Growth of that from before filling to after the searches, in MiB."""
    cold_ms: float = 0.0
    """First search of a bank (median over banks where there are many)."""
    median_ms: float = 0.0
    """Median warm search, encoding of the question left out."""
    p95_ms: float = 0.0
    """95th percentile."""
    note: str = ""
    """Why there are no figures; empty where there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedReport:
    """One run."""

    kind: str
    """"speed"."""
    manifest: Mapping[str, str]
    """Code version, machine, versions of the stores."""
    rows: tuple[SpeedRow, ...]
    """Every store at every size."""
    times_faster: Mapping[str, float] = field(default_factory=dict)
    """Peer's median search over ours, by "peer at n turns"."""
    encode_ms: float | None = None
    """Median of encoding one question with the default embedder; None: not measured."""
    loop: LoopRow | None = None
    """What a round of a model recipe costs without its model; None: not measured."""


def run(
    targets: Mapping[str, TargetFactory],
    *,
    sizes: Sequence[int] = SIZES,
    many_banks: tuple[int, int] | None = MANY_BANKS,
    manifest: Mapping[str, str] | None = None,
    encoder: Embedder | None = None,
    queries: int = _QUERIES,
    seed: int = 0,
    on_progress: Progress | None = None,
) -> SpeedReport:
    """Fill and search every store at every size; the first one also with many banks.

    Args:
        targets: factories by name, ours first; one that lacks its package gets a row saying so.
        sizes: turns in one bank.
        many_banks: banks and turns in each, for the first store; None leaves that out.
        manifest: what to repeat the run with.
        encoder: the default embedder, to time the encoding of a question; None leaves that out.
        queries: searches timed per row.
        seed: of text and questions.
        on_progress: called before each row.
    """
    steps = [(name, 1, size) for size in sizes for name in targets]
    if many_banks is not None:
        steps.append((next(iter(targets)), *many_banks))
    rows: list[SpeedRow] = []
    for done, (name, banks, turns) in enumerate(steps):
        if on_progress is not None:
            on_progress(done, len(steps), f"{name}: {banks} x {turns} turns")
        rows.append(_row(targets[name], name, banks, turns, queries=queries, seed=seed))
    return SpeedReport(
        kind="speed",
        manifest=manifest or {},
        rows=tuple(rows),
        times_faster=_times_faster(rows, next(iter(targets))),
        encode_ms=None if encoder is None else encode_ms(encoder, seed=seed),
    )


def encode_ms(embedder: Embedder, *, count: int = 50, seed: int = 0) -> float:
    """Median milliseconds to encode one short question."""
    questions = Babble(seed).questions(count + 3)
    for question in questions[:3]:  # loads the weights
        embedder.embed([question])
    return float(np.median([_timed(partial(embedder.embed, [q])) for q in questions[3:]]))


def _timed(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1000


def _row(
    factory: TargetFactory, name: str, banks: int, turns: int, *, queries: int, seed: int
) -> SpeedRow:
    with tempfile.TemporaryDirectory(prefix="evimem-speed-") as temp:
        folder = Path(temp) / "store"
        folder.mkdir()
        before = _rss_mb()
        try:
            target = factory(folder, NoiseEmbedder())
        except MissingExtra as error:
            return SpeedRow(target=name, banks=banks, turns=turns, note=str(error))
        try:
            return _measure(target, name, banks, turns, Path(temp), before, queries, seed)
        finally:
            target.close()


def _measure(
    target: SpeedTarget,
    name: str,
    banks: int,
    turns: int,
    temp: Path,
    before: float,
    queries: int,
    seed: int,
) -> SpeedRow:
    babble = Babble(seed)
    source = temp / "turns.jsonl"
    names = [f"bank-{number}" for number in range(banks)]
    stored = embedded = 0.0
    for bank in names:
        babble.write(source, turns)
        stored += _timed(partial(target.store, bank, source))
        embedded += _timed(partial(target.embed, bank))
    asked = babble.questions(queries)
    visited = names[:: max(1, banks // _VISITED)]
    cold = [_timed(partial(target.search, bank, asked[0], _K)) for bank in visited]
    warm = [
        _timed(partial(target.search, visited[i % len(visited)], question, _K))
        for i, question in enumerate(asked)
    ]
    after = _rss_mb()
    files = sum(path.stat().st_size for path in (temp / "store").rglob("*") if path.is_file())
    return SpeedRow(
        target=name,
        banks=banks,
        turns=turns,
        stored_per_second=1000 * banks * turns / stored,
        vectors_per_second=1000 * banks * turns / embedded,
        file_mb=files / 2**20,
        rss_mb=after,
        rss_growth_mb=after - before,
        cold_ms=float(np.median(cold)),
        median_ms=float(np.median(warm)),
        p95_ms=float(np.quantile(warm, 0.95)),
    )


def _times_faster(rows: Sequence[SpeedRow], ours: str) -> dict[str, float]:
    mine = {(row.banks, row.turns): row.median_ms for row in rows if row.target == ours}
    return {
        f"{row.target} at {row.turns} turns": row.median_ms / mine[row.banks, row.turns]
        for row in rows
        if row.target != ours and not row.note
    }


def _rss_mb() -> float:
    """Resident memory now; where the system does not say, the peak."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return pages * resource.getpagesize() / 2**20
    except OSError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / (2**20 if sys.platform == "darwin" else 2**10)


def speed_table(report: SpeedReport) -> str:
    """The rows and ratios as text."""
    lines = [
        f"{'store':<18}{'banks':>6}{'turns':>8}{'stored/s':>10}{'vectors/s':>11}{'MiB file':>10}"
        f"{'MiB RSS':>9}{'+RSS':>8}{'cold ms':>9}{'median ms':>11}{'p95 ms':>8}"
    ]
    for row in report.rows:
        head = f"{row.target:<18}{row.banks:>6}{row.turns:>8}"
        lines.append(
            f"{head}  {row.note}"
            if row.note
            else f"{head}{row.stored_per_second:>10.0f}{row.vectors_per_second:>11.0f}"
            f"{row.file_mb:>10.1f}{row.rss_mb:>9.0f}{row.rss_growth_mb:>8.0f}{row.cold_ms:>9.1f}"
            f"{row.median_ms:>11.2f}{row.p95_ms:>8.2f}"
        )
    lines += [
        f"{name}: takes {times:.1f} times as long as ours"
        for name, times in report.times_faster.items()
    ]
    if report.encode_ms is not None:
        lines.append(f"encoding one question: {report.encode_ms:.1f} ms")
    if report.loop is not None:
        loop = report.loop
        lines.append(
            f"one round of mera without its model, {loop.facts} facts: median {loop.round_ms:.1f} "
            f"ms, p95 {loop.round_p95_ms:.1f} ms ({loop.rounds} rounds); a state of "
            f"{loop.graph_elements} graph elements in words: {loop.state_ms:.2f} ms"
        )
    return "\n".join(lines)
