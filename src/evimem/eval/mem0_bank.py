"""The manager's records in the storage layer of Mem0, with Qdrant in a local folder (UNI-20).

Mem0's vector store is what Mem0 itself writes memories to once it has decided on them; here the
manager decides, so no model reads or rewrites anything and words are stored as given, which is
what `infer=False` means there. A long record has one point per piece, as in every other bank.

Mem0 keeps no log that a bank could be rebuilt from, so one lies beside it: an entry is on disk
before the store changes, and what a kill left undone in between is done at the next open.
"""

from __future__ import annotations

import json
import os
import sys
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

from evimem.errors import (
    BankCorrupt,
    BankLocked,
    EmbedderMismatch,
    NotFound,
    UsageError,
    missing_extra,
)
from evimem.manager.events import Construction
from evimem.manager.memory_bank import MemoryBank, hash_of
from evimem.manager.oplog import replay
from evimem.model.records import MemoryOp, Record
from evimem.ports import Embedder

__all__ = ["Mem0Bank"]

_COLLECTION = "evimem"
_LOG = "ops.jsonl"
_POINTS = uuid.UUID("5b0f6c58-3a52-4c2f-9d0e-0f5f7b1c8a11")
"""Namespace of the ids of points, which Qdrant wants to be UUIDs."""


class Mem0Bank:
    """A `RecordBank` over Mem0's Qdrant store. Not for several threads or processes at once."""

    def __init__(self, path: str | Path, *, embedder: Embedder) -> None:
        """Opens the bank of a folder, or makes an empty one.

        Args:
            path: the folder; everything lies in it.
            embedder: encodes records and queries; the same at every open.

        Raises:
            MissingExtra: Mem0 is not installed.
            BankLocked: it is open elsewhere.
            EmbedderMismatch: another embedder wrote it.
            BankCorrupt: its log cannot be read, or an entry does not follow from those before.
        """
        self._path = Path(path)
        self._embedder = embedder
        self._mem0 = _opened(self._path, embedder.dim)
        try:
            self._past = _read_log(self._path / _LOG, embedder)
            self._pieces: dict[str, int] = {}
            self._repair()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Lets go of the folder."""
        self._mem0.client.close()

    def __enter__(self) -> Mem0Bank:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def search(self, query: str, limit: int) -> Sequence[Record]:
        """The records most like a query by cosine, best first, at most `limit`; among equals the
        one created first.

        Raises:
            EmbedderError: the query could not be encoded.
        """
        asked = self._vectors(query, pieces=1)
        if limit < 1 or not asked:
            return []
        # More than asked for: equals at the cut are all needed to put them in order, and a long
        # record takes several points.
        wanted = limit + 1
        while True:
            points = self._mem0.search(query=query, vectors=asked[0], limit=wanted)
            if len(points) < wanted or points[-1].score < _last_kept(points, limit):
                break
            wanted *= 2
        place = {one: at for at, one in enumerate(self._pieces)}
        best: dict[str, tuple[float, int, Record]] = {}
        for point in points:
            record = _record_of(point.payload)
            if point.payload["part"] >= 0:
                entry = (-point.score, place[record.record_id], record)
                best.setdefault(record.record_id, entry)
        ranked = sorted(best.values(), key=lambda one: one[:2])
        return [record for _, _, record in ranked[:limit]]

    def get(self, record_id: str) -> Record | None:
        """A surviving record; None if there is none of that id."""
        point = self._mem0.get(_point(record_id, 0))
        return None if point is None else _record_of(point.payload)

    def records(self) -> Sequence[Record]:
        """Every surviving record, in the order created."""
        parts = [one.payload for one in self._points() if one.payload["part"] <= 0]
        found = {one["record_id"]: _record_of(one) for one in parts}
        return [found[one] for one in self._pieces]

    def create(self, content: str, event: Construction) -> Record:
        """Inserts content verbatim as a new record, under an id never given before.

        Raises:
            EmbedderError: it could not be encoded; nothing is written.
        """
        vectors = self._vectors(content)
        record = self._past.create(content, event)
        self._log()
        self._write(record, vectors)
        return record

    def update(self, record_id: str, content: str, event: Construction) -> Record:
        """Replaces text and embedding under the same id; provenance grows by the event.

        Raises:
            NotFound: no such record survives.
            EmbedderError: it could not be encoded; nothing is written.
        """
        if self._past.get(record_id) is None:
            raise NotFound(f"no record {record_id!r} in this bank")
        vectors = self._vectors(content)
        record = self._past.update(record_id, content, event)
        self._log()
        self._write(record, vectors)
        return record

    def delete(self, record_id: str, event: Construction) -> None:
        """Removes a record; the log keeps what it said.

        Raises:
            NotFound: no such record survives.
        """
        self._past.delete(record_id, event)
        self._log()
        self._drop(record_id)

    @property
    def ops(self) -> Sequence[MemoryOp]:
        """The modification log, oldest first."""
        return self._past.ops

    @property
    def hash(self) -> str:
        """A hash of all surviving records: equal banks have equal ones."""
        return hash_of(self.records())

    # Parts

    def _vectors(self, text: str, *, pieces: int | None = None) -> list[list[float]]:
        cut = self._embedder.chunks(text)[:pieces]
        return [[float(x) for x in one] for one in self._embedder.embed(cut)] if cut else []

    def _log(self) -> None:
        """Appends the newest entry, and takes it back where that fails."""
        *earlier, op = self._past.ops
        file = self._path / _LOG
        size = file.stat().st_size
        try:
            _append(file, {**asdict(op), "at": _said(op.at)})
        except OSError:
            self._past = replay(earlier)
            os.truncate(file, size)
            raise

    def _write(self, record: Record, vectors: Sequence[Sequence[float]]) -> None:
        """Puts the points of a record in the place of those it had."""
        body = {**asdict(record), "observed_at": _said(record.observed_at)}
        body["data"] = body.pop("content")  # Mem0's name for a memory's words
        parts = list(range(len(vectors)))
        if not vectors:  # a point needs a vector; no search may find it by that one
            vectors, parts = [[0.0] * self._embedder.dim], [-1]
        self._mem0.insert(
            vectors=list(vectors),
            payloads=[{**body, "part": part} for part in parts],
            ids=[_point(record.record_id, max(part, 0)) for part in parts],
        )
        # The last first, so that a kill in between leaves no gap in the count.
        for part in reversed(range(len(parts), self._pieces.get(record.record_id, 0))):
            self._mem0.delete(_point(record.record_id, part))
        self._pieces[record.record_id] = len(parts)

    def _drop(self, record_id: str) -> None:
        for part in reversed(range(self._pieces.pop(record_id))):
            self._mem0.delete(_point(record_id, part))

    def _points(self) -> list[Any]:
        """Every point that Mem0 holds."""
        count = self._mem0.col_info().points_count
        points, _ = self._mem0.list(limit=max(count, 1))
        return list(points)

    def _repair(self) -> None:
        """Brings Mem0 up to the log."""
        held: dict[str, list[Record]] = {}
        for point in self._points():
            record = _record_of(point.payload)
            held.setdefault(record.record_id, []).append(record)
        meant = {one.record_id: one for one in self._past.records()}
        for record_id in [one for one in held if one not in meant]:
            self._pieces[record_id] = len(held[record_id])
            self._drop(record_id)
        for record_id, record in meant.items():
            found = held.get(record_id, [])
            self._pieces[record_id] = len(found)
            pieces = max(len(self._embedder.chunks(record.content)), 1)
            if found != [record] * pieces:
                self._write(record, self._vectors(record.content))


def _opened(path: Path, dim: int) -> Any:
    """Mem0's store in a folder."""
    store = _store_class()
    path.mkdir(parents=True, exist_ok=True)
    try:
        return store(
            collection_name=_COLLECTION,
            embedding_model_dims=dim,
            path=str(path / "qdrant"),
            on_disk=True,
        )
    except RuntimeError as error:  # all that Qdrant says of its lock
        raise BankLocked(f"{str(path)!r} cannot be opened: {error}") from error


def _store_class() -> Any:
    try:
        with _only_a_path("mem0"):
            from mem0.vector_stores.qdrant import Qdrant
    except ImportError as error:
        raise missing_extra("a bank in Mem0's store", "mem0") from error
    return Qdrant


@contextmanager
def _only_a_path(name: str) -> Iterator[None]:
    """Lets modules of a package be imported without its own first module. Mem0's would begin its
    telemetry and make a folder in the home folder, whatever part of it is wanted. Afterwards the
    package is as unimported as before; one that the host imported stays as it is."""
    if sys.modules.get(name) is not None:
        yield
        return
    spec = find_spec(name)
    if spec is None or spec.submodule_search_locations is None:
        raise ImportError(f"no package {name!r}")
    package = ModuleType(name)
    package.__path__ = list(spec.submodule_search_locations)
    sys.modules[name] = package
    try:
        yield
    finally:
        for one in [one for one in sys.modules if one == name or one.startswith(f"{name}.")]:
            del sys.modules[one]


def _point(record_id: str, part: int) -> str:
    return str(uuid.uuid5(_POINTS, f"{part} {record_id}"))


def _last_kept(points: Sequence[Any], limit: int) -> float:
    """The score of the last record that a search returns; of the last point if all are."""
    seen: dict[str, float] = {}
    for point in points:
        if point.payload["part"] >= 0:
            seen.setdefault(point.payload["record_id"], point.score)
    scores = list(seen.values())
    return scores[limit - 1] if len(scores) >= limit else float("-inf")


def _record_of(payload: Mapping[str, Any]) -> Record:
    return Record(
        record_id=payload["record_id"],
        content=payload["data"],
        chunks=tuple(payload["chunks"]),
        refs=tuple(payload["refs"]),
        observed_at=_moment(payload["observed_at"]),
        version=payload["version"],
    )


def _said(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _append(file: Path, value: Mapping[str, Any]) -> None:
    with file.open("a", encoding="ascii", newline="\n") as out:
        out.write(json.dumps(value) + "\n")
        out.flush()
        os.fsync(out.fileno())


def _read_log(file: Path, embedder: Embedder) -> MemoryBank:
    """What the log of a bank leads to; begun where there is none. A last line that a kill cut
    short goes: what it says was never done."""
    raw = file.read_bytes() if file.exists() else b""
    whole = raw.rfind(b"\n") + 1
    if whole < len(raw):
        os.truncate(file, whole)
    lines = raw[:whole].decode("ascii", "replace").splitlines()
    if not lines:
        _append(file, {"embedder": embedder.model_id})
        return MemoryBank()
    try:
        wrote = json.loads(lines[0])["embedder"]
        past = replay(_op_of(json.loads(line)) for line in lines[1:])
    except (ValueError, KeyError, TypeError, UsageError) as error:
        raise BankCorrupt(f"{str(file)!r} is not a log of records: {error}") from error
    if wrote != embedder.model_id:
        raise EmbedderMismatch(
            f"{str(file.parent)!r} was written with the embedder {wrote!r}, not "
            f"{embedder.model_id!r}: open it with that one, or begin another folder"
        )
    return past


def _op_of(value: Mapping[str, Any]) -> MemoryOp:
    return MemoryOp(**{**value, "refs": tuple(value["refs"]), "at": _moment(value["at"])})
