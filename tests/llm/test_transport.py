"""Whatever bytes a server sends, the caller gets one kind of error, and soon."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import Any

import pytest

from evimem.errors import ModelError
from evimem.llm.endpoints import chat_model, endpoint

WIRES = {
    "nothing": b"",
    "no HTTP": b"\x00\x01\x02 hello\r\n\r\n",
    "half a status line": b"HTTP/1.1 2",
    "no reason": b"HTTP/1.1 200\r\nContent-Length: 2\r\n\r\n{}",
    "status 999": b"HTTP/1.1 999 ?\r\nContent-Length: 2\r\n\r\n{}",
    "status 204": b"HTTP/1.1 204 Empty\r\n\r\n",
    "status 304": b"HTTP/1.1 304 Same\r\n\r\n",
    "broken gzip": b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc",
    "unknown encoding": b"HTTP/1.1 200 OK\r\nContent-Encoding: zz\r\nContent-Length: 3\r\n\r\nabc",
    "too short": b'HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n{"choices": [',
    "negative length": b"HTTP/1.1 200 OK\r\nContent-Length: -4\r\n\r\n{}",
    "broken chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}",
    "endless header": b"HTTP/1.1 200 OK\r\nX: " + b"a" * 200_000,
    "bad charset": b"HTTP/1.1 500 No\r\nContent-Type: text/x; charset=none-such\r\n"
    b"Content-Length: 2\r\n\r\n\xff\xfe",
    "odd header bytes": b"HTTP/1.1 302 Go\r\nLocation: \xff\xfe\r\nContent-Length: 0\r\n\r\n",
    "event stream": b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
    b"Content-Length: 14\r\n\r\ndata: [DONE]\n\n",
    "digits": b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n" + b"9" * 5000,
}


def take_request(line: socket.socket) -> None:
    """Reads one whole request. Head and body may come apart, and a socket that is closed with
    bytes unread resets the line, so that the reply may be lost. To read until the client hangs up
    instead would wait for ever: it keeps a connection open that it did not see end."""
    with line.makefile("rb") as stream:
        size = 0
        while (header := stream.readline()).strip():
            name, _, value = header.partition(b":")
            size = int(value) if name.lower() == b"content-length" else size
        stream.read(size)


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
@pytest.mark.parametrize("wire", WIRES)
def test_bytes_that_are_no_reply_are_a_model_error(kind: str, wire: str, asking: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(10)
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        values = {"kind": kind, "url": url, "model": "m", "timeout": 5}
        model = chat_model(endpoint("x", values, setting="EVIMEM_LLM", key="sk-hush"))

        def answer() -> None:
            line, _ = server.accept()
            line.settimeout(10)
            with line, contextlib.suppress(ConnectionError):  # the client may hang up first
                take_request(line)
                line.sendall(WIRES[wire])

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(ModelError) as caught:
            model.chat(asking())
        thread.join()
    assert "'m' at http://127.0.0.1" in str(caught.value)
    assert len(str(caught.value)) < 800
