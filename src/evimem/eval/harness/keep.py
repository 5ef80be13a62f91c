"""The folder of a run: its manifest and rows. A run in it goes on where the last one stopped."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

from evimem.errors import UsageError
from evimem.eval.harness.rows import AskRow, BuildRow, JudgeRow, SharedRow
from evimem.eval.rows import Rows
from evimem.model.ids import content_hash
from evimem.trace import Trace

__all__ = ["Keep", "differing", "read_manifest", "refuse_unequal"]

_FREE = ("machine", "python", "numpy")
"""Fields of a manifest that say where a run took place; figures may differ in them."""


_SYSTEM = "system "
"""Begins the fields with one system's parameters: a folder takes more systems later."""


def differing(
    one: Mapping[str, str], two: Mapping[str, str], *, besides: tuple[str, ...] = ()
) -> list[str]:
    """Fields in which two manifests differ, but for those that say where a run took place and those
    in `besides`."""
    free = {*_FREE, *besides}
    return sorted(key for key in {*one, *two} if key not in free and one.get(key) != two.get(key))


def refuse_unequal(
    manifests: Mapping[str, Mapping[str, str]], *, besides: tuple[str, ...] = ()
) -> None:
    """Checks that runs may share a table (BEN-13, MERA-86).

    Args:
        manifests: manifest by the run's name.
        besides: fields that are declared to differ, such as "systems".

    Raises:
        UsageError: two runs differ in another field; the message names fields and values.
    """
    names = list(manifests)
    for name in names[1:]:
        fields = differing(manifests[names[0]], manifests[name], besides=besides)
        if fields:
            first = fields[0]
            raise UsageError(
                f"{names[0]!r} and {name!r} cannot share a table: they differ in "
                f"{', '.join(fields)} ({first}: {manifests[names[0]].get(first)!r} and "
                f"{manifests[name].get(first)!r}); run both the same way, or declare the field"
            )


class Keep:
    """Rows of one run, in a folder or in memory. Not for use from several threads."""

    def __init__(
        self, folder: Path | None, manifest: Mapping[str, str], *, other_code: bool = False
    ) -> None:
        """Open a folder, or make it.

        Args:
            folder: where rows are kept; None keeps nothing after the run.
            manifest: of the run; a folder takes runs of one manifest only.
            other_code: go on with rows of another version; the manifest names both.

        Raises:
            UsageError: the folder holds a run with another manifest.
        """
        self.manifest = dict(manifest)
        """What to repeat the run with."""
        self._folder = folder
        self._traces: dict[tuple[str, str], Trace] = {}
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self.manifest = self._check(folder / "run.json", manifest, other_code)
        self.builds = Rows(BuildRow, lambda r: (r.system, r.history_id), self._at("builds"))
        self.asks = Rows(AskRow, lambda r: (r.system, r.question_id), self._at("asks"))
        self.shared = Rows(
            SharedRow, lambda r: (r.system, r.question_id, r.prompt), self._at("shared")
        )
        self.judged = Rows(
            JudgeRow, lambda r: (r.question_id, r.judge, r.answer), self._at("judged")
        )

    def _at(self, name: str) -> Path | None:
        return None if self._folder is None else self._folder / f"{name}.jsonl"

    @staticmethod
    def _check(path: Path, manifest: Mapping[str, str], other_code: bool) -> dict[str, str]:
        """The manifest that the folder has from now on."""
        known = read_manifest(path.parent) if path.exists() else {}
        made = {**known, **manifest}
        if known:
            only = [key for key in {*known, *manifest} if key.startswith(_SYSTEM)]
            free = [key for key in only if key not in known or key not in manifest]
            fields = differing(known, manifest, besides=(*free, "code") if other_code else (*free,))
            if fields:
                raise UsageError(
                    f"the folder {str(path.parent)!r} holds a run that differs in "
                    f"{', '.join(fields)} ({fields[0]}: {known.get(fields[0])!r}, now "
                    f"{manifest.get(fields[0])!r}): use a new folder, or the settings of that run"
                )
        if known.get("code", made.get("code")) != made.get("code"):
            made["code"] = f"{known['code']}; then {made['code']}"
        path.write_text(json.dumps(made, indent=1), encoding="utf-8")
        return made

    @property
    def skipped(self) -> int:
        """Broken lines that were passed over."""
        return sum(one.skipped for one in (self.builds, self.asks, self.shared, self.judged))

    def put_trace(self, system: str, question_id: str, trace: Trace) -> None:
        """Keep a trace beside its row."""
        if self._folder is None:
            self._traces[(system, question_id)] = trace
            return
        path = self._trace_path(self._folder, system, question_id)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(zlib.compress(json.dumps(trace.to_json()).encode("ascii")))

    def trace(self, system: str, question_id: str) -> Trace | None:
        """The trace of a question; None if none is kept."""
        if self._folder is None:
            return self._traces.get((system, question_id))
        path = self._trace_path(self._folder, system, question_id)
        if not path.exists():
            return None
        return Trace.from_json(json.loads(zlib.decompress(path.read_bytes())))

    @staticmethod
    def _trace_path(folder: Path, system: str, question_id: str) -> Path:
        return folder / "traces" / f"{content_hash(json.dumps([system, question_id]))[:24]}.z"

    def tracer(self, system: str) -> Callable[[str], Trace | None]:
        """`trace` for one system."""
        return lambda question_id: self.trace(system, question_id)


def read_manifest(folder: Path) -> dict[str, str]:
    """The manifest of a folder of rows.

    Raises:
        UsageError: there is none, or it cannot be read.
    """
    path = folder / "run.json"
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return {str(key): str(value) for key, value in data.items()}
    except (OSError, ValueError, AttributeError) as error:
        raise UsageError(
            f"{str(folder)!r} is no folder of a benchmark run: {path.name}: {error}"
        ) from error
