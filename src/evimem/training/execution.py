"""One output of a planner carried out on its memory, by the code that answers questions.

The output is read by `query.mera.planner`, searched with its requests (the same ranker, k and
exclusion of what was viewed) and packaged as the recipe packages hits. There is no second reading
or search here: what earns a reward in training is what inference would have found (C7; MERA-64).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from evimem.errors import UsageError
from evimem.model.chat import ChatReply, ChatRequest
from evimem.model.evidence import Plan
from evimem.ports import ChatModel
from evimem.query.loop import retrieve
from evimem.query.mera.planner import IntentPlanner
from evimem.query.mera.records import AtomicFacts, ParentTurnFacts
from evimem.query.parts import BankView, Packager, Proposer
from evimem.recipes.mera import MeraConfig, planner_of
from evimem.recipes.rebuilt import SILENT
from evimem.trace import SearchStep
from evimem.training.states import PlannerState

__all__ = ["Banks", "Executed", "Reading", "Trials", "execute", "said_by", "view_of", "with_facts"]

Banks = Mapping[str, BankView]
"""Memories by the hash of their content."""

Reading = Callable[[ChatModel], ChatModel]
"""Puts the reading of replies around a model, as a session does: JSON found in its words, checked
against the schema. One attempt: a sampled output is not repaired."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Executed:
    """What one output of a planner brought."""

    plan: Plan | None
    """What was read in it; None from a proposer that states no plan."""
    steps: tuple[SearchStep, ...]
    """The searches, in order."""
    retrieved: tuple[str, ...]
    """R(o): ids of the parent turns that came back, unseen ones only, best first, before a round's
    ceiling of tokens; empty after an output that could not be read (MERA-64)."""
    recovered: tuple[str, ...]
    """Those of them that were missing: R(o) and U, in the order of the gold."""

    @property
    def parsed(self) -> bool:
        """False for an output that could not be read."""
        return self.plan is None or not self.plan.problem

    @property
    def keywords(self) -> int:
        """Entities and topics of the broadest intent."""
        intents = self.plan.intents if self.plan is not None else ()
        return max((len(one.entities) + len(one.topics) for one in intents), default=0)


def execute(
    state: PlannerState, proposer: Proposer, packager: Packager, view: BankView
) -> Executed:
    """Lets a proposer speak for a state and carries out what it says.

    Args:
        state: the state, with something missing.
        proposer: a planner of the recipe (`said_by` makes one that says given words), or any other
            policy that proposes searches.
        packager: the recipe's.
        view: the state's memory.

    Raises:
        UsageError: nothing is missing in the state, so no share of it can be recovered (MERA-60).
    """
    if not state.missing:
        raise UsageError(
            f"nothing is missing in state {state.state_id!r} of question {state.question_id!r}:"
            " leave complete states out before sampling"
        )
    proposed = proposer.propose(state.state, view)
    steps = (*proposed.done, *retrieve(proposed.searches, view))
    candidates = packager.package(steps, state.state, view)
    parents = dict.fromkeys(ref for one in candidates for ref in (one.refs or (one.item_id,)))
    return Executed(
        plan=proposed.plan,
        steps=steps,
        retrieved=tuple(parents),
        recovered=tuple(one for one in state.missing if one in parents),
    )


def said_by(
    planner: IntentPlanner, text: str, *, read: Reading, cut: bool = False
) -> IntentPlanner:
    """The planner as if its model had said `text`.

    Args:
        planner: the recipe's planner; its own model is not asked.
        text: a sampled output.
        read: the reading of replies that inference puts around its models.
        cut: the output ended at the ceiling of tokens; what was complete of it is used, as in
            inference.
    """
    return dataclasses.replace(planner, model=read(_Spoken(text, cut)))


def view_of(state: PlannerState, banks: Banks) -> BankView:
    """The memory of a state.

    Raises:
        UsageError: it is not among those given.
    """
    view = banks.get(state.bank)
    if view is None:
        raise UsageError(
            f"state {state.state_id!r} needs the memory {state.bank!r} of {state.history_id!r},"
            f" which is not among the {len(banks)} given"
        )
    return view


def with_facts(banks: Banks) -> Callable[[PlannerState], Collection[str]]:
    """Which gold turns of a state its memory can bring back where facts are searched: those that a
    fact was extracted from (MERA-9)."""
    return lambda state: view_of(state, banks).facts_of(state.gold).keys()


@dataclass(frozen=True, slots=True, kw_only=True)
class Trials:
    """Tries sampled outputs of a language model on the memories of their states."""

    config: MeraConfig
    """The recipe: its planner's prompt and searches, its form of candidates."""
    banks: Banks
    """Memories."""
    read: Reading
    """The reading of replies that inference puts around its models."""

    def prompt(self, state: PlannerState) -> ChatRequest:
        """What the planner reads of a state, the same as in inference."""
        return planner_of(self.config, SILENT).request(state.state)

    def run(self, state: PlannerState, text: str, *, cut: bool = False) -> Executed:
        """What an output brings.

        Args:
            state: the state that it was sampled for.
            text: the output.
            cut: it ended at the ceiling of tokens.

        Raises:
            UsageError: nothing is missing in the state, or its memory is not at hand.
        """
        planner = said_by(planner_of(self.config, SILENT), text, read=self.read, cut=cut)
        packager = ParentTurnFacts() if self.config.aggregate else AtomicFacts()
        return execute(state, planner, packager, view_of(state, self.banks))


@dataclass(frozen=True, slots=True)
class _Spoken:
    """A model that said one thing already."""

    text: str
    """What it said."""
    cut: bool
    """True if it ended at its ceiling."""

    model_id: str = "sampled"
    """No model that could be asked."""
    window: int = 0
    """Unknown: the prompt was fitted when the output was sampled."""

    def chat(self, request: ChatRequest) -> ChatReply:
        return ChatReply(text=self.text, finish="length" if self.cut else "stop")
