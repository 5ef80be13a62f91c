"""Replies kept in a file and played again, so that a benchmark can be repeated call for call.

The file holds users' words and the model's replies in plain text. It is made readable for its owner
only, and nothing writes it unless asked to. One JSON object per line; appending is the only write,
so a run that was killed leaves at most a broken last line, which is noted and passed over.

A reply is found by the model asked and everything that was sent (BEN-11); what the call is for does
not matter. Replies to the same request are played in the order recorded, the last one again when
there are no more. Of the errors only those are kept that the same request would meet again: a
prompt that is too long and a request that the server refuses.
"""

from __future__ import annotations

import json
import os
import threading
from collections import Counter
from collections.abc import Collection
from copy import copy
from pathlib import Path
from typing import Any, Literal

from evimem.errors import BadModelRequest, ModelError, PromptTooLong, ProviderError, SettingsError
from evimem.model.chat import ChatReply, ChatRequest
from evimem.model.codec import from_json, to_json

__all__ = ["Mode", "SavedReplies"]

Mode = Literal["record", "replay", "auto"]
"""record: ask always and append; replay: never ask; auto: play what is there, ask and append what
is not."""


class SavedReplies:
    """The replies of one file. Safe to use from several threads; several processes may append."""

    def __init__(self, path: Path, *, mode: Mode = "auto") -> None:
        """Open a file of replies.

        Args:
            path: the file; it is made, for its owner only, at the first reply that is kept.
            mode: see `Mode`.

        Raises:
            SettingsError: replay is asked for and there is no file, or it cannot be read.
        """
        self._path = path
        self._mode = mode
        self._replies: dict[tuple[str, str], list[ChatReply | ModelError]] = {}
        self._played: Counter[tuple[str, str]] = Counter()
        self._lock = threading.Lock()
        self._notes: list[str] = []
        self._whole = True
        if mode != "record":
            self._load()

    @property
    def notes(self) -> tuple[str, ...]:
        """Lines of the file that could not be used."""
        return tuple(self._notes)

    def find(self, model_id: str, request: ChatRequest) -> ChatReply | ModelError | None:
        """The saved reply or error, or None where the model is to be asked.

        Raises:
            ProviderError: in replay mode nothing is saved for the request.
        """
        if self._mode == "record":
            return None
        key = (model_id, request.digest)
        with self._lock:
            known = self._replies.get(key)
            if known:
                place = min(self._played[key], len(known) - 1)
                self._played[key] += 1
                return copy(known[place])  # an error that is raised twice keeps no old traceback
        if self._mode == "auto":
            return None
        raise ProviderError(
            f"{self._path.name} holds no reply of {model_id!r} for role {request.role!r}, prompt "
            f"{request.prompt!r} (request {key[1][:12]}): something that is sent has changed since "
            "it was recorded; record again, or use the code and settings of that run"
        )

    def keep(self, model_id: str, request: ChatRequest, reply: ChatReply | ModelError) -> None:
        """Append a reply, or an error that would come again; other errors are not kept.

        Raises:
            OSError: the file cannot be written.
        """
        if not isinstance(reply, ChatReply | PromptTooLong | BadModelRequest):
            return
        key = (model_id, request.digest)
        entry = {
            "model": model_id,
            "request": key[1],
            "role": request.role,
            "prompt": request.prompt,
            "sources": list(request.sources),
            **_written(reply),
        }
        line = json.dumps(entry, ensure_ascii=True) + "\n"
        with self._lock:
            self._append(line)
            if self._mode == "auto":
                self._replies.setdefault(key, []).append(reply)
                self._played[key] += 1

    def forget(self, turn_ids: Collection[str]) -> int:
        """Drops every reply that may hold words of these turns: of requests that showed one, and of
        those that did not name what they showed (case P074). The file is written anew, so it must
        not be in use by another process.

        Returns:
            How many went.

        Raises:
            OSError: the file cannot be written.
        """
        gone = frozenset(turn_ids)
        with self._lock:
            try:
                raw = self._path.read_bytes()
            except FileNotFoundError:
                return 0
            lines = [line for line in raw.split(b"\n") if line.strip()]
            kept = [line for line in lines if not _may_quote(line, gone)]
            if len(kept) < len(lines):
                part = self._path.with_name(self._path.name + ".partial")
                part.unlink(missing_ok=True)
                handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                with os.fdopen(handle, "wb") as file:
                    file.write(b"".join(line + b"\n" for line in kept))
                os.replace(part, self._path)
            self._replies.clear()
            self._played.clear()
            if self._mode != "record":
                self._load()
            return len(lines) - len(kept)

    def _append(self, line: str) -> None:
        """One write call at the end of the file: lines of several processes do not mix."""
        handle = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            data = line.encode("ascii") if self._whole else b"\n" + line.encode("ascii")
            self._whole = os.write(handle, data) == len(data)
        finally:
            os.close(handle)
        if not self._whole:
            raise OSError(f"{self._path.name}: a reply was saved in part only; is the disk full?")

    def _load(self) -> None:
        try:
            raw = self._path.read_bytes()
        except FileNotFoundError:
            if self._mode == "replay":
                raise SettingsError(
                    f"there is no file of saved replies at {str(self._path)!r}: record one first"
                ) from None
            return
        except OSError as error:
            raise SettingsError(
                f"the saved replies at {str(self._path)!r} cannot be read: {error}"
            ) from error
        self._whole = raw.endswith(b"\n") or not raw
        for number, line in enumerate(raw.split(b"\n"), 1):
            if not line.strip():
                continue
            try:
                entry: Any = json.loads(line)
                key = (str(entry["model"]), str(entry["request"]))
                reply = _read(entry)
            except (ValueError, KeyError, TypeError, RecursionError) as error:
                self._notes.append(f"line {number} is no saved reply and is passed over: {error}")
                continue
            self._replies.setdefault(key, []).append(reply)


def _may_quote(line: bytes, turn_ids: frozenset[str]) -> bool:
    """False only for a saved reply that names its sources, and none of these among them."""
    try:
        entry: Any = json.loads(line)
        sources = entry.get("sources")
    except (ValueError, AttributeError, RecursionError):
        return True
    return not (isinstance(sources, list) and sources and turn_ids.isdisjoint(map(str, sources)))


def _written(reply: ChatReply | PromptTooLong | BadModelRequest) -> dict[str, Any]:
    """A reply or an error as JSON."""
    if isinstance(reply, ChatReply):
        return {"reply": to_json(reply)}
    if isinstance(reply, PromptTooLong):
        usage = {"tokens_in": reply.tokens_in, "tokens_out": reply.tokens_out}
        return {"too_long": {"message": str(reply), **usage}}
    return {"refused": {"message": str(reply)}}


def _read(entry: Any) -> ChatReply | ModelError:
    """What `_written` wrote.

    Raises:
        ValueError, KeyError, TypeError: it is something else.
    """
    if "too_long" in entry:
        return PromptTooLong(
            str(entry["too_long"]["message"]),
            tokens_in=int(entry["too_long"]["tokens_in"]),
            tokens_out=int(entry["too_long"]["tokens_out"]),
        )
    if "refused" in entry:
        return BadModelRequest(str(entry["refused"]["message"]))
    return from_json(ChatReply, entry["reply"])
