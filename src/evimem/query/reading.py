"""A query's words as the rankers read them: terms, vector, and the dates they name.

Ranking and time expressions are separate parts that do not know each other; this is where a
question's dates reach the ranking, the same way for stored banks and for conversations in memory.
"""

from __future__ import annotations

from datetime import date, datetime

from evimem.ports import FloatArray
from evimem.retrieval.query import Query, make_query
from evimem.temporal import date_targets, dates_in_question

__all__ = ["read_query"]

_LAST_DAY = date.max.toordinal()


def read_query(text: str, *, vector: FloatArray | None, reference: datetime | None) -> Query:
    """The query for `retrieval.search`.

    Args:
        text: the query's words.
        vector: its unit vector, None where ranking is by words only.
        reference: what "now" means in it; None leaves out dates that count from now.
    """
    day = reference.date() if reference is not None else None
    targets = date_targets(dates_in_question(text, day))
    months = 0
    for target in targets:
        if target.month:
            months |= 1 << target.month
    return make_query(
        text,
        vector=vector,
        date_ranges=[
            (target.start or 1, target.end or _LAST_DAY)
            for target in targets
            if target.start or target.end
        ],
        months=months,
    )
