"""Prompts given as files instead of ours: whole templates with named places (QEMem, appendix).

A file `qem.plan.txt`, `qem.construct.txt`, `qem.answer.txt`, `qem.direct.txt` or `qem.retry.txt`
takes the place of our prompt of that name. Places are written {speakers}, {span}, {question},
{need}, {pool}, {previous}, {cards}, {sources} and {prev}; other braces stay as they are. So do
`uni.system.txt`, `uni.answer.txt` ({question}, {memory_block}, {reference_date}, {fallback}) and
`uni.judge.txt` ({question}, {answer}, {response}) for Uni-Mem, and with the same places
`judge.mem0.txt`, `judge.nemori.txt`, `judge.strict.txt`, `judge.longmemeval.txt` and its kinds
(`judge.longmemeval.temporal.txt`, ...) for the judges of the benchmark.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from evimem.errors import UsageError
from evimem.model.ids import content_hash

__all__ = ["NAMES", "filled", "read_templates", "tag_of"]

_JUDGED = frozenset({"question", "answer", "response"})

NAMES: Mapping[str, frozenset[str]] = {
    "qem.plan": frozenset({"question"}),
    "qem.construct": frozenset({"question", "pool"}),
    "qem.answer": frozenset({"question", "cards", "sources", "pool"}),
    "qem.direct": frozenset({"question", "pool"}),
    "qem.retry": frozenset({"prev"}),
    "uni.system": frozenset(),
    "uni.answer": frozenset({"question", "memory_block"}),
    "uni.judge": _JUDGED,
    "judge.mem0": _JUDGED,
    "judge.nemori": _JUDGED,
    "judge.nemori.system": frozenset(),
    "judge.strict": _JUDGED,
    "judge.longmemeval": _JUDGED,
    "judge.longmemeval.temporal": _JUDGED,
    "judge.longmemeval.update": _JUDGED,
    "judge.longmemeval.preference": _JUDGED,
    "judge.longmemeval.abstention": _JUDGED,
}
"""Prompt -> the places that a template must have."""


def read_templates(folder: Path) -> dict[str, str]:
    """The templates in a folder, by prompt; other files are left alone.

    Raises:
        UsageError: the folder holds none, or one lacks a place that it needs.
    """
    found: dict[str, str] = {}
    for name, places in NAMES.items():
        file = folder / f"{name}.txt"
        if not file.is_file():
            continue
        text = file.read_text(encoding="utf-8")
        missing = sorted(place for place in places if f"{{{place}}}" not in text)
        if missing:
            raise UsageError(f"{str(file)!r} has no place {{{missing[0]}}}: write it where it goes")
        found[name] = text
    if not found:
        raise UsageError(
            f"no prompt in {str(folder)!r}: name files {', '.join(f'{n}.txt' for n in NAMES)}"
        )
    return found


def filled(template: str, places: Mapping[str, str]) -> str:
    """The template with its places filled, in one pass: what is put in is never looked through."""
    parts: list[str] = []
    rest = template
    while rest:
        at = {name: where for name in places if (where := rest.find(f"{{{name}}}")) >= 0}
        if not at:
            break
        name = min(at, key=lambda one: at[one])
        parts += [rest[: at[name]], places[name]]
        rest = rest[at[name] + len(name) + 2 :]
    return "".join([*parts, rest])


def tag_of(name: str, template: str) -> str:
    """What goes on the trace for a prompt from a file."""
    return f"{name}@file#{content_hash(template)[:8]}"
