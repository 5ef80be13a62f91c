"""Building episodes over a bank: what is asked, kept, renewed, merged and left alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from episode_memory import (
    KAYAK,
    PARROT,
    ana,
    calls,
    items,
    lasting,
    members,
    records,
    renamed,
    said,
    say,
    texts,
    told,
)
from episode_world import MERGE, talker

from evimem.compose import Memory
from evimem.engine.health import build_problems
from evimem.errors import (
    NotFound,
    SettingsError,
    UsageError,
)

Opened = Callable[..., Memory]

# -- what is built ----------------------------------------------------------------------------


def test_qem_4_episodes_and_facts_are_stored_with_all_their_provenance(on: Opened) -> None:
    model = ana()
    memory = on(model)
    first = say(memory, *PARROT)
    second = say(memory, *KAYAK, session="s2", day=7)
    report = memory.build_episodes()
    assert (report.built, report.stopped, report.changed, report.replaced) == (2, "", 0, 0)
    state = report.state
    assert (state.builder, state.turns, state.batches, state.done) == ("episodes", 8, 2, 2)
    assert (state.episodes, state.facts, state.others) == (2, 2, 0)
    assert state.complete and report.failure_rate == 0 and report.calls == calls(model)
    parrot, kayak = items(memory, "episode")
    assert [told(parrot, "member"), told(kayak, "member")] == [first, second]
    assert (
        kayak.session_id == memory.session("s2")[0].session_id
        and kayak.built
        and kayak.attrs["builder"] == "episodes"
    )
    fact = items(memory, "semantic")[0]
    assert fact.text == "Ana has a kayak"
    assert told(fact, "source") == [kayak.item_id]
    assert told(fact, "parent") == [second[0], second[2]]
    assert memory.stats().pending == 0
    hits = memory.search("a kayak with two seats", kinds=["episode"], ranker="dense").hits
    assert hits[0].turn_id == kayak.item_id
    assert {one.status for one in records(memory).values()} == {"done"}
    assert {ref: one.items for ref, one in records(memory).items()} == {first[0]: 4, second[0]: 4}


def test_qem_4_what_is_built_is_left_out_of_the_default_search(on: Opened) -> None:
    memory = on(ana())
    say(memory, *PARROT)
    before = [hit.turn_id for hit in memory.search("Kiwi the parrot").hits]
    answer = memory.ask("What is the parrot called?").text
    memory.build_episodes()
    assert [hit.turn_id for hit in memory.search("Kiwi the parrot").hits] == before
    assert memory.ask("What is the parrot called?").text == answer
    memory.build_episodes(lite=True)
    assert [hit.turn_id for hit in memory.search("Kiwi the parrot").hits] == before


def test_qem_4_a_second_build_makes_no_call_and_changes_nothing(on: Opened) -> None:
    model = ana()
    memory = on(model)
    say(memory, *PARROT)
    say(memory, *KAYAK, session="s2", day=7)
    memory.build_episodes()
    asked, built = calls(model), memory.content_hash()
    again = memory.build_episodes()
    assert (again.built, again.calls, calls(model)) == (0, 0, asked)
    assert memory.content_hash() == built and again.state.complete


@pytest.mark.parametrize("lite", [False, True])
def test_qem_4_questions_leave_the_content_hash_as_it_is(on: Opened, lite: bool) -> None:
    memory = on(ana())
    say(memory, *PARROT)
    say(memory, *KAYAK, session="s2", day=7)
    empty = memory.content_hash()
    memory.build_episodes(lite=lite)
    built = memory.content_hash()
    assert built != empty
    for n in range(30):
        memory.ask(f"What is parrot number {n} called?")
        memory.search("parrot", kinds=["episode", "semantic", "turn"])
        memory.search("parrot", kinds=["semantic"], ranker="bm25")
    assert memory.content_hash() == built


def test_qem_4_two_builds_of_the_same_turns_give_the_same_hash(on: Opened) -> None:
    hashes = set()
    for name, workers in (("a", 1), ("b", 4)):
        memory = on(ana(), name=name)
        for n in range(6):
            say(memory, *PARROT, session=f"p{n}", day=n)
            say(memory, *KAYAK, session=f"k{n}", day=n)
        memory.build_episodes(workers=workers)
        hashes.add(memory.content_hash())
    assert len(hashes) == 1


def test_drafts_run_ahead_and_batches_are_settled_in_the_order_of_time(on: Opened) -> None:
    order: list[str] = []

    def learned(seen: dict[str, Any]) -> dict[str, Any]:
        order.append(said(seen))
        return {"statements": []}

    memory = on(talker(learn=learned, compare=learned))
    for n in (3, 1, 2, 0, 5, 4):
        say(memory, f"Day {n}.", session=f"s{n}", day=n)
    memory.build_episodes(workers=4)
    assert order == [f"Day {n}." for n in range(6)]


# -- merging ----------------------------------------------------------------------------------


def test_nemori_an_episode_that_goes_on_takes_the_place_of_the_stored_one(on: Opened) -> None:
    model = ana(merge=MERGE)
    memory = on(model)
    first = say(memory, *PARROT)
    memory.build_episodes()
    (old,), (fact,) = items(memory, "episode"), items(memory, "semantic")
    second = say(memory, *PARROT, session="s2", day=7)
    report = memory.build_episodes()
    (whole,) = items(memory, "episode")
    assert whole.item_id != old.item_id and told(whole, "member") == [*first, *second]
    assert whole.session_id == ""
    assert memory.history(whole.item_id)
    (same,) = items(memory, "semantic")
    assert same.item_id == fact.item_id, "the same statement is one fact"
    assert told(same, "source") == [whole.item_id]
    assert told(same, "parent") == [first[0], second[0]]
    assert (report.state.episodes, report.state.facts, report.state.done) == (1, 1, 2)
    assert memory.build_episodes().built == 0, "the batch of the old one is up to date"
    with pytest.raises(NotFound):
        memory.get(old.item_id)


def test_new_items_are_embedded_before_the_next_batch_of_the_same_run_is_settled(
    on: Opened,
) -> None:
    model = ana(merge=MERGE)
    memory = on(model)
    for n in range(3):
        say(memory, *PARROT, session=f"s{n}", day=n)
    memory.build_episodes(workers=3)
    (whole,) = items(memory, "episode")
    assert len(told(whole, "member")) == 12
    assert model.steps.count("merge") == 2
    assert texts(memory, "semantic") == ["Ana has a parrot"]


def test_a_merged_episode_goes_with_a_batch_that_is_edited_and_the_rest_is_made_anew(
    on: Opened,
) -> None:
    model = ana(merge=MERGE)
    memory = on(model)
    for n in range(2):
        say(memory, *PARROT, session=f"s{n}", day=n)
    say(memory, *KAYAK, session="s9", day=9)
    memory.build_episodes()
    assert sorted(map(len, members(memory))) == [4, 8]
    (kayak,) = [item for item in items(memory, "episode") if "kayak" in item.text]
    say(memory, "Good evening to you.", "Have some tea.", "With milk.", "Here.", session="s0")
    state = memory.estimate_episodes().state
    assert (state.pending, state.done) == (2, 1), "both batches of the merged episode, no other"
    before = calls(model)
    report = memory.build_episodes()
    assert report.built == 2 and report.state.complete
    assert calls(model) > before
    assert sorted(map(len, members(memory))) == [4, 4, 4]
    assert kayak in items(memory, "episode")
    assert sum("parrot" in text for text in texts(memory, "episode")) == 1
    assert texts(memory, "semantic") == ["Ana has a kayak", "Ana has a parrot", "Bo likes tea"]
    assert memory.build_episodes().built == 0


def test_without_an_embedder_nothing_is_merged_and_related_facts_are_found_by_words(
    on: Opened,
) -> None:
    model = ana(merge=MERGE)
    memory = on(model, words_only=True)
    for n in range(2):
        say(memory, *PARROT, session=f"s{n}", day=n)
    report = memory.build_episodes()
    assert report.degraded == () and "merge" not in model.steps
    assert len(items(memory, "episode")) == 2
    assert model.sent("predict")[0]["known"] == ["Ana has a parrot"]
    (fact,) = items(memory, "semantic")
    assert len(told(fact, "source")) == 2


# -- what changes -----------------------------------------------------------------------------


def test_mera_51_another_model_makes_everything_anew_and_merges_with_nothing_old(
    on: Opened,
) -> None:
    memory = on(ana())
    for n in range(2):
        say(memory, *PARROT, session=f"s{n}", day=n)
    memory.build_episodes()
    old = {item.item_id for item in items(memory, "episode")}
    other = ana(merge=MERGE, narrate={"title": "Bird talk", "narrative": "They spoke of a bird."})
    other = renamed(other)
    memory = on(other)
    assert memory.estimate_episodes().batches == 2
    report = memory.build_episodes()
    (whole,) = items(memory, "episode")
    assert whole.item_id not in old and len(told(whole, "member")) == 8
    assert report.state.complete and texts(memory, "semantic") == ["Ana has a parrot"]
    for shown in other.sent("merge"):
        assert [one["title"] for one in shown["stored"]] == ["Bird talk"], "not what goes anyway"
    assert memory.build_episodes().built == 0


def test_a_fact_that_another_batch_tells_too_stays_with_it_when_one_is_made_anew(
    on: Opened,
) -> None:
    memory = on(ana())
    say(memory, *PARROT)
    second = say(memory, "Kiwi the parrot sings.", "Since when?", session="s2", day=7)
    memory.build_episodes()
    (fact,) = items(memory, "semantic")
    assert len(told(fact, "source")) == 2
    say(memory, "I sold my tea set.", *PARROT[1:])
    memory.build_episodes()
    tea, parrot = sorted(items(memory, "semantic"), key=lambda item: item.text, reverse=True)
    assert parrot.item_id == fact.item_id and told(parrot, "parent") == [second[0]]
    turn = memory.session("s2")[0]
    assert (parrot.session_id, parrot.said_at) == (turn.session_id, turn.said_at)
    assert tea.text == "Bo likes tea"
    assert all(len(told(one, "source")) == 1 for one in (tea, parrot))


def test_an_edited_turn_makes_its_own_batch_anew_and_no_other(on: Opened) -> None:
    model = ana()
    memory = on(model)
    say(memory, *PARROT)
    say(memory, *KAYAK, session="s2", day=7)
    memory.build_episodes()
    kept = items(memory, "episode")[1]
    say(memory, PARROT[0], PARROT[1], "Mango. It hates rain.", PARROT[3])
    report = memory.build_episodes()
    assert (report.built, report.state.episodes, report.state.facts) == (1, 2, 2)
    assert kept in items(memory, "episode")
    assert "Kiwi" not in " ".join(texts(memory, "episode"))
    assert len(model.sent("segment")) == 3


def test_a_session_that_grows_changes_its_last_batches_only(on: Opened) -> None:
    model = talker()
    memory = on(model)
    lines = [f"Message {n} of the day." for n in range(50)]
    say(memory, *lines)
    memory.build_episodes()
    first = {tuple(one) for one in members(memory) if one[0] == memory.session("s1")[0].turn_id}
    asked = calls(model)
    say(memory, *lines, *(f"Later message {n}." for n in range(5)))
    report = memory.build_episodes()
    assert report.built == 1 and first < {tuple(one) for one in members(memory)}
    assert calls(model) - asked < asked
    covered = [turn for one in members(memory) for turn in one]
    assert sorted(covered) == sorted(turn.turn_id for turn in memory.session("s1"))


def test_a_turn_that_begins_no_batch_any_more_holds_no_record(on: Opened) -> None:
    memory = on(talker())
    lines = [f"Message {n} of the day." for n in range(22)]
    say(memory, *lines)
    memory.build_episodes()
    assert len(records(memory)) == 2
    say(memory, *lines, *(f"Later message {n}." for n in range(18)))
    report = memory.build_episodes()
    assert report.state.batches == len(records(memory)) == 2
    assert sum(one.items for one in records(memory).values()) == 40


def test_a_turn_edited_while_its_batch_is_made_keeps_nothing_of_the_old_words(on: Opened) -> None:
    memory: Memory

    def learned(seen: dict[str, Any]) -> dict[str, Any]:
        if "Kiwi" in said(seen):
            say(memory, PARROT[0], PARROT[1], "Mango.", PARROT[3])
        return lasting(seen)

    memory = on(ana(learn=learned))
    say(memory, *PARROT)
    report = memory.build_episodes()
    assert (report.built, report.changed, report.state.pending) == (1, 1, 1)
    assert items(memory, "episode") == items(memory, "semantic") == []
    assert memory.build_episodes().state.complete
    assert "Mango" in texts(memory, "episode")[0]


def test_words_erased_while_a_later_batch_is_compared_with_them_do_not_come_back(
    on: Opened,
) -> None:
    memory: Memory

    def joined(seen: dict[str, Any]) -> dict[str, Any]:
        memory.forget(session="s1")
        return {"title": "Parrots", "narrative": f"{seen['earlier']['narrative']} And so on."}

    memory = on(ana(merge=MERGE, join=joined))
    say(memory, *PARROT)
    memory.build_episodes()
    second = say(memory, *PARROT, session="s2", day=7)
    report = memory.build_episodes()
    assert report.changed == 1 and items(memory, "episode") == []
    assert memory.build_episodes().state.complete
    assert members(memory) == [second]
    (fact,) = items(memory, "semantic")
    assert told(fact, "parent") == [second[0]]


# -- arguments, estimates, forms --------------------------------------------------------------


def test_limit_and_sessions_bound_a_build(on: Opened) -> None:
    memory = on(ana())
    for n in range(3):
        say(memory, *PARROT, session=f"s{n}", day=n)
    assert memory.build_episodes(limit=1).state.pending == 2
    report = memory.build_episodes(sessions=["s2"])
    assert (report.built, report.state.turns, report.state.complete) == (1, 4, True)
    assert memory.build_episodes(lite=True, limit=1).built == 1
    with pytest.raises(NotFound, match="no session 's9'"):
        memory.build_episodes(sessions=["s9"])
    for bad in ({"limit": 0}, {"workers": 0}, {"max_calls": -1}, {"max_tokens": -1}):
        with pytest.raises(UsageError, match=next(iter(bad))):
            memory.build_episodes(**bad)  # type: ignore[arg-type]


def test_a_memory_without_a_model_says_how_to_set_one_and_what_works_without(on: Opened) -> None:
    memory = on(None)
    say(memory, *PARROT)
    for call in (memory.build_episodes, memory.estimate_episodes, memory.episode_state):
        with pytest.raises(SettingsError, match=r"EVIMEM_LLM_URL.*--lite"):
            call()
    assert memory.build_episodes(lite=True).state.complete
    assert memory.episode_state().builder == "lite_spaces/1"


def test_an_estimate_sends_nothing_and_is_of_the_right_size(on: Opened) -> None:
    model = talker(segment=lambda seen: _fives(seen))
    memory = on(model)
    for n in range(3):
        say(memory, *(f"Message {n} of day {m}, about the weather." for m in range(20)),
            session=f"s{n}", day=n)  # fmt: skip
    before = memory.estimate_episodes()
    assert (before.batches, before.turns, before.model) == (3, 60, "scripted")
    assert calls(model) == 0 and memory.estimate_episodes(limit=1).calls * 3 == before.calls
    report = memory.build_episodes()
    assert report.calls == pytest.approx(before.calls, rel=0.5)
    after = memory.estimate_episodes()
    assert (after.batches, after.calls, after.tokens_in) == (0, 0, 0)
    lite = memory.estimate_episodes(lite=True)
    assert (lite.batches, lite.turns, lite.calls, lite.model) == (3, 60, 0, "")
    assert lite.state.others == report.state.episodes + report.state.facts


def _fives(seen: dict[str, Any]) -> dict[str, Any]:
    numbers = [one["n"] for one in seen["messages"]]
    parts = [numbers[at : at + 5] for at in range(0, len(numbers), 5)]
    return {"episodes": [{"topic": f"part {n}", "messages": part} for n, part in enumerate(parts)]}


def test_an_empty_bank_has_nothing_to_build(on: Opened) -> None:
    model = ana()
    for lite in (False, True):
        report = on(model).build_episodes(bank="empty", lite=lite)
        assert (report.built, report.state.batches, report.failure_rate) == (0, 0, 0.0)
    assert calls(model) == 0


def test_progress_names_the_stage_and_counts_up(on: Opened) -> None:
    seen: list[tuple[str, int, int | None]] = []
    memory = on(ana(), words_only=True)
    for n in range(2):
        say(memory, *PARROT, session=f"s{n}", day=n)
    memory.build_episodes(progress=lambda *one: seen.append(one))
    assert seen == [("episodes", n, 2) for n in range(3)]


def test_recipes_over_episodes_are_told_what_is_missing(on: Opened) -> None:
    memory = on(ana())

    def problems() -> list[str]:
        with memory._store.read("default") as reader:
            return list(build_problems(reader, "default", "episodes"))

    assert problems() == []
    first = say(memory, *PARROT)
    assert problems()[0].startswith("episodes_missing: ")
    memory.build_episodes()
    assert problems() == []
    say(memory, *KAYAK, "  ", session="s2", day=7)
    assert problems() == [
        "episodes_pending: 4 turns are in no episode yet; run `evimem build episodes`"
    ]
    memory.build_episodes(lite=True)
    assert problems() == []
    memory.forget(turn=first[1])
    assert problems() == [
        "episodes_pending: 3 turns are in no episode yet; run `evimem build episodes --lite`"
    ]
    memory.build_episodes(lite=True)
    assert problems() == []
