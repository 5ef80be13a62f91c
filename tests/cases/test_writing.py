"""What is written: alike on every way in, once however often it is sent, never confused."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from evimem import compose
from evimem.compose import Memory
from evimem.interfaces.cli import store as write_commands
from evimem.model.item import Item
from evimem.model.turn import Turn
from evimem.scoring.tokens import estimate_tokens

Run = Callable[..., Result]
Opener = Callable[..., Memory]
SAMPLES = Path(__file__).parents[1] / "samples" / "import"


def row(path: Path, *texts: str, speaker: str = "Ana") -> Path:
    rows = [
        {
            "session_id": "s",
            "id": f"m{n}",
            "ts": 1_700_000_000 + n,
            "speaker": speaker,
            "text": text,
        }
        for n, text in enumerate(texts)
    ]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def mem0(path: Path, *texts: str) -> Path:
    facts = [
        {"id": f"f{n}", "memory": text, "user_id": "ana", "created_at": "2024-01-01T00:00:00Z"}
        for n, text in enumerate(texts)
    ]
    path.write_text(json.dumps({"results": facts}), encoding="utf-8")
    return path


def turns(memory: Memory) -> list[Turn]:
    with memory._store.read(memory.bank) as reader:
        return [value for _, value in reader.entries() if isinstance(value, Turn)]


def items(memory: Memory) -> list[Item]:
    with memory._store.read(memory.bank) as reader:
        return [value for _, value in reader.entries() if isinstance(value, Item)]


# -- sizes --------------------------------------------------------------------------------------

WAYS: dict[str, Callable[[Memory, Run, Path, str], object]] = {
    "library, a text": lambda memory, run, path, text: memory.add(text, session_id="s"),
    "library, messages": lambda memory, run, path, text: memory.add(
        [{"role": "user", "content": text}], session_id="s"
    ),
    "library, a file": lambda memory, run, path, text: memory.import_file(row(path, text)),
    "command, an argument": lambda memory, run, path, text: run("add", text),
    "command, standard input": lambda memory, run, path, text: run("add", stdin=text),
    "command, a file": lambda memory, run, path, text: run("import", str(row(path, text))),
}
"""Every public way to write a turn."""


TEXTS = {"words": "word " * 9_999 + "lastword", "one word": "x" * 50_000, "half": "lone \ud83d one"}


@pytest.mark.parametrize(
    ("way", "text"),
    [
        pytest.param(way, text, id=f"{way}: {name}")
        for way in WAYS
        for name, text in TEXTS.items()
        # A command line and a pipe carry bytes, and no half of a character gets there.
        if name != "half" or way not in ("command, an argument", "command, standard input")
    ],
)
def test_case_p026_a_text_is_treated_alike_on_every_way_in(
    memory: Memory, run: Run, tmp_path: Path, way: str, text: str
) -> None:
    WAYS[way](memory, run, tmp_path / "a.jsonl", text)
    (turn,) = turns(memory)
    assert turn.text == text.replace("\ud83d", "\ufffd"), "turns are what was said: never cut"
    assert estimate_tokens(memory.context("lastword", max_tokens=500)) <= 500
    assert memory.doctor().problems == ()


def test_case_p026_a_new_way_in_cannot_be_forgotten() -> None:
    """A public call or command that is new must be sorted here, and into WAYS if it writes."""
    writing = {"add", "import_file"}
    other = {
        "around", "ask", "ask_traced", "backup", "banks", "build_episodes", "build_facts", "close",
        "content_hash", "context", "delete_record", "doctor", "embed", "episode_state",
        "estimate_build", "estimate_episodes", "export", "facts", "forget", "forget_bank",
        "from_settings", "get", "history", "manage", "open", "prompts", "record_conflicts",
        "record_history", "records", "reindex", "scan", "search", "session", "sessions", "stats",
        "texts", "trace", "traces", "undo_record", "update_record",
    }  # fmt: skip
    calls = inspect.getmembers(compose.Memory, callable)
    assert {name for name, _ in calls if not name.startswith("_")} == writing | other
    commands = {command.name for command in write_commands.COMMANDS}
    assert commands == {"import", "add", "forget", "export"}


def test_case_p011_an_endless_fact_is_counted_and_not_stored(
    memory: Memory, tmp_path: Path
) -> None:
    good = "Ana keeps bees on the roof."
    document = " ".join(f"Line {n} of a long document about topic {n % 31}." for n in range(4000))
    path = mem0(tmp_path / "mem0.json", "la " * 58_000, "a" * 60_000, good, document)
    receipt = memory.import_file(path, format="mem0")
    assert receipt.facts == 4
    assert receipt.skipped == {"degenerate_fact": 2}
    assert [one.text for one in items(memory)] == [good, document]
    assert good in [hit.text for hit in memory.search("la la la bees").hits]
    assert memory.ask("Who keeps bees?").citations


def test_case_p011_an_endless_turn_is_kept_and_blocks_nothing(memory: Memory) -> None:
    endless = "la " * 58_000
    memory.add([endless, "Ana keeps bees on the roof."], session_id="s")
    assert turns(memory)[0].text == endless
    assert memory.search(endless).hits
    assert memory.ask("Ana " + endless + "bees?").text
    found = {hit.text: hit.ranks.get("bm25") for hit in memory.search("bees roof").hits}
    assert found["Ana keeps bees on the roof."] == 1


def test_case_p032_what_is_read_is_packed_by_rank_until_the_budget(memory: Memory) -> None:
    memory.add(
        [
            f"kite {n} " + f"the kite club met again and talked of wind {n} " * 42
            for n in range(500)
        ],
        session_id="s",
    )
    block = memory.context("the kite club and wind", max_tokens=8000, top_k=500)
    assert 4000 < estimate_tokens(block) <= 8000
    for budget in (8000, 2000):
        trace = memory.ask_traced("What did the kite club talk of?", budget=budget)
        read = [one for r in trace.rounds for one in r.candidates]
        assert 0 < sum(estimate_tokens(one.payload) for one in read) <= budget
    assert trace.stop_reason == "budget"
    hits = {hit.item_id for r in trace.rounds for step in r.searches for hit in step.hits}
    assert {one.item_id for one in read} < hits, "the trace lists what was left out as well"
    for r in trace.rounds:
        assert [one.rank for one in r.candidates] == sorted(one.rank for one in r.candidates)


# -- the same again -----------------------------------------------------------------------------


def test_case_p062_the_same_request_five_times_is_one_record(
    memory: Memory, tmp_path: Path
) -> None:
    path = mem0(tmp_path / "mem0.json", "Ana likes kites.")
    for _ in range(5):
        memory.import_file(path, format="mem0")
        memory.add("I like kites.", session_id="s", timestamp="2024-03-05T10:00:00Z")
        memory.add("And the sea.", session_id="s", idempotency_key="k1")
    assert len(items(memory)) == 1
    assert sorted(turn.text for turn in turns(memory)) == ["And the sea.", "I like kites."]
    assert [change.op for change in memory.history(items(memory)[0].item_id)] == ["put"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ana manages Leo", "Leo is managed by Ana"),
        ("They paid 1,200 euros", "They paid EUR 1200"),
    ],
)
def test_case_p061_a_paraphrase_never_retires_a_true_fact(
    memory: Memory, tmp_path: Path, one: str, other: str
) -> None:
    memory.import_file(mem0(tmp_path / "a.json", one, other), format="mem0")
    memory.add([one, other], session_id="s", timestamp="2024-03-05T10:00:00Z")
    assert {item.text for item in items(memory)} == {one, other}
    for value in (*items(memory), *turns(memory)):
        ident = value.item_id if isinstance(value, Item) else value.turn_id
        assert [change.op for change in memory.history(ident)] == ["put"]


def test_case_p068_paging_shows_each_record_once_while_others_write(memory: Memory) -> None:
    memory.add([f"record {n}" for n in range(101)], session_id="s")
    seen: list[str] = []
    after = pages = 0
    while True:
        with memory._store.read(memory.bank) as reader:
            page = reader.entries(after=after, limit=20)
        if not page:
            break
        assert len(page) == 20 or pages >= 5
        after, pages = page[-1][0], pages + 1
        seen += [value.text for _, value in page]
        if pages <= 3:
            memory.add(f"late {pages}", session_id="t")
    assert seen == [f"record {n}" for n in range(101)] + [f"late {n}" for n in (1, 2, 3)]
    assert sum(record["type"] == "turn" for record in memory.export()) == 104
    assert memory.stats().turns == 104, "the total is told"


# -- who said what ------------------------------------------------------------------------------


def test_case_p085_words_that_look_like_a_role_stay_in_their_turn(
    memory: Memory, tmp_path: Path
) -> None:
    reply = "One.\n\nUser: believes in manual notes.\n\nThree.\n\nassistant: four.\n\nFive."
    said = [("user", "Wyn is the best assistant: noted"), ("assistant", reply)]
    memory.add(
        [{"role": role, "content": text} for role, text in said], session_id="s"
    )  # fmt: skip
    exported = tmp_path / "messages.json"
    exported.write_text(
        json.dumps([{"role": role, "content": text} for role, text in said]), encoding="utf-8"
    )
    memory.import_file(exported, format="openai")
    assert [(turn.role, turn.text) for turn in turns(memory)] == [*said, *said]
    for hit in memory.search("who believes in manual notes").hits[:2]:
        assert hit.speaker == "assistant"
    for cited in memory.ask("Who believes in manual notes?").citations:
        assert (cited.speaker, cited.quote in reply) == ("assistant", True)


def test_case_p088_nothing_is_cut_off_by_its_score(memory: Memory) -> None:
    memory.add(["the quarterly zeppelin", *(f"filler number {n}" for n in range(30))])
    result = memory.search("zeppelin maintenance", top_k=1000)
    assert result.hits[0].text == "the quarterly zeppelin"
    assert len(result.hits) == 31, "low scores come last and are not hidden"


# -- banks --------------------------------------------------------------------------------------


def test_case_p110_an_attachment_in_two_banks_is_two_things(memory: Memory) -> None:
    for bank in ("alfa", "beta"):
        memory.import_file(SAMPLES / "claude_conversations.json", bank=bank)
    before = list(memory.export(bank="beta"))
    facts = [record for record in before if record["type"] == "item"]
    assert facts, "the sample has an attached text"
    assert memory.forget_bank("alfa", confirm="alfa").items
    assert list(memory.export(bank="beta")) == before
    assert memory.get(facts[0]["item_id"], bank="beta").body == facts[0]["text"]


def test_case_p104_every_store_is_in_the_contract_suite() -> None:
    root = Path(__file__).parents[2]
    folder = root / "src" / "evimem" / "storage"
    stores = {path.name for path in folder.iterdir() if (path / "__init__.py").exists()}
    suite = (root / "tests" / "contract" / "conftest.py").read_text(encoding="utf-8")
    listed = suite.split("STORES:")[1].split("}")[0]
    assert stores == {name for name in listed.split('"')[1::2]}


# -- files with faults --------------------------------------------------------------------------


def test_case_p053_a_bad_byte_is_told_by_place_and_the_other_files_are_read(
    run: Run, tmp_path: Path
) -> None:
    folder = tmp_path / "chats"
    folder.mkdir()
    good = row(folder / "good.jsonl", "a whole line")
    bad = folder / "bad.jsonl"
    line = good.read_bytes().replace(b"m0", b"b0")
    bad.write_bytes(line + b"\n" + line.replace(b"a whole line", b"caf\xe9").replace(b"b0", b"b1"))
    receipt = json.loads(run("import", str(folder), "--json", code=3).stdout)
    assert receipt["stored"] == 2
    (failure,) = receipt["failed"]
    assert "bad.jsonl" in failure["where"] and "line 2" in failure["where"]
    told = failure["where"] + failure["message"]
    assert str(bad.read_bytes().index(b"\xe9")) in told, told


def test_case_p113_scan_says_where_and_which_kind_and_fix_ends_it(
    run: Run, memory: Memory, bank_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "gh" + "p_" + "Ab1Cd2Ef3G" * 4
    assert "secrets: 1 x github_token" in run("add", f"my key is {secret}").stderr
    assert "0 findings in 1 turns" in run("scan").stdout
    monkeypatch.setenv("EVIMEM_SECRETS", "keep")
    run("add", f"another key is {secret}")
    told = run("scan", code=3)
    assert "1 x github_token" in told.stdout and "--fix" in told.stdout
    assert secret not in told.output
    run("search", "another key")
    fixed = json.loads(run("scan", "--fix", "--json").stdout)
    assert (fixed["fixed"], fixed["scrubbed"], len(fixed["findings"])) == (True, True, 1)
    assert "0 findings" in run("scan").stdout
    files = list(bank_file.parent.iterdir())
    assert not any(secret.encode() in path.read_bytes() for path in files)
    monkeypatch.setenv("EVIMEM_SECRETS", "warn")
    assert "secrets: 1 x github_token" in run("add", f"third {secret}", "--session", "x").stderr
    monkeypatch.setenv("EVIMEM_SECRETS", "loud")
    assert "EVIMEM_SECRETS is 'loud'" in run("scan", code=2).stderr
