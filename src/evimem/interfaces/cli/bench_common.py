"""What all benchmark commands need: the version run, the files, an embedder that remembers."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from evimem import __version__
from evimem.compose import build_embedder
from evimem.errors import SettingsError
from evimem.eval.vector_cache import CachedEmbedder
from evimem.interfaces.cli.common import progress_bar
from evimem.ports import Embedder
from evimem.settings import Settings

__all__ = ["Progress", "bench_embedder", "bench_progress", "code_version", "data_path"]

Progress = Callable[[int, int, str], None]


def code_version() -> str:
    """Version, and the commit where this runs from a checkout."""
    done = subprocess.run(
        ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    commit = done.stdout.strip()
    return f"evimem {__version__}" + (f" at {commit}" if commit else "")


def data_path(given: str | None, settings: Settings) -> Path:
    """Where the benchmark files are.

    Raises:
        SettingsError: nobody says where.
    """
    if given:
        return Path(given)
    if settings.data is not None:
        return settings.data
    raise SettingsError("no benchmark files: give --data PATH or set EVIMEM_DATA")


@contextmanager
def bench_embedder(settings: Settings, cache: Path | None) -> Iterator[Embedder | None]:
    """The configured embedder, with its vectors kept on disk between runs."""
    made = build_embedder(settings)
    if made is None:
        yield None
        return
    folder = cache or settings.path.parent / "bench-vectors"
    with CachedEmbedder(made, folder) as cached:
        yield cached


@contextmanager
def bench_progress(quiet: bool) -> Iterator[Progress]:
    """A bar with one task per part of a benchmark."""
    with progress_bar(quiet=quiet) as show:
        yield lambda done, total, label: show(label, done, total)
