"""Roles of cards from the words of their relation (QEM-14)."""

from __future__ import annotations

import time

import pytest

from evimem.model.cards import CardRole
from evimem.query.qemem.roles import normalise_role

TABLE: list[tuple[str, CardRole]] = [
    ("answer candidate", "answer_candidate"),
    ("Answer_Candidate: second hobby", "answer_candidate"),
    ("directly answers when they met", "answer_candidate"),
    ("one instance of a trip", "answer_candidate"),
    ("answers the question", "answer_candidate"),
    ("intermediate fact", "intermediate_fact"),
    ("intermediate fact: date of the move", "intermediate_fact"),
    ("date of the move, an intermediate fact", "intermediate_fact"),
    ("identifies the sister", "intermediate_fact"),
    ("background for the answer", "intermediate_fact"),
    ("temporal constraint", "temporal_constraint"),
    ("Temporal  Constraint on the answer", "temporal_constraint"),
    ("when the move took place", "temporal_constraint"),
    ("before the wedding", "temporal_constraint"),
    ("inference support", "inference_support"),
    ("supports inference: likes the open air", "inference_support"),
    ("suggests that the answer is tea", "inference_support"),
    ("evidence of a habit", "inference_support"),
    ("contradiction", "contradiction"),
    ("contradicts card 2", "contradiction"),
    ("answer candidate, conflicts with card 1", "contradiction"),
    ("temporal constraint; inconsistent with v3", "contradiction"),
    ("answer candidate; does not contradict card 2", "answer_candidate"),
    ("answer candidate, doesn’t conflict with v1", "answer_candidate"),
    ("background, no conflict", "intermediate_fact"),
    ("", "other"),
    ("   ", "other"),
    ("something else altogether", "other"),
    ("直接回答", "other"),
]


@pytest.mark.parametrize(("relation", "role"), TABLE)
def test_qem_14_a_relation_gets_its_role(relation: str, role: CardRole) -> None:
    assert normalise_role(relation) == role


def test_qem_14_case_and_layout_do_not_matter() -> None:
    for relation, role in TABLE:
        assert normalise_role(f"\n {relation.upper()} ") == role


def test_qem_14_a_relation_of_any_length_is_read_in_no_time() -> None:
    begin = time.process_time()
    assert normalise_role("not " * 100_000) == "other"
    assert time.process_time() - begin < 0.5
