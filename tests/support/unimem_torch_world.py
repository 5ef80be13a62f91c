"""The toy policy with hand-made rollouts and scripted sampling, for tests that need torch."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evimem.manager.agent import EventTrace
from evimem.manager.memory_bank import MemoryBank
from evimem.model.tools import Said, ToolStep
from evimem.training.configs import UniTraining
from evimem.training.stored import words_grader
from evimem.training.unimem.rollouts import Room, Sampled, Segment, Trajectory
from evimem.training.unimem.toy import toy_model, toy_tokenizer
from evimem.training.unimem.toy_world import LIMITS, SYSTEM, toy_tasks
from evimem.training.unimem.trainer import EventGRPOTrainer, Plan, grpo_config
from evimem.training.unimem.wording import ChatWording

TOKENIZER = toy_tokenizer()


def plan(*, tasks: int = 2, facts: int = 2, grader: Any = words_grader, **config: Any) -> Plan:
    settings = {
        "learning_rate": 1e-2, "group": 3, "task_batch": 2, "mini_batch": 2, "temperature": 1.0,
        "save_every": 1000, **config,
    }  # fmt: skip
    return Plan(
        config=UniTraining(**settings),
        tasks=toy_tasks(tasks, seed=5, facts=facts),
        wording=ChatWording(TOKENIZER, system=SYSTEM),
        grader=grader,
        limits=LIMITS,
        room=Room(context=128, response=12),
    )


def trainer(
    made: Plan, out: Path, *, kind: type[EventGRPOTrainer] = EventGRPOTrainer, steps: int = 1,
    micro_batches: int = 2, callbacks: Sequence[Any] = (), model: Any = None, **more: Any,
) -> EventGRPOTrainer:  # fmt: skip
    args = grpo_config(
        made, out, steps=steps, micro_batches=micro_batches, use_cpu=True, bf16=False,
        disable_tqdm=True,
        **{"save_strategy": "no", **more},
    )  # fmt: skip
    return kind(
        toy_model(TOKENIZER, seed=1, width=16) if model is None else model,
        made,
        args,
        processing_class=TOKENIZER,
        callbacks=list(callbacks),
    )


def segment(key: object, prompt: int, *lengths: int, draw: random.Random) -> Segment:
    """Random tokens: a prompt, then stretches that were sampled and read in turn."""
    mask = [n % 2 == 0 for n, length in enumerate(lengths) for _ in range(length)]
    event = toy_tasks(1, seed=0)[0].events[0]
    step = ToolStep(said=Said(text=""), observed=())
    size = len(TOKENIZER)
    return Segment(
        key=key,  # type: ignore[arg-type]
        prompt_ids=tuple(draw.randrange(6, size) for _ in range(prompt)),
        completion_ids=tuple(draw.randrange(6, size) for _ in mask),
        mask=tuple(mask),
        trace=EventTrace(event=event, steps=(step,), closed="finished"),
    )


def trajectory(*segments: Segment) -> Trajectory:
    return Trajectory(segments=tuple(segments), bank=MemoryBank())


class Scripted:
    """Samples responses by rules over the toy world; writes the name in a share of events."""

    def __init__(self, share: float = 0.5, seed: int = 0) -> None:
        self.draw = random.Random(seed)
        self.share = share
        self.events = 0

    def __call__(self, contexts: Sequence[Sequence[int]]) -> list[Sampled]:
        return [self._one(TOKENIZER.decode(one, skip_special_tokens=False)) for one in contexts]

    def _one(self, context: str) -> Sampled:
        ids = TOKENIZER(self._said(context), add_special_tokens=False)["input_ids"]
        return Sampled(ids=(*ids, TOKENIZER.eos_token_id))

    def _said(self, context: str) -> str:
        done = context.count("</tool_response>")
        told = re.search(r'"speaker": "(\w+)", "text": "My (\w+) is called (\w+)\."', context)
        asked = re.search(r'"question": "What is (\w+)\'s (\w+) called', context)
        if not done:
            found = told or asked
            who, what = found.groups()[:2] if found else ("Ana", "weather")
            self.events += 1
            return _call("memory_search", "query", f"{who}'s {what}")
        if done == 1 and told:
            who, what, name = told.groups()
            right = self.draw.random() < self.share
            ending = f" is called {name}." if right else "."
            return _call("create_memory", "content", f"{who}'s {what}{ending}")
        return '<tool_call>{"name": "finish_event", "arguments": {}}</tool_call>'


def _call(name: str, argument: str, words: str) -> str:
    return f'<tool_call>{{"name": "{name}", "arguments": {{"{argument}": "{words}"}}}}</tool_call>'
