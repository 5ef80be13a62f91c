"""Episodes and semantic facts of a batch of turns, from a chat model (the NEMORI form; QEM-4).

The work has two stages. `draft` sorts the turns of a batch into episodes and tells each; it depends
on the batch alone, so that many can run at a time. `settle` looks at what is known: an episode that
goes on with a stored one is merged with it, and only what was not to be expected becomes a fact.
Both are pure: what is stored comes in through `Known`, and items go out. Batches settled in the
order of time with the same replies give the same items with the same ids.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from evimem.build.asking import WORTH_A_RETRY, Tally
from evimem.build.derived import (
    BUILDER,
    Known,
    episode_item,
    fact_item,
    with_source,
)
from evimem.build.facts import key_of
from evimem.build.merging import ALIKE, MOST_ALIKE, Stored, merged
from evimem.build.narratives import Told, narrate
from evimem.build.prompts import compare, merge, predict
from evimem.build.prompts import narrate as narrate_prompt
from evimem.build.prompts import segment as segment_prompt
from evimem.build.segments import BATCH_TURNS, batches_of, segment
from evimem.build.statements import RELATED, Statement, distil
from evimem.build.wording import folded
from evimem.model.ids import content_hash
from evimem.model.item import Item
from evimem.model.turn import Turn
from evimem.ports import BuildStatus, ChatModel

__all__ = [
    "BATCH_TURNS",
    "BUILDER",
    "Draft",
    "Known",
    "Settled",
    "Told",
    "batches_of",
    "draft",
    "key_of_batch",
    "settle",
]

SAME_AMONG = 5
"""Stored facts that a new statement is looked for among."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """The episodes of a batch, told, before anything stored is looked at."""

    batch: tuple[Turn, ...]
    """The turns."""
    groups: tuple[Told, ...]
    """The episodes in the order of their first turns; none where the status is failed."""
    status: BuildStatus
    """done, fallback (something could not be used), refused or failed."""
    attempts: int
    """Calls made, those inside the model's own repair not counted."""
    detail: str = ""
    """Why, as "cause: step: message", for every status but a plain done."""
    raw: str = ""
    """The last reply that could not be used, shortened."""
    rejected: Mapping[str, int] = field(default_factory=dict)
    """What was left out or mended, per reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What is to be stored of a batch."""

    episodes: tuple[Item, ...]
    """To put, of kind "episode"; none where the status is failed."""
    facts: tuple[Item, ...]
    """To put, of kind "semantic": new ones, and stored ones that gained links (the same id)."""
    merged: Mapping[str, str] = field(default_factory=dict)
    """Id of an episode that was stored before -> id of the one that takes its place. Facts that
    link to the former are to link to the latter."""
    status: BuildStatus
    """Of both stages together, as in `Draft`."""
    attempts: int
    """Calls of both stages."""
    detail: str = ""
    """Why, for every status but a plain done."""
    raw: str = ""
    """The last reply that could not be used, shortened."""
    rejected: Mapping[str, int] = field(default_factory=dict)
    """What was left out or mended in both stages, per reason."""


def key_of_batch(batch: Sequence[Turn], *, model_id: str) -> str:
    """Hash of the model, of every prompt and of all that is sent of a batch: a build whose key is
    another must be done again."""
    tags = [
        prompt.tag
        for prompt in (
            merge.DECIDE,
            merge.JOIN,
            predict.PROMPT,
            compare.COMPARE,
            compare.COLD,
        )
    ]
    calls = (segment_prompt.render(batch), narrate_prompt.render(batch))
    return content_hash(" ".join([*(key_of(one, model_id=model_id) for one in calls), *tags]))


def draft(batch: Sequence[Turn], *, model: ChatModel) -> Draft:
    """Sorts a batch into episodes and tells each: one call, and one more per episode.

    Touches no store, so that drafts of many batches can run in threads.

    Args:
        batch: see `batches_of`.
        model: the model for the role "extract".

    Raises:
        ModelAuthError, BadModelRequest: every other call would fail too.
        BudgetExceeded: the operation's ceiling is reached.
    """
    tally = Tally()
    groups: list[Told] = []
    try:
        for group in segment(batch, model=model, tally=tally):
            groups += narrate(group, model=model, tally=tally)
    except WORTH_A_RETRY as error:
        tally.failed(error)
        groups = []
    return Draft(
        batch=tuple(batch),
        groups=tuple(groups),
        status=tally.status,
        attempts=tally.attempts,
        detail=tally.detail,
        raw=tally.raw,
        rejected=dict(+tally.rejected),
    )


def settle(draft: Draft, *, known: Known, model: ChatModel) -> Settled:
    """Merges the episodes of a batch with stored ones where they are the same, and distils facts.

    Batches are settled one at a time, in the order of time: each builds on what is known by then.

    Args:
        draft: the batch.
        known: what is stored, without what an earlier build of this very batch left.
        model: the model for the role "extract".

    Raises:
        ModelAuthError, BadModelRequest: every other call would fail too.
        BudgetExceeded: the operation's ceiling is reached.
    """
    tally = Tally(
        attempts=draft.attempts,
        status=draft.status,
        detail=draft.detail,
        raw=draft.raw,
        rejected=Counter(draft.rejected),
    )
    book = _Book(batch=draft.batch, known=known, model=model, tally=tally)
    try:
        for told in draft.groups:
            book.learn(told, book.place(told))
    except WORTH_A_RETRY as error:
        tally.failed(error)
        book = _Book(batch=draft.batch, known=known, model=model, tally=tally)
    return Settled(
        episodes=tuple(book.episodes.values()),
        facts=tuple(book.facts.values()),
        merged=dict(book.merged),
        status=tally.status,
        attempts=tally.attempts,
        detail=tally.detail,
        raw=tally.raw,
        rejected=dict(+tally.rejected),
    )


@dataclass(slots=True, kw_only=True)
class _Book:
    """What a batch adds, while it is settled."""

    batch: tuple[Turn, ...]
    known: Known
    model: ChatModel
    tally: Tally
    episodes: dict[str, Item] = field(default_factory=dict)
    facts: dict[str, Item] = field(default_factory=dict)
    merged: dict[str, str] = field(default_factory=dict)
    _moved: dict[str, str] = field(default_factory=dict)  # any replaced episode -> the newest
    _said: dict[str, str] = field(default_factory=dict)  # folded words -> id of the fact

    def place(self, told: Told) -> str:
        """The episode, or one telling of it and a stored one; returns its id."""
        found = None
        if "fallback" not in told.flags:  # the turns' own words are no telling to merge
            found = merged(told, self._alike(told), model=self.model, tally=self.tally)
        item = episode_item(told if found is None else found[1], model_id=self.model.model_id)
        if found is not None:
            self._replace(found[0].item_id, item.item_id)
        self.episodes[item.item_id] = item
        return item.item_id

    def _alike(self, told: Told) -> list[Stored]:
        """Stored episodes most like this one; of one merged meanwhile, the one in its place."""
        own = {turn.turn_id for turn in self.batch}
        found: dict[str, Stored] = {}
        for item, cosine in self.known.episodes_like(told.text, k=MOST_ALIKE)[:MOST_ALIKE]:
            if cosine <= ALIKE:
                continue
            moved = self._moved.get(item.item_id, item.item_id)
            current = self.episodes.get(moved, item)
            members = [link.target for link in current.links if link.role == "member"]
            if current is item and own & set(members):
                continue  # left by an earlier build of these turns
            turns = self._turns(members)
            if turns:
                title, _, narrative = current.text.partition("\n")
                found[moved] = Stored(item_id=moved, title=title, narrative=narrative, turns=turns)
        return list(found.values())

    def _turns(self, ids: Sequence[str]) -> tuple[Turn, ...]:
        here = {turn.turn_id: turn for turn in self.batch}
        away = self.known.turns([one for one in ids if one not in here])
        both = {**here, **{turn.turn_id: turn for turn in away}}
        return tuple(both[one] for one in ids if one in both)

    def _replace(self, old: str, new: str) -> None:
        """Another episode takes the place of one, here and in what links to it."""
        if self.episodes.pop(old, None) is None:
            self.merged[old] = new
        for places in (self.merged, self._moved):
            places.update({key: new for key, value in places.items() if value == old})
        self._moved[old] = new
        self.facts = {key: self._repointed(fact) for key, fact in self.facts.items()}

    def _repointed(self, fact: Item) -> Item:
        """The fact with every link to a replaced episode turned to the one in its place."""
        links = [
            replace(link, target=self._moved.get(link.target, link.target)) for link in fact.links
        ]
        return replace(fact, links=tuple(dict.fromkeys(links)))

    def learn(self, told: Told, episode: str) -> None:
        """What the episode tells that was not known; what was gains a source."""
        stored = self.known.statements_like(told.text, k=RELATED)[:RELATED]
        own = list(self.facts.values())[-RELATED:]  # no search finds these yet
        related = [one.text for one in (*stored, *own)]
        for statement in distil(
            told, list(dict.fromkeys(related)), model=self.model, tally=self.tally
        ):
            fact = self._same(statement, stored)
            if fact is None:
                made = fact_item(
                    statement.text,
                    statement.turns,
                    told=told,
                    episode=episode,
                    model_id=self.model.model_id,
                    prompt=statement.prompt,
                )
            else:
                self.tally.rejected["known"] += 1
                made = with_source(self._repointed(fact), statement.turns, episode=episode)
            self.facts[made.item_id] = made
            self._said[folded(statement.text)] = made.item_id

    def _same(self, statement: Statement, stored: Sequence[Item]) -> Item | None:
        """The fact that says this already, of this batch or stored; None if none does."""
        words = folded(statement.text)
        if words in self._said:
            return self.facts[self._said[words]]
        near = self.known.statements_like(statement.text, k=SAME_AMONG)
        return next((one for one in (*stored, *near) if folded(one.text) == words), None)
