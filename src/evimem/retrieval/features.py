"""What is known about every row for one question: the features that the fusion weighs.

Each feature is an array over positions and means the same in every kind of conversation: who is
asked about is a speaker's name among people and "I" or "you" in a chat with a model; lengths are
relative to the speaker's usual ones.
"""

from __future__ import annotations

from datetime import date

import numpy as np

from evimem.ports import TokenArray
from evimem.retrieval.bm25 import Lexical, lexical_scores, usable_terms
from evimem.retrieval.layout import ScoreArray
from evimem.retrieval.query import Query
from evimem.retrieval.space import Space, standard
from evimem.retrieval.vectors import Cosines

__all__ = [
    "SPREAD_ROWS",
    "asked_speaker",
    "date_overlap",
    "features",
    "holds_keywords",
    "lexical",
    "named_speakers",
]

SPREAD_ROWS = 500
"""Best rows over which word features are put on a common scale: about a tuning conversation."""

_NO_SPREAD = 1e-6


def named_speakers(space: Space, query: Query) -> set[int]:
    """Codes of the speakers that a question is about: given by the caller, or named in it."""
    if query.speakers:
        wanted = {name.casefold() for name in query.speakers}
        return {c for c, name in enumerate(space.speakers.names) if name.casefold() in wanted}
    named: set[int] = set()
    for term in query.terms.tolist():
        named |= space.name_ids.get(term, set())
    return named


def lexical(space: Space, query: Query, *, wide: bool) -> Lexical:
    """BM25 scores; speakers' names do not count as words where other words are left.

    Nearly every turn that greets a person holds the name, and what the person said does not.
    """
    terms = usable_terms(space, _plain_terms(space, query))
    return lexical_scores(space, terms, pairs=query.pairs, wide=wide)


def _plain_terms(space: Space, query: Query) -> TokenArray:
    """The terms without speakers' names, where others are left."""
    terms = query.terms
    if space.name_ids:
        plain = np.array([t not in space.name_ids for t in terms.tolist()], dtype=bool)
        if plain.any():
            terms = terms[plain]
    return terms


def holds_keywords(space: Space, query: Query) -> ScoreArray:
    """1 where a row holds every word of a search by bare keywords that the bank knows, else 0.

    Who types a word wants the rows that hold it. The other features, made for questions, would
    put a neighbour or the longer of two turns first, above all in a bank of a few turns. All 0
    for a question in a sentence.
    """
    size = len(space.layout.live)
    known = usable_terms(space, _plain_terms(space, query)) if query.keywords else ()
    if not known:
        return np.zeros(size, dtype=np.float32)
    held = [np.bincount(at, minlength=size) > 0 for _, at in known]
    out: ScoreArray = np.all(held, axis=0).astype(np.float32)
    return out


def asked_speaker(space: Space, query: Query) -> ScoreArray:
    """+1 where the speaker is whom the question asks about, -1 where it is another, else 0."""
    out = np.zeros(len(space.layout.live), dtype=np.float32)
    named = named_speakers(space, query)
    if named:
        mine = np.isin(space.speaker, list(named))
        out[space.layout.live] = -1
        out[mine] = 1
    elif query.about:
        user, assistant = space.roles.find("user"), space.roles.find("assistant")
        sign = 1.0 if query.about == "user" else -1.0
        if user is not None and assistant is not None:
            out[space.role == user] = sign
            out[space.role == assistant] = -sign
    return out


def date_overlap(space: Space, query: Query) -> ScoreArray:
    """Nearness of each row's day to the days and months that the question names, 0..1.

    1 on a named day; people tell of things after they happened, so a later day still counts,
    halved after a week, an earlier one only on the day before.
    """
    out = np.zeros(len(space.layout.live), dtype=np.float32)
    if not query.date_ranges and not query.months:
        return out
    day = space.day
    known = day > 0
    for first, last in query.date_ranges:
        late = np.maximum(day - last, 0)
        early = np.maximum(first - day, 0)
        near = np.where(early > 0, early <= 1, True) / (1.0 + late / 7.0)
        out = np.maximum(out, np.where(known, near, 0)).astype(np.float32)
    if query.months:
        table = np.array(
            [0.0] + [float(query.months >> m & 1) for m in range(1, 13)], dtype=np.float32
        )
        days, where = np.unique(day, return_inverse=True)
        month = [date.fromordinal(int(d)).month if d > 0 else 0 for d in days]
        out = np.maximum(out, table[month][where])
    return out


def _standard_of_best(values: ScoreArray, rows: int) -> ScoreArray:
    """Deviations from the mean of the best `SPREAD_ROWS` rows, in their standard deviations.

    Args:
        values: scores of a word feature, shape (P,), 0 in gaps and where no word fits.
        rows: live rows. Where they are fewer, all of them count.

    In a large bank few rows hold the question's words. Over all rows the deviation would shrink
    with the size of the bank and words would drown everything else.
    """
    best = values[values > 0]
    n = min(rows, SPREAD_ROWS)
    if len(best) > n:
        best = np.partition(best, len(best) - n)[-n:]
    mean = float(best.sum()) / max(n, 1)
    spread = float(best @ best) / max(n, 1) - mean * mean
    if spread <= _NO_SPREAD**2:
        return np.zeros(len(values), dtype=np.float32)
    scale = np.float32(spread**-0.5)
    standard: ScoreArray = (values - np.float32(mean)) * scale
    return standard


def features(
    space: Space, query: Query, words: Lexical, cosines: Cosines | None
) -> dict[str, ScoreArray]:
    """All features of one question by name, shape (P,) each; values in gaps mean nothing.

    BM25 scores and cosines are in standard deviations within the question; what is known without
    the question's words is on its own scale: -1 to 1, 0 to 1, or the log of a ratio of lengths.
    """
    rows = space.layout.rows
    out: dict[str, ScoreArray] = {"bm25": _standard_of_best(words.turn, rows)}
    for span, scores in words.windows.items():
        out[f"window{span}"] = _standard_of_best(scores, rows)
    out["bigram"] = _standard_of_best(words.bigram, rows)
    out["keywords"] = holds_keywords(space, query)
    out["asked"] = asked_speaker(space, query)
    out["user"] = space.user
    out["date"] = date_overlap(space, query)
    out["length"] = space.relative_length
    out["only_asks"] = space.only_asks
    if cosines is not None:
        out["dense"] = standard(cosines.best, cosines.known)
        out["mixed"] = standard(cosines.mixed, cosines.known)
        out["near"] = standard(cosines.near, cosines.known)
    return out
