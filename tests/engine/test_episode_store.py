"""What a commit of a batch leaves of what was there before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from episode_memory import KAYAK, PARROT, ana, items, say, told

from evimem.build.episodes import BUILDER, Settled
from evimem.compose import Memory
from evimem.engine.episode_build import EpisodeBuild
from evimem.engine.episode_store import Keeper, retire_others
from evimem.engine.redaction import SecretGuard
from evimem.model.item import Item

Opened = Callable[..., Memory]


def keeper(memory: Memory) -> Keeper:
    build: EpisodeBuild = memory._episode_build("default")
    return Keeper(plan=build.plan(), guard=SecretGuard("redact"), bound=True)


def settled(*made: Item) -> Settled:
    """These items as a batch gives them."""
    return Settled(
        episodes=tuple(item for item in made if item.kind == "episode"),
        facts=tuple(item for item in made if item.kind == "semantic"),
        status="done",
        attempts=1,
    )


def test_a_fact_made_anew_keeps_the_links_of_another_batch_that_tells_it(on: Opened) -> None:
    memory = on(ana())
    say(memory, *PARROT)
    second = say(memory, *PARROT, session="s2", day=7)
    memory.build_episodes()
    (fact,) = items(memory, "semantic")
    one, other = told(fact, "source")
    assert len(told(fact, "parent")) == 2
    keep = keeper(memory)
    task = keep.plan.tasks[0]
    (episode,) = [item for item in items(memory, "episode") if item.item_id == one]
    mine = {one, *(turn.turn_id for turn in task.turns)}
    anew = replace(fact, links=tuple(link for link in fact.links if link.target in mine))
    with memory._store.write("default") as tx:
        assert keep.keep(tx, task, settled(episode, anew)) is not None
    (kept,) = items(memory, "semantic")
    assert set(told(kept, "source")) == {one, other}
    assert second[0] in told(kept, "parent") and len(told(kept, "parent")) == 2


def test_a_batch_of_other_words_puts_nothing(on: Opened) -> None:
    memory = on(ana())
    say(memory, *PARROT)
    keep = keeper(memory)
    say(memory, *KAYAK)
    with memory._store.write("default") as tx:
        assert keep.keep(tx, keep.plan.tasks[0], settled()) is None
        assert tx.builds(BUILDER) == {}


def test_other_forms_that_went_meanwhile_are_passed_over(on: Opened) -> None:
    memory = on(ana())
    ids = say(memory, *PARROT)
    memory.build_episodes(lite=True)
    others = [item.item_id for kind in ("episode", "semantic") for item in items(memory, kind)]
    memory.forget(turn=ids[0])
    with memory._store.write("default") as tx:
        assert retire_others(tx, [*others, ids[1]], builder=BUILDER) == 0
    assert len(memory.session("s1")) == 3
