"""LongMemEval's own retrieval metrics, quirks included, and the usual nDCG beside its own.

The benchmark searches **user turns only** (data-and-metrics 3.3): a session is its user turns
joined, and a turn or session is gold if a user turn with the label is in it. Questions without such
a turn, most of single-session-assistant, and the unanswerable ones are left out of its averages.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from evimem.model.turn import History

__all__ = [
    "LME_DEPTHS",
    "Granularity",
    "UserCorpus",
    "lme_ndcg_any",
    "lme_recall_all",
    "lme_recall_any",
    "ndcg",
    "sessions_in_order",
    "user_corpus",
]

LME_DEPTHS = (1, 3, 5, 10, 30, 50)
"""The benchmark's values of k."""

Granularity = Literal["session", "turn"]


@dataclass(frozen=True, slots=True, kw_only=True)
class UserCorpus:
    """What the benchmark searches of one haystack."""

    ids: tuple[str, ...]
    """Source ids of sessions or turns, in the order of the haystack."""
    texts: tuple[str, ...]
    """Their words, one each."""
    gold: frozenset[str]
    """Ids that hold a labelled user turn; empty: the question is left out."""


def user_corpus(
    history: History, labelled: Collection[str], *, granularity: Granularity
) -> UserCorpus:
    """User turns of a haystack, or its sessions made of them.

    Args:
        history: the haystack.
        labelled: source ids of the turns with the label (`Gold.evidence`).
        granularity: what is searched.
    """
    said = [turn for turn in history.turns if turn.role == "user"]
    marked = [turn for turn in said if turn.source_id in set(labelled)]
    if granularity == "turn":
        return UserCorpus(
            ids=tuple(turn.source_id for turn in said),
            texts=tuple(turn.text for turn in said),
            gold=frozenset(turn.source_id for turn in marked),
        )
    words: dict[str, list[str]] = {one.session_id: [] for one in history.sessions}
    for turn in said:
        words[turn.session_id].append(turn.text)
    names = {one.session_id: one.source_id for one in history.sessions}
    return UserCorpus(
        ids=tuple(names[one] for one in words),
        texts=tuple(" ".join(parts) for parts in words.values()),
        gold=frozenset(names[turn.session_id] for turn in marked),
    )


def sessions_in_order(turn_ids: Sequence[str]) -> list[str]:
    """Sessions of ranked turns, each once: the turn's number is cut off its id. The first k of them
    are what the benchmark takes when it goes from turns to sessions."""
    return list(dict.fromkeys(one.rpartition("_")[0] for one in turn_ids))


def lme_recall_any(ranking: Sequence[str], gold: Collection[str], k: int) -> float:
    """1 if one gold id is among the first k, else 0.

    Raises:
        ValueError: no gold; the question is left out.
    """
    return float(bool(_gold(gold) & set(ranking[:k])))


def lme_recall_all(ranking: Sequence[str], gold: Collection[str], k: int) -> float:
    """1 if every gold id is among the first k, else 0.

    Raises:
        ValueError: no gold; the question is left out.
    """
    return float(_gold(gold) <= set(ranking[:k]))


def lme_ndcg_any(ranking: Sequence[str], gold: Collection[str], k: int) -> float:
    """The benchmark's nDCG@k. Its discount at rank r > 1 is log2(r), one place late, so that ranks
    1 and 2 both count in full: it is larger than `ndcg` and not comparable with it.

    Raises:
        ValueError: no gold; the question is left out.
    """
    return _normalised(ranking, gold, [1.0, *(1 / math.log2(rank) for rank in range(2, k + 1))])


def ndcg(ranking: Sequence[str], gold: Collection[str], k: int) -> float:
    """nDCG@k as it is usually meant: a gold id at rank r counts 1 / log2(r + 1).

    Raises:
        ValueError: no gold; the question is left out.
    """
    return _normalised(ranking, gold, [1 / math.log2(rank + 1) for rank in range(1, k + 1)])


def _normalised(ranking: Sequence[str], gold: Collection[str], weights: Sequence[float]) -> float:
    wanted = _gold(gold)
    gain = sum(weight for one, weight in zip(ranking, weights, strict=False) if one in wanted)
    return gain / sum(weights[: len(wanted)])


def _gold(gold: Collection[str]) -> frozenset[str]:
    if not gold:
        raise ValueError("no gold: leave the question out, as the benchmark does")
    return frozenset(gold)
