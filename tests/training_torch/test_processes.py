"""The trainers in processes of their own: two under torchrun, one that is killed, Ray's workers."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import types
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the extra `train`")
pytest.importorskip("trl", reason="needs the extra `train`")

import torch
import training_worker as worker
from planner_toy import tokenizer, toy
from unimem_torch_world import TOKENIZER

from evimem.training.advantages import aligned_advantages, group_advantages
from evimem.training.objectives import Rollout, mera_gradient, uni_gradient
from evimem.training.planner import __main__ as planner
from evimem.training.running.metrics import read_metrics
from evimem.training.unimem import __main__ as command
from evimem.training.unimem.toy import toy_model

pytestmark = pytest.mark.filterwarnings("ignore")

SCRIPT = Path(worker.__file__)
ENV = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join([str(SCRIPT.parent), os.environ.get("PYTHONPATH", "")]),
    "PYTHONUTF8": "1",
    "OMP_NUM_THREADS": "1",
    "GLOO_SOCKET_IFNAME": "lo",
}


def started(*command: str, **more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, *command], env={**ENV, **more}, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, encoding="utf-8",
    )  # fmt: skip


def finished(process: subprocess.Popen[str], seconds: int = 300) -> None:
    told, _ = process.communicate(timeout=seconds)
    assert process.returncode == 0, told[-3000:]


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What two processes under torchrun left behind."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = tmp_path_factory.mktemp("two")
    finished(
        started(
            "-m", "torch.distributed.run", "--nproc_per_node", "2", "--master_addr", "127.0.0.1",
            "--master_port", str(port), str(SCRIPT), "event,planner,recipe", str(folder),
        )
    )  # fmt: skip
    return folder


def logps(model: Any, prompt: Sequence[int], said: Sequence[int]) -> torch.Tensor:
    """Log-probabilities of a continuation, without any padding."""
    ids = torch.tensor([[*prompt, *said]])
    logits = model(input_ids=ids).logits[0, len(prompt) - 1 : -1]
    return torch.log_softmax(logits, -1).gather(1, torch.tensor(said)[:, None])[:, 0]


def pulled(model: Any, told: Sequence[torch.Tensor], slopes: Sequence[Any]) -> dict[str, Any]:
    """The gradient of the weights from those of the log-probabilities."""
    total = sum(
        (one * torch.tensor(slope, dtype=one.dtype)).sum()
        for one, slope in zip(told, slopes, strict=True)
    )
    names = [name for name, _ in model.named_parameters()]
    grads = torch.autograd.grad(total, list(model.parameters()))
    return {name: one.numpy() for name, one in zip(names, grads, strict=True)}


def test_uni_35_38_siblings_of_one_task_in_two_processes_have_the_gradient_of_the_formula(
    two: Path,
) -> None:
    model = toy_model(TOKENIZER, seed=1, width=16)
    told, rollouts = [], []
    advantages = aligned_advantages([dict(one) for one in worker.RETURNS])
    assert any(one.get(1, 0) and one.get(2, 0) for one in advantages)
    for one, own in zip(worker.siblings(), advantages, strict=True):
        parts = [
            logps(model, part.prompt_ids, part.completion_ids)[torch.tensor(part.mask)]
            for part in one.segments
        ]
        told.append(torch.cat(parts))
        events = [part.key for part in one.segments for keep in part.mask if keep]
        logp = told[-1].detach().double().numpy()
        values = np.array([own.get(event, 0.0) for event in events])
        rollouts.append(Rollout(logp=logp, old=logp, advantages=values))
    wanted = pulled(model, told, uni_gradient(rollouts))
    found = np.load(two / "event.npz")
    assert max(float(np.abs(one).max()) for one in wanted.values()) > 1e-3
    for name, one in wanted.items():
        # TRL goes down the loss, the objective goes up.
        np.testing.assert_allclose(-found[name], one, atol=2e-6, rtol=1e-4, err_msg=name)


def test_mera_66_a_group_over_two_processes_weighs_as_much_as_any_other(two: Path) -> None:
    words = tokenizer(worker.WORDS, whole=())
    model = worker.steep(toy(len(words)))
    prompts, said = [], []
    for rank in range(2):
        seen = np.load(two / f"planner-seen-{rank}.npz")
        for row in range(6):
            prompts.append(seen["prompt_ids"][row][seen["prompt_mask"][row] > 0].tolist())
            mask = seen["completion_mask"][row] > 0
            said.append(seen["completion_ids"][row][mask].tolist())
    groups = [range(at, at + 4) for at in range(0, 12, 4)]
    assert all(len({tuple(prompts[n]) for n in group}) == 1 for group in groups)
    assert len({sum(len(said[n]) for n in group) for group in groups}) > 1
    told = [logps(model, prompt, one) for prompt, one in zip(prompts, said, strict=True)]
    rollouts = []
    for group in groups:
        advantages = group_advantages(worker.rewards([], [said[n] for n in group]))
        rollouts.append(
            [
                Rollout(
                    logp=told[n].detach().double().numpy(),
                    old=told[n].detach().double().numpy(),
                    advantages=np.full(len(said[n]), advantage),
                )
                for n, advantage in zip(group, advantages, strict=True)
            ]
        )
    before = {name: one.detach().clone().numpy() for name, one in model.named_parameters()}
    after = np.load(two / "planner.npz")
    largest = {}
    for averaging in ("group_mean", "token_mean"):
        slopes = mera_gradient(rollouts, averaging=averaging)  # type: ignore[arg-type]
        wanted = pulled(model, told, [one for group in slopes for one in group])
        told = [one.clone() for one in map(logps, [model] * 12, prompts, said)]
        largest[averaging] = max(
            float(np.abs(after[name] - before[name] - one).max()) for name, one in wanted.items()
        )
    scale = max(float(np.abs(one).max()) for one in wanted.values())
    assert scale > 1e-3
    assert largest["group_mean"] < 1e-4 * max(1.0, scale) < 10 * largest["token_mean"]


def test_the_whole_recipe_runs_in_two_processes(two: Path) -> None:
    report = json.loads((two / "recipe/M4-1-1/report.json").read_text(encoding="utf-8"))
    assert (report["variant"], report["steps"]) == ("M4", 2)
    rows = read_metrics(two / "recipe/M4-1-1/metrics.jsonl")
    assert [row["step"] for row in rows] == [1, 2]
    assert "construction/return" in rows[0] and "retrieval/return" in rows[1]


def test_a_training_killed_in_the_middle_is_taken_up_and_has_the_same_curve(
    tmp_path: Path,
) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    whole.mkdir(), killed.mkdir()
    worker.curve(whole)
    process = started(str(SCRIPT), "curve", str(killed), WAIT="3")
    until = time.monotonic() + 300
    while not (killed / "curve/checkpoint-2/trainer_state.json").exists():
        assert process.poll() is None and time.monotonic() < until, "it never got there"
        time.sleep(0.05)
    time.sleep(0.5)  # the file is there and may not be whole yet
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert len(read_metrics(killed / "metrics.jsonl")) < 4, "it was not done"
    worker.curve(killed)
    assert json.loads((killed / "begun.json").read_text(encoding="utf-8")).endswith("checkpoint-2")
    curves = [read_metrics(one / "metrics.jsonl") for one in (whole, killed)]
    assert [row["step"] for row in curves[1]] == [1, 2, 3, 4]
    for left, right in zip(*curves, strict=True):
        for key in ("loss", "grad_norm", "construction/return", "retrieval/return"):
            assert (key in left) == (key in right)
            assert left.get(key, 0) == pytest.approx(right.get(key, 0), rel=1e-4, abs=1e-7), key
    assert all(row["grad_norm"] > 0 for row in curves[0])


class Trainer:
    """Stands for Ray's: runs the loop once, as one worker."""

    def __init__(
        self, loop: Callable[[Any], None], *, train_loop_config: Any, scaling_config: Any
    ) -> None:
        self.loop, self.config, self.scaling = loop, train_loop_config, scaling_config

    def fit(self) -> Trainer:
        self.loop(self.config)
        return self


@pytest.mark.parametrize(
    "given", [["--ray", "2"], ["--ray=2"], ["--ray", "2", "--ray-gpu"]], ids=" ".join
)
@pytest.mark.parametrize("typed", [True, False], ids=["typed", "called"])
def test_the_workers_of_ray_get_the_command_without_what_starts_ray(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, given: list[str], typed: bool
) -> None:
    scaled: list[dict[str, Any]] = []
    train, torch_part = types.ModuleType("ray.train"), types.ModuleType("ray.train.torch")
    train.ScalingConfig = lambda **how: scaled.append(how)  # type: ignore[attr-defined]
    torch_part.TorchTrainer = Trainer  # type: ignore[attr-defined]
    for name, module in (("ray", types.ModuleType("ray")), ("ray.train", train),
                         ("ray.train.torch", torch_part)):  # fmt: skip
        monkeypatch.setitem(sys.modules, name, module)
    seen: list[Any] = []
    monkeypatch.setattr(command, "train", lambda setup, parts, out: seen.append((setup, out)))
    argv = ["--steps", "3", *given, "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", ["unimem", *argv])
    command.main(None if typed else argv)
    [(setup, out)] = seen
    assert (setup.steps, out) == (3, tmp_path)
    assert scaled == [{"num_workers": 2, "use_gpu": "--ray-gpu" in given}]


@pytest.mark.parametrize("typed", [True, False], ids=["typed", "called"])
def test_the_planner_goes_to_ray_with_its_own_arguments(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, typed: bool
) -> None:
    given: list[Any] = []
    monkeypatch.setattr(planner, "train_on_ray", lambda *told, **how: given.append((told, how)))
    argv = ["--steps", "3", "--ray", "2", "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", ["planner", *argv])
    planner.main(None if typed else argv)
    [((main, told, out), how)] = given
    assert (main, told, out) == (planner.main, None if typed else argv, tmp_path)
    assert how == {"workers": 2, "gpu": False}


def test_the_recipe_runs_in_two_workers_of_ray(tmp_path: Path) -> None:
    pytest.importorskip("ray.train.torch", reason="ray[train] is no part of the extra `train`")
    finished(started(str(SCRIPT), "ray", str(tmp_path)))
    report = json.loads((tmp_path / "recipe/M4-1-1/report.json").read_text(encoding="utf-8"))
    assert report["steps"] == 2
