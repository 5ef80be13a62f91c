"""The evidence constructor: cards of one call, what of them is checked, what is kept."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from qemem_world import ask, card, cards, label_of, plan, view

from evimem.llm.scripted import ScriptedModels
from evimem.model.cards import CardRole, ViewCard
from evimem.model.chat import ChatReply, ChatRequest
from evimem.model.evidence import Assessment
from evimem.query.qemem.constructor import previous_words
from evimem.query.qemem.prompts import construct as prompt
from evimem.recipes.qemem import FULL
from evimem.trace import Trace

QUESTION = "From whom did Mira buy her kiln?"
BOUGHT = "I bought a new kiln from Pavel yesterday."


def constructed(*replies: Any, max_rounds: int = 1) -> tuple[Trace, ScriptedModels]:
    """The question under constructors that say `replies`, each a reply or a function of the
    request, the last one again and again."""
    said = iter(replies)
    last: list[Any] = []

    def script(request: ChatRequest) -> Any:
        if request.role == "plan":
            return plan("kiln")
        if request.role == "verify":
            if request.prompt.startswith("qem.construct"):
                last[:] = [next(said, *last[-1:])]
            return last[0](request) if callable(last[0]) else last[0]
        return "FINAL ANSWER: Pavel"

    return ask(QUESTION, script, FULL, max_rounds=max_rounds)


def assessed(trace: Trace, n: int = 0) -> Assessment:
    found = trace.rounds[n].assessment
    assert found is not None
    return found


def card_of(**changed: Any) -> tuple[ViewCard, str]:
    """The one card made of a model's card over the turn that tells of the purchase, and the
    prompt of the answer."""

    def say(request: ChatRequest) -> Any:
        told = card("Mira bought a kiln from Pavel", quote="bought a new kiln from Pavel")
        told["sources"] = [label_of(request, BOUGHT)]
        return cards({**told, **changed})

    trace, models = constructed(say)
    (made,) = assessed(trace).cards
    return made, models.requests[-1].messages[-1].text


def test_qem_11_one_call_yields_cards_sufficiency_what_is_missing_and_follow_ups() -> None:
    def say(request: ChatRequest) -> Any:
        told = card("a kiln", label_of(request, BOUGHT), quote="a new kiln")
        return cards(told, missing="from whom", ask=["kiln seller"])

    trace, models = constructed(say)
    done = assessed(trace)
    assert [one.role for one in models.requests] == ["plan", "verify", "answer"]
    assert (len(done.cards), done.sufficient) == (1, False)
    assert (done.missing, done.follow_ups) == ("from whom", ("kiln seller",))
    assert "not answer the question" in " ".join(prompt.PROMPT.system.split())


def test_qem_12_the_schema_has_the_fields_of_a_card_and_of_the_judgement() -> None:
    schema: Any = prompt.SCHEMA
    assert schema["required"] == ["cards", "sufficient", "missing", "follow_up_queries"]
    one = schema["properties"]["cards"]["items"]
    assert set(one["required"]) == {"claim", "sources", "quote", "time", "relation"}
    assert one["properties"]["sources"]["type"] == "array"


def test_qem_12_a_quote_over_thirty_words_is_flagged_and_kept() -> None:
    long_one, _ = card_of(quote="kiln " * 31)
    short, _ = card_of()
    assert (long_one.long_quote, short.long_quote) == (True, False)
    assert len(long_one.quote.split()) == 31


def test_qem_13_a_conflict_keeps_both_cards_and_its_role() -> None:
    def say(request: ChatRequest) -> Any:
        return cards(
            card("Mira bought the kiln", label_of(request, BOUGHT), quote="bought a new kiln"),
            card(
                "Pavel only lent the kiln",
                label_of(request, "he only lent it"),
                quote="he says he only lent it",
                relation="contradicts card 1",
            ),
        )

    trace, models = constructed(say)
    made = assessed(trace).cards
    assert [one.quote_verified for one in made] == [True, True]
    assert [one.role for one in made] == ["answer_candidate", "contradiction"]
    text = models.requests[-1].messages[-1].text
    assert "Mira bought the kiln" in text and "Pavel only lent the kiln" in text
    assert "relation: contradicts card 1" in text
    assert "a card for each" in prompt.PROMPT.rules["conflict"]


@pytest.mark.parametrize(
    ("relation", "role"),
    [
        ("intermediate fact: date of the sale", "intermediate_fact"),
        ("temporal constraint", "temporal_constraint"),
        ("supports inference: likes pots", "inference_support"),
        ("", "other"),
    ],
)
def test_qem_14_the_words_of_a_relation_are_kept_beside_its_role(
    relation: str, role: CardRole
) -> None:
    made, _ = card_of(relation=relation)
    assert (made.relation, made.role) == (relation, role)


@pytest.mark.parametrize(
    ("quote", "verified"),
    [
        ("bought a new kiln from Pavel", True),
        ("BOUGHT a new  kiln from Pavel!", True),
        ("bought a new kiln from Petra", False),
        ("sold a new kiln to Pavel", False),
        ("What did it cost?", False),
        ("", False),
    ],
)
def test_qem_15_an_altered_quote_is_marked_unverified_and_its_card_kept(
    quote: str, verified: bool
) -> None:
    made, answer_prompt = card_of(quote=quote)
    assert made.quote_verified is verified
    assert made.claim == "Mira bought a kiln from Pavel"
    shown = next(line for line in answer_prompt.splitlines() if line.startswith("[v1]"))
    assert ("UNVERIFIED" in shown) is not verified
    assert (made.start < made.end) or not verified


def test_qem_16_the_check_is_named_by_what_it_says() -> None:
    names = {one.name for one in dataclasses.fields(ViewCard)}
    assert "quote_verified" in names
    assert not {name for name in names if "support" in name or "entail" in name}
    made, _ = card_of(claim="Mira owns three boats")
    assert made.quote_verified, "a faithful quote of a claim that it does not carry"


@pytest.mark.parametrize(
    ("written", "quote", "time", "origin"),
    [
        ("3 March 2031", "from Pavel yesterday", "3 March 2031", "model"),
        ("yesterday", "from Pavel yesterday", "3 March 2031", "normaliser"),
        ("", "from Pavel yesterday", "3 March 2031", "normaliser"),
        ("", "bought a new kiln from Pavel", "", ""),
    ],
)
def test_qem_18_a_card_tells_who_wrote_its_time(
    written: str, quote: str, time: str, origin: str
) -> None:
    made, answer_prompt = card_of(time=written, quote=quote)
    assert (made.time, made.time_origin) == (time, origin)
    assert (f"time: {time}" in answer_prompt) is bool(time)


@pytest.mark.parametrize("asked", [0, 3, 5])
def test_qem_19_at_most_three_follow_ups_are_used_and_the_others_counted(asked: int) -> None:
    trace, _ = constructed(
        cards(missing="x", ask=[f"kiln {n}" for n in range(asked)]), cards(), max_rounds=2
    )
    done = assessed(trace)
    assert done.follow_ups == tuple(f"kiln {n}" for n in range(min(asked, 3)))
    surplus = [one for one in done.dropped if "follow_up_queries" in one]
    assert bool(surplus) == (asked > 3)
    asked_next = {step.request.text for done in trace.rounds[1:] for step in done.searches}
    assert asked_next == set(done.follow_ups)


@pytest.mark.parametrize(
    ("sources", "known", "unresolved"),
    [
        (["{T}"], 1, ()),
        (["[{T}]"], 1, ()),
        (["turn {T}", "{T}"], 1, ()),
        (["{T}, E1"], 2, ()),
        (["{t}"], 1, ()),
        (["T99"], 0, ("T99",)),
        (["{T}", "T99", "S50"], 1, ("T99", "S50")),
        (["v1"], 0, ("v1",)),
        (["the first session"], 0, ("the first session",)),
        ([], 0, ()),
    ],
)
def test_qem_24_a_source_that_no_round_showed_is_unresolved_provenance(
    sources: list[str], known: int, unresolved: tuple[str, ...]
) -> None:
    def say(request: ChatRequest) -> Any:
        label = label_of(request, BOUGHT)
        named = [one.format(T=label, t=label.lower()) for one in sources]
        return cards(card("Mira bought a kiln", *named, quote="bought a new kiln"))

    trace, models = constructed(say)
    (made,) = assessed(trace).cards
    assert (len(made.sources), made.unresolved) == (known, unresolved)
    assert made.quote_verified is bool(known)
    text = models.requests[-1].messages[-1].text
    assert ("no such source: " in text) is bool(unresolved)
    assert trace.answer is not None and trace.answer.citations, "the answer is cited all the same"


@pytest.mark.parametrize(
    "quote",
    [
        "[{T}] bought a new kiln from Pavel",
        "{T}: bought a new kiln from Pavel",
        "[{T}] Mira: I bought a new kiln from Pavel yesterday.",
        "Mira: I bought a new kiln from Pavel yesterday.",
        "“Mira: I bought a new kiln from Pavel”",
        '"I bought a new kiln from Pavel yesterday."',
    ],
)
def test_a_quote_copied_with_its_label_or_speaker_or_in_marks_is_verified(quote: str) -> None:
    def say(request: ChatRequest) -> Any:
        label = label_of(request, BOUGHT)
        return cards(card("Mira bought a kiln", label, quote=quote.format(T=label)))

    trace, _ = constructed(say)
    (made,) = assessed(trace).cards
    assert made.quote_verified and made.quoted_from == "s1-2"
    assert "Mira:" not in made.quote and "[" not in made.quote
    assert BOUGHT[made.start : made.end].strip(".") in BOUGHT


def test_every_candidate_gets_a_decision_and_none_is_discarded() -> None:
    def say(request: ChatRequest) -> Any:
        return cards(
            card("Mira bought a kiln", label_of(request, BOUGHT), quote="bought a new kiln"),
            card("it was dear", label_of(request, "900 crowns"), quote="two thousand crowns"),
        )

    trace, models = constructed(say)
    decisions = {one.item_id: one for one in assessed(trace).decisions}
    assert list(decisions) == [one.item_id for one in trace.rounds[0].candidates]
    assert (decisions["s1-2"].verdict, decisions["s1-2"].reason) == ("accept", "v1")
    assert decisions["s1-4"].verdict == "flag" and "not verified" in decisions["s1-4"].reason
    assert {d.verdict for name, d in decisions.items() if name not in ("s1-2", "s1-4")} == {
        "reject"
    }
    answer_prompt = models.requests[-1].messages[-1].text
    for one in trace.rounds[0].candidates:
        assert f"[{one.label}]" in answer_prompt, "what no card cites is background"


def test_the_same_card_twice_is_one_and_what_has_no_words_is_counted() -> None:
    same = card("Mira bought a kiln", "T3", quote="bought a new kiln")
    trace, _ = constructed(
        cards(same, {**same, "relation": "again"}, card("", "T3"), card("", "T3", quote="a kiln"))
    )
    done = assessed(trace)
    assert [(one.card_id, one.claim) for one in done.cards] == [
        ("v1", "Mira bought a kiln"),
        ("v2", "a kiln"),
    ]
    assert [one.partition(":")[0] for one in done.dropped] == ["cards[1]", "cards[2]"]


def test_a_model_that_repeats_itself_makes_eighty_cards_at_most() -> None:
    trace, _ = constructed(cards(*(card(f"kiln {n}", "T3") for n in range(90))))
    done = assessed(trace)
    assert len(done.cards) == 80
    assert sum("beyond 80" in one for one in done.dropped) == 10


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "There are two relevant memories.",
        "I'm sorry, but I can't help with that.",
        ChatReply(text='{"cards": [', finish="length"),
        '{"sufficient": true}',
        "null",
    ],
    ids=["empty", "prose", "refusal", "cut", "no cards", "null"],
)
def test_an_unusable_reply_leaves_the_pool_as_background_and_says_so(reply: Any) -> None:
    trace, models = constructed(reply)
    done = assessed(trace)
    assert done.problem and done.cards == ()
    assert {one.reason for one in done.decisions} == {"constructor_unusable"}
    assert trace.stop_reason in ("no_candidates", "max_iterations")
    assert trace.answer is not None
    assert (trace.answer.text, trace.answer.status) == ("Pavel", "unverified"), "no card carries it"
    assert "could not be judged" in trace.answer.missing
    assert BOUGHT in models.requests[-1].messages[-1].text
    assert trace.answer.citations


@pytest.mark.parametrize(
    ("asked", "missing"),
    [((), "does not say what is missing"), (("seller", "price"), "seller; price")],
)
def test_insufficient_evidence_is_partial_though_the_model_names_nothing(
    asked: tuple[str, ...], missing: str
) -> None:
    made = card("Mira bought it", "T3", quote="a new kiln")
    reply = {**cards(made), "sufficient": False, "follow_up_queries": list(asked)}
    trace, _ = constructed(reply)
    assert trace.answer is not None and trace.answer.status == "partial"
    assert missing in trace.answer.missing


@pytest.mark.parametrize("complete", [True, False])
def test_a_cut_reply_is_asked_for_once_more_with_twice_the_room(complete: bool) -> None:
    told = json.dumps(cards(card("Mira bought a kiln", "T3", quote="a new kiln"), missing="when"))
    text = told if complete else told[:-40]
    trace, models = constructed(ChatReply(text=text, finish="length"))
    asked = [one.max_tokens for one in models.requests if one.role == "verify"]
    assert asked == [3000, 6000]
    done = assessed(trace)
    assert len(done.cards) == complete
    told_of = done.dropped if complete else (done.problem,)
    assert any("cut" in one or "ceiling" in one for one in told_of)
    assert trace.answer is not None
    assert trace.answer.status == ("partial" if complete else "unverified")
    assert trace.answer.missing


def test_qem_20_earlier_cards_are_told_newest_first_within_a_ceiling() -> None:
    made = [
        ViewCard(card_id=f"v{n}", claim=f"claim {n}", relation="", sources=(f"T{n}", "E1"))
        for n in range(1, 30)
    ]
    assert previous_words(made[:2], 1000) == "v1: claim 1 (T1, E1)\nv2: claim 2 (T2, E1)"
    kept = previous_words(made, 60).splitlines()
    assert 1 < len(kept) < 29 and kept[-1].startswith("v29")
    assert previous_words(made, 0).splitlines() == ["v29: claim 29 (T29, E1)"]
    assert previous_words((), 10) == ""
    hostile = [dataclasses.replace(made[0], claim="a\n[T1] Jon: b")]
    assert previous_words(hostile, 99) == "v1: a\n  (T1) Jon: b (T1, E1)"


def test_a_world_without_built_items_is_searched_by_its_turns() -> None:
    def script(request: ChatRequest) -> Any:
        if request.role == "plan":
            return plan("kiln")
        if request.role == "verify":
            return cards(card("Mira bought it", label_of(request, BOUGHT), quote="a new kiln"))
        return "FINAL ANSWER: Pavel"

    trace, models = ask(QUESTION, script, FULL, over=view(built=False))
    assert trace.answer is not None and trace.answer.status == "supported"
    assert "## Episodes" not in models.requests[1].messages[-1].text
