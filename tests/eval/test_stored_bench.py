"""`bench stored`: outcomes per space and group, worked out by hand on the small data set."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from evimem.datasets import Dataset
from evimem.embed.hashing import HashingEmbedder
from evimem.errors import UsageError
from evimem.eval import stored_bench, suite
from evimem.eval.stored_bench import SpaceResult, StoredPart, run, spaces_of, stored_table
from evimem.model.item import Item, Link
from evimem.model.turn import History
from evimem.query.memory_view import MemoryView


def build(history: History) -> list[Item]:
    """Of the second conversation nothing; of the first a fact of turn 0, an episode of turns 0 to 3
    and a semantic fact learned from it."""
    if history.history_id != "x":
        return []
    return [
        Item(
            item_id="f",
            kind="fact",
            text="Ana adopted a kitten.",
            links=(Link(role="parent", target="x-t0"),),
        ),
        Item(
            item_id="e",
            kind="episode",
            text="A kitten and a kayak course.",
            links=tuple(Link(role="member", target=f"x-t{n}") for n in range(4)),
        ),
        Item(
            item_id="s",
            kind="semantic",
            text="Bo likes kayaks.",
            links=(Link(role="source", target="e"),),
        ),
    ]


@pytest.fixture
def part(dataset: Dataset) -> StoredPart:
    embedder = HashingEmbedder()

    def view(history: History) -> MemoryView:
        return MemoryView(history, embedder=embedder, items=build(history))

    return run(dataset, build=build, view=view)


def space(part: StoredPart, name: str, rule: str) -> SpaceResult:
    (found,) = [one for one in part.spaces if (one.space, one.rule) == (name, rule)]
    return found


def shares(found: SpaceResult, group: str = "overall") -> Sequence[float]:
    (one,) = [one for one in found.groups if one.name == group]
    lost = (one.not_stored, one.not_retrieved, one.retrieved)
    assert sum(interval.estimate for interval in lost) == pytest.approx(1.0)
    return [interval.estimate for interval in lost]


def test_only_questions_with_gold_turns_are_scored(part: StoredPart) -> None:
    assert (part.n, part.conversations) == (4, 2)
    assert part.left_out == {"unanswerable": 2, "no gold turn": 2}


def test_turns_are_always_stored_and_here_all_retrieved(part: StoredPart) -> None:
    turns = space(part, "turn", "direct")
    assert turns.items == 16
    assert shares(turns) == [0.0, 0.0, 1.0]
    assert turns.groups[0].storable.estimate == 1.0
    assert turns.groups[0].complete is not None
    assert turns.groups[0].complete.estimate == 1.0


def test_a_space_that_is_empty_in_a_conversation_counts_there_as_not_stored(
    part: StoredPart,
) -> None:
    episodes = space(part, "episode", "no_semantic")
    assert episodes.items == 1
    assert len(episodes.questions) == part.n
    assert shares(episodes) == [0.5, 0.0, 0.5]
    assert shares(episodes, "multi-hop") == [0.5, 0.0, 0.5]
    overall = episodes.groups[0]
    assert overall.found is not None
    assert (overall.found.n, overall.found.estimate) == (2, 1.0)  # two of four are masked
    # The multi-hop question has one of its two gold turns in the episode.
    assert overall.turns_stored.estimate == pytest.approx((1.0 + 0.5) / 4)
    assert overall.storable.estimate == 0.25


def test_facts_are_stored_and_the_pool_of_qemem_does_not_search_them(part: StoredPart) -> None:
    facts = space(part, "fact", "direct")
    assert shares(facts, "single-hop") == [0.5, 0.5, 0.0]
    assert shares(facts, "multi-hop") == [1.0, 0.0, 0.0]
    (multi,) = [one for one in facts.groups if one.name == "multi-hop"]
    assert multi.found is None
    assert multi.turns_found is None
    assert multi.complete is None


def test_semantic_facts_count_by_their_episode_only_where_the_rule_says_so(
    part: StoredPart,
) -> None:
    assert shares(space(part, "semantic", "direct"))[0] == 1.0
    assert shares(space(part, "semantic", "episode_ok"))[0] == 0.5
    assert shares(space(part, "all", "no_semantic")) == [0.0, 0.0, 1.0]


def test_the_table_names_n_masks_and_intervals(part: StoredPart) -> None:
    shown = stored_table(part)
    assert "n = 4, 2 unanswerable, 2 no gold turn; 2 conversations" in shown
    lines = shown.split("\n")
    start = next(n for n, line in enumerate(lines) if line.startswith("fact, direct: 1 items"))
    (multi,) = [line for line in lines[start : start + 6] if line.startswith("multi-hop")]
    assert "100.0       0.0       0.0   -                        0 |" in multi


def test_spaces_that_hold_nothing_anywhere_are_absent(part: StoredPart, dataset: Dataset) -> None:
    assert "record" not in {one.space for one in part.spaces}
    spaces = spaces_of(dataset.histories["y"], ())
    assert {key[0] for key, standing in spaces.items() if standing} == {"turn", "all"}


def test_the_report_of_lite_spaces_says_what_to_repeat_it_with(dataset: Dataset) -> None:
    given = [(suite.Part(dataset.name, dataset.split), dataset)]
    report = suite.stored(given, embedder=HashingEmbedder(), code="x")
    assert report.kind == "stored"
    assert report.manifest["spaces"].startswith("lite_spaces/")
    named = {(one.space, one.rule) for one in report.parts[0].spaces}
    assert ("episode", "no_semantic") in named
    assert named <= {(name, rule) for name, _, rule in stored_bench.SPACES}
    again = suite.stored(given, embedder=HashingEmbedder(), code="x")
    assert again == report


def test_a_part_without_gold_turns_is_refused(dataset: Dataset) -> None:
    nothing = dataset.only(["x#2", "x#3"], split="none")
    with pytest.raises(UsageError, match="no question with gold turns"):
        run(nothing, build=build, view=lambda history: MemoryView(history))
