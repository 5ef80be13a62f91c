"""States as rows of a data set for TRL, rewards with the face that TRL calls, and a start's plans.

Nothing here needs torch: a row holds the prompt of inference and the id of its state, a reward
looks the state up, carries the sampled words out on its memory and prices them. So words that
retrieve the same turns earn the same, and unreadable ones earn their penalty, never an exception.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evimem.errors import UsageError
from evimem.query.parts import BankView
from evimem.query.selector.options import Option, options
from evimem.training.execution import Executed, Trials, view_of
from evimem.training.rewards import Priced, Reward, outcome_of
from evimem.training.states import PlannerState

__all__ = [
    "Message",
    "PlanFor",
    "PlannerReward",
    "heuristic_plan",
    "messages",
    "planner_rows",
    "question_plan",
    "sft_rows",
    "written_plan",
]

Message = dict[str, str]
"""One message as chat templates read it: "role" and "content"."""

PlanFor = Callable[[PlannerState, BankView], str]
"""Writes a plan for a state of a memory, as a planner would."""

INTENTS = 3
"""Intents of a heuristic plan at most (MERA-12)."""


def messages(trials: Trials, state: PlannerState) -> list[Message]:
    """The planner's prompt for a state, word for word that of inference."""
    asked = trials.prompt(state)
    return [{"role": one.role, "content": one.text} for one in asked.messages]


def planner_rows(states: Iterable[PlannerState], trials: Trials) -> list[dict[str, Any]]:
    """One row per state for GRPO: "prompt" and "state_id".

    Raises:
        UsageError: two states are the same, or one is complete (MERA-60).
    """
    made: dict[str, dict[str, Any]] = {}
    for state in states:
        name = state.state_id
        if name in made:
            raise UsageError(f"state {name!r} is given twice: leave one out")
        if not state.missing:
            raise UsageError(f"nothing is missing in state {name!r}: leave it out before sampling")
        made[name] = {"prompt": messages(trials, state), "state_id": name}
    return list(made.values())


@dataclass(frozen=True, slots=True)
class PlannerReward:
    """A reward of sampled plans with the face of TRL: keyword lists in, one number per plan out."""

    trials: Trials
    """Carries plans out."""
    states: Mapping[str, PlannerState]
    """States by id."""
    reward: Reward
    """The price of what they bring."""
    ceiling: int = 0
    """Tokens at which sampling stops: an output of as many counts as cut; 0: none does."""

    @property
    def __name__(self) -> str:
        """The name that TRL logs it by."""
        return self.reward.name

    def __call__(
        self,
        *,
        completions: Sequence[Sequence[Message] | str],
        completion_ids: Sequence[Sequence[int]],
        state_id: Sequence[str],
        log_metric: Callable[[str, float], None] | None = None,
        **other: object,
    ) -> list[float]:
        """The rewards of a batch of outputs.

        Args:
            completions: messages or words, one per output.
            completion_ids: their tokens.
            state_id: the state of each.
            log_metric: TRL's hook for numbers to log.
            other: what else TRL hands on; not read.

        Raises:
            UsageError: an id names no state.
        """
        told = zip(completions, completion_ids, state_id, strict=True)
        tried = [self.tried(_words(said), len(ids), name) for said, ids, name in told]
        if log_metric is not None and tried:
            _log([one for one, _ in tried], [one for _, one in tried], log_metric)
        return [price.total for _, price in tried]

    def tried(self, words: str, length: int, name: str) -> tuple[Executed, Priced]:
        """One output carried out, and its price.

        Args:
            words: the output.
            length: its tokens.
            name: the id of its state.

        Raises:
            UsageError: the id names no state.
        """
        state = self.states.get(name)
        if state is None:
            raise UsageError(f"no state {name!r} is among the {len(self.states)} given")
        cut = 0 < self.ceiling <= length
        executed = self.trials.run(state, words, cut=cut)
        return executed, self.reward(outcome_of(state, executed, length=length))


def _words(said: Sequence[Message] | str) -> str:
    return said if isinstance(said, str) else "".join(one["content"] for one in said)


def _log(
    executed: Sequence[Executed], prices: Sequence[Priced], log: Callable[[str, float], None]
) -> None:
    for one, price in zip(executed, prices, strict=True):
        log("plan/retrieval", price.retrieval)
        log("plan/parsed", float(one.parsed))
        log("plan/searches", float(len(one.steps)))
        log("plan/keywords", price.keywords)
        log("plan/length", price.length)


def heuristic_plan(state: PlannerState, view: BankView) -> str:
    """A plan for a state as the planner's JSON, made without a model: what a start imitates.

    The intents are the first of the selector's options: the question, then what is unexplained,
    names and words of the evidence. It teaches the form, the reward teaches what to ask.
    """
    made = [one for one in options(state.state, view) if one.ranker == "fusion"]
    picked = sorted(made, key=_first)[:INTENTS]
    return written_plan(picked, missing=state.state.missing or state.state.question.text)


def question_plan(state: PlannerState, view: BankView) -> str:
    """A plan that asks the question as it stands: what a planner must be better than."""
    intent = {"fact": state.state.question.text, "entities": [], "topics": []}
    return json.dumps({"missing": "", "sufficient": False, "intents": [intent]})


def written_plan(picked: Iterable[Option], *, missing: str) -> str:
    """Options as the JSON that a planner replies with.

    Args:
        picked: one option per intent, in order.
        missing: what the plan says is missing.
    """
    plan = {"missing": missing, "sufficient": False, "intents": [_intent(one) for one in picked]}
    return json.dumps(plan, ensure_ascii=False)


_ORDER = ("unexplained", "question", "name", "subject", "part", "focus", "term")


def _first(option: Option) -> tuple[int, int]:
    order = _ORDER.index(option.kind) if option.kind in _ORDER else len(_ORDER)
    return order, option.place


def _intent(option: Option) -> dict[str, Any]:
    words = option.text.split()
    names = dict.fromkeys(word.strip(".,?!'\"") for word in words[1:] if word[:1].isupper())
    return {"fact": option.text, "entities": [one for one in names if one][:4], "topics": []}


def sft_rows(
    states: Iterable[PlannerState], trials: Trials, *, plan_for: PlanFor = heuristic_plan
) -> list[dict[str, Any]]:
    """One row per state for a supervised start: "prompt" and "completion".

    Plans that would retrieve nothing new are left out: they are no example to follow.

    Args:
        states: the states.
        trials: the recipe and the memories.
        plan_for: writes the plan of a state.
    """
    made: list[dict[str, Any]] = []
    for state in states:
        plan = plan_for(state, view_of(state, trials.banks))
        if not state.missing or trials.run(state, plan).recovered:
            reply = [{"role": "assistant", "content": plan}]
            made.append({"prompt": messages(trials, state), "completion": reply})
    return made
