"""Metrics of a training as JSON lines.

Needs the extra `train` (transformers). A restart takes up the file where its checkpoint lies: lines
of steps that will be done again are taken out, so the file holds one curve.
"""

from __future__ import annotations

import importlib.util
import json
import math
import time
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

__all__ = ["JsonLines", "read_metrics", "reporters"]


def reporters() -> list[str]:
    """Where TRL reports to besides our file: TensorBoard, where it is installed."""
    return ["tensorboard"] if importlib.util.find_spec("tensorboard") else []


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """The lines of a metrics file, in order; none if there is no file yet."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


class JsonLines(TrainerCallback):  # type: ignore[misc]
    """Writes what TRL logs, a line a step."""

    def __init__(self, path: Path) -> None:
        """A writer.

        Args:
            path: the file; it is made with the first line.
        """
        self._path = path
        self._clocks = _clocks()

    def on_train_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        """Takes out lines after the step that the training begins with."""
        if not state.is_world_process_zero:
            return
        self._clocks = _clocks()
        self._path.parent.mkdir(parents=True, exist_ok=True)
        kept = [one for one in read_metrics(self._path) if one["step"] <= state.global_step]
        if not state.global_step:
            kept = []
        text = "".join(f"{json.dumps(one)}\n" for one in kept)
        self._path.write_text(text, encoding="utf-8")

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **more: Any) -> None:
        """Adds a line with what it cost since the last one; what is no number is written as
        null."""
        if not state.is_world_process_zero or not logs or "train_runtime" in logs:
            return
        wall, cpu = _clocks()
        row = {
            "step": state.global_step,
            **{key: _number(value) for key, value in logs.items()},
            "wall_time": wall - self._clocks[0],
            "cpu_time": cpu - self._clocks[1],
        }
        self._clocks = wall, cpu
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{json.dumps(row)}\n")


def _clocks() -> tuple[float, float]:
    """Seconds of the wall's clock and of this process's computing."""
    return time.perf_counter(), time.process_time()


def _number(value: Any) -> float | None:
    number = float(value) if isinstance(value, int | float) else math.nan
    return number if math.isfinite(number) else None
