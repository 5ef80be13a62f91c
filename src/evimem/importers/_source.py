"""Files to read from: one file, a folder, or an archive, behind one view."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from evimem.errors import UnsafeArchive, UsageError
from evimem.importers._zip import is_zip, open_zip
from evimem.importers.options import ImportOptions
from evimem.model.imports import Skipped

__all__ = ["Bundle", "Source", "open_bundle"]


@dataclass(frozen=True, slots=True)
class Source:
    """One readable file."""

    name: str
    """Its name, or its path inside the folder or archive with "/"."""
    open: Callable[[], IO[bytes]]
    """Opens it anew from its beginning."""

    @property
    def base(self) -> str:
        """The last part of the name."""
        return self.name.rsplit("/", 1)[-1]

    @property
    def folder(self) -> str:
        """The folders before it, empty at the top."""
        return self.name.rpartition("/")[0]


@dataclass(frozen=True, slots=True)
class Bundle:
    """All files of one path."""

    sources: tuple[Source, ...]
    """The files, sorted by name."""
    skipped: tuple[Skipped, ...]
    """Entries that are no plain files."""
    single: bool
    """True if the path was one plain file."""


@contextmanager
def open_bundle(path: Path, options: ImportOptions) -> Iterator[Bundle]:
    """The files of a path; an archive stays open meanwhile. Nothing is unpacked to disk.

    Raises:
        UsageError: no such path, not readable, or neither file nor folder.
        UnsafeArchive: a limit is broken; nothing was read.
    """
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            yield _folder(path, options)
            return
        if not stat.S_ISREG(mode):
            raise UsageError(f"{str(path)!r} is neither a file nor a folder")
        with path.open("rb") as stream:
            packed = is_zip(stream.read(4))
    except OSError as error:
        raise UsageError(f"cannot read {str(path)!r}: {error.strerror or error}") from error
    if packed:
        with open_zip(path, options) as archive:
            names = sorted(archive.names)
            yield Bundle(tuple(Source(n, archive.opener(n)) for n in names), (), False)
    else:
        yield Bundle((Source(path.name, lambda: path.open("rb")),), (), True)


def _folder(root: Path, options: ImportOptions) -> Bundle:
    sources: list[Source] = []
    skipped: list[Skipped] = []
    for folder, folders, files in os.walk(root, followlinks=False):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        here = Path(folder)
        for name in sorted(files):
            file = here / name
            inside = file.relative_to(root).as_posix()
            if name.startswith("."):
                skipped.append(Skipped("hidden_file", inside))
            elif file.is_symlink() or not file.is_file():
                skipped.append(Skipped("not_a_plain_file", inside))
            else:
                sources.append(Source(inside, _opener(file)))
        if len(sources) > options.max_entries:
            raise UnsafeArchive(
                f"{str(root)!r} holds more than {options.max_entries} files; "
                "import a smaller folder or raise max_entries"
            )
    return Bundle(tuple(sorted(sources, key=lambda s: s.name)), tuple(skipped), False)


def _opener(file: Path) -> Callable[[], IO[bytes]]:
    return lambda: file.open("rb")
