"""Policies over events: who decides what to call next, and the record of what happened.

One policy serves construction and retrieval alike (UNI-1) and sees one event at a time: the event's
observation, and what was said and observed since.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from evimem.errors import EmptyReply, InvalidReply, TruncatedReply, UsageError
from evimem.manager.environment import Closed, Environment
from evimem.manager.events import Construction, Event, Retrieval
from evimem.manager.prompts.observe import observe
from evimem.manager.prompts.system import system_text
from evimem.manager.protocol import TextProtocol, ToolProtocol, shortened
from evimem.manager.tools import FINISH, NAMES, SEARCH
from evimem.model.chat import ChatMessage, ChatRequest, ModelCall, ToolCall
from evimem.model.codec import from_json, to_json
from evimem.model.records import MemoryOp
from evimem.model.tools import Observed, Said, ToolStep
from evimem.ports import ChatModel
from evimem.scoring.tokens import estimate_tokens

__all__ = [
    "EventTrace",
    "ModelPolicy",
    "Policy",
    "Recorded",
    "SingleTurn",
    "replayed",
    "run_event",
    "run_events",
]


class Policy(Protocol):
    """Decides what to call next."""

    def respond(self, event: Event, observation: str, steps: Sequence[ToolStep]) -> Said:
        """The next response.

        Args:
            event: the event; a policy that is a model reads its observation.
            observation: what the event showed at its beginning.
            steps: responses of this event so far, with what came of them.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class EventTrace:
    """One event as it went: enough to replay it on another bank."""

    event: Event
    """What it was about."""
    steps: tuple[ToolStep, ...]
    """Responses and what came of them, in order."""
    ops: tuple[MemoryOp, ...] = ()
    """What it changed."""
    evidence: tuple[str, ...] = ()
    """Ids of the records found for a question, each once, in the order first shown (D_k)."""
    closed: Closed
    """How it ended."""
    calls: tuple[ModelCall, ...] = ()
    """Calls of models that were made for it, where the caller kept them."""

    @property
    def observed(self) -> tuple[Observed, ...]:
        """All results and refusals, in order."""
        return tuple(one for step in self.steps for one in step.observed)

    @property
    def bundled(self) -> int:
        """Responses whose FINISH was ignored because it was not alone (UNI-10)."""
        return sum(
            any(one.reason == "finish_bundled" for one in step.observed) for step in self.steps
        )

    @property
    def well_formed(self) -> int:
        """Responses with a call of a known tool that could be read, carried out or not (UNI-54)."""
        return sum(any(call.name in NAMES for call in step.said.calls) for step in self.steps)

    def to_json(self) -> dict[str, Any]:
        """A value made of dicts, lists, strings, numbers, booleans and None."""
        data: dict[str, Any] = to_json(self)
        return {"kind": _kind(self.event), **data}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> EventTrace:
        """The trace that `to_json` wrote.

        Raises:
            ValueError: the data does not fit; the message names the field.
        """
        rest = dict(data)
        kind, event = rest.pop("kind", None), rest.pop("event", None)
        if kind not in ("construction", "retrieval"):
            raise ValueError(f"EventTrace.kind: {kind!r} is neither construction nor retrieval")
        # The codec cannot tell the members of a union apart, so the event is read on its own.
        read = from_json(EventTrace, {**rest, "event": None})
        if kind == "construction":
            return replace(read, event=from_json(Construction, event))
        return replace(read, event=from_json(Retrieval, event))


def _kind(event: Event) -> str:
    return "construction" if isinstance(event, Construction) else "retrieval"


def run_event(policy: Policy, env: Environment, event: Event) -> EventTrace:
    """Runs a policy over one event until it is closed.

    Raises:
        ModelError: the policy's model could not be reached or refused.
        BudgetExceeded: the ceiling of calls or tokens is reached. In both cases what the event
            wrote before stays in the bank, if the bank keeps writes at once.
    """
    observation = env.begin(event)
    steps: list[ToolStep] = []
    while env.closed is None:
        said = policy.respond(event, observation, tuple(steps))
        observed, _ = env.step(said)
        steps.append(ToolStep(said=said, observed=observed))
    return EventTrace(
        event=event,
        steps=tuple(steps),
        ops=env.ops,
        evidence=env.evidence,
        closed=env.closed,
    )


def run_events(policy: Policy, env: Environment, events: Iterable[Event]) -> Iterator[EventTrace]:
    """Runs one policy over a stream of events in order, one trace as each is closed (UNI-1)."""
    for event in events:
        yield run_event(policy, env, event)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPolicy:
    """A policy that asks a chat model for each response."""

    model: ChatModel
    """The manager's model (role `manage`)."""
    protocol: ToolProtocol = field(default_factory=TextProtocol)
    """How calls are written."""
    templates: Mapping[str, str] = field(default_factory=dict)
    """Prompts from files, by name; "uni.system" takes the place of ours."""
    reply_tokens: int = 2048
    """Ceiling of a response; less in a small window."""
    temperature: float = 0.0
    """Sampling temperature."""
    seed: int | None = None
    """Sampling seed, where the server takes one."""

    def respond(self, event: Event, observation: str, steps: Sequence[ToolStep]) -> Said:
        """The model's next response. A reply that cannot be used is a response without a call.

        Raises:
            ModelError: the model could not be reached, refused the request as it stands, or
                declined to answer.
            BudgetExceeded: the ceiling of calls or tokens is reached.
        """
        try:
            reply = self.model.chat(self.request(event, observation, steps))
        except (EmptyReply, InvalidReply, TruncatedReply) as error:
            why = "was empty" if isinstance(error, EmptyReply) else "could not be used"
            return Said(text=error.raw, problems=(f"the response {why}",))
        return self.protocol.read(reply)

    def request(self, event: Event, observation: str, steps: Sequence[ToolStep]) -> ChatRequest:
        """The request for the next response, made to fit the model's window.

        Where it is too long, earlier results of the event are shortened first, then the last ones,
        then the read-only turns before a chunk are left out, oldest first. Nothing else is cut.
        """
        system, tag = system_text(self.protocol.told, templates=self.templates)
        window = self.model.window
        request = ChatRequest(
            messages=(ChatMessage(role="system", text=system),),
            role="manage",
            phase="update" if isinstance(event, Construction) else "online",
            prompt=tag,
            max_tokens=min(self.reply_tokens, max(1, window // 4)) if window else self.reply_tokens,
            temperature=self.temperature,
            seed=self.seed,
            tools=self.protocol.tools(event),
        )
        shown = self._with(request, observation, steps)
        over = _excess(shown, window)
        if over > 0 and steps:
            steps = shortened(steps, over)
            shown = self._with(request, observation, steps)
        while isinstance(event, Construction) and event.context and _excess(shown, window) > 0:
            event = replace(event, context=event.context[1:])
            shown = self._with(request, observe(event), steps)
        return shown

    def _with(
        self, request: ChatRequest, observation: str, steps: Sequence[ToolStep]
    ) -> ChatRequest:
        history = self.protocol.messages(observation, steps)
        return replace(request, messages=(request.messages[0], *history))


_PER_MESSAGE = 6
"""Tokens around the words of a message, from above."""


def _excess(request: ChatRequest, window: int) -> int:
    """Tokens that a request and its reply need beyond the window; not positive if they fit."""
    if not window:
        return 0
    words = [message.text for message in request.messages]
    words += [repr(to_json(message.calls)) for message in request.messages if message.calls]
    words += [repr(to_json(tool)) for tool in request.tools]
    used = sum(estimate_tokens(text) for text in words) + _PER_MESSAGE * len(request.messages)
    return used + request.max_tokens - window


@dataclass(frozen=True, slots=True)
class SingleTurn:
    """A manager of one generation per event, as in the methods that Uni-Mem is compared with
    (UNI-26): what it sees is prepared by one fixed search per new turn, all its operations come in
    one response, and what comes of them is not shown to it. A question is searched once, as it is.
    """

    policy: Policy
    """Says the operations of a chunk; not asked for a question."""

    def respond(self, event: Event, observation: str, steps: Sequence[ToolStep]) -> Said:
        """The fixed searches, then the operations, then FINISH; searches and finishes among the
        operations are not the policy's to make here and are left out."""
        if not steps:
            queries = (
                [turn.body for turn in event.turns]
                if isinstance(event, Construction)
                else [event.question]
            )
            return Said(
                text="",
                calls=tuple(ToolCall(name=SEARCH, arguments={"query": one}) for one in queries),
            )
        if len(steps) == 1 and isinstance(event, Construction):
            said = self.policy.respond(event, observation, steps)
            kept = tuple(one for one in said.calls if one.name not in (SEARCH, FINISH))
            if kept or said.problems:
                return replace(said, calls=kept)
        return Said(text="", calls=(ToolCall(name=FINISH, arguments={}),))


@dataclass(frozen=True, slots=True)
class Recorded:
    """The policy that a recorded event followed: says again what was said."""

    trace: EventTrace
    """The event as it went."""

    def respond(self, event: Event, observation: str, steps: Sequence[ToolStep]) -> Said:
        """The recorded response at this place.

        Raises:
            UsageError: the record has no further response.
        """
        if len(steps) >= len(self.trace.steps):
            raise UsageError(
                f"the recorded event has {len(self.trace.steps)} responses and is not closed yet"
            )
        return self.trace.steps[len(steps)].said


def replayed(traces: Iterable[EventTrace], env: Environment) -> Iterator[EventTrace]:
    """Recorded events run again, from the bank that they began with: the same calls on the same
    bank give the same results (UNI-52).

    Raises:
        UsageError: a result differs from the recorded one; the message names the event and step.
    """
    for number, trace in enumerate(traces, start=1):
        again = run_event(Recorded(trace), env, trace.event)
        for at, (old, new) in enumerate(zip(trace.steps, again.steps, strict=False), start=1):
            if old != new:
                raise UsageError(
                    f"event {number} of the record came out otherwise at response {at}: begin with "
                    "the bank, the embedder and the limits that it was recorded with"
                )
        if len(again.steps) != len(trace.steps):
            raise UsageError(f"event {number} of the record ended early: the limits differ")
        yield again
