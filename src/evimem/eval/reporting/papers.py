"""The papers' own figures, by the set of questions that their denominators fit."""

from __future__ import annotations

import json
from importlib import resources

from evimem.datasets import Dataset
from evimem.eval.diagnostics.accuracy import accuracy, judges_of
from evimem.eval.harness.rows import RunData
from evimem.eval.harness.tables import Cell, Section, Table

__all__ = ["papers_section", "published"]

_NOTES = (
    "printed figures have other answer models and judges, named in each row: a difference between"
    " columns is no measure of the system alone",
    "tables of the papers mix question sets; a row stands here only under the set that its"
    " denominator fits",
)


def published(dataset: Dataset) -> list[tuple[str, float, str]]:
    """System, accuracy in percent and where it is printed, for exactly this set; none where no
    paper used it, or where only a part of it is asked."""
    text = (resources.files("evimem.eval.reporting") / "papers.json").read_text(encoding="utf-8")
    known = json.loads(text)["sets"].get(f"{dataset.name}/{dataset.split}")
    if known is None or known["n"] != len(dataset.questions):
        return []
    return [(str(name), float(value), str(where)) for name, value, where in known["rows"]]


def papers_section(data: RunData) -> Section | None:
    """Printed figures beside ours under every judge; None where no paper used this set."""
    rows = published(data.dataset)
    if not rows:
        return None
    judges = judges_of(data)
    ours = {run.name: run for run in data.systems}
    cells: list[tuple[Cell, ...]] = []
    for name, value, where in rows:
        run = ours.get(name)
        reports = [
            None if run is None else accuracy(run, data.dataset, judge=judge) for judge in judges
        ]
        measured = [None if one is None else one.overall.interval for one in reports]
        cells.append((name, value / 100, *measured, where))
    columns = ("system", "printed", *(f"ours, judge {one}" for one in judges), "printed in")
    return Section(
        name="papers",
        title="The papers' own figures",
        tables=(
            Table(
                title=f"Accuracy over the same {len(data.dataset.questions):,} questions",
                columns=columns,
                rows=tuple(cells),
                percent=columns[1:-1],
                ids=("X1", "X2", "X10", "MERA-71"),
            ),
        ),
        notes=_NOTES,
    )
