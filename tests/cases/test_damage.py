"""Damaged indexes: noticed by every command, never a crash, and made anew from the words."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from evimem.compose import Memory
from evimem.embed.hashing import HashingEmbedder
from evimem.errors import BankCorrupt

Run = Callable[..., Result]
Opener = Callable[..., Memory]
Damage = Callable[[str], int]


def chat(path: Path, count: int, first: int = 0) -> Path:
    rows = [
        {"session_id": "s", "id": f"m{n}", "ts": 1_700_000_000 + n, "speaker": "Ana",
         "text": f"note number{n} about kites"}
        for n in range(first, first + count)
    ]  # fmt: skip
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def found(run: Run, word: str) -> list[str]:
    data = json.loads(run("search", word, "--json", "-k", "1").stdout)
    return [hit["source_id"] for hit in data["hits"]]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE item SET tokens = x'' WHERE bank = 1",
        "UPDATE item SET tokens = x'00ff' WHERE bank = 1 AND row % 3 = 0",
        "UPDATE item SET traits = 77 WHERE bank = 1",
        "UPDATE vector SET data = zeroblob(8) WHERE bank = 1 AND row % 2 = 0",
        "UPDATE vector SET crc = 1 WHERE bank = 1",
    ],
)
def test_case_p101_damage_fails_the_import_and_reindex_mends_it(
    run: Run, damage: Damage, tmp_path: Path, statement: str
) -> None:
    run("import", str(chat(tmp_path / "a.jsonl", 12)))
    assert found(run, "number7") == ["m7"]
    assert damage(statement) > 0

    result = run("import", str(chat(tmp_path / "b.jsonl", 3, first=50)), "--json", code=3)
    receipt = json.loads(result.stdout)
    assert receipt["stored"] == 3, "what was new is kept"
    assert "damaged" in receipt["failed"][-1]["message"]
    told = json.loads(run("doctor", "--json", code=3).stdout)["problems"]
    assert told and all("evimem reindex" in problem["todo"] for problem in told)

    run("reindex")
    assert "all is well" in run("doctor").stdout
    assert found(run, "number7") == ["m7"]
    assert found(run, "number51") == ["m51"]
    assert json.loads(run("import", str(tmp_path / "a.jsonl"), "--json").stdout)["unchanged"] == 12


def test_case_p101_damaged_words_are_named_and_can_be_replaced_from_their_source(
    run: Run, damage: Damage, tmp_path: Path
) -> None:
    source = chat(tmp_path / "a.jsonl", 12)
    run("import", str(source))
    damage("UPDATE item SET text = 'other words' WHERE bank = 1 AND source_id = 'm4'")
    ident = run("doctor", code=3).stdout.split("('")[1].split("'")[0]
    assert ident in run("reindex", code=4).stderr
    assert ident in run("search", "kites", code=4).stderr
    run("import", str(source), code=4)
    run("forget", "--turn", ident)
    run("reindex")
    assert json.loads(run("import", str(source), "--json").stdout)["stored"] == 1
    assert "all is well" in run("doctor").stdout
    assert found(run, "number4") == ["m4"]


def test_case_p131_damaged_vectors_degrade_the_search_and_come_back_with_a_reindex(
    open_memory: Opener, damage: Damage, tmp_path: Path
) -> None:
    open_memory().import_file(chat(tmp_path / "a.jsonl", 12))
    damage("UPDATE vector SET data = x'' WHERE bank = 1 AND row % 2 = 0")
    memory, other = open_memory(), open_memory()
    for one in (memory, other, memory):
        result = one.search("number7")
        assert result.hits[0].source_id == "m7"
        assert "dense" not in result.hits[0].ranks
        assert result.degraded[0].startswith("vectors_damaged") and "reindex" in result.degraded[0]
        assert any(reason.startswith("vectors_damaged") for reason in one.ask("kites?").degraded)
    other.add("a word that came later: zeppelin", session_id="t")
    assert memory.search("zeppelin").hits[0].text.endswith("zeppelin")
    assert memory.search("zeppelin").degraded
    assert memory.reindex() == 13
    for one in (memory, other):
        result = one.search("number7")
        assert result.degraded == ()
        assert "dense" in result.hits[0].ranks


def test_case_p131_damage_that_comes_while_the_memory_is_open_is_noticed(
    open_memory: Opener, damage: Damage, tmp_path: Path
) -> None:
    memory = open_memory()
    memory.import_file(chat(tmp_path / "a.jsonl", 3))
    assert memory.search("number1").degraded == ()
    memory.import_file(chat(tmp_path / "b.jsonl", 3, first=3))
    damage("UPDATE vector SET crc = crc + 1 WHERE bank = 1")
    result = memory.search("number5")
    assert result.hits[0].source_id == "m5"
    assert result.degraded[0].startswith("vectors_damaged")


def test_case_p131_vectors_of_another_version_are_not_compared(open_memory: Opener) -> None:
    memory = open_memory(embedder=HashingEmbedder(name="first"))
    memory.add("a note about kites", session_id="s")
    newer = open_memory(embedder=HashingEmbedder(name="second"))
    result = newer.search("kites")
    assert result.hits and result.degraded[0].startswith("embedder_mismatch")


def test_damaged_words_stop_a_search_with_an_error_and_not_with_a_wrong_answer(
    open_memory: Opener, damage: Damage
) -> None:
    open_memory().add("a note about kites", session_id="s")
    damage("UPDATE item SET text = 'a note about boats' WHERE bank = 1")
    with pytest.raises(BankCorrupt, match="checksum"):
        open_memory().search("kites")
