"""Names made of parts, so that books, bands and places hardly ever repeat between conversations."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from evimem.datasets.generated.draw import Draw

__all__ = ["compose"]

_TOKEN = re.compile(r"\{(\w+)\}")
_EACH = 160  # composed values per list


def compose(
    parts: Mapping[str, Sequence[str]], patterns: Mapping[str, Sequence[str]]
) -> dict[str, tuple[str, ...]]:
    """About 160 values for every list that has patterns, the same ones always.

    Args:
        parts: words by kind.
        patterns: templates by list, with kinds of words in braces.
    """
    made: dict[str, tuple[str, ...]] = {}
    for name, templates in patterns.items():
        draw = Draw("composed names", name)
        values: dict[str, None] = {}
        for _ in range(_EACH):
            template = draw.one(templates)
            values[_filled(template, parts, draw)] = None
        made[name] = tuple(values)
    return made


def _filled(template: str, parts: Mapping[str, Sequence[str]], draw: Draw) -> str:
    """The template with words in its braces, no word twice."""
    fresh = {
        kind: iter(draw.sample(parts[kind], 2)) for kind in dict.fromkeys(_TOKEN.findall(template))
    }
    return _TOKEN.sub(lambda token: next(fresh[token[1]]), template)
