"""Cosines, mixtures and sessions against loops over plain vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from evimem.ports import Changes, VectorRow
from evimem.retrieval.vectors import NEIGHBOUR_WEIGHT, REACH


def unit(vector: np.ndarray) -> np.ndarray:
    return vector / np.linalg.norm(vector)


class World:
    """Random rows: some with several pieces, some without a vector."""

    def __init__(self, kit: Any, seed: int = 1, turns: int = 50) -> None:
        draw = np.random.default_rng(seed)
        self.kit = kit
        self.session = [f"s{n // 24}" for n in range(turns)]
        self.pieces: dict[int, list[np.ndarray]] = {}
        for n in range(turns):
            count = int(draw.choice([0, 1, 1, 1, 3]))
            self.pieces[n] = [unit(draw.normal(size=8)).astype(np.float16) for _ in range(count)]
        self.query = unit(draw.normal(size=8)).astype(np.float32)
        self.live = list(range(turns))

    def rows(self) -> Any:
        return [self.kit.row(n, "word", session=self.session[n], index=n) for n in self.live]

    def vectors(self, rows: Any = None) -> Any:
        return [
            VectorRow(row=n, part=part, vector=vector)
            for n in (self.live if rows is None else rows)
            for part, vector in enumerate(self.pieces[n])
        ]

    def row_vector(self, n: int) -> np.ndarray:
        pieces = self.pieces[n]
        return unit(np.sum(np.float32(pieces), axis=0)) if pieces else np.zeros(8)

    def expected(self) -> tuple[list[float], list[float], list[float]]:
        """Best, mixed and near cosine per live row, by loops."""
        best, mixed, near = [], [], []
        for at, n in enumerate(self.live):
            best.append(max((float(np.float32(p) @ self.query) for p in self.pieces[n]), default=0))
            total = self.row_vector(n).copy()
            for other in (at - 1, at + 1):
                inside = 0 <= other < len(self.live)
                if inside and self.session[self.live[other]] == self.session[n]:
                    total += NEIGHBOUR_WEIGHT * self.row_vector(self.live[other])
            norm = np.linalg.norm(total)
            mixed.append(float(total @ self.query / norm) if norm > 1e-3 else 0.0)
            mates = [m for m in self.live if self.session[m] == self.session[n]]
            middle = mates.index(n)
            known = [
                m for m in mates[max(0, middle - REACH) : middle + REACH + 1] if self.pieces[m]
            ]
            cosines = [
                max(float(np.float32(p) @ self.query) for p in self.pieces[m]) for m in known
            ]
            near.append(float(np.mean(cosines)) if cosines else 0.0)
        return best, mixed, near

    def check(self, index: Any) -> None:
        space = index.spaces()[0]
        got = space.vectors.cosines(self.query, space.layout)
        at = [int(space.layout.position_of[space.slot_of_item[f"t{n}"]]) for n in self.live]
        best, mixed, near = self.expected()
        assert [float(got.best[p]) for p in at] == pytest.approx(best, abs=1e-5)
        assert [float(got.mixed[p]) for p in at] == pytest.approx(mixed, abs=2e-3)
        assert [float(got.near[p]) for p in at] == pytest.approx(near, abs=1e-5)
        assert [bool(got.known[p]) for p in at] == [bool(self.pieces[n]) for n in self.live]


def test_all_cosines_equal_loops_over_vectors(kit: Any) -> None:
    world = World(kit)
    world.check(kit.index(world.rows(), world.vectors()))


def test_vectors_may_come_after_their_rows_in_any_order(kit: Any) -> None:
    world = World(kit, seed=2)
    index = kit.index(world.rows())
    late = world.vectors()[::-1]
    for n in range(0, len(late), 9):
        index.apply(Changes(generation=2 + n, vectors=tuple(late[n : n + 9])))
    world.check(index)


def test_a_removed_row_leaves_the_mixtures_of_its_neighbours(kit: Any) -> None:
    world = World(kit, seed=3)
    index = kit.index(world.rows(), world.vectors())
    for generation, gone in enumerate([(2, 3), (17,), tuple(range(30, 36))], start=2):
        index.apply(Changes(generation=generation, removed=gone))
        world.live = [n for n in world.live if n not in gone]
        world.check(index)


def test_a_replaced_vector_counts_and_the_old_one_does_not(kit: Any) -> None:
    world = World(kit, seed=4)
    index = kit.index(world.rows(), world.vectors())
    changed = [n for n in world.live if len(world.pieces[n]) == 1][:5]
    for n in changed:
        world.pieces[n] = [(-world.pieces[n][0]).astype(np.float16)]
    index.apply(Changes(generation=2, vectors=tuple(world.vectors(changed))))
    world.check(index)


def test_a_row_that_comes_again_with_the_same_words_keeps_its_vectors(kit: Any) -> None:
    world = World(kit, seed=5)
    index = kit.index(world.rows(), world.vectors())
    again = tuple(row for row in world.rows() if row.row in (1, 5, 6, 20))
    index.apply(Changes(generation=2, rows=again))
    world.check(index)


def test_a_row_with_new_words_loses_its_vectors(kit: Any) -> None:
    world = World(kit, seed=6)
    index = kit.index(world.rows(), world.vectors())
    number = next(n for n in world.live if world.pieces[n])
    renewed = kit.row(number, "other words", session=world.session[number], index=number)
    index.apply(Changes(generation=2, rows=(renewed,)))
    world.pieces[number] = []
    world.check(index)


def test_a_space_of_mostly_dead_rows_is_rebuilt_with_the_same_cosines(kit: Any) -> None:
    world = World(kit, seed=7, turns=1500)
    index = kit.index(world.rows(), world.vectors())
    gone = tuple(n for n in world.live if n % 5 < 2)
    index.apply(Changes(generation=2, removed=gone))
    world.live = [n for n in world.live if n % 5 >= 2]
    assert index.spaces()[0].slots == len(world.live), "dead slots are gone"
    world.check(index)
    index.apply(Changes(generation=3, removed=(2, 3)))
    world.live = [n for n in world.live if n not in (2, 3)]
    world.check(index)


def test_vectors_of_another_dimension_are_refused(kit: Any) -> None:
    index = kit.index([kit.row(0, "a")], [kit.vector(0, 1, 0)])
    with pytest.raises(ValueError, match="3 dimensions"):
        index.apply(Changes(generation=2, vectors=(kit.vector(0, 1, 0, 0),)))
    with pytest.raises(ValueError, match=r"shape \(3,\)"):
        kit.search(index, "a", vector=kit.unit(1, 0, 0))
