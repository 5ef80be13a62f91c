"""Small banks for the retrieval tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from evimem.model.item import Kind
from evimem.model.search import Ranker, SearchRequest
from evimem.ports import Changes, FloatArray, Row, VectorRow
from evimem.retrieval.analyzer import analyze
from evimem.retrieval.index import BankIndex
from evimem.retrieval.query import make_query
from evimem.retrieval.search import Ranking, search


class Kit:
    """Builders of rows, vectors and indexes."""

    def row(
        self,
        number: int,
        text: str,
        *,
        session: str = "s1",
        index: int | None = None,
        speaker: str = "Ann",
        role: str = "person",
        said_at: int | None = 0,
        kind: Kind = "turn",
        parents: tuple[str, ...] = (),
    ) -> Row:
        """A row with the tokens of a text; its id is t<number>."""
        made = analyze(text)
        return Row(
            row=number,
            item_id=f"t{number}",
            kind=kind,
            session_id=session,
            index=number if index is None else index,
            speaker=speaker,
            role=role,
            said_at=said_at,
            traits=made.traits,
            tokens=made.tokens,
            parents=parents,
        )

    def unit(self, *values: float) -> FloatArray:
        """A unit vector."""
        vector = np.array(values, dtype=np.float32)
        return (vector / np.linalg.norm(vector)).astype(np.float32)

    def vector(self, number: int, *values: float, part: int = 0) -> VectorRow:
        """The vector of one piece of a row, made unit length."""
        return VectorRow(row=number, part=part, vector=self.unit(*values).astype(np.float16))

    def index(self, rows: Sequence[Row], vectors: Sequence[VectorRow] = ()) -> BankIndex:
        """An index over rows and vectors."""
        index = BankIndex()
        index.apply(Changes(generation=1, reset=True, rows=tuple(rows), vectors=tuple(vectors)))
        return index

    def search(
        self,
        index: BankIndex,
        text: str,
        *,
        k: int = 10,
        ranker: Ranker = "fusion",
        vector: FloatArray | None = None,
    ) -> Ranking:
        """A search without filters."""
        query = make_query(text, vector=vector)
        return search(index, SearchRequest(text=text, k=k, ranker=ranker), query)


@pytest.fixture
def kit() -> Kit:
    """Builders of rows, vectors and indexes."""
    return Kit()
