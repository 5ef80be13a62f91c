"""Features mean the same in every kind of conversation."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
import pytest

from evimem.retrieval.features import (
    SPREAD_ROWS,
    asked_speaker,
    date_overlap,
    features,
    holds_keywords,
    lexical,
)
from evimem.retrieval.fusion import DENSE_WEIGHTS, LEXICAL_WEIGHTS, contributions
from evimem.retrieval.query import make_query

DAY = 86_400_000


def people(kit: Any) -> Any:
    """Three turns by three people."""
    rows = [kit.row(n, "hello", speaker=s) for n, s in enumerate(["Ann Lee", "Bob", "Cyd"])]
    return kit.index(rows).spaces()[0]


def chat(kit: Any) -> Any:
    """A chat with a model."""
    rows = [kit.row(n, "hello", speaker=s, role=s) for n, s in enumerate(["user", "assistant"])]
    return kit.index(rows).spaces()[0]


def at_rows(space: Any, values: Any) -> list[float]:
    return [float(values[p]) for p in space.layout.position_of]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What did Ann paint?", [1, -1, -1]),
        ("What does Lee's sister do?", [1, -1, -1]),
        ("Where did Bob meet Cyd?", [-1, 1, 1]),
        ("What happened in May?", [0, 0, 0]),
        ("What did I say?", [0, 0, 0]),
    ],
)
def test_a_named_speaker_is_the_one_asked_about(kit: Any, text: Any, expected: Any) -> None:
    space = people(kit)
    assert at_rows(space, asked_speaker(space, make_query(text))) == expected


def test_the_caller_may_say_who_is_asked_about(kit: Any) -> None:
    space = people(kit)
    query = make_query("What did Ann paint?", speakers=["bob"])
    assert at_rows(space, asked_speaker(space, query)) == [-1, 1, -1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("How many kayaks do I own?", [1, -1]),
        ("Can you remind me what my cat is called?", [1, -1]),
        ("What did you recommend for dinner?", [-1, 1]),
        ("Could you tell me what you said about my cat?", [-1, 1]),
        ("Which year was it?", [0, 0]),
    ],
)
def test_in_a_chat_with_a_model_pronouns_tell_whose_words_are_asked_for(
    kit: Any, text: Any, expected: Any
) -> None:
    space = chat(kit)
    assert at_rows(space, asked_speaker(space, make_query(text))) == expected


def test_the_word_assistant_in_a_question_is_a_word_and_no_name(kit: Any) -> None:
    space = chat(kit)
    assert len(make_query("my assistant's name").terms) == 2
    assert space.name_ids == {}


def test_user_turns_are_told_from_the_models_and_people_are_neither(kit: Any) -> None:
    space = chat(kit)
    assert at_rows(space, space.user) == [1, -1]
    space = people(kit)
    assert at_rows(space, space.user) == [0, 0, 0]


def test_length_is_relative_to_the_speaker(kit: Any) -> None:
    rows = [
        kit.row(0, "a b c", speaker="Ann"),
        kit.row(1, "a b c d e f g", speaker="Ann"),
        kit.row(2, " ".join("a" * 100), speaker="Bob"),
    ]
    space = kit.index(rows).spaces()[0]
    mean = (np.log(4) + np.log(8)) / 2
    expected = [np.log(4) - mean, np.log(8) - mean, 0.0]
    assert at_rows(space, space.relative_length) == pytest.approx(expected, abs=1e-5)


def test_days_named_in_the_question_are_near_and_the_week_after_half_so(kit: Any) -> None:
    asked = date(1970, 3, 10)
    first = asked.toordinal() - date(1970, 1, 1).toordinal()
    days = [first, first + 7, first - 1, first - 2, first + 31]
    rows = [kit.row(n, "x", said_at=day * DAY) for n, day in enumerate(days)]
    space = kit.index([*rows, kit.row(9, "x", said_at=None)]).spaces()[0]
    ordinal = asked.toordinal()
    query = make_query("x", date_ranges=[(ordinal, ordinal)])
    got = at_rows(space, date_overlap(space, query))
    assert got == pytest.approx([1, 0.5, 1, 0, 1 / (1 + 31 / 7), 0], abs=1e-5)
    march = at_rows(space, date_overlap(space, make_query("x", months=1 << 3)))
    assert march == [1, 1, 1, 1, 0, 0]


def test_years_before_1970_have_days_too(kit: Any) -> None:
    then = date(1912, 4, 15)
    said = (then.toordinal() - date(1970, 1, 1).toordinal()) * DAY + 5
    space = kit.index([kit.row(0, "x", said_at=said)]).spaces()[0]
    assert at_rows(space, space.day) == [then.toordinal()]


def table_of(kit: Any, rows: Any, vectors: Any, text: Any, vector: Any) -> Any:
    """Space and features of one question."""
    space = kit.index(rows, vectors).spaces()[0]
    query = make_query(text, vector=vector)
    cosines = space.vectors.cosines(query.vector, space.layout)
    return space, features(space, query, lexical(space, query, wide=True), cosines)


def test_word_features_are_standard_deviations_over_the_rows(kit: Any) -> None:
    rows = [kit.row(0, "cold lake"), kit.row(1, "lake lake lake"), kit.row(2, "I swim")]
    space, table = table_of(kit, rows, [kit.vector(0, 1, 0)], "cold lake", kit.unit(1, 0))
    query = make_query("cold lake")
    scores = np.array(at_rows(space, lexical(space, query, wide=False).turn))
    expected = (scores - scores.mean()) / scores.std()
    assert at_rows(space, table["bm25"]) == pytest.approx(expected, abs=1e-4)


def test_in_a_large_bank_the_scale_of_words_is_that_of_its_best_rows(kit: Any) -> None:
    draw = np.random.default_rng(0)
    rows = [
        kit.row(n, "kayak " * int(draw.integers(0, 4)) + "x " * int(draw.integers(1, 9)))
        for n in range(3 * SPREAD_ROWS)
    ]
    space, table = table_of(kit, rows, [kit.vector(0, 1, 0)], "kayak", kit.unit(1, 0))
    scores = np.array(at_rows(space, lexical(space, make_query("kayak"), wide=False).turn))
    best = np.sort(scores)[-SPREAD_ROWS:]
    expected = (scores - best.mean()) / best.std()
    assert at_rows(space, table["bm25"]) == pytest.approx(expected, abs=1e-3)


def test_cosine_features_are_standard_deviations_over_rows_with_a_vector(kit: Any) -> None:
    rows = [kit.row(n, "x", session=f"s{n}") for n in range(4)]
    pieces = [kit.vector(0, 1, 0), kit.vector(1, 0, 1), kit.vector(2, 1, 1)]
    space, table = table_of(kit, rows, pieces, "y", kit.unit(1, 0))
    cosines = np.array([1, 0, np.sqrt(0.5)])
    expected = (cosines - cosines.mean()) / cosines.std()
    assert at_rows(space, table["dense"]) == pytest.approx([*expected, 0], abs=1e-3)
    assert at_rows(space, table["mixed"])[3] == 0, "a row without a vector is average"


def test_fusion_is_the_sum_of_constants_times_features(kit: Any) -> None:
    table = {
        "bm25": np.array([0.5, 0.0], dtype=np.float32),
        "asked": np.array([1, -1], dtype=np.float32),
        "unknown": np.array([9, 9], dtype=np.float32),
    }
    parts = contributions(table, {"bm25": 3.0, "asked": 1.2, "date": 1.3})
    assert {name: values.tolist() for name, values in parts.items()} == {
        "bm25": pytest.approx([1.5, 0.0]),
        "asked": pytest.approx([1.2, -1.2]),
    }


def test_every_constant_belongs_to_a_feature_that_exists(kit: Any) -> None:
    rows = [kit.row(0, "the cold lake"), kit.row(1, "I swim")]
    pieces = [kit.vector(0, 1, 0), kit.vector(1, 0, 1)]
    _, table = table_of(kit, rows, pieces, "cold lake", kit.unit(1, 0))
    assert set(table) == set(DENSE_WEIGHTS)
    assert set(LEXICAL_WEIGHTS) <= set(DENSE_WEIGHTS)


def test_bare_keywords_mark_the_rows_that_hold_them_all_and_a_question_marks_none(kit: Any) -> None:
    rows = [kit.row(n, t) for n, t in enumerate(["red kite", "red house", "a kite that is red"])]
    space = kit.index(rows).spaces()[0]
    assert at_rows(space, holds_keywords(space, make_query("red kite"))) == [1, 0, 1]
    assert at_rows(space, holds_keywords(space, make_query("kites unheard"))) == [1, 0, 1]
    assert at_rows(space, holds_keywords(space, make_query("unheard"))) == [0, 0, 0]
    assert at_rows(space, holds_keywords(space, make_query("Is the kite red?"))) == [0, 0, 0]
