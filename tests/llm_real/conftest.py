"""A real small model behind a real server, where both are on this machine; otherwise a skip.

`make demo-llm` puts them there. Nothing is downloaded here.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

DEV = Path(__file__).parents[2] / "dev"
# Read now: every test runs without the settings of the shell around it.
ENVIRON = dict(os.environ)

Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture(scope="session")
def start_python() -> Iterator[Start]:
    """Starts Python with pipes, in the folder dev/ and with the caller's model cache; what still
    runs at the end is ended."""
    if importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("xllamacpp is not installed: run `make demo-llm` once")
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env=ENVIRON,
            cwd=DEV,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.terminate()
        process.communicate(timeout=30)


@pytest.fixture(scope="session")
def small_server(start_python: Start) -> dict[str, Any]:
    """What a server with the smallest model said when it was ready: url, model, context."""
    process = start_python(
        "serve_model.py", "--model", "smollm2", "--context", "4096", "--parallel", "2"
    )
    line = process.stdout.readline() if process.stdout is not None else ""
    if not line:
        told = process.communicate(timeout=30)[1]
        if "is not in" in told:
            pytest.skip("the model smollm2 is not in the cache: run `make demo-llm` once")
        pytest.fail(f"the server did not start: {told}")
    said: dict[str, Any] = json.loads(line)
    return said
