"""What LightMem does to messages before a model reads them: it shortens them, gathers them, cuts
them into topics, and hands on as many topics as one call takes. No generative call here."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from evimem.eval.baselines.common import day_of, encoded
from evimem.eval.harness.system import Tools
from evimem.model.turn import Turn
from evimem.ports import FloatArray
from evimem.query.words import word_set
from evimem.retrieval.analyzer import words_of
from evimem.scoring.tokens import estimate_tokens

__all__ = ["Message", "Topic", "batches", "boundaries", "compressed", "rarity_of", "topics"]

NEGATIONS = word_set("no not never none nobody nothing nor neither without cannot")
"""Words that a short text must not lose: it would say the opposite."""
LOWEST, HIGHEST, RISE = 0.2, 0.5, 0.05
"""Where the threshold of a change of topic begins, ends, and what it grows by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A turn, shortened."""

    turn: Turn
    """The turn."""
    text: str
    """What is left of its words."""

    @property
    def line(self) -> str:
        """As a model reads it: time with the day of the week, speaker, words."""
        said_at = self.turn.said_at
        day = "" if said_at is None else f"[{day_of(said_at)}, {said_at:%A}] "
        return f"{day}{self.turn.speaker}: {self.text}"

    @property
    def tokens(self) -> int:
        """Estimated tokens of what is left of its words: buffers are filled by these alone."""
        return estimate_tokens(self.text) + 1


Topic = tuple[Message, ...]
"""Messages that follow each other and are about one thing."""


def rarity_of(texts: Sequence[str]) -> dict[str, float]:
    """How much each (stemmed) word says: ln(texts / texts that have it)."""
    found = Counter(word for text in texts for word in set(words_of(text)))
    return {word: math.log(len(texts) / count) for word, count in found.items()}


def compressed(text: str, *, rate: float, rarity: Mapping[str, float]) -> str:
    """The most telling words of a text in their order; negations stay.

    Args:
        text: the words, parted by spaces.
        rate: share of the words that is kept, rounded up.
        rarity: see `rarity_of`; unknown words say nothing.
    """
    pieces = text.split()
    most = math.ceil(rate * len(pieces))
    order = sorted(range(len(pieces)), key=lambda at: (-_worth(pieces[at], rarity), at))
    return " ".join(pieces[at] for at in sorted(order[:most]))


def _worth(piece: str, rarity: Mapping[str, float]) -> float:
    bare = piece.casefold().replace("’", "'").strip(".,;:!?\"'()")
    if bare in NEGATIONS or bare.endswith("n't"):
        return math.inf
    return max((rarity.get(word, 0.0) for word in words_of(piece)), default=-1.0)


def boundaries(vectors: Sequence[FloatArray]) -> list[int]:
    """Places before which another topic begins.

    A place counts where the cosine of the two neighbours is no higher than those beside it and
    below a threshold, which rises until one place counts.

    Args:
        vectors: unit vectors of the messages, in order.
    """
    cosines = [float(one @ other) for one, other in pairwise(vectors)]
    valleys = [
        (at + 1, cosine)
        for at, cosine in enumerate(cosines)
        if cosine <= min(cosines[max(at - 1, 0) : at + 2])
    ]
    steps = round((HIGHEST - LOWEST) / RISE)
    for step in range(steps + 1):
        found = [at for at, cosine in valleys if cosine < LOWEST + step * RISE]
        if found:
            return found
    return []


def topics(messages: Iterable[Message], tools: Tools, *, room: int) -> Iterator[Topic]:
    """The sensory buffer: as soon as it is full, what it holds is cut into topics. The last of
    several stays in the buffer, for it may go on.

    Args:
        messages: in the order said.
        tools: makes the vectors that topics are told by.
        room: tokens that the buffer holds.
    """
    held: list[Message] = []
    vectors: list[FloatArray] = []
    for message in messages:
        while held and sum(one.tokens for one in held) + message.tokens > room:
            cuts = boundaries(vectors)
            yield from _parts(held[: cuts[-1]] if cuts else held, cuts[:-1])
            held, vectors = (held[cuts[-1] :], vectors[cuts[-1] :]) if cuts else ([], [])
        held.append(message)
        vectors.append(encoded(message.text or message.turn.body, tools))
    if held:
        yield from _parts(held, boundaries(vectors))


def _parts(messages: Sequence[Message], cuts: Sequence[int]) -> Iterator[Topic]:
    for start, end in zip([0, *cuts], [*cuts, len(messages)], strict=True):
        yield tuple(messages[start:end])


def batches(found: Iterable[Topic], *, room: int) -> Iterator[tuple[Topic, ...]]:
    """The short-term buffer: topics gathered until the next one would pass its room.

    Args:
        found: topics in order; one that is larger than the room is a batch of its own.
        room: tokens that the buffer holds.
    """
    held: list[Topic] = []
    cost = 0
    for topic in found:
        price = sum(message.tokens for message in topic)
        if held and cost + price > room:
            yield tuple(held)
            held, cost = [], 0
        held.append(topic)
        cost += price
    if held:
        yield tuple(held)
