"""Cards against what they cite: what is drawn, what the judge sees, what is made of its word."""

from __future__ import annotations

import pytest
from bench_rows import cells, system
from evidence_rows import card, dataset, item_candidate, trace, turn_candidate

from evimem.errors import ModelServerError
from evimem.eval.diagnostics.card_audit import (
    PER_BACKBONE,
    PROMPT,
    audit_cards,
    card_request,
    card_section,
    cards_of,
    sample_cards,
)
from evimem.eval.harness.rows import SystemRun
from evimem.llm.scripted import ScriptedModels, ScriptedReply
from evimem.model.chat import ChatRequest
from evimem.trace import Trace

TREES = turn_candidate(1, "T1")
KILN = turn_candidate(4, "T2")
EPISODE = item_candidate("ep", "E1", "Bo plants pear trees.")
FACT = item_candidate("fact", "S1", "Bo likes pears.")
DATA = dataset(only=("q1", "q2"))


def held() -> SystemRun:
    """Two questions: three cards of single-hop (turn, turn, episode), two of multi-hop."""
    one = trace(
        (
            [TREES, KILN, EPISODE],
            [
                card(1, {"T1": "c-t1"}, claim="Bo planted three pear trees."),
                card(2, {"T2": "c-t4"}, claim="Ana has a kiln."),
                card(3, {"E1": "ep"}, claim="Bo gardens."),
            ],
        )
    )
    two = trace(
        ([TREES, FACT], [card(1, {"T1": "c-t1", "S1": "fact"}, claim="Bo grows pears.")]),
        ([KILN], [card(2, {}, claim="Nobody said it."),
                  card(3, {"T1": "c-t1"}, claim="Bo has trees.", round_=2)]),
    )  # fmt: skip
    traces: dict[str, Trace] = {"c-q1": one, "c-q2": two}
    return system(trace=traces.get, name="qemem")


def says(labels: dict[str, str]) -> ScriptedModels:
    """A judge that labels by words of the claim."""

    def answer(request: ChatRequest) -> ScriptedReply:
        claim = request.messages[1].text.splitlines()[0].removeprefix("Claim: ")
        return {"reason": "because", "label": labels[claim]}

    return ScriptedModels(answer)


LABELS = {
    "Bo planted three pear trees.": "full",
    "Ana has a kiln.": "partial",
    "Bo gardens.": "unsupported",
    "Bo grows pears.": "contradicted",
    "Bo has trees.": "full",
}


def test_qem_40_the_population_is_every_card_that_cites_something_by_type_and_kind_of_source() -> (
    None
):
    cards, left_out = cards_of(held(), DATA)

    assert [(one.card.card_id, one.category, one.provenance) for one in cards] == [
        ("v1", "single-hop", "turn"),
        ("v2", "single-hop", "turn"),
        ("v3", "single-hop", "episode"),
        ("v1", "multi-hop", "mixed"),
        ("v3", "multi-hop", "turn"),
    ]
    assert left_out == {"card without a source that exists": 1}


def test_qem_40_cards_of_a_later_round_may_cite_what_an_earlier_one_showed() -> None:
    cards, _ = cards_of(held(), DATA)
    assert [one.label for one in cards[-1].sources] == ["T1"]


def test_qem_40_the_sample_covers_all_strata_and_its_weights_add_up_to_the_population() -> None:
    cards, _ = cards_of(held(), DATA)

    sample = sample_cards(cards, n=4)

    assert {one.stratum for one in sample.drawn} == {
        ("single-hop", "turn"),
        ("single-hop", "episode"),
        ("multi-hop", "mixed"),
        ("multi-hop", "turn"),
    }
    assert sum(one.weight for one in sample.drawn) == pytest.approx(5)
    assert PER_BACKBONE * 2 == 288


def test_qem_40_the_judge_sees_claim_cited_words_and_dates_and_no_question_or_gold() -> None:
    models = says(LABELS)

    audit_cards(held(), DATA, models)

    assert len(models.requests) == 5
    for request in models.requests:
        told = "\n".join(message.text for message in request.messages)
        assert "What about pear trees" not in told
        assert "gold answer" not in told
        assert "qemem" not in told
        assert (request.role, request.phase) == ("judge", "judge")
    cards, _ = cards_of(held(), DATA)
    assert card_request(cards[0]).messages[-1].text == (
        "Claim: Bo planted three pear trees.\n\nSources:\n"
        "[1] (10 January 2024) Bo: I planted three pear trees yesterday."
    )


def test_qem_40_shares_are_weighted_to_the_population() -> None:
    audit = audit_cards(held(), DATA, says(LABELS))

    # All five cards are drawn: two of five are full.
    full, some, wrong = (
        audit.share("full"),
        audit.share("full", "partial"),
        audit.share("unsupported", "contradicted"),
    )
    assert full is not None and some is not None and wrong is not None
    assert full.estimate == pytest.approx(2 / 5)
    assert some.estimate == pytest.approx(3 / 5)
    assert wrong.estimate == pytest.approx(2 / 5)
    assert full.low <= full.estimate <= full.high
    assert len(audit.calls) == 5

    part = audit_cards(held(), DATA, says({**LABELS, "Ana has a kiln.": "full"}), n=4)
    # Whichever of the two single-hop turns is drawn is full and stands for both.
    share = part.share("full")
    assert share is not None
    assert share.estimate == pytest.approx((2 + 1) / 5)


def test_qem_40_a_reply_without_a_label_is_counted_and_its_stratum_keeps_its_weight() -> None:
    def judge(request: ChatRequest) -> ScriptedReply:
        claim = request.messages[1].text.splitlines()[0].removeprefix("Claim: ")
        if claim == "Ana has a kiln.":
            return "I would rather not say."
        return {"reason": "because", "label": LABELS[claim]}

    audit = audit_cards(held(), DATA, ScriptedModels(judge))

    assert [one.card_id for one in audit.verdicts if one.label is None] == ["v2"]
    full = audit.share("full")
    assert full is not None
    assert full.estimate == pytest.approx((2 + 1) / 5)
    table, _ = card_section([audit]).tables
    assert cells(table, "qemem")["unread"] == 1


def test_a_judge_that_cannot_be_reached_is_an_error() -> None:
    models = ScriptedModels({"judge": [ModelServerError("down")] * 20})
    with pytest.raises(ModelServerError):
        audit_cards(held(), DATA, models)


def test_qem_40_the_section_names_judge_seed_strata_and_caveats() -> None:
    audit = audit_cards(held(), DATA, says(LABELS), n=4, seed=5)

    section = card_section([audit])
    shares, sample = section.tables

    assert cells(shares, "qemem")["all cards"] == 5
    assert PROMPT.tag in shares.notes[0]
    assert "seed 5" in shares.notes[0]
    assert sum(row[3] for row in sample.rows if isinstance(row[3], int)) == 5
    assert sum(row[4] for row in sample.rows if isinstance(row[4], int)) == 4
    assert any("no question, answer or gold" in note for note in section.notes)
    assert "Bo planted" not in repr(section)


def test_every_rule_of_the_prompt_stands_in_it() -> None:
    assert all(sentence in PROMPT.system for sentence in PROMPT.rules.values())
    for label in ("full", "partial", "unsupported", "contradicted"):
        assert f"`{label}`" in PROMPT.system
