"""BM25 against rank_bm25 and against loops over plain lists of words."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from rank_bm25 import BM25Okapi

from evimem.model.item import Kind
from evimem.ports import Changes
from evimem.retrieval.analyzer import token_id
from evimem.retrieval.bm25 import K1, MAX_TERMS, B, lexical_scores, usable_terms
from evimem.retrieval.query import make_query
from evimem.retrieval.space import WINDOWS, Space

WORDS = [
    "kayak",
    "lake",
    "tent",
    "stove",
    "river",
    "map",
    "boat",
    "rain",
    "trail",
    "bear",
    "moss",
    "fire",
    "cold",
    "snow",
]


def conversation(seed: int, turns: int) -> list[tuple[str, list[str]]]:
    """Sessions of random words: (session, words) per turn."""
    draw = random.Random(seed)
    return [(f"s{n // 7}", draw.choices(WORDS, k=draw.randint(0, 12))) for n in range(turns)]


def brute(documents: Sequence[Sequence[str]], terms: Sequence[str]) -> list[float]:
    """BM25 in the form of Lucene over lists of words."""
    n = len(documents)
    average = sum(map(len, documents)) / n
    scores = []
    for words in documents:
        score = 0.0
        counts = Counter(words)
        for term in terms:
            df = sum(term in other for other in documents)
            idf = math.log(1 + (n - df + 0.5) / (df + 0.5))
            tf = counts[term]
            score += idf * tf / (tf + K1 * (1 - B + B * len(words) / average)) if tf else 0.0
        scores.append(score)
    return scores


@pytest.fixture
def world(kit: Any) -> Any:
    """A conversation with its space."""
    turns = conversation(3, 60)
    rows = [
        kit.row(n, " ".join(words), session=session, index=n)
        for n, (session, words) in enumerate(turns)
    ]
    space: Space = kit.index(rows).spaces()[0]
    return turns, space


def at_rows(space: Space, values: np.ndarray) -> list[float]:
    """Values of live rows in order of arrival."""
    return [float(values[p]) for p in space.layout.position_of]


def score(space: Space, text: str) -> Any:
    query = make_query(text)
    return lexical_scores(space, usable_terms(space, query.terms), pairs=query.pairs)


def test_turn_scores_equal_a_loop_over_word_lists(world: Any) -> None:
    turns, space = world
    got = at_rows(space, score(space, "kayak bear snow").turn)
    assert got == pytest.approx(brute([w for _, w in turns], ["kayak", "bear", "snow"]), rel=1e-5)


def test_turn_scores_equal_rank_bm25_with_the_same_idf(world: Any) -> None:
    turns, space = world
    documents = [words for _, words in turns]
    reference = BM25Okapi(documents, k1=K1, b=B)
    for word, df in Counter(w for words in documents for w in set(words)).items():
        reference.idf[word] = math.log(1 + (len(documents) - df + 0.5) / (df + 0.5))
    expected = reference.get_scores(["trail", "moss"]) / (K1 + 1)
    assert at_rows(space, score(space, "trail moss").turn) == pytest.approx(expected, rel=1e-5)


def window(turns: Sequence[tuple[str, list[str]]], at: int, span: int, steps: int) -> Counter[str]:
    """Words around a turn, with the shares of neighbours that are partly inside."""
    counts: Counter[str] = Counter()
    for word in turns[at][1]:
        counts[word] += 1.0  # type: ignore[assignment]
    for side in (1, -1):
        left = float(span)
        for step in range(1, steps + 1):
            other = at + side * step
            if not 0 <= other < len(turns) or turns[other][0] != turns[at][0]:
                break
            words = turns[other][1]
            share = min(1.0, max(0.0, left) / len(words)) if words else 0.0
            for word in words:
                counts[word] += share  # type: ignore[assignment]
            left -= len(words)
    return counts


def brute_windows(
    turns: Sequence[tuple[str, list[str]]], terms: Sequence[str], span: int, steps: int
) -> list[float]:
    """BM25 of windows by loops, with fractional tf, df and length."""
    bags = [window(turns, at, span, steps) for at in range(len(turns))]
    lengths = [sum(bag.values()) for bag in bags]
    average = sum(lengths) / len(lengths)
    scores = [0.0] * len(turns)
    for term in terms:
        df = sum(min(1.0, bag[term]) for bag in bags)
        idf = math.log(1 + (len(turns) - df + 0.5) / (df + 0.5))
        for at, bag in enumerate(bags):
            norm = K1 * (1 - B + B * lengths[at] / average)
            scores[at] += idf * bag[term] / (bag[term] + norm)
    return scores


@pytest.mark.parametrize(("span", "steps"), WINDOWS)
def test_windows_are_scored_as_one_document_within_the_session(
    world: Any, span: Any, steps: Any
) -> None:
    turns, space = world
    got = at_rows(space, score(space, "tent fire").windows[span])
    assert got == pytest.approx(brute_windows(turns, ["tent", "fire"], span, steps), rel=1e-4)


def test_bigrams_count_only_words_that_stand_side_by_side(world: Any) -> None:
    turns, space = world
    n = len(turns)
    average = sum(len(words) for _, words in turns) / n
    counts = [sum(pair == ("cold", "snow") for pair in pairwise(words)) for _, words in turns]
    df = sum(count > 0 for count in counts)
    assert df > 0, "the seed must give at least one such pair"
    idf = math.log(1 + (n - df + 0.5) / (df + 0.5))
    expected = [
        idf * c / (c + K1 * (1 - B + B * len(words) / average)) if c else 0.0
        for c, (_, words) in zip(counts, turns, strict=True)
    ]
    assert at_rows(space, score(space, "cold snow").bigram) == pytest.approx(expected, rel=1e-5)


def test_a_pair_does_not_reach_over_the_end_of_a_turn(kit: Any) -> None:
    space = kit.index([kit.row(0, "cold"), kit.row(1, "snow")]).spaces()[0]
    assert score(space, "cold snow").bigram.max() == 0


def test_removed_rows_leave_df_length_and_windows(kit: Any) -> None:
    turns = conversation(5, 40)
    rows = [kit.row(n, " ".join(w), session=s, index=n) for n, (s, w) in enumerate(turns)]
    index = kit.index(rows)
    gone = (3, 4, 11, 30)
    index.apply(Changes(generation=2, removed=gone))
    left = [turn for n, turn in enumerate(turns) if n not in gone]
    space = index.spaces()[0]
    got = score(space, "lake boat")
    alive = space.layout.position_of[space.layout.position_of >= 0]
    expected = brute([words for _, words in left], ["lake", "boat"])
    assert [float(got.turn[p]) for p in alive] == pytest.approx(expected, rel=1e-5)
    around = brute_windows(left, ["lake", "boat"], *WINDOWS[1])
    assert [float(got.windows[WINDOWS[1][0]][p]) for p in alive] == pytest.approx(around, rel=1e-4)


def test_terms_over_the_cap_are_the_rarest(kit: Any) -> None:
    many = [f"w{n}" for n in range(MAX_TERMS + 10)]
    rows = [kit.row(n, " ".join(many[: n + 1])) for n in range(len(many))]
    space = kit.index(rows).spaces()[0]
    kept = {term for term, _ in usable_terms(space, make_query(" ".join(many)).terms)}
    assert kept == {token_id(word) for word in many[10:]}


def test_other_kinds_do_not_change_the_scores_of_turns(kit: Any) -> None:
    turns = [kit.row(n, text) for n, text in enumerate(["a kayak trip", "rain", "the kayak"])]
    kind: Kind = "fact"
    alone = score(kit.index(turns).spaces()[0], "kayak").turn
    both = kit.index([*turns, kit.row(9, "kayak kayak kayak", kind=kind, parents=("t0",))])
    assert score(both.spaces(frozenset({"turn"}))[0], "kayak").turn.tolist() == alone.tolist()
