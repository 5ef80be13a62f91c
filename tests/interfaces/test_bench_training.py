"""`evimem bench training`: three files from folders, and a clear word where there is no run."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from evimem.interfaces.cli.main import cli


def test_the_page_is_written_in_three_forms_and_names_no_place_of_the_machine(
    tmp_path: Path,
) -> None:
    run = tmp_path / "mine"
    run.mkdir()
    rows = [{"step": n, "reward": n / 10, "entropy": 1.0, "recall": 0.5} for n in (1, 2, 3)]
    text = "".join(f"{json.dumps(one)}\n" for one in rows)
    (run / "metrics.jsonl").write_text(text, encoding="utf-8")
    out = tmp_path / "out" / "page.html"

    done = CliRunner().invoke(
        cli, ["bench", "training", str(run), "--note", "a word first", "--out", str(out)]
    )

    assert done.exit_code == 0, done.output
    html, markdown = out.read_text(encoding="utf-8"), out.with_suffix(".md")
    told = json.loads(out.with_suffix(".json").read_text(encoding="utf-8"))
    assert html.count("<svg") == 3 and "Reinforcement" in html
    assert "- a word first" in markdown.read_text(encoding="utf-8")
    assert told["sections"][-1]["plots"][0]["lines"][0]["y"] == [0.1, 0.2, 0.3]
    assert str(tmp_path) not in html + markdown.read_text(encoding="utf-8") + json.dumps(told)


def test_json_is_printed_in_place_of_words(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text('{"step": 1, "reward": 1}\n', encoding="utf-8")
    done = CliRunner().invoke(
        cli, ["bench", "training", str(tmp_path), "--json", "--out", str(tmp_path / "p.html")]
    )
    assert done.exit_code == 0, done.output
    assert json.loads(done.output)["sections"]


def test_a_folder_without_a_run_is_an_error_of_the_user(tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["bench", "training", str(tmp_path)])
    assert done.exit_code == 2
    assert "neither metrics.jsonl nor report.json" in done.output
