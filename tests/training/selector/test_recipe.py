"""The training of the selector as one run: weights, metrics, report; the same for the same seed."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from evimem.embed.hashing import HashingEmbedder
from evimem.errors import MissingExtra, UsageError
from evimem.eval.reporting.training_runs import read_runs
from evimem.interfaces.cli.main import cli
from evimem.query.selector.policy import load_policy
from evimem.training.selector.learning import SelectorTraining
from evimem.training.selector.recipe import SelectorSetup, train

SMALL = SelectorSetup(
    profile="tiny",
    histories=2,
    questions=20,
    held=1,
    learning=SelectorTraining(steps=2, states_per_step=4, start_epochs=2),
)


def test_a_run_leaves_weights_curve_and_report(tmp_path: Path) -> None:
    told: list[str] = []
    report = train(
        SMALL, HashingEmbedder(), tmp_path, on_progress=lambda what, done, of: told.append(what)
    )
    weights = (tmp_path / "selector.safetensors").read_bytes()
    assert hashlib.sha256(weights).hexdigest() == report["sha256"]
    policy = load_policy(weights, name="w")
    assert policy.metadata["data"] == "tiny, seed 21, 2 conversations"
    assert json.loads((tmp_path / "report.json").read_text("utf-8")) == json.loads(
        json.dumps(report)
    )
    assert set(told) == {"conversations", "steps"}
    held = report["held_out"]
    assert held["n"] > 0 and 0.0 <= held["trained"]["recall"] <= 100.0
    low, high = held["over question"][1:]
    assert low <= held["over question"][0] <= high
    run = read_runs([tmp_path])[0]
    assert [row["step"] for row in run.rows] == [1, 2]
    assert all(row["entropy"] is not None for row in run.rows)


def test_the_same_seed_gives_the_same_weights(tmp_path: Path) -> None:
    one = train(SMALL, HashingEmbedder(), tmp_path / "a")
    two = train(SMALL, HashingEmbedder(), tmp_path / "b")
    assert one["sha256"] == two["sha256"]


def test_an_unknown_profile_is_said_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no profile 'large'"):
        train(SelectorSetup(profile="large"), HashingEmbedder(), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_missing_package_is_said_before_the_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"evimem\[eval\]"):
        train(SMALL, HashingEmbedder(), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_command_trains_and_tells_the_gain(tmp_path: Path) -> None:
    sizes = ["--conversations", "1", "--questions", "12", "--held", "1", "--steps", "2"]
    done = CliRunner().invoke(
        cli, ["train", "selector", "--out", str(tmp_path), "--profile", "tiny", *sizes]
    )
    assert done.exit_code == 0, done.output
    assert "over its untrained start" in done.output
    done = CliRunner().invoke(
        cli, ["train", "selector", "--out", str(tmp_path), "--profile", "tiny", *sizes, "--json"]
    )
    assert json.loads(done.output)["method"] == "selector"
