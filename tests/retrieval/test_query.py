"""Questions made ready: terms, pairs, and the words to encode."""

from __future__ import annotations

import time
from typing import Any

import pytest

from evimem.retrieval.analyzer import token_id
from evimem.retrieval.query import MAX_QUERY_WORDS, first_person, make_query
from evimem.retrieval.stemmer import stem

NAMES = {"Ann", "Lee", "Mary-Jo", "José"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Where did Ann's dog run?", "Where did my dog run?"),
        ("What did Ann Lee paint with Bob?", "What did I paint with Bob?"),
        ("Ann Lee’s car", "my car"),
        ("Ann, Lee and Mary-Jo's kids", "I, I and my kids"),
        ("What does José like?", "What does I like?"),
        ("ann said annex", "ann said annex"),
        ("Annie and Anna", "Annie and Anna"),
        ("Ann", "I"),
        ("", ""),
        ("x\x00Ann\ud800", "x\x00I\ud800"),
    ],
)
def test_names_of_people_become_the_first_person(text: str, expected: str) -> None:
    assert first_person(text, NAMES) == expected


def test_without_names_the_text_is_left_alone() -> None:
    assert first_person("Where did Ann run?", frozenset()) == "Where did Ann run?"


def test_a_bank_rewrites_its_people_and_nobody_in_a_chat_with_a_model(kit: Any) -> None:
    people = kit.index([kit.row(0, "hi", speaker="Ann Lee"), kit.row(1, "hi", speaker="Bob")])
    assert people.as_said("What did Ann tell Bob's aunt?") == "What did I tell my aunt?"
    chat = kit.index([kit.row(0, "hi", speaker="user", role="user")])
    assert chat.as_said("What did the user say?") == "What did the user say?"
    assert kit.index([]).as_said("Ann") == "Ann"


def test_terms_leave_out_function_words_and_repetitions() -> None:
    query = make_query("When did the support group meet, and which support group?")
    assert query.terms.tolist() == [token_id(stem(w)) for w in ("support", "group", "meet")]
    support, group, meet = query.terms.tolist()
    assert query.pairs == ((support, group), (group, meet))


def test_pairs_do_not_reach_over_a_function_word() -> None:
    assert make_query("group of support").pairs == ()


def test_only_the_first_words_of_an_endless_question_are_read() -> None:
    started = time.process_time()
    query = make_query(" ".join(f"w{n}" for n in range(100_000)))
    assert len(query.terms) == MAX_QUERY_WORDS
    assert time.process_time() - started < 5
