"""What the core needs from outside, as narrow protocols over values.

`Store` carries rows and a change feed only and knows no ranking; `Embedder` turns texts into
vectors; `ChatModel` answers a prompt, and `Models` hands one out per role under a budget; `Clock`
says what time it is. The same contract tests run on every implementation.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from evimem.model.chat import ChatReply, ChatRequest, ModelCall, Role
from evimem.model.item import Item, Kind, Link, LinkRole
from evimem.model.turn import Session, Turn
from evimem.trace import Trace

__all__ = [
    "BankStats",
    "BuildRecord",
    "BuildStatus",
    "Change",
    "Changes",
    "ChatModel",
    "Clock",
    "Embedder",
    "EraseReceipt",
    "FloatArray",
    "ModelSession",
    "Models",
    "NewEntry",
    "Pending",
    "Problem",
    "PutReceipt",
    "Reader",
    "Row",
    "Store",
    "TokenArray",
    "VectorRow",
    "Writer",
]

FloatArray = npt.NDArray[np.float32]
TokenArray = npt.NDArray[np.uint32]


class Clock(Protocol):
    """Time, passed in: no memory semantics read the wall clock."""

    def now(self) -> datetime:
        """The current time, with zone."""
        ...


class Embedder(Protocol):
    """Texts to vectors. Implement these; batching and chunking are done by the caller's helpers."""

    @property
    def model_id(self) -> str:
        """Name, revision and normalisation, such as "all-MiniLM-L6-v2-int8@8199be6f/l2"."""
        ...

    @property
    def dim(self) -> int:
        """Length of a vector."""
        ...

    def chunks(self, text: str) -> list[str]:
        """The text as pieces that each fit the model, overlapping; one piece for a short text,
        none for a blank one. Nothing is cut away."""
        ...

    def embed(self, texts: Sequence[str]) -> FloatArray:
        """Unit vectors of shape (len(texts), dim). Each text fits the model (see `chunks`).

        Raises:
            EmbedderError: the model failed; nothing is returned in part.
        """
        ...


class ChatModel(Protocol):
    """One model behind one role. Wrappers (retry, budget, cache, ...) have the same face."""

    @property
    def model_id(self) -> str:
        """The model asked, as in "qwen3-30b@http://127.0.0.1:8080/v1"; part of cache keys."""
        ...

    @property
    def window(self) -> int:
        """Tokens of prompt and reply together that it takes; 0 if unknown."""
        ...

    def chat(self, request: ChatRequest) -> ChatReply:
        """The reply to one request. With a schema, `data` of the reply is valid by it.

        Raises:
            ModelError: the call failed; see its subclasses for whose move it is.
            BudgetExceeded: the operation's ceiling is reached; nothing was sent.
        """
        ...


class ModelSession(Protocol):
    """The models of one operation (a question, a build): one budget, one ledger.

    Safe to use from several threads.
    """

    def model(self, role: Role, *, slot: str = "") -> ChatModel:
        """The model for a role.

        Args:
            role: what the calls are for.
            slot: the key of the settings that names the endpoint where it is not the role's own
                (recipe mera-small plans with the slot "plan-small").

        Raises:
            SettingsError: no endpoint is set for it; the message says how to set one.
        """
        ...

    @property
    def calls(self) -> Sequence[ModelCall]:
        """Every attempt so far, in the order finished: failed, discarded and replayed ones too."""
        ...


class Models(Protocol):
    """All endpoints that the settings name."""

    def session(
        self, *, max_calls: int | None = None, max_tokens: int | None = None
    ) -> ModelSession:
        """A session under a budget: the smaller of what is asked and the operator's ceiling.

        The last call's worth of a question's budget is kept for the role `answer`.
        """
        ...

    def forget(self, turn_ids: Collection[str]) -> int:
        """Drop saved replies that may hold words of erased turns; how many. Most sets of endpoints
        save none."""
        ...

    def describe(self) -> Mapping[str, str]:
        """Role or slot -> model, endpoint and strategy in words, for `doctor`; no keys."""
        ...


BuildStatus = Literal["done", "fallback", "refused", "failed"]
"""done: facts (or none) came out; fallback: the reply was unusable twice and the turn stands as
one flagged fact; refused: the model declined; failed: the provider failed, worth a retry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildRecord:
    """What a builder did with one turn, or with the batch of turns that begins with it. Erased with
    the turn."""

    turn_id: str
    """The turn."""
    builder: str
    """Which builder, such as "facts"."""
    key: str
    """Hash of model, prompt and everything sent: another key means that it must be done again."""
    status: BuildStatus
    """What came of it."""
    items: int = 0
    """Items stored; of a builder of episodes, the turns that its episodes hold; of the manager of
    records, the number of the event that the turn is in."""
    attempts: int = 1
    """Calls made for it, over all runs."""
    detail: str = ""
    """Why, for every status but a plain done."""
    raw: str = ""
    """The last unusable reply, shortened; empty where the reply was used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEntry:
    """A turn or an item on its way in, with what the analyzer made of it."""

    value: Turn | Item
    """What to store."""
    tokens: bytes
    """Token ids in the order of the text, little-endian uint32."""
    traits: int = 0
    """Bits the analyzer found in the text (see retrieval.analyzer.Trait)."""
    analyzer: int = 0
    """Version of the analyzer that made the tokens, stored with them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PutReceipt:
    """What a write did, by id."""

    stored: tuple[str, ...] = ()
    """New."""
    unchanged: tuple[str, ...] = ()
    """Already there with the same content."""
    updated: tuple[str, ...] = ()
    """Already there with other content; the new content replaced it, the old is in the history."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EraseReceipt:
    """What an erasure removed. Counts are of rows; the ids are opaque and carry no text."""

    turns: tuple[str, ...] = ()
    """Ids of erased turns."""
    items: tuple[str, ...] = ()
    """Ids of erased items: every one whose sources are all gone."""
    sessions: tuple[str, ...] = ()
    """Ids of sessions left with no turn, erased with their titles."""
    vectors: int = 0
    """Erased vectors."""
    traces: int = 0
    """Erased traces that quoted the erased text."""
    changes_blanked: int = 0
    """Entries of the change log whose text was blanked."""
    unlinked: tuple[str, ...] = ()
    """Items with other live sources: they stay and lost the erased ones."""
    scrubbed: bool = True
    """True if the files were checkpointed and hold no byte of the text; False if a long reader
    held the log (run `evimem doctor` later)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One live entry as the index needs it."""

    row: int
    """Row number, unique in the bank, never reused. It stands for one text: an entry whose text
    changes gets a new number, so a vector can never meet another text than its own."""
    item_id: str
    """Id of the turn or item."""
    kind: Kind
    """Its space."""
    session_id: str
    """Session, empty for items over several."""
    index: int
    """Position in the session; 0 for items."""
    speaker: str
    """Speaker's name."""
    role: str
    """Turn role; empty for items."""
    said_at: int | None
    """Milliseconds since 1970 UTC (negative before); None if unknown."""
    traits: int
    """Analyzer bits."""
    tokens: TokenArray
    """Token ids in order, shape (length,)."""
    parents: tuple[str, ...] = ()
    """Ids of the turns an item is openly linked to (hidden links left out); empty for turns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorRow:
    """One vector of one piece of an entry."""

    row: int
    """The entry's row number."""
    part: int
    """Which piece of its text, from 0."""
    vector: npt.NDArray[np.float16]
    """Unit vector, shape (dim,)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What happened in a bank since a generation.

    Apply `removed` first, then `rows`, then `vectors`. A row number that comes again has the same
    text with other tokens, session or parents; its vectors stay as they are.
    """

    generation: int
    """The bank's generation now; ask for changes since this one next time."""
    reset: bool = False
    """True: forget everything known of the bank first (first load, or the feed was trimmed)."""
    removed: tuple[int, ...] = ()
    """Row numbers that are gone."""
    rows: tuple[Row, ...] = ()
    """New or changed rows."""
    vectors: tuple[VectorRow, ...] = ()
    """New vectors of the embedder asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One entry of the change log."""

    seq: int
    """Order within the bank."""
    item_id: str
    """What changed."""
    op: str
    """put, revise, retire, erase."""
    version: int
    """Version after the change."""
    at: datetime
    """When, with zone."""
    text: str | None
    """Text before the change; None where there was none or it was erased."""
    reason: str = ""
    """Why, where the writer said so; blank once the text is erased."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """An entry that has no vector of the asked embedder yet."""

    row: int
    """Its row number."""
    item_id: str
    """Its id."""
    text: str
    """The text to embed (a turn's body; of an item, its keywords and topics too)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BankStats:
    """Counts of one bank."""

    bank: str
    """Its name."""
    turns: int = 0
    """Live turns."""
    blank: int = 0
    """Live turns without words, of which nothing is built."""
    items: Mapping[str, int] = field(default_factory=dict)
    """Live items per kind."""
    sessions: int = 0
    """Sessions."""
    vectors: int = 0
    """Entries with a vector of the bank's embedder."""
    pending: int = 0
    """Entries that wait for one."""
    traces: int = 0
    """Stored traces."""
    embedder: str | None = None
    """The embedder that the bank's vectors come from; None before the first one."""
    dim: int | None = None
    """Its dimension."""
    analyzers: tuple[int, ...] = ()
    """Analyzer versions that live entries' tokens come from, ascending."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Something that `doctor` found."""

    what: str
    """What is wrong, with the value."""
    todo: str
    """What to do."""
    severity: str = "error"
    """error or warning."""


class Reader(Protocol):
    """One consistent view of one bank."""

    def changes(self, since: int, *, embedder: str | None = None) -> Changes:
        """Rows, vectors and removals after generation `since` (0: everything).

        Raises:
            BankCorrupt: a row's checksum does not fit; the message names the row.
            VectorsDamaged: only a vector's does not; without an embedder the rows still come.
        """
        ...

    def generation(self) -> int:
        """The bank's generation; equal means nothing changed (a few microseconds)."""
        ...

    def get(self, ids: Sequence[str]) -> list[Turn | Item]:
        """Live entries in the order of `ids`; absent and foreign ones are left out."""
        ...

    def resolve(self, ref: str) -> str | None:
        """The id for a turn id, item id or source id ("D1:3"); None if there is none. Where a turn
        and what was built from it share a source id, the turn is meant.

        Raises:
            UsageError: several entries share that source id; the message lists them.
        """
        ...

    def session(self, session_id: str) -> list[Turn]:
        """The session's live turns in order."""
        ...

    def sessions(self) -> list[Session]:
        """All sessions by time, unknown times last."""
        ...

    def entries(self, *, after: int = 0, limit: int = 1000) -> list[tuple[int, Turn | Item]]:
        """A page of live entries by row number, for export and paging."""
        ...

    def links(self, ids: Sequence[str], role: LinkRole | None = None) -> dict[str, list[Link]]:
        """Outgoing links per id."""
        ...

    def derived(self, ids: Sequence[str]) -> dict[str, list[str]]:
        """Ids of live items that openly link to each id (hidden links left out)."""
        ...

    def history(self, item_id: str) -> list[Change]:
        """The change log of one entry, oldest first."""
        ...

    def log(self, kind: Kind) -> list[Change]:
        """The change log of every entry of a kind, live and retired ones, oldest first; of erased
        ones nothing."""
        ...

    def retired(self, ids: Sequence[str]) -> list[Item]:
        """Retired items as they were last; live, erased and absent ones are left out."""
        ...

    def pending(self, embedder: str, *, after: int = 0, limit: int = 256) -> list[Pending]:
        """Entries with text and no vector of that embedder, by row number."""
        ...

    def embedder(self) -> tuple[str, int] | None:
        """Model id and dimension of the bank's vectors; None before the first one."""
        ...

    def builds(self, builder: str, *, turns: Sequence[str] | None = None) -> dict[str, BuildRecord]:
        """What a builder did so far, by turn id: with all turns, or with these."""
        ...

    def traces(self, limit: int = 20) -> list[Trace]:
        """Stored traces, newest first."""
        ...

    def trace(self, trace_id: str) -> Trace | None:
        """One stored trace."""
        ...

    def stats(self) -> BankStats:
        """Counts."""
        ...


class Writer(Reader, Protocol):
    """A write transaction on one bank: all of it is kept, or nothing."""

    def put_sessions(self, sessions: Iterable[Session]) -> None:
        """Add or renew sessions by id."""
        ...

    def put(self, entries: Iterable[NewEntry], *, reason: str = "") -> PutReceipt:
        """Add entries by id; unchanged ones are left alone, changed ones replaced with history, in
        which the reason is kept.

        Same content with other tokens renews the tokens and counts as unchanged. A link's target
        must be in the bank or in the same call.

        Raises:
            UsageError: an item has neither a link nor an outside source, a link's target is not
                there, or a text holds a lone surrogate; the message names the entry.
        """
        ...

    def put_vectors(self, embedder: str, dim: int, vectors: Iterable[VectorRow]) -> int:
        """Store vectors; rows erased meanwhile are passed over. Returns how many were kept.

        Raises:
            EmbedderMismatch: the bank's vectors come from another embedder.
        """
        ...

    def drop_vectors(self) -> int:
        """Delete all vectors and the bank's embedder (for `reindex`). Returns how many."""
        ...

    def retokenise(self, entries: Iterable[NewEntry]) -> int:
        """Replace tokens and traits of live entries, by id, leaving their texts and history alone
        (a new analyzer version; see `Memory.reindex`). Returns how many were found."""
        ...

    def mend(self, make: Callable[[Turn | Item], NewEntry]) -> tuple[list[str], list[str]]:
        """Renew damaged tokens from intact words, reading no token.

        Where an entry's checksum does not fit, it is taken with the tokens that `make` gives for
        its words; if it fits then, only the tokens were damaged, and they are replaced.

        Returns:
            Ids of entries that were mended, and of those whose words are damaged too.
        """
        ...

    def retire(self, item_id: str, *, reason: str) -> None:
        """Take an item out of search; history keeps it.

        Raises:
            NotFound: no such live item.
        """
        ...

    def erase(self, ids: Sequence[str]) -> EraseReceipt:
        """Delete entries for good, with everything derived from them alone, and with what may
        hold their words: every fact, episode or record that was written with one of them in view
        (a hidden link), every episode that has one as a member, every semantic fact with one as a
        parent.
        A semantic fact that was learned from episodes goes with the last of these.

        Absent ids are passed over. `scrubbed` is False until `Store.scrub` ran after the commit.
        """
        ...

    def clear_past(self, ids: Sequence[str], *, traces: Sequence[str] = ()) -> EraseReceipt:
        """Leave no earlier text of entries that stay: blank their change log and what builders
        kept of replies, delete the traces that quote them, and delete the named traces.

        Absent ids are passed over. `scrubbed` is False until `Store.scrub` ran after the commit.
        """
        ...

    def put_builds(self, records: Iterable[BuildRecord]) -> None:
        """Keep what a builder did, one record per turn and builder; a later one replaces it.
        Records of turns erased meanwhile are passed over."""
        ...

    def put_trace(self, trace: Trace) -> bool:
        """Keep a trace; False, and nothing is kept, if something it quotes was erased meanwhile."""
        ...


class Store(Protocol):
    """All banks of one file or server. The bank's name is in every key and statement."""

    def read(self, bank: str) -> AbstractContextManager[Reader]:
        """A consistent view. An unknown bank reads as empty."""
        ...

    def write(self, bank: str) -> AbstractContextManager[Writer]:
        """A write transaction; creates the bank. Never call a model inside it.

        Raises:
            UsageError: the bank's name is not allowed; the message shows the pattern.
            BankLocked, BankReadOnly, DiskFull: as they say.
        """
        ...

    def banks(self) -> list[str]:
        """Names of all banks."""
        ...

    def erase_bank(self, bank: str) -> EraseReceipt:
        """Delete a bank with everything in it."""
        ...

    def scrub(self) -> bool:
        """Leave no deleted byte in any file; True if that succeeded. Called after erasing."""
        ...

    def check(self) -> list[Problem]:
        """Verify files, checksums, counts and links; empty if all is well."""
        ...

    def backup(self, path: Path) -> None:
        """A consistent copy while others write."""
        ...

    def close(self) -> None:
        """Release everything."""
        ...
