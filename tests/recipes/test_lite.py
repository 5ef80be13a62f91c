"""The recipe as a whole: rounds, reasons, traces."""

from __future__ import annotations

import dataclasses
import itertools
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from evimem.datasets import load, take
from evimem.embed.hashing import HashingEmbedder
from evimem.model.evidence import Question
from evimem.model.search import SearchRequest
from evimem.model.turn import History, Session, Turn
from evimem.query.lite.packager import PAYLOAD_CHARS
from evimem.query.loop import RunInput, run
from evimem.query.memory_view import MemoryView
from evimem.recipes.lite import MAX_ROUNDS, lite
from evimem.scoring.retrieval import complete_at, gold_ranks
from evimem.trace import Trace

STOPS = {"converged", "exhausted", "max_iterations", "no_candidates"}


def history(*lines: tuple[str, str], per_session: int = 4) -> History:
    """Turns of (speaker, words), a day apart per session."""
    start = datetime(2024, 1, 1, tzinfo=UTC)
    turns = tuple(
        Turn(
            turn_id=f"t{n}",
            session_id=f"s{n // per_session}",
            index=n % per_session,
            speaker=speaker,
            role="person",
            text=words,
            said_at=start + timedelta(days=n // per_session),
            source_id=f"D{n // per_session}:{n % per_session}",
        )
        for n, (speaker, words) in enumerate(lines)
    )
    sessions = dict.fromkeys(t.session_id for t in turns)
    return History(
        history_id="h",
        sessions=tuple(Session(session_id=s, source_id=s) for s in sessions),
        turns=turns,
    )


def ask(view: MemoryView, text: str, max_rounds: int | None = None) -> Trace:
    given = RunInput(
        question=Question(text=text), bank="b", trace_id="tr", created_at="", max_rounds=max_rounds
    )
    ticks = itertools.count()
    return run(lite(), view, given, seconds=lambda: float(next(ticks)))


SMALL = history(
    ("Ana", "My cat Luna sleeps all day."),
    ("Ben", "Sweet! Mine too."),
    ("Ana", "Work was hard this week."),
    ("Ben", "Take a break."),
    ("Ana", "We adopted a turtle, it is called Shelly."),
    ("Ben", "A turtle? Great."),
    ("Ana", "It rains."),
    ("Ben", "Here too."),
)


def test_a_list_whose_members_share_no_word_with_the_question_is_found_in_round_one() -> None:
    noise = [
        ("Ana" if n % 2 else "Ben", f"Topic {n} of the day is number {n}.") for n in range(300)
    ]
    told = [(t.speaker, t.text) for t in SMALL.turns]
    trace = ask(MemoryView(history(*noise, *told)), "What pets does Ana have?")
    assert {"t300", "t304"} <= set(trace.viewed[:6])
    assert "t304" in trace.accepted


def test_mera_45_every_question_ends_with_exactly_one_reason_within_the_ceiling() -> None:
    views = [MemoryView(SMALL), MemoryView(SMALL, embedder=HashingEmbedder())]
    for view in views:
        for text in ("What pets does Ana have?", "Who is Zoe?", "???", "", "the of and"):
            trace = ask(view, text)
            assert trace.stop_reason in STOPS
            assert 1 <= len(trace.rounds) <= MAX_ROUNDS


def test_a_caller_may_ask_for_fewer_rounds_and_not_for_more() -> None:
    noise = history(*[("Ana", f"Topic {n} is a thing") for n in range(400)])
    assert len(ask(MemoryView(noise), "What topic?", 1).rounds) == 1
    assert ask(MemoryView(noise), "What topic?", 1).stop_reason == "max_iterations"
    assert len(ask(MemoryView(noise), "What topic?", 99).rounds) <= MAX_ROUNDS


def test_mera_17_no_turn_is_shown_twice_over_the_rounds() -> None:
    noise = history(*[("Ana", f"Topic {n} is a thing") for n in range(400)])
    trace = ask(MemoryView(noise), "What topic is a thing?")
    shown = [c.item_id for r in trace.rounds for c in r.candidates]
    assert len(trace.rounds) > 1
    assert len(set(shown)) == len(shown)


def test_mera_40_the_trace_holds_a_decision_for_every_candidate() -> None:
    for round_ in ask(MemoryView(SMALL), "What pets does Ana have?").rounds:
        decided = [d.item_id for d in round_.assessment.decisions] if round_.assessment else []
        assert decided == [c.item_id for c in round_.candidates]


def test_mera_50_the_same_question_gives_the_same_trace_and_it_survives_json() -> None:
    one, two = (ask(MemoryView(SMALL), "What pets does Ana have?") for _ in range(2))
    assert one == two
    assert Trace.from_json(one.to_json()) == one


def test_case_P089_the_fate_of_a_turn_is_told_per_round_with_ranks_and_reason() -> None:
    trace = ask(MemoryView(SMALL), "What pets does Ana have?")
    kept, lost = trace.fate("t4"), trace.fate("t6")
    assert len(kept) == len(lost) == len(trace.rounds)
    assert "bm25" in kept[0] and "accept: " in kept[0]
    assert any("reject: " in line for line in lost)
    assert all("not among the hits" in line for line in trace.fate("elsewhere"))


@pytest.mark.parametrize("text", ["the of and", "???", "`add_item`", "_", '"', "()", "*"])
def test_case_P035_questions_without_words_are_answered_without_an_error(text: str) -> None:
    for view in (MemoryView(SMALL), MemoryView(history())):
        trace = ask(view, text)
        assert trace.answer is not None
        if not view.speakers:
            assert trace.answer.status == "not_in_memory"
            assert trace.stop_reason == "no_candidates"


def test_case_P088_a_two_word_question_finds_a_weak_match_without_any_cut_off() -> None:
    trace = ask(MemoryView(SMALL), "turtle breed")
    assert trace.viewed[0] in ("t4", "t5")
    hit = trace.rounds[0].searches[0].hits
    assert len(hit) == len(SMALL.turns)  # nothing is hidden by a threshold


def test_case_P080_old_and_new_value_are_both_seen_by_the_question() -> None:
    view = MemoryView(
        history(
            ("user", "server ssh port is 22"),
            *[("user", f"note {n}: nothing of interest") for n in range(30)],
            ("user", "we moved sshd, it listens on 49222 now"),
            *[("user", f"memo {n}: lunch at noon") for n in range(30)],
        )
    )
    trace = ask(view, "what is the server ssh port?")
    assert trace.viewed[0] == "t0"
    assert "t31" in trace.viewed


def test_a_question_of_ten_thousand_words_and_a_huge_word_come_through() -> None:
    big = history(("Ana", "x" * 300_000), ("Ben", "horses " * 20_000), ("Ana", "My cat."))
    for text in ("cat " * 10_000, "y" * 200_000):
        trace = ask(MemoryView(big), text)
        assert all(len(c.payload) <= PAYLOAD_CHARS for r in trace.rounds for c in r.candidates)


@pytest.mark.data
def test_the_rounds_reach_more_of_a_list_than_one_search_and_lose_nothing_else(
    data_dir: Path,
) -> None:
    data = take(load("locomo", data_dir=data_dir), "tune")
    rows: list[tuple[bool, bool, bool]] = []
    for history_id, talk in data.histories.items():
        view = MemoryView(talk)  # by words alone: no encoder is needed for this test
        sources = {t.turn_id: t.source_id for t in talk.turns}
        for question in data.questions:
            gold = data.gold[question.question_id]
            if gold.history_id != history_id or not gold.answerable or not gold.evidence:
                continue
            plain = [h.item_id for h in view.search(SearchRequest(text=question.text, k=20))]
            given = RunInput(
                question=question, bank="b", trace_id="t", created_at="", max_rounds=1
            )  # the first 60 turns are those of the first round
            rounds = run(lite(), view, given, seconds=lambda: 0.0).viewed
            once, often = (
                complete_at(gold_ranks([sources[i] for i in ids], gold.evidence), 20)
                for ids in (plain, rounds)
            )
            rows.append((gold.category == "multi-hop", once, often))
    table = np.array(rows, dtype=float)
    lists = table[table[:, 0] == 1]
    assert lists[:, 2].mean() >= lists[:, 1].mean() + 0.05
    assert table[:, 2].mean() >= table[:, 1].mean() - 0.01


def test_the_recipe_is_made_of_parts_that_can_be_exchanged() -> None:
    recipe = lite()
    assert recipe.name == "lite"
    assert dataclasses.replace(recipe, max_rounds=1).max_rounds == 1
