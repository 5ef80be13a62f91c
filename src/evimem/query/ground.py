"""The words of a stored turn that carry what was said of it: a verbatim span to cite.

Models of some recipes read derived facts, not turns. The citation of their answer still shows the
turn's own words; which ones is decided here, by shared words and without any model.
"""

from __future__ import annotations

from evimem.query.sentences import sentences
from evimem.query.words import keys

__all__ = ["carrying_span"]

WHOLE = 240
"""A text up to so many characters is cited as a whole."""


def carrying_span(body: str, claim: str) -> tuple[int, int]:
    """Start and end of the part of `body` that shares most with `claim`.

    A short body is taken whole; of a long one the best sentence, with its neighbour where both
    fit `WHOLE` characters and the neighbour shares words too. Never empty for a body with words.
    """
    stripped = body.strip()
    begin = body.find(stripped)
    if len(stripped) <= WHOLE:
        return begin, begin + len(stripped)
    wanted = frozenset(keys(claim))
    spans = [(one.start, one.end) for one in sentences(body)]
    scores = [_shared(body[start:end], wanted) for start, end in spans]
    best = max(range(len(spans)), key=lambda n: (scores[n], -n))
    start, end = spans[best]
    for near in (best - 1, best + 1):
        if 0 <= near < len(spans) and scores[near]:
            low, high = min(start, spans[near][0]), max(end, spans[near][1])
            if high - low <= WHOLE:
                start, end = low, high
    return start, end


def _shared(sentence: str, wanted: frozenset[str]) -> float:
    """How many of the claim's content words it holds, a little less for a longer sentence."""
    held = keys(sentence)
    shared = len(wanted.intersection(held))
    return shared - 0.001 * len(held) if shared else 0.0
