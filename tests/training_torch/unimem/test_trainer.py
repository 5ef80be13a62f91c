"""The trainer on TRL: its gradient is that of Eq. 9, and its iterations go as the method says."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the extra `train`")
pytest.importorskip("trl", reason="needs the extra `train`")

import torch
import trl
from transformers import TrainerCallback
from unimem_torch_world import Scripted, plan, segment, trainer, trajectory

from evimem.errors import UsageError
from evimem.eval.reporting.training_fields import COSTS, MEASURES, stage_of
from evimem.training.advantages import aligned_advantages
from evimem.training.objectives import Rollout, uni_gradient
from evimem.training.running.metrics import JsonLines, read_metrics
from evimem.training.schedules import Schedule
from evimem.training.unimem.rollouts import Trajectory
from evimem.training.unimem.toy_world import toy_tasks
from evimem.training.unimem.trainer import EventGRPOTrainer, grpo_config
from evimem.training.unimem.validation import Validation

pytestmark = pytest.mark.filterwarnings("ignore")  # torch and transformers warn of their own


def test_the_version_whose_private_methods_are_used() -> None:
    assert trl.__version__.startswith("1.16."), "look at the methods again, then move the pin"


class Grads(TrainerCallback):  # type: ignore[misc]
    """Keeps the gradient of every update."""

    def __init__(self) -> None:
        self.seen: list[dict[str, torch.Tensor]] = []

    def on_pre_optimizer_step(self, *args: Any, model: Any = None, **more: Any) -> None:
        self.seen.append(
            {name: one.grad.detach().clone() for name, one in model.named_parameters()
             if one.grad is not None}
        )  # fmt: skip


def hand_made() -> tuple[list[Trajectory], list[dict[int, float]]]:
    """Two tasks of three siblings with events of ragged lengths; event 3 never has a return, and
    event 2 of the second task has one in two siblings only."""
    draw = random.Random(3)
    rollouts = [
        trajectory(
            segment(1, 3 + n, 2 + n, 2, 1, draw=draw),
            segment(2, 5, 1, 1, 1 + n % 2, 3, 2, draw=draw),
            segment(3, 2, 1 + n, draw=draw),
        )
        for n in range(6)
    ]
    returns = [
        {1: 2.0, 2: 0.0}, {1: 1.0, 2: 1.0}, {1: 0.0, 2: 1.0},
        {1: 0.0, 2: 1.0}, {1: 1.0}, {1: 1.0, 2: 0.0},
    ]  # fmt: skip
    return rollouts, returns


def logps_of(model: Any, one: Trajectory, temperature: float) -> torch.Tensor:
    """Log-probabilities of sampled tokens, without any padding."""
    parts = []
    for part in one.segments:
        ids = torch.tensor([[*part.prompt_ids, *part.completion_ids]])
        logits = model(input_ids=ids).logits[0, len(part.prompt_ids) - 1 : -1] / temperature
        own = torch.log_softmax(logits, -1)
        own = own.gather(1, torch.tensor(part.completion_ids)[:, None])[:, 0]
        parts.append(own[torch.tensor(part.mask)])
    return torch.cat(parts)


def events_of(one: Trajectory) -> list[Any]:
    return [part.key for part in one.segments for keep in part.mask if keep]


@pytest.mark.parametrize(
    ("micro_batches", "temperature", "off_policy"),
    [(1, 1.0, False), (2, 0.7, True), (6, 1.0, True), (12, 0.7, False)],
)
def test_uni_35_38_the_gradient_is_that_of_the_formula_for_any_split(
    tmp_path: Path, micro_batches: int, temperature: float, off_policy: bool
) -> None:
    rollouts, returns = hand_made()
    grads = Grads()
    made = trainer(
        plan(temperature=temperature), tmp_path, micro_batches=micro_batches, callbacks=[grads],
        max_grad_norm=0.0,
    )  # fmt: skip
    model = made.model
    shifts = np.random.default_rng(0).normal(0.0, 0.3 if off_policy else 0.0, 1000)
    tokens, old, used = [], [], 0
    for one in rollouts:
        with torch.no_grad():
            logp = logps_of(model, one, temperature).double().numpy()
        tokens.append(logp)
        old.append(logp - shifts[used : used + logp.size])
        used += logp.size
    if off_policy:
        rollouts = [_sampled(one, values) for one, values in zip(rollouts, old, strict=True)]
    made._rollouts = lambda places, phase: rollouts  # type: ignore[method-assign]
    made._returns = lambda places, own, phase: returns  # type: ignore[method-assign]

    advantages = [
        one for at in (0, 3) for one in aligned_advantages([dict(r) for r in returns[at : at + 3]])
    ]
    wanted = uni_gradient(
        [
            Rollout(
                logp=logp, old=before,
                advantages=np.array([own.get(event, 0.0) for event in events_of(one)]),
            )
            for logp, before, own, one in zip(tokens, old, advantages, rollouts, strict=True)
        ],
        clip=0.2,
    )  # fmt: skip
    loss = sum(
        -(logps_of(model, one, temperature) * torch.tensor(slope, dtype=torch.float32)).sum()
        for one, slope in zip(rollouts, wanted, strict=True)
    )
    loss.backward()  # type: ignore[union-attr]
    expected = {name: one.grad.clone() for name, one in model.named_parameters()}
    model.zero_grad()
    assert max(float(one.abs().max()) for one in expected.values()) > 1e-3

    made.train()
    [found] = grads.seen
    assert set(found) == set(expected)
    for name, one in expected.items():
        torch.testing.assert_close(found[name], one, atol=2e-6, rtol=1e-4)


def _sampled(one: Trajectory, logps: Sequence[float]) -> Trajectory:
    """The rollout with log-probabilities of another policy, as a sampler gives them."""
    import dataclasses

    left = iter(logps)
    parts = tuple(
        dataclasses.replace(
            part, logps=tuple(float(next(left)) if keep else 0.0 for keep in part.mask)
        )
        for part in one.segments
    )
    return dataclasses.replace(one, segments=parts)


class Priced(EventGRPOTrainer):
    """Returns that depend on what was sampled, whatever it says; keeps the stages."""

    def _returns(self, places: Any, rollouts: Any, phase: Any) -> Any:
        self.phases = [*getattr(self, "phases", []), (self.state.global_step, phase)]
        return [
            {part.key: float(sum(part.completion_ids) % 7) for part in one.segments}
            for one in rollouts
        ]


def test_uni_42_stages_take_turns_by_iteration_and_a_batch_serves_its_mini_batches(
    tmp_path: Path,
) -> None:
    made = plan(mini_batch=1, schedule=Schedule.parse("2:1"))
    grads = Grads()
    one = trainer(made, tmp_path, kind=Priced, steps=4, callbacks=[grads])
    one.train()
    assert one.phases == [  # type: ignore[attr-defined]
        (0, "construction"), (2, "construction"), (4, "retrieval"), (6, "construction"),
    ]  # fmt: skip
    assert len(grads.seen) == 8 == one.state.global_step, "two updates an iteration"


def test_resumed_after_a_kill_the_curve_is_the_same(tmp_path: Path) -> None:
    def run(out: Path, steps: int, resume: bool = False) -> EventGRPOTrainer:
        one = trainer(
            plan(save_every=2), out, kind=Priced, steps=steps, save_strategy="steps",
            callbacks=[JsonLines(out / "metrics.jsonl")], max_steps=4,
        )  # fmt: skip
        if steps == 3:  # killed in the third iteration
            one._note = _killed(one)  # type: ignore[method-assign]
        one.train(resume_from_checkpoint=str(out / "checkpoint-2") if resume else None)
        return one

    whole = run(tmp_path / "a", 4)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "b", 3)
    again = run(tmp_path / "b", 4, resume=True)
    curves = [read_metrics(tmp_path / name / "metrics.jsonl") for name in "ab"]
    assert [one["step"] for one in curves[0]] == [1, 2, 3, 4]
    for left, right in zip(*curves, strict=True):
        for key in ("step", "loss", "grad_norm", "construction/return", "retrieval/return"):
            assert (key in left) == (key in right)
            assert left.get(key, 0) == pytest.approx(right.get(key, 0), rel=1e-5, abs=1e-9), key
    assert any(one["grad_norm"] > 0 for one in curves[0])
    for (name, left), (_, right) in zip(
        whole.model.named_parameters(), again.model.named_parameters(), strict=True
    ):
        torch.testing.assert_close(left, right, atol=1e-6, rtol=1e-5, msg=name)


def _killed(one: EventGRPOTrainer) -> Any:
    note, count = one._note, [0]

    def killed(*args: Any) -> None:
        count[0] += 1
        if count[0] == 3:
            raise KeyboardInterrupt
        note(*args)

    return killed


def test_uni_47_every_epoch_takes_every_task_once_in_an_order_of_its_own(tmp_path: Path) -> None:
    one = trainer(plan(tasks=5, group=2), tmp_path, micro_batches=1)
    seen = []
    for step in range(12):
        one.state.global_step = step
        places = one._places()
        assert places[0] == places[1] and places[2] == places[3], "siblings together"
        seen.append((places[0], places[2]))
    epochs = [seen[at : at + 3] for at in range(0, 12, 3)]
    for epoch in epochs:
        flat = [at for pair in epoch for at in pair]
        assert sorted(flat[:5]) == list(range(5)) and flat[5] == flat[0], "the last is filled up"
    assert len({tuple(epoch) for epoch in epochs}) > 1


@pytest.mark.parametrize("variant", ["M1", "M2", "M3", "M4"])
def test_uni_43_45_every_method_trains_on_real_returns(tmp_path: Path, variant: str) -> None:
    path = tmp_path / "metrics.jsonl"
    made = plan(variant=variant, group=4)
    one = trainer(made, tmp_path, steps=2, micro_batches=4, callbacks=[JsonLines(path)])
    one._sample = Scripted()  # type: ignore[method-assign]
    one.train()
    rows = read_metrics(path)
    names = [sorted({key.partition("/")[0] for key in row if "/return" in key}) for row in rows]
    alone = variant in ("M1", "M2")
    assert names == ([["whole"]] * 2 if alone else [["construction"], ["retrieval"]])
    assert rows[0]["grad_norm"] > 0
    first = rows[0][f"{names[0][0]}/return"]
    assert 0 < first < 1, "half of the names are written down"
    for row, [name] in zip(rows, names, strict=True):
        assert _logged(row, name), "every curve and cost of a page has its field"


def _logged(row: dict[str, Any], stage: str) -> bool:
    """True if a line has every field that is read of its stage, and what it cost."""
    wanted = {name for one in MEASURES for name in one.fields.get(stage, ())}
    costs = {names[0] for names in COSTS.values()}
    assert wanted >= {f"{stage}/return", f"{stage}/J", "entropy"}
    assert row["calls"] >= 0 and row["cpu_time"] > 0
    return {*wanted, *costs} <= row.keys() and stage_of(row) == stage


def test_uni_70_j_of_a_construction_step_is_what_its_banks_hold(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    made = plan(schedule=Schedule.parse("1:0"), group=4, facts=1)
    one = trainer(made, tmp_path, steps=1, micro_batches=4, callbacks=[JsonLines(path)])
    one._sample = Scripted()  # type: ignore[method-assign]
    one.train()
    [row] = read_metrics(path)
    assert 0 < row["construction/J"] < 100
    assert row["construction/J"] == pytest.approx(100 * row["construction/return"])
    assert row["construction/stored"] == 1.0, "a record without the name stands on its event too"


def test_uni_40_the_shared_bank_is_built_anew_in_every_retrieval_iteration(tmp_path: Path) -> None:
    made = plan(schedule=Schedule.parse("0:1"), task_batch=2, group=3)
    one = trainer(made, tmp_path, steps=2)
    one._sample = Scripted(seed=2)  # type: ignore[method-assign]
    searched: list[list[tuple[int, str]]] = []
    real = one._rollouts

    def seen(places: Any, phase: Any) -> Any:
        found = real(places, phase)
        searched.append([(id(rollout.bank), rollout.bank.hash) for rollout in found])
        return found

    one._rollouts = seen  # type: ignore[method-assign]
    one.train()
    for group in searched:
        assert len(set(group[:3])) == len(set(group[3:])) == 1, "one bank for all siblings"
    assert searched[0][0][0] != searched[1][0][0]


def test_validation_goes_into_the_same_log_every_few_iterations(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    tasks = toy_tasks(3, seed=11)
    made = plan(validate_every=2)
    validation = Validation(tasks, made.grader)
    one = trainer(made, tmp_path, steps=4, callbacks=[validation, JsonLines(path)])
    validation.trainer = one
    one._sample = Scripted(share=1.0)  # type: ignore[method-assign]
    one.train()
    rows = read_metrics(path)
    assert [row.get("validation/J") for row in rows] == [None, 100.0, None, 100.0]
    assert rows[1]["validation/recall"] == rows[1]["validation/stored"] == 1.0


def test_numbers_that_do_not_divide_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="do not divide over 4"):
        grpo_config(plan(), tmp_path, steps=1, processes=4)
    with pytest.raises(UsageError, match="4 micro-batches and 6 rollouts"):
        grpo_config(plan(), tmp_path, steps=1, micro_batches=4)
    with pytest.raises(UsageError, match="KL term"):
        grpo_config(plan(beta=0.1), tmp_path, steps=1)
    with pytest.raises(UsageError, match="start point"):
        trainer(plan(variant="M0"), tmp_path)


def test_uni_46_the_method_s_settings_reach_trl(tmp_path: Path) -> None:
    made = plan(learning_rate=2e-6, group=8, temperature=0.7, clip=0.2, save_every=10)
    args = grpo_config(made, tmp_path, steps=200, use_cpu=True, bf16=False)
    assert (args.learning_rate, args.temperature, args.top_p, args.beta) == (2e-6, 0.7, 1.0, 0.0)
    assert (args.loss_type, args.epsilon, args.entropy_coef) == ("dapo", 0.2, 0.0)
    assert (args.max_steps, args.save_steps, args.generation_batch_size) == (200, 10, 16)
