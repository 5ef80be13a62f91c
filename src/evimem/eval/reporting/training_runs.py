"""Folders of trainings, read back as values: metrics, report and choice of the start.

Trainers of any kind are read, as long as they write `metrics.jsonl` and `report.json`; nothing of
a trainer is imported.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evimem.errors import UsageError
from evimem.eval.reporting.training_fields import COSTS, Row

__all__ = ["Arm", "TrainedRun", "arms_of", "read_runs"]

METRICS, REPORT, START, CHOICE = "metrics.jsonl", "report.json", "sft.metrics.jsonl", "choice.json"
_SHOWN = 200  # characters of a broken line that a message shows


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedRun:
    """One training."""

    folder: str
    """Its folder with the one above it: enough to find it, no path of a machine."""
    method: str
    """"M0" to "M4", or the folder's name where the report names no variant."""
    schedule: str
    """C:R; empty where there is none."""
    start: str
    """"raw", "after SFT", or empty where the report names no variant."""
    seed: int | None
    """Of the run, where the report tells it."""
    rows: tuple[Row, ...]
    """Metrics of the reinforcement, a step each."""
    start_rows: tuple[Row, ...]
    """Metrics of the supervised start; methods of one folder share them."""
    start_digest: str
    """SHA-256 over the metrics of the start; empty where there is none."""
    start_j: float | None
    """pass@1 of the start on validation, in percent, where checkpoints were chosen among."""
    before: Mapping[str, bool]
    """By question: whether the answer was right before the reinforcement; empty: not told."""
    after: Mapping[str, bool]
    """The same after it."""
    told: Mapping[str, Any]
    """The report as it stands; empty for a run that is not done."""
    digest: str
    """SHA-256 over metrics and report."""

    @property
    def answers(self) -> str:
        """The answer model."""
        return str(self.told.get("answers", "unnamed"))

    @property
    def judge(self) -> str:
        """The judge."""
        return str(self.told.get("judge", "unnamed"))

    def cost(self, name: str) -> float | None:
        """The sum of a cost of `training_fields.COSTS` over the reinforcement; None: not logged."""
        return _cost(self.rows, name)

    def start_cost(self, name: str) -> float | None:
        """The same of the supervised start."""
        return _cost(self.start_rows, name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """Runs that differ by their seed only."""

    method: str
    """Of all of them."""
    schedule: str
    """Of all of them."""
    start: str
    """Of all of them."""
    runs: tuple[TrainedRun, ...]
    """By seed."""

    @property
    def name(self) -> str:
        """What it is called in a table of all arms."""
        start = f" ({self.start})" if self.start else ""
        return f"{self.label}{start}"

    @property
    def label(self) -> str:
        """What it is called among arms of one start."""
        return f"{self.method} {self.schedule}".strip()

    @property
    def seeds(self) -> tuple[int | None, ...]:
        """The seeds, in the order of the runs."""
        return tuple(one.seed for one in self.runs)


def read_runs(folders: Sequence[Path]) -> list[TrainedRun]:
    """Trainings of folders, each a run itself or a folder of runs.

    Args:
        folders: where `metrics.jsonl` or `report.json` lie, in them or one level below.

    Raises:
        UsageError: a folder is not there or holds no run, a file is broken, or a run comes twice.
    """
    places: dict[Path, None] = {}
    for folder in folders:
        found = [one for one in (folder, *_below(folder)) if _is_run(one)]
        if not found:
            why = "is no folder" if not folder.is_dir() else f"holds neither {METRICS} nor {REPORT}"
            raise UsageError(
                f"no training run at {str(folder)!r}: it {why}; give the folder that a training"
                " wrote to"
            )
        # A folder of methods may hold metrics of its own only if it is a run itself.
        places.update(dict.fromkeys(one.resolve() for one in found))
    runs = [_read(one) for one in places]
    known: dict[tuple[str, str, str, int | None], TrainedRun] = {}
    for run in runs:
        key = (run.method, run.schedule, run.start, run.seed)
        if run.start and key in known:
            raise UsageError(
                f"{run.folder!r} and {known[key].folder!r} are both {run.method} {run.schedule},"
                f" {run.start}, seed {run.seed!r}: give one of them"
            )
        known[key] = run
    return runs


def arms_of(runs: Iterable[TrainedRun]) -> list[Arm]:
    """The runs, those that differ by the seed together; by start, method and schedule."""
    grouped: dict[tuple[str, str, tuple[int, ...], str], list[TrainedRun]] = {}
    for run in runs:
        alone = "" if run.start else run.folder
        order = tuple(int(one) for one in run.schedule.split(":") if one.isdigit())
        grouped.setdefault((run.start, run.method, order, alone), []).append(run)
    return [
        Arm(
            method=own[0].method,
            schedule=own[0].schedule,
            start=own[0].start,
            runs=tuple(sorted(own, key=lambda one: (one.seed is None, one.seed or 0))),
        )
        for _, own in sorted(grouped.items())
    ]


def _below(folder: Path) -> list[Path]:
    return sorted(one for one in folder.iterdir() if one.is_dir()) if folder.is_dir() else []


def _is_run(folder: Path) -> bool:
    return any((folder / name).is_file() for name in (METRICS, REPORT))


def _read(folder: Path) -> TrainedRun:
    told = _object(folder / REPORT)
    shared = folder if (folder / START).is_file() else folder.parent
    variant = str(told.get("variant", ""))
    start = ""
    if variant:
        start = "raw" if told.get("start") == "base" else "after SFT"
    seed = told.get("seed")
    return TrainedRun(
        folder=f"{folder.parent.name}/{folder.name}",
        method=variant or folder.name,
        schedule=str(told.get("schedule", "")),
        start=start,
        seed=seed if isinstance(seed, int) else None,
        rows=tuple(_lines(folder / METRICS)),
        start_rows=() if start == "raw" else tuple(_lines(shared / START)),
        start_digest="" if start == "raw" else _digest(shared / START),
        start_j=_start_j(_object(shared / CHOICE), str(told.get("start", ""))),
        before=_labels(told.get("before")),
        after=_labels(told.get("after")),
        told=told,
        digest=_digest(folder / METRICS, folder / REPORT),
    )


def _object(path: Path) -> dict[str, Any]:
    """A JSON object of a file; empty without the file."""
    if not path.is_file():
        return {}
    try:
        made = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UsageError(
            f"{_near(path)} cannot be read: {error}; run the training again"
        ) from error
    if not isinstance(made, dict):
        raise UsageError(f"{_near(path)} holds {type(made).__name__}, and an object is needed")
    return made


def _lines(path: Path) -> list[Row]:
    """The lines of a metrics file, one per step: what several lines of a step cost is added up.

    Raises:
        UsageError: a line is broken, has no step, or goes back to a step before the last one.
    """
    made: list[dict[str, float | None]] = []
    if not path.is_file():
        return []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        row = _line(f"{_near(path)}, line {number}", line)
        last = made[-1] if made else None
        if last is None or (row["step"] or 0) > (last["step"] or 0):
            made.append(row)
            continue
        if row["step"] != last["step"]:
            raise UsageError(
                f"{_near(path)}, line {number}: step {row['step']:g} comes after step"
                f" {last['step']:g}: the file must hold one training"
            )
        costs = {name for names in COSTS.values() for name in names}
        both = {key: (last[key] or 0) + (row[key] or 0) for key in costs & row.keys() & last.keys()}
        last.update({**row, **both})
    return list(made)


def _line(where: str, line: str) -> dict[str, float | None]:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise UsageError(f"{where} is no JSON: {line[:_SHOWN]!r} ({error})") from error
    if not isinstance(row, dict) or not _is_number(row.get("step")):
        raise UsageError(f"{where} is no object with a step: {line[:_SHOWN]!r}")
    return {key: float(value) if _is_number(value) else None for key, value in row.items()}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _labels(value: object) -> dict[str, bool]:
    """Labels by question, where it is that."""
    if isinstance(value, dict) and all(isinstance(one, bool) for one in value.values()):
        return dict(value)
    return {}


def _start_j(choice: Mapping[str, Any], start: str) -> float | None:
    rows = {one.get("name"): one.get("pass_1") for one in choice.get("rows", ())}
    found = rows.get(start)
    return float(found) if isinstance(found, int | float) else None


def _cost(rows: Sequence[Row], name: str) -> float | None:
    found = [
        next((row[one] for one in COSTS[name] if row.get(one) is not None), None) for row in rows
    ]
    values = [one for one in found if one is not None]
    return sum(values) if values else None


def _digest(*paths: Path) -> str:
    made = hashlib.sha256()
    for path in paths:
        made.update(path.read_bytes() if path.is_file() else b"")
        made.update(b"\0")
    return made.hexdigest()


def _near(path: Path) -> str:
    return repr(f"{path.parent.name}/{path.name}")
