"""One turn in, facts out: what each sort of reply and failure becomes."""

from __future__ import annotations

import itertools
import json
import math
from typing import Any

import pytest

from evimem.build.facts import (
    BUILDER,
    CONTEXT_TURNS,
    RAW_KEPT,
    context_of,
    extract,
    items_of,
    key_of,
)
from evimem.build.prompts.extract import MOST_TOKENS, PROMPT, render
from evimem.errors import (
    BadModelRequest,
    BudgetExceeded,
    ModelAuthError,
    ModelError,
    ModelServerError,
    ModelTimeout,
    PromptTooLong,
    RateLimited,
)
from evimem.model.chat import ChatReply, ChatRequest
from evimem.model.item import Link


def texts(extraction: Any) -> list[str]:
    return [fact.text for fact in extraction.facts]


def sentences(count: int) -> str:
    """A turn of numbered sentences of about 50 characters."""
    return "".join(f"Sentence {n} tells of the day when box {n} came. " for n in range(count))


def read_all(kit: Any, request: ChatRequest) -> dict[str, Any]:
    """A reply with every sentence of the turn shown."""
    said = kit.shown(request)["turn"]["text"]
    return kit.reply(*[one.strip() for one in said.split(". ") if one.strip()])


# -- replies that can be used -----------------------------------------------------------------


def test_mera_2_one_call_gives_facts_with_text_keywords_and_topics(kit: Any) -> None:
    model, models = kit.model([kit.reply("Ana adopted a parrot", "Ana's parrot is green")])
    found = extract(kit.turn(), model=model)
    assert len(models.requests) == 1
    assert (found.status, found.attempts, found.detail, found.raw) == ("done", 1, "", "")
    assert texts(found) == ["Ana adopted a parrot", "Ana's parrot is green"]
    assert [(fact.keywords, fact.topics, fact.flags) for fact in found.facts] == [
        (("parrot",), ("pets",), ()),
    ] * 2


@pytest.mark.parametrize("text", ["", " \n\t "])
def test_mera_2_a_blank_turn_needs_no_call(kit: Any, text: str) -> None:
    model, models = kit.model([])
    found = extract(kit.turn(text), model=model)
    assert (found.status, found.attempts, found.facts) == ("done", 0, ())
    assert models.requests == ()


def test_an_honest_empty_list_is_done_without_facts(kit: Any) -> None:
    model, _ = kit.model([kit.reply()])
    found = extract(kit.turn("Hi Bo!"), model=model)
    assert (found.status, found.facts, found.detail) == ("done", (), "")


def test_facts_that_are_none_are_left_out_with_a_reason(kit: Any) -> None:
    facts = [
        kit.fact("Ana has a parrot"), kit.fact("  ana HAS a parrot! "), kit.fact(" "),
        kit.fact(sentences(25)), kit.fact("Ana has two parrots"),
        kit.fact("ha " * 60),
    ]  # fmt: skip
    model, _ = kit.model([{"facts": facts}])
    found = extract(kit.turn(), model=model)
    assert texts(found) == ["Ana has a parrot", "Ana has two parrots"]
    assert found.status == "done"
    assert found.rejected == {"duplicate": 1, "blank": 1, "too_long": 1, "repetition": 1}


def test_case_p011_a_fact_of_one_word_said_endlessly_is_rejected_and_the_turn_stays(
    kit: Any,
) -> None:
    model, _ = kit.model([kit.reply("la " * 58_000)] * 2)
    found = extract(kit.turn(), model=model)
    assert found.status == "fallback"
    assert [(fact.text, fact.flags) for fact in found.facts] == [
        ("I adopted a parrot.", ("fallback",))
    ]
    assert len(found.raw) <= RAW_KEPT


def test_tags_are_cleaned_and_bounded_and_what_is_cut_is_counted(kit: Any) -> None:
    tags = [" red  parrot ", "RED PARROT", "", "x" * 81, *map(str, range(20))]
    model, _ = kit.model([{"facts": [kit.fact("Ana adopted one", keywords=tags, topics=tags)]}])
    found = extract(kit.turn(), model=model)
    assert found.facts[0].keywords == ("red parrot", *map(str, range(11)))
    assert found.facts[0].topics == ("red parrot", *map(str, range(5)))
    assert found.rejected == {"tag": 2 + 9 + 15}


def test_lone_surrogates_of_a_reply_are_replaced(kit: Any) -> None:
    model, _ = kit.model([kit.reply("Ana adopted \ud800")])
    assert texts(extract(kit.turn(), model=model)) == ["Ana adopted \ufffd"]


# -- replies that cannot be used --------------------------------------------------------------


def test_mera_10_broken_json_twice_gives_exactly_one_fallback_fact(kit: Any) -> None:
    model, models = kit.model(["{broken", "still no JSON"])
    found = extract(kit.turn(), model=model)
    assert len(models.requests) == 2
    assert [(fact.text, fact.flags) for fact in found.facts] == [
        ("I adopted a parrot.", ("fallback",))
    ]
    assert (found.status, found.attempts) == ("fallback", 1)
    assert found.detail.startswith("invalid_reply: ")
    assert found.raw == "still no JSON"


def test_a_schema_echoed_twice_gives_a_fallback_fact_and_never_one_of_the_schema(
    kit: Any,
) -> None:
    echo = '{"$defs": {"Fact": {"type": "object"}}, "properties": {"facts": {}}, "type": "object"}'
    model, _ = kit.model([echo, echo])
    found = extract(kit.turn(), model=model)
    assert texts(found) == ["I adopted a parrot."]
    assert found.detail.startswith("schema_echo: ")


def test_case_p001_an_empty_reply_is_worth_a_retry_and_no_success(kit: Any) -> None:
    model, _ = kit.model([""])
    found = extract(kit.turn("Mira is spending the week in Porto."), model=model)
    assert (found.status, found.facts) == ("failed", ())
    assert found.detail.startswith("empty_reply: ")


def test_case_p010_a_refusal_is_kept_and_gives_no_fact(kit: Any) -> None:
    model, models = kit.model(["I'm sorry, I can't help with that."])
    found = extract(kit.turn(), model=model)
    assert (found.status, found.facts, found.attempts) == ("refused", (), 1)
    assert found.raw == "I'm sorry, I can't help with that."
    assert len(models.requests) == 1


# -- too long for one reply -------------------------------------------------------------------


def test_case_p007_a_cut_reply_keeps_its_complete_facts_and_the_rest_is_read_in_pieces(
    kit: Any,
) -> None:
    text = sentences(20)
    cut = json.dumps(kit.reply(*(f"Sentence {n} tells of the day when box {n} came"
                                 for n in range(7))))  # fmt: skip
    whole = f'{cut[:-2]}, {{"text": "Sentence 7 tel'

    def script(request: ChatRequest) -> Any:
        if kit.shown(request)["turn"]["text"] == text:
            return ChatReply(text=whole, finish="length")
        return read_all(kit, request)

    model, models = kit.model(script)
    found = extract(kit.turn(text), model=model)
    assert found.status == "done" and found.detail.startswith("truncated: ")
    assert sorted(texts(found)) == sorted(
        f"Sentence {n} tells of the day when box {n} came" for n in range(20)
    )
    assert [fact.flags for fact in found.facts] == [("partial",)] * 7 + [()] * 13
    assert len(models.requests) == found.attempts == 3


def test_a_fact_said_anew_in_other_words_is_no_second_one_after_a_cut(kit: Any) -> None:
    text = sentences(20)

    def script(request: ChatRequest) -> Any:
        if kit.shown(request)["turn"]["text"] == text:
            first = json.dumps(kit.fact("On 3 May Ana gave Tom her old green bicycle in Porto"))
            return ChatReply(text=f'{{"facts": [{first}, {{"te', finish="length")
        return kit.reply(
            "On 3 May Ana gave Tom her old green bicycle at Porto",
            "On 4 May Ana gave Tom her old green bicycle in Porto",
        )

    model, _ = kit.model(script)
    assert texts(extract(kit.turn(text), model=model)) == [
        "On 3 May Ana gave Tom her old green bicycle in Porto",
        "On 4 May Ana gave Tom her old green bicycle in Porto",
    ]


@pytest.mark.parametrize("length", [2100, 4100, 9000, 15_000])
def test_case_p008_a_turn_that_is_always_cut_above_a_size_arrives_whole_in_few_calls(
    kit: Any, length: int
) -> None:
    text = sentences(length // 50)

    def script(request: ChatRequest) -> Any:
        if len(kit.shown(request)["turn"]["text"]) > 2000:
            return ChatReply(text='{"facts": [', finish="length")
        return read_all(kit, request)

    model, models = kit.model(script)
    found = extract(kit.turn(text), model=model)
    assert found.status == "done"
    said = " ".join(texts(found)).split()
    assert {word for word in text.replace(".", " ").split()} <= {word.strip(".") for word in said}
    assert found.attempts <= 2 * math.ceil(len(text) / 2000) + 1
    assert len(models.requests) == found.attempts
    bodies = [request.messages for request in models.requests]
    assert all(a != b for a, b in itertools.pairwise(bodies))


def test_a_short_turn_that_is_cut_gets_a_longer_reply_and_then_stands_for_itself(kit: Any) -> None:
    cut = ChatReply(text='{"facts": [{"text": "Ana ado', finish="length")
    model, models = kit.model([cut, kit.reply("Ana adopted a parrot")])
    found = extract(kit.turn(), model=model)
    assert (texts(found), found.status) == (["Ana adopted a parrot"], "done")
    first, second = models.requests
    assert first.max_tokens < second.max_tokens == MOST_TOKENS
    model, models = kit.model([cut, cut])
    found = extract(kit.turn(), model=model)
    assert (texts(found), found.status) == (["I adopted a parrot."], "fallback")


def test_a_cut_reply_that_went_in_circles_is_asked_for_no_longer_one(kit: Any) -> None:
    words = json.dumps(kit.reply("Ana has a parrot", *["The parrot is green"] * 9))[:-2]
    model, models = kit.model([ChatReply(text=f'{words}, {{"text": "It i', finish="length")])
    found = extract(kit.turn(), model=model)
    assert len(models.requests) == 1
    assert (texts(found), found.status) == (["Ana has a parrot", "The parrot is green"], "done")
    assert {fact.flags for fact in found.facts} == {("partial",)}
    assert found.detail.startswith("truncated: ") and found.rejected == {"duplicate": 8}


def test_a_long_turn_that_is_cut_at_every_size_stands_for_itself_after_few_calls(
    kit: Any,
) -> None:
    text = sentences(200)
    model, models = kit.model(lambda request: ChatReply(text='{"facts": [', finish="length"))
    found = extract(kit.turn(text), model=model)
    assert (texts(found), found.status) == ([text], "fallback")
    assert len(models.requests) <= 8


def test_a_prompt_that_is_too_long_is_read_in_pieces(kit: Any) -> None:
    text = sentences(60)

    def script(request: ChatRequest) -> Any:
        if len(kit.shown(request)["turn"]["text"]) > 1000:
            return PromptTooLong("it does not fit the context of 512 tokens")
        return read_all(kit, request)

    model, _ = kit.model(script)
    found = extract(kit.turn(text), model=model)
    assert (found.status, len(found.facts)) == ("done", 60)


def test_a_prompt_that_is_too_long_at_the_least_size_fails(kit: Any) -> None:
    model, models = kit.model(lambda request: PromptTooLong("512 tokens"))
    found = extract(kit.turn(sentences(60)), context=[kit.turn(turn_id="t0")], model=model)
    assert (found.status, found.facts) == ("failed", ())
    assert found.detail == "prompt_too_long: 512 tokens"
    assert kit.shown(models.requests[-1])["before"] == []


def test_one_piece_that_is_unusable_stands_for_itself_and_the_others_are_kept(kit: Any) -> None:
    text = sentences(40)

    def script(request: ChatRequest) -> Any:
        said = kit.shown(request)["turn"]["text"]
        if len(said) > 1200:
            return ChatReply(text='{"facts": [', finish="length")
        return read_all(kit, request) if "Sentence 0 " in said else "no JSON at all"

    model, _ = kit.model(script)
    found = extract(kit.turn(text), model=model)
    assert found.status == "fallback"
    (fallback,) = [fact for fact in found.facts if fact.flags]
    assert fallback.text.endswith(text[-100:]) and fallback.text in text
    assert len(found.facts) > 15


def test_the_end_of_the_piece_before_is_shown_with_the_next(kit: Any) -> None:
    text = sentences(30)
    context = [kit.turn("Hello", turn_id="t0", speaker="Bo")]

    def script(request: ChatRequest) -> Any:
        if kit.shown(request)["turn"]["text"] == text:
            return ChatReply(text="{", finish="length")
        return read_all(kit, request)

    model, models = kit.model(script)
    extract(kit.turn(text), context=context, model=model)
    _, first, second = map(kit.shown, models.requests[:3])
    assert first["before"] == [{"speaker": "Bo", "text": "Hello"}]
    assert second["before"] == [{"speaker": "Ana", "text": first["turn"]["text"][-200:]}]


# -- failures of the provider -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (ModelServerError("500"), "server"),
        (ModelTimeout("no reply"), "timeout"),
        (RateLimited("429"), "rate_limited"),
    ],
)
def test_a_failing_provider_leaves_no_fact_and_is_worth_a_retry(
    kit: Any, error: Exception, cause: str
) -> None:
    model, _ = kit.model(lambda request: error)
    found = extract(kit.turn(), model=model)
    assert (found.status, found.facts) == ("failed", ())
    assert found.detail.startswith(f"{cause}: ")


def test_a_failure_in_a_later_piece_drops_the_whole_turn(kit: Any) -> None:
    text = sentences(40)

    def script(request: ChatRequest) -> Any:
        said = kit.shown(request)["turn"]["text"]
        if len(said) > 1200:
            return ChatReply(text=json.dumps(kit.reply("a fact"))[:-1], finish="length")
        return read_all(kit, request) if "Sentence 0 " in said else ModelServerError("500")

    model, _ = kit.model(script)
    assert extract(kit.turn(text), model=model).facts == ()


@pytest.mark.parametrize(
    "error", [ModelAuthError("no key"), BadModelRequest("no model"), BudgetExceeded("no call")]
)
def test_what_every_call_would_meet_goes_up(kit: Any, error: Exception) -> None:
    model, _ = kit.model(lambda request: error)
    with pytest.raises((ModelError, BudgetExceeded), match=str(error)):
        extract(kit.turn(), model=model)


# -- items and keys ---------------------------------------------------------------------------


def test_mera_3_mera_6_facts_carry_the_turns_speaker_time_and_id(kit: Any) -> None:
    turn = kit.turn(source_id="D1:3", said_at=None)
    context = [kit.turn(turn_id="t-1"), kit.turn(turn_id="t0")]
    model, _ = kit.model([kit.reply("Ana adopted a parrot", "The parrot is green")])
    found = extract(turn, context=context, model=model)
    first, second = items_of(turn, found, context=context, model_id="m1")
    for n, item in enumerate((first, second)):
        assert (item.kind, item.session_id, item.speaker, item.said_at, item.source_id) == (
            "fact", "s1", "Ana", None, "D1:3",
        )  # fmt: skip
        assert item.links == (
            Link(role="parent", target="t1"),
            Link(role="source", target="t-1", hidden=True),
            Link(role="source", target="t0", hidden=True),
        )
        assert item.attrs == {
            "keywords": ["parrot"], "topics": ["pets"], "n": n, "builder": BUILDER,
            "model": "m1", "prompt": PROMPT.tag,
        }  # fmt: skip
        assert item.built
    assert first.item_id != second.item_id
    assert items_of(turn, found, model_id="m2")[0].item_id == first.item_id
    other = kit.turn(turn_id="t2")
    assert items_of(other, found, model_id="m1")[0].item_id != first.item_id


def test_mera_10_flags_are_told_on_the_item(kit: Any) -> None:
    model, _ = kit.model(["no", "no"])
    (item,) = items_of(kit.turn(), extract(kit.turn(), model=model), model_id="m")
    assert item.attrs["flags"] == ["fallback"]
    assert item.attrs["keywords"] == item.attrs["topics"] == []


def test_mera_5_the_text_that_is_embedded_has_fact_keywords_and_topics(kit: Any) -> None:
    model, _ = kit.model([kit.reply("Ana adopted Kiwi")])
    (item,) = items_of(kit.turn(), extract(kit.turn(), model=model), model_id="m")
    assert item.body == "Ana adopted Kiwi"
    assert item.indexed == "Ana adopted Kiwi parrot pets"


def test_mera_51_the_key_tells_model_wording_text_and_context_apart(kit: Any) -> None:
    turn, before = kit.turn(), [kit.turn("Hi", turn_id="t0")]
    keys = [
        key_of(render(turn), model_id="m1"),
        key_of(render(turn), model_id="m2"),
        key_of(render(turn, context=before), model_id="m1"),
        key_of(render(kit.turn("I adopted a cat.")), model_id="m1"),
        key_of(render(kit.turn(speaker="Bo")), model_id="m1"),
    ]
    assert len(set(keys)) == 5
    assert key_of(render(kit.turn(turn_id="t9", said_at=None)), model_id="m1") == keys[0]


def test_context_is_the_turns_with_words_just_before(kit: Any) -> None:
    said = ["one", "two", " ", "three", "four"]
    turns = [kit.turn(text, turn_id=f"t{n}", index=n) for n, text in enumerate(said)]
    assert CONTEXT_TURNS == 2
    assert [t.text for t in context_of(turns, 0)] == []
    assert [t.text for t in context_of(turns, 1)] == ["one"]
    assert [t.text for t in context_of(turns, 3)] == ["one", "two"]
    assert [t.text for t in context_of(turns, 4)] == ["two", "three"]
