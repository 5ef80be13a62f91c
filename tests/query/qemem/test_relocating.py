"""A card that names no known source: its quote is looked for where the recipe asks for that."""

from __future__ import annotations

import pytest
from qemem_world import ask, card, cards, plan

from evimem.llm.scripted import ScriptedReply
from evimem.model.cards import ViewCard
from evimem.model.chat import ChatRequest
from evimem.recipes.qemem import FULL, QEMEM, QemConfig

QUESTION = "From whom did Mira buy her kiln?"


def made(config: QemConfig, *sources: str, quote: str) -> ViewCard:
    def script(request: ChatRequest) -> ScriptedReply:
        if request.role == "plan":
            return plan("kiln")
        if request.role == "verify":
            return cards(card("Mira bought it from Pavel", *sources, quote=quote))
        return "FINAL ANSWER: Pavel"

    trace, _ = ask(QUESTION, script, config)
    assessment = trace.rounds[0].assessment
    assert assessment is not None
    return assessment.cards[0]


@pytest.mark.parametrize("sources", [(), ("Turns (the words as they were said)",), ("T99",)])
def test_a_quote_that_stands_in_a_memory_word_for_word_finds_its_source(
    sources: tuple[str, ...],
) -> None:
    found = made(QEMEM, *sources, quote="“I bought a new kiln from Pavel”")
    assert found.item_ids == ("s1-2",)
    assert found.quote_verified
    assert found.unresolved == sources, "what was named is still told (QEM-24)"


def test_the_paper_s_own_form_leaves_such_a_card_without_a_source() -> None:
    found = made(FULL, "T99", quote="I bought a new kiln from Pavel")
    assert (found.sources, found.quote_verified) == ((), False)


@pytest.mark.parametrize("quote", ["", "from Pavel", "I bought a new kiln from Oskar"])
def test_too_few_words_or_altered_ones_find_none(quote: str) -> None:
    assert made(QEMEM, "T99", quote=quote).sources == ()


def test_a_source_that_is_named_is_never_exchanged() -> None:
    found = made(QEMEM, "T1", quote="I bought a new kiln from Pavel")
    assert found.sources == ("T1",)
    assert not found.quote_verified
