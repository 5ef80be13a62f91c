"""A memory and a command line on one real file, as an installation has them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest
from click.testing import CliRunner, Result

from evimem.compose import Memory
from evimem.interfaces.cli.main import cli

Opener = Callable[..., Memory]
Run = Callable[..., Result]


@pytest.fixture
def bank_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that `memory`, `open_memory` and `run` use."""
    path = tmp_path / "bank" / "m.evimem"
    monkeypatch.setenv("EVIMEM_PATH", str(path))
    monkeypatch.setenv("EVIMEM_EMBEDDER", "hash")
    monkeypatch.setenv("EVIMEM_SYNCHRONOUS", "NORMAL")
    return path


@pytest.fixture
def open_memory(bank_file: Path) -> Iterator[Opener]:
    """Opens memories; all are closed at the end."""
    opened: list[Memory] = []

    def one(**options: object) -> Memory:
        memory = Memory.open(**options)  # type: ignore[arg-type]
        opened.append(memory)
        return memory

    yield one
    for memory in opened:
        memory.close()


@pytest.fixture
def memory(open_memory: Opener) -> Memory:
    """One open memory."""
    return open_memory()


@pytest.fixture
def run(bank_file: Path) -> Run:
    """Runs a command and checks its exit code."""

    def call(*args: str, code: int = 0, stdin: str | None = None) -> Result:
        result = CliRunner().invoke(cli, args, input=stdin)
        assert result.exit_code == code, (result.output, result.stderr, result.exception)
        return result

    return call


@pytest.fixture
def damage(bank_file: Path) -> Callable[[str], int]:
    """Runs a statement on the file behind the program's back; how many rows it changed."""

    def change(statement: str) -> int:
        connection = apsw.Connection(str(bank_file))
        try:
            connection.execute(statement)
            return int(connection.changes())
        finally:
            connection.close()

    return change
