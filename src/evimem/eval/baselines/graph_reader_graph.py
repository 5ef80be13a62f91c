"""The graph of GraphReader: key elements as nodes, atomic facts between them, chunks behind."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from evimem.eval.baselines.common import Chunk, encoded, room_of, say_data
from evimem.eval.baselines.graph_reader_prompts import EXTRACT, EXTRACT_EXAMPLE, EXTRACT_SCHEMA
from evimem.eval.harness.system import Tools
from evimem.ports import FloatArray
from evimem.query.calls import one_line
from evimem.query.words import WORD, key, keys
from evimem.scoring.tokens import estimate_tokens

__all__ = ["Fact", "Graph", "Raw", "graph_of", "raw_facts"]

MAX_FACT = 500
"""Characters of an atomic fact that are kept."""
MAX_NAME = 80
"""Characters of a key element that are kept."""
MAX_ELEMENTS = 12
"""Key elements of one fact that are kept."""
_BATCH = 256
_TIME = re.compile(r"^\[[^\]]*\] ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """An atomic fact."""

    text: str
    """The statement."""
    chunk: int
    """Place of the chunk that it comes from."""
    nodes: tuple[int, ...]
    """Its key elements, as nodes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """The conversation as a graph; read-only. Places in its tuples are the ids."""

    chunks: tuple[Chunk, ...]
    """In the order said, so that the next one follows."""
    facts: tuple[Fact, ...]
    """In the order extracted."""
    names: tuple[str, ...]
    """Of every node, its most frequent form."""
    facts_of: tuple[tuple[int, ...], ...]
    """Of every node, its facts in order."""
    vectors: FloatArray
    """Of the names, shape (nodes, dim)."""

    def neighbours(self, node: int) -> list[int]:
        """Nodes that share a fact with a node, those that share most first."""
        shared = Counter(other for fact in self.facts_of[node] for other in self.facts[fact].nodes)
        del shared[node]
        return sorted(shared, key=lambda other: (-shared[other], other))

    def nearest(self, text: str, k: int, nodes: Sequence[int], tools: Tools) -> list[int]:
        """The nodes whose names are nearest to a text by cosine, best first; all of them, in the
        order given, if there are no more than k."""
        if len(nodes) <= k:
            return list(nodes)
        scores = self.vectors[list(nodes)] @ encoded(text, tools)
        return [nodes[place] for place in np.argsort(-scores, kind="stable")[:k].tolist()]

    def find(self, name: str, nodes: Iterable[int]) -> int | None:
        """The node among these that a reply means by a name; None if it means none of them."""
        wanted = rule_key(name)
        return next((node for node in nodes if rule_key(self.names[node]) == wanted), None)


@dataclass(slots=True, kw_only=True)
class Raw:
    """Facts as extracted, before key elements are merged."""

    facts: list[tuple[int, str, list[str]]] = field(default_factory=list)
    """Place of the chunk, the fact, its key elements."""
    unusable: int = 0
    """Chunks whose reply could not be used; their messages stand as facts."""
    dropped: int = 0
    """Facts of usable replies that were left out, as they did not fit the schema."""


def raw_facts(chunks: Sequence[Chunk], tools: Tools, *, max_tokens: int) -> Raw:
    """One call per chunk for its atomic facts and their key elements.

    Args:
        chunks: in the order said.
        tools: the models; the role is `extract`.
        max_tokens: ceiling of a reply, where the window leaves that much.

    Raises:
        ModelError: the model could not be reached.
        BudgetExceeded: the ceiling of calls or tokens is reached.
    """
    raw = Raw()
    model = tools.session.model("extract")
    for place, chunk in enumerate(chunks):
        said = say_data(
            tools,
            EXTRACT,
            chunk.text,
            schema=EXTRACT_SCHEMA,
            example=EXTRACT_EXAMPLE,
            role="extract",
            phase="summary",
            max_tokens=room_of(
                model, fixed=estimate_tokens(EXTRACT.system + chunk.text), reply=60, most=max_tokens
            ),
        )
        raw.dropped += len(said.dropped)
        if said.problem:
            raw.unusable += 1
            raw.facts.extend((place, line, _words(line)) for line in chunk.text.splitlines())
            continue
        items = said.data.get("facts")
        for item in items if isinstance(items, list) else []:
            if not isinstance(item, dict):
                continue
            text = one_line(item.get("fact"), MAX_FACT)
            told = item.get("key_elements")
            names = [one_line(one, MAX_NAME) for one in told] if isinstance(told, list) else []
            if text:
                named = [one for one in names if one][:MAX_ELEMENTS]
                raw.facts.append((place, text, named or _words(text)))
    return raw


def graph_of(
    chunks: Sequence[Chunk],
    raw: Sequence[tuple[int, str, list[str]]],
    tools: Tools,
    *,
    merge: float,
) -> Graph:
    """Merge key elements into nodes and connect them.

    By rule: names with the same stems of content words are one. By meaning: a rarer name joins the
    most similar commoner one from a cosine on, if both have the same digits in them. The most
    frequent form names the node.

    Args:
        chunks: in the order said.
        raw: facts as extracted.
        tools: encodes the names.
        merge: the cosine from which names are one.
    """
    forms: dict[str, Counter[str]] = {}
    for _, _, names in raw:
        for name in names:
            forms.setdefault(rule_key(name), Counter())[name] += 1
    ordered = sorted(forms, key=lambda one: -forms[one].total())
    labels = [forms[one].most_common(1)[0][0] for one in ordered]
    vectors = _encoded(labels, tools)
    heads, node_at = _joined(labels, vectors, merge)
    node_of = dict(zip(ordered, node_at, strict=True))
    facts: list[Fact] = []
    facts_of: list[list[int]] = [[] for _ in heads]
    for place, text, names in raw:
        nodes = tuple(dict.fromkeys(node_of[rule_key(name)] for name in names))
        for node in nodes:
            facts_of[node].append(len(facts))
        facts.append(Fact(text=text, chunk=place, nodes=nodes))
    return Graph(
        chunks=tuple(chunks),
        facts=tuple(facts),
        names=tuple(labels[head] for head in heads),
        facts_of=tuple(tuple(one) for one in facts_of),
        vectors=vectors[heads],
    )


def rule_key(name: str) -> str:
    """What two forms of a key element have in common: the stems of their content words."""
    return " ".join(keys(name)) or " ".join(name.casefold().split())


def _joined(
    labels: Sequence[str], vectors: FloatArray, merge: float
) -> tuple[list[int], list[int]]:
    """Heads (places of labels, commonest first), and of every label the number of its head."""
    heads: list[int] = []
    node_at: list[int] = []
    kept = np.empty_like(vectors)
    for place, label in enumerate(labels):
        scores = kept[: len(heads)] @ vectors[place]
        best = int(np.argmax(scores)) if heads else -1
        if heads and scores[best] >= merge and _digits(label) == _digits(labels[heads[best]]):
            node_at.append(best)
            continue
        kept[len(heads)] = vectors[place]
        node_at.append(len(heads))
        heads.append(place)
    return heads, node_at


def _encoded(labels: Sequence[str], tools: Tools) -> FloatArray:
    """Unit vectors of short names, shape (len(labels), dim)."""
    if not labels:
        return np.zeros((0, tools.embedder.dim), dtype=np.float32)
    parts = [
        tools.embedder.embed(labels[start : start + _BATCH])
        for start in range(0, len(labels), _BATCH)
    ]
    return np.concatenate(parts)


def _digits(text: str) -> str:
    return "".join(one for one in text if one.isdigit())


def _words(text: str) -> list[str]:
    """Content words, each once, as the key elements of a fact that came without any; the time that
    a line begins with is none of them."""
    said = _TIME.sub("", text)
    words = {key(word): word[:MAX_NAME] for word in WORD.findall(said) if key(word)}
    return list(words.values()) or [text[:MAX_NAME]]
