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
    │   ├── EmbedderError         the embedder failed, or its weights are not the pinned ones
    │   └── ModelError            a call of a chat model failed
    │       ├── ModelAuthError        the key is missing, wrong or not allowed
    │       ├── RateLimited           too many calls or no quota; carries Retry-After
    │       ├── ModelServerError      the server failed, is not there, or sent no usable body
    │       ├── ModelTimeout          no reply in time
    │       ├── BadModelRequest       the server refused the request as it stands
    │       ├── PromptTooLong         the prompt does not fit the context, or was cut in silence
    │       └── ReplyError            a reply came and cannot be used; carries it
    │           ├── EmptyReply            there are no words in it
    │           ├── RefusedReply          the model declined
    │           ├── TruncatedReply        it ended at the token ceiling; carries what was complete
    │           ├── SchemaEcho            it repeats the schema instead of filling it in
    │           └── InvalidReply          it is no JSON, or does not fit the schema
    ├── BudgetExceeded        the ceiling of calls or tokens of this operation is reached
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
    "BadModelRequest",
    "BankCorrupt",
    "BankLocked",
    "BankReadOnly",
    "BudgetExceeded",
    "DiskFull",
    "EmbedderError",
    "EmbedderMismatch",
    "EmptyReply",
    "EvimemError",
    "ImportFormatError",
    "InvalidReply",
    "ItemError",
    "MissingExtra",
    "ModelAuthError",
    "ModelError",
    "ModelServerError",
    "ModelTimeout",
    "NotABank",
    "NotFound",
    "PromptTooLong",
    "ProviderError",
    "RateLimited",
    "RefusedReply",
    "ReplyError",
    "SchemaEcho",
    "SchemaTooNew",
    "SettingsError",
    "StorageError",
    "TruncatedReply",
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


class ModelError(ProviderError):
    """A call of a chat model failed. The message names the endpoint, never its key."""


class ModelAuthError(ModelError):
    """The key is missing, wrong, or not allowed to use the model."""


class RateLimited(ModelError):
    """Too many calls, or no quota left."""

    def __init__(
        self, message: str, *, retry_after: float | None = None, quota: bool = False
    ) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        """Seconds that the server asks to wait; None if it says nothing."""
        self.quota = quota
        """True: no quota or credit is left, so waiting does not help."""


class ModelServerError(ModelError):
    """The server failed, cannot be reached, or sent a body that is no reply. Worth a retry."""

    def __init__(
        self, message: str, *, retry_after: float | None = None, unreachable: bool = False
    ) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        """Seconds that the server asks to wait; None if it says nothing."""
        self.unreachable = unreachable
        """True: there was no connection, or it broke off."""


class ModelTimeout(ModelError):
    """No reply came in time. Worth a retry."""


class BadModelRequest(ModelError):
    """The server refuses the request as it stands: an unknown model, an unknown field."""


class PromptTooLong(ModelError):
    """The prompt does not fit the model's context, or the server cut it without saying so."""

    def __init__(self, message: str, *, tokens_in: int = 0, tokens_out: int = 0) -> None:
        super().__init__(message)
        self.tokens_in = tokens_in
        """Prompt tokens that the server counted in a reply that had to be thrown away; else 0."""
        self.tokens_out = tokens_out
        """Tokens that it generated for that reply; else 0."""


class ReplyError(ModelError):
    """A reply came and cannot be used."""

    def __init__(self, message: str, *, raw: str = "") -> None:
        super().__init__(message)
        self.raw = raw
        """The reply as it came."""


class EmptyReply(ReplyError):
    """There are no words in the reply."""


class RefusedReply(ReplyError):
    """The model declined to answer. Asking again in the same words is of no use."""


class TruncatedReply(ReplyError):
    """The reply ended at the token ceiling: shorten the input or raise `max_tokens`."""

    def __init__(self, message: str, *, raw: str = "", data: object = None) -> None:
        super().__init__(message, raw=raw)
        self.data = data
        """What of the reply was complete and fits the schema; None if nothing does."""


class SchemaEcho(ReplyError):
    """The reply repeats the schema instead of filling it in."""


class InvalidReply(ReplyError):
    """The reply is no JSON, or does not fit the schema; the message says where."""


class BudgetExceeded(EvimemError):
    """The ceiling of calls or tokens of this operation is reached; nothing more was sent."""


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
