"""The construction events of a bank: which turns each brings, its number, and how it stands.

Every turn of an event has a record of its own with the event's number, so that numbers and pairs
stay as they are when turns are added, edited or forgotten. Turns that are in no event yet are
paired in order. Their events get the numbers after the highest one there ever was, and these are
written down before the first of them is done, so that two runs at once share no number. An event is
up to date when its turns have the key that it would be done under now.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from evimem.build.prompts.dialogue import readable
from evimem.engine.record_bank import BUILDER, live_records
from evimem.engine.record_log import ops_of
from evimem.manager.events import CHUNK_TURNS, CONTEXT_TURNS, Construction
from evimem.manager.view_bank import record_of
from evimem.model.turn import Session, Turn
from evimem.ports import BuildRecord, BuildStatus, Reader, Writer

__all__ = ["EventTask", "event_plan", "numbered", "outdated_by"]


@dataclass(slots=True, kw_only=True)
class EventTask:
    """One construction event of the bank."""

    event: Construction
    """The event as the manager sees it."""
    shown: tuple[Turn, ...]
    """Its turns, then those before them, as they are stored."""
    key: str
    """Hash of the policy and of all that is shown."""
    records: tuple[BuildRecord, ...] = ()
    """What was done with its turns so far, under whatever key."""

    @property
    def turns(self) -> tuple[str, ...]:
        """Ids of its new turns."""
        return tuple(turn.turn_id for turn in self.event.turns)

    @property
    def status(self) -> BuildStatus | None:
        """What was done under this very key with all of its turns; None: nothing."""
        if len(self.records) < len(self.event.turns):
            return None
        same = all(one.key == self.key for one in self.records)
        return self.records[0].status if same else None

    @property
    def held(self) -> dict[str, BuildRecord]:
        """What was done with its turns, by turn."""
        return {one.turn_id: one for one in self.records}

    @property
    def rewritten(self) -> bool:
        """True if it was done on other words, or by another policy: what it alone wrote then is
        not to stand. What only has to be done again, for a record of it was erased, stands."""
        return any(one.key and one.key != self.key for one in self.records)

    def done(self, status: BuildStatus, *, detail: str = "") -> tuple[BuildRecord, ...]:
        """What to keep of the event, a record per turn."""
        before = {one.turn_id: one.attempts for one in self.records if one.key == self.key}
        return tuple(
            BuildRecord(
                turn_id=one,
                builder=BUILDER,
                key=self.key,
                status=status,
                items=self.event.index,
                attempts=before.get(one, 0) + 1,
                detail=detail,
            )
            for one in self.turns
        )


def event_plan(
    reader: Reader, *, policy_id: str, sessions: Collection[str] = (), turns: Collection[str] = ()
) -> list[EventTask]:
    """Every construction event, in the order of time.

    Turns of the role "system" and blocks that a program put into a turn are not shown, and turns
    without any other words are in no event (case P082).

    Args:
        reader: the bank.
        policy_id: who decides, with its prompt: part of every key.
        sessions: only these, by id; none: all.
        turns: only events with any of these turns; none: all.
    """
    records = reader.builds(BUILDER)
    number = _highest(reader, records)
    wanted = frozenset(turns)
    tasks: list[EventTask] = []
    for session, said in _in_time(reader, sessions):
        spoken = [one for turn in said.values() if (one := readable(turn)).body.strip()]
        for at, group in _groups(spoken, records):
            if wanted and wanted.isdisjoint(turn.turn_id for turn in group):
                continue
            held = tuple(records[one.turn_id] for one in group if one.turn_id in records)
            if not held:
                number += 1
            context = tuple(spoken[max(0, at - CONTEXT_TURNS) : at])
            event = Construction(
                index=held[0].items if held else number,
                turns=group,
                context=context,
                observed_at=group[0].said_at or session.started_at,
            )
            tasks.append(
                EventTask(
                    event=event,
                    shown=tuple(said[turn.turn_id] for turn in (*group, *context)),
                    key=_key(event, policy_id),
                    records=held,
                )
            )
    return tasks


def numbered(tx: Writer, tasks: Iterable[EventTask]) -> None:
    """Gives the events that are new their numbers for good.

    Events whose turns another run has numbered since they were planned are left as they are: they
    cannot be kept then, and the next plan shows them as they stand.
    """
    new = [task for task in tasks if not task.records]
    if not new:
        return
    known = tx.builds(BUILDER)
    number = _highest(tx, known)
    for task in new:
        if known.keys().isdisjoint(task.turns):
            number += 1
            task.event = replace(task.event, index=number)
            blank = BuildRecord(
                turn_id="", builder=BUILDER, key="", status="done", items=number, attempts=0
            )
            task.records = tuple(replace(blank, turn_id=one) for one in task.turns)
            tx.put_builds(task.records)


def _in_time(reader: Reader, sessions: Collection[str]) -> list[tuple[Session, dict[str, Turn]]]:
    """Sessions with their turns by id, by the time of the first turn, else of the session; those
    without any time last. What is read later may supersede what was read before."""
    found = []
    for session in reader.sessions():
        if not sessions or session.session_id in sessions:
            said = {turn.turn_id: turn for turn in reader.session(session.session_id)}
            times = [turn.said_at for turn in said.values() if turn.said_at is not None]
            found.append((min(times, default=session.started_at), session, said))
    timed = [one for one in found if one[0] is not None]
    timed.sort(key=lambda one: (one[0] is None, one[0]))
    return [(s, said) for _, s, said in (*timed, *(one for one in found if one[0] is None))]


def _groups(
    spoken: Sequence[Turn], records: Mapping[str, BuildRecord]
) -> list[tuple[int, tuple[Turn, ...]]]:
    """Turns by event, with the place of the first: known events first, the rest in pairs."""
    known: dict[int, list[int]] = {}
    groups: list[list[int]] = []
    for at, turn in enumerate(spoken):
        record = records.get(turn.turn_id)
        if record is not None:
            known.setdefault(record.items, []).append(at)
        elif groups and len(groups[-1]) < CHUNK_TURNS and groups[-1][-1] == at - 1:
            groups[-1].append(at)
        else:
            groups.append([at])
    every = sorted([*known.values(), *groups])
    return [(places[0], tuple(spoken[at] for at in places)) for places in every]


def _highest(reader: Reader, records: Mapping[str, BuildRecord]) -> int:
    """The highest number that an event has had, as far as anything of it is left."""
    numbers = [one.items for one in records.values()]
    numbers += [op.event for op in ops_of(reader.log("record"), {})]
    numbers += [n for one in live_records(reader) for n in record_of(one).chunks]
    return max(numbers, default=0)


def _key(event: Construction, policy_id: str) -> str:
    told = [policy_id, *([_told(one) for one in part] for part in (event.turns, event.context))]
    written = json.dumps(told, ensure_ascii=True).encode("ascii")
    return hashlib.blake2b(written, digest_size=16).hexdigest()


def _told(turn: Turn) -> list[str]:
    said_at = "" if turn.said_at is None else turn.said_at.isoformat()
    return [turn.turn_id, turn.speaker, turn.role, said_at, turn.body]


def outdated_by(reader: Reader, turn_ids: Collection[str]) -> list[BuildRecord]:
    """What to mark when turns are erased: the events of every record that goes with them are to be
    done anew as far as other turns are left.

    Args:
        reader: the bank before the erasure.
        turn_ids: the turns.
    """
    gone = frozenset(turn_ids)
    events = {
        n
        for item in live_records(reader)
        if any(link.target in gone for link in item.links)
        for n in record_of(item).chunks
    }
    if not events:
        return []
    builds = reader.builds(BUILDER)
    hit = [one for one in builds.values() if one.items in events and one.turn_id not in gone]
    return [replace(one, key="", detail="", raw="") for one in hit]
