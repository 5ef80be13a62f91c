"""A query's vector moved towards entries."""

from __future__ import annotations

import numpy as np
import pytest

from evimem.ports import Changes, Row, VectorRow
from evimem.retrieval.analyzer import analyze
from evimem.retrieval.feedback import LIKE_WEIGHT, blended
from evimem.retrieval.index import BankIndex

QUERY = np.array([1.0, 0.0, 0.0], dtype=np.float32)


def bank() -> BankIndex:
    def row(number: int) -> Row:
        return Row(
            row=number, item_id=f"t{number}", kind="turn", session_id="s", index=number,
            speaker="Ana", role="person", said_at=None, traits=0, tokens=analyze("word").tokens,
        )  # fmt: skip

    vectors = [(1, [0, 1, 0]), (2, [0, 0, 1])]
    index = BankIndex()
    index.apply(
        Changes(
            generation=1,
            reset=True,
            rows=tuple(row(n) for n in (1, 2, 3)),
            vectors=tuple(
                VectorRow(row=n, part=0, vector=np.array(v, dtype=np.float16)) for n, v in vectors
            ),
        )
    )
    return index


def test_the_vector_moves_towards_the_mean_direction_of_the_entries() -> None:
    expected = QUERY + LIKE_WEIGHT * np.array([0, 1, 1]) / np.sqrt(2)
    expected /= np.linalg.norm(expected)
    assert blended(bank(), QUERY, ("t1", "t2")) == pytest.approx(expected, abs=1e-6)


def test_unknown_entries_and_entries_without_vector_change_nothing() -> None:
    assert blended(bank(), QUERY, ("t3", "elsewhere")) is QUERY
    assert blended(bank(), QUERY, ()) is QUERY
