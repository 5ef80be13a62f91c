"""Stage-Decoupled GRPO on TRL: one override makes rollouts of events into rows of a batch.

Needs the extra `train` (trl 1.16, torch, transformers, accelerate, datasets). Everything but
`_generate_and_score_completions` is TRL's own: sampling, log-probabilities, the clipped loss,
the optimiser, checkpoints, distribution. Both methods used here are private, so the version is
pinned and a test compares the gradient with the formula.

With `loss_type="dapo"` TRL divides the sum over tokens by `num_items_in_batch`; given the number
of rollouts there, and A/|tau| as advantages, that is Eq. 9 for any split into micro-batches and
processes.
"""

from __future__ import annotations

import contextlib
import math
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from accelerate.utils import gather_object
from trl import GRPOConfig, GRPOTrainer
from trl.trainer.utils import pad

from datasets import Dataset
from evimem.errors import UsageError
from evimem.manager.environment import Limits
from evimem.manager.memory_bank import MemoryBank
from evimem.manager.oplog import replay
from evimem.ports import Embedder
from evimem.training.advantages import partly_credited
from evimem.training.configs import UniTraining
from evimem.training.schedules import Phase
from evimem.training.stored import Grader, RunAll
from evimem.training.unimem.crediting import Returns, Row, advantages_of, returns_of, rows_of
from evimem.training.unimem.graders import Tally
from evimem.training.unimem.measuring import Outcome, evaluate, figures
from evimem.training.unimem.rollouts import Room, Sampled, Trajectory
from evimem.training.unimem.stages import Stage
from evimem.training.unimem.tasks import Task
from evimem.training.unimem.wording import Wording
from evimem.training.variants import Variant, variant_named

__all__ = ["EventGRPOTrainer", "Plan", "grpo_config", "updates_of"]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is trained on, and how rollouts are made and scored."""

    config: UniTraining
    """Settings of the method."""
    tasks: Sequence[Task]
    """Training conversations."""
    wording: Wording
    """How contexts are written."""
    grader: Grader
    """Frozen answer model and judge."""
    run: RunAll = map
    """How calls of the grader are made."""
    limits: Limits = field(default_factory=Limits)
    """Ceilings per event."""
    room: Room = field(default_factory=Room)
    """Tokens of contexts and responses."""
    embedder: Embedder | None = None
    """For searches; None: by words."""
    batch: int = 64
    """Contexts that are sampled for at once."""

    @property
    def variant(self) -> Variant:
        """The method: M1 to M4."""
        return variant_named(self.config.variant)

    @property
    def task_batch(self) -> int:
        """Tasks of an iteration: no more than there are."""
        return min(self.config.task_batch, len(self.tasks))


def updates_of(plan: Plan) -> int:
    """Optimiser steps of an iteration: a task batch is used in mini-batches of so many tasks. TRL
    mixes the rows, so each of them holds a share of every task."""
    return max(1, plan.task_batch // plan.config.mini_batch)


def grpo_config(
    plan: Plan, out: Path, *, steps: int, processes: int = 1, micro_batches: int = 0, **more: Any
) -> GRPOConfig:
    """Arguments of TRL that make it compute Eq. 9.

    Args:
        plan: what is trained.
        out: folder for checkpoints.
        steps: iterations.
        processes: of the launcher (WORLD_SIZE).
        micro_batches: passes through the model per process and iteration, over which its events
            are spread; more take less memory. 0: one per rollout.
        more: further arguments of TRL, such as bf16 or use_vllm.

    Raises:
        UsageError: the numbers do not divide, or a KL term is asked for.
    """
    uni = plan.config
    if uni.beta:
        raise UsageError("a KL term is not part of this trainer: the paper's weight is 0 (Table 7)")
    rollouts, rest = divmod(plan.task_batch * uni.group, processes)
    if rest or not rollouts:
        raise UsageError(
            f"{plan.task_batch} tasks of {uni.group} rollouts do not divide over {processes}"
            " processes"
        )
    passes, per_device = _split(rollouts, micro_batches or rollouts)
    per_generation = rollouts * passes // per_device
    updates = updates_of(plan)
    if per_generation % updates:
        raise UsageError(f"{per_generation} micro-batches do not divide into {updates} updates")
    arguments: dict[str, Any] = {
        "per_device_train_batch_size": per_device,
        "gradient_accumulation_steps": per_generation // updates,
        "steps_per_generation": per_generation,
        "num_generations": uni.group * passes,
        "max_steps": steps * updates,
        "save_steps": uni.save_every * updates,
        "learning_rate": uni.learning_rate,
        "temperature": uni.temperature,
        "top_p": uni.top_p,
        "top_k": 0,
        "epsilon": uni.clip,
        "beta": 0.0,
        "entropy_coef": uni.eta,
        "loss_type": "dapo",
        "max_completion_length": plan.room.response,
        "lr_scheduler_type": "constant",
        "logging_steps": updates,
        "vllm_importance_sampling_correction": False,
        "report_to": [],
    }
    return GRPOConfig(str(out), **{**arguments, **more})


def _split(rollouts: int, micro_batches: int) -> tuple[int, int]:
    """(rows of the data set per rollout, rows per micro-batch), so that TRL cuts a batch into so
    many micro-batches."""
    if micro_batches >= rollouts:
        passes, rest = divmod(micro_batches, rollouts)
        if not rest:
            return passes, 1
    elif rollouts % micro_batches == 0:
        return 1, rollouts // micro_batches
    raise UsageError(
        f"{micro_batches} micro-batches and {rollouts} rollouts per process do not divide"
    )


def _unused(completions: Sequence[Any], **_: Any) -> list[float]:
    """TRL wants a reward; returns are worked out from events instead."""
    return [0.0] * len(completions)


class EventGRPOTrainer(GRPOTrainer):  # type: ignore[misc]
    """GRPO whose rows are events and whose advantages are per token."""

    def __init__(self, model: Any, plan: Plan, args: GRPOConfig, **more: Any) -> None:
        """A trainer.

        Args:
            model: a causal language model of transformers, or the path of one.
            plan: what is trained on.
            args: of `grpo_config`.
            more: `processing_class`, `peft_config`, `callbacks` as in TRL.
        """
        self.plan = plan
        if not plan.variant.trained:
            raise UsageError(f"{plan.variant.name} is the start point: there is nothing to train")
        # TRL counts rows and repeats them; which tasks they stand for is `_places`'s to say.
        rows = [{"prompt": task.name} for task in plan.tasks]
        super().__init__(
            model,
            reward_funcs=_unused,
            args=args,
            train_dataset=Dataset.from_list(rows),
            **more,
        )
        self._said = 0

    # Sampling

    @property
    def iteration(self) -> int:
        """Iterations done before this one."""
        return int(self.state.global_step) // updates_of(self.plan)

    @contextlib.contextmanager
    def seeded(self, number: int) -> Iterator[None]:
        """Random numbers of an iteration: the same after a restart, others in every process."""
        world, rank = self.accelerator.num_processes, self.accelerator.process_index
        with torch.random.fork_rng():
            torch.manual_seed((int(self.args.seed) * 1_000_003 + number) * world + rank)
            yield

    def stage(self) -> Stage:
        """How rollouts of the policy as it is now are made."""
        plan = self.plan
        return Stage(
            wording=plan.wording,
            generate=self._sample,
            limits=plan.limits,
            room=plan.room,
            embedder=plan.embedder,
            together=lambda busy: any(self._everywhere(busy)),
        )

    def _everywhere(self, value: Any) -> list[Any]:
        """The value of every process."""
        if self.accelerator.num_processes == 1:
            return [value]
        made: list[Any] = gather_object([value])
        return made

    def _sample(self, contexts: Sequence[Sequence[int]]) -> list[Sampled]:
        """Responses to contexts, those of a like length together. Every process asks the model the
        same number of times: it may be spread over them."""
        size = self.plan.batch
        order = sorted(range(len(contexts)), key=lambda at: len(contexts[at]))
        made: dict[int, Sampled] = {}
        for n in range(max(self._everywhere(math.ceil(len(order) / size)))):
            places = order[n * size : (n + 1) * size]
            asked = [list(contexts[at]) for at in places] or [list(contexts[order[0]])]
            ids, logps = self._generate_single_turn(asked, None, {}, 1)
            for at, (place, one) in enumerate(zip(places, ids, strict=False)):
                given = () if logps is None else tuple(map(float, logps[at]))
                made[place] = Sampled(ids=tuple(one), logps=given)
                self._said += len(one)
        return [made[at] for at in range(len(contexts))]

    # One iteration

    def _generate_and_score_completions(self, inputs: Sequence[Mapping[str, Any]]) -> Any:
        """Rollouts of an iteration as a batch of events (the one method of TRL replaced)."""
        places = self._places()
        phase = self.plan.config.schedule.phase(self.iteration)
        begun, said = time.perf_counter(), self._said
        with self.seeded(self.iteration):
            rollouts = self._rollouts(places, phase)
        self._metrics["train"]["rollout_time"].append(time.perf_counter() - begun)
        sampled = sum(self._everywhere(self._said - said))  # shared banks are paid for too
        self._metrics["train"]["sampled_tokens"].append(float(sampled))
        returns = self._returns(places, rollouts, phase)
        advantages = self._advantages(places, returns)
        self._note(phase, places, rollouts, returns, advantages)
        rows = [
            row
            for rollout, own in zip(rollouts, advantages, strict=True)
            for row in rows_of(rollout, own, length=self.plan.config.length)
            if row.pulls or self.plan.config.eta
        ]
        total = sum(self._everywhere(len(rollouts)))
        return self._batch(rows, total)

    def _places(self) -> list[int]:
        """The tasks of this process's rollouts, by the number of the iteration alone: TRL's own
        order begins anew after a restart. A last batch that is not full is filled up from the
        beginning of its epoch."""
        config, count, batch = self.plan.config, len(self.plan.tasks), self.plan.task_batch
        epoch, at = divmod(self.iteration, -(-count // batch))
        order = list(range(count))
        random.Random(f"{self.args.seed}/{epoch}").shuffle(order)
        every = [order[(at * batch + n) % count] for n in range(batch) for _ in range(config.group)]
        size = len(every) // self.accelerator.num_processes
        begin = size * self.accelerator.process_index
        return every[begin : begin + size]

    def _rollouts(self, places: Sequence[int], phase: Phase) -> list[Trajectory]:
        tasks = [self.plan.tasks[at] for at in places]
        if not self.plan.variant.alternates:
            return self.stage().whole(tasks)
        if phase == "construction":
            return self.stage().construct(tasks)
        banks = self._shared_banks(places)
        return self.stage().search(tasks, [banks[at] for at in places])

    def _shared_banks(self, places: Sequence[int]) -> dict[int, MemoryBank]:
        """One bank per task, built now by this policy in one process, the same in all (UNI-40)."""
        holders = self._everywhere(sorted(set(places)))
        rank = self.accelerator.process_index
        own = [at for at in holders[rank] if not any(at in one for one in holders[:rank])]
        built = self.stage().construct([self.plan.tasks[at] for at in own])
        logs = {at: tuple(one.bank.ops) for at, one in zip(own, built, strict=True)}
        everywhere = {at: ops for one in self._everywhere(logs) for at, ops in one.items()}
        return {
            at: replay(everywhere[at], embedder=self.plan.embedder) for at in sorted(set(places))
        }

    def _returns(
        self, places: Sequence[int], rollouts: Sequence[Trajectory], phase: Phase
    ) -> list[Returns]:
        made: dict[int, Returns] = {}
        tally = Tally(self.plan.grader)
        for at in sorted(set(places)):
            own = [n for n, place in enumerate(places) if place == at]
            scored = returns_of(
                self.plan.tasks[at],
                [rollouts[n] for n in own],
                tally,
                variant=self.plan.variant,
                phase=phase,
                run=self.plan.run,
            )
            made.update(zip(own, scored, strict=True))
        self._note_grades(phase, tally)
        return [made[n] for n in range(len(places))]

    def _note_grades(self, phase: Phase, tally: Tally) -> None:
        """Calls of the frozen models; in construction all of them score banks by evidence, so the
        share of right ones is J of what was stored (UNI-70)."""
        everywhere = self._everywhere((tally.right, tally.asked, tally.calls))
        right, asked, calls = (sum(one) for one in zip(*everywhere, strict=True))
        self._metrics["train"]["calls"].append(float(calls))
        if self.plan.variant.alternates and phase == "construction" and asked:
            self._metrics["train"]["construction/J"].append(100 * right / asked)

    def _advantages(
        self, places: Sequence[int], returns: Sequence[Returns]
    ) -> list[Mapping[Any, float]]:
        """Advantages over all siblings of a task, wherever they ran."""
        config, rank = self.plan.config, self.accelerator.process_index
        pairs = list(zip(places, returns, strict=True))
        everywhere = self._everywhere(pairs)
        made: dict[int, Mapping[Any, float]] = {}
        partly = 0
        for at in sorted({at for one in everywhere for at, _ in one}):
            group = [
                (process, n, value)
                for process, one in enumerate(everywhere)
                for n, (place, value) in enumerate(one)
                if place == at
            ]
            values = [value for _, _, value in group]
            partly += partly_credited(values)
            scored = advantages_of(
                values, delta=config.delta, ddof=config.ddof, absent=config.absent
            )
            for (process, n, _), advantage in zip(group, scored, strict=True):
                if process == rank:
                    made[n] = advantage
        self._metrics["train"]["partly_credited"].append(float(partly))
        return [made[n] for n in range(len(places))]

    def _note(
        self,
        phase: Phase,
        places: Sequence[int],
        rollouts: Sequence[Trajectory],
        returns: Sequence[Returns],
        advantages: Sequence[Mapping[Any, float]],
    ) -> None:
        """Figures of the iteration, under the name of its stage, into TRL's log."""
        tasks = [self.plan.tasks[at] for at in places]
        made = self._everywhere(figures(tasks, rollouts, returns, advantages))
        name = phase if self.plan.variant.alternates else "whole"
        for key in made[0]:
            mean = sum(one[key] for one in made) / len(made)
            self._metrics["train"][f"{name}/{key}"].append(mean)

    def _batch(self, rows: Sequence[Row], rollouts: int) -> dict[str, Any]:
        """Rows as tensors, filled up with empty ones to the same number in every process."""
        split = int(self.args.steps_per_generation)
        count = max(1, *self._everywhere(math.ceil(len(rows) / split))) * split
        blank = int(self._tokenizer.pad_token_id)
        filler = Row(prompt_ids=(blank,), completion_ids=(blank,), mask=(False,), advantages=(0.0,))
        filled = [*rows, *[filler] * (count - len(rows))]
        device = self.accelerator.device

        def padded(values: Sequence[Sequence[Any]], side: str, value: Any, kind: Any) -> Any:
            parts = [torch.tensor(one, dtype=kind) for one in values]
            return pad(parts, padding_value=value, padding_side=side).to(device)

        prompts = [row.prompt_ids for row in filled]
        said = [row.completion_ids for row in filled]
        batch = {
            "prompt_ids": padded(prompts, "left", blank, torch.long),
            "prompt_mask": padded([[1] * len(one) for one in prompts], "left", 0, torch.long),
            "completion_ids": padded(said, "right", blank, torch.long),
            "completion_mask": padded([[1] * len(one) for one in said], "right", 0, torch.long),
            "tool_mask": padded([row.mask for row in filled], "right", 0, torch.long),
            "advantages": padded([row.advantages for row in filled], "right", 0.0, torch.float32),
            "num_items_in_batch": torch.tensor(rollouts, device=device),
        }
        old = self._old_logps(filled, batch, padded)
        return batch if old is None else {**batch, "old_per_token_logps": old}

    def _old_logps(self, rows: Sequence[Row], batch: Mapping[str, Any], padded: Any) -> Any:
        """Log-probabilities by the policy that sampled: those of the sampler where it gives them,
        else of the model where several updates follow; None where the ratio is 1 by itself."""
        if any(self._everywhere(any(row.logps for row in rows))):
            logps = [row.logps or (0.0,) * len(row.mask) for row in rows]
            return padded(logps, "right", 0.0, torch.float32)
        if updates_of(self.plan) == 1:
            return None
        ids = torch.cat([batch["prompt_ids"], batch["completion_ids"]], dim=1)
        seen = torch.cat([batch["prompt_mask"], batch["completion_mask"]], dim=1)
        with torch.no_grad():
            old, _, _ = self._get_per_token_logps_and_entropies(
                self.model,
                ids,
                seen,
                batch["completion_ids"].size(1),
                batch_size=int(self.args.per_device_train_batch_size),
            )
        return old

    # Validation

    def validate(self, tasks: Sequence[Task], *, grader: Grader, seed: int = 0) -> Outcome:
        """J of the policy as it is now, on other conversations; the tasks are divided over the
        processes, and every one gets the whole outcome.

        Args:
            tasks: conversations that are not trained on.
            grader: answer model and judge of validation.
            seed: of sampling; another one is another stochastic run.
        """
        rank, world = self.accelerator.process_index, self.accelerator.num_processes
        with self.seeded(-1 - seed):
            own = evaluate(tasks[rank::world], self.stage(), grader, run=self.plan.run)
        return Outcome.joined(self._everywhere(own))
