"""The evidence state in words for a planner's prompt: equal states give equal bytes (MERA-30, 37).

Over its token budget a state is cut in one fixed order, and the text says what is missing. Turns
are named by the handles of the evidence that they carry; ids of turns never appear.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

from evimem.model.evidence import EvidenceItem, EvidenceState
from evimem.model.graph import AttributeVersion, Calculation, Edge, EvidenceGraph, Node
from evimem.query.graph.names import text_key
from evimem.query.graph.times import day_of
from evimem.scoring.tokens import estimate_tokens
from evimem.temporal import render

__all__ = ["ALL", "LeftOut", "Section", "Serialised", "serialise"]

Section = Literal["question", "graph", "queries", "evidence"]
"""What a prompt may show of a state."""

ALL: frozenset[Section] = frozenset(get_args(Section))
"""Every section: what a planner sees."""

_Part = Literal["relations", "attributes", "directions", "nodes", "evidence"]

_LEFT_OUT: dict[_Part, tuple[str, str]] = {
    "relations": ("older relation", "older relations"),
    "attributes": ("older attribute", "older attributes"),
    "directions": ("exhausted direction", "exhausted directions"),
    "nodes": ("inactive entity", "inactive entities"),
    "evidence": ("older record", "older records"),
}
"""What the text calls that which is left out, one and several, in the order of leaving out."""

_GRAPH_PARTS: tuple[_Part, ...] = ("nodes", "relations", "attributes", "directions")
_TITLES = {
    "nodes": "Entities",
    "relations": "Relations",
    "attributes": "Attributes",
    "directions": "Directions searched without result",
    "invalid": "Directions ruled out by evidence",
    "queries": "Queries so far",
    "evidence": "Accepted evidence",
}
"""Titles of the sections, in the order of the text."""

_MANY = 99_999
"""A count whose note is as long as any."""
_ACCENT = re.compile("[À-ɏ]")
"""Letters by which an estimate takes a text for foreign words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """How many elements did not fit."""

    relations: int = 0
    """Relations, the oldest first."""
    attributes: int = 0
    """Attributes: superseded versions first, then the oldest."""
    directions: int = 0
    """Exhausted directions, the oldest first."""
    nodes: int = 0
    """Inactive entities, the oldest first."""
    evidence: int = 0
    """Accepted records, the oldest first; never the last one."""

    @property
    def total(self) -> int:
        """All of them."""
        return self.relations + self.attributes + self.directions + self.nodes + self.evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Serialised:
    """A state in words."""

    text: str
    """The words; ends without a line break."""
    tokens: int
    """Tokens of the text, estimated from above."""
    left_out: LeftOut
    """What did not fit the budget."""
    fits: bool = True
    """False where what may never be left out exceeds the budget by itself."""

    @property
    def trimmed(self) -> bool:
        """True if anything was left out."""
        return self.left_out.total > 0


def serialise(
    state: EvidenceState,
    *,
    token_budget: int,
    sections: frozenset[Section] = ALL,
) -> Serialised:
    """The evidence state, or as much of it as the budget holds.

    Left out first are the oldest relations, then attributes (versions with a newer one first, then
    the oldest), exhausted directions, inactive entities, and older evidence. The question, the
    queries, active entities, invalid directions and the last piece of evidence always stay.

    Args:
        state: the state.
        token_budget: ceiling of estimated tokens.
        sections: what is shown; a prompt that carries the question or the records in another
            place leaves them out here. A state without a graph (MERA-49) has no such section.

    Raises:
        ValueError: the budget is not positive.
    """
    if token_budget < 1:
        raise ValueError(f"a token budget must be positive, got {token_budget!r}")
    lines = _Lines(state, sections)
    gone, tokens = lines.fitting(token_budget)
    return Serialised(
        text=lines.text(gone),
        tokens=tokens,
        left_out=lines.left_out(gone),
        fits=tokens <= token_budget,
    )


@lru_cache(maxsize=8192)  # most lines of a state are those of the round before
def _cost(line: str, foreign: bool) -> int:
    """Tokens of a line with its line break, from above.

    Args:
        line: the line.
        foreign: True if any line has an accented letter: the estimate of the whole text then
            takes every line for foreign words.
    """
    if foreign and not _ACCENT.search(line):
        line += " é"
    return estimate_tokens(line) + 1


class _Lines:
    """Every line of a state, and the order in which lines are left out."""

    def __init__(self, state: EvidenceState, sections: frozenset[Section]) -> None:
        self._question = _question(state)
        graph = state.graph if "graph" in sections else None
        known = graph if graph is not None else EvidenceGraph()
        self._shown = sections if graph is not None else sections - {"graph"}
        handles = _handles(state.evidence)
        names = {node.node_id: _line(node.name) for node in known.nodes}
        exhausted = [d for d in known.directions if d.status == "exhausted"]
        invalid = [d for d in known.directions if d.status == "invalid"]
        self._parts: dict[_Part, list[str]] = {
            "relations": [_edge(e, names, handles) for e in known.edges],
            "attributes": list(_attributes(known.attributes, names, handles)),
            "directions": [f"- {_line(d.text)}" for d in exhausted],
            "nodes": [_node(n, handles) for n in known.nodes],
            "evidence": [_evidence(i, e) for i, e in enumerate(state.evidence, start=1)],
        }
        self._invalid = [
            f"- {_line(d.text)}{': ' if d.why else ''}{_line(d.why)}{_refs(d.refs, handles)}"
            for d in invalid
        ]
        queries = dict.fromkeys(_line(r.text) for r in state.requests)
        self._queries = [f"- {query}" for query in queries]
        old = _superseded(known.attributes)
        newest_last = sorted(range(len(known.attributes)), key=lambda i: (i not in old, i))
        self.order: tuple[tuple[_Part, int], ...] = (
            *(("relations", i) for i in range(len(known.edges))),
            *(("attributes", i) for i in newest_last),
            *(("directions", i) for i in range(len(exhausted))),
            *(("nodes", i) for i, n in enumerate(known.nodes) if not n.active),
            *(("evidence", i) for i in range(len(state.evidence) - 1) if "evidence" in sections),
        )
        """What may be left out, the first first."""

    def fitting(self, budget: int) -> tuple[int, int]:
        """How many lines of the order must go, and what the rest costs at most.

        Costs are added up per line; the estimate of the whole text is never above their sum.
        """
        lines = [line for block in self._blocks({}) for line in block]
        foreign = any(map(_ACCENT.search, lines))
        tokens = sum([_cost(line, foreign) for line in lines])
        noted: set[_Part] = set()
        for gone, (part, place) in enumerate(self.order):
            if tokens <= budget:
                return gone, tokens
            tokens -= _cost(self._parts[part][place], foreign)
            if part not in noted:
                noted.add(part)
                tokens += _cost(_note(part, _MANY), foreign)
        return len(self.order), tokens

    def left_out(self, gone: int) -> LeftOut:
        """The counts for the first `gone` lines of the order."""
        counts: dict[str, int] = {}
        for part, _ in self.order[:gone]:
            counts[part] = counts.get(part, 0) + 1
        return LeftOut(**counts)

    def text(self, gone: int) -> str:
        """The text without the first `gone` lines of the order."""
        out: dict[_Part, set[int]] = {}
        for part, place in self.order[:gone]:
            out.setdefault(part, set()).add(place)
        return "\n\n".join(map("\n".join, self._blocks(out)))

    def _blocks(self, out: Mapping[_Part, Set[int]]) -> Iterator[list[str]]:
        """The lines of each section, without those at the places `out`."""
        if "question" in self._shown:
            yield self._question
        if "graph" in self._shown:
            for part in _GRAPH_PARTS:
                yield self._part(part, out)
            yield _titled("invalid", self._invalid)
        if "queries" in self._shown:
            yield _titled("queries", self._queries)
        if "evidence" in self._shown:
            yield self._part("evidence", out)

    def _part(self, part: _Part, out: Mapping[_Part, Set[int]]) -> list[str]:
        gone = out.get(part, frozenset())
        lines = [line for i, line in enumerate(self._parts[part]) if i not in gone]
        return _titled(part, [_note(part, len(gone)), *lines] if gone else lines)


def _titled(part: str, lines: Sequence[str]) -> list[str]:
    title = _TITLES[part]
    return [f"{title}:", *lines] if lines else [f"{title}: none"]


def _note(part: _Part, count: int) -> str:
    return f"({count} {_LEFT_OUT[part][count > 1]} left out)"


def _line(text: str) -> str:
    """A text on one line: a line break in a name must not look like the next element."""
    return " ".join(text.split())


def _question(state: EvidenceState) -> list[str]:
    asked = state.question.asked_at
    lines = [f"Question: {_line(state.question.text)}"]
    return [*lines, f"Asked at: {asked}"] if asked else lines


def _handle(place: int, item: EvidenceItem) -> str:
    return item.handle or f"e{place}"


def _handles(evidence: Sequence[EvidenceItem]) -> dict[str, str]:
    """Turn id to the handle of the first evidence that carries it."""
    handles: dict[str, str] = {}
    for place, item in enumerate(evidence, start=1):
        for ref in (*item.refs, item.item_id):
            handles.setdefault(ref, _handle(place, item))
    return handles


def _named(refs: Sequence[str], handles: dict[str, str]) -> str:
    """The handles of turns; turns that no accepted evidence carries have no name to show."""
    return ", ".join(dict.fromkeys(handles[ref] for ref in refs if ref in handles))


def _refs(refs: Sequence[str], handles: dict[str, str]) -> str:
    named = _named(refs, handles)
    return f" [{named}]" if named else ""


def _node(node: Node, handles: dict[str, str]) -> str:
    marks = (node.type, "active" if node.active else "inactive", "from the question")
    shown = ", ".join(marks if node.seed else marks[:2])
    return f"- {_line(node.name)} ({shown}){_refs(node.refs, handles)}"


def _edge(edge: Edge, names: dict[str, str], handles: dict[str, str]) -> str:
    ends = names.get(edge.src, "?"), names.get(edge.dst, "?")
    return f"- {ends[0]} -> {_line(edge.label)} -> {ends[1]}{_refs(edge.refs, handles)}"


def _attributes(
    attributes: Sequence[AttributeVersion], names: dict[str, str], handles: dict[str, str]
) -> Iterator[str]:
    several: dict[tuple[str, str], int] = {}
    keys = [(a.node, text_key(a.key)) for a in attributes]
    for key in keys:
        several[key] = several.get(key, 0) + 1
    for attribute, key in zip(attributes, keys, strict=True):
        notes = [f"version {attribute.version}"] if several[key] > 1 else []
        said = day_of(attribute.said_at)
        if said is not None:
            notes.append(f"said {said.isoformat()}")
        if attribute.event_time is not None:
            notes.append(f"happened {_line(render(attribute.event_time, 'mera'))}")
        if attribute.calc is not None:
            notes.append(_calculation(attribute.calc, handles))
        told = f" ({'; '.join(notes)})" if notes else ""
        head = f"- {names.get(attribute.node, '?')}: {_line(attribute.key)} = "
        yield f"{head}{_line(attribute.value)}{told}{_refs(attribute.refs, handles)}"


def _calculation(calc: Calculation, handles: dict[str, str]) -> str:
    operands = [
        f'"{_line(o.value)}"' + (f" {handles[o.ref]}" if o.ref in handles else "")
        for o in calc.operands
    ]
    return f"{calc.kind} of {' and '.join(operands)}"


def _superseded(attributes: Sequence[AttributeVersion]) -> frozenset[int]:
    """Places of versions that are not the newest of their attribute: the one said last, and of
    those the last found."""
    newest: dict[tuple[str, str], tuple[str, int, int]] = {}
    for place, attribute in enumerate(attributes):
        said = day_of(attribute.said_at)
        age = (said.isoformat() if said else "", attribute.version, place)
        key = (attribute.node, text_key(attribute.key))
        newest[key] = max(newest.get(key, age), age)
    kept = {place for _, _, place in newest.values()}
    return frozenset(range(len(attributes))) - kept


def _evidence(place: int, item: EvidenceItem) -> str:
    flagged = " (not verified)" if item.status == "flagged" else ""
    words = [" ".join(part.split()) for part in (item.claim or item.quote).splitlines()]
    return f"{_handle(place, item)}{flagged}: " + "\n    ".join(filter(None, words))
