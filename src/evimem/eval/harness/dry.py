"""What a run would cost, without a call: the systems run against a model that is not there.

It answers every request with the example of its schema, or with a short phrase, and counts the
prompt's tokens as estimated. So loops run as long as they do when nothing is found, an upper
estimate for most; replies are counted at a length that models write.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from evimem.errors import EmptyReply
from evimem.eval.harness.calls import model_calls
from evimem.eval.harness.keep import Keep
from evimem.eval.harness.run import Plan, run
from evimem.model.chat import ChatReply, ChatRequest, ModelCall, Role
from evimem.model.cost import Price, Totals, call_cost, totals
from evimem.ports import ChatModel, ModelSession
from evimem.scoring.tokens import estimate_tokens

__all__ = ["DryModels", "Estimate", "MuteModels", "estimate"]

_SAMPLE = 2  # questions asked of the one conversation that is run
_PHRASE = "Not mentioned."
_REPLY_TOKENS = 120  # of a reply without a schema, where its ceiling allows it


class _DryModel:
    """Answers at once, by the request's own example."""

    def __init__(self, role: Role, calls: list[ModelCall], window: int) -> None:
        self._role = role
        self._calls = calls
        self._window = window

    @property
    def model_id(self) -> str:
        return f"{self._role} (not asked)"

    @property
    def window(self) -> int:
        return self._window

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
    def __init__(self, window: int) -> None:
        self._window = window
        self._calls: list[ModelCall] = []

    def model(self, role: Role, *, slot: str = "") -> ChatModel:
        return _DryModel(role, self._calls, self._window)

    @property
    def calls(self) -> Sequence[ModelCall]:
        return tuple(self._calls)


class DryModels:
    """A `ports.Models` without a model behind it."""

    def __init__(self, *, window: int = 0) -> None:
        """Args:
        window: the window that it claims, so that prompts are cut as in the run; 0: unknown.
        """
        self._window = window

    def session(
        self, *, max_calls: int | None = None, max_tokens: int | None = None
    ) -> ModelSession:
        """A session with a ledger of its own."""
        return _DrySession(self._window)

    def forget(self, turn_ids: Collection[str]) -> int:
        """Nothing is saved here."""
        return 0

    def describe(self) -> Mapping[str, str]:
        """No model."""
        return {"default": "not asked"}


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
    """By the price; None without one."""
    failed: str = ""
    """Why there is no estimate."""


def estimate(plan: Plan, *, window: int = 0, price: Price | None = None) -> list[Estimate]:
    """The cost of a plan, from its first conversation and two of its questions.

    The cost of a build grows with the turns, that of questions with their number.

    Args:
        plan: what would run; its models are not asked.
        window: that of the models.
        price: of a million tokens.
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
    made = []
    for system in plan.systems:
        dry = replace(
            plan, systems=(system,), dataset=part, models=DryModels(window=window), judges=()
        )
        [ran] = run(dry, Keep(None, {})).systems
        failed = next((row.failed for row in ran.builds.values() if row.failed), "")
        offline = totals(model_calls(c for row in ran.builds.values() for c in row.calls))
        online = totals(
            model_calls(
                c for rows in (ran.asks, ran.shared) for row in rows.values() for c in row.calls
            )
        )
        made.append(
            _scaled(system.name, offline, online, builds, questions, price=price, failed=failed)
        )
    return made


def _scaled(
    name: str,
    offline: Totals,
    online: Totals,
    builds: float,
    questions: float,
    *,
    price: Price | None,
    failed: str,
) -> Estimate:
    calls = offline.offline.calls * builds + online.online.calls * questions
    tokens_in = round(offline.offline.tokens_in * builds + online.online.tokens_in * questions)
    tokens_out = round(offline.offline.tokens_out * builds + online.online.tokens_out * questions)
    money = None
    if price is not None:
        money = call_cost(price, tokens_in=tokens_in, tokens_out=tokens_out)
    return Estimate(
        system=name,
        calls=round(calls),
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        money=money,
        failed=failed,
    )
