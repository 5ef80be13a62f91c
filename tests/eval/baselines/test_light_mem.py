"""LightMem: shortened messages, topics, one extraction per buffer, offline updates, one answer."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from evimem.errors import ModelServerError, PromptTooLong
from evimem.eval.baselines.light_mem import LightMem
from evimem.eval.baselines.light_mem_buffers import (
    Message,
    batches,
    boundaries,
    compressed,
    rarity_of,
    topics,
)
from evimem.eval.harness.system import Tools
from evimem.llm.scripted import ScriptedModels
from evimem.model.chat import ChatReply, ChatRequest
from evimem.model.evidence import Question
from evimem.model.turn import History, Turn
from evimem.ports import FloatArray

ASKED = Question(text="What is Rita's bakery called?")


def fact(source: int, text: str) -> dict[str, Any]:
    return {"source": source, "fact": text}


def facts(*told: tuple[int, str]) -> dict[str, Any]:
    return {"facts": [fact(source, text) for source, text in told]}


def step_of(request: ChatRequest) -> str:
    return request.prompt.partition("@")[0].removeprefix("lightmem.")


def script(*, answer: str = "Amber", **replies: Any) -> Callable[[ChatRequest], Any]:
    def reply(request: ChatRequest) -> Any:
        said = {"answer": answer, "extract": facts(), "update": IGNORE, **replies}[step_of(request)]
        return said(request) if callable(said) else said

    return reply


IGNORE: Mapping[str, str] = {"action": "ignore", "fact": ""}


def message(text: str, number: int = 0) -> Message:
    said_at = datetime(2024, 10, 5, 18, tzinfo=UTC)
    turn = Turn(
        turn_id=f"m{number}", session_id="s", index=number, speaker="Ines", role="person",
        text=text, said_at=said_at,
    )  # fmt: skip
    return Message(turn=turn, text=text)


def on_circle(*degrees: float) -> list[FloatArray]:
    return [
        np.array([math.cos(math.radians(d)), math.sin(math.radians(d))], dtype=np.float32)
        for d in degrees
    ]


# -- shortening --------------------------------------------------------------------------------


def test_the_rarest_words_of_a_message_stay_in_their_order() -> None:
    rarity = rarity_of(["the dog ran", "the cat ran", "the owl sat", "the dog sat", "the owl"])
    assert rarity["the"] == 0 and rarity["cat"] == pytest.approx(math.log(5))
    text = "The dog ran to the cat"
    assert compressed(text, rate=0.5, rarity=rarity) == "dog ran cat"


def test_the_share_of_words_is_rounded_up_and_a_full_share_changes_nothing() -> None:
    text = "one two three four five"
    assert len(compressed(text, rate=0.7, rarity={}).split()) == 4
    assert compressed(text, rate=1.0, rarity={}) == text
    assert compressed("word", rate=0.1, rarity={}) == "word"


def test_a_shortened_message_still_denies_what_it_denied() -> None:
    rarity = rarity_of(["I do not like violins", "I don't sing", "not now", "I do not sing"])
    assert "not" in compressed("I do not like violins", rate=0.4, rarity=rarity).split()
    assert "don’t" in compressed("I don’t sing loudly, really", rate=0.2, rarity=rarity).split()


# -- topics ------------------------------------------------------------------------------------


def test_a_topic_ends_where_likeness_has_a_valley_below_the_lowest_threshold() -> None:
    assert boundaries(on_circle(0, 10, 95, 100, 190)) == [2, 4]


def test_the_threshold_rises_until_one_place_counts_and_no_further() -> None:
    # Cosines 0.42 and 0.47: the first counts at 0.45.
    first, second = math.degrees(math.acos(0.42)), math.degrees(math.acos(0.47))
    vectors = on_circle(0, first, first, first + second, first + second)
    assert boundaries(vectors) == [1]


def test_neighbours_that_are_all_alike_are_one_topic() -> None:
    assert boundaries(on_circle(0, 10, 20, 30)) == []
    assert boundaries(on_circle(0)) == []


def test_a_full_buffer_is_cut_and_its_last_topic_goes_on_with_what_follows(
    tools_of: Callable[..., Tools],
) -> None:
    told = [
        message(f"{word} {word} {word}", n)
        for n, word in enumerate(["violin", "violin", "parrot", "parrot", "parrot"])
    ]
    room = sum(one.tokens for one in told[:4])
    found = list(topics(told, tools_of([]), room=room))
    assert [[one.turn.turn_id for one in topic] for topic in found] == [
        ["m0", "m1"],
        ["m2", "m3", "m4"],
    ]


def test_every_message_is_in_one_topic_however_small_the_buffer(
    tools_of: Callable[..., Tools],
) -> None:
    told = [message(f"word{n % 3} of message {n}", n) for n in range(25)]
    for room in (1, 30, 60, 10_000):
        found = list(topics(told, tools_of([]), room=room))
        assert [one for topic in found for one in topic] == told
        assert all(found)


def test_topics_are_gathered_up_to_the_room_of_a_call() -> None:
    parts = [(message("a b c", n),) for n in range(5)]
    price = parts[0][0].tokens
    assert [len(one) for one in batches(parts, room=2 * price)] == [2, 2, 1]
    assert [len(one) for one in batches(parts, room=1)] == [1] * 5


# -- building ----------------------------------------------------------------------------------


def test_one_extraction_reads_a_buffer_and_facts_name_their_message(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    told = facts((1, "Ines runs the Porto marathon"), (4, "Rita's bakery is called Amber"))
    models = ScriptedModels(script(extract=told))
    built = LightMem().build(history, tools_of(models))
    [request] = models.requests
    assert (request.role, request.phase) == ("extract", "summary")
    assert [(one.text, one.turn_ids, one.speaker) for one in built.stored()] == [
        ("Ines runs the Porto marathon", ("t0",), "Ines"),
        ("Rita's bakery is called Amber", ("t3",), "Marek"),
    ]
    assert built.stored()[1].said_at == history.turns[3].said_at
    assert built.sizes["facts"] == 2 and built.sizes["extractions"] == 1


def test_the_model_reads_shortened_messages_of_all_speakers_with_their_days(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    models = ScriptedModels(script())
    LightMem(rate=0.5).build(history, tools_of(models))
    shown = models.requests[0].messages[1].text
    for number, turn in enumerate(history.turns, start=1):
        [line] = [one for one in shown.splitlines() if one.startswith(f"{number}. ")]
        words = line.partition(f"{turn.speaker}: ")[2].split()
        assert len(words) == math.ceil(len(turn.body.split()) / 2)
    assert "6:00 pm on 5 October 2024, Saturday] Marek:" in shown


def test_a_smaller_buffer_takes_more_calls(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    models = ScriptedModels(script())
    built = LightMem(sensory_tokens=60, buffer_tokens=60).build(history, tools_of(models))
    assert built.sizes["extractions"] == len(models.requests) > 2
    lines = [line for one in models.requests for line in one.messages[1].text.splitlines()]
    assert sum(line[0].isdigit() for line in lines) == 8


def test_an_unusable_extraction_leaves_the_messages_as_they_were_said(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    built = LightMem().build(history, tools_of(script(extract="no idea")))
    assert [one.text for one in built.stored()] == [turn.body for turn in history.turns]
    assert [one.turn_ids for one in built.stored()] == [(f"t{n}",) for n in range(8)]
    assert (built.sizes["unusable"], built.sizes["as said"]) == (1, 8)


def test_of_a_cut_extraction_the_facts_are_used_and_the_rest_is_kept_as_said(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    text = '{"facts": [{"source": 1, "fact": "Ines runs"}, {"source": 6, "fact": "A dog"}, {"so'
    cut = ChatReply(text=text, finish="length", model="m")
    built = LightMem().build(history, tools_of(script(extract=cut)))
    kept = [one.text for one in built.stored()]
    assert kept[:2] == ["Ines runs", "A dog"]
    assert kept[2:] == [turn.body for turn in history.turns[5:]]


def test_a_prompt_that_does_not_fit_keeps_the_messages_and_other_errors_pass(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    built = LightMem().build(history, tools_of(script(extract=PromptTooLong("4096"))))
    assert built.sizes["as said"] == 8
    with pytest.raises(ModelServerError):
        LightMem().build(history, tools_of(script(extract=ModelServerError("down"))))


def test_a_fact_of_no_message_is_kept_and_counted(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    built = LightMem().build(history, tools_of(script(extract=facts((99, "Ines is tall")))))
    [kept] = built.stored()
    assert (kept.text, kept.turn_ids) == ("Ines is tall", ())
    assert built.sizes["unplaced"] == 1


# -- updating ----------------------------------------------------------------------------------

BRUNO = facts(
    (6, "Marek has a dog named Bruno"),
    (7, "Ines ran ten kilometres"),
    (8, "Marek has a dog named Bruno, moving"),
)


def updated(
    reply: Any, history: History, tools_of: Callable[..., Tools], *, alike: float = 0.8
) -> tuple[ScriptedModels, Any]:
    models = ScriptedModels(script(extract=BRUNO, update=reply))
    return models, LightMem(alike=alike).build(history, tools_of(models))


def test_an_earlier_fact_is_updated_by_later_ones_much_like_it(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    new = {"action": "update", "fact": "Marek and his dog Bruno move to Krakow"}
    models, built = updated(new, history, tools_of)
    [request] = [one for one in models.requests if step_of(one) == "update"]
    assert (request.role, request.phase) == ("manage", "update")
    stored, later = request.messages[1].text.split("Later facts:")
    assert "Bruno" in stored and "moving" not in stored and "moving" in later
    first = built.stored()[0]
    assert (first.text, first.turn_ids) == (new["fact"], ("t5", "t7"))
    assert first.said_at == history.turns[5].said_at
    assert built.sizes["updated"] == 1 and built.sizes["facts"] == 3


def test_an_updated_fact_is_found_by_its_new_words(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    new = {"action": "update", "fact": "Krakow Krakow"}
    _, built = updated(new, history, tools_of)
    asked = built.ask(Question(text="Krakow"), tools_of(script()))
    assert asked.shown[0].text == "Krakow Krakow"


def test_a_contradicted_fact_stays_and_says_from_when_it_no_longer_holds(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    _, built = updated({"action": "outdated", "fact": ""}, history, tools_of)
    assert built.stored()[0].text == (
        "Marek has a dog named Bruno (no longer so by 9:00 am on 20 December 2024)"
    )
    assert built.sizes["outdated"] == 1 and built.sizes["facts"] == 3


@pytest.mark.parametrize("reply", [IGNORE, "nonsense", {"action": "update", "fact": " "}])
def test_ignored_and_unusable_updates_leave_the_fact_as_it_was(
    reply: Any, history: History, tools_of: Callable[..., Tools]
) -> None:
    _, built = updated(reply, history, tools_of)
    assert built.stored()[0].text == "Marek has a dog named Bruno"
    assert built.sizes["unusable"] == (reply is not IGNORE)


def test_facts_below_the_threshold_take_no_call(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    models, _ = updated(IGNORE, history, tools_of, alike=0.99)
    assert [step_of(one) for one in models.requests] == ["extract"]


def test_the_update_queue_of_a_fact_holds_so_many_earlier_ones(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    same = facts(*((n, "Marek has a dog") for n in range(1, 7)))

    def calls(queue: int) -> int:
        models = ScriptedModels(script(extract=same))
        LightMem(queue=queue).build(history, tools_of(models))
        return sum(step_of(one) == "update" for one in models.requests)

    # With a queue of one every later fact has the first one in it: ties go to the earlier.
    assert (calls(10), calls(1)) == (5, 1)


# -- asking ------------------------------------------------------------------------------------


def test_a_question_takes_one_call_and_shows_the_facts_most_like_it(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    told = facts((1, "Ines runs a marathon"), (4, "Rita's bakery is called Amber"))
    built = LightMem(k=1).build(history, tools_of(script(extract=told)))
    models = ScriptedModels({"answer": ["Amber"]})
    asked = built.ask(ASKED, tools_of(models))
    assert (asked.answer, asked.steps[0].turn_ids) == ("Amber", ("t3",))
    [request] = models.requests
    assert (request.role, request.phase) == ("answer", "online")
    assert "6:00 pm on 5 October 2024] Marek: Rita's bakery" in request.messages[1].text
    assert "marathon" not in request.messages[1].text


def test_undated_and_blank_turns_do_no_harm(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    turns = tuple(replace(turn, said_at=None) for turn in history.turns)
    turns = (*turns, replace(turns[0], turn_id="t8", text="  "))
    models = ScriptedModels(script(extract=BRUNO, update={"action": "outdated", "fact": ""}))
    tools = tools_of(models)
    built = LightMem(alike=0.8).build(replace(history, turns=turns), tools)
    assert built.stored()[0].text == "Marek has a dog named Bruno (no longer so)"
    assert "9." not in models.requests[0].messages[1].text
    assert built.ask(ASKED, tools).answer == "Amber"


def test_published_parameters_are_listed() -> None:
    params = LightMem().params
    assert (params["rate"], params["short-term buffer"]) == ("0.7", "512 tokens")
    assert (params["update queue"], params["alike"], params["k"]) == ("10 of 20", "0.9", "60")
