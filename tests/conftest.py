"""Fixtures and guards for every test: no network but loopback, no settings from the outside."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


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
