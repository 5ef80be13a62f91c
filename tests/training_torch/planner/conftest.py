"""States and memories for the trainers of a language-model planner."""

from __future__ import annotations

import pytest
from mera_world import World
from training_world import CONFIG, TOLD, state

from evimem.llm.structured import Structured
from evimem.ports import ChatModel
from evimem.training.execution import Trials
from evimem.training.states import PlannerState


def read_once(model: ChatModel) -> ChatModel:
    return Structured(model, attempts=1)


@pytest.fixture
def trials() -> Trials:
    return Trials(config=CONFIG, banks={"b1": World(*TOLD).view}, read=read_once)


@pytest.fixture
def states() -> list[PlannerState]:
    """Two states that the same plans solve."""
    return [state("t3"), state("t3", "t0", viewed=("t0",))]
