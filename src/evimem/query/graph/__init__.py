"""The evidence graph of one question: pure functions over frozen values (MERA-21 to 35, 94).

It holds what was verified and steers what is searched next. Nothing here searches, and nothing
that searches looks at it: the graph never limits what can be found (MERA-29).
"""

from __future__ import annotations

from evimem.query.graph.calculate import NotCalculable, calculate, spoken
from evimem.query.graph.delta import GRAPH_SCHEMA, Handle, NewEvidence, delta_from
from evimem.query.graph.merge import close_exhausted, merge
from evimem.query.graph.seeds import MAX_SEEDS, Seeding, seed_graph
from evimem.query.graph.serialise import LeftOut, Serialised, serialise

__all__ = [
    "GRAPH_SCHEMA",
    "MAX_SEEDS",
    "Handle",
    "LeftOut",
    "NewEvidence",
    "NotCalculable",
    "Seeding",
    "Serialised",
    "calculate",
    "close_exhausted",
    "delta_from",
    "merge",
    "seed_graph",
    "serialise",
    "spoken",
]
