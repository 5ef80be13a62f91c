"""The whole recipe with a toy: states, start, filter, reinforcement, report, and a stop between."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="the extra `train` is not installed")
pytest.importorskip("trl", reason="the extra `train` is not installed")

from planner_toy import tokenizer, toy

from evimem.errors import UsageError
from evimem.query.selector.options import options
from evimem.training.execution import view_of
from evimem.training.planner.__main__ import generated_parts, main, named
from evimem.training.planner.recipe import Parts, train
from evimem.training.planner.rows import messages, written_plan
from evimem.training.planner.setups import SETUPS, Data, Setup, Start, paths, setup_named
from evimem.training.running.metrics import read_metrics

pytestmark = pytest.mark.filterwarnings("ignore")

COSTS = ("wall_time", "cpu_time", "step_time")


def small(model: Path) -> Setup:
    """The CPU's setup at the size of a toy."""
    setup = SETUPS["cpu"]
    return dataclasses.replace(
        setup,
        model=str(model),
        data=Data(profile="tiny", histories=1, held=1, start_states=14, states=8, held_states=6),
        start=Start(intents=1, epochs=12, learning_rate=0.02, batch=8),
        train=dataclasses.replace(
            setup.train, group=4, states_per_step=2, steps=3, learning_rate=0.01, filter_samples=8
        ),
        adapter=None,
        tokens=2,
        micro_batch=4,
        samples=1,
        save_every=1,
        trl={**setup.trl, "bf16": False, "disable_tqdm": True},
    )


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> tuple[Setup, Parts]:
    """A toy whose words are whole plans, and states of generated conversations."""
    model = tmp_path_factory.mktemp("model")
    setup = small(model)
    parts = generated_parts(setup, None)
    states = (*parts.learned.states, *parts.held.states)
    plans = dict.fromkeys(
        written_plan([one], missing=state.state.missing or "all that is asked")
        for state in states
        for one in options(state.state, view_of(state, parts.trials.banks))
    )
    prompts = [one["content"] for state in states for one in messages(parts.trials, state)]
    words = tokenizer(prompts, whole=list(plans))
    toy(len(words)).save_pretrained(model)
    words.save_pretrained(model)
    return setup, parts


def lines(path: Path) -> list[dict[str, Any]]:
    """A curve without what it cost."""
    return [{k: v for k, v in row.items() if k not in COSTS} for row in read_metrics(path)]


def test_a_run_goes_from_states_to_a_report_and_a_stopped_one_goes_on_alike(
    tmp_path: Path, world: tuple[Setup, Parts]
) -> None:
    setup, parts = world
    at = paths(tmp_path / "run")
    report = train(setup, parts, tmp_path / "run")
    assert report == json.loads(at["report"].read_text(encoding="utf-8"))
    measured = report["measured"]
    assert set(measured) == {"question", "heuristic", "untrained", "sft", "grpo"}
    losses = [row["loss"] for row in lines(at["sft_metrics"])]
    assert losses[-1] < 0.7 * losses[0], "the start teaches the form"
    assert measured["sft"]["sampled"]["outputs"] == 6
    assert report["differences"]["grpo - sft, sampled"]["difference"]["n"] == 6
    kept = json.loads(at["kept"].read_text(encoding="utf-8"))
    counts = kept["funnel"]
    judged = sum(counts[k] for k in ("kept", "too_hard", "too_easy"))
    assert 4 <= counts["rollout_input"] == judged <= 8
    assert counts["kept"] == len(kept["kept"]) > 0
    curve = lines(at["metrics"])
    assert [row["step"] for row in curve] == [1, 2, 3]
    assert all({"reward", "entropy", "plan/parsed", "plan/retrieval"} <= set(row) for row in curve)
    assert train(setup, parts, tmp_path / "run") == report, "a run that is done is reported again"

    for name in ("final", "measured"):  # killed after the second step, before anything else
        shutil.rmtree(at[name])
    at["report"].unlink()
    shutil.rmtree(at["rl"] / "checkpoint-3")
    again = train(setup, parts, tmp_path / "run")
    for row, other in zip(lines(at["metrics"]), curve, strict=True):
        assert {k: v for k, v in row.items() if v != pytest.approx(other[k])} == {}
    assert again["measured"] == report["measured"]

    for name in ("start", "final", "measured"):  # killed after the last steps
        shutil.rmtree(at[name])
    at["report"].unlink()
    assert train(setup, parts, tmp_path / "run")["measured"] == report["measured"]
    assert len(lines(at["metrics"])) == 3, "nothing was trained again"


def test_states_of_one_question_are_never_both_of_the_start_and_of_the_reinforcement(
    tmp_path: Path, world: tuple[Setup, Parts]
) -> None:
    setup, parts = world
    few = dataclasses.replace(setup, train=dataclasses.replace(setup.train, steps=1))
    train(few, parts, tmp_path)
    at = paths(tmp_path)
    rows = [json.loads(one) for one in at["states"].read_text(encoding="utf-8").splitlines()]
    kept = json.loads(at["kept"].read_text(encoding="utf-8"))
    many = kept["funnel"]["rollout_input"]
    shown, given = rows[:-many], rows[-many:]
    assert len(shown) > many and {r["question_id"] for r in given}
    assert not {r["question_id"] for r in shown} & {r["question_id"] for r in given}
    held = [json.loads(one) for one in at["held"].read_text(encoding="utf-8").splitlines()]
    assert not {r["history_id"] for r in held} & {r["history_id"] for r in rows}


def test_setups_parts_and_arguments_that_do_not_exist_are_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no setup 'tpu'"):
        setup_named("tpu")
    with pytest.raises(UsageError, match="write module:name"):
        named("nowhere:parts")
    with pytest.raises(UsageError, match="needs Parts"):
        main(["--out", str(tmp_path), "--parts", "builtins:repr"])
    with pytest.raises(UsageError, match="no profile"):
        main(["--out", str(tmp_path), "--profile", "nothing"])
    with pytest.raises(SystemExit):
        main(["--setup", "tpu", "--out", str(tmp_path)])


def test_a_reward_of_whole_searches_is_refused_before_anything_is_sampled(
    tmp_path: Path, world: tuple[Setup, Parts]
) -> None:
    setup, parts = world
    other = dataclasses.replace(setup, train=dataclasses.replace(setup.train, reward="trajectory"))
    with pytest.raises(UsageError, match="whole searches"):
        train(other, parts, tmp_path)
    assert not paths(tmp_path)["start"].exists()
