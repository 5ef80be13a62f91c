"""`evimem bench` runs end to end and writes what it says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from evimem.interfaces.cli.main import cli


@pytest.fixture(autouse=True)
def exact(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("EVIMEM_EMBEDDER", "hash")
    monkeypatch.setenv("EVIMEM_PATH", str(tmp_path / "m.evimem"))


def bench(*args: str, code: int = 0) -> Result:
    result = CliRunner().invoke(cli, ["bench", *args])
    assert result.exit_code == code, (result.output, result.exception)
    return result


def tuned(data_dir: Path) -> str:
    """One haystack of LongMemEval's tuning part."""
    return str(data_dir / "longmemeval" / "s_cleaned" / "6d550036.json")


@pytest.mark.data
def test_bench_retrieval_prints_a_table_and_writes_json_and_a_plot(
    data_dir: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    shown = bench("retrieval", "--data", tuned(data_dir), "--out", str(out), "--detail").stdout
    for system in ("bm25", "dense", "rrf", "fusion", "lite"):
        assert system in shown
    report = json.loads((out / "retrieval.json").read_text(encoding="utf-8"))
    assert report["kind"] == "retrieval"
    assert "sha256" in report["manifest"]["data longmemeval"]
    assert (out / "retrieval.svg").read_text(encoding="utf-8").startswith("<?xml")


@pytest.mark.data
def test_bench_answers_scores_and_writes_json(data_dir: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shown = bench("answers", "--data", tuned(data_dir), "--out", str(out)).stdout
    assert "answerable" in shown
    (written,) = out.glob("answers-longmemeval-*.json")
    assert json.loads(written.read_text(encoding="utf-8"))["n"] == 1


def test_bench_speed_compares_with_the_peer_in_the_same_run(tmp_path: Path) -> None:
    out = tmp_path / "out"
    shown = bench("speed", "--smoke", "--out", str(out)).stdout
    assert "sqlite fts5+vec" in shown
    rows = json.loads((out / "speed.json").read_text(encoding="utf-8"))["rows"]
    assert all(row["median_ms"] > 0 for row in rows)


def test_bench_without_data_says_where_to_name_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EVIMEM_DATA", raising=False)
    result = bench("retrieval", code=2)
    assert "--data PATH" in result.stderr
    nothing = bench("retrieval", "--data", str(tmp_path / "nowhere"), code=2)
    assert "nowhere" in nothing.stderr


@pytest.mark.data
def test_bench_qemem_sets_the_spaces_beside_a_single_list(data_dir: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shown = bench("qemem", "--data", tuned(data_dir), "--out", str(out)).stdout
    assert "qemem - matched" in shown
    report = json.loads((out / "qemem.json").read_text(encoding="utf-8"))
    assert report["kind"] == "qemem"
    drawn = (out / "qemem.svg").read_text(encoding="utf-8")
    assert drawn.startswith("<?xml")
    assert "budget in tokens" not in drawn


@pytest.mark.data
def test_bench_stored_tells_lost_evidence_from_missed_evidence(
    data_dir: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    shown = bench("stored", "--data", tuned(data_dir), "--out", str(out)).stdout
    for space in (
        "turn, direct",
        "episode, no_semantic",
        "semantic, episode_ok",
        "all, no_semantic",
    ):
        assert f"{space}: " in shown
    report = json.loads((out / "stored.json").read_text(encoding="utf-8"))
    assert report["kind"] == "stored"
    assert report["parts"][0]["spaces"][0]["questions"][0]["stored"] > 0
    printed = bench("stored", "--data", tuned(data_dir), "--out", str(out), "--json").stdout
    assert json.loads(printed) == report


@pytest.mark.data
def test_bench_qemem_needs_an_embedder(
    monkeypatch: pytest.MonkeyPatch, data_dir: Path, tmp_path: Path
) -> None:
    monkeypatch.setenv("EVIMEM_EMBEDDER", "none")
    said = bench("qemem", "--data", tuned(data_dir), "--out", str(tmp_path), code=2).output
    assert "EVIMEM_EMBEDDER" in said
