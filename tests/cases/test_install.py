"""Odd machines: no network, no home, an unknown user, a folder that cannot be written."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

ALONE = """
import json, socket, sys
def refuse(*a, **k):
    raise AssertionError("a connection was tried")
for name in ("connect", "connect_ex", "bind"):
    setattr(socket.socket, name, refuse)
socket.getaddrinfo = socket.create_connection = refuse
from evimem import Memory
with Memory.open(sys.argv[1]) as memory:
    receipt = memory.import_file(sys.argv[2])
    answer = memory.ask("Who adopted a parrot?")
    hits = memory.search("a bird as a pet").hits
    dense = "dense" in hits[0].ranks
    known = answer.status != "not_in_memory"
    print(json.dumps([receipt.stored, receipt.warnings, known, len(hits), dense]))
"""

AS_NOBODY = """
import os, sys
from pathlib import Path
from evimem import Memory
from evimem.interfaces.cli.main import cli
from click.testing import CliRunner
bank, chat, what = sys.argv[1:]

def use(path):
    os.environ["EVIMEM_PATH"] = str(path)
    for args in (("import", chat), ("search", "parrot", "--json"), ("ask", "Who has a parrot?"),
                 ("doctor",)):
        result = CliRunner().invoke(cli, list(args))
        yield result.exit_code, result.output

import tempfile  # once as root, so that nothing is loaded later from where nobody can read
with tempfile.TemporaryDirectory() as folder:
    warm = list(use(Path(folder) / "m.evimem"))
    assert [code for code, _ in warm] == [0] * 4, warm
os.environ.pop("HOME", None)
os.umask(0o077)
os.setgid(12345)
os.setuid(12345)
if what == "default":
    os.environ.pop("EVIMEM_PATH")
    result = CliRunner().invoke(cli, ["search", "parrot"])
    print(result.exit_code, result.output)
else:
    for code, output in use(bank):
        print(code, " ".join(output.split())[:400])
"""


def environ() -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("EVIMEM")}
    return {**kept, "EVIMEM_SYNCHRONOUS": "NORMAL", "OMP_NUM_THREADS": "1"}


def chat(tmp_path: Path) -> Path:
    path = tmp_path / "chat.jsonl"
    path.write_text(
        '{"id": "1", "speaker": "Ana", "ts": 1700000000, "text": "I adopted a parrot."}\n'
        '{"id": "2", "speaker": "Bo", "ts": 1700000060, "text": "What a week."}\n',
        encoding="utf-8",
    )
    return path


def test_case_p133_the_first_start_needs_no_network_and_no_home(tmp_path: Path) -> None:
    env = {key: value for key, value in environ().items() if key not in ("HOME", "XDG_DATA_HOME")}
    done = subprocess.run(
        [sys.executable, "-c", ALONE, str(tmp_path / "data" / "m.evimem"), str(chat(tmp_path))],
        env=env,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [2, [], True, 2, True]
    assert {path.name for path in tmp_path.iterdir()} == {"chat.jsonl", "data"}


def as_nobody(bank: Path, source: Path, what: str = "") -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", AS_NOBODY, str(bank), str(source), what],
        env={**environ(), "EVIMEM_EMBEDDER": "hash"},
        cwd="/",
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder that user 12345 owns, below folders that it may walk through."""
    if os.getuid() != 0:
        pytest.skip("only root can become somebody else")
    for parent in [tmp_path, *tmp_path.parents][:-2]:
        if parent.stat().st_uid == os.getuid():
            parent.chmod(parent.stat().st_mode | 0o011)
    tmp_path.chmod(0o755)
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    os.chown(folder, 12345, 12345)
    return folder


def test_case_p134_an_unknown_user_without_home_works_in_its_data_folder(
    data: Path, tmp_path: Path
) -> None:
    source = chat(tmp_path)
    source.chmod(0o644)
    bank = data / "deeper" / "m.evimem"
    lines = as_nobody(bank, source)
    assert [line.split()[0] for line in lines] == ["0"] * 4, lines
    assert stat.S_IMODE(bank.stat().st_mode) == 0o600
    assert stat.S_IMODE(bank.parent.stat().st_mode) == 0o700
    assert bank.stat().st_uid == 12345
    assert {path.name for path in tmp_path.iterdir()} == {"chat.jsonl", "data"}


def test_case_p134_a_data_folder_that_cannot_be_written_is_told_and_still_searched(
    data: Path, tmp_path: Path
) -> None:
    source = chat(tmp_path)
    source.chmod(0o644)
    bank = data / "m.evimem"
    as_nobody(bank, source)
    os.chown(data, 0, 0)
    data.chmod(0o755)
    bank.chmod(0o644)
    os.chown(bank, 0, 0)
    lines = as_nobody(bank, source)
    codes = [line.split()[0] for line in lines]
    assert codes == ["4", "0", "0", "0"], lines
    assert "reading only" in lines[0]
    assert "I adopted a parrot." in lines[1]
    assert "trace_not_stored" in lines[2]


def test_case_p134_where_no_folder_can_be_made_one_line_says_so(data: Path, tmp_path: Path) -> None:
    line, *more = as_nobody(data / "m.evimem", chat(tmp_path), "default")
    assert line.startswith("4 evimem: ") and "cannot be made" in line, (line, more)
    assert "EVIMEM_PATH" in line
    assert not any("Traceback" in one for one in more)
