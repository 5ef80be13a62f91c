"""A verifier's reply as a graph delta: only what accepted records support gets through.

A reply names records by handle ("c1" a candidate, "e1" evidence accepted before). What names no
accepted record is left out with a reason (MERA-41, 42), so is a number that no record states: a
model does not calculate here, `calculate` does (MERA-35). Times come from the records' own words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar, get_args

from evimem.model.graph import (
    CalcKind,
    Direction,
    GraphDelta,
    NewAttribute,
    NewEdge,
    NewNode,
    Operand,
)
from evimem.model.time import TimeSpan
from evimem.query.graph.calculate import NotCalculable, calculate, spoken, stands_in
from evimem.query.graph.names import CATCH_ALL, NODE_TYPES, name_key, node_type
from evimem.query.graph.quantities import quantities
from evimem.query.graph.times import day_of, most_telling, same_days, stated
from evimem.query.sentences import sentences
from evimem.query.words import keys
from evimem.temporal import find

__all__ = ["GRAPH_SCHEMA", "Handle", "NewEvidence", "delta_from"]

_Made = TypeVar("_Made", NewNode, NewEdge, NewAttribute, Direction)

_KINDS: Final[tuple[CalcKind, ...]] = get_args(CalcKind)

_LONGEST: Final[Mapping[str, int]] = {"name": 120, "label": 80, "value": 300, "why": 300}
"""Characters at most. What is longer is no name, label, value or reason, and is left out."""
_SHORT: Final = 60
"""Characters of a value that a reason shows."""


def _object(**properties: object) -> dict[str, object]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(items: object) -> dict[str, object]:
    return {"type": "array", "items": items}


_TEXT: Final[dict[str, object]] = {"type": "string"}
_FROM: Final = _list(_TEXT)

GRAPH_SCHEMA: Final[Mapping[str, Any]] = {
    "nodes": _list(
        _object(name=_TEXT, type={"type": "string", "enum": list(NODE_TYPES)}, **{"from": _FROM})
    ),
    "relations": _list(_object(source=_TEXT, label=_TEXT, target=_TEXT, **{"from": _FROM})),
    "attributes": _list(
        _object(entity=_TEXT, key=_TEXT, value=_TEXT, when=_TEXT, **{"from": _FROM})
    ),
    "calculations": _list(
        _object(
            entity=_TEXT,
            key=_TEXT,
            kind={"type": "string", "enum": list(_KINDS)},
            operands=_list(_object(value=_TEXT, **{"from": _TEXT})),
            unit=_TEXT,
        )
    ),
    "invalid": _list(_object(direction=_TEXT, why=_TEXT, **{"from": _FROM})),
}
"""Properties of the verifier's reply that make the graph, in the portable subset; `when` and
`unit` are empty where there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Handle:
    """One record that a model could name."""

    refs: tuple[str, ...]
    """Ids of the turns behind it."""
    said_at: str | None
    """ISO 8601 turn time; None if unknown."""
    text: str
    """What was said, as the model read it, without the line that names speaker and time: every
    number and time in it counts as stated."""
    accepted: bool
    """True if it is accepted evidence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEvidence:
    """What of a reply can enter the graph."""

    delta: GraphDelta
    """The elements, every one supported."""
    dropped: tuple[str, ...] = ()
    """What was left out or changed, each with its reason."""


def delta_from(
    data: Mapping[str, Any], *, handles: Mapping[str, Handle], round: int = 0
) -> NewEvidence:
    """Turns a reply that fits GRAPH_SCHEMA into a delta.

    Elements may also cite records that are not accepted; only the accepted ones become their
    provenance, and an element without any is left out.

    Args:
        data: the reply; properties that are absent count as empty.
        handles: every record that the model could read, by handle.
        round: the round, kept with invalid directions.
    """
    reading = _Reading({key.casefold(): one for key, one in handles.items()}, round)
    return NewEvidence(
        delta=GraphDelta(
            nodes=tuple(reading.each(data, "nodes", reading.node)),
            edges=tuple(reading.each(data, "relations", reading.edge)),
            attributes=(
                *reading.each(data, "attributes", reading.attribute),
                *reading.each(data, "calculations", reading.calculation),
            ),
            invalid=tuple(reading.each(data, "invalid", reading.direction)),
        ),
        dropped=tuple(reading.dropped),
    )


class _Unusable(ValueError):
    """An element that is left out; the message is the reason."""


@dataclass(frozen=True, slots=True)
class _Source:
    """The place in a record that a value was taken from."""

    record: Handle
    """The record."""
    statement: str
    """Its sentence."""


@dataclass(slots=True)
class _Reading:
    """One reply being read."""

    handles: Mapping[str, Handle]
    """Records by handle in lower case."""
    round: int
    """The round."""
    dropped: list[str] = field(default_factory=list)
    """Reasons so far."""

    def each(
        self, data: Mapping[str, Any], name: str, make: Callable[[Mapping[str, Any]], _Made]
    ) -> Iterator[_Made]:
        """The usable elements of a list."""
        given = data.get(name) or ()
        for number, element in enumerate(given if isinstance(given, list | tuple) else (), start=1):
            if not isinstance(element, Mapping):
                self.dropped.append(f"{name} {number} left out: it is no object")
                continue
            try:
                yield make(element)
            except (_Unusable, NotCalculable) as reason:
                self.dropped.append(f"{name} {number}{_label(element)} left out: {reason}")

    # --- elements ------------------------------------------------------------------------------

    def node(self, given: Mapping[str, Any]) -> NewNode:
        """An entity. An amount is no anchor: nobody searches for "540"."""
        name = _text(given, "name", "name")
        word = str(given.get("type", ""))
        kind = node_type(word)
        if kind != word.strip().casefold():
            self.dropped.append(f"node {name!r}: type {word[:40]!r} taken as {kind or CATCH_ALL!r}")
        refs = self._refs(given.get("from"))
        kind = kind or CATCH_ALL
        return NewNode(type=kind, name=name, refs=refs, active=kind != "quantity")

    def edge(self, given: Mapping[str, Any]) -> NewEdge:
        """A relation between two different entities."""
        src, dst = _text(given, "source", "name"), _text(given, "target", "name")
        if name_key(src) == name_key(dst):
            raise _Unusable("it relates an entity to itself")
        label = _text(given, "label", "label")
        return NewEdge(src=src, label=label, dst=dst, refs=self._refs(given.get("from")))

    def attribute(self, given: Mapping[str, Any]) -> NewAttribute:
        """A stated value with the statement it comes from and the event time told there."""
        entity, key = _text(given, "entity", "name"), _text(given, "key", "label")
        value = _text(given, "value", "value")
        records = self._records(given.get("from"))
        source = _source(records, value, (key, entity))
        _check_stated(value, records)
        when = " ".join(str(given.get("when") or "").split())
        statement, time = source.statement, None
        if when:
            statement, time, note = _event_time(when, source, records)
            if note:
                self.dropped.append(f"attribute {entity[:_SHORT]!r} {key!r}: {note}")
        return NewAttribute(
            node=entity,
            key=key,
            value=value,
            refs=_refs_of(records),
            statement=statement,
            said_at=source.record.said_at,
            event_time=time,
        )

    def calculation(self, given: Mapping[str, Any]) -> NewAttribute:
        """A value worked out from what records state; the model's own result is not even read."""
        entity, key = _text(given, "entity", "name"), _text(given, "key", "label")
        kind = next((k for k in _KINDS if k == given.get("kind")), None)
        if kind is None:
            said = str(given.get("kind"))[:_SHORT]
            raise _Unusable(f"{said!r} is no calculation; use one of {', '.join(_KINDS)}")
        parts = given.get("operands") or ()
        if not isinstance(parts, list | tuple) or not all(isinstance(p, Mapping) for p in parts):
            raise _Unusable("its operands are no list of objects")
        found = [self._operand(part) for part in parts]
        unit = " ".join(str(given.get("unit") or "").split())[: _LONGEST["label"]]
        calc = calculate(kind, [operand for operand, _ in found], unit=unit)
        records = [record for _, record in found]
        statements = dict.fromkeys(operand.statement for operand in calc.operands)
        return NewAttribute(
            node=entity,
            key=key,
            value=spoken(calc),
            refs=_refs_of(records),
            statement=" … ".join(statements),
            said_at=max((r.said_at for r in records if r.said_at), default=None),
            calc=calc,
        )

    def direction(self, given: Mapping[str, Any]) -> Direction:
        """A direction that accepted evidence contradicts (MERA-27)."""
        return Direction(
            text=_text(given, "direction", "why"),
            status="invalid",
            refs=self._refs(given.get("from")),
            why=_text(given, "why", "why"),
            round=self.round,
        )

    def _operand(self, given: Mapping[str, Any]) -> tuple[Operand, Handle]:
        value = _text(given, "value", "value")
        for record in self._records(given.get("from")):
            for statement in _statements(record):
                if stands_in(value, statement, said_at=record.said_at):
                    ref, said_at = record.refs[0], record.said_at
                    return Operand(
                        value=value, ref=ref, statement=statement, said_at=said_at
                    ), record
        raise _Unusable(f"operand {value[:_SHORT]!r} does not stand in its record")

    # --- provenance ----------------------------------------------------------------------------

    def _refs(self, given: object) -> tuple[str, ...]:
        return _refs_of(self._records(given))

    def _records(self, given: object) -> list[Handle]:
        """The accepted records that an element names; at least one."""
        names = [given] if isinstance(given, str) else given if isinstance(given, list) else []
        wanted = dict.fromkeys(str(n).strip(" []().").casefold() for n in names)
        known = [self.handles[n] for n in wanted if n in self.handles]
        accepted = [record for record in known if record.accepted and record.refs]
        if not accepted:
            shown = ", ".join(wanted)[:_SHORT]
            state = "none of them accepted" if known else "unknown"
            raise _Unusable(f"no accepted record supports it (from {shown or 'nothing'}: {state})")
        for name in wanted:
            if self.handles.get(name) not in accepted:
                self.dropped.append(
                    f"record {name[:_SHORT]!r} left out of a provenance: it is"
                    f" {'not accepted' if name in self.handles else 'unknown'}"
                )
        return accepted


def _label(element: Mapping[str, Any]) -> str:
    """What identifies an element in a reason."""
    for name in ("name", "entity", "source", "direction"):
        if element.get(name):
            more = element.get("key") or element.get("label") or ""
            return f" ({' '.join(f'{element[name]} {more}'.split())[:_SHORT]!r})"
    return ""


def _text(given: Mapping[str, Any], field_name: str, limit: str) -> str:
    value = given.get(field_name)
    text = " ".join(str(value).split()) if isinstance(value, str | int | float) else ""
    if not text:
        raise _Unusable(f"its {field_name} is empty")
    if len(text) > _LONGEST[limit]:
        raise _Unusable(f"its {field_name} is longer than {_LONGEST[limit]} characters")
    return text


def _refs_of(records: Iterable[Handle]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(ref for record in records for ref in record.refs))


def _statements(record: Handle) -> list[str]:
    """Its sentences, without the dashes that list facts."""
    return [sentence.text.removeprefix("- ") for sentence in sentences(record.text)]


def _source(records: Sequence[Handle], value: str, also: Sequence[str]) -> _Source:
    """The sentence that a value was most likely taken from: one that states it, else the one with
    most of its words."""
    wanted, more = set(keys(value)), {k for text in also for k in keys(text)}
    best, best_fit = _Source(records[0], ""), (-1, -1, -1)
    for record in records:
        for statement in _statements(record):
            held = set(keys(statement))
            states = stands_in(value, statement, said_at=record.said_at)
            fit = (int(states), len(wanted & held), len(more & held))
            if fit > best_fit:
                best, best_fit = _Source(record, statement), fit
    return best


def _check_stated(value: str, records: Sequence[Handle]) -> None:
    """Refuses numbers and dates that no record states: a model worked them out (MERA-35)."""
    dates = [s for s in find(value, None) if s.start is not None or s.end is not None]
    for date in dates:
        if not any(
            stated(date.text, r.text, day_of(r.said_at))
            or same_days(date.text, r.text, day_of(r.said_at))
            for r in records
        ):
            raise _Unusable(f"the time {date.text[:_SHORT]!r} does not stand in its record")
    for amount in quantities(value):
        if any(d.text_start <= amount.start < d.text_end for d in dates):
            continue
        if not any(q.amount == amount.amount for r in records for q in quantities(r.text)):
            number = value[amount.start : amount.end]
            raise _Unusable(
                f"the number {number[:_SHORT]!r} does not stand in its record; what has to be"
                " worked out belongs into calculations"
            )


# --- event times -------------------------------------------------------------------------------


def _event_time(
    when: str, source: _Source, records: Sequence[Handle]
) -> tuple[str, TimeSpan | None, str]:
    """The statement, the event time that `when` names in it, and a note where it names none.

    An expression that stands in another sentence takes that sentence into the statement. A date
    that a model worked out is not taken: where the record says those days in other words, these
    are, else the most telling expression beside the value, else nothing.
    """
    places = [source] + [_Source(r, s) for r in records for s in _statements(r)]
    for read in (stated, same_days):
        for place in places:
            span = read(when, place.statement, day_of(place.record.said_at))
            if span is not None:
                return *_joined(source.statement, place.statement, span), ""
    told = most_telling(source.statement, day_of(source.record.said_at))
    instead = f"{told.text!r} is taken instead" if told is not None else "it has no event time"
    return source.statement, told, f"the time {when[:_SHORT]!r} is not in its record; {instead}"


def _joined(statement: str, other: str, span: TimeSpan) -> tuple[str, TimeSpan]:
    """Both statements as one, with the span at its place in it."""
    if other == statement or not statement:
        return other, span
    joined = f"{statement} … {other}"
    shift = len(joined) - len(other)
    start, end = span.text_start + shift, span.text_end + shift
    return joined, replace(span, text_start=start, text_end=end)
