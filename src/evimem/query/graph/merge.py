"""Merge of what a round found into the evidence graph, and the directions that are closed.

Pure functions: a graph and what is new give another graph. Nothing is ever taken out (MERA-28).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from evimem.model.graph import (
    AttributeVersion,
    Direction,
    Edge,
    EvidenceGraph,
    GraphDelta,
    NewAttribute,
    NewEdge,
    NewNode,
    Node,
    NodeType,
)
from evimem.model.time import TimeSpan
from evimem.query.graph.names import (
    CATCH_ALL,
    first_name,
    implied_type,
    is_full_name,
    name_key,
    text_key,
    value_key,
)

__all__ = ["close_exhausted", "merge"]


def merge(graph: EvidenceGraph, delta: GraphDelta) -> EvidenceGraph:
    """G' = Merge(G, dG) (MERA-25, 26, 27).

    - Entities match by normalised name. The first type stays, but a seed that no evidence has
      named yet takes the type that evidence gives, and "state", the type of what is none of the
      others, gives way to another. A person's first name is the same person as the one full name
      that begins with it; two full names are never the same.
    - A node that new evidence names gets its turns and is active again.
    - Equal relations are one, with the turns of both.
    - Equal values of an attribute are one, unless both say when and the days differ; any other
      value is the next version, and all versions stay.
    - A name that only a relation or an attribute mentions becomes a node with the same turns.
    - An invalid direction takes the place of an exhausted one. A node that has the same name as an
      invalid direction is no anchor until other evidence names it.

    Merging the same delta again changes nothing.

    Raises:
        ValueError: an element has no turn that supports it (MERA-23), or a direction of the delta
            is not invalid.
    """
    _check(delta)
    state = _Merging(graph, delta)
    # People's full names first: what a first name means must not depend on the order of a delta.
    for new in sorted(delta.nodes, key=lambda n: n.type != "person" or not is_full_name(n.name)):
        state.add_node(new)
    for edge in delta.edges:
        state.add_edge(edge)
    for attribute in delta.attributes:
        state.add_attribute(attribute)
    for direction in delta.invalid:
        state.add_invalid(direction)
    return state.graph()


def close_exhausted(
    graph: EvidenceGraph, directions: Sequence[str], *, round: int = 0
) -> EvidenceGraph:
    """The graph with directions marked as exhausted (MERA-94).

    A direction that is closed already, as exhausted or invalid, stays as it is; blank ones are
    passed over.

    Args:
        graph: the graph.
        directions: texts of directions whose search brought nothing unseen, or nothing that was
            accepted.
        round: the round that searched them.
    """
    closed = {text_key(d.text): d for d in graph.directions}
    for text in directions:
        if text.strip():
            closed.setdefault(
                text_key(text), Direction(text=text.strip(), status="exhausted", round=round)
            )
    return dataclasses.replace(graph, directions=tuple(closed.values()))


def _check(delta: GraphDelta) -> None:
    parts: tuple[tuple[str, Sequence[NewNode | NewEdge | NewAttribute | Direction]], ...] = (
        ("node", delta.nodes),
        ("relation", delta.edges),
        ("attribute", delta.attributes),
        ("direction", delta.invalid),
    )
    for kind, part in parts:
        for element in part:
            if not element.refs:
                raise ValueError(
                    f"a {kind} has no turn that supports it: {element!r:.200}; drop it or give refs"
                )
    for direction in delta.invalid:
        if direction.status != "invalid":
            raise ValueError(
                f"direction {direction.text!r:.80} of a delta is {direction.status!r}; only"
                " evidence closes through a delta, use close_exhausted"
            )


def _united(first: Iterable[str], second: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*first, *second)))


class _Merging:
    """A graph while a delta goes into it."""

    def __init__(self, graph: EvidenceGraph, delta: GraphDelta) -> None:
        self._nodes = list(graph.nodes)
        self._places = {name_key(n.name): i for i, n in enumerate(graph.nodes)}
        self._edges = {self._edge_key(e): e for e in graph.edges}
        self._attributes = list(graph.attributes)
        self._values: dict[tuple[str, str], list[int]] = {}
        for i, attribute in enumerate(graph.attributes):
            self._values.setdefault((attribute.node, text_key(attribute.key)), []).append(i)
        self._directions = {text_key(d.text): d for d in graph.directions}
        # All full names, old and new: whether a first name is unique must not depend on the order.
        self._full: dict[str, set[str]] = {}
        known = [(n.name, n.type) for n in graph.nodes] + [(n.name, n.type) for n in delta.nodes]
        for name, kind in known:
            if kind == "person" and is_full_name(name):
                self._full.setdefault(first_name(name), set()).add(name_key(name))

    def graph(self) -> EvidenceGraph:
        """The result."""
        return EvidenceGraph(
            nodes=tuple(self._nodes),
            edges=tuple(self._edges.values()),
            attributes=tuple(self._attributes),
            directions=tuple(self._directions.values()),
        )

    # --- nodes ---------------------------------------------------------------------------------

    def add_node(self, new: NewNode) -> None:
        """Merges one described node."""
        place = self._match(new.name, new.type)
        if place is None:
            self._append(new.name, new.type, new.refs, active=new.active)
            return
        old = self._nodes[place]
        # Only the full name of a known first name matches with another key; it tells more.
        renamed = is_full_name(new.name) and name_key(old.name) == first_name(new.name)
        self._nodes[place] = dataclasses.replace(
            old,
            name=new.name if renamed else old.name,
            type=_settled(old, new.type),
            active=old.active or new.active,
            refs=_united(old.refs, new.refs),
        )
        if renamed:
            del self._places[name_key(old.name)]
            self._places[name_key(new.name)] = place

    def _named(self, name: str, refs: tuple[str, ...]) -> str:
        """The id of a node that a relation or an attribute names."""
        place = self._match(name, None)
        if place is None:
            kind = implied_type(name)
            return self._append(name, kind, refs, active=kind != "quantity")
        old = self._nodes[place]
        self._nodes[place] = dataclasses.replace(
            old, active=old.active or old.type != "quantity", refs=_united(old.refs, refs)
        )
        return old.node_id

    def _append(self, name: str, kind: NodeType, refs: tuple[str, ...], *, active: bool) -> str:
        node_id = f"n{len(self._nodes) + 1}"
        self._places[name_key(name)] = len(self._nodes)
        self._nodes.append(Node(node_id=node_id, type=kind, name=name, active=active, refs=refs))
        return node_id

    def _match(self, name: str, kind: NodeType | None) -> int | None:
        """The place of the node that a name means; `kind` None where nothing describes it."""
        key = name_key(name)
        exact = self._places.get(key)
        if exact is not None and (kind != "person" or self._person(key) is not None):
            return exact
        first = first_name(name)
        full = self._full.get(first, set())
        other = None
        if kind in ("person", None) and len(full) == 1:
            if key == first:  # a first name, and the one full name that it may be short for
                other = self._person(next(iter(full)))
            elif exact is None and key in full:  # a full name, and the first name known so far
                other = self._person(first)
        return exact if other is None else other

    def _person(self, key: str) -> int | None:
        place = self._places.get(key)
        return place if place is not None and self._nodes[place].type == "person" else None

    # --- relations, attributes, directions -----------------------------------------------------

    @staticmethod
    def _edge_key(edge: Edge) -> tuple[str, str, str]:
        return edge.src, text_key(edge.label), edge.dst

    def add_edge(self, new: NewEdge) -> None:
        """Merges one relation."""
        edge = Edge(
            src=self._named(new.src, new.refs),
            label=new.label,
            dst=self._named(new.dst, new.refs),
            refs=new.refs,
        )
        key = self._edge_key(edge)
        old = self._edges.get(key)
        self._edges[key] = (
            edge if old is None else dataclasses.replace(old, refs=_united(old.refs, new.refs))
        )

    def add_attribute(self, new: NewAttribute) -> None:
        """Merges one value: into the version that it equals, else as the next version."""
        node = self._named(new.node, new.refs)
        places = self._values.setdefault((node, text_key(new.key)), [])
        place = _equal([(i, self._attributes[i]) for i in places], new)
        if place is not None:
            self._attributes[place] = _completed(self._attributes[place], new)
            return
        versions = [self._attributes[i].version for i in places]
        places.append(len(self._attributes))
        self._attributes.append(
            AttributeVersion(
                node=node,
                key=new.key,
                value=new.value,
                version=max(versions, default=0) + 1,
                refs=new.refs,
                statement=new.statement,
                said_at=new.said_at,
                event_time=new.event_time,
                calc=new.calc,
            )
        )

    def add_invalid(self, new: Direction) -> None:
        """Closes one direction that evidence contradicts; an exhausted one gives way."""
        key = text_key(new.text)
        old = self._directions.get(key)
        if old is None or old.status == "exhausted":
            self._directions.pop(key, None)
            self._directions[key] = new
        else:
            self._directions[key] = dataclasses.replace(old, refs=_united(old.refs, new.refs))
        place = self._places.get(name_key(new.text))
        if place is not None:
            self._nodes[place] = dataclasses.replace(self._nodes[place], active=False)


def _settled(old: Node, kind: NodeType) -> NodeType:
    """The type of a node that evidence describes again."""
    if kind == CATCH_ALL:
        return old.type
    unseen_seed = old.seed and not old.refs
    return kind if unseen_seed or old.type == CATCH_ALL else old.type


def _equal(versions: Sequence[tuple[int, AttributeVersion]], new: NewAttribute) -> int | None:
    """The place of the version that a value repeats: of the same days if there is one, else one
    where only either says when."""
    same = [(i, v) for i, v in versions if value_key(v.value) == value_key(new.value)]
    for i, version in same:
        if _days(version.event_time) == _days(new.event_time):
            return i
    for i, version in same:
        if version.event_time is None or new.event_time is None:
            return i
    return None


def _days(span: TimeSpan | None) -> tuple[object, ...] | None:
    """What equal event times have in common; words only where no days are known."""
    if span is None:
        return None
    if span.start is None and span.end is None:
        return (name_key(span.text), span.anchor)
    return (span.start, span.end)


def _completed(old: AttributeVersion, new: NewAttribute) -> AttributeVersion:
    """A version with the turns of a repetition, and what of it was not known yet.

    An event time comes with the statement that says it.
    """
    told = old
    if old.event_time is None and new.event_time is not None:
        told = dataclasses.replace(
            old,
            event_time=new.event_time,
            statement=new.statement or old.statement,
            said_at=new.said_at or old.said_at,
        )
    return dataclasses.replace(
        told,
        refs=_united(old.refs, new.refs),
        statement=told.statement or new.statement,
        said_at=told.said_at or new.said_at,
        calc=told.calc or new.calc,
    )
