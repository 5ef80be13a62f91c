"""One door to all benchmarks: by name under a data folder, or by path."""

from __future__ import annotations

from pathlib import Path

from evimem.datasets.base import Dataset, DatasetName
from evimem.datasets.beam import load_beam
from evimem.datasets.locomo import load_locomo
from evimem.datasets.longmemeval import load_longmemeval
from evimem.datasets.reading import read_json
from evimem.errors import ImportFormatError, UsageError

__all__ = ["find", "load"]

_PLACES: dict[DatasetName, tuple[str, ...]] = {
    "locomo": ("locomo10.json",),
    "longmemeval": (
        *("longmemeval/longmemeval_s_cleaned.json", "longmemeval_s_cleaned.json"),
        *("longmemeval", "longmemeval_oracle.json"),
    ),
    "beam": ("beam_100k",),
}


def find(data_dir: Path) -> dict[DatasetName, Path]:
    """The benchmarks under a folder, by their usual file names; empty if there is none."""
    found: dict[DatasetName, Path] = {}
    for name, places in _PLACES.items():
        for place in places:
            if name not in found and (data_dir / place).exists():
                found[name] = data_dir / place
    return found


def load(name_or_path: str | Path, *, data_dir: Path | None = None) -> Dataset:
    """A benchmark with its usual options (`load_locomo`, ... for the others).

    Args:
        name_or_path: "locomo", "longmemeval" or "beam" under `data_dir`, or the path of a file
            or folder, whose format is recognised by its content.
        data_dir: the folder that holds the benchmarks; needed for a name only.

    Raises:
        UsageError: the name or path leads nowhere.
        ImportFormatError: the file is of no known format, or fails its loader's checks.
    """
    name = str(name_or_path)
    if name in _PLACES:
        if data_dir is None:
            raise UsageError(f"{name!r} needs the folder that holds it (data_dir)")
        path = find(data_dir).get(_as_name(name))
        if path is None:
            raise UsageError(f"{str(data_dir)!r} holds no {' or '.join(_PLACES[_as_name(name)])}")
    else:
        path = Path(name_or_path)
    kind = _as_name(name) if name in _PLACES else _recognise(path)
    if kind == "locomo":
        return load_locomo(path)
    if kind == "beam":
        return load_beam(path)
    return load_longmemeval(path)


def _as_name(text: str) -> DatasetName:
    return next(name for name in _PLACES if name == text)


def _recognise(path: Path) -> DatasetName:
    if path.is_dir():
        return "beam" if any(path.glob("*.chat.json")) else "longmemeval"
    data, _ = read_json(path)
    first = data[0] if isinstance(data, list) and data else data
    if isinstance(first, dict):
        if "sample_id" in first and "conversation" in first:
            return "locomo"
        if "question_id" in first:
            return "longmemeval"
        if "batch_number" in first:
            return "beam"
    raise ImportFormatError(
        f"{path.name!r} is not a benchmark known here: expected LoCoMo (sample_id, conversation),"
        " LongMemEval (question_id, haystack_sessions) or BEAM (batch_number, turns)"
    )
