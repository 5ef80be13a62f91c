"""How Mem-T writes: memory formation per four turns, evolution per item (baselines 1.18)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from typing import Literal

from evimem.eval.baselines import mem_t_prompts as prompts
from evimem.eval.baselines.common import VectorList, day_of, line_of
from evimem.eval.baselines.rooms import built_data
from evimem.eval.harness.system import Shown, Tools
from evimem.model.turn import History, JsonValue, Turn
from evimem.query.calls import Said, one_line

__all__ = ["Bank", "Batch", "Builder", "Kind", "Memory", "batches_of"]

Kind = Literal["fact", "experience", "persona", "summary"]
"""The four kinds of memory that are written."""

_LONGEST = 4000
"""Characters of a field that are kept."""
_SOURCES = 8
"""Source turns that go into an item's vector: about what the published embedder reads of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Neighbouring turns of one session."""

    batch_id: str
    """Its id."""
    turns: tuple[Turn, ...]
    """The turns, in order."""

    @property
    def text(self) -> str:
        """Dated lines."""
        return "\n".join(map(line_of, self.turns))

    @property
    def said_at(self) -> datetime | None:
        """The newest time in it."""
        times = [turn.said_at for turn in self.turns if turn.said_at is not None]
        return max(times, default=None)


@dataclass(slots=True, kw_only=True)
class Memory:
    """One thing that was written, with the turns that it came from."""

    memory_id: str
    """Its id: of a persona the folded name, of a summary the session."""
    kind: Kind
    """What it is."""
    text: str
    """The words."""
    turns: tuple[Turn, ...]
    """Every turn of the batches that it was written or changed in, in the order said."""
    said_at: datetime | None
    """The newest time in the last of them."""
    start: str = ""
    """When it began to hold, in words; empty if unknown."""
    end: str = ""
    """When it ended."""
    name: str = ""
    """Of a persona: who."""

    @property
    def shown(self) -> Shown:
        """The memory for a prompt, without its sources."""
        period = " to ".join(filter(None, (self.start, self.end)))
        told = f"{self.text} (time: {period})" if period else self.text
        return Shown(
            text=f"About {self.name}: {told}" if self.name else told,
            said_at=self.said_at,
            turn_ids=tuple(turn.turn_id for turn in self.turns),
        )

    def take(self, batch: Batch) -> None:
        """Count a batch among its sources."""
        known = {turn.turn_id for turn in self.turns}
        self.turns += tuple(turn for turn in batch.turns if turn.turn_id not in known)
        self.said_at = batch.said_at or self.said_at


def batches_of(history: History, size: int) -> Iterator[Batch]:
    """The conversation in batches of so many turns, none across two sessions; turns without words
    are passed over."""
    said = [turn for turn in history.turns if turn.body.strip()]
    number = 0
    for _, session in groupby(said, key=lambda turn: turn.session_id):
        turns = list(session)
        for at in range(0, len(turns), size):
            yield Batch(batch_id=f"b{number}", turns=tuple(turns[at : at + size]))
            number += 1


@dataclass(slots=True)
class Bank:
    """Everything that is kept, and how it is searched.

    Vectors of facts and experiences are of their words with their first sources; those of summaries
    and personas, which change all the time, of their words, made once at the end (`seal`).
    """

    batches: dict[str, Batch] = field(default_factory=dict)
    """The turns, by id of their batch."""
    memories: dict[Kind, dict[str, Memory]] = field(
        default_factory=lambda: {"fact": {}, "experience": {}, "persona": {}, "summary": {}}
    )
    """What was written, by kind and id."""
    unusable: int = 0
    """Replies or operations that could not be used."""
    _batch_vectors: VectorList = field(default_factory=VectorList)
    _vectors: dict[Kind, VectorList] = field(
        default_factory=lambda: {
            "fact": VectorList(),
            "experience": VectorList(),
            "persona": VectorList(),
            "summary": VectorList(),
        }
    )
    _made: int = 0

    def keep_turns(self, batch: Batch, tools: Tools) -> None:
        """Keep a batch of turns."""
        self.batches[batch.batch_id] = batch
        self._batch_vectors.put(batch.batch_id, _for_vector(batch.turns), tools)

    def add(self, kind: Kind, memory: Memory, tools: Tools) -> None:
        """Keep a new fact or experience."""
        self.memories[kind][memory.memory_id] = memory
        self.reindex(memory, tools)

    def new_id(self) -> str:
        """An id that was never given before."""
        self._made += 1
        return f"m{self._made}"

    def reindex(self, memory: Memory, tools: Tools) -> None:
        """Make the vector of a fact or experience anew."""
        self._vectors[memory.kind].put(memory.memory_id, self.document(memory), tools)

    @staticmethod
    def document(memory: Memory) -> str:
        """What the vector of a fact or experience is made of."""
        return f"{memory.text}\n{_for_vector(memory.turns[:_SOURCES])}"

    def drop(self, kind: Kind, memory_id: str) -> None:
        """Take a fact or experience out."""
        del self.memories[kind][memory_id]
        self._vectors[kind].drop(memory_id)

    def seal(self, tools: Tools) -> None:
        """Make the vectors of summaries and personas."""
        for kind in ("persona", "summary"):
            for memory in self.memories[kind].values():
                self._vectors[kind].put(memory.memory_id, memory.text, tools)

    def search(self, kind: Kind, text: str, k: int, tools: Tools) -> list[Memory]:
        """The k nearest memories of a kind, best first."""
        found = self._vectors[kind].search(text, k, tools)
        return [self.memories[kind][memory_id] for memory_id, _ in found]

    def search_turns(self, text: str, k: int, tools: Tools) -> list[Batch]:
        """The k nearest batches of turns, best first."""
        found = self._batch_vectors.search(text, k, tools)
        return [self.batches[batch_id] for batch_id, _ in found]


class Builder:
    """One conversation being taken in."""

    def __init__(self, tools: Tools, *, similar: int, temperature: float) -> None:
        """Args:
        tools: models and embedder.
        similar: kept items that an evolution call sees.
        temperature: of sampling.
        """
        self.bank = Bank()
        """What was written."""
        self._tools = tools
        self._similar = similar
        self._temperature = temperature

    def take(self, batch: Batch) -> None:
        """Keep a batch, form memories of it, and let each fact and experience evolve."""
        self.bank.keep_turns(batch, self._tools)
        data = self._formed(batch)
        self._summarise(data, batch)
        self._profile(data, batch)
        kinds: tuple[tuple[Kind, str], ...] = (("fact", "facts"), ("experience", "experiences"))
        for kind, name in kinds:
            for item in _objects(data.get(name)):
                if _text(item, "text"):
                    self._evolve(kind, item, batch)

    def _formed(self, batch: Batch) -> Mapping[str, JsonValue]:
        """The formation call; nothing but the turns is kept of a batch whose reply is unusable."""
        summary = self.bank.memories["summary"].get(batch.turns[0].session_id)
        personas = self.bank.memories["persona"].values()
        profiles = "\n".join(f"{one.name}: {one.text}" for one in personas)
        said = built_data(
            self._tools,
            prompts.FORM,
            f"Summary so far: {summary.text if summary else '(none)'}\n\n"
            f"Profiles so far:\n{profiles or '(none)'}\n\nNew messages:\n{batch.text}",
            schema=prompts.FORM_SCHEMA,
            example=prompts.FORM_EXAMPLE,
            role="extract",
            phase="summary",
            max_tokens=1500,
            temperature=self._temperature,
        )
        return self._counted(said).data

    def _summarise(self, data: Mapping[str, JsonValue], batch: Batch) -> None:
        text = _text(data, "summary")
        if text:
            self._put("summary", batch.turns[0].session_id, text, batch)

    def _profile(self, data: Mapping[str, JsonValue], batch: Batch) -> None:
        for item in _objects(data.get("personas")):
            name, text = _text(item, "name"), _text(item, "profile")
            if name and text:
                self._put("persona", name.casefold(), text, batch, name=name)

    def _put(self, kind: Kind, memory_id: str, text: str, batch: Batch, *, name: str = "") -> None:
        """A summary or persona in its new words."""
        kept = self.bank.memories[kind]
        if memory_id not in kept:
            kept[memory_id] = Memory(
                memory_id=memory_id, kind=kind, text=text, turns=(), said_at=None, name=name
            )
        kept[memory_id].text = text
        kept[memory_id].take(batch)

    def _evolve(self, kind: Kind, item: Mapping[str, JsonValue], batch: Batch) -> None:
        """One call on a new item; without a usable operation it is added."""
        text, start, end = (_text(item, name) for name in ("text", "start", "end"))
        near = self.bank.search(kind, text, self._similar, self._tools)
        said = built_data(
            self._tools,
            prompts.EVOLVE,
            f"New memory ({kind}), said {day_of(batch.said_at) or 'at an unknown time'}:\n"
            f"{_dated(text, start, end)}\n\nKept memories:\n{_listed(near) or '(none)'}",
            schema=prompts.EVOLVE_SCHEMA,
            example=prompts.EVOLVE_EXAMPLE,
            role="manage",
            phase="update",
            max_tokens=500,
            temperature=self._temperature,
        )
        operations = _objects(self._counted(said).data.get("operations"))
        if not operations:
            self.bank.unusable += not said.problem
            operations = [{"action": "add"}]
        labelled = {f"m{place}": one.memory_id for place, one in enumerate(near, start=1)}
        for operation in operations:
            self._apply(kind, operation, item, labelled, batch)

    def _apply(
        self,
        kind: Kind,
        operation: Mapping[str, JsonValue],
        item: Mapping[str, JsonValue],
        labelled: Mapping[str, str],
        batch: Batch,
    ) -> None:
        """One operation. An update of an unknown id adds the item, so that it is not lost."""
        action = operation.get("action")
        target = labelled.get(_text(operation, "id").casefold(), "")
        known = target in self.bank.memories[kind]
        if action == "ignore":
            return
        if action == "delete":
            if known:
                self.bank.drop(kind, target)
            self.bank.unusable += not known
            return
        self.bank.unusable += action == "update" and not known
        text = _text(operation, "text") or _text(item, "text")
        start = _text(operation, "start") or _text(item, "start")
        end = _text(operation, "end") or _text(item, "end")
        if action == "update" and known:
            self._change(self.bank.memories[kind][target], text, start, end, batch)
            return
        memory = Memory(
            memory_id=self.bank.new_id(),
            kind=kind,
            text=text,
            turns=batch.turns,
            said_at=batch.said_at,
            start=start,
            end=end,
        )
        self.bank.add(kind, memory, self._tools)

    def _change(self, memory: Memory, text: str, start: str, end: str, batch: Batch) -> None:
        memory.text = text
        memory.start, memory.end = start or memory.start, end or memory.end
        memory.take(batch)
        self.bank.reindex(memory, self._tools)

    def _counted(self, said: Said) -> Said:
        """The reply as it is, after counting it if it is of no use."""
        self.bank.unusable += bool(said.problem)
        return said


def _for_vector(turns: Sequence[Turn]) -> str:
    """Turns as lines with the time of the first once, at the end: a time in every line drowns the
    words."""
    said = [f"{turn.speaker}: {turn.body}" for turn in turns]
    return "\n".join(filter(None, [*said, day_of(turns[0].said_at)]))


def _objects(value: JsonValue) -> list[dict[str, JsonValue]]:
    """The objects in a list of a reply."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _text(item: Mapping[str, JsonValue], name: str) -> str:
    """A field as one line; "" if it is missing."""
    return one_line(item.get(name), _LONGEST)


def _dated(text: str, start: str, end: str) -> str:
    period = " to ".join(filter(None, (start, end)))
    return f"{text} (time: {period})" if period else text


def _listed(near: Sequence[Memory]) -> str:
    """Kept items under short labels, with their times."""
    return "\n".join(
        f"m{place}: {_dated(one.text, one.start, one.end)} (said {day_of(one.said_at) or '?'})"
        for place, one in enumerate(near, start=1)
    )
