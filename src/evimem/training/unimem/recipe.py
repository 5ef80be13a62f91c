"""Uni-Mem's training, read from top to bottom: `train` is the whole of it.

Needs the extra `train`. Every step leaves its result in a file of the run's folder and is passed
over when that is there, so a run that was stopped goes on where it was: started again it takes up
the last checkpoint, and the curve goes on as if it had never stopped.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from accelerate import PartialState
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.trainer_utils import get_last_checkpoint

from evimem.errors import UsageError
from evimem.manager.agent import Policy
from evimem.ports import Embedder
from evimem.training.budget import lines
from evimem.training.configs import described
from evimem.training.running.metrics import JsonLines, reporters
from evimem.training.selection import Checkpoint, PassMatrix
from evimem.training.stored import Grader, RunAll
from evimem.training.unimem.choosing import choose, measured
from evimem.training.unimem.demonstrations import (
    Demonstration,
    Example,
    examples,
    load,
    record,
    replay_demonstration,
    save,
)
from evimem.training.unimem.graders import pooled
from evimem.training.unimem.measuring import Outcome, evaluate
from evimem.training.unimem.policy import Sampler
from evimem.training.unimem.setups import TOY, TOY_CHANGING, Setup, paths
from evimem.training.unimem.sft import sft_config, sft_trainer
from evimem.training.unimem.stages import Stage
from evimem.training.unimem.tasks import Task, costs
from evimem.training.unimem.toy import toy_model, toy_tokenizer
from evimem.training.unimem.trainer import EventGRPOTrainer, Plan, grpo_config
from evimem.training.unimem.validation import Validation
from evimem.training.unimem.wording import ChatWording
from evimem.training.variants import variant_named

__all__ = ["Parts", "Report", "train"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Parts:
    """What a training is given besides its setup."""

    shown: Sequence[Task]
    """Conversations of the demonstrations."""
    tasks: Sequence[Task]
    """Conversations of the reinforcement."""
    validation: Sequence[Task]
    """Conversations that decide on checkpoints, and that J is followed on while training."""
    teacher: Policy
    """Who demonstrates: any policy over the harness."""
    teacher_name: str
    """What it is called in the record."""
    grader: Grader
    """Frozen answer model and judge."""
    embedder: Embedder | None = None
    """For searches; None: by words."""
    test: Sequence[Task] = ()
    """Conversations that J is reported on and that nothing else looks at; none: validation."""
    answers: str = "unnamed"
    """What the answer model is called in the report."""
    judge: str = "unnamed"
    """What the judge is called in the report."""

    @property
    def reported(self) -> Sequence[Task]:
        """The conversations that J is reported on."""
        return self.test or self.validation


@dataclass(frozen=True, kw_only=True)
class Report:
    """What came of a training."""

    variant: str
    """The method."""
    schedule: str
    """C:R."""
    seed: int
    """Of the run."""
    start: str
    """The checkpoint that the reinforcement began with; "base": the model as it is."""
    j_before: float
    """J before the reinforcement, in percent, one stochastic run."""
    j_after: float
    """J after it, the same run."""
    steps: int
    """Iterations."""
    questions: int
    """Questions that J is reported on."""
    calls: int
    """Calls of the grader in this process since it was started."""
    answers: str
    """Answer model of the report."""
    judge: str
    """Judge of the report."""
    before: Mapping[str, bool]
    """By question: whether the answer was right before."""
    after: Mapping[str, bool]
    """Whether it was right after."""


def train(setup: Setup, parts: Parts, out: Path) -> Report:
    """Demonstrations, supervised start, choice, reinforcement, report.

    Args:
        setup: where and how it runs.
        parts: conversations, teacher and grader.
        out: the run's folder; methods that are compared share one, and with it their start.

    Raises:
        UsageError: settings do not fit together, or no checkpoint passes the gate.
        ModelError: a teacher, answer model or judge could not be reached.
    """
    at = paths(out, setup.train, setup.start)
    if at["report"].exists():
        return Report(**json.loads(at["report"].read_text(encoding="utf-8")))
    process = PartialState(cpu=bool(setup.trl.get("use_cpu")))
    _told(setup, parts)

    # 1. The policy's model, and how it writes and reads events.
    base = _base(setup, at["base"])
    tokenizer = AutoTokenizer.from_pretrained(base, padding_side="left")
    wording = ChatWording(tokenizer, system=setup.system, **setup.template)

    with pooled(parts.grader, workers=setup.workers) as (grader, run):
        # 2.-4. Imitation of a teacher; or none, and the model goes on as it is.
        name, start = "base", Path(base)
        if setup.start == "sft":
            name = _imitated(setup, parts, base, (tokenizer, wording), (grader, run), at)
            start = at["start"]

        # 5. Rollouts, returns per event, updates: construction and retrieval in turn.
        plan = Plan(
            config=setup.train,
            tasks=parts.tasks,
            wording=wording,
            grader=grader,
            run=run,
            limits=setup.limits,
            room=setup.room,
            embedder=parts.embedder,
            batch=setup.batch,
        )
        before, after, steps = _reinforced(setup, plan, parts, (start, tokenizer), at)

        # 6. What came of it, on conversations that nothing else looked at.
        report = Report(
            variant=setup.train.variant,
            schedule=str(setup.train.schedule),
            seed=setup.seed,
            start=name,
            j_before=_percent(before),
            j_after=_percent(after),
            steps=steps,
            questions=len(after),
            calls=grader.calls,
            answers=parts.answers,
            judge=parts.judge,
            before=before,
            after=after,
        )
    if process.is_main_process:
        at["report"].write_text(json.dumps(asdict(report), indent=1), encoding="utf-8")
    return report


def _percent(right: Mapping[str, bool]) -> float:
    return 100 * sum(right.values()) / len(right)


def _imitated(
    setup: Setup,
    parts: Parts,
    base: str,
    written: tuple[Any, ChatWording],
    graded: tuple[Grader, RunAll],
    at: dict[str, Path],
) -> str:
    """The supervised start; the name of the checkpoint that goes on."""
    process, (tokenizer, wording) = PartialState(), written

    # 2. A teacher works through conversations over the same harness; its record must replay.
    if process.is_main_process and not at["demonstrations"].exists():
        _demonstrated(setup, parts, at["demonstrations"])
    process.wait_for_everyone()
    taught, left_out = examples(
        load(at["demonstrations"]), wording, max_tokens=setup.sft.max_tokens
    )
    held_out, learned = taught[::50], [one for n, one in enumerate(taught) if n % 50]
    _log.info("%d events to learn from, %d left out", len(learned), left_out)

    # 3. What the teacher said is learned; what it read is not.
    if not at["sft_done"].exists():
        _supervised(setup, base, tokenizer, learned, at)

    # 4. The gate and the choice, on validation alone.
    if process.is_main_process and not at["choice"].exists():
        _chosen(setup, parts, base, written, held_out, graded, at)
    process.wait_for_everyone()
    return str(json.loads(at["choice"].read_text(encoding="utf-8"))["chosen"])


def _told(setup: Setup, parts: Parts) -> None:
    """The settings and what they will cost, into the log."""
    for line in (*described(setup.train), *described(setup.sft)):
        _log.info("%s", line)
    batch = parts.tasks[: setup.train.task_batch]
    steps = setup.steps or setup.train.steps(len(parts.tasks))
    for line in lines(
        costs(batch), group=setup.train.group, schedule=setup.train.schedule, steps=steps
    ):
        _log.info("%s", line)


def _base(setup: Setup, path: Path) -> str:
    """The model before any training; the toy is made and saved first."""
    if setup.model not in (TOY, TOY_CHANGING):
        return setup.model
    process = PartialState()
    if process.is_main_process and not path.exists():
        tokenizer = toy_tokenizer(changing=setup.model == TOY_CHANGING)
        toy_model(tokenizer, seed=setup.seed).save_pretrained(path)
        tokenizer.save_pretrained(path)
    process.wait_for_everyone()
    return str(path)


def _loaded(path: str | Path) -> Any:
    """A saved policy, where this process computes."""
    return AutoModelForCausalLM.from_pretrained(path).to(PartialState().device)


def _demonstrated(setup: Setup, parts: Parts, path: Path) -> None:
    shown: list[Demonstration] = []
    for task in parts.shown:
        one = record(
            parts.teacher,
            task,
            name=parts.teacher_name,
            limits=setup.limits,
            embedder=parts.embedder,
        )
        replay_demonstration(one, limits=setup.limits, embedder=parts.embedder)
        shown.append(one)
    save(shown, path)


def _supervised(
    setup: Setup, base: str, tokenizer: Any, learned: Sequence[Example], at: dict[str, Path]
) -> None:
    args = sft_config(
        setup.sft,
        at["sft"],
        processes=PartialState().num_processes,
        per_device=setup.sft_per_device,
        seed=setup.seed,
        **{"report_to": reporters(), **setup.trl},
    )
    trainer = sft_trainer(
        base,
        tokenizer,
        learned,
        args,
        callbacks=[JsonLines(at["sft_metrics"])],
    )
    trainer.train(resume_from_checkpoint=_last(at["sft"]))
    trainer.accelerator.wait_for_everyone()
    at["sft_done"].touch()


def _last(folder: Path) -> str | None:
    """The last checkpoint of a folder, if there is one."""
    found: str | None = get_last_checkpoint(str(folder)) if folder.exists() else None
    return found


def _chosen(
    setup: Setup,
    parts: Parts,
    base: str,
    written: tuple[Any, ChatWording],
    held_out: Sequence[Example],
    graded: tuple[Grader, RunAll],
    at: dict[str, Path],
) -> None:
    """Measures the checkpoints, chooses one, and writes down which and why. One process does it,
    so nothing here may wait for the others."""

    def measure(name: str) -> tuple[Checkpoint, PassMatrix]:
        model = _loaded(base if name == "base" else at["sft"] / name)
        stage = _stage(setup, parts, model, *written)
        return measured(
            name,
            model,
            stage,
            parts.validation,
            grader=graded[0],
            run=graded[1],
            held_out=held_out,
        )

    names = sorted(
        (one.name for one in at["sft"].glob("checkpoint-*")),
        key=lambda name: int(name.rpartition("-")[2]),
    )
    chosen, rows = choose(
        measure("base"), names, measure, validation=parts.validation, rule=setup.rule
    )
    for row in rows:
        _log.info("%s", row)
    told = {"chosen": chosen.name, "rule": asdict(setup.rule), "rows": [asdict(r) for r in rows]}
    model = AutoModelForCausalLM.from_pretrained(at["sft"] / chosen.name)
    model.save_pretrained(at["start"])
    written[0].save_pretrained(at["start"])
    at["choice"].write_text(json.dumps(told, indent=1), encoding="utf-8")


def _stage(setup: Setup, parts: Parts, model: Any, tokenizer: Any, wording: ChatWording) -> Stage:
    """Rollouts of a saved policy."""
    return Stage(
        wording=wording,
        generate=Sampler(
            model=model,
            tokenizer=tokenizer,
            tokens=setup.room.response,
            temperature=setup.train.temperature,
            batch=setup.batch,
        ),
        limits=setup.limits,
        room=setup.room,
        embedder=parts.embedder,
    )


def _reinforced(
    setup: Setup, plan: Plan, parts: Parts, started: tuple[Path, Any], at: dict[str, Path]
) -> tuple[Mapping[str, bool], Mapping[str, bool], int]:
    """Answers before and after, and the iterations between them; M0 has none."""
    start, tokenizer = started
    at["own"].mkdir(parents=True, exist_ok=True)
    if not variant_named(setup.train.variant).trained:
        outcome = _untrained(setup, plan, parts, started)
        return outcome.right, outcome.right, 0
    steps = setup.steps or setup.train.steps(len(parts.tasks))
    args = grpo_config(
        plan,
        at["rl"],
        steps=steps,
        processes=PartialState().num_processes,
        micro_batches=setup.micro_batches,
        seed=setup.seed,
        **{"report_to": reporters(), **setup.trl, **setup.grpo},
    )
    last = _last(at["rl"])
    # TRL would go on beyond the last step if it were told to take up a training that is done.
    done = last is not None and int(last.rpartition("-")[2]) >= args.max_steps
    validation = Validation(parts.validation, plan.grader)
    trainer = EventGRPOTrainer(
        last if done else str(start),
        plan,
        args,
        processing_class=tokenizer,
        callbacks=[JsonLines(at["metrics"]), validation],
    )
    validation.trainer = trainer
    before = _before(trainer, parts, at["before"])
    if not done:
        trainer.train(resume_from_checkpoint=last)
    after = trainer.validate(parts.reported, grader=plan.grader).right
    trainer.save_model(str(at["final"]))
    return before, after, steps


def _untrained(setup: Setup, plan: Plan, parts: Parts, started: tuple[Path, Any]) -> Outcome:
    """What the start itself does, in the same stochastic run for all who measure it."""
    start, tokenizer = started
    stage = _stage(setup, parts, _loaded(start), tokenizer, _of(plan))
    with torch.random.fork_rng():
        torch.manual_seed(setup.seed)
        return evaluate(parts.reported, stage, plan.grader, run=plan.run)


def _before(trainer: EventGRPOTrainer, parts: Parts, path: Path) -> Mapping[str, bool]:
    """Answers of the start, asked for once: a training that is taken up has left them behind."""
    if path.exists():
        known: dict[str, bool] = json.loads(path.read_text(encoding="utf-8"))
        return known
    right = trainer.validate(parts.reported, grader=trainer.plan.grader).right
    if trainer.accelerator.is_main_process:
        path.write_text(json.dumps(dict(right)), encoding="utf-8")
    trainer.accelerator.wait_for_everyone()
    return right


def _of(plan: Plan) -> ChatWording:
    if not isinstance(plan.wording, ChatWording):
        raise UsageError("the recipe writes contexts by a chat template")
    return plan.wording
