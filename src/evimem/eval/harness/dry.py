"""What a run would cost, without a call: the systems run against a model that is not there.

It answers every request with the example of its schema, or with a short phrase, and counts the
prompt's tokens as estimated. So loops run as long as they do when nothing is found, an upper
estimate for most; replies are counted at a length that models write.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from evimem.errors import EmptyReply
from evimem.eval.harness.calls import model_calls
from evimem.eval.harness.keep import Keep
from evimem.eval.harness.run import Budget, Plan, run
from evimem.model.chat import ChatReply, ChatRequest, ModelCall, Role
from evimem.model.cost import cost, totals
from evimem.ports import ChatModel, Models, ModelSession
from evimem.scoring.tokens import estimate_tokens

__all__ = ["DryModels", "Estimate", "MuteModels", "estimate"]

_SAMPLE = 2  # questions asked of the one conversation that is run
_PHRASE = "Not mentioned."
_REPLY_TOKENS = 120  # of a reply without a schema, where its ceiling allows it


class _DryModel:
    """Answers at once, by the request's own example, under the name of the model in its place."""

    def __init__(self, real: ChatModel, calls: list[ModelCall]) -> None:
        self._real = real
        self._calls = calls

    @property
    def model_id(self) -> str:
        return self._real.model_id

    @property
    def window(self) -> int:
        return self._real.window

    def chat(self, request: ChatRequest) -> ChatReply:
        sent = "\n".join(message.text for message in request.messages)
        schema = "" if request.schema is None else json.dumps(request.schema, default=dict)
        data = request.example if request.schema is not None else None
        text = _PHRASE if data is None else json.dumps(data)
        out = min(request.max_tokens, _REPLY_TOKENS if data is None else estimate_tokens(text))
        reply = ChatReply(
            text=text, tokens_in=estimate_tokens(sent + schema), tokens_out=out, data=data
        )
        self._calls.append(
            ModelCall(
                role=request.role,
                phase=request.phase,
                model=self.model_id,
                prompt=request.prompt,
                request=f"{len(self._calls)}",
                tokens_in=reply.tokens_in,
                tokens_out=reply.tokens_out,
            )
        )
        return reply


class _DrySession:
    def __init__(self, real: ModelSession) -> None:
        self._real = real
        self._calls: list[ModelCall] = []

    def model(self, role: Role, *, slot: str = "") -> ChatModel:
        return _DryModel(self._real.model(role, slot=slot), self._calls)

    @property
    def calls(self) -> Sequence[ModelCall]:
        return tuple(self._calls)


class DryModels:
    """A `ports.Models` that stands in for another and asks none of its models: names and windows
    are theirs, so that prompts are cut and priced as in the run."""

    def __init__(self, real: Models) -> None:
        """Args:
        real: the models of the run.
        """
        self._real = real

    def session(
        self, *, max_calls: int | None = None, max_tokens: int | None = None
    ) -> ModelSession:
        """A session with a ledger of its own."""
        return _DrySession(self._real.session())

    def forget(self, turn_ids: Collection[str]) -> int:
        """Nothing is saved here."""
        return 0

    def describe(self) -> Mapping[str, str]:
        """The models that are not asked."""
        return self._real.describe()


class _Mute:
    """Every reply is empty."""

    model_id = "none"
    window = 0

    def chat(self, request: ChatRequest) -> ChatReply:
        raise EmptyReply("no model takes part in this run", raw="")


class _MuteSession:
    def model(self, role: Role, *, slot: str = "") -> ChatModel:
        return _Mute()

    @property
    def calls(self) -> Sequence[ModelCall]:
        return ()


class MuteModels:
    """A `ports.Models` whose every reply is empty: what systems find without any model, each by
    what it does when a reply cannot be used."""

    def session(
        self, *, max_calls: int | None = None, max_tokens: int | None = None
    ) -> ModelSession:
        """A session without calls."""
        return _MuteSession()

    def forget(self, turn_ids: Collection[str]) -> int:
        """Nothing is saved here."""
        return 0

    def describe(self) -> Mapping[str, str]:
        """No model."""
        return {"default": "none: every reply is empty"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What a run of one system is expected to ask for, over all its conversations and questions."""

    system: str
    """The system."""
    calls: int
    """Model calls, those by the shared prompt among them; judges are not."""
    tokens_in: int
    """Prompt tokens."""
    tokens_out: int
    """Generated tokens."""
    money: float | None
    """By the prices of the plan; None where a model that it asks has none."""
    failed: str = ""
    """Why there is no estimate."""


def estimate(plan: Plan) -> list[Estimate]:
    """The cost of a plan, from its first conversation and two of its questions.

    The cost of a build grows with the turns, that of questions with their number.

    Args:
        plan: what would run; its models are not asked.

    Raises:
        SettingsError: no endpoint is set for a role that a system needs.
    """
    dataset = plan.dataset
    first = dataset.gold[dataset.questions[0].question_id].history_id
    asked = [
        one.question_id
        for one in dataset.questions
        if dataset.gold[one.question_id].history_id == first
    ][:_SAMPLE]
    part = dataset.only(asked, split="dry run")
    turns = sum(len(one.turns) for one in dataset.histories.values())
    builds = turns / max(1, len(part.histories[first].turns))
    questions = len(dataset.questions) / len(asked)
    return [
        _estimated(dataclasses.replace(plan, systems=(system,), dataset=part), builds, questions)
        for system in plan.systems
    ]


def _estimated(plan: Plan, builds: float, questions: float) -> Estimate:
    """One system over the sample, scaled: its build so many times, its questions so many times."""
    dry = dataclasses.replace(plan, models=DryModels(plan.models), judges=(), budget=Budget())
    [ran] = run(dry, Keep(None, {})).systems
    built = model_calls(call for row in ran.builds.values() for call in row.calls)
    asked = model_calls(
        call for rows in (ran.asks, ran.shared) for row in rows.values() for call in row.calls
    )
    offline, online = totals(built).offline, totals(asked).online
    money = [cost(calls, plan.prices) for calls in (built, asked)]
    priced = not any(one.unpriced for one in money)
    return Estimate(
        system=ran.name,
        calls=round(offline.calls * builds + online.calls * questions),
        tokens_in=round(offline.tokens_in * builds + online.tokens_in * questions),
        tokens_out=round(offline.tokens_out * builds + online.tokens_out * questions),
        money=money[0].amount * builds + money[1].amount * questions if priced else None,
        failed=next((row.failed for row in ran.builds.values() if row.failed), ""),
    )
