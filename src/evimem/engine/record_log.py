"""The manager's modification log, kept in the change log of the store.

The store notes the text before each change and when it was written; what it cannot know (which
event did it, what the event's turns and date are, which kind of change it was) goes into the reason
of the change, as JSON. Erasing an entry blanks its reasons with its texts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime

from evimem.manager.oplog import PERSON
from evimem.model.records import MemoryOp, OpKind
from evimem.model.turn import JsonValue
from evimem.ports import Change

__all__ = ["ops_of", "reason_of"]

_KINDS: Mapping[str, OpKind] = {"put": "create", "revise": "update", "retire": "delete"}


def reason_of(op: MemoryOp, *, why: str = "") -> str:
    """What the store keeps of a change beside the text before it."""
    told: dict[str, JsonValue] = {"event": op.event}
    if op.at is not None:
        told["at"] = op.at.isoformat()
    if op.refs:
        told["turns"] = list(op.refs)
    if why:
        told["why"] = why
    return json.dumps(told, ensure_ascii=False)


def ops_of(changes: Sequence[Change], live: Mapping[str, str]) -> list[MemoryOp]:
    """The modification log, oldest first, numbered from 1.

    A record that is written after it was retired is brought back: a create under the same id.
    Changes whose text was blanked (`scan` with a fix) keep their place, with empty words and no
    event.

    Args:
        changes: the change log of all records, oldest first.
        live: text of every live record by id.
    """
    texts = [""] * len(changes)  # after each change
    kinds: list[OpKind] = []
    last: dict[str, int] = {}
    for place, change in enumerate(changes):
        kind = _KINDS.get(change.op, "update")
        earlier = last.get(change.item_id)
        if earlier is not None:
            gone = kinds[earlier] == "delete"
            texts[earlier] = "" if gone else change.text or ""
            kind = "create" if gone else kind
        kinds.append(kind)
        last[change.item_id] = place
    for item_id, place in last.items():
        texts[place] = live.get(item_id, "")
    return [
        _op(change, kind, after, n)
        for n, (change, kind, after) in enumerate(zip(changes, kinds, texts, strict=True), start=1)
    ]


def _op(change: Change, kind: OpKind, after: str, n: int) -> MemoryOp:
    told = _told(change.reason)
    event, at, turns = told.get("event"), told.get("at"), told.get("turns")
    return MemoryOp(
        n=n,
        event=event if isinstance(event, int) else PERSON,
        kind=kind,
        record_id=change.item_id,
        before="" if kind == "create" else change.text or "",
        after=after,
        refs=tuple(str(one) for one in turns) if isinstance(turns, list) else (),
        at=datetime.fromisoformat(at) if isinstance(at, str) else None,
    )


def _told(reason: str) -> dict[str, JsonValue]:
    """The reason as it was written; empty for one that came from elsewhere."""
    try:
        told = json.loads(reason) if reason.startswith("{") else {}
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}
