"""What a run must say about itself so that it can be repeated and compared (BEN-13)."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping, Sequence

import numpy as np

from evimem.datasets import Dataset
from evimem.ports import Embedder

__all__ = ["make_manifest", "report_notes"]

_LISTED = 3  # more files are named by one hash over all


def make_manifest(
    datasets: Sequence[Dataset],
    *,
    code: str,
    embedder: Embedder | None,
    params: Mapping[str, object] | None = None,
) -> dict[str, str]:
    """Code, data hashes, embedder, parameters and machine, all as text.

    Args:
        datasets: what was run; parts of one benchmark share their files.
        code: version and commit.
        embedder: the embedder; None: words only.
        params: whatever else was chosen: rankers, depth, seed, recipe, budget.
    """
    said = {
        "code": code,
        "embedder": "none" if embedder is None else embedder.model_id,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "machine": f"{platform.system()} {platform.machine()}",
    }
    for dataset in datasets:
        said[f"data {dataset.name}"] = _data(dataset)
    said.update({name: str(value) for name, value in (params or {}).items()})
    return said


def _data(dataset: Dataset) -> str:
    lines = sorted(f"{one.name} sha256 {one.sha256}" for one in dataset.files)
    if len(lines) <= _LISTED:
        return "; ".join(lines)
    together = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    return f"{len(lines)} files, sha256 of their sorted names and hashes {together}"


def report_notes(datasets: Sequence[Dataset]) -> tuple[str, ...]:
    """What must be said beside the figures: notes of the data and repairs while loading."""
    notes: dict[str, None] = {}
    for dataset in datasets:
        notes.update(dict.fromkeys(f"{dataset.name}: {note}" for note in dataset.notes))
        repaired = ", ".join(f"{count} x {why}" for why, count in dataset.repairs.items())
        if repaired:
            notes[f"{dataset.name}: repaired while loading: {repaired}"] = None
    return tuple(notes)
