"""Trajectories and states of MERA's planner on a small world, for tests of training."""

from __future__ import annotations

from typing import Any

from mera_world import World, intents, verdict

from evimem.llm.scripted import ScriptedModels
from evimem.model.chat import ChatRequest
from evimem.model.evidence import EvidenceState, Question
from evimem.recipes.mera import MeraConfig
from evimem.trace import Trace
from evimem.training.states import PlannerState, Trajectory

TOLD = (
    ("Mira", "I took the cello up again!", ["Mira plays the cello"]),
    ("Tomas", "Graz is home now.", ["Tomas moved to Graz"]),
    ("Mira", "My sister has a bakery.", ["Mira's sister runs a bakery"]),
    ("Mira", "The bakery is in Porto.", ["The bakery of Mira's sister is in Porto"]),
)
CONFIG = MeraConfig(name="mera-bm25", ranker="bm25", k=1)
PLANS: tuple[Any, ...] = (intents("cello"), "no JSON", "no JSON", intents("runs", "Porto"))
"""The second call is unusable twice: first asked, then repaired."""


def asked(w: World, *plans: Any, **given: Any) -> Trace:
    """The question asked with these replies of the planner; then it says that it has enough."""
    said = iter(plans)

    def say(request: ChatRequest) -> Any:
        if request.role == "seed":
            return {"seeds": [{"name": "Mira", "type": "person"}]}
        if request.role == "plan":
            return next(said, intents(sufficient=True))
        if request.role == "verify":
            return verdict(request, "Porto")
        return {"answer": "Porto", "evidence": ["e1"], "covered": "full"}

    return w.ask("Where is the bakery?", ScriptedModels(say), CONFIG, **given)


def trajectory(trace: Trace, *gold: str, bank: str = "b1") -> Trajectory:
    return Trajectory(trace=trace, question_id="q1", history_id="h", bank=bank, gold=gold)


def state(*gold: str, viewed: tuple[str, ...] = ()) -> PlannerState:
    return PlannerState(
        question_id="q1",
        history_id="h",
        bank="b1",
        recipe="mera-bm25",
        state=EvidenceState(question=Question(text="Where is the bakery?"), viewed=viewed),
        gold=gold,
    )
