"""The training of MERA's planner, read from top to bottom: `train` is the whole of it.

Needs the extra `train`. Every step leaves its result in a file of the
run's folder and is passed over when that is there, so a run that was stopped goes on where it was:
started again it takes up the last checkpoint, and the curve goes on as if it had never stopped.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import logging
import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from accelerate import PartialState
from accelerate.utils import gather_object
from peft import LoraConfig
from transformers import TrainerState, set_seed
from transformers.trainer_utils import get_last_checkpoint

from evimem.errors import UsageError, missing_extra
from evimem.training.configs import described
from evimem.training.filtering import Funnel, filtered
from evimem.training.planner.gathering import DrawnPlan, Gathered, spread
from evimem.training.planner.grpo import grpo_config, planner_trainer
from evimem.training.planner.measuring import (
    Measured,
    Tried,
    compared,
    say_by,
    told_by,
    tries,
)
from evimem.training.planner.rows import PlannerReward, heuristic_plan, question_plan
from evimem.training.planner.setups import Setup, paths
from evimem.training.planner.sft import sft_config, sft_trainer
from evimem.training.planner.weights import from_gguf, loaded, merged, tokenizer_of
from evimem.training.planner.wording import WordedTrials
from evimem.training.rewards import Reward, reward_named
from evimem.training.running.metrics import JsonLines, reporters
from evimem.training.states import PlannerState, write_states
from evimem.training.unimem.policy import Sampler

__all__ = ["Parts", "train"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Parts:
    """What a training is given besides its setup."""

    learned: Gathered
    """States to train on, with their memories."""
    held: Gathered
    """States of other conversations, to measure on."""
    trials: WordedTrials
    """The recipe over all of these memories."""
    about: str
    """Where the conversations come from, for the report."""


def train(setup: Setup, parts: Parts, out: Path) -> dict[str, Any]:
    """States, supervised start, filter, reinforcement, measurement, report.

    Args:
        setup: where and how it runs.
        parts: states and memories.
        out: the run's folder.

    Returns:
        The report, as it is written.

    Raises:
        UsageError: settings do not fit together, or no state is informative.
        MissingExtra: SciPy is not installed.
    """
    at = paths(out)
    if at["report"].exists():
        done: dict[str, Any] = json.loads(at["report"].read_text(encoding="utf-8"))
        return done
    if importlib.util.find_spec("scipy") is None:
        raise missing_extra("an interval of rewards", "train")
    _reward(setup, parts, ())  # refused now rather than after the start
    process = PartialState(cpu=bool(setup.trl.get("use_cpu")))
    out.mkdir(parents=True, exist_ok=True)
    for line in (*described(setup.train), *parts.learned.funnel.lines()):
        _log.info("%s", line)

    # 1. The model, as transformers keeps it.
    base = _base(setup, at["base"])
    tokenizer = tokenizer_of(base)

    # 2. The states: some for the start, others for the reinforcement, others to measure on.
    shown, given, held = _shared(setup, parts)
    if process.is_main_process:
        write_states(at["states"], [*shown, *given])
        write_states(at["held"], held)

    # 3. The form of a plan, from plans by rules that bring something.
    if not at["start"].exists():
        _started(setup, parts, base, tokenizer, shown, at)

    # 4. The filter: outputs of the start, carried out.
    if not at["kept"].exists():
        _filtered(setup, parts, tokenizer, given, at)
    told = json.loads(at["kept"].read_text(encoding="utf-8"))
    kept = [one for one in given if one.state_id in set(told["kept"])]

    # 5. Rewards of plans that are carried out, group by group.
    if not at["final"].exists():
        _reinforced(setup, parts, tokenizer, kept, at)

    # 6. What came of it, on states of conversations that none of this has seen.
    report = _reported(setup, parts, tokenizer, base, held, at, told["funnel"])
    if process.is_main_process:
        at["report"].write_text(json.dumps(report, indent=1), encoding="utf-8")
    process.wait_for_everyone()
    return report


def _base(setup: Setup, path: Path) -> str:
    """The model before any training; a GGUF file is converted first."""
    if not setup.model.endswith(".gguf"):
        return setup.model
    process = PartialState()
    if process.is_main_process and not path.exists():
        from_gguf(Path(setup.model), path)
    process.wait_for_everyone()
    return str(path)


def _shared(
    setup: Setup, parts: Parts
) -> tuple[list[PlannerState], list[PlannerState], list[PlannerState]]:
    """The states of the start, of the reinforcement, and those to measure on. No question is in
    two of them."""
    states = parts.learned.states
    questions = sorted({(one.bank, one.question_id) for one in states})
    data = setup.data
    random.Random(setup.seed).shuffle(questions)
    share = data.start_states / (data.start_states + data.states)
    first = set(questions[: round(share * len(questions))])
    shown = [one for one in states if (one.bank, one.question_id) in first]
    given = [one for one in states if (one.bank, one.question_id) not in first]
    return (
        spread(shown, data.start_states, seed=setup.seed),
        spread(given, data.states, seed=setup.seed),
        spread(parts.held.states, data.held_states, seed=setup.seed),
    )


def _adapter(setup: Setup) -> dict[str, Any]:
    """The argument of TRL that asks for an adapter, if there is to be one."""
    if setup.adapter is None:
        return {}
    rank = setup.adapter.rank
    config = LoraConfig(
        r=rank,
        lora_alpha=2 * rank,
        target_modules=list(setup.adapter.modules),
        task_type="CAUSAL_LM",
    )
    return {"peft_config": config}


def _go_on(trainer: Any, folder: Path) -> None:
    """Trains from the last checkpoint of a folder, if there is one, to the end."""
    last = get_last_checkpoint(str(folder)) if folder.exists() else None
    if last is not None:
        told = TrainerState.load_from_json(str(Path(last) / "trainer_state.json"))
        wanted = trainer.args.max_steps if trainer.args.max_steps > 0 else told.max_steps
        if told.global_step >= wanted:
            # Told to take up a training that is done, the trainer would go on beyond its end.
            trainer._load_from_checkpoint(last)
            return
    trainer.train(resume_from_checkpoint=last)


def _started(
    setup: Setup,
    parts: Parts,
    base: str,
    tokenizer: Any,
    shown: Sequence[PlannerState],
    at: dict[str, Path],
) -> None:
    start = setup.start
    args = sft_config(
        at["sft"],
        **{
            "num_train_epochs": start.epochs,
            "learning_rate": start.learning_rate,
            "per_device_train_batch_size": start.batch,
            "max_length": None,
            "logging_steps": 1,
            "save_steps": setup.save_every,
            "seed": setup.seed,
            "report_to": reporters(),
            **setup.trl,
        },
    )
    trainer = sft_trainer(
        loaded(base),
        shown,
        parts.trials,
        args,
        tokenizer=tokenizer,
        plan_for=DrawnPlan(rng=random.Random(setup.seed), intents=start.intents),
        callbacks=[JsonLines(at["sft_metrics"])],
        **_adapter(setup),
    )
    _log.info("start: %d plans", len(trainer.train_dataset))
    _go_on(trainer, at["sft"])
    _saved(trainer, tokenizer, at["start"])


def _saved(trainer: Any, tokenizer: Any, path: Path) -> None:
    """The trained model whole, its adapter added to its weights; in one move, so that a folder
    that is there is complete."""
    trainer.accelerator.wait_for_everyone()
    made = path.with_name(f"{path.name}.part")
    if not _has_adapter(trainer):
        trainer.save_model(str(made))
    elif trainer.accelerator.is_main_process:
        model = trainer.accelerator.unwrap_model(trainer.model, keep_fp32_wrapper=False)
        merged(model).save_pretrained(made)
    if trainer.accelerator.is_main_process:
        tokenizer.save_pretrained(made)
        made.rename(path)
    trainer.accelerator.wait_for_everyone()


def _has_adapter(trainer: Any) -> bool:
    return hasattr(trainer.accelerator.unwrap_model(trainer.model), "merge_and_unload")


def _tried(
    setup: Setup,
    parts: Parts,
    model: Any,
    tokenizer: Any,
    states: Sequence[PlannerState],
    *,
    temperature: float,
    samples: int,
) -> list[Tried]:
    """Outputs of a model for states, carried out and priced. The processes share the work, and all
    of them must call this."""
    process = PartialState()
    set_seed(setup.seed + process.process_index)
    sampler = Sampler(
        model=model,
        tokenizer=tokenizer,
        tokens=setup.tokens,
        temperature=temperature,
        batch=setup.batch,
    )
    made = tries(
        states[process.process_index :: process.num_processes],
        say_by(sampler, tokenizer, parts.trials),
        _reward(setup, parts, states),
        samples=samples,
    )
    if process.num_processes > 1:
        made = gather_object(made)
    order = {one.state_id: n for n, one in enumerate(states)}
    return sorted(made, key=lambda one: order[one.state_id])


def _reward(setup: Setup, parts: Parts, states: Sequence[PlannerState]) -> PlannerReward:
    """The reward of outputs for these states."""
    reward = reward_named(setup.train.reward)
    if not isinstance(reward, Reward):
        raise UsageError(f"reward {setup.train.reward!r} is of whole searches: choose another")
    known = {one.state_id: one for one in states}
    return PlannerReward(parts.trials, known, reward, setup.tokens)


def _filtered(
    setup: Setup,
    parts: Parts,
    tokenizer: Any,
    given: Sequence[PlannerState],
    at: dict[str, Path],
) -> None:
    """Writes the informative states down, with counts."""
    funnel = dataclasses.replace(parts.learned.funnel, rollout_input=len(given))
    outputs = _tried(
        setup,
        parts,
        _on_device(at["start"]),
        tokenizer,
        given,
        temperature=setup.train.temperature,
        samples=setup.train.filter_samples,
    )
    brought: dict[str, list[int]] = {}
    for one in outputs:
        brought.setdefault(one.state_id, []).append(one.recovered)
    kept = [one.state_id for one in filtered(given, lambda s: brought[s.state_id], funnel)]
    for line in funnel.lines():
        _log.info("%s", line)
    told = {"kept": kept, "funnel": asdict(funnel)}
    process = PartialState()
    if process.is_main_process:
        at["kept"].write_text(json.dumps(told, indent=1), encoding="utf-8")
    process.wait_for_everyone()


def _on_device(path: str | Path) -> Any:
    return loaded(path, PartialState().device)


def _reinforced(
    setup: Setup,
    parts: Parts,
    tokenizer: Any,
    kept: Sequence[PlannerState],
    at: dict[str, Path],
) -> None:
    args = grpo_config(
        setup.train,
        at["rl"],
        per_device_train_batch_size=setup.micro_batch,
        processes=PartialState().num_processes,
        max_completion_length=setup.tokens,
        logging_steps=1,
        save_steps=setup.save_every,
        seed=setup.seed,
        **{"report_to": reporters(), **setup.trl, **setup.grpo},
    )
    trainer = planner_trainer(
        loaded(at["start"]),
        kept,
        parts.trials,
        setup.train,
        args,
        tokenizer=tokenizer,
        callbacks=[JsonLines(at["metrics"])],
        **_adapter(setup),
    )
    _go_on(trainer, at["rl"])
    _saved(trainer, tokenizer, at["final"])


def _reported(
    setup: Setup,
    parts: Parts,
    tokenizer: Any,
    base: str,
    held: Sequence[PlannerState],
    at: dict[str, Path],
    funnel: dict[str, int],
) -> dict[str, Any]:
    """Rewards of the untrained model, the start and the end on held-out states, and what they
    differ by."""
    at["measured"].mkdir(exist_ok=True)
    reward = _reward(setup, parts, held)
    questions = {one.state_id: f"{one.bank} {one.question_id}" for one in held}
    outputs: dict[str, dict[str, list[Tried]]] = {
        name: {"greedy": tries(held, told_by(plan_for, parts.trials), reward)}
        for name, plan_for in (("question", question_plan), ("heuristic", heuristic_plan))
    }
    for name, path in (("untrained", base), ("sft", at["start"]), ("grpo", at["final"])):
        outputs[name] = {}
        for how, temperature, samples in (("greedy", 0.0, 1), ("sampled", 1.0, setup.samples)):
            file = at["measured"] / f"{name}.{how}.jsonl"
            if file.exists():
                lines = file.read_text(encoding="utf-8").splitlines()
                outputs[name][how] = [Tried(**json.loads(one)) for one in lines]
                continue
            made = _tried(
                setup,
                parts,
                _on_device(path),
                tokenizer,
                held,
                temperature=temperature,
                samples=samples,
            )
            outputs[name][how] = made
            if PartialState().is_main_process:
                _kept(file, made)
    pairs = [("grpo", "untrained"), ("grpo", "sft"), ("sft", "untrained")]
    by_rules = [("grpo", "question"), ("grpo", "heuristic")]
    return {
        "setup": setup.name,
        "model": Path(setup.model).name,
        "seed": setup.seed,
        "steps": setup.train.steps,
        "data": parts.about,
        "funnel": Funnel(**funnel).lines(),
        "states": {"held": len(held), "questions": len(set(questions.values()))},
        "measured": {
            name: {how: asdict(Measured.of(tried)) for how, tried in each.items()}
            for name, each in outputs.items()
        },
        "differences": {
            f"{after} - {before}, {how}": asdict(
                compared(outputs[after][how], outputs[before][how], questions)
            )
            for after, before in (*pairs, *by_rules)
            for how in ("greedy", "sampled")
            if how in outputs[before]
        },
    }


def _kept(file: Path, tried: Sequence[Tried]) -> None:
    """Writes outputs down, in one move."""
    made = file.with_suffix(".part")
    text = "".join(f"{json.dumps(asdict(one), ensure_ascii=False)}\n" for one in tried)
    made.write_text(text, encoding="utf-8")
    made.rename(file)
