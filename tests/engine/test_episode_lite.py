"""The form of episodes without a model over a bank: incremental, idempotent, one form at a time."""

from __future__ import annotations

from collections.abc import Callable

from episode_memory import KAYAK, PARROT, ana, calls, items, records, say, told

from evimem.build.lite_spaces import BUILDER, lite_spaces
from evimem.compose import Memory
from evimem.model.item import Item

Opened = Callable[..., Memory]


def all_items(memory: Memory) -> dict[str, Item]:
    return {item.item_id: item for kind in ("episode", "semantic") for item in items(memory, kind)}


def fill(memory: Memory, count: int = 3) -> None:
    for n in range(count):
        say(memory, *PARROT, *KAYAK, f"I moved to house number {n} last week.", session=f"s{n}",
            day=n)  # fmt: skip


def test_qem_4_the_lite_form_is_stored_as_it_is_made_with_vectors_and_without_a_model(
    on: Opened,
) -> None:
    memory = on(None)
    fill(memory)
    report = memory.build_episodes(lite=True)
    turns = [turn for n in range(3) for turn in memory.session(f"s{n}")]
    made = {item.item_id: item for item in lite_spaces(turns)}
    assert all_items(memory) == made
    assert {item.kind for item in made.values()} == {"episode", "semantic"}
    state = report.state
    assert (report.built, report.calls, state.batches, state.turns) == (3, 0, 3, 27)
    assert state.episodes + state.facts == len(made) and state.builder == BUILDER
    assert memory.stats().pending == 0
    assert memory.search("kayak", kinds=["semantic"], ranker="dense").hits
    fact = items(memory, "semantic")[0]
    assert told(fact, "source") and told(fact, "parent")


def test_qem_4_the_lite_form_built_again_changes_nothing(on: Opened) -> None:
    memory = on(None)
    fill(memory)
    memory.build_episodes(lite=True)
    built = memory.content_hash()
    again = memory.build_episodes(lite=True)
    assert (again.built, again.state.complete, memory.content_hash()) == (0, True, built)


def test_only_sessions_that_changed_are_made_again_and_titles_of_others_stay(on: Opened) -> None:
    memory = on(None)
    fill(memory)
    memory.build_episodes(lite=True)
    before = all_items(memory)
    say(memory, *("Parrot kayak house, all of them." for _ in range(9)), session="s9", day=9)
    report = memory.build_episodes(lite=True)
    assert report.built == 1
    after = all_items(memory)
    assert before.items() < after.items()
    say(memory, *PARROT, "I sold the boat.", *KAYAK[1:], session="s1")
    report = memory.build_episodes(lite=True)
    assert report.built == 1 and report.state.turns == 3 * 9 + 9
    assert "I sold the boat." in " ".join(item.text for item in items(memory, "episode"))
    changed = {one for one in after if all_items(memory).get(one) != after[one]}
    s1 = {turn.turn_id for turn in memory.session("s1")}
    assert changed
    assert all(s1 & {link.target for link in after[one].links} for one in changed)


def test_one_form_takes_the_place_of_the_other_and_the_report_says_so(on: Opened) -> None:
    model = ana()
    memory = on(model)
    say(memory, *PARROT)
    say(memory, *KAYAK, session="s2", day=7)
    memory.build_episodes(lite=True)
    lite = all_items(memory)
    estimate = memory.estimate_episodes()
    assert (estimate.batches, estimate.state.others) == (2, len(lite))
    report = memory.build_episodes()
    assert report.replaced == len(lite) and report.state.others == 0
    assert not lite.keys() & all_items(memory).keys()
    assert memory.episode_state().builder == "episodes"
    assert records(memory, BUILDER) == {}
    asked = calls(model)
    back = memory.build_episodes(lite=True)
    assert back.replaced == 4 and calls(model) == asked
    assert {key: item.text for key, item in all_items(memory).items()} == {
        key: item.text for key, item in lite.items()
    }
    assert memory.episode_state().builder == BUILDER
    assert memory.estimate_episodes().batches == 2, "what went must be paid for again"


def test_a_build_that_makes_nothing_leaves_the_other_form_alone(on: Opened) -> None:
    memory = on(ana())
    say(memory, *PARROT)
    memory.build_episodes(lite=True)
    lite = all_items(memory)
    assert memory.build_episodes(only_failed=True).replaced == 0
    assert memory.build_episodes(max_calls=0).replaced == 0
    assert all_items(memory) == lite


def test_turns_without_words_are_in_no_episode_and_nothing_waits_for_them(on: Opened) -> None:
    memory = on(None)
    say(memory, "  ", "", session="s0")
    say(memory, "Hello there.", " ", session="s1", day=1)
    report = memory.build_episodes(lite=True)
    assert (report.state.batches, report.state.turns, report.state.episodes) == (1, 1, 1)
    assert memory.build_episodes(lite=True).built == 0
