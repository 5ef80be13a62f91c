"""The manager's records in a store: one event at a time, staged in memory, kept all at once.

Nothing is written while an event runs, for its calls wait for a model. What it did is laid over
what is stored, so that later searches of the event see it, and is committed at the event's end
together with the mark that it is done: a kill leaves an event done or not begun, never half of it.

A record links to every turn of the events that wrote it (role "source"), and to what else it may
hold words of (role "derived"): the turns shown before them, and the turns of records found in the
event whose words it took over. All links are hidden, and each takes the record along when its turn
is forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace

import numpy as np

from evimem.engine.ingest import clear_leaked_past, new_entry
from evimem.engine.record_log import ops_of, reason_of
from evimem.engine.redaction import SecretGuard
from evimem.engine.view import EngineView
from evimem.errors import EmbedderError, NotFound
from evimem.manager.events import Construction
from evimem.manager.memory_bank import hash_of
from evimem.manager.view_bank import record_of
from evimem.model.ids import stable_id
from evimem.model.item import Item, Link
from evimem.model.records import MemoryOp, OpKind, Record
from evimem.model.search import Exclusion, Filters, Hit, SearchRequest
from evimem.model.text import storable
from evimem.ports import Embedder, FloatArray, Reader, Writer
from evimem.query.words import WORD, key, keys
from evimem.temporal import find

__all__ = ["BUILDER", "StoreBank", "live_records", "log_of"]

BUILDER = "manager"
"""Name on the records that the manager keeps, and on what it did with a turn."""

_WEAK = frozenset(
    keys(
        "said says told tells mentioned mentions asked asks feels felt feel thinks think thought "
        "wants want wanted plans planned likes like loves love enjoys enjoy hopes hope shared "
        "shares expressed started new good great lot day time people person user"
    )
)
"""Words that every memory may be told with: that two share them says nothing."""

Opened = Callable[[], AbstractContextManager[EngineView]]


def live_records(reader: Reader) -> list[Item]:
    """Every live record of the manager, in the order created."""
    ids = dict.fromkeys(change.item_id for change in reader.log("record"))
    return [one for one in reader.get(list(ids)) if isinstance(one, Item) and _kept_by_us(one)]


def log_of(reader: Reader) -> list[MemoryOp]:
    """The whole modification log of a bank, oldest first."""
    changes = reader.log("record")
    ids = dict.fromkeys(change.item_id for change in changes)
    live = {one.item_id: one.text for one in reader.get(list(ids)) if isinstance(one, Item)}
    return ops_of(changes, live)


def _kept_by_us(item: Item) -> bool:
    return item.kind == "record" and item.attrs.get("builder") == BUILDER


class StoreBank:
    """A `manager.bank.RecordBank` over a bank of a store. Not for several threads at once."""

    def __init__(
        self,
        opened: Opened,
        *,
        embedder: Embedder | None,
        guard: SecretGuard,
        by: str,
    ) -> None:
        """A bank with nothing staged.

        Args:
            opened: opens a view of the bank's newest state.
            embedder: encodes what is staged, for searches within an event; None: words rank.
            guard: what is done with secrets.
            by: who writes, for the records' attribute "model".
        """
        self._opened = opened
        self._embedder = embedder
        self._guard = guard
        self._by = by
        self._steps: list[tuple[MemoryOp, Item | None, str]] = []
        self._staged: dict[str, Item | None] = {}
        self._base: dict[str, Item | None] = {}
        self._seen: dict[str, Item] = {}
        self._log: list[MemoryOp] | None = None

    # What a manager does

    def search(self, query: str, limit: int) -> Sequence[Record]:
        """The records most like a query, by the cosine of their vectors; by words without any."""
        request = SearchRequest(
            text=storable(query),
            k=max(limit, 1),
            ranker="dense" if self._embedder is not None else "bm25",
            filters=Filters(kinds=frozenset({"record"})),
            exclusion=Exclusion(items=frozenset(self._staged)),
            origin="tool",
        )
        with self._opened() as view:
            hits = view.search(request)
            values = [one for one in view.get([hit.item_id for hit in hits])]
        found = {one.item_id: one for one in values if isinstance(one, Item) and _kept_by_us(one)}
        fresh = {key: one for key, one in self._staged.items() if one is not None}
        ranked = self._merged(request.text, [h for h in hits if h.item_id in found], found, fresh)
        self._seen.update((one.item_id, one) for one in ranked[:limit])
        return [record_of(one) for one in ranked[:limit]]

    def get(self, record_id: str) -> Record | None:
        """A surviving record; None if there is none of that id."""
        item = self._item(record_id)
        return None if item is None else record_of(item)

    def records(self) -> Sequence[Record]:
        """Every surviving record, in the order created."""
        with self._opened() as view:
            stored = {one.item_id: one for one in live_records(view.reader)}
        items = {**stored, **self._staged}
        return [record_of(one) for one in items.values() if one is not None]

    def create(self, content: str, event: Construction) -> Record:
        """Stages a new record. Its words are kept as given, secrets excepted."""
        text = self._guard.text(storable(content))
        item = Item(
            item_id=self._new_id(event),
            kind="record",
            text=text,
            links=self._links((), text, event),
            session_id=_session_of(event),
            said_at=event.observed_at,
            attrs={
                "builder": BUILDER,
                "model": self._by,
                "chunks": [event.index],
                "version": 1,
            },
        )
        self._base.setdefault(item.item_id, None)
        self._stage(item, "create", "", event)
        return record_of(item)

    def update(self, record_id: str, content: str, event: Construction) -> Record:
        """Stages new words under the same id; provenance grows by the event.

        Raises:
            NotFound: no such record survives.
        """
        old = self._surviving(record_id)
        text = self._guard.text(storable(content))
        chunks = dict.fromkeys((*record_of(old).chunks, event.index))
        session = _session_of(event)
        item = replace(
            old,
            text=text,
            links=self._links(old.links, text, event),
            session_id=session if session == old.session_id else "",
            said_at=event.observed_at,
            attrs={
                **old.attrs,
                "model": self._by,
                "chunks": list(chunks),
                "version": record_of(old).version + 1,
            },
        )
        self._stage(item, "update", old.text, event)
        return record_of(item)

    def delete(self, record_id: str, event: Construction, *, why: str = "") -> None:
        """Stages that a record goes; the log keeps what it said.

        Raises:
            NotFound: no such record survives.
        """
        old = self._surviving(record_id)
        op = self._op("delete", record_id, event, before=old.text)
        self._staged[record_id] = None
        self._steps.append((op, None, why))

    @property
    def ops(self) -> Sequence[MemoryOp]:
        """The modification log, oldest first, what is staged included. It is read from the store
        once, and grows by what this bank commits."""
        if self._log is None:
            with self._opened() as view:
                self._log = log_of(view.reader)
        return [*self._log, *self._numbered()]

    def _numbered(self) -> list[MemoryOp]:
        """What is staged, numbered on from the log."""
        begun = len(self._log or ())
        return [replace(op, n=begun + op.n) for op in self.staged]

    @property
    def staged(self) -> Sequence[MemoryOp]:
        """What is staged since the last commit, in order."""
        return [op for op, _, _ in self._steps]

    @property
    def hash(self) -> str:
        """A hash of all surviving records: equal banks have equal ones."""
        return hash_of(self.records())

    # What a run does

    def begin(self) -> None:
        """Forgets what is staged, and what earlier events were shown."""
        self._steps.clear()
        self._staged.clear()
        self._base.clear()
        self._seen.clear()

    def written_by(self, event: int) -> list[Item]:
        """Surviving records that this event alone wrote, and that no person edited since."""
        with self._opened() as view:
            items = live_records(view.reader)
        return [
            one
            for one in items
            if record_of(one).chunks == (event,) and not one.attrs.get("edited")
        ]

    def commit(self, tx: Writer) -> tuple[bool, bool]:
        """Writes what is staged, each step with its entry of the log; then nothing is staged.

        Returns:
            Whether it was written: it is not, if a record was changed elsewhere meanwhile. And
            whether `Store.scrub` must follow, for an earlier text held a secret in the open.
        """
        before = {one.item_id: one for one in tx.get(list(self._base)) if isinstance(one, Item)}
        if any(before.get(key) != one for key, one in self._base.items()):
            return False, False
        for op, item, why in self._steps:
            reason = reason_of(op, why=why)
            if item is None:
                tx.retire(op.record_id, reason=reason)
            else:
                tx.put([new_entry(item)], reason=reason)
        leaked = self._guard.mode == "redact" and clear_leaked_past(tx, list(before))
        if self._log is not None:
            self._log += self._numbered()
        self.begin()
        return True, leaked

    # Parts

    def _item(self, record_id: str) -> Item | None:
        if record_id in self._staged:
            return self._staged[record_id]
        with self._opened() as view:
            found = view.get([record_id])
        return next((one for one in found if isinstance(one, Item) and _kept_by_us(one)), None)

    def _surviving(self, record_id: str) -> Item:
        item = self._item(record_id)
        if item is None:
            raise NotFound(f"there is no record {record_id!r} in this bank")
        if record_id not in self._staged:
            self._base.setdefault(record_id, item)
        return item

    def _stage(self, item: Item, kind: OpKind, before: str, event: Construction) -> None:
        op = self._op(kind, item.item_id, event, before=before, after=item.text)
        self._staged[item.item_id] = item
        self._steps.append((op, item, ""))

    def _op(
        self,
        kind: OpKind,
        record_id: str,
        event: Construction,
        *,
        before: str = "",
        after: str = "",
    ) -> MemoryOp:
        return MemoryOp(
            n=len(self._steps) + 1,
            event=event.index,
            kind=kind,
            record_id=record_id,
            before=before,
            after=after,
            refs=tuple(turn.turn_id for turn in event.turns),
            at=event.observed_at,
        )

    def _new_id(self, event: Construction) -> str:
        """An id that no record of the bank has or ever had, erased ones included."""
        first = event.turns[0].turn_id if event.turns else ""
        n = 0
        with self._opened() as view:
            while True:
                made = stable_id("r", BUILDER, event.index, first, n)
                if made not in self._staged and not view.reader.history(made):
                    return made
                n += 1

    def _links(self, old: Iterable[Link], text: str, event: Construction) -> tuple[Link, ...]:
        """All that a record may hold words of, the turns of its events first."""
        sources = {link.target: None for link in old if link.role == "source"}
        sources.update((turn.turn_id, None) for turn in event.turns)
        others = {link.target: None for link in old if link.role != "source"}
        others.update((turn.turn_id, None) for turn in event.context)
        others.update((one, None) for one in self._borrowed(text, event))
        return (
            *(Link(role="source", target=one, hidden=True) for one in sources),
            *(
                Link(role="derived", target=one, hidden=True)
                for one in others
                if one not in sources
            ),
        )

    def _borrowed(self, text: str, event: Construction) -> list[str]:
        """Turns behind records found in the event whose words the text took over: a name or number
        that the event's turns do not hold, or two other words that they do not."""
        shown = (*event.turns, *event.context)
        own = _words(" ".join(part for turn in shown for part in (turn.body, turn.speaker)))
        told = _undated(text)
        foreign = _words(told) - own - _WEAK
        telling = frozenset(key(one) for one in WORD.findall(told) if not one.islower())
        return [
            link.target
            for one in self._seen.values()
            if (taken := foreign & _words(one.text)) and (len(taken) > 1 or taken & telling)
            for link in one.links
        ]

    def _merged(
        self, query: str, hits: Sequence[Hit], found: dict[str, Item], fresh: dict[str, Item]
    ) -> list[Item]:
        """Stored and staged records in one ranking: by cosine, by shared words without vectors."""
        items = {**{hit.item_id: found[hit.item_id] for hit in hits}, **fresh}
        if not fresh:
            return list(items.values())
        cosines = {h.item_id: h.scores["dense"] for h in hits if "dense" in h.scores}
        if len(cosines) == len(hits):
            cosines.update(self._cosines(query, fresh))
        if len(cosines) == len(items):
            return sorted(items.values(), key=lambda one: -cosines[one.item_id])
        wanted = _words(query)
        shared = {key: len(wanted & _words(one.text)) for key, one in items.items()}
        kept = [one for key, one in items.items() if shared[key] or key in found]
        return sorted(kept, key=lambda one: -shared[one.item_id])

    def _cosines(self, query: str, fresh: dict[str, Item]) -> dict[str, float]:
        """Cosine of the query and each staged record; none where they cannot be had."""
        if self._embedder is None:
            return {}
        try:
            asked = self._vectors(self._embedder, query)[:1]
            return {
                key: float(np.max(self._vectors(self._embedder, one.indexed) @ asked[0]))
                for key, one in fresh.items()
                if len(asked) and self._embedder.chunks(one.indexed)
            }
        except EmbedderError:
            return {}

    @staticmethod
    def _vectors(embedder: Embedder, text: str) -> FloatArray:
        pieces = embedder.chunks(text)
        return embedder.embed(pieces) if pieces else np.zeros((0, embedder.dim), np.float32)


def _words(text: str) -> frozenset[str]:
    """Content words of a text as they are compared."""
    return frozenset(keys(text))


def _undated(text: str) -> str:
    """A text without its dates: a manager works those out, and takes them from no record."""
    for span in reversed(find(text, None)):
        text = f"{text[: span.text_start]} {text[span.text_end :]}"
    return text


def _session_of(event: Construction) -> str:
    sessions = {turn.session_id for turn in event.turns}
    return sessions.pop() if len(sessions) == 1 else ""
