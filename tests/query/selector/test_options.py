"""Queries to choose from: made of the question alone at first, of evidence later."""

from __future__ import annotations

import pytest

from evimem.model.evidence import EvidenceItem, EvidenceState, Question
from evimem.model.search import Filters
from evimem.model.turn import History
from evimem.query.memory_view import MemoryView
from evimem.query.selector.options import KINDS, Option, options


@pytest.fixture
def view(talk) -> MemoryView:  # type: ignore[no-untyped-def]
    history: History = talk(
        """Nora: I adopted a puppy from the Riverside shelter.
        Ivo: What did you call him?
        Nora: Biscuit, because he is so brown.""",
        """Ivo: Pottery with clay is my new hobby.
        Nora: Biscuit loves the garden of Aunt Tilda.""",
    )
    return MemoryView(history)


def state(question: str, *, viewed: tuple[str, ...] = (), quotes: tuple[tuple[str, str], ...] = (),
          missing: str = "") -> EvidenceState:  # fmt: skip
    evidence = tuple(
        EvidenceItem(item_id=one, quote=quote, start=0, end=len(quote), round=1)
        for one, quote in quotes
    )
    return EvidenceState(
        question=Question(text=question),
        viewed=viewed,
        evidence=evidence,
        missing=missing,
        round=1 if viewed else 0,
    )


def by_kind(made: tuple[Option, ...]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for one in made:
        found.setdefault(one.kind, []).append(one.text)
    return found


def test_the_question_comes_first_and_as_it_stands(view: MemoryView) -> None:
    made = options(state("What pets does Nora have?"), view)
    assert made[0].kind == "question"
    assert made[0].text == "What pets does Nora have?"
    assert {one.kind for one in made} <= set(KINDS)


def test_without_evidence_only_the_question_is_used(view: MemoryView) -> None:
    found = by_kind(options(state("What pets does Nora have?"), view))
    assert set(found) - {"focus"} == {
        *("question", "subject", "synonyms", "examples", "told", "meaning", "own", "speaker"),
    }
    assert found["subject"] == ["Nora pets"]
    assert "dog" in found["examples"][0].split()
    assert found["own"][0].startswith("I pets dog"), "as Nora would say it"


def test_loose_words_and_meaning_are_searched_in_what_the_person_said(view: MemoryView) -> None:
    made = options(state("What pets does Nora have?"), view)
    hers = Filters(underived=True, speakers=frozenset({"Nora"}))
    ways = {one.kind: (one.ranker, one.filters) for one in made}
    for kind in ("examples", "synonyms", "told"):
        assert ways[kind] == ("bm25", hers)  # type: ignore[index]
    for kind in ("meaning", "own"):
        assert ways[kind] == ("dense", hers)  # type: ignore[index]
    nobody = options(state("Which pets were adopted?"), view)
    assert all(not one.filters.speakers for one in nobody)


def test_in_a_chat_with_a_model_my_words_are_those_of_the_user(talk) -> None:  # type: ignore[no-untyped-def]
    chat = MemoryView(talk("user: My dog is brown.\nassistant: What a nice dog."))
    told = {one.kind: one.filters.speakers for one in options(state("What is my dog?"), chat)}
    assert told["told"] == {"user"} and told["question"] == set()
    other = {one.kind: one.filters.speakers for one in options(state("What is the dog?"), chat)}
    assert other["told"] == set()


def test_parts_of_a_joined_question_keep_whom_it_is_about(view: MemoryView) -> None:
    asked = "Did Nora plant roses in the garden and paint the old fence?"
    assert by_kind(options(state(asked), view))["part"] == [
        "Nora plant roses garden",
        "Nora paint old fence",
    ]


def test_each_person_named_can_be_asked_alone(view: MemoryView) -> None:
    made = options(state("What do Nora and Ivo have in common?"), view)
    alone = [one.filters for one in made if one.kind == "speaker"]
    assert alone == [
        Filters(underived=True, speakers=frozenset({"Nora"})),
        Filters(underived=True, speakers=frozenset({"Ivo"})),
    ]


def test_evidence_gives_sentences_names_terms_and_a_direction(view: MemoryView) -> None:
    quote = "Biscuit loves the garden of Aunt Tilda."
    known = state(
        "What does Nora's puppy love?", viewed=("t2-1", "t1-0"), quotes=(("t2-1", quote),),
        missing="puppy",
    )  # fmt: skip
    made = options(known, view)
    found = by_kind(made)
    assert found["sentence"] == [quote]
    assert "Nora Biscuit" in found["name"]
    assert any("Tilda" in one for one in found["name"])
    assert "Nora puppy" in found["unexplained"]
    assert all(one.startswith("Nora puppy love") for one in found["term"])
    alike = [one.like for one in made if one.kind == "alike"]
    assert alike[0] == ("t2-1", "t1-0"), "accepted turns come before viewed ones"
    assert alike[1] == ("t2-1",)


def test_no_two_options_search_for_the_same(view: MemoryView) -> None:
    known = state("Nora puppy", viewed=("t1-0",), quotes=(("t1-0", "Nora puppy"),))
    made = options(known, view)
    names = [(one.text.casefold(), one.ranker, one.filters, one.like) for one in made]
    assert len(set(names)) == len(names)
    assert "subject" not in by_kind(made), "the question says the same"
    assert "sentence" not in by_kind(made)


def test_places_count_within_a_kind(view: MemoryView) -> None:
    made = options(state("What do Nora and Ivo have in common?"), view)
    assert [one.place for one in made if one.kind == "speaker"] == [0, 1]


def test_mera_17_what_was_viewed_is_excluded_before_top_k(view: MemoryView) -> None:
    made = options(state("What pets does Nora have?"), view)[0]
    turns = made.request(k=9, seen=("t1-0",), space="turns")
    assert (turns.k, turns.exclusion.items, turns.filters.underived) == (9, {"t1-0"}, True)
    facts = made.request(k=9, seen=("t1-0",), space="facts")
    assert (facts.exclusion.parents, facts.filters.kinds) == ({"t1-0"}, {"fact"})
    assert not facts.filters.underived


def test_a_question_without_words_is_still_asked(view: MemoryView) -> None:
    made = options(state("??"), view)
    assert [one.kind for one in made] == ["question"]
