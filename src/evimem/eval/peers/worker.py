"""A peer's process: requests and replies as JSON lines, every wait bounded.

The process runs `inside/serve.py` with the Python of the peer's own environment, in a folder that
goes with it, without the settings, keys and proxies of the shell, and with telemetry off.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from evimem.errors import ModelError, UsageError
from evimem.model.turn import JsonValue

__all__ = ["PeerError", "Reply", "Worker", "adapter_path", "peer_command"]

_INSIDE = Path(__file__).parent / "inside"
_TAIL = 600  # characters of what a process wrote last, in a message
_KEPT = ("PATH", "LANG", "LC_ALL", "SYSTEMROOT", "TEMP", "TMP")
_NOWHERE = "http://127.0.0.1:9"  # the discard port: a proxy that no request comes through
_QUIET = {
    "MEM0_TELEMETRY": "False",
    "ANONYMIZED_TELEMETRY": "False",
    "POSTHOG_DISABLED": "1",
    "DO_NOT_TRACK": "1",
    "LANGSMITH_TRACING": "false",
    "LANGCHAIN_TRACING_V2": "false",
    "LANCEDB_TELEMETRY": "0",
    "HF_HUB_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HTTP_PROXY": _NOWHERE,
    "HTTPS_PROXY": _NOWHERE,
    "NO_PROXY": "127.0.0.1,localhost",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONUNBUFFERED": "1",  # what a package printed is there when its process is ended
    "OMP_NUM_THREADS": "1",
}


class PeerError(ModelError):
    """A peer's process failed, ended, or did not answer in time: for a run the same as a model that
    cannot be reached, what it was asked for counts as failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What one request came to."""

    result: JsonValue
    """What the adapter returned."""
    seconds: float
    """Time in the adapter, measured in the peer's process: no pipe in it."""
    embedding_seconds: float
    """The part of it spent waiting for vectors."""


def adapter_path(name: str) -> Path:
    """The file of an adapter, such as "mem0".

    Raises:
        UsageError: there is none of that name.
    """
    path = _INSIDE / f"{name}_peer.py"
    if not path.is_file():
        known = sorted(one.stem.removesuffix("_peer") for one in _INSIDE.glob("*_peer.py"))
        raise UsageError(f"no peer is called {name!r}; there are {', '.join(known)}")
    return path


def peer_command(python: Path, adapter: Path) -> tuple[str, ...]:
    """How to start an adapter under the Python of its environment.

    Raises:
        UsageError: there is no such Python.
    """
    if not python.is_file():
        raise UsageError(
            f"no Python at {str(python)!r}: make the peer's environment with dev/make_peer_env.py"
        )
    return (str(python), str(_INSIDE / "serve.py"), str(adapter))


class Worker:
    """One process. Requests are answered one at a time; safe to use from several threads."""

    def __init__(self, command: Sequence[str], *, seconds: float = 600.0) -> None:
        """Start the process.

        Args:
            command: what to run.
            seconds: how long one request may take before the process is ended.

        Raises:
            PeerError: it cannot be started.
        """
        self._seconds = seconds
        self._lock = threading.Lock()
        self._home = tempfile.TemporaryDirectory(prefix="evimem-peer-", ignore_cleanup_errors=True)
        self._said = (Path(self._home.name) / "stderr").open("w+b")
        self._count = 0
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._said,
                env=_environment(self.folder),
                cwd=self.folder,
            )
        except OSError as error:
            self._said.close()
            self._home.cleanup()
            raise PeerError(f"{command[0]!r} cannot be started: {error}") from error
        self._lines: queue.Queue[bytes] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def folder(self) -> Path:
        """A folder of the process's own, gone with it."""
        return Path(self._home.name)

    def ask(self, op: str, args: Mapping[str, JsonValue] | None = None) -> Reply:
        """Send one request and wait for its reply.

        Args:
            op: open, warm, add, search, stored, find or answer.
            args: what goes with it.

        Raises:
            PeerError: the package raised (the process lives on), the process ended, or time is up
                (it is ended then).
        """
        with self._lock:
            self._count += 1
            request = {"id": self._count, "op": op, "args": dict(args or {})}
            self._send(json.dumps(request).encode("ascii") + b"\n", op)
            reply = self._answer(op)
        if "error" in reply:
            raise PeerError(f"the peer failed at {op!r}: {_short(str(reply['error']))}")
        return Reply(
            result=reply["result"],
            seconds=float(reply["seconds"]),
            embedding_seconds=float(reply["embedding_seconds"]),
        )

    def close(self) -> None:
        """End the process and remove its folder; again does nothing."""
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):  # it ended with a request half sent
                self._process.stdin.close()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join(timeout=5)
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._said.close()
        self._home.cleanup()

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _read(self) -> None:
        """Lines as they come; an empty one at the end."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put(b"")

    def _send(self, line: bytes, op: str) -> None:
        if self._process.stdin is None or self._process.stdin.closed:
            raise PeerError(f"the peer is closed and was asked for {op!r}")
        try:
            self._process.stdin.write(line)
            self._process.stdin.flush()
        except OSError as error:
            raise PeerError(f"the peer ended before {op!r}: {self._tail()}") from error

    def _answer(self, op: str) -> dict[str, Any]:
        """The reply to the request just sent."""
        until = time.monotonic() + self._seconds
        while True:
            try:
                line = self._lines.get(timeout=max(0.0, until - time.monotonic()))
            except queue.Empty:
                self._process.kill()
                raise PeerError(
                    f"the peer took more than {self._seconds:g} s for {op!r} and was ended; what "
                    f"it wrote last: {self._tail()}"
                ) from None
            if not line:
                self._lines.put(b"")  # for the next caller
                raise PeerError(f"the peer ended during {op!r}: {self._tail()}")
            reply = _object(line)
            if reply is not None and reply.get("id") == self._count:
                return reply

    def _tail(self) -> str:
        """The end of what the process wrote."""
        size = os.fstat(self._said.fileno()).st_size
        with Path(self._said.name).open("rb") as file:
            file.seek(max(0, size - _TAIL))
            return file.read().decode("utf-8", "replace").strip() or "(nothing)"


def _object(line: bytes) -> dict[str, Any] | None:
    """A line as a JSON object; None if it is none, such as a package's own words."""
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _environment(folder: Path) -> dict[str, str]:
    """Nothing of the shell but where programs are; homes and caches inside the folder."""
    home = str(folder)
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    homes = {"HOME": home, "USERPROFILE": home, "MEM0_DIR": home, "XDG_CACHE_HOME": home}
    lower = {name.lower(): value for name, value in _QUIET.items() if name.endswith("PROXY")}
    return {**kept, **homes, **_QUIET, **lower, "PYTHONIOENCODING": "utf-8"}


def _short(text: str) -> str:
    return text if len(text) <= _TAIL else text[:_TAIL] + "..."
