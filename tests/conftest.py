"""Fixtures and guards for every test: no network but loopback, no settings from the outside.

`chat_server` is a scripted chat server over real HTTP; how to use it stands at `ChatServer`.
"""

from __future__ import annotations

import importlib.util
import json
import os
import socket
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal

import pytest

if importlib.util.find_spec("hypothesis"):  # the trainers' environment has none
    from hypothesis import HealthCheck, settings

    # How fast examples are made or run says how busy the machine is, not what is wrong.
    settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("busy")


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of benchmark files, from EVIMEM_DATA; tests that need it skip without it."""
    named = os.environ.get("EVIMEM_DATA")
    if not named:
        pytest.skip("EVIMEM_DATA is not set: benchmark files are not part of the project")
    path = Path(named)
    if not (path / "locomo10.json").exists():
        pytest.skip(f"EVIMEM_DATA={named!r} holds no locomo10.json")
    return path


@pytest.fixture(autouse=True)
def clean_environ(monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting of the developer's shell reaches a test."""
    for name in list(os.environ):
        if name.startswith("EVIMEM_") and name != "EVIMEM_DATA":
            monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A connection to anywhere but this machine fails the test."""
    real = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        host = address[0] if isinstance(address, tuple) else address
        if self.family != socket.AF_UNIX and host not in ("127.0.0.1", "::1", "localhost"):
            raise AssertionError(f"a test tried to reach {address!r}")
        real(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)
    yield


Dialect = Literal["openai", "anthropic", "ollama"]
_PATHS: dict[str, Dialect] = {
    "/chat/completions": "openai",
    "/messages": "anthropic",
    "/api/chat": "ollama",
}
_FINISH = {
    "openai": {"stop": "stop", "length": "length", "refusal": "content_filter"},
    "anthropic": {"stop": "end_turn", "length": "max_tokens", "refusal": "refusal"},
    "ollama": {"stop": "stop", "length": "length"},
}


@dataclass(frozen=True, kw_only=True)
class Reply:
    """One scripted reply. See `ChatServer`."""

    text: str | None = ""
    """The model's words; None: the field is null, as some reasoning parsers send it."""
    status: int = 200
    """HTTP status. From 400 on the body is an error in the dialect's form with `text` in it."""
    raw: bytes | None = None
    """The whole body as it goes over the wire, whatever it is (blank lines, half a JSON)."""
    finish: str = "stop"
    """stop, length or refusal, said in the dialect's word; any other word goes out as it is."""
    tokens_in: int | None = None
    """Prompt tokens in the usage; None: a third of the characters sent; -1: no usage at all. Far
    fewer than the words sent means that the server cut the prompt (PromptTooLong)."""
    tokens_out: int = 7
    """Generated tokens in the usage."""
    cached: int = 0
    """Prompt tokens from a cache; part of `tokens_in` in every dialect."""
    more: dict[str, Any] = field(default_factory=dict)
    """Fields put into the message: {"refusal": "No."}, {"reasoning_content": "..."}."""
    headers: dict[str, str] = field(default_factory=dict)
    """HTTP headers, such as {"Retry-After": "2"}."""
    delay: float = 0.0
    """Seconds before the reply; cut short when the server closes."""
    drop: bool = False
    """True: the connection is closed with no reply at all."""
    calls: Sequence[tuple[str, Any]] = ()
    """Tool calls of the message: names with arguments. In OpenAI's form arguments that are a str go
    out as they are, broken JSON too; other ones as their JSON."""
    tool: bool = True
    """False: a forced tool (Anthropic) is ignored and plain text comes back."""


@dataclass(frozen=True, kw_only=True)
class Seen:
    """One request as the server got it."""

    path: str
    headers: dict[str, str]
    """Names in lower case."""
    body: dict[str, Any]
    dialect: Dialect

    @property
    def prompt(self) -> str:
        """Every message's words joined by newlines, the system message first."""
        system = self.body.get("system", "")
        if not isinstance(system, str):
            system = "\n".join(block["text"] for block in system)
        words = [system] if system else []
        for message in self.body.get("messages", []):
            content = message["content"]
            if not isinstance(content, str):
                content = "\n".join(
                    block.get("text", "") or block.get("content", "") for block in content
                )
            words.append(content)
        return "\n".join(words)


Answer = Reply | str | dict[str, Any] | list[Any]
Script = Callable[[dict[str, Any], str, dict[str, str]], Answer]


class ChatServer:
    """A scripted chat server on 127.0.0.1: OpenAI, Anthropic and Ollama over real HTTP.

    ::

        def test_x(chat_server):
            chat_server.script = ["plain words", {"answer": "as JSON"}]      # one reply per call
            chat_server.script = lambda body, path, headers: "same each time"  # or a function
            chat_server.script = [chat_server.reply(status=429, headers={"Retry-After": "1"}),
                                  chat_server.reply("cut", finish="length", tokens_in=50)]
            ... call it at chat_server.openai_url, .anthropic_url or .ollama_url ...
            assert chat_server.seen[0].body["temperature"] == 0.0
            assert "Paris" in chat_server.seen[0].prompt

    A reply is a `Reply` (made with `chat_server.reply`, all its fields are keywords after the
    text), a str (the words), or a dict or list (the words are its JSON). A list is used up in the
    order in which requests arrive; a call beyond it gets status 418 and fails the test at its end,
    as does an exception in a script function. The script function runs in server threads, several
    at a time if the client calls so. `seen` has every POST in order of arrival, `peak` the most
    that were in the server at once, `pages` answers GET by path (missing: 404), `hits` has the
    paths of all GETs.
    """

    def __init__(self) -> None:
        self._script: Sequence[Answer] | Script = lambda body, path, headers: "ok"
        self.seen: list[Seen] = []
        self.pages: dict[str, Any] = {}
        self.hits: list[str] = []
        self.faults: list[str] = []
        self.peak = 0
        self._inside = 0
        self._used = 0
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.owner = self
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self.openai_url = f"{self.url}/v1"
        self.anthropic_url = self.url
        self.ollama_url = self.url
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.005,))
        self._thread.start()

    @property
    def script(self) -> Sequence[Answer] | Script:
        """What is answered; setting a list starts at its first reply."""
        return self._script

    @script.setter
    def script(self, script: Sequence[Answer] | Script) -> None:
        with self._lock:
            self._script, self._used = script, 0

    @staticmethod
    def reply(text: str | dict[str, Any] | list[Any] | None = "", **fields: Any) -> Reply:
        """A reply; `text` that is a dict or list becomes its JSON. Fields: see `Reply`."""
        if isinstance(text, (dict, list)):
            text = json.dumps(text, ensure_ascii=False)
        return Reply(text=text, **fields)

    def close(self) -> None:
        """Stops the server and waits for its thread."""
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, seen: Seen) -> Reply:
        """The scripted reply to a request, after its delay."""
        with self._lock:
            self.seen.append(seen)
            self._inside += 1
            self.peak = max(self.peak, self._inside)
        try:
            reply = self._next(seen)
            if reply.delay:
                self._closing.wait(reply.delay)
            return reply
        finally:
            with self._lock:
                self._inside -= 1

    def _next(self, seen: Seen) -> Reply:
        script = self.script
        if callable(script):
            try:
                return self._as_reply(script(seen.body, seen.path, seen.headers))
            except Exception:  # noqa: BLE001  # whatever it was, it fails the test at its end
                self.faults.append(traceback.format_exc())
                return Reply(status=418, text="the script function failed")
        with self._lock:
            n = self._used
            self._used += 1
        if n < len(script):
            return self._as_reply(script[n])
        self.faults.append(
            f"call {n + 1} of a script of {len(script)} replies: {seen.prompt[:200]}"
        )
        return Reply(status=418, text="the script has no reply left")

    def _as_reply(self, answer: Answer) -> Reply:
        return answer if isinstance(answer, Reply) else self.reply(answer)


class _Server(ThreadingHTTPServer):
    owner: ChatServer
    request_queue_size = 64

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):  # the client went away: no news
            self.owner.faults.append(traceback.format_exc())


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        owner = self.server.owner
        owner.hits.append(self.path)
        page = owner.pages.get(self.path)
        body = json.dumps({"error": "no such page"} if page is None else page).encode()
        self._send(404 if page is None else 200, body, {})

    def do_POST(self) -> None:
        size = int(self.headers["Content-Length"])
        sent = self.rfile.read(size)
        if len(sent) < size:
            raise ConnectionAbortedError("the client went away in the middle of a request")
        body = json.loads(sent)
        dialect = next((d for end, d in _PATHS.items() if self.path.endswith(end)), None)
        if dialect is None:
            if self.path in self.server.owner.pages:
                self._send(200, json.dumps(self.server.owner.pages[self.path]).encode(), {})
            else:
                self._send(404, json.dumps({"error": f"no route {self.path}"}).encode(), {})
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        seen = Seen(path=self.path, headers=headers, body=body, dialect=dialect)
        reply = self.server.owner.answer(seen)
        if reply.drop:
            return
        raw = reply.raw
        if raw is None:
            raw = json.dumps(_body(reply, seen), ensure_ascii=False).encode()
        self._send(reply.status, raw, reply.headers)

    def _send(self, status: int, raw: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *args: Any) -> None:
        pass


def _body(reply: Reply, seen: Seen) -> dict[str, Any]:
    """The reply in the words of the dialect."""
    if reply.status >= 400:
        if seen.dialect == "anthropic":
            return {"type": "error", "error": {"type": "api_error", "message": reply.text}}
        if seen.dialect == "ollama":
            return {"error": reply.text}
        return {"error": {"message": reply.text, "type": "error", "code": None, "param": None}}
    finish = _FINISH[seen.dialect].get(reply.finish, reply.finish)
    tokens_in = len(seen.prompt) // 3 if reply.tokens_in is None else reply.tokens_in
    model = seen.body.get("model", "")
    form = {"openai": _openai, "anthropic": _anthropic, "ollama": _ollama}[seen.dialect]
    return form(reply, seen.body, model=model, finish=finish, tokens_in=tokens_in)


def _openai(
    reply: Reply, sent: dict[str, Any], *, model: str, finish: str, tokens_in: int
) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.text}
    if reply.calls:
        message["tool_calls"] = [
            {"id": f"c{n}", "type": "function", "function": {"name": name, "arguments": given}}
            for n, (name, given) in enumerate(
                (name, given if isinstance(given, str) else json.dumps(given))
                for name, given in reply.calls
            )
        ]
        finish = "tool_calls" if finish == "stop" else finish
    message.update(reply.more)
    usage = {
        "prompt_tokens": tokens_in,
        "completion_tokens": reply.tokens_out,
        "total_tokens": tokens_in + reply.tokens_out,
        "prompt_tokens_details": {"cached_tokens": reply.cached},
    }
    return {
        "id": "c1",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        **({"usage": usage} if tokens_in >= 0 else {}),
    }


def _anthropic(
    reply: Reply, sent: dict[str, Any], *, model: str, finish: str, tokens_in: int
) -> dict[str, Any]:
    content: list[dict[str, Any]] = []
    choice = sent.get("tool_choice", {})
    if reply.tool and choice.get("type") == "tool" and reply.text:
        filled = {"id": "t1", "name": choice["name"], "input": json.loads(reply.text)}
        content = [{"type": "tool_use", **filled}]
        finish = "tool_use" if finish == "end_turn" else finish
    elif reply.text or (reply.text is not None and not reply.calls):
        content = [{"type": "text", "text": reply.text}]
    for n, (name, given) in enumerate(reply.calls):
        content.append({"type": "tool_use", "id": f"toolu_{n}", "name": name, "input": given})
        finish = "tool_use" if finish == "end_turn" else finish
    usage = {
        "input_tokens": tokens_in - reply.cached,  # Anthropic counts cached tokens apart
        "cache_read_input_tokens": reply.cached,
        "cache_creation_input_tokens": 0,
        "output_tokens": reply.tokens_out,
    }
    return {
        "id": "m1",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": finish,
        "stop_sequence": None,
        "usage": usage,
        **reply.more,
    }


def _ollama(
    reply: Reply, sent: dict[str, Any], *, model: str, finish: str, tokens_in: int
) -> dict[str, Any]:
    usage = {"prompt_eval_count": tokens_in, "eval_count": reply.tokens_out}
    message: dict[str, Any] = {"role": "assistant", "content": reply.text}
    if reply.calls:
        message["tool_calls"] = [
            {"function": {"name": name, "arguments": given}} for name, given in reply.calls
        ]
    message.update(reply.more)
    return {
        "model": model,
        "created_at": "2024-01-01T00:00:00Z",
        "message": message,
        "done": True,
        "done_reason": finish,
        **(usage if tokens_in >= 0 else {}),
    }


@pytest.fixture
def chat_server() -> Iterator[ChatServer]:
    """A scripted chat server; see `ChatServer` for how to write its script."""
    server = ChatServer()
    yield server
    server.close()
    assert not server.faults, "\n".join(server.faults)
