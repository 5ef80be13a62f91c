"""Archives, read as streams under limits. Never unpacked to disk, never trusted by name.

Every limit is checked on the directory of the archive before any entry is read; zipfile then never
gives more bytes than the directory declares.
"""

from __future__ import annotations

import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from evimem.errors import ImportFormatError, UnsafeArchive
from evimem.importers._faults import shown
from evimem.importers.options import ImportOptions

__all__ = ["BROKEN_ARCHIVE", "PACKED", "Archive", "is_zip", "open_zip"]

BROKEN_ARCHIVE = (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError)
"""What reading a damaged entry raises."""

_RATIO_FROM_BYTES = 1 << 20
PACKED = (".zip", ".jar", ".7z", ".rar", ".tar", ".tgz", ".gz", ".bz2", ".xz", ".zst")
"""How names of packed files end."""


class Archive:
    """The safe entries of an open archive."""

    def __init__(self, archive: zipfile.ZipFile, entries: dict[str, zipfile.ZipInfo]) -> None:
        self._archive = archive
        self._entries = entries

    @property
    def names(self) -> list[str]:
        """Names of all files."""
        return list(self._entries)

    def opener(self, name: str) -> Callable[[], IO[bytes]]:
        """A function that opens one entry as a stream."""
        return lambda: self._archive.open(self._entries[name])


def is_zip(start: bytes) -> bool:
    """True if a file that starts so is an archive."""
    return start in (b"PK\x03\x04", b"PK\x05\x06")


@contextmanager
def open_zip(path: Path, options: ImportOptions) -> Iterator[Archive]:
    """An archive whose every entry passed the limits.

    Raises:
        UnsafeArchive: an entry or the whole breaks a limit; the message names it.
        ImportFormatError: the archive is damaged.
    """
    try:
        archive = zipfile.ZipFile(path)
    except BROKEN_ARCHIVE as error:
        raise ImportFormatError(
            f"{path.name!r} is a damaged archive ({error}); download or copy it again"
        ) from error
    with archive:
        yield Archive(archive, _checked(path.name, archive, options))


def _checked(
    name: str, archive: zipfile.ZipFile, options: ImportOptions
) -> dict[str, zipfile.ZipInfo]:
    infos = archive.infolist()
    if len(infos) > options.max_entries:
        raise UnsafeArchive(
            f"{name!r} has {len(infos)} entries, more than max_entries={options.max_entries}"
        )
    total = sum(info.file_size for info in infos)
    if total > options.max_total_bytes:
        raise UnsafeArchive(
            f"{name!r} unpacks to {total} bytes, more than max_total_bytes="
            f"{options.max_total_bytes}"
        )
    entries: dict[str, zipfile.ZipInfo] = {}
    for info in infos:
        _check_entry(name, info, options)
        if info.is_dir() or info.filename.startswith("__MACOSX/"):
            continue
        key = info.filename.replace("\\", "/")
        if key in entries:
            raise UnsafeArchive(f"{name!r} holds two entries named {shown(key)}")
        entries[key] = info
    return entries


def _check_entry(name: str, info: zipfile.ZipInfo, options: ImportOptions) -> None:
    # orig_filename: zipfile cuts names at a NUL, which would hide what follows.
    entry = info.orig_filename
    parts = entry.replace("\\", "/").split("/")
    problem = ""
    if entry.startswith(("/", "\\")) or (len(entry) > 1 and entry[1] == ":"):
        problem = "an absolute path"
    elif ".." in parts:
        problem = "a path that leaves the archive"
    elif "\0" in entry:
        problem = "a name with a NUL"
    elif stat.S_ISLNK(info.external_attr >> 16):
        problem = "a symbolic link"
    elif info.flag_bits & 0x1:
        problem = "encrypted: unpack it with its password first"
    elif entry.lower().endswith(PACKED):
        problem = "an archive inside the archive: unpack it and import the inner one"
    elif (
        info.file_size > _RATIO_FROM_BYTES
        and info.file_size > max(info.compress_size, 1) * options.max_ratio
    ):
        ratio = info.file_size // max(info.compress_size, 1)
        problem = f"packed {ratio} times, more than max_ratio={options.max_ratio}"
    if problem:
        raise UnsafeArchive(f"{name!r}: entry {shown(entry)} is {problem}")
