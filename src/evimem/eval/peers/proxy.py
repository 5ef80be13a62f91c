"""A server on 127.0.0.1 that a peer takes for its model provider, and that meters every request.

It speaks OpenAI's chat completions and embeddings. Chat goes either through a model session, so
that a peer's calls stand on the same ledger and under the same budget as everyone's, or as it came
to another server; vectors come from the embedder that all systems of a run share.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import TypeAlias, cast

import numpy as np

from evimem.errors import (
    BudgetExceeded,
    EmbedderError,
    ModelError,
    RefusedReply,
    ReplyError,
    TruncatedReply,
)
from evimem.eval.harness.rows import CallRow
from evimem.eval.peers.dialect import BadBody, chat_reply, chat_request
from evimem.model.chat import ChatReply, Finish, Phase, Role
from evimem.model.turn import JsonValue
from evimem.ports import Embedder, FloatArray, ModelSession

__all__ = ["ChatHandler", "Proxy", "Purpose", "SessionChat", "UpstreamChat", "vectors_of"]

Body: TypeAlias = "Mapping[str, JsonValue]"

ChatHandler: TypeAlias = "Callable[[Body, Purpose], Body]"
"""The reply to a chat completion's body, in the same dialect; raises ModelError, BudgetExceeded, or
BadBody for a body that cannot be read."""

_MOST = 64 * 2**20  # bytes of one request


@dataclass(frozen=True, slots=True, kw_only=True)
class Purpose:
    """What a peer's calls are for."""

    role: Role
    """Whose model is asked."""
    phase: Phase
    """Where tokens count."""


class SessionChat:
    """Chat through a model session: its ledger has every call."""

    def __init__(self, session: ModelSession, *, prompt: str) -> None:
        """Args:
        session: the models.
        prompt: the name that calls go by, as the wording is the package's own.
        """
        self._session = session
        self._prompt = prompt

    def __call__(self, body: Body, purpose: Purpose) -> Body:
        """One call by the role's model; of its parameters, temperature, seed and ceiling hold."""
        request = chat_request(body, role=purpose.role, phase=purpose.phase, prompt=self._prompt)
        try:
            return chat_reply(self._session.model(purpose.role).chat(request))
        except ReplyError as error:  # what to make of a poor reply is the package's own affair
            return chat_reply(_poor(error))


class UpstreamChat:
    """Chat as it came, to another server of the dialect."""

    def __init__(self, url: str, *, key: str = "", seconds: float = 600.0) -> None:
        """Args:
        url: its base, as in "http://127.0.0.1:8080/v1".
        key: goes out as bearer token; empty: none.
        seconds: how long a reply may take.
        """
        self._url = url.rstrip("/") + "/chat/completions"
        self._key = key
        self._seconds = seconds

    def __call__(self, body: Body, purpose: Purpose) -> Body:
        """The server's reply, unchanged."""
        head = {"Content-Type": "application/json"}
        if self._key:
            head["Authorization"] = f"Bearer {self._key}"
        sent = json.dumps(dict(body)).encode("ascii")
        request = urllib.request.Request(self._url, data=sent, headers=head)
        try:
            with urllib.request.urlopen(request, timeout=self._seconds) as reply:
                value = json.load(reply)
        except urllib.error.HTTPError as error:
            with error:
                said = error.read(200).decode("utf-8", "replace")
            raise ModelError(f"{self._url!r} gave no usable reply: {error}: {said}") from error
        except (OSError, ValueError) as error:
            raise ModelError(f"{self._url!r} gave no usable reply: {error}") from error
        if not isinstance(value, dict):
            raise ModelError(f"{self._url!r} sent no object: {str(value)[:100]!r}")
        return value


class Proxy:
    """The server. `serving` says for whose account requests are; without it they are refused."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._chat: ChatHandler | None = None
        self._embedder: Embedder | None = None
        self._purpose: Callable[[Body], Purpose] | None = None
        self._calls: list[CallRow] = []
        self._embedded = 0
        self._failure: ModelError | BudgetExceeded | EmbedderError | None = None
        self.key = secrets.token_hex(16)
        """What a client must show as bearer token: other users of this machine cannot."""
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.owner = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    @property
    def url(self) -> str:
        """The base that a client is given."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @property
    def calls(self) -> Sequence[CallRow]:
        """Every chat request so far, metered here, whatever the handler counts."""
        with self._lock:
            return tuple(self._calls)

    @property
    def embedded(self) -> int:
        """Texts that vectors were asked for."""
        with self._lock:
            return self._embedded

    @contextmanager
    def serving(
        self,
        *,
        chat: ChatHandler | None = None,
        embedder: Embedder | None = None,
        purpose: Callable[[Body], Purpose] | None = None,
    ) -> Iterator[None]:
        """Serve requests of one operation. What a model or the embedder raised meanwhile is raised
        again at the end, whatever the package made of the status that it got.

        Args:
            chat: answers chat; None: chat is refused.
            embedder: makes vectors; None: they are refused.
            purpose: what a chat body is for; None: role "extract", phase "summary".

        Raises:
            ModelError, BudgetExceeded, EmbedderError: the first one of the operation.
        """
        with self._lock:
            self._chat, self._embedder, self._purpose = chat, embedder, purpose
            self._failure = None
        try:
            yield
        finally:
            with self._lock:
                self._chat = self._embedder = self._purpose = None
                failure, self._failure = self._failure, None
            if failure is not None:
                raise failure

    def close(self) -> None:
        """Stop the server and wait for its thread."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Proxy:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # For the handler

    def answer(self, path: str, body: Body) -> tuple[int, Body]:
        """Status and body of a reply. A failure is a 400: clients do not retry those, and what may
        be retried was retried behind the handler."""
        try:
            if path.endswith("/chat/completions"):
                return 200, self._answer_chat(body)
            if path.endswith("/embeddings"):
                return 200, self._answer_vectors(body)
        except BadBody as error:
            return 400, _error(str(error))
        except (ModelError, BudgetExceeded, EmbedderError) as error:
            with self._lock:
                self._failure = self._failure or error
            return 400, _error(str(error))
        return 404, _error(f"no path {path!r} here")

    def _answer_chat(self, body: Body) -> Body:
        with self._lock:
            chat, purpose_of, failure = self._chat, self._purpose, self._failure
        if chat is None:
            raise BadBody("no chat model is served now")
        if failure is not None:  # the operation is lost: spend nothing more on it
            raise BadBody(f"an earlier call failed: {failure}")
        purpose = purpose_of(body) if purpose_of else Purpose(role="extract", phase="summary")
        start = time.perf_counter()
        try:
            reply = chat(body, purpose)
        except (ModelError, BudgetExceeded) as error:
            self._meter(body, purpose, {}, time.perf_counter() - start, problem=str(error))
            raise
        self._meter(body, purpose, reply, time.perf_counter() - start)
        return reply

    def _meter(
        self, body: Body, purpose: Purpose, reply: Body, seconds: float, *, problem: str = ""
    ) -> None:
        usage = reply.get("usage")
        counts = usage if isinstance(usage, dict) else {}
        details = counts.get("prompt_tokens_details")
        sent = json.dumps(dict(body), sort_keys=True).encode("ascii")
        row = CallRow(
            role=purpose.role,
            phase=purpose.phase,
            model=str(reply.get("model") or body.get("model") or ""),
            prompt="peer",
            request=hashlib.blake2b(sent, digest_size=16).hexdigest(),
            outcome="failed" if problem else "ok",
            tokens_in=_count(counts.get("prompt_tokens")),
            tokens_out=_count(counts.get("completion_tokens")),
            tokens_cached=_count(details.get("cached_tokens")) if isinstance(details, dict) else 0,
            seconds=seconds,
            problem=problem,
        )
        with self._lock:
            self._calls.append(row)

    def _answer_vectors(self, body: Body) -> Body:
        with self._lock:
            embedder = self._embedder
        if embedder is None:
            raise BadBody("no embedder is served now")
        given = body.get("input")
        texts = [given] if isinstance(given, str) else given
        if not isinstance(texts, list) or not all(isinstance(one, str) for one in texts):
            raise BadBody("input must be a text or a list of texts; token ids are not taken")
        vectors = vectors_of(cast("list[str]", texts), embedder)
        with self._lock:
            self._embedded += len(texts)
        as_bytes = body.get("encoding_format") == "base64"
        rows: list[JsonValue] = [
            {"object": "embedding", "index": n, "embedding": _written(row, as_bytes)}
            for n, row in enumerate(vectors)
        ]
        usage: JsonValue = {"prompt_tokens": 0, "total_tokens": 0}
        return {"object": "list", "model": embedder.model_id, "data": rows, "usage": usage}


def vectors_of(texts: Sequence[str], embedder: Embedder) -> FloatArray:
    """Unit vectors of shape (len(texts), dim); of a long text the mean of its pieces', as every
    baseline has it."""
    pieces = [embedder.chunks(text) or [" "] for text in texts]
    flat = embedder.embed([piece for one in pieces for piece in one])
    made = np.zeros((len(texts), embedder.dim), dtype=np.float32)
    at = 0
    for n, one in enumerate(pieces):
        mean = flat[at : at + len(one)].mean(axis=0)
        made[n] = mean / max(float(np.linalg.norm(mean)), 1e-12)
        at += len(one)
    return made


def _poor(error: ReplyError) -> ChatReply:
    """A reply that no port of ours would take, as a server would have sent it."""
    finish: Finish = "stop"
    if isinstance(error, TruncatedReply):
        finish = "length"
    elif isinstance(error, RefusedReply):
        finish = "refusal"
    return ChatReply(text=error.raw, finish=finish)


def _written(row: FloatArray, as_bytes: bool) -> JsonValue:
    if as_bytes:
        return base64.b64encode(row.astype("<f4").tobytes()).decode("ascii")
    return [float(one) for one in row]


def _count(value: JsonValue) -> int:
    return int(value) if isinstance(value, (int, float)) else 0


def _error(message: str) -> Body:
    return {"error": {"message": message, "type": "invalid_request_error"}}


class _Server(ThreadingHTTPServer):
    owner: Proxy
    daemon_threads = True  # a client that keeps its connection open must not hold up close()
    block_on_close = False

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is no news."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """One request: key, size, body."""
        length = self.headers.get("Content-Length", "")
        if not length.isdigit() or int(length) > _MOST:
            self.close_connection = True
            self._send(400, _error(f"a body of {length!r} bytes is not taken"))
            return
        raw = self.rfile.read(int(length))
        shown = self.headers.get("Authorization", "").encode("utf-8")
        if not hmac.compare_digest(shown, f"Bearer {self.server.owner.key}".encode()):
            self._send(401, _error("the key is missing or wrong"))
            return
        try:
            body = json.loads(raw)
        except ValueError:
            body = None
        if not isinstance(body, dict):
            self._send(400, _error("the body is no JSON object"))
            return
        self._send(*self.server.owner.answer(self.path, body))

    def _send(self, status: int, body: Body) -> None:
        raw = json.dumps(dict(body)).encode("ascii")
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is written to stderr."""
