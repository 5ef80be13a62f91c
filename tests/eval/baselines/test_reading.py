"""Sections lose nothing, know their turns and keep to a ceiling; a rewritten state is bounded."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime

from evimem.eval.baselines.reading import clipped, read_all, sections_for, sections_of, told
from evimem.eval.harness.system import Tools
from evimem.llm.scripted import ScriptedModels
from evimem.model.prompt import compose
from evimem.model.turn import History, Turn
from evimem.scoring.tokens import estimate_tokens

PROMPT = compose("test.read", 1, task="Read.", rules={"all": "Read all."})


def words_in(text: str) -> list[str]:
    """Words without the heads of lines."""
    bare = re.sub(r"(?m)^(?:\[[^\]]*\] )?\w+: ", "", text)
    return bare.split()


def long_turn(words: str) -> Turn:
    return Turn(
        turn_id="long",
        session_id="s1",
        index=0,
        speaker="Ines",
        role="person",
        text=words,
        said_at=datetime(2024, 9, 1, 10, tzinfo=UTC),
    )


def test_sections_hold_every_word_once_and_keep_to_their_ceiling(history: History) -> None:
    made = sections_of(history.turns, most=120, price=len)

    assert len(made) > 3
    assert all(len(one.text) <= 120 for one in made)
    told_words = [word for one in made for word in words_in(one.text)]
    assert told_words == [word for turn in history.turns for word in turn.body.split()]


def test_a_turn_that_spans_two_sections_is_named_by_both(history: History) -> None:
    turn = long_turn("One is here. Two is here. Three is here. Four is here.")

    made = sections_of([turn], most=70, price=len)

    assert [one.turn_ids for one in made] == [("long",)] * len(made)
    assert len(made) > 1
    assert all(one.text.startswith("[10:00 am on 1 September 2024] Ines: ") for one in made)


def test_line_breaks_inside_a_turn_stay(history: History) -> None:
    [made] = sections_of([long_turn("First line\nsecond line. End.")], most=500, price=len)

    assert made.text.endswith("Ines: First line\nsecond line. End.")


def test_the_time_is_told_at_the_start_and_where_it_changes(history: History) -> None:
    [whole] = sections_of(history.turns, most=10_000, price=len)

    assert whole.text.count("[10:00 am on 1 September 2024]") == 1
    assert whole.text.count("[6:00 pm on 5 October 2024]") == 1
    assert whole.turn_ids == tuple(f"t{n}" for n in range(8))


def test_sections_by_session_never_cross_one(history: History) -> None:
    made = sections_of(history.turns, most=10_000, price=len, by_session=True)

    assert [one.turn_ids for one in made] == [("t0", "t1", "t2"), ("t3", "t4", "t5"), ("t6", "t7")]


def test_sections_shrink_to_the_window_of_the_reader(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    wide = sections_for(
        history.turns, tools_of([]), role="verify", prompt=PROMPT, most=5000, state=50
    )
    narrow = sections_for(
        history.turns, tools_of([], window=420), role="verify", prompt=PROMPT, most=5000, state=50
    )

    assert len(wide) == 1
    assert len(narrow) > 1
    assert all(estimate_tokens(one.text) <= 120 for one in narrow)


def test_reading_sends_the_state_before_and_keeps_only_the_state_after(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    models = ScriptedModels({"verify": ["state one", "state two", "state three"]})
    made = sections_of(history.turns, most=10_000, price=len, by_session=True)

    read = read_all(
        made, tools_of(models), prompt=PROMPT, role="verify", phase="online", tokens=100
    )

    assert (read.text, read.problem) == ("state three", "")
    sent = [request.messages[1].text for request in models.requests]
    assert "(empty)" in sent[0]
    assert "state one" in sent[1]
    assert "state one" not in sent[2]
    assert all(one.text in text for one, text in zip(made, sent, strict=True))


def test_an_unusable_reply_keeps_the_state_before_it_and_is_told(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    models = ScriptedModels({"verify": ["state one", "", "state three"]})
    made = sections_of(history.turns, most=10_000, price=len, by_session=True)

    read = read_all(
        made,
        tools_of(models),
        prompt=PROMPT,
        role="verify",
        phase="online",
        tokens=100,
    )

    assert read.text == "state three"
    assert read.unread == 1
    assert "1 sections gave no usable reply" in read.problem
    assert "state one" in models.requests[-1].messages[1].text


def test_a_state_above_its_ceiling_is_cut_between_sentences_and_counted(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    long = " ".join(f"Sentence number {n} stands here." for n in range(30))
    made = sections_of(history.turns, most=10_000, price=len)

    read = read_all(made, tools_of([long]), prompt=PROMPT, role="verify", phase="online", tokens=50)

    assert estimate_tokens(read.text) <= 50
    assert read.text.endswith("stands here.")
    assert read.cut == 1
    assert read.problem == "1 replies cut at the ceiling"


def test_a_text_below_the_ceiling_is_not_cut_and_one_sentence_always_stays() -> None:
    assert clipped("Two words. More.", 50) == "Two words. More."
    assert clipped("A sentence of several words. And one more.", 1) == (
        "A sentence of several words."
    )


def test_problems_are_told_once_each_without_empty_ones() -> None:
    assert told("", "a", "b", "a", "") == "a; b"
