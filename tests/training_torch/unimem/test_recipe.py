"""The whole recipe on a CPU: from a model without any training to one that keeps its memory."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs the extra `train`")
pytest.importorskip("trl", reason="needs the extra `train`")

from evimem.errors import UsageError
from evimem.training.running.metrics import read_metrics
from evimem.training.unimem.__main__ import main
from evimem.training.unimem.data import named_parts, toy_parts
from evimem.training.unimem.recipe import Parts, train
from evimem.training.unimem.setups import SETUPS, Setup, paths, setup_named

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.slow
def test_sft_then_stage_decoupled_grpo_with_event_credit_raises_j(tmp_path: Path) -> None:
    setup = SETUPS["cpu"]
    setup = dataclasses.replace(setup, sft=dataclasses.replace(setup.sft, save_every=153), steps=12)
    report = train(setup, toy_parts(0), tmp_path)
    at = paths(tmp_path, setup.train)
    assert report.variant == "M4" and report.schedule == "1:1"
    assert report.j_after >= report.j_before + 20, "64 questions: 20 points are four SE"
    rows = read_metrics(at["metrics"])
    assert [row["step"] for row in rows] == list(range(1, 13))
    for stage in ("construction", "retrieval"):
        curve = [row[f"{stage}/return"] for row in rows if f"{stage}/return" in row]
        assert len(curve) == 6 and sum(curve[-3:]) > sum(curve[:3])
    assert [row["step"] for row in rows if "validation/J" in row] == [10]
    choice = json.loads(at["choice"].read_text(encoding="utf-8"))
    assert choice["chosen"] == report.start and choice["rows"][0]["name"] == "base"
    assert json.loads(at["report"].read_text(encoding="utf-8")) == dataclasses.asdict(report)

    at["report"].unlink()  # stopped between the last step and the report
    assert train(setup, toy_parts(0), tmp_path).j_after == pytest.approx(report.j_after)
    assert read_metrics(at["metrics"]) == rows, "nothing was trained again"


def test_the_command_runs_two_steps_of_every_trainer(tmp_path: Path) -> None:
    setup = SETUPS["cpu"]
    small = dataclasses.replace(
        setup,
        train=dataclasses.replace(setup.train, task_batch=1, group=2, validate_every=100),
        sft=dataclasses.replace(setup.sft, batch=8, epochs=1, save_every=1),
        rule=dataclasses.replace(setup.rule, gate=0.0),
        micro_batches=1,
        trl={**setup.trl, "disable_tqdm": True},
        steps=2,
    )
    parts = toy_parts(0)
    few = dataclasses.replace(
        parts, shown=parts.shown[:2], tasks=parts.tasks[:1], validation=parts.validation[:1],
        test=parts.test[:2],
    )  # fmt: skip
    report = train(small, few, tmp_path)
    assert report.steps == 2 and report.start.startswith("checkpoint-")
    choice = json.loads(paths(tmp_path, small.train)["choice"].read_text(encoding="utf-8"))
    assert {row["f1"] for row in choice["rows"]} == {None}, "records as found are no words"
    built, found = read_metrics(paths(tmp_path, small.train)["metrics"])
    assert built["sampled_tokens"] == 2 * built["construction/tokens"], "two rollouts"
    assert found["sampled_tokens"] > 2 * found["retrieval/tokens"], "and the bank that they share"
    m0 = dataclasses.replace(small, train=dataclasses.replace(small.train, variant="M0"))
    before = train(m0, few, tmp_path)
    assert (before.steps, before.j_before) == (0, before.j_after)
    assert before.start == report.start, "methods in one folder share their start"
    assert before.before == before.after and len(before.after) == before.questions == 8
    assert not before.after.keys() & {
        one.question_id for task in (*few.tasks, *few.validation) for one in task.questions
    }, "J is reported on conversations of their own"
    assert train(small, few, tmp_path) == report, "a run that is done is reported again"


def test_uni_62_a_raw_start_imitates_nobody(tmp_path: Path) -> None:
    setup = SETUPS["cpu"]
    raw = dataclasses.replace(
        setup,
        train=dataclasses.replace(setup.train, task_batch=1, group=2),
        start="raw",
        micro_batches=1,
        trl={**setup.trl, "disable_tqdm": True},
        steps=1,
    )
    parts = toy_parts(0)
    few = dataclasses.replace(
        parts, tasks=parts.tasks[:1], validation=parts.validation[:1], test=()
    )
    report = train(raw, few, tmp_path)
    at = paths(tmp_path, raw.train, "raw")
    assert report.start == "base" and at["own"].name == "M4-1-1-raw"
    assert not at["demonstrations"].exists() and not at["sft"].exists()
    assert report.after.keys() == {one.question_id for one in few.validation[0].questions}, (
        "without a test J is of validation"
    )


def test_the_longer_toy_has_as_many_facts_in_fewer_conversations() -> None:
    short, long = toy_parts(0), toy_parts(0, facts=12)
    for one, two in ((short.tasks, long.tasks), (short.test, long.test)):
        assert len(one) > 2 * len(two)
        assert {len(task.questions) for task in two} == {12}
    assert short.test == toy_parts(5).test, "one test for all seeds"
    assert short.tasks != toy_parts(5).tasks


def test_the_world_whose_facts_change_gets_a_model_with_its_words(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    given: list[tuple[Setup, Parts]] = []
    monkeypatch.setattr(
        "evimem.training.unimem.__main__.train",
        lambda setup, parts, out: given.append((setup, parts)),
    )
    for data, more in (("toy-changing", ()), ("toy", ()), ("toy-changing", ("--model", "own"))):
        main(["--data", data, "--out", str(tmp_path), *more])
    assert [setup.model for setup, _ in given] == ["toy-changing", "toy", "own"]
    changing, plain = given[0][1], given[1][1]
    assert {len(task.questions) for task in changing.tasks} == {12}
    assert changing.test == toy_parts(5, facts=8, changes=4).test, "one test for all seeds"
    assert plain == dataclasses.replace(toy_parts(0), teacher=plain.teacher)


def test_setups_parts_and_arguments_that_do_not_exist_are_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no setup 'tpu'"):
        setup_named("tpu")
    with pytest.raises(UsageError, match="write module:function"):
        named_parts("nowhere:parts")
    with pytest.raises(UsageError, match="needs Parts"):
        named_parts("random:random")
    with pytest.raises(SystemExit):
        main(["--setup", "tpu", "--out", str(tmp_path)])
    with pytest.raises(UsageError, match="no profile"):
        main(["--data", "nothing", "--out", str(tmp_path)])
