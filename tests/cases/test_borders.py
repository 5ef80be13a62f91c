"""What comes in from outside is taken, refused with a clear message, or counted: never half."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from evimem.compose import Memory
from evimem.errors import SettingsError, StorageError, UsageError
from evimem.settings import Settings

Run = Callable[..., Result]
Opener = Callable[..., Memory]
SAID = "2024-03-05T10:00:00Z"
BEYOND = [
    datetime.max.replace(tzinfo=timezone(timedelta(hours=-12))),
    datetime.min.replace(tzinfo=timezone(timedelta(hours=14))),
]


# Times


@pytest.mark.parametrize(
    "raw", [*BEYOND, *(t.isoformat() for t in BEYOND), 1e22, -1e22, 10**400, float("nan")]
)
def test_a_time_that_utc_cannot_hold_is_refused_and_the_bank_stays_searchable(
    memory: Memory, raw: Any
) -> None:
    memory.add("the kite is red", timestamp=SAID)
    with pytest.raises(UsageError, match="timestamp"):
        memory.add("another kite", timestamp=raw)
    with pytest.raises(UsageError, match="timestamp"):
        memory.add([{"content": "one"}, {"content": "another kite", "timestamp": raw}])
    assert [hit.text for hit in memory.search("kite").hits] == ["the kite is red"]
    assert memory.ask("Which kite is red?").citations


@pytest.mark.parametrize("edge", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"])
@pytest.mark.parametrize("zone", ["America/New_York", "Pacific/Kiritimati"])
def test_the_first_and_the_last_moment_can_be_stored_and_searched_in_any_zone(
    open_memory: Opener, monkeypatch: pytest.MonkeyPatch, edge: str, zone: str
) -> None:
    monkeypatch.setenv("EVIMEM_TZ", zone)
    memory = open_memory()
    memory.add("I fly a kite next week", timestamp=edge)
    moment = datetime.fromisoformat(edge)
    assert memory.search("kite last week", since=moment, until=moment).hits
    memory.ask("What did I do last month?")


@pytest.mark.parametrize(
    "number", [1709632800, 1709632800_000, 1709632800_000_000, 1709632800_000_000_000]
)
def test_numbers_of_any_unit_mean_the_same_moment(memory: Memory, number: int) -> None:
    memory.add("the kite is red", timestamp=number)  # type: ignore[arg-type]
    assert memory.search("kite").hits[0].said_at == datetime(2024, 3, 5, 10, tzinfo=UTC)


@pytest.mark.parametrize("value", ["2024-03-05", 5, date(2024, 3, 5), *BEYOND])
def test_limits_that_are_no_comparable_time_are_refused(memory: Memory, value: Any) -> None:
    memory.add("the kite is red", timestamp=SAID)
    for limit in ("since", "until"):
        with pytest.raises(UsageError, match=limit):
            memory.search("kite", **{limit: value})
    with pytest.raises(UsageError, match="as_of"):
        memory.ask("Which kite?", as_of=value)


def test_the_last_year_is_a_limit_like_any_other(run: Run) -> None:
    run("add", "the kite is red", "--at", "2024-03-05")
    for limits in (["--until", "9999"], ["--since", "0001"], ["--since", "2024-03-05"]):
        assert json.loads(run("search", "kite", "--json", *limits).stdout)["hits"]
    run("ask", "Which kite is red?", "--as-of", "9999")
    run("add", "late", "--at", "9999-12-31T23:59:59-12:00", code=2)


def test_one_rule_reads_zones_for_every_command(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVIMEM_TZ", "+02:00")
    run("add", "the kite is red", "--at", "2024-03-05T01:00")
    assert run("search", "kite", "--until", "2024-03-04T23:00Z").stdout
    run("search", "kite", "--until", "2024-03-04T22:59:59Z", code=1)
    for wrong in ("Mars/Phobos", "../../etc/passwd", "a" * 5000):
        monkeypatch.setenv("EVIMEM_TZ", wrong)
        assert "EVIMEM_TZ" in run("where", code=2).stderr


# Text and attributes


def test_case_p052_lone_surrogates_are_replaced_wherever_they_stand(memory: Memory) -> None:
    message = {
        "content": "the kite\ud800 is red",
        "name": "Zo\udce9",
        "id": "m\ud800",
        "no\udfffte": ["\udcb4"],
    }
    receipt = memory.add(message, session_id="s\ud83d", timestamp=SAID)
    (turn,) = memory.session(receipt.session_id)
    assert (turn.text, turn.speaker, turn.source_id) == (
        "the kite\ufffd is red",
        "Zo\ufffd",
        "m\ufffd",
    )
    assert turn.attrs == {"no\ufffdte": ["\ufffd"]}
    assert memory.sessions()[0].source_id == "s\ufffd"
    assert memory.add(message, session_id="s\ud83d", timestamp=SAID).unchanged == receipt.stored


def test_attributes_of_any_keys_are_kept_and_bottomless_ones_refused(memory: Memory) -> None:
    receipt = memory.add({"content": "kite", "extra": {1: {2: "x"}}}, timestamp=SAID)
    assert memory.session(receipt.session_id)[0].attrs == {"extra": {"1": {"2": "x"}}}
    deep: dict[str, Any] = {}
    inner = deep
    for _ in range(3000):
        inner["k"] = inner = {}
    with pytest.raises(UsageError, match="nested deeper"):
        memory.add({"content": "kite", "extra": deep}, timestamp=SAID)


@pytest.mark.parametrize("nothing", [None, 5, 1.5])
def test_what_is_no_message_is_refused(memory: Memory, nothing: Any) -> None:
    with pytest.raises(UsageError, match="is no message"):
        memory.add(nothing)


# Empty names never mean "the default" or "everything"


def test_case_p067_an_empty_name_is_never_the_default(open_memory: Opener, run: Run) -> None:
    memory = open_memory()
    memory.add("the kite is red", speaker="Tom", timestamp=SAID)
    with pytest.raises(UsageError, match="empty"):
        open_memory(bank="")
    with pytest.raises(SettingsError, match="empty"):
        Settings.load(path="", environ={})
    run("forget", "--speaker", "Tom", "--bank", "", code=2)
    run("forget", "--turn", "", "--speaker", "Tom", code=2)
    run("add", "hello", "--bank", "", code=2)
    for given in ({"turn": "", "speaker": "Tom"}, {"session": "", "speaker": "Tom"}):
        with pytest.raises(UsageError, match="exactly one"):
            memory.forget(**given)
    assert memory.search("kite", speaker="").hits == ()
    assert memory.search("kite", session="").hits == ()
    assert memory.stats().turns == 1


# Names as people write them


def test_a_speaker_is_forgotten_however_the_name_is_written(memory: Memory) -> None:
    names = ["Zoë", "Zoe\u0308", "ZOË", " zoë ", "Zoe"]
    memory.add(
        [{"content": f"kite {n}", "name": name} for n, name in enumerate(names)], timestamp=SAID
    )
    assert len(memory.search("kite", speaker="zoë").hits) == 4
    assert len(memory.forget(speaker="zoe\u0308").turns) == 4
    assert [hit.speaker for hit in memory.search("kite").hits] == ["Zoe"]


def test_a_session_is_searched_by_its_id_in_the_source(memory: Memory) -> None:
    memory.add("kite one", session_id="spring", timestamp=SAID)
    receipt = memory.add("kite two", session_id="summer", timestamp=SAID)
    for ref in ("summer", receipt.session_id):
        assert [hit.text for hit in memory.search("kite", session=ref).hits] == ["kite two"]
    assert memory.search("kite", session="winter").hits == ()


# Paths


def test_paths_that_cannot_name_a_file_are_refused(tmp_path: Path, run: Run) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    for name in ("a" * 300, "a\0b", "a\ud800b", "loop", "gone"):
        with pytest.raises(StorageError):
            Memory.open(tmp_path / name, embedder="none")
    run("where", "--path", str(tmp_path / ("a" * 300)))
    run("add", "x", "--path", str(tmp_path / ("a" * 300)), code=4)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["gone", "loop"]


# The command line


@pytest.mark.parametrize(
    "args",
    [
        ["search"], ["nosuch"], ["search", "x", "-k", "many"], ["import", "x", "--format", "none"],
        ["trace", "list", "--limit", "-1"], ["trace", "list", "--limit", "9" * 30], ["--nope"],
    ],
)  # fmt: skip
def test_wrong_usage_is_told_in_json_too(run: Run, args: list[str]) -> None:
    result = run(*args, "--json", code=2)
    assert json.loads(result.stdout)["error"]["message"]
    assert "Error" in result.stderr


def evimem(*args: str, **more: Any) -> subprocess.CompletedProcess[bytes]:
    code = "from evimem.interfaces.cli.main import main; main()"
    env = {**os.environ, **more.pop("env", {})}
    return subprocess.run([sys.executable, "-c", code, *args], capture_output=True, env=env, **more)


def test_standard_input_that_is_no_text_is_refused_with_its_place(bank_file: Path) -> None:
    done = evimem("add", input=b"caf\xe9 bytes")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"byte 3 is 0xE9" in done.stderr
    assert evimem("add", input="\ufeffcafé".encode()).returncode == 0


def test_case_p049_an_output_without_the_letters_shows_their_codes(bank_file: Path) -> None:
    assert evimem("add", "日本 kite", "--speaker", "Zoë").returncode == 0
    done = evimem("search", "kite", env={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})
    assert done.returncode == 0, done.stderr
    assert rb"Zo\xeb" in done.stdout
    exact = evimem("search", "kite", "--json", env={"PYTHONIOENCODING": "ascii"})
    assert json.loads(exact.stdout.decode())["hits"][0]["text"] == "日本 kite"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("args", [["where"], ["where", "--json"], ["export"]])
def test_an_output_that_is_full_is_a_message_and_an_exit_code(
    bank_file: Path, args: list[str]
) -> None:
    code = "from evimem.interfaces.cli.main import main; main()"
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-c", code, *args], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 3
    assert b"No space left" in done.stderr
    assert b"Traceback" not in done.stderr


def test_ctrl_c_keeps_what_was_stored_and_says_how_to_go_on(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = tmp_path / "chat.jsonl"
    rows = ({"speaker": "Ana", "text": f"kite {n}", "ts": n} for n in range(5000))
    chat.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    stop = iter([False, True])

    def passed_on(_: object, session: object) -> object:
        interrupted()
        return session

    def interrupted(*_: object) -> None:
        if next(stop):
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("evimem.engine.ingest.SecretGuard.session", passed_on)
        patch.setattr("evimem.engine.ingest._damage", interrupted)
        result = run("import", str(chat), "--json", "--no-embed", code=130)
    assert json.loads(result.stdout)["error"]["type"] == "Interrupted"
    assert "same command" in result.stderr
    again = json.loads(run("import", str(chat), "--json").stdout)
    assert again["unchanged"] + again["stored"] == 5000
    assert again["unchanged"] >= 2000
