"""Planning without a model: what a question asks for, and what is searched."""

from __future__ import annotations

import pytest

from evimem.model.cards import AnswerType
from evimem.query.qemem.lite_plan import lite_plan, lite_searches


@pytest.mark.parametrize(
    ("question", "answer_type", "aggregate", "temporal"),
    [
        ("When did Ana glue the canoe?", "date", False, True),
        ("How long has Ben grown garlic?", "duration", False, True),
        ("How many boats does Ana own?", "count", True, False),
        ("What hobbies does Ana have?", "list", True, False),
        ("Does Ben own a shed?", "yes_no", False, False),
        ("Why did Ana stay home?", "reason", False, False),
        ("What do Ana and Ben have in common?", "entity", True, False),
        ("Would Ana enjoy rowing?", "inference", False, False),
        ("What did Ben plant before the storm?", "entity", False, True),
        ("What happened to Ana in May 2023?", "entity", False, True),
    ],
)
def test_qem_1_the_form_of_a_question_gives_its_requirement(
    question: str, answer_type: AnswerType, aggregate: bool, temporal: bool
) -> None:
    need = lite_plan(question, ("Ana", "Ben")).need
    assert need is not None
    assert (need.answer_type, need.aggregate, need.temporal) == (answer_type, aggregate, temporal)
    assert need.need == question


def test_qem_2_kinds_that_the_question_names_give_a_query_of_examples() -> None:
    (query,) = lite_plan("What pets does Ana have?", ("Ana",)).queries
    assert {"dog", "cat"} <= set(query.split())
    assert len(query.split()) <= 32
    assert lite_plan("Who is Ana?", ("Ana",)).queries == ()


def test_qem_4_the_question_is_asked_in_every_space_and_examples_of_turns_by_words() -> None:
    made = lite_searches("What pets?", ["dog cat"], k=5)
    asked = {(p.request.text, *p.request.filters.kinds, p.request.ranker) for p in made}
    assert asked == {
        ("What pets?", "turn", "fusion"),
        ("What pets?", "episode", "dense"),
        ("What pets?", "episode", "bm25"),
        ("What pets?", "semantic", "dense"),
        ("What pets?", "semantic", "bm25"),
        ("dog cat", "turn", "bm25"),
    }
    assert len(made) == len(asked)
    assert {p.request.k for p in made} == {5}
