"""HTTP to a model server through the official SDKs: their auth headers, pooling and time-outs.

The SDKs are used as HTTP clients only: bodies go out and come back as plain JSON, so that every
dialect and every odd server is read by code of ours, and their own retries are off. On top of
them: no redirect is followed, no header set by the environment goes out, no server on this
machine is called through a proxy, and a reply that dribbles in cannot outlive the time-out.
"""

from __future__ import annotations

import importlib
import importlib.util
import ipaddress
import json
import threading
import time
import weakref
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, cast
from urllib.parse import urlsplit

from evimem.errors import (
    ModelAuthError,
    ModelError,
    ModelServerError,
    ModelTimeout,
    missing_extra,
)
from evimem.llm.faults import Target, status_error
from evimem.model.turn import JsonValue

if TYPE_CHECKING:
    import httpx2

__all__ = ["Sdk", "Transport"]

Sdk = Literal["openai", "anthropic"]
"""The SDK that carries the calls."""

_LARGEST_REPLY = 32 * 1024 * 1024
_LONGEST_CONNECT = 10.0
"""Seconds for a connection: a server that is there takes far less."""
# fmt: off
_HEADERS = frozenset({
    "host", "accept", "accept-encoding", "connection", "user-agent", "authorization", "x-api-key",
    "content-type", "content-length", "anthropic-version", "idempotency-key",
})
# fmt: on


class Transport:
    """Calls one server. Safe to use from several threads; the SDK is loaded at the first call."""

    def __init__(self, target: Target, *, sdk: Sdk, timeout: float) -> None:
        """A transport.

        Args:
            target: whom to call.
            sdk: which SDK carries the calls.
            timeout: seconds for a whole reply.

        Raises:
            MissingExtra: the SDK is not installed.
        """
        if importlib.util.find_spec(sdk) is None:
            raise missing_extra(f"calling {target}", "llm")
        self._target = target
        self._sdk: Sdk = sdk
        self._timeout = timeout
        self._lock = threading.Lock()
        self._client: Any = None

    def post(self, path: str, body: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
        """The JSON object that a POST brings back.

        Raises:
            ModelError: nothing usable came back; see its subclasses.
        """
        return self._call("post", path, body)

    def get(self, path: str) -> Mapping[str, JsonValue]:
        """The JSON object that a GET brings back. Raises as `post` does."""
        return self._call("get", path, None)

    def _call(
        self, method: str, path: str, body: Mapping[str, JsonValue] | None
    ) -> Mapping[str, JsonValue]:
        target = self._target
        if target.key_from and not target.key:
            raise ModelAuthError(f"{target}: no key is set: set {target.key_from}")
        found = self._send(method, path, body)
        if isinstance(found, ModelError):
            raise found  # raised here, so that no SDK error, which may quote anything, is chained
        try:
            read = json.loads(found)
        except (ValueError, RecursionError):
            read = None
        if not isinstance(read, dict):
            shown = target.clean(found.decode("utf-8", "replace")) or "nothing but blank lines"
            raise ModelServerError(
                f"{target}: the reply is not a JSON object ({shown!r}): try again, or check that "
                f"{target.where('url')} is that of a model server"
            )
        return read

    def _send(
        self, method: str, path: str, body: Mapping[str, JsonValue] | None
    ) -> bytes | ModelError:
        import httpx2

        sdk = importlib.import_module(self._sdk)
        target = self._target
        try:
            if method == "get":
                reply = self._http().get(path, cast_to=httpx2.Response)
            else:
                reply = self._http().post(path, cast_to=httpx2.Response, body=body)
            return bytes(reply.content)
        except sdk.APITimeoutError as error:
            if isinstance(error.__cause__, httpx2.ConnectTimeout):
                return self._unreachable(error)
            return ModelTimeout(
                f"{target}: no whole reply within {self._timeout:g} s: try again, or raise the "
                f"time-out ({target.where('timeout')})"
            )
        except sdk.APIConnectionError as error:
            return self._unreachable(error)
        except sdk.APIStatusError as error:
            headers = {name.lower(): value for name, value in error.response.headers.items()}
            return status_error(target, error.status_code, error.response.text, headers)

    def _unreachable(self, error: Exception) -> ModelServerError:
        cause = error.__cause__ or error
        why = self._target.clean(f"{type(cause).__name__}: {cause}")
        return ModelServerError(
            f"{self._target}: no connection, or it broke off ({why}): check that the server runs "
            f"and {self._target.where('url')} is right",
            unreachable=True,
        )

    def _http(self) -> Any:
        with self._lock:
            if self._client is None:
                self._client = self._open()
                weakref.finalize(self, self._client.close)
            return self._client

    def _open(self) -> Any:
        """The SDK's client over an HTTP client with our rules."""
        import httpx2

        target = self._target
        sdk = importlib.import_module(self._sdk)
        timeout = httpx2.Timeout(self._timeout, connect=min(self._timeout, _LONGEST_CONNECT))
        http = sdk.DefaultHttpxClient(
            timeout=timeout,
            follow_redirects=False,
            trust_env=not _is_here(urlsplit(target.url).hostname or ""),
            event_hooks={
                "request": [partial(_only_ours, keyless=not target.key)],
                "response": [partial(_bounded, timeout=self._timeout)],
            },
        )
        client = sdk.OpenAI if self._sdk == "openai" else sdk.Anthropic
        return client(
            api_key=target.key or "none",  # the SDK wants one; without a key none is sent
            base_url=target.url,
            max_retries=0,
            timeout=timeout,
            http_client=http,
        )


def _is_here(host: str) -> bool:
    """True for names and addresses of this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


# The hooks know no transport: the client holds them, and a transport that its own client held
# would never be collected, nor its connections closed.


def _only_ours(request: httpx2.Request, *, keyless: bool) -> None:
    """Takes out headers that the environment added (organisation, custom ones), and the made-up
    key where there is none."""
    for name in list(request.headers):
        if name not in _HEADERS and not name.startswith("x-stainless-"):
            del request.headers[name]
    if keyless:
        for name in ("authorization", "x-api-key"):
            request.headers.pop(name, None)


def _bounded(response: httpx2.Response, *, timeout: float) -> None:
    """Puts an end to a body that never ends."""
    import httpx2

    stream = cast(httpx2.SyncByteStream, response.stream)
    deadline = time.monotonic() + timeout

    class Bounded(httpx2.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            size = 0
            for piece in stream:
                size += len(piece)
                if time.monotonic() > deadline:
                    raise httpx2.ReadTimeout("the reply did not end", request=response.request)
                if size > _LARGEST_REPLY:
                    raise httpx2.ReadError("the reply is too large", request=response.request)
                yield piece

        def close(self) -> None:
            stream.close()

    response.stream = Bounded()
