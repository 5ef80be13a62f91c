"""How well a ranking of turns covers the gold turns of a question.

Everything is derived from the places of the gold turns in the ranking: rank 1 is the first turn
shown, infinity a turn that never comes. C@k (complete evidence) is the headline figure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = [
    "FloatArray",
    "Unreachable",
    "any_at",
    "collapse",
    "complete_at",
    "gold_ranks",
    "recall_at",
    "reciprocal_rank",
    "unreachable_gold",
]

FloatArray = npt.NDArray[np.float64]


def collapse(ranking: Sequence[str], aliases: Mapping[str, str] | None = None) -> list[str]:
    """The ranking with every alias group named by its first member and shown once (QEM-38).

    `aliases` maps an id to the id that stands for its group; ids outside it stand for themselves.
    """
    names = aliases or {}
    return list(dict.fromkeys(names.get(one, one) for one in ranking))


def gold_ranks(
    ranking: Sequence[str], gold: Collection[str], *, aliases: Mapping[str, str] | None = None
) -> FloatArray:
    """Places of the gold turns, from 1, ascending; infinity for those that do not occur.

    Repeated ids and alias groups count once, on both sides. Shape (distinct gold groups,).

    Raises:
        ValueError: no gold; such a question says nothing about a ranking.
    """
    if not gold:
        raise ValueError("no gold turns: leave the question out")
    place = {one: number for number, one in enumerate(collapse(ranking, aliases), start=1)}
    wanted = collapse(list(gold), aliases)
    return np.sort(np.array([place.get(one, np.inf) for one in wanted], dtype=np.float64))


def recall_at(ranks: FloatArray, k: int) -> float:
    """Share of the gold turns among the first k."""
    return float(np.mean(ranks <= k))


def complete_at(ranks: FloatArray, k: int) -> bool:
    """True if every gold turn is among the first k."""
    return bool(np.all(ranks <= k))


def any_at(ranks: FloatArray, k: int) -> bool:
    """True if some gold turn is among the first k."""
    return bool(np.any(ranks <= k))


def reciprocal_rank(ranks: FloatArray) -> float:
    """1 / place of the first gold turn; 0 if none occurs. Its mean is MRR."""
    first = float(np.min(ranks))
    return 0.0 if np.isinf(first) else 1.0 / first


@dataclass(frozen=True, slots=True)
class Unreachable:
    """Gold turns of a question set that a search of facts can never bring (MERA-9)."""

    lost: int
    """Gold turns without a fact."""
    gold: int
    """Gold turns in all, each counted once however many questions need it."""

    @property
    def share(self) -> float:
        """Lost ones among all; 0 where there are none."""
        return self.lost / self.gold if self.gold else 0.0


def unreachable_gold(
    gold: Iterable[Collection[str]],
    with_facts: Collection[str],
    *,
    aliases: Mapping[str, str] | None = None,
) -> Unreachable:
    """How many gold turns the extraction of facts has lost (MERA-9).

    Args:
        gold: the gold turns of each question.
        with_facts: turns that have at least one fact.
        aliases: turns that say the same, as in `collapse`; a fact of one of them is enough.
    """
    wanted = set(collapse([one for turns in gold for one in turns], aliases))
    reached = set(collapse(list(with_facts), aliases))
    return Unreachable(lost=len(wanted - reached), gold=len(wanted))
