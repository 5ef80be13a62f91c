"""A peer at work: its process and the proxy that it takes for its model provider."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from evimem.eval.harness.system import Shown
from evimem.eval.peers.known import PeerKind
from evimem.eval.peers.proxy import ChatHandler, Proxy, Purpose
from evimem.eval.peers.worker import Reply, Worker, adapter_path, peer_command
from evimem.model.turn import History, JsonValue, Turn
from evimem.ports import Embedder

__all__ = ["LivePeer", "given_turns", "shown_of"]


class LivePeer:
    """One conversation's process. One operation at a time; safe to use from several threads."""

    def __init__(
        self,
        kind: PeerKind,
        *,
        python: Path,
        embedder: Embedder,
        now: datetime | None = None,
        seconds: float = 1800.0,
        config: Mapping[str, JsonValue] | None = None,
    ) -> None:
        """Start the process and open an empty store.

        Args:
            kind: the package and how it is driven.
            python: the Python of its environment.
            embedder: its vectors, until an operation names another one.
            now: what "now" is, for packages that write the date into a prompt.
            seconds: how long one operation may take.
            config: settings over those of the kind.

        Raises:
            UsageError: there is no such Python.
            PeerError: the process failed.
        """
        self._lock = threading.RLock()
        self._embedder = embedder
        command = peer_command(python, adapter_path(kind.adapter))
        self._proxy = Proxy()
        try:
            self._worker = Worker(command, seconds=seconds)
            try:
                self.version = self._open(kind, now, config)
            except BaseException:
                self._worker.close()
                raise
        except BaseException:
            self._proxy.close()
            raise

    def _open(
        self, kind: PeerKind, now: datetime | None, config: Mapping[str, JsonValue] | None
    ) -> str:
        opened = self.call(
            "open",
            {
                **kind.config,
                **(config or {}),
                "url": self._proxy.url,
                "key": self._proxy.key,
                "dim": self._embedder.dim,
                "folder": str(self._worker.folder),
                "now": "" if now is None else now.isoformat(),
            },
        ).result
        return str(opened["version"]) if isinstance(opened, dict) else ""

    @property
    def proxy(self) -> Proxy:
        """The proxy, with its own count of calls and vectors."""
        return self._proxy

    def call(
        self,
        op: str,
        args: Mapping[str, JsonValue] | None = None,
        *,
        chat: ChatHandler | None = None,
        embedder: Embedder | None = None,
        purpose: Callable[[Mapping[str, JsonValue]], Purpose] | None = None,
    ) -> Reply:
        """One operation of the adapter.

        Args:
            op: see `Worker.ask`.
            args: what goes with it.
            chat: whose account its chat requests are for; None: there are none.
            embedder: whose account its vectors are for; None: the one given at the start.
            purpose: what a chat request is for.

        Raises:
            ModelError: a model failed, whatever the package made of that; or the process did.
            BudgetExceeded, EmbedderError: as raised behind the proxy.
        """
        with (
            self._lock,
            self._proxy.serving(chat=chat, embedder=embedder or self._embedder, purpose=purpose),
        ):
            return self._worker.ask(op, args)

    @property
    def lock(self) -> threading.RLock:
        """Held over operations that belong together."""
        return self._lock

    def close(self) -> None:
        """End the process and the proxy."""
        self._worker.close()
        self._proxy.close()

    def __enter__(self) -> LivePeer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def given_turns(history: History, *, speaker_in_text: bool) -> list[dict[str, JsonValue]]:
    """Turns with words as an adapter takes them, in the order said.

    Args:
        history: the conversation.
        speaker_in_text: the speaker stands before the words.
    """
    return [_given(turn, speaker_in_text) for turn in history.turns if turn.body.strip()]


def _given(turn: Turn, speaker_in_text: bool) -> dict[str, JsonValue]:
    return {
        "turn_id": turn.turn_id,
        "session_id": turn.session_id,
        "speaker": turn.speaker,
        "text": f"{turn.speaker}: {turn.body}" if speaker_in_text else turn.body,
        "said_at": "" if turn.said_at is None else turn.said_at.isoformat(),
    }


def shown_of(found: JsonValue, *, speaker_in_text: bool) -> tuple[Shown, ...]:
    """Memories that an adapter returned.

    Args:
        found: its list.
        speaker_in_text: the words name the speaker already.
    """
    listed: Sequence[Any] = found if isinstance(found, list) else ()
    return tuple(
        Shown(
            text=str(one["text"]),
            said_at=_moment(str(one["said_at"])),
            speaker="" if speaker_in_text else str(one["speaker"]),
            turn_ids=tuple(map(str, one["turn_ids"])),
        )
        for one in listed
    )


def _moment(text: str) -> datetime | None:
    """A time; None for what is none, such as a model's own words for one."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None
