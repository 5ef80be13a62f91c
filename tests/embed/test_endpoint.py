"""The endpoint adapter over real HTTP against a scripted server on this machine."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from evimem.embed.endpoint import EndpointEmbedder
from evimem.errors import EmbedderError

Reply = tuple[int, dict[str, str], bytes]
Script = Callable[[dict[str, Any], int], Reply]


class Scripted:
    """A server whose replies a test writes; it records every request."""

    def __init__(self) -> None:
        self.script: Script = lambda body, n: ok(body)
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                owner.requests.append(body)
                owner.keys.append(self.headers.get("Authorization"))
                status, headers, raw = owner.script(body, len(owner.requests))
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


def ok(body: dict[str, Any]) -> Reply:
    rows = [
        {"index": i, "embedding": [float(len(text)), 1.0]} for i, text in enumerate(body["input"])
    ]
    return 200, {}, json.dumps({"data": list(reversed(rows))}).encode()


@pytest.fixture
def server() -> Iterator[Scripted]:
    made = Scripted()
    yield made
    made.close()


def client(server: Scripted, waits: list[float] | None = None, **more: Any) -> EndpointEmbedder:
    slept = waits if waits is not None else []
    return EndpointEmbedder(
        url=server.url, model="m", dim=more.pop("dim", 2), sleep=slept.append, **more
    )


def test_vectors_come_back_in_the_order_of_the_texts(server: Scripted) -> None:
    vectors = client(server).embed(["aaaa", "b"])
    assert np.allclose(vectors, [[4 / 17**0.5, 1 / 17**0.5], [1 / 2**0.5, 1 / 2**0.5]])


def test_case_p023_a_rate_limit_is_waited_out_as_the_server_asks(server: Scripted) -> None:
    server.script = lambda body, n: (429, {"Retry-After": "7"}, b"{}") if n == 1 else ok(body)
    waits: list[float] = []
    assert client(server, waits).embed(["a"]).shape == (1, 2)
    assert waits == [7.0]


def test_case_p031_a_500_on_a_long_input_is_tried_once_in_halves(server: Scripted) -> None:
    server.script = lambda body, n: (
        (500, {}, b"too many tokens") if max(map(len, body["input"])) > 512 else ok(body)
    )
    vectors = client(server).embed(["x" * 600, "short"])
    assert vectors.shape == (2, 2)
    assert all(len(r["input"]) <= 2 for r in server.requests)
    assert len(server.requests) <= 4


def test_case_p029_inputs_are_cut_before_the_call(server: Scripted) -> None:
    embedder = client(server, max_tokens=64)
    pieces = embedder.chunks("one two three four five six seven eight " * 100)
    assert len(pieces) > 10
    assert max(len(piece.split()) for piece in pieces) <= 48


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ((401, {}, b"bad key secret-123"), "EVIMEM_EMBEDDER_KEY"),
        ((404, {}, b"no such model"), "404"),
        ((200, {}, b"<html>"), "no usable reply"),
        ((200, {}, b'{"data": [{"index": 0, "embedding": [1, 2, 3]}]}'), "EVIMEM_EMBEDDER_DIM"),
        ((200, {}, b'{"data": [{"index": 0, "embedding": [NaN, 2]}]}'), "not numbers"),
        ((200, {}, b'{"error": "odd"}'), "something else than embeddings"),
        ((503, {}, b"down"), "Keyword search still works"),
    ],
)
def test_a_bad_reply_is_an_error_that_says_what_to_do_and_hides_the_key(
    server: Scripted, reply: Reply, told: str
) -> None:
    server.script = lambda body, n: reply
    with pytest.raises(EmbedderError) as caught:
        client(server, key="secret-123").embed(["a"])
    assert told in str(caught.value)
    assert "secret-123" not in str(caught.value)
    assert len(server.requests) <= 4
    assert server.keys[0] == "Bearer secret-123"


def test_a_server_that_is_not_there_is_an_error_after_bounded_tries() -> None:
    waits: list[float] = []
    embedder = EndpointEmbedder(url="http://127.0.0.1:9/v1", model="m", dim=2, sleep=waits.append)
    with pytest.raises(EmbedderError, match="no usable reply after 4 tries"):
        embedder.embed(["a"])
    assert len(waits) == 3


def test_a_server_that_never_answers_is_given_up_after_two_time_outs() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        waits: list[float] = []
        embedder = EndpointEmbedder(
            url=f"http://127.0.0.1:{silent.getsockname()[1]}/v1",
            model="m",
            dim=2,
            timeout=0.05,
            sleep=waits.append,
        )
        with pytest.raises(EmbedderError, match="after 2 tries"):
            embedder.embed(["a"])
    assert len(waits) == 1
