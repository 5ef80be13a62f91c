"""The graph that a question begins with (MERA-24)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from evimem.model.graph import EvidenceGraph, Node, NodeType
from evimem.query.graph.names import CATCH_ALL, name_key, node_type

__all__ = ["MAX_SEEDS", "Seeding", "seed_graph"]

MAX_SEEDS: Final = 6
"""Seeds at most; the paper's trajectory has three."""

_LONGEST_NAME: Final = 120
"""Characters of a seed's name at most; a longer one is no entity."""
_SHARED: Final = 4
"""Letters that words begin with which are forms of one word ("followers", "follow")."""
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Seeding:
    """The first graph, and what was done to get it."""

    graph: EvidenceGraph
    """Seeds only, each active and without turns."""
    notes: tuple[str, ...] = ()
    """Types that were mapped and entities that were left out, each with its reason."""
    fallback: bool = False
    """True where the whole question is the one node."""


def seed_graph(entities: Iterable[tuple[str, str]], question: str) -> Seeding:
    """Seeds from what a model took out of the question; the whole question where that is nothing.

    Args:
        entities: names with their types, best first. A name that shares no word with the question
            is left out, it would be a guess; so are repetitions and what exceeds MAX_SEEDS.
        question: the question's words.
    """
    seeds: dict[str, tuple[str, NodeType]] = {}
    notes: list[str] = []
    for name, given in entities:
        name = " ".join(name.split())
        problem = _problem(name, question)
        if not problem and len(seeds) >= MAX_SEEDS and name_key(name) not in seeds:
            problem = f"more than {MAX_SEEDS} seeds"
        if problem:
            notes.append(f"seed {name[:60]!r} left out: {problem}")
            continue
        kind = node_type(given)
        if kind != given.strip().casefold():
            notes.append(f"seed {name!r}: type {given[:40]!r} taken as {kind or CATCH_ALL!r}")
        seeds.setdefault(name_key(name), (name, kind or CATCH_ALL))
    fallback = not seeds
    if fallback:
        seeds[""] = (" ".join(question.split()), CATCH_ALL)
        notes.append("no usable seed: the whole question is the one node")
    nodes = tuple(
        Node(node_id=f"n{i}", type=kind, name=name, seed=True)
        for i, (name, kind) in enumerate(seeds.values(), start=1)
    )
    return Seeding(graph=EvidenceGraph(nodes=nodes), notes=tuple(notes), fallback=fallback)


def _problem(name: str, question: str) -> str:
    if not any(c.isalnum() for c in name):
        return "it has no words"
    if len(name) > _LONGEST_NAME:
        return f"longer than {_LONGEST_NAME} characters"
    if name_key(name) in name_key(question):
        return ""
    asked = {w[:_SHARED] for w in _WORD.findall(question.casefold())}
    own = {w[:_SHARED] for w in _WORD.findall(name_key(name))}
    return "" if asked & own else "it shares no word with the question"
