"""A report as a value, and its two written forms beside the page: JSON and Markdown."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evimem.eval.harness.tables import Section, Table
from evimem.eval.reporting.cells import row_words
from evimem.model.codec import to_json

__all__ = ["Report", "as_json", "as_markdown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything that is said of one run. It holds figures and ids, no words of the benchmark."""

    title: str
    """Head."""
    set_id: str
    """The set of questions: benchmark, part, hash of the ids."""
    n: int
    """Questions: the denominator of every accuracy."""
    manifest: Mapping[str, str]
    """What to repeat the run with."""
    sections: tuple[Section, ...]
    """In order."""
    caveats: tuple[str, ...] = ()
    """What must be read before any figure is compared with another."""


def as_json(report: Report) -> str:
    """The report as JSON, for programs."""
    data: Any = to_json(report)
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def as_markdown(report: Report) -> str:
    """The report as Markdown. Plots are named; their values stand in the JSON."""
    lines = [f"# {report.title}", "", f"Set `{report.set_id}`, n = {report.n}.", ""]
    lines += [f"- {_flat(one)}" for one in report.caveats]
    for section in report.sections:
        lines += ["", f"## {section.title}", ""]
        lines += [f"> {_flat(one)}" for one in section.notes]
        for table in section.tables:
            lines += ["", *_table(table)]
        lines += [f"\nPlot: {plot.title}" for plot in section.plots]
    lines += ["", "## Manifest", "", "| field | value |", "|---|---|"]
    lines += [f"| {_flat(key)} | {_flat(value)} |" for key, value in report.manifest.items()]
    return "\n".join(lines) + "\n"


def _table(table: Table) -> list[str]:
    lines = [f"**{_flat(table.title)}**", ""]
    lines.append("| " + " | ".join(map(_flat, table.columns)) + " |")
    lines.append("|" + "---|" * len(table.columns))
    lines += ["| " + " | ".join(map(_flat, row_words(table, row))) + " |" for row in table.rows]
    if table.notes or table.ids:
        lines.append("")
    lines += [f"- {_flat(one)}" for one in table.notes]
    if table.ids:
        lines.append(f"- {', '.join(table.ids)}")
    return lines


def _flat(text: str) -> str:
    """One line that does not end a cell."""
    return " ".join(text.split()).replace("|", "\\|")
