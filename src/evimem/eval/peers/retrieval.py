"""Our search beside the search of other packages, in one run: coverage, build rate, latency.

All see the same turns and the same vectors, which are made before any clock starts; each stores
what it needs on disk if it works that way. Times are taken inside the process that does the work,
so no pipe and no HTTP is in them; ratios are what may be read, as all ran on one machine in turn.
"""

from __future__ import annotations

import dataclasses
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from evimem.datasets import Dataset, ids_hash
from evimem.engine.memory import Memory
from evimem.eval import retrieval_bench
from evimem.eval.peers.known import PEERS, PeerKind, python_of
from evimem.eval.peers.live import LivePeer, given_turns, shown_of
from evimem.eval.peers.proxy import vectors_of
from evimem.eval.peers.report import PeersReport, SpeedOf
from evimem.eval.results import PartResult, SystemResult, Timing
from evimem.eval.retrieval_bench import TIMED_K
from evimem.eval.summary import compare, summarise
from evimem.eval.systems import RetrievalSystem
from evimem.model.search import Ranker
from evimem.model.turn import History
from evimem.ports import Embedder

__all__ = [
    "COMPARED",
    "Entry",
    "Measured",
    "OpenMemory",
    "OurSearch",
    "PeerSearch",
    "run",
    "standard_entries",
    "warmed",
]

_BATCH = 512  # texts encoded at once

Progress = Callable[[int, int, str], None]
OpenMemory = Callable[[Path, Embedder], Memory]
"""Opens an empty memory in a folder; what is under it is chosen outside."""


class Measured(RetrievalSystem, Protocol):
    """A ranking that knows how long its own work took."""

    build_seconds: float
    """Taking in turns, all conversations, vectors at hand."""
    turns: int
    """Turns taken in."""
    milliseconds: list[float]
    """Searches for ten turns, each."""
    version: str
    """Of the package."""

    def close(self) -> None:
        """Release everything."""
        ...


class OurSearch:
    """Our memory through its public calls: `add` per session, `search` with texts, on disk."""

    def __init__(
        self, open_memory: OpenMemory, embedder: Embedder, *, ranker: Ranker, version: str
    ) -> None:
        """Args:
        open_memory: makes an empty memory.
        embedder: vectors, remembered.
        ranker: which ranking.
        version: of this package.
        """
        self._open = open_memory
        self._embedder = embedder
        self._ranker: Ranker = ranker
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._memory: Memory | None = None
        self.version = version
        self.build_seconds = 0.0
        self.turns = 0
        self.milliseconds: list[float] = []

    def build(self, history: History) -> None:
        """Store one conversation in a file of its own."""
        self.close()
        turns = [turn for turn in history.turns if turn.body.strip()]
        _warm(self._embedder, [turn.body for turn in turns])
        self._folder = tempfile.TemporaryDirectory(prefix="evimem-peers-")
        self._memory = self._open(Path(self._folder.name), self._embedder)
        sessions: dict[str, list[dict[str, object]]] = {}
        for turn in turns:
            sessions.setdefault(turn.session_id, []).append(
                {
                    "role": turn.role,  # it tells people's talk from a chat with a model
                    "name": turn.speaker,
                    "content": turn.body,
                    "id": turn.turn_id,
                    "timestamp": turn.said_at,
                }
            )
        start = time.perf_counter()
        for session_id, messages in sessions.items():
            self._memory.add(messages, session_id=session_id)
        self.build_seconds += time.perf_counter() - start
        self.turns += len(turns)

    def prepare(self, question: str) -> None:
        """Search once untimed: what is encoded is the question as our index words it."""
        self._opened.search(question, top_k=1, ranker=self._ranker)

    def rank(self, question: str, k: int) -> list[str]:
        """At most k turns."""
        memory = self._opened
        start = time.perf_counter()
        found = memory.search(question, top_k=k, ranker=self._ranker)
        if k == TIMED_K:
            self.milliseconds.append(1000 * (time.perf_counter() - start))
        return [hit.source_id for hit in found.hits]

    @property
    def _opened(self) -> Memory:
        if self._memory is None:
            raise RuntimeError("build() comes before rank()")
        return self._memory

    def close(self) -> None:
        """Close the memory and remove its folder."""
        if self._memory is not None:
            self._memory.close()
            self._memory = None
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None


class PeerSearch:
    """Another package, every turn stored word for word, by its own search."""

    def __init__(
        self,
        kind: PeerKind,
        *,
        python: Path,
        embedder: Embedder,
        speaker_in_text: bool = False,
        config: Mapping[str, str] | None = None,
    ) -> None:
        """Args:
        kind: the package, driven without a model.
        python: the Python of its environment.
        embedder: vectors, remembered.
        speaker_in_text: the speaker stands before the words.
        config: settings over those of the kind.
        """
        self._kind = kind
        self._python = python
        self._embedder = embedder
        self._named = speaker_in_text
        self._config = dict(config or {})
        self._live: LivePeer | None = None
        self.version = ""
        self.build_seconds = 0.0
        self.turns = 0
        self.milliseconds: list[float] = []

    def build(self, history: History) -> None:
        """Store one conversation in a fresh process.

        Raises:
            PeerError: the package failed.
        """
        self.close()
        self._live = LivePeer(
            self._kind, python=self._python, embedder=self._embedder, config=self._config
        )
        self.version = self._live.version
        turns = given_turns(history, speaker_in_text=self._named)
        self._live.call("warm", {"texts": [turn["text"] for turn in turns]})
        done = self._live.call("add", {"turns": [*turns]})
        self.build_seconds += done.seconds - done.embedding_seconds
        self.turns += len(turns)

    def prepare(self, question: str) -> None:
        """Search once untimed, as ours does, which has the question's vector at hand."""
        self._running.call("search", {"text": question, "k": 1})

    def rank(self, question: str, k: int) -> list[str]:
        """At most k turns.

        Raises:
            PeerError: the package failed.
        """
        reply = self._running.call("search", {"text": question, "k": k})
        if k == TIMED_K:
            self.milliseconds.append(1000 * (reply.seconds - reply.embedding_seconds))
        shown = shown_of(reply.result, speaker_in_text=self._named)
        return list(dict.fromkeys(turn for one in shown for turn in one.turn_ids))

    @property
    def _running(self) -> LivePeer:
        if self._live is None:
            raise RuntimeError("build() comes before rank()")
        return self._live

    def close(self) -> None:
        """End the process."""
        if self._live is not None:
            self._live.close()
            self._live = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One row of the comparison."""

    name: str
    """Its name."""
    system: Measured
    """The ranking."""
    licence: str
    """SPDX id."""


COMPARED = (
    ("mem0ai 1.0.11", "mem0ai-1.0.11-verbatim", False),
    ("mem0ai 1.0.11, names in text", "mem0ai-1.0.11-verbatim", True),
    ("mempalace, names in text", "mempalace", True),
    ("langgraph store, names in text", "langgraph-store", True),
)
"""Name, kind, and whether speakers stand before the words: a field for them, which ours has, no
other one searches, and questions name people."""


_NOTES = (
    "each takes turns in by its own call: evimem and mempalace one write per session, mem0ai "
    "(infer=False) and the langgraph store one per turn; the langgraph store lies in memory alone, "
    "the others on disk",
    "mem0ai and the langgraph store rank by cosine alone; our dense ranking does too, and first "
    "puts a question about a person in that person's words (I, my); mempalace weighs cosine and "
    "words together, and folds copies of a text into one hit",
    "every question is searched once untimed by each system before the search that is timed",
)


def standard_entries(
    open_memory: OpenMemory, embedder: Embedder, *, folder: Path, version: str
) -> list[Entry]:
    """The rows of the comparison, our default ranking first.

    Args:
        open_memory: makes an empty memory of ours.
        embedder: vectors, remembered; see `warmed`.
        folder: that of the peers' environments, see dev/make_peer_env.py.
        version: of this package.
    """
    rankers: tuple[Ranker, ...] = ("fusion", "dense")
    ours = [
        Entry(
            name=f"evimem {ranker}",
            system=OurSearch(open_memory, embedder, ranker=ranker, version=version),
            licence="Apache-2.0",
        )
        for ranker in rankers
    ]
    peers = [
        Entry(
            name=name,
            system=PeerSearch(
                PEERS[kind],
                python=python_of(PEERS[kind], folder),
                embedder=embedder,
                speaker_in_text=named,
            ),
            licence=PEERS[kind].licence,
        )
        for name, kind, named in COMPARED
    ]
    return [*ours, *peers]


def warmed(dataset: Dataset, embedder: Embedder) -> float:
    """Make every vector that the comparison needs; the seconds that took, for `run`.

    Args:
        dataset: all conversations.
        embedder: one that remembers, such as `CachedEmbedder`.
    """
    turns = [turn for one in dataset.histories.values() for turn in one.turns if turn.body.strip()]
    texts = [turn.body for turn in turns]
    texts += [f"{turn.speaker}: {turn.body}" for turn in turns]
    texts += [question.text for question in dataset.questions]
    start = time.perf_counter()
    for at in range(0, len(texts), _BATCH):
        _warm(embedder, texts[at : at + _BATCH])
    return time.perf_counter() - start


def run(
    dataset: Dataset,
    entries: Sequence[Entry],
    *,
    parts: Mapping[str, Dataset],
    manifest: Mapping[str, str],
    seed: int = 0,
    embedding_seconds: float | None = None,
    notes: Sequence[str] = (),
    on_progress: Progress | None = None,
) -> PeersReport:
    """Rank every question of a data set by every system, once, and sum up per part.

    Args:
        dataset: all conversations.
        entries: the systems, the reference first; they are closed at the end.
        parts: the parts to report, by name, as cut from `dataset`; the figure first.
        manifest: what to repeat the run with.
        seed: of the resampling.
        embedding_seconds: see `PeersReport`.
        notes: what must be said beside the figures.
        on_progress: called after every conversation and system.

    Raises:
        UsageError: there is no question to score.
        PeerError: a package failed.
    """
    with _closing(entries):
        whole = retrieval_bench.run(
            dataset,
            {one.name: _giver(one.system) for one in entries},
            seed=seed,
            on_progress=on_progress,
        )
        speed = _speeds(entries)
    return PeersReport(
        kind="peers",
        manifest={
            **manifest,
            **{f"package {one.name}": one.system.version for one in entries},
        },
        parts=tuple(_part(whole, name, part, entries, seed) for name, part in parts.items()),
        speed=speed,
        embedding_seconds=embedding_seconds,
        notes=(*_NOTES, *notes),
    )


def _warm(embedder: Embedder, texts: Sequence[str]) -> None:
    if texts:
        vectors_of(texts, embedder)


def _giver(system: Measured) -> Callable[[], RetrievalSystem]:
    return lambda: system


@contextmanager
def _closing(entries: Sequence[Entry]) -> Iterator[None]:
    try:
        yield
    finally:
        for one in entries:
            one.system.close()


def _part(
    whole: PartResult, name: str, part: Dataset, entries: Sequence[Entry], seed: int
) -> PartResult:
    """The questions of a part, summed up anew; pairs are each system against the first."""
    wanted = {question.question_id for question in part.questions}
    rows = {
        one.system: [row for row in one.questions if row.question_id in wanted]
        for one in whole.systems
    }
    first, *others = [one.name for one in entries]
    scored = [row.question_id for row in rows[first]]
    out = [q for q in part.questions if q.question_id not in set(scored)]
    without = sum(part.gold[q.question_id].answerable for q in out)
    return PartResult(
        dataset=whole.dataset,
        split=name,
        questions_sha256=ids_hash(scored),
        n=len(scored),
        left_out={"unanswerable": len(out) - without, "no gold turn": without},
        conversations=len({row.history_id for row in rows[first]}),
        systems=tuple(
            SystemResult(
                system=one.name,
                groups=summarise(rows[one.name], seed=seed),
                timing=Timing(
                    build_seconds=one.system.build_seconds,
                    median_ms=float(np.median(one.system.milliseconds)),
                    p95_ms=float(np.quantile(one.system.milliseconds, 0.95)),
                ),
            )
            for one in entries
        ),
        pairs=tuple(
            compare(rows[first], rows[other], names=(first, other), seed=seed) for other in others
        ),
    )


def _speeds(entries: Sequence[Entry]) -> tuple[SpeedOf, ...]:
    raw = [
        SpeedOf(
            system=one.name,
            version=one.system.version,
            licence=one.licence,
            turns=one.system.turns,
            build_seconds=one.system.build_seconds,
            turns_per_second=one.system.turns / one.system.build_seconds,
            median_ms=float(np.median(one.system.milliseconds)),
            p95_ms=float(np.quantile(one.system.milliseconds, 0.95)),
            build_ratio=1.0,
            median_ratio=1.0,
            p95_ratio=1.0,
        )
        for one in entries
    ]
    base = raw[0]
    return tuple(
        dataclasses.replace(
            one,
            build_ratio=base.turns_per_second / one.turns_per_second,
            median_ratio=one.median_ms / base.median_ms,
            p95_ratio=one.p95_ms / base.p95_ms,
        )
        for one in raw
    )
