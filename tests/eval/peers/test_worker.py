"""The process of a peer: replies in order, every wait bounded, nothing of the shell inside."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from evimem.errors import UsageError
from evimem.eval.peers.worker import PeerError, Worker, adapter_path, peer_command

OPEN = {"url": "http://127.0.0.1:9", "key": "k", "dim": 3}


def turn(text: str) -> dict[str, object]:
    return {"turns": [{"turn_id": "t0", "text": text}]}


def script(tmp_path: Path, body: str) -> tuple[str, str]:
    path = tmp_path / "script.py"
    path.write_text(body, encoding="utf-8")
    return sys.executable, str(path)


def test_requests_are_answered_in_order_and_timed_inside(toy_command: tuple[str, ...]) -> None:
    with Worker(toy_command, seconds=20) as worker:
        opened = worker.ask("open", {**OPEN, "infer": True})
        stored = worker.ask("stored")

    assert opened.result == {"version": "0.toy"}
    assert stored.result == []
    assert opened.seconds > stored.seconds >= 0, "loading the adapter takes longer than a list"


def test_an_exception_of_the_package_is_an_error_and_the_process_lives_on(
    toy_command: tuple[str, ...],
) -> None:
    with Worker(toy_command, seconds=20) as worker:
        worker.ask("open", OPEN)

        with pytest.raises(PeerError, match=r"'add'.*the package is unhappy"):
            worker.ask("add", turn("raise"))

        assert worker.ask("stored").result == []


def test_an_unknown_operation_is_refused(toy_command: tuple[str, ...]) -> None:
    with Worker(toy_command, seconds=20) as worker:
        worker.ask("open", OPEN)

        with pytest.raises(PeerError, match="unknown operation 'chat'"):
            worker.ask("chat")


def test_a_process_that_ends_is_an_error_that_shows_what_it_wrote(tmp_path: Path) -> None:
    command = script(
        tmp_path, "import sys\nsys.stdin.readline()\nraise SystemExit('no such thing')"
    )
    with Worker(command, seconds=20) as worker:
        with pytest.raises(PeerError, match="ended during 'open': no such thing"):
            worker.ask("open")
        with pytest.raises(PeerError, match="ended"):
            worker.ask("stored")


def test_a_wait_is_bounded_and_the_process_is_ended(toy_command: tuple[str, ...]) -> None:
    with Worker(toy_command, seconds=1.5) as worker:
        worker.ask("open", OPEN)
        start = time.monotonic()

        with pytest.raises(PeerError, match=r"more than 1\.5 s for 'add'"):
            worker.ask("add", turn("sleep"))

        assert time.monotonic() - start < 10
        with pytest.raises(PeerError):
            worker.ask("stored")


def test_words_of_a_package_on_stdout_are_no_replies(tmp_path: Path) -> None:
    command = script(
        tmp_path,
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    print('chatter'); print('[1]'); print(json.dumps({'id': 0, 'result': 'old'}))\n"
        "    reply = {'id': json.loads(line)['id'], 'result': 7, 'seconds': 1,\n"
        "             'embedding_seconds': 0}\n"
        "    print(json.dumps(reply), flush=True)\n",
    )
    with Worker(command, seconds=20) as worker:
        assert worker.ask("stored").result == 7


def test_the_process_sees_no_setting_of_the_shell_and_no_telemetry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example")
    command = script(
        tmp_path,
        "import json, os, sys\n"
        "for line in sys.stdin:\n"
        "    print(json.dumps({'id': 1, 'result': dict(os.environ), 'seconds': 0,\n"
        "                      'embedding_seconds': 0}), flush=True)\n",
    )
    with Worker(command, seconds=20) as worker:
        seen = worker.ask("stored").result
        folder = worker.folder
        assert folder.is_dir()

    assert isinstance(seen, dict)
    assert "OPENAI_API_KEY" not in seen
    assert seen["HTTPS_PROXY"] == seen["https_proxy"] == "http://127.0.0.1:9"
    assert seen["MEM0_TELEMETRY"] == "False"
    assert seen["HOME"] == str(folder)
    assert not folder.exists(), "the folder goes with the process"


@pytest.mark.parametrize(
    "call",
    [
        "socket.create_connection(('192.0.2.1', 80), timeout=5)",
        "socket.socket().connect(('192.0.2.1', 80))",
        "socket.socket().connect_ex(('192.0.2.1', 80))",
        "socket.getaddrinfo('telemetry.example', 443)",
    ],
)
def test_a_connection_or_a_look_up_elsewhere_is_refused_inside(tmp_path: Path, call: str) -> None:
    adapter = tmp_path / "far_peer.py"
    adapter.write_text(
        f"import socket\nclass Peer:\n    def __init__(self, config, vectors):\n        {call}\n",
        encoding="utf-8",
    )
    with (
        Worker(peer_command(Path(sys.executable), adapter), seconds=20) as worker,
        pytest.raises(PeerError, match="peers have no network"),
    ):
        worker.ask("open", OPEN)


def test_a_program_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(PeerError, match="cannot be started"):
        Worker((str(tmp_path / "none"),))


def test_an_unknown_adapter_and_a_missing_environment_say_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"'mem1'.*langmem, mem0, mempalace, simplemem"):
        adapter_path("mem1")
    with pytest.raises(UsageError, match=r"make_peer_env\.py"):
        peer_command(tmp_path / "python", adapter_path("mem0"))
