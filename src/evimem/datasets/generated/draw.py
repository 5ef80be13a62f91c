"""Seeded choice that gives the same result on every machine and Python version.

Only `random.Random.random` is used, whose sequence is guaranteed; `choice`, `shuffle` and the
distributions of the standard library may change between versions, so they are written here.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableSequence, Sequence
from random import Random
from typing import TypeVar

__all__ = ["Deck", "Draw"]

T = TypeVar("T")


class Draw:
    """A stream of choices. Streams of different names are independent of each other."""

    def __init__(self, *name: str | int) -> None:
        """Args:
        name: parts of the seed; the same parts give the same stream.
        """
        self._name = "/".join(str(part) for part in name)
        self._random = Random(self._name)  # seeded by SHA-512 of the text, not by hash()

    def child(self, *name: str | int) -> Draw:
        """An independent stream under this one's name."""
        return Draw(self._name, *name)

    def chance(self, share: float) -> bool:
        """True in `share` of the cases."""
        return self._random.random() < share

    def below(self, count: int) -> int:
        """A number from 0 to count - 1."""
        return int(self._random.random() * count)

    def between(self, low: int, high: int) -> int:
        """A number from low to high, both included."""
        return low + self.below(high - low + 1)

    def one(self, values: Sequence[T]) -> T:
        """One of the values, all alike."""
        return values[self.below(len(values))]

    def weighted(self, weights: Mapping[T, float]) -> T:
        """A key with probability proportional to its weight; weights sum to more than 0."""
        place = self._random.random() * sum(weights.values())
        last = None
        for value, weight in weights.items():
            if weight > 0:
                last = value
                place -= weight
                if place < 0:
                    break
        if last is None:
            raise ValueError("no weight is above 0: there is nothing to draw")
        return last

    def shuffle(self, values: MutableSequence[T]) -> None:
        """Put the values into a random order, in place."""
        for place in range(len(values) - 1, 0, -1):
            other = self.below(place + 1)
            values[place], values[other] = values[other], values[place]

    def sample(self, values: Sequence[T], count: int) -> list[T]:
        """At most `count` different places of `values`, in random order."""
        mixed = list(values)
        self.shuffle(mixed)
        return mixed[:count]


class Deck:
    """Lists of values, each dealt without repeating: what is dealt once names one thing only."""

    def __init__(self, lists: Mapping[str, Sequence[str]], draw: Draw) -> None:
        """Args:
        lists: values by the name of their list.
        draw: the stream that shuffles them.
        """
        self._lists = lists
        self._draw = draw
        self._left: dict[str, list[str]] = {}

    def deal(self, name: str) -> str | None:
        """A value of the list that was not dealt yet; None if there is none left."""
        if name not in self._left:
            self._left[name] = self._draw.sample(self._lists[name], len(self._lists[name]))
        left = self._left[name]
        return left.pop() if left else None

    def any(self, name: str) -> str:
        """A value of the list, dealt or not."""
        return self._draw.one(self._lists[name])
