"""Planning without a model: what a question asks for, and what is searched."""

from __future__ import annotations

import dataclasses

import pytest

from evimem.model.cards import AnswerType
from evimem.model.evidence import EvidenceState, Question
from evimem.query.loop import grown
from evimem.query.memory_view import MemoryView
from evimem.query.qemem.lite_plan import LiteOpener, LiteProposer, lite_plan, lite_searches
from evimem.trace import Round


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


def test_qem_8_the_state_begins_with_the_requirement(view: MemoryView) -> None:
    opened = LiteOpener().open(Question(text="What pets does Ana have?"), view)
    assert opened.state.need is not None
    assert opened.state.need.aggregate


def test_qem_20_later_rounds_search_what_was_missed_and_exclude_what_was_seen(
    view: MemoryView,
) -> None:
    state = EvidenceState(question=Question(text="What pets does Ana have?"))
    first = LiteProposer(k=5).propose(state, view)
    assert first.plan is not None
    assert next(p.request.text for p in first.searches) == "What pets does Ana have?"
    after = grown(state, Round(n=1, state_before=""))
    assert LiteProposer().propose(after, view).searches == ()
    missed = dataclasses.replace(after, follow_ups=("Ana's turtle",), viewed=("s1-0",))
    again = LiteProposer().propose(missed, view).searches
    assert len(again) == 6
    assert {p.request.origin for p in again} == {"gap"}
    assert {p.request.exclusion.items for p in again} == {frozenset({"s1-0"})}
