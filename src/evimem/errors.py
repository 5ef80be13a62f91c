"""Every error that evimem raises on purpose.

The first split tells whose move it is::

    EvimemError
    ├── UsageError            you asked for something that cannot be done as asked
    │   ├── SettingsError         a setting is missing or has a bad value
    │   ├── MissingExtra          the feature needs an optional dependency
    │   ├── ImportFormatError     a file is not of the format it was read as
    │   ├── UnsafeArchive         an archive breaks a safety limit
    │   └── NotFound              no such turn, session, bank or trace in this bank
    ├── ProviderError         something outside (a model, an endpoint) failed
    │   └── EmbedderError         the embedder failed, or its weights are not the pinned ones
    ├── StorageError          the bank's file or server failed
    │   ├── NotABank              the file exists and is not an evimem bank
    │   ├── SchemaTooNew          the file was written by a newer evimem
    │   ├── BankLocked            another process held the write lock too long
    │   ├── BankReadOnly          the file or its disk cannot be written
    │   ├── DiskFull              no space is left; nothing of the failed write was kept
    │   ├── BankCorrupt           the file or a row is damaged
    │   │   └── VectorsDamaged        only vectors are: they can be made again
    │   └── EmbedderMismatch      the bank's vectors come from another embedder
    └── ItemError             one item failed; its neighbours go on

Messages say what was wrong, show the value, and say what to do.
"""

from __future__ import annotations

__all__ = [
    "BankCorrupt",
    "BankLocked",
    "BankReadOnly",
    "DiskFull",
    "EmbedderError",
    "EmbedderMismatch",
    "EvimemError",
    "ImportFormatError",
    "ItemError",
    "MissingExtra",
    "NotABank",
    "NotFound",
    "ProviderError",
    "SchemaTooNew",
    "SettingsError",
    "StorageError",
    "UnsafeArchive",
    "UsageError",
    "VectorsDamaged",
    "missing_extra",
]


class EvimemError(Exception):
    """Root of all errors raised on purpose."""


class UsageError(EvimemError):
    """The call cannot be carried out as asked; the message says how to ask."""


class SettingsError(UsageError):
    """A setting is missing or has a value outside its allowed ones."""


class MissingExtra(UsageError):
    """The feature needs an optional dependency that is not installed."""


class ImportFormatError(UsageError):
    """A file cannot be read as the format it was given or detected as."""


class UnsafeArchive(UsageError):
    """An archive breaks a limit on entries, size, ratio or names."""


class NotFound(UsageError):
    """No such thing in this bank. Foreign and absent look the same."""


class ProviderError(EvimemError):
    """Something outside this process failed."""


class EmbedderError(ProviderError):
    """The embedder failed, or its weights are not the pinned ones."""


class StorageError(EvimemError):
    """The bank's file or server failed."""


class NotABank(StorageError):
    """The file exists and is not an evimem bank."""


class SchemaTooNew(StorageError):
    """The bank was written by a newer evimem."""


class BankLocked(StorageError):
    """Another process held the write lock longer than the busy timeout."""


class BankReadOnly(StorageError):
    """The bank cannot be written; reading still works."""


class DiskFull(StorageError):
    """No space is left. The failed write was rolled back; earlier commits stand."""


class BankCorrupt(StorageError):
    """The file or a row is damaged. Nothing is overwritten."""


class VectorsDamaged(BankCorrupt):
    """Vectors are damaged, the words are not: `evimem reindex` makes them again."""


class EmbedderMismatch(StorageError):
    """The bank's vectors were made by another embedder; `evimem reindex` renews them."""


class ItemError(EvimemError):
    """One item of many failed; the others are not affected."""


def missing_extra(feature: str, extra: str) -> MissingExtra:
    """The error for a feature whose extra is not installed, with the line that installs it."""
    return MissingExtra(f"{feature} needs an optional dependency: pip install 'evimem[{extra}]'")
