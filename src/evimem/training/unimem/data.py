"""What the command line trains on: the toy world, or generated conversations."""

from __future__ import annotations

import importlib
import random

from evimem.datasets.generated import generate
from evimem.errors import UsageError
from evimem.manager.lite import LitePolicy
from evimem.training.stored import words_grader
from evimem.training.unimem.recipe import Parts
from evimem.training.unimem.tasks import Task, tasks_of
from evimem.training.unimem.toy_world import Careless, toy_tasks

__all__ = ["generated_parts", "named_parts", "toy_parts"]

_TEST = 1_000_003
"""Seed of the conversations that J is reported on: one for all runs, so that they can be compared,
and one that no training takes."""
_ANSWERS, _JUDGE = "records as found", "gold words in one record"


def toy_parts(seed: int = 0, *, facts: int = 4, changes: int = 0) -> Parts:
    """The toy world with its careless teacher, which leaves half of the questions to be learned
    from rewards.

    Args:
        seed: of what is shown, trained on and validated on, and of the teacher.
        facts: facts of a conversation; of longer ones there are fewer.
        changes: how many of them change.
    """

    def some(questions: int, seed: int) -> list[Task]:
        count = questions // (facts + changes)
        return toy_tasks(count, seed=seed, facts=facts, changes=changes)

    return Parts(
        shown=some(240, 100 + seed),
        tasks=some(96, 200 + seed),
        validation=some(64, 300 + seed),
        teacher=Careless(random.Random(seed)),
        teacher_name="careless lite/1",
        grader=words_grader,
        test=some(128, _TEST),
        answers=_ANSWERS,
        judge=_JUDGE,
    )


def generated_parts(profile: str, seed: int = 0) -> Parts:
    """Generated conversations with the teacher and the grader that need no model.

    Args:
        profile: name of a profile of `datasets.generated`.
        seed: of the training conversations; validation takes the next one, the demonstrations the
            one after it. Those of the test are the same for all seeds.
    """
    return Parts(
        tasks=tasks_of(generate(profile, seed)),
        validation=tasks_of(generate(profile, seed + 1), part="validation"),
        shown=tasks_of(generate(profile, seed + 2)),
        teacher=LitePolicy(),
        teacher_name=LitePolicy().name,
        grader=words_grader,
        test=tasks_of(generate(profile, _TEST)),
        answers=_ANSWERS,
        judge=_JUDGE,
    )


def named_parts(place: str) -> Parts:
    """What a function of the user's gives: own conversations, a chat model as teacher, graders.

    Args:
        place: "module:function", without arguments.

    Raises:
        UsageError: there is no such function, or it gives something else.
    """
    module, _, name = place.partition(":")
    try:
        made = getattr(importlib.import_module(module), name)()
    except (ImportError, AttributeError) as error:
        raise UsageError(f"no parts at {place!r}: write module:function ({error})") from error
    if not isinstance(made, Parts):
        raise UsageError(f"{place!r} gave {type(made).__name__}, and a training needs Parts")
    return made
