"""The evidence graph of one question (MERA section 3.3, A.2; MERA-21 to 35, 94).

It holds what was verified and steers what is searched next; it never limits what can be found.
Values only: `query.graph` merges, serialises and calculates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from evimem.model.time import TimeSpan

__all__ = [
    "AttributeVersion",
    "CalcKind",
    "Calculation",
    "Direction",
    "Edge",
    "EvidenceGraph",
    "GraphDelta",
    "NewAttribute",
    "NewEdge",
    "NewNode",
    "Node",
    "NodeType",
    "Operand",
]

NodeType = Literal["person", "organization", "location", "event", "date", "quantity", "state"]
"""Types of nodes (MERA-22)."""

CalcKind = Literal["difference", "sum", "count", "age", "duration"]
"""Explicit calculations (MERA-35)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One entity."""

    node_id: str
    """Short id within the graph: "n1", "n2", ... in the order added."""
    type: NodeType
    """What it is."""
    name: str
    """Its name as first written."""
    active: bool = True
    """True if it can anchor further searches (the X of Eq. 2)."""
    refs: tuple[str, ...] = ()
    """Ids of the turns that support it; empty only for seeds."""
    seed: bool = False
    """True for a node that came from the question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """One directed, labelled relation."""

    src: str
    """Node id."""
    label: str
    """The relation, in words."""
    dst: str
    """Node id."""
    refs: tuple[str, ...]
    """Ids of the turns that support it, never empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operand:
    """One number or date that a calculation used, with where it stands."""

    value: str
    """The value as written: "420", "2023-05-08"."""
    ref: str
    """Id of the turn that states it."""
    statement: str
    """The words around it, as the record has them."""
    said_at: str | None = None
    """ISO 8601 time of the turn; a value such as "last Friday" counts from it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calculation:
    """A value that was worked out from operands, by code and not by a model (MERA-35)."""

    kind: CalcKind
    """What was done."""
    operands: tuple[Operand, ...]
    """What it was done with, in order."""
    result: str
    """The normalised value: "+120", "3", "14 months"."""
    unit: str = ""
    """Unit of the result, where there is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeVersion:
    """One value of a node's attribute; others from other times may stand beside it (MERA-26)."""

    node: str
    """Node id."""
    key: str
    """The attribute: "works at", "followers gained"."""
    value: str
    """The value in words, normalised."""
    version: int
    """1 for the first value of this key at this node, then 2, ..."""
    refs: tuple[str, ...]
    """Ids of the turns that support it, never empty."""
    statement: str = ""
    """The words it was taken from."""
    said_at: str | None = None
    """Turn time: ISO 8601 time of the supporting turn. Never used as event time (MERA-31, 34)."""
    event_time: TimeSpan | None = None
    """Event time, resolved against the turn time; None where no time expression was said."""
    calc: Calculation | None = None
    """How the value was worked out; None where it was stated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Direction:
    """A search direction that needs no more searching (the D of Eq. 2)."""

    text: str
    """The direction, in words."""
    status: Literal["exhausted", "invalid"]
    """exhausted: its search brought nothing unseen, or nothing of it was accepted (MERA-94);
    invalid: accepted evidence contradicts it or shows that it no longer holds (MERA-27)."""
    refs: tuple[str, ...] = ()
    """Ids of the turns that say so; empty for exhausted ones."""
    why: str = ""
    """The reason in words."""
    round: int = 0
    """Round that closed it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceGraph:
    """G = (V, L, X, D, Psi): X is `Node.active`, Psi the `refs` of every element."""

    nodes: tuple[Node, ...] = ()
    """V, in the order added."""
    edges: tuple[Edge, ...] = ()
    """L, in the order added."""
    attributes: tuple[AttributeVersion, ...] = ()
    """Versioned attributes, in the order added."""
    directions: tuple[Direction, ...] = ()
    """D, in the order closed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewNode:
    """A node as evidence names it, before merging."""

    type: NodeType
    """What it is."""
    name: str
    """Its name."""
    refs: tuple[str, ...]
    """Ids of accepted turns."""
    active: bool = True
    """Whether it can anchor further searches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEdge:
    """A relation between names."""

    src: str
    """Name of the source node."""
    label: str
    """The relation."""
    dst: str
    """Name of the target node."""
    refs: tuple[str, ...]
    """Ids of accepted turns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewAttribute:
    """A value of an attribute, before it gets a version."""

    node: str
    """Name of the node."""
    key: str
    """The attribute."""
    value: str
    """The value."""
    refs: tuple[str, ...]
    """Ids of accepted turns."""
    statement: str = ""
    """The words it was taken from."""
    said_at: str | None = None
    """ISO 8601 time of the turn."""
    event_time: TimeSpan | None = None
    """When it happened, where that was said."""
    calc: Calculation | None = None
    """How it was worked out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphDelta:
    """dG: what one round adds (MERA-41). Built from accepted candidates only."""

    nodes: tuple[NewNode, ...] = ()
    """New or known entities."""
    edges: tuple[NewEdge, ...] = ()
    """New or known relations."""
    attributes: tuple[NewAttribute, ...] = ()
    """New or known values."""
    invalid: tuple[Direction, ...] = ()
    """Directions that accepted evidence contradicts."""

    @property
    def empty(self) -> bool:
        """True if it adds nothing."""
        return not (self.nodes or self.edges or self.attributes or self.invalid)
