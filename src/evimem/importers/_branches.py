"""The main line of a conversation that branches where messages were edited or regenerated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

__all__ = ["branches", "main_line"]


def main_line(parents: Mapping[str, str | None], leaf: str) -> list[str]:
    """Ids from the root to `leaf`, by parent pointers. A loop ends where it closes."""
    line: list[str] = []
    seen: set[str] = set()
    at: str | None = leaf
    while at is not None and at in parents and at not in seen:
        seen.add(at)
        line.append(at)
        at = parents[at]
    line.reverse()
    return line


def branches(
    parents: Mapping[str, str | None], line: Sequence[str]
) -> list[tuple[str | None, list[str]]]:
    """What is not on the main line, as alternates: where each leaves what was given before, and
    its ids in order. Every id comes exactly once."""
    given = set(line)
    inner = {parent for parent in parents.values() if parent is not None}
    alternates: list[tuple[str | None, list[str]]] = []
    leaves = [node for node in parents if node not in inner and node not in given]
    for leaf in [*leaves, *parents]:  # the second part catches loops, which have no leaf
        own: list[str] = []
        at: str | None = leaf
        while at is not None and at in parents and at not in given:
            given.add(at)
            own.append(at)
            at = parents[at]
        if own:
            alternates.append((at, own[::-1]))
    return alternates
