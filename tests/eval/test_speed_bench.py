"""The speed benchmark: seeded text, honest rows, ratios of medians."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from evimem.errors import MissingExtra
from evimem.eval.peer import SqliteVecPeer
from evimem.eval.report import write_report
from evimem.eval.speed_bench import MemoryTarget, encode_ms, run, speed_table
from evimem.eval.synthetic import Babble, NoiseEmbedder
from evimem.ports import Embedder


class Slow:
    """A store whose search takes a known time."""

    def __init__(self, name: str, seconds: float) -> None:
        self.name = name
        self.seconds = seconds
        self.banks: Counter[str] = Counter()
        self.closed = False

    def store(self, bank: str, source: Path) -> None:
        self.banks[bank] += len(source.read_text(encoding="utf-8").splitlines())

    def embed(self, bank: str) -> None:
        assert self.banks[bank]

    def search(self, bank: str, query: str, k: int) -> int:
        until = time.perf_counter() + self.seconds
        while time.perf_counter() < until:
            pass
        return k

    def close(self) -> None:
        self.closed = True


def test_every_store_runs_at_every_size_and_the_first_with_many_banks() -> None:
    made: list[Slow] = []

    def factory(name: str, seconds: float) -> Slow:
        made.append(Slow(name, seconds))
        return made[-1]

    calls: list[tuple[int, int]] = []
    report = run(
        {"ours": lambda f, e: factory("ours", 0.001), "peer": lambda f, e: factory("peer", 0.004)},
        sizes=(10, 20),
        many_banks=(3, 5),
        queries=8,
        manifest={"code": "x"},
        on_progress=lambda done, total, label: calls.append((done, total)),
    )
    assert [(row.target, row.banks, row.turns) for row in report.rows] == [
        ("ours", 1, 10),
        ("peer", 1, 10),
        ("ours", 1, 20),
        ("peer", 1, 20),
        ("ours", 3, 5),
    ]
    assert made[-1].banks == {"bank-0": 5, "bank-1": 5, "bank-2": 5}
    assert all(one.closed for one in made)
    assert calls == [(i, 5) for i in range(5)]
    assert 0.9 < report.rows[0].median_ms < 3
    assert report.times_faster["peer at 10 turns"] > 1.3
    assert report.encode_ms is None
    assert all(row.rss_mb > 1 and row.stored_per_second > 0 for row in report.rows)


def test_a_store_without_its_package_gets_a_row_that_says_so(tmp_path: Path) -> None:
    def missing(folder: Path, embedder: Embedder) -> Slow:
        raise MissingExtra("the peer needs an optional dependency")

    report = run(
        {"ours": lambda f, e: Slow("ours", 0), "peer": missing},
        sizes=(10,),
        many_banks=None,
        queries=2,
        encoder=NoiseEmbedder(),
    )
    assert report.rows[1].note == "the peer needs an optional dependency"
    assert report.times_faster == {}
    assert report.encode_ms is not None
    text = speed_table(report)
    assert "the peer needs an optional dependency" in text
    assert "encoding one question" in text
    write_report(report, tmp_path / "speed.json")
    assert json.loads((tmp_path / "speed.json").read_text(encoding="utf-8"))["kind"] == "speed"


def test_peer_stores_embeds_and_finds_the_turn_that_was_asked_for(tmp_path: Path) -> None:
    pytest.importorskip("sqlite_vec")
    source = tmp_path / "turns.jsonl"
    Babble(3).write(source, 40)
    peer = SqliteVecPeer(tmp_path, NoiseEmbedder())
    try:
        peer.store("b", source)
        peer.embed("b")
        lines = source.read_text(encoding="utf-8").splitlines()
        assert peer.search("b", json.loads(lines[7])["text"], 10) == 10
        assert peer.search("b", 'AND NOT "quoted', 5) == 5  # no query language in the way
    finally:
        peer.close()


def test_text_is_seeded_and_has_natural_frequencies() -> None:
    one, two = list(Babble(1).turns(400)), list(Babble(1).turns(400))
    assert one == two
    assert one != list(Babble(2).turns(400))
    words = Counter(word for turn in one for word in turn["text"].lower().rstrip(".").split())
    (_, top), *_ = words.most_common(1)
    assert 0.06 < top / words.total() < 0.14  # Zipf over 20,000 words: 0.095
    assert 12 < words.total() / 400 < 30
    assert len({turn["session_id"] for turn in one}) == 16
    assert [turn["id"] for turn in one] == [f"m{i}" for i in range(400)]
    assert len({turn["ts"] for turn in one}) == 400


def test_noise_vectors_are_unit_and_the_same_for_the_same_text() -> None:
    embedder = NoiseEmbedder(16)
    vectors = embedder.embed(["a", "b", "a", "\ud800"])
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1, 1, 1], abs=1e-5)
    assert np.array_equal(vectors[0], vectors[2])
    assert not np.array_equal(vectors[0], vectors[1])
    assert embedder.embed([]).shape == (0, 16)
    assert (embedder.chunks(" "), embedder.chunks("a")) == ([], ["a"])
    assert (embedder.model_id, embedder.dim) == ("noise-16/l2", 16)
    assert encode_ms(embedder, count=5) > 0


def test_our_memory_is_driven_through_its_public_calls(tmp_path: Path) -> None:
    calls: list[tuple[object, ...]] = []

    class Hits:
        hits = (1, 2, 3)

    class Recorder:
        def import_file(self, path: Path, **options: object) -> None:
            calls.append(("import", path.name, options))

        def embed(self, *, bank: str) -> None:
            calls.append(("embed", bank))

        def search(self, query: str, *, top_k: int, bank: str) -> Hits:
            calls.append(("search", query, top_k, bank))
            return Hits()

        def close(self) -> None:
            calls.append(("close",))

    target = MemoryTarget(Recorder())  # type: ignore[arg-type]
    target.store("b", tmp_path / "turns.jsonl")
    target.embed("b")
    assert target.search("b", "kayak", 10) == 3
    target.close()
    assert calls == [
        ("import", "turns.jsonl", {"format": "jsonl", "bank": "b", "embed": False}),
        ("embed", "b"),
        ("search", "kayak", 10, "b"),
        ("close",),
    ]
