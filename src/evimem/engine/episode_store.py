"""Episodes and semantic facts in a write transaction: what takes whose place, and what goes.

A bank holds the episodes of one builder at a time, so that no search mixes two forms of the same
turns.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from evimem.build import episodes, lite_spaces
from evimem.build.episodes import Settled
from evimem.engine.build_course import exchange
from evimem.engine.episode_known import trimmed
from evimem.engine.episode_plan import EpisodePlan, EpisodeTask
from evimem.engine.record_plan import outdated_by
from evimem.engine.redaction import SecretGuard
from evimem.errors import BankCorrupt
from evimem.model.item import Item, Link
from evimem.model.turn import Turn
from evimem.ports import BuildRecord, EraseReceipt, Reader, Writer

__all__ = [
    "BUILDERS",
    "Keeper",
    "episodes_on",
    "erase_built",
    "facts_on",
    "put_spaces",
    "retire_others",
]

BUILDERS = (episodes.BUILDER, lite_spaces.BUILDER)
"""Builders of episodes by the name on their records and items: with a model, and without."""


def _built(reader: Reader, ids: Iterable[str], *, kind: str, builder: str) -> list[Item]:
    """Live items of a builder that openly link to any of these entries."""
    derived = reader.derived(list(ids))
    found = dict.fromkeys(one for targets in derived.values() for one in targets)
    return [
        value
        for value in reader.get(list(found))
        if isinstance(value, Item) and value.kind == kind and value.attrs.get("builder") == builder
    ]


def episodes_on(reader: Reader, turn_ids: Iterable[str], *, builder: str) -> list[Item]:
    """A builder's live episodes that have any of these turns."""
    return _built(reader, turn_ids, kind="episode", builder=builder)


def facts_on(reader: Reader, ids: Iterable[str], *, builder: str) -> list[Item]:
    """A builder's live semantic facts that were learned from any of these episodes, or said in any
    of these turns."""
    return _built(reader, ids, kind="semantic", builder=builder)


@dataclass(slots=True, kw_only=True)
class Keeper:
    """Commits what was made of batches in place of what was made of them before."""

    plan: EpisodePlan
    """The plan of the build."""
    guard: SecretGuard
    """What is done with secrets."""
    bound: bool
    """See `put_spaces`."""
    cleared: bool = False
    """True as soon as what other builders made is taken out."""
    leaked: bool = False
    """True if `Store.scrub` must follow, for an earlier text held a secret in the open."""

    def clear(self, tx: Writer) -> int:
        """Takes out what other builders made, and marks their records as of work to be done anew;
        how many items. The second time there is nothing left to do."""
        if self.cleared:
            return 0
        self.cleared = True
        for name in BUILDERS:
            if name != self.plan.builder:
                tx.put_builds([_blank(one, name) for one in tx.builds(name)])
        return retire_others(tx, self.plan.others, builder=self.plan.builder)

    def keep(self, tx: Writer, task: EpisodeTask, made: Settled) -> BuildRecord | None:
        """Puts what was made of a batch, and what was done with it; None, and nothing is put, if
        its turns are no longer the same."""
        ids = [turn.turn_id for turn in task.turns]
        if tx.get(ids) != list(task.turns):
            return None
        builder = self.plan.builder
        if made.status != "failed":
            self.leaked |= put_spaces(
                tx,
                turns=task.turns,
                made=(*made.episodes, *made.facts),
                merged=made.merged,
                builder=builder,
                guard=self.guard,
                bound=self.bound,
            )
        held = {one for item in episodes_on(tx, ids, builder=builder) for one in _members(item)}
        before = task.record.attempts if task.record is not None and task.status else 0
        record = BuildRecord(
            turn_id=task.ref,
            builder=builder,
            key=task.key,
            status=made.status,
            items=len(held.intersection(ids)),
            attempts=before + made.attempts,
            detail=self.guard.text(made.detail),
            raw=self.guard.text(made.raw),
        )
        # Turns that began a batch before it was cut otherwise begin none now.
        over = [one for one in ids[1:] if one in self.plan.records]
        tx.put_builds([record, *(_blank(one, builder) for one in over)])
        return record


def _blank(turn_id: str, builder: str) -> BuildRecord:
    """The record of a turn that begins no batch."""
    return BuildRecord(turn_id=turn_id, builder=builder, key="", status="done", attempts=0)


def put_spaces(
    tx: Writer,
    *,
    turns: Sequence[Turn],
    made: Sequence[Item],
    merged: Mapping[str, str],
    builder: str,
    guard: SecretGuard,
    bound: bool,
) -> bool:
    """Puts what was made of a batch in place of what was made of its turns before.

    A fact that another episode tells too stays with that one. A fact of an episode that was merged
    goes over to the one in its place.

    Args:
        tx: the transaction.
        turns: the batch.
        made: its episodes, then its facts; facts that were stored before are among them with all
            links that they shall have.
        merged: id of a stored episode -> id of the one in `made` that takes its place.
        builder: the builder.
        guard: what is done with secrets.
        bound: the words of an episode may come from any turn of the batch, not from its own alone:
            a hidden link to each makes it go with them.

    Returns:
        True if an earlier text held a secret in the open: then `Store.scrub` must follow.
    """
    ids = [turn.turn_id for turn in turns]
    old = episodes_on(tx, ids, builder=builder)
    taken = [value for value in tx.get(list(merged)) if isinstance(value, Item)]
    gone = {item.item_id for item in old}
    # Turns of an episode that was erased may be left on a fact that another one keeps.
    gone_turns = {*ids, *(one for item in old for one in _members(item))}
    items = {item.item_id: item for item in made}
    if bound:
        items.update(_bound(items, turns, [*old, *taken], merged))
    left: list[str] = []
    for fact in facts_on(tx, [*gone, *merged, *ids], builder=builder):
        stays = trimmed(fact, episodes=gone, turns=gone_turns)
        if stays is None:
            left.append(fact.item_id)
        elif fact.item_id not in items:
            items[fact.item_id] = stays if stays.links == fact.links else _said_in(tx, stays)
        else:
            items[fact.item_id] = _joined(items[fact.item_id], stays)
    for item_id, item in items.items():
        if item.kind == "semantic" and merged:
            items[item_id] = _moved(item, merged)
    guarded = [guard.item(item) for item in items.values()]
    leaving = dict.fromkeys([*gone, *merged, *left])
    return exchange(tx, old=leaving, items=guarded, guard=guard, reason="built anew")


def _members(item: Item) -> list[str]:
    return _targets(item, "member")


def _targets(item: Item, role: str) -> list[str]:
    return [link.target for link in item.links if link.role == role]


def _bound(
    items: Mapping[str, Item],
    turns: Sequence[Turn],
    before: Sequence[Item],
    merged: Mapping[str, str],
) -> dict[str, Item]:
    """The episodes with a hidden link to every turn that may have words in them: those of the
    batch, and those of the episodes that they take the place of."""
    shown: dict[str, list[str]] = {}
    for item in before:
        place = merged.get(item.item_id, item.item_id)
        shown.setdefault(place, []).extend(link.target for link in item.links if link.hidden)
    batch = [turn.turn_id for turn in turns]
    found = {}
    for item_id, item in items.items():
        if item.kind == "episode":
            open_links = tuple(link for link in item.links if not link.hidden)
            own = {link.target for link in open_links}
            hidden = dict.fromkeys([*batch, *shown.get(item_id, ())])
            links = (
                Link(role="source", target=one, hidden=True) for one in hidden if one not in own
            )
            found[item_id] = replace(item, links=(*open_links, *links))
    return found


def _said_in(reader: Reader, fact: Item) -> Item:
    """A fact that lost some of its turns, with session, speaker and time of those that are left."""
    values = reader.get(_targets(fact, "parent"))
    turns = [value for value in values if isinstance(value, Turn)]
    if not turns:
        return fact
    sessions, speakers = {turn.session_id for turn in turns}, {turn.speaker for turn in turns}
    return replace(
        fact,
        session_id=turns[0].session_id if len(sessions) == 1 else "",
        speaker=turns[0].speaker if len(speakers) == 1 else "",
        said_at=turns[0].said_at,
    )


def _joined(fact: Item, other: Item) -> Item:
    """A fact with the links of another version of it too."""
    return replace(fact, links=tuple(dict.fromkeys((*fact.links, *other.links))))


def _moved(fact: Item, merged: Mapping[str, str]) -> Item:
    """A fact whose episodes are those in place of merged ones."""
    links = (replace(link, target=merged.get(link.target, link.target)) for link in fact.links)
    return replace(fact, links=tuple(dict.fromkeys(links)))


def retire_others(tx: Writer, ids: Sequence[str], *, builder: str) -> int:
    """Takes out episodes and semantic facts that another builder made; how many.

    Args:
        tx: the transaction.
        ids: their ids, as they were when the build was planned; those gone since are passed over.
        builder: the builder whose form takes their place.
    """
    live = [value.item_id for value in tx.get(ids) if isinstance(value, Item)]
    for item_id in live:
        tx.retire(item_id, reason=f"another form was built: {builder}")
    return len(live)


@dataclass(slots=True)
class _Reach:
    """Items that may go with what is erased, and the turns that they stand on."""

    turns: dict[str, set[str]] = field(default_factory=dict)

    def add(self, items: Iterable[Item], turns: Mapping[str, Collection[str]]) -> None:
        """Items with their own turns and those of the episodes they link to."""
        for item in items:
            mine = self.turns.setdefault(item.item_id, set())
            for link in item.links:
                if not link.hidden:
                    mine.update(turns.get(link.target, (link.target,)))


def erase_built(tx: Writer, ids: Sequence[str]) -> EraseReceipt:
    """Erases entries, and marks every batch that loses an episode or a semantic fact by it, and
    every event that loses a record, so that the next build makes anew what was not to go."""
    events: list[BuildRecord] = []
    try:
        reach = _reach(tx, ids)
        events = outdated_by(tx, ids)
    except BankCorrupt:  # what is damaged can be forgotten all the same
        reach = _Reach()
    receipt = tx.erase(ids)
    tx.put_builds(events)
    lost = {turn for one in receipt.items for turn in reach.turns.get(one, ())}
    if lost:
        marks = [mark for builder in BUILDERS for mark in _marks(tx, lost, builder)]
        tx.put_builds(marks)
    return receipt


def _reach(tx: Writer, ids: Sequence[str]) -> _Reach:
    reach = _Reach()
    values = tx.get(ids)
    items = [value for value in values if isinstance(value, Item)]
    sessions = dict.fromkeys(value.session_id for value in values if isinstance(value, Turn))
    # An episode goes with any turn of its batch, and a batch lies in one session.
    near = [turn.turn_id for session_id in sessions for turn in tx.session(session_id)]
    for builder in BUILDERS:
        tales = episodes_on(tx, near, builder=builder)
        tales += [one for one in items if one.kind == "episode"]
        known = facts_on(tx, [*(one.item_id for one in tales), *near], builder=builder)
        known += [one for one in items if one.kind == "semantic"]
        sources = {one for fact in known for one in _targets(fact, "source")}
        told = {
            value.item_id: _members(value)
            for value in tx.get([*sources, *(one.item_id for one in tales)])
            if isinstance(value, Item)
        }
        reach.add(tales, {})
        reach.add(known, told)
    return reach


def _marks(tx: Writer, turn_ids: Collection[str], builder: str) -> list[BuildRecord]:
    """The records of the batches that these turns are in, as of batches to be done anew."""
    records = tx.builds(builder)
    if not records:
        return []
    turns = [value for value in tx.get(list(turn_ids)) if isinstance(value, Turn)]
    sessions: dict[str, set[int]] = {}
    for turn in turns:
        sessions.setdefault(turn.session_id, set()).add(turn.index)
    marked: list[BuildRecord] = []
    for session_id, places in sessions.items():
        record: BuildRecord | None = None
        for turn in tx.session(session_id):
            record = records.get(turn.turn_id, record)
            if turn.index in places and record is not None and record not in marked:
                marked.append(record)
    return [replace(one, key="", items=0, detail="", raw="") for one in marked]
