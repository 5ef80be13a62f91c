"""One page of trainings: tables of what they brought, then their curves."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Sequence

from evimem.eval.reporting.report import Report
from evimem.eval.reporting.training_curves import curve_sections
from evimem.eval.reporting.training_runs import Arm, TrainedRun, arms_of
from evimem.eval.reporting.training_tables import questions_of, table_sections

__all__ = ["training_report"]

_CAVEATS = (
    "J in training and on validation is of other questions than J of a table: only figures of one"
    " table can be compared",
    "arms differ in tokens and calls at the same number of steps: read the cost beside them",
)


def training_report(
    runs: Sequence[TrainedRun], *, title: str, code: str, notes: Sequence[str] = (), seed: int = 0
) -> Report:
    """The page of some trainings.

    Args:
        runs: the trainings (`training_runs.read_runs`).
        title: its head.
        code: version that made the page.
        notes: what must be read first.
        seed: of intervals.

    Raises:
        UsageError: runs cannot share a table.
    """
    arms = arms_of(runs)
    set_id, n = questions_of(arms)
    return Report(
        title=title,
        set_id=set_id,
        n=n,
        manifest=_manifest(arms, code, seed),
        sections=(*table_sections(arms, seed=seed), *curve_sections(arms)),
        caveats=(*notes, *_CAVEATS),
    )


def _manifest(arms: Sequence[Arm], code: str, seed: int) -> dict[str, str]:
    runs = [run for arm in arms for run in arm.runs]
    lines = sorted(f"{run.folder} {run.digest}" for run in runs)
    seeds = sorted({one for arm in arms for one in arm.seeds if one is not None})
    return {
        "code of the page": code,
        "python": platform.python_version(),
        "runs": f"{len(runs)}, sha256 of their sorted names and hashes"
        f" {hashlib.sha256(chr(10).join(lines).encode()).hexdigest()}",
        "seeds": ", ".join(map(str, seeds)) or "none told",
        "seed of intervals": str(seed),
    }
