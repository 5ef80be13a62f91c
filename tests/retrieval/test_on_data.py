"""The default ranking on the tuning conversations, by words only: it must not get worse."""

from __future__ import annotations

from typing import Any

import pytest

from evimem.datasets.loading import load
from evimem.datasets.splits import take
from evimem.model.search import Ranker, SearchRequest
from evimem.ports import Changes, Row
from evimem.retrieval.analyzer import analyze
from evimem.retrieval.index import BankIndex
from evimem.retrieval.query import make_query
from evimem.retrieval.search import search


def complete_at_20(part: Any, ranker: Ranker) -> float:
    """Share of questions (categories 1 to 4) with every gold turn among the first 20."""
    indexes: dict[str, BankIndex] = {}
    for history_id, history in part.histories.items():
        indexes[history_id] = BankIndex()
        rows = []
        for number, turn in enumerate(history.turns):
            made = analyze(turn.body)
            rows.append(
                Row(
                    row=number,
                    item_id=turn.source_id,
                    kind="turn",
                    session_id=turn.session_id,
                    index=turn.index,
                    speaker=turn.speaker,
                    role=turn.role,
                    said_at=None,
                    traits=made.traits,
                    tokens=made.tokens,
                )
            )
        indexes[history_id].apply(Changes(generation=1, reset=True, rows=tuple(rows)))
    found = []
    for question in part.questions:
        gold = part.gold[question.question_id]
        if not gold.evidence or gold.category_id == 5:
            continue
        request = SearchRequest(text=question.text, k=20, ranker=ranker)
        hits = search(indexes[gold.history_id], request, make_query(question.text)).hits
        found.append(set(gold.evidence) <= {hit.item_id for hit in hits})
    assert len(found) == 231
    return 100 * sum(found) / len(found)


@pytest.mark.data
def test_the_fusion_beats_bm25_by_far_on_the_tuning_conversations(data_dir: Any) -> None:
    part = take(load("locomo", data_dir=data_dir), "tune")
    plain = complete_at_20(part, "bm25")
    fused = complete_at_20(part, "fusion")
    assert plain == pytest.approx(64.1, abs=1.0)
    assert fused > 79.0, "80.5 without dates on 2026-11-30"
