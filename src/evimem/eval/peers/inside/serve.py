"""The loop inside a peer's environment: requests as JSON lines on stdin, replies on stdout.

Run as `python serve.py ADAPTER.py`. It imports the standard library and the adapter, which has a
class `Peer`; what a package prints goes to stderr, and a connection to anywhere but 127.0.0.1 is
refused, so that no telemetry and no download leaves the machine whatever a package tries.
"""

from __future__ import annotations

import importlib.util
import json
import os
import socket
import sys
import time
import traceback
import urllib.request
from pathlib import Path
from typing import Any

_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_BATCH = 256  # texts of one request for vectors


class Vectors:
    """Vectors from the proxy, each text asked for once; a package's embedder is put in its place.

    What was warmed costs a look-up, so that a timed call measures the package and not the model.
    """

    def __init__(self, url: str, key: str, dim: int) -> None:
        self.url = url
        self.key = key
        self.dim = dim
        self.seconds = 0.0
        """Time spent waiting for the proxy since the last reset."""
        self._known: dict[str, list[float]] = {}

    def embed(self, texts: list[str]) -> list[list[float]]:
        """Unit vectors, one per text."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        start = time.perf_counter()
        for at in range(0, len(new), _BATCH):
            self._fetch(new[at : at + _BATCH])
        if new:
            self.seconds += time.perf_counter() - start
        return [self._known[text] for text in texts]

    def one(self, text: str) -> list[float]:
        """The unit vector of one text."""
        return self.embed([text])[0]

    def _fetch(self, texts: list[str]) -> None:
        body = json.dumps({"model": "embedder", "input": texts}).encode("ascii")
        head = {"Content-Type": "application/json", "Authorization": f"Bearer {self.key}"}
        request = urllib.request.Request(f"{self.url}/embeddings", data=body, headers=head)
        with urllib.request.urlopen(request, timeout=600) as reply:
            rows = json.load(reply)["data"]
        for text, row in zip(texts, rows, strict=True):
            self._known[text] = row["embedding"]


def refuse_network() -> None:
    """Make every connection but those to this machine fail, and every look-up of another name."""
    connect, connect_ex, look_up = (
        socket.socket.connect,
        socket.socket.connect_ex,
        socket.getaddrinfo,
    )

    def checked(host: Any) -> None:
        name = host.decode("ascii", "replace") if isinstance(host, bytes) else host
        if name and name not in _LOOPBACK:
            raise ConnectionRefusedError(f"peers have no network: {name!r}")

    def connecting(real: Any) -> Any:
        def guarded(self: socket.socket, address: Any) -> Any:
            if self.family != socket.AF_UNIX:
                checked(address[0] if isinstance(address, tuple) else address)
            return real(self, address)

        return guarded

    def looking(host: Any, *more: Any, **named: Any) -> Any:
        checked(host)
        return look_up(host, *more, **named)

    socket.socket.connect = connecting(connect)  # type: ignore[method-assign]
    socket.socket.connect_ex = connecting(connect_ex)  # type: ignore[method-assign]
    socket.getaddrinfo = looking


def load_peer(path: Path) -> Any:
    """The class `Peer` of an adapter's file."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"no adapter {str(path)!r}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Peer


class Server:
    """One peer, opened by the first request."""

    def __init__(self, adapter: Path) -> None:
        self._adapter = adapter
        self._peer: Any = None
        self._vectors: Any = None

    def handle(self, request: dict[str, Any]) -> Any:
        """What one request asks for."""
        op, given = request["op"], request.get("args", {})
        if op == "open":
            self._vectors = Vectors(given["url"], given["key"], given["dim"])
            self._peer = load_peer(self._adapter)(given, self._vectors)
            return {"version": self._peer.version}
        if op == "warm":
            self._vectors.embed(given["texts"])
            return None
        if op not in ("add", "search", "stored", "find", "answer"):
            raise ValueError(f"unknown operation {op!r}")
        return getattr(self._peer, op)(**given)

    def reply(self, request: dict[str, Any]) -> dict[str, Any]:
        """The reply to one request, timed; an exception becomes its words."""
        if self._vectors is not None:
            self._vectors.seconds = 0.0
        start = time.perf_counter()
        try:
            result = self.handle(request)
        except Exception as error:  # noqa: BLE001  # whatever a package raises goes to the caller
            traceback.print_exc()
            return {"id": request.get("id"), "error": f"{type(error).__name__}: {error}"}
        seconds = time.perf_counter() - start
        waited = self._vectors.seconds if self._vectors is not None else 0.0
        return {
            "id": request.get("id"),
            "result": result,
            "seconds": seconds,
            "embedding_seconds": waited,
        }


def main() -> None:
    """Serve until stdin ends."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what packages print
    refuse_network()
    server = Server(Path(sys.argv[1]))
    for line in sys.stdin:
        out.write(json.dumps(server.reply(json.loads(line))) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
