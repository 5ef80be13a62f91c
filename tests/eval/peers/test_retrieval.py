"""The comparison with other packages: same turns, same vectors, times from inside."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from evimem.compose import Memory, SystemClock
from evimem.datasets import Dataset, Gold
from evimem.embed.hashing import HashingEmbedder
from evimem.errors import UsageError
from evimem.eval.peers.known import PEERS, PeerKind
from evimem.eval.peers.report import PeersReport, peers_section
from evimem.eval.peers.retrieval import (
    Entry,
    Measured,
    OurSearch,
    PeerSearch,
    run,
    standard_entries,
    warmed,
)
from evimem.eval.report import write_report
from evimem.eval.systems import IndexPool
from evimem.eval.vector_cache import CachedEmbedder
from evimem.model.evidence import Question
from evimem.model.turn import History
from evimem.ports import Embedder
from evimem.storage.sqlite import SqliteStore

ASKED = {
    "h#0": ("Who runs a bakery near the port?", ("1:0",)),
    "h#1": ("What is Bruno?", ("1:3",)),
    "h#2": ("What is nowhere said?", ()),
}
WHOSE = "Whose sister Rita runs a bakery near the port?"  # no two turns are equally near to it


@pytest.fixture
def dataset(history: History) -> Dataset:
    """Two questions with gold and one without, over the conversation of four turns."""
    gold = {
        name: Gold(
            question_id=name,
            history_id="h",
            answer="x",
            category="single",
            evidence=evidence,
            answerable=True,
        )
        for name, (_, evidence) in ASKED.items()
    }
    return Dataset(
        name="locomo",
        split="all",
        histories={"h": history},
        questions=tuple(Question(text=text, question_id=name) for name, (text, _) in ASKED.items()),
        gold=gold,
    )


def opened(folder: Path, embedder: Embedder) -> Memory:
    clock = SystemClock()
    store = SqliteStore.open(folder / "m.evimem", clock=clock)
    return Memory(store, clock=clock, embedder=embedder)


def ours(embedder: Embedder, ranker: str = "fusion") -> OurSearch:
    return OurSearch(opened, embedder, ranker=ranker, version="1")  # type: ignore[arg-type]


def report_of(dataset: Dataset, *entries: tuple[str, Measured]) -> PeersReport:
    return run(
        dataset,
        [Entry(name=name, system=system, licence="MIT") for name, system in entries],
        parts={"report": dataset.only(["h#1"], split="report"), "all": dataset},
        manifest={"code": "test"},
    )


def test_our_dense_ranking_and_an_exact_peer_agree_turn_by_turn(
    toy: PeerKind, history: History, tmp_path: Path
) -> None:
    with CachedEmbedder(HashingEmbedder(), tmp_path) as embedder:
        mine = ours(embedder, "dense")
        peer = PeerSearch(toy, python=Path(sys.executable), embedder=embedder)
        rankings = []
        for one in (mine, peer):
            one.build(history)
            one.prepare("Rita's bakery is called Amber")
            rankings.append(one.rank("Rita's bakery is called Amber", 10))
            one.close()

    assert rankings[0] == rankings[1]
    assert sorted(rankings[0]) == ["t0", "t1", "t3"], "the blank turn is nowhere"


@pytest.mark.parametrize("ranker", ["dense", "fusion"])
def test_our_stored_search_ranks_as_the_index_of_the_retrieval_benchmark_does(
    ranker: str, history: History, tmp_path: Path
) -> None:
    turns = tuple(turn for turn in history.turns if turn.text)  # blank ones are not stored
    history = dataclasses.replace(history, turns=turns)
    asked = "Where is Marek's dog and what is Ines's sister running?"  # names become "I" and "my"
    with CachedEmbedder(HashingEmbedder(), tmp_path) as embedder:
        stored = ours(embedder, ranker)
        index = IndexPool(embedder).rankers(("dense", "fusion"))[ranker]()
        for one in (stored, index):
            one.build(history)
            one.prepare(asked)
        view = IndexPool(embedder).view(history)
        assert view.index.as_said(asked) != asked
        assert stored.rank(asked, 10) == index.rank(asked, 10)
        made = embedder.encoded
        stored.rank(asked, 10)
        stored.close()

    assert embedder.encoded == made, "the timed search encodes nothing"


def test_parts_hold_their_questions_and_pairs_compare_with_the_first(
    toy: PeerKind, dataset: Dataset, tmp_path: Path
) -> None:
    with CachedEmbedder(HashingEmbedder(), tmp_path) as embedder:
        peer = PeerSearch(toy, python=Path(sys.executable), embedder=embedder, speaker_in_text=True)
        report = report_of(dataset, ("evimem", ours(embedder)), ("toy", peer))

    part, whole = report.parts
    assert (part.split, part.n, part.left_out) == (
        "report", 1, {"unanswerable": 0, "no gold turn": 0},
    )  # fmt: skip
    assert (whole.split, whole.n) == ("all", 2)
    assert whole.left_out == {"unanswerable": 0, "no gold turn": 1}
    assert [one.system for one in whole.systems] == ["evimem", "toy"]
    assert all(not one.questions for one in whole.systems), "figures only"
    assert [(one.first, one.second) for one in whole.pairs] == [("evimem", "toy")]
    assert whole.systems[0].groups[0].complete["5"].estimate == 1.0, "three turns, five shown"
    assert report.manifest["package toy"] == "0.toy"


def test_speed_is_of_the_work_alone_and_ratios_are_over_the_first(dataset: Dataset) -> None:
    fast, slow = _Fixed(2.0, (1.0, 3.0)), _Fixed(6.0, (4.0, 12.0))

    report = report_of(dataset, ("fast", fast), ("slow", slow))

    first, second = report.speed
    assert (first.turns_per_second, second.turns_per_second) == (5.0, pytest.approx(10 / 6))
    assert (first.build_ratio, first.median_ratio, first.p95_ratio) == (1.0, 1.0, 1.0)
    assert second.build_ratio == pytest.approx(3.0)
    assert (first.median_ms, second.median_ms) == (2.0, 8.0)
    assert second.median_ratio == pytest.approx(4.0)
    assert second.p95_ratio == pytest.approx(
        np.quantile([4.0, 12.0], 0.95) / np.quantile([1.0, 3.0], 0.95)
    )
    assert fast.closed and slow.closed


def test_vectors_are_made_before_the_clock_starts(
    toy: PeerKind, history: History, tmp_path: Path
) -> None:
    class Slow(HashingEmbedder):
        def embed(self, texts):  # type: ignore[no-untyped-def]
            import time

            time.sleep(0.4)
            return super().embed(texts)

    with CachedEmbedder(Slow(), tmp_path) as embedder:
        systems = [ours(embedder), PeerSearch(toy, python=Path(sys.executable), embedder=embedder)]
        for one in systems:
            one.build(history)
            one.prepare("dog")
            one.rank("dog", 10)
            one.rank("dog", 2)
            one.close()

    for one in systems:
        assert one.build_seconds < 0.4
        assert one.turns == 3
        [millis] = one.milliseconds
        assert millis < 400, "and only the search for ten turns is timed"


def test_the_peer_is_closed_when_a_system_fails(toy: PeerKind, dataset: Dataset) -> None:
    broken = _Fixed(1.0, (1.0,))
    broken.failing = True
    with pytest.raises(UsageError, match="broken"):
        report_of(dataset, ("broken", broken))
    assert broken.closed


def test_ranking_before_building_is_an_error(toy: PeerKind) -> None:
    embedder = HashingEmbedder()
    for one in (ours(embedder), PeerSearch(toy, python=Path(sys.executable), embedder=embedder)):
        with pytest.raises(RuntimeError, match="comes before"):
            one.rank("x", 1)


def test_the_section_shows_the_curve_the_areas_and_the_ratios(
    dataset: Dataset, tmp_path: Path
) -> None:
    report = report_of(
        dataset, ("fast", _Fixed(2.0, (1.0, 3.0))), ("slow", _Fixed(6.0, (4.0, 12.0)))
    )

    section = peers_section(report)

    coverage, pairs, *_, speed = section.tables
    assert coverage.title == "Complete evidence, locomo report, n = 1"
    assert coverage.columns[:3] == ("system", "AUC", "complete@20")
    assert coverage.columns[-1] == "120 turns"
    assert [row[0] for row in coverage.rows] == ["fast", "slow"]
    assert coverage.rows[0][4:] == (1.0,) * 12, "a ranking of all turns is complete at ten"
    assert [row[0] for row in pairs.rows] == ["fast - slow"]
    assert speed.rows[1][4] == pytest.approx(3.0)
    [plot] = section.plots
    assert [line.label for line in plot.lines] == ["fast", "slow"]
    assert plot.lines[0].x == tuple(map(float, range(10, 121, 10)))
    write_report(report, tmp_path / "peers.json")
    written = (tmp_path / "peers.json").read_text(encoding="utf-8")
    assert "bakery" not in written, "figures only"


def test_the_standard_rows_start_with_ours_and_need_no_vector_after_warming(
    dataset: Dataset, tmp_path: Path
) -> None:
    with CachedEmbedder(HashingEmbedder(), tmp_path) as embedder:
        seconds = warmed(dataset, embedder)
        entries = standard_entries(opened, embedder, folder=tmp_path, version="1")
        made = embedder.encoded
        for one in entries[:2]:
            one.system.build(dataset.histories["h"])
            one.system.prepare(ASKED["h#0"][0])
            one.system.rank(ASKED["h#0"][0], 10)
            one.system.close()

        assert embedder.encoded == made == 3 + 3 + 3, "turns, turns with names, questions"
    assert seconds > 0
    names = [one.name for one in entries]
    assert names[:3] == ["evimem fusion", "evimem dense", "mem0ai 1.0.11"]
    with pytest.raises(UsageError, match="make_peer_env"):
        entries[2].system.build(dataset.histories["h"])


class _Fixed:
    """A ranking of all turns whose times are given."""

    version = "1"

    def __init__(self, seconds: float, millis: tuple[float, ...]) -> None:
        self.build_seconds, self.turns, self.milliseconds = seconds, 10, list(millis)
        self.closed = self.failing = False
        self._ids: list[str] = []

    def build(self, history: History) -> None:
        if self.failing:
            raise UsageError("broken")
        self._ids = [turn.turn_id for turn in history.turns]

    def prepare(self, question: str) -> None:
        pass

    def rank(self, question: str, k: int) -> list[str]:
        return self._ids[:k]

    def close(self) -> None:
        self.closed = True


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mem0ai-1.0.11-verbatim", "langgraph-store"])
def test_a_real_package_with_exact_cosine_ranks_as_our_dense_ranking_does(
    name: str, history: History, tmp_path: Path, python_of: Callable[[PeerKind], Path]
) -> None:
    kind = PEERS[name]
    with CachedEmbedder(HashingEmbedder(), tmp_path) as embedder:
        rankings = []
        for one in (
            ours(embedder, "dense"),
            PeerSearch(kind, python=python_of(kind), embedder=embedder),
        ):
            one.build(history)
            one.prepare(WHOSE)
            rankings.append(one.rank(WHOSE, 10))
            one.close()

    assert rankings[0] == rankings[1]
