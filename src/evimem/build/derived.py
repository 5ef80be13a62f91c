"""The items that the episode builder makes, and what it may ask of those made before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from evimem.build.narratives import Told
from evimem.build.wording import folded
from evimem.model.ids import stable_id
from evimem.model.item import Item, Link
from evimem.model.turn import JsonValue, Turn

__all__ = ["BUILDER", "Known", "episode_item", "fact_item", "with_source"]

BUILDER = "episodes"
"""The name of this builder on its records and items."""


class Known(Protocol):
    """What is stored already, as far as a new episode needs to know."""

    def episodes_like(self, text: str, *, k: int) -> Sequence[tuple[Item, float]]:
        """Live episodes of this builder with the cosine of their text and this one, -1 to 1, best
        first; none without an embedder."""
        ...

    def statements_like(self, text: str, *, k: int) -> Sequence[Item]:
        """Live semantic facts of this builder, best first."""
        ...

    def turns(self, ids: Sequence[str]) -> Sequence[Turn]:
        """Live turns in the order of `ids`; absent ones are left out."""
        ...


def episode_item(told: Told, *, model_id: str) -> Item:
    """An episode as an item that links its turns in order as `member`."""
    attrs: dict[str, JsonValue] = {
        "title": told.title,
        "builder": BUILDER,
        "model": model_id,
        "prompt": told.prompt,
    }
    if told.flags:
        attrs["flags"] = list(told.flags)
    return Item(
        item_id=stable_id("e", BUILDER, *(turn.turn_id for turn in told.turns)),
        kind="episode",
        text=told.text,
        links=tuple(Link(role="member", target=turn.turn_id) for turn in told.turns),
        session_id=_shared({turn.session_id for turn in told.turns}),
        said_at=told.turns[0].said_at,
        attrs=attrs,
    )


def fact_item(
    text: str,
    parents: Sequence[Turn],
    *,
    told: Told,
    episode: str,
    model_id: str,
    prompt: str,
) -> Item:
    """A statement as an item that links its episode as `source` and its turns as `parent`.

    Its id follows from its words and the turns it was distilled from, so that it stays the same
    when its episode is merged with another.

    Args:
        text: the statement.
        parents: the turns that say it, in order; at least one.
        told: the episode it was distilled from, as drafted.
        episode: id of the episode as stored.
        model_id: the model.
        prompt: the prompt.
    """
    return Item(
        item_id=stable_id("s", BUILDER, folded(text), *(turn.turn_id for turn in told.turns)),
        kind="semantic",
        text=text,
        links=(
            Link(role="source", target=episode),
            *(Link(role="parent", target=turn.turn_id) for turn in parents),
        ),
        session_id=_shared({turn.session_id for turn in parents}),
        speaker=_shared({turn.speaker for turn in parents}),
        said_at=parents[0].said_at,
        attrs={"builder": BUILDER, "model": model_id, "prompt": prompt},
    )


def with_source(fact: Item, parents: Sequence[Turn], *, episode: str) -> Item:
    """A fact that another episode tells too: its links grow, and it is about one speaker or
    session only if that holds of all. Its text, id and time stay."""
    held = {(link.role, link.target) for link in fact.links}
    new = [
        Link(role="source", target=episode),
        *(Link(role="parent", target=turn.turn_id) for turn in parents),
    ]
    links = [*fact.links, *(link for link in new if (link.role, link.target) not in held)]
    order = {"source": 0, "parent": 1}
    return replace(
        fact,
        links=tuple(sorted(links, key=lambda link: order.get(link.role, 2))),
        session_id=_shared({fact.session_id, *(turn.session_id for turn in parents)}),
        speaker=_shared({fact.speaker, *(turn.speaker for turn in parents)}),
    )


def _shared(values: set[str]) -> str:
    """The one value that all have; empty if they differ."""
    return next(iter(values)) if len(values) == 1 else ""
