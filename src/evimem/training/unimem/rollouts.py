"""Rollouts: many event contexts at once, each over the same environment as in use.

One segment is the context of one event, as token ids: what the policy sampled, kept as it was
sampled, and between that what tools said. All open contexts get their next response in one batch;
one that closes makes room for the next event of its bank.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from evimem.errors import UsageError
from evimem.manager.agent import EventTrace
from evimem.manager.bank import RecordBank
from evimem.manager.environment import Environment
from evimem.manager.events import Construction, Event
from evimem.model.records import Record
from evimem.model.tools import ToolStep
from evimem.training.unimem.wording import Wording

__all__ = ["Generate", "Room", "Sampled", "Segment", "Trajectory", "Work", "alone", "roll"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled:
    """One response as it was sampled."""

    ids: tuple[int, ...]
    """Its tokens, at least one, with the end mark if that was sampled."""
    logps: tuple[float, ...] = ()
    """Log-probabilities that the sampler gave them; empty where it gives none."""


Generate = Callable[[Sequence[Sequence[int]]], Sequence[Sampled]]
"""Responses to a batch of contexts, in order."""

Together = Callable[[bool], bool]
"""Whether any process still has an open context, from whether this one has. Where a model is spread
over processes they must all ask it the same number of times."""


def alone(busy: bool) -> bool:
    """`Together` of one process."""
    return busy


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """Tokens that a context may have."""

    context: int = 16_384
    """Tokens of a context at most; one that has no room for another response is closed."""
    response: int = 512
    """Tokens of a response at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """The context of one event."""

    key: Hashable
    """The event's position, the same for all siblings: index of a construction event, or id of a
    question."""
    prompt_ids: tuple[int, ...]
    """Up to the first response."""
    completion_ids: tuple[int, ...]
    """From the first response to the end of the last."""
    mask: tuple[bool, ...]
    """True for tokens that the policy sampled; as long as `completion_ids`."""
    logps: tuple[float, ...] = ()
    """The sampler's log-probabilities, 0 where nothing was sampled; empty where it gives none."""
    trace: EventTrace
    """What was said and what came of it."""
    cut: bool = False
    """True if the context had no room for another response."""

    @property
    def generated(self) -> int:
        """Tokens that the policy sampled."""
        return sum(self.mask)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectory:
    """One rollout of a task: its events in order, and what it left behind."""

    segments: tuple[Segment, ...]
    """Its events."""
    bank: RecordBank
    """The bank that it wrote or searched."""
    found: Mapping[str, tuple[Record, ...]] = field(default_factory=dict)
    """Records found for each question, by id: D_k."""
    unread: int = 0
    """Events whose context did not fit at all: they were passed over."""

    @property
    def tokens(self) -> int:
        """Tokens that the policy sampled."""
        return sum(one.generated for one in self.segments)


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Events of one bank, to be worked through in order."""

    env: Environment
    """The bank behind its tools, with no event begun."""
    events: Sequence[tuple[Hashable, Event]]
    """Position and event."""


def roll(
    works: Sequence[Work],
    wording: Wording,
    generate: Generate,
    *,
    room: Room = Room(),
    together: Together = alone,
) -> list[tuple[list[Segment], int]]:
    """Works through all events, one response of every open context at a time.

    Args:
        works: what is to be done; each in an environment of its own.
        wording: how contexts are written.
        generate: samples responses.
        room: tokens of contexts and responses.
        together: whether any process is still busy.

    Returns:
        Per work the segments in order, and how many events did not fit.

    Raises:
        UsageError: the sampler gave another number of responses, or one without a token.
    """
    seats = [_Seat(work, wording, room) for work in works]
    filler: Sequence[int] = (0,)
    while together(any(seat.open for seat in seats)):
        busy = [seat for seat in seats if seat.open]
        filler = busy[0].ids if busy else filler
        sampled = generate([seat.ids for seat in busy] or [filler])
        if not busy:
            continue
        if len(sampled) != len(busy):
            raise UsageError(f"{len(busy)} contexts got {len(sampled)} responses")
        for seat, response in zip(busy, sampled, strict=True):
            seat.take(response)
    return [(seat.done, seat.unread) for seat in seats]


class _Seat:
    """One work, with the context of the event that is open."""

    def __init__(self, work: Work, wording: Wording, room: Room) -> None:
        self._env = work.env
        self._wording = wording
        self._room = room
        self._left = list(reversed(work.events))
        self.done: list[Segment] = []
        self.unread = 0
        self._next()

    @property
    def open(self) -> bool:
        """True while a response is wanted."""
        return self._event is not None

    @property
    def ids(self) -> list[int]:
        """The context as it stands."""
        return [*self._prompt, *self._completion]

    def _next(self) -> None:
        """Begins the next event that fits."""
        self._event: Event | None = None
        while self._left and self._event is None:
            self._key, event = self._left.pop()
            shown, prompt = self._fitting(event)
            if self._fits(len(prompt)):
                self._event, self._prompt = event, prompt
                self._observation = self._env.begin(shown)
            else:
                self.unread += 1
        self._completion: list[int] = []
        self._mask: list[bool] = []
        self._logps: list[float] = []
        self._steps: list[ToolStep] = []

    def _fits(self, tokens: int) -> bool:
        return tokens + self._room.response <= self._room.context

    def _fitting(self, event: Event) -> tuple[Event, list[int]]:
        """The event with as many of the turns before it as fit, as `ModelPolicy` shows them."""
        prompt = self._wording.opening(event)
        while isinstance(event, Construction) and event.context and not self._fits(len(prompt)):
            event = dataclasses.replace(event, context=event.context[1:])
            prompt = self._wording.opening(event)
        return event, prompt

    def take(self, response: Sampled) -> None:
        """Carries out a response and goes on."""
        if not response.ids:
            raise UsageError("the sampler gave a response without any token")
        self._append(response.ids, sampled=True, logps=response.logps)
        said, ended = self._wording.read(response.ids)
        observed, closed = self._env.step(said)
        self._steps.append(ToolStep(said=said, observed=observed))
        if closed:
            self._close(cut=False)
            return
        following = self._wording.between(self._observation, self._steps, ended=ended)
        if not self._fits(len(self._prompt) + len(self._completion) + len(following)):
            self._close(cut=True)
            return
        self._append(following, sampled=False)

    def _append(self, ids: Sequence[int], *, sampled: bool, logps: Sequence[float] = ()) -> None:
        self._completion += ids
        self._mask += [sampled] * len(ids)
        self._logps += logps if logps else [0.0] * len(ids)

    def _close(self, *, cut: bool) -> None:
        assert self._event is not None
        trace = EventTrace(
            event=self._event,
            steps=tuple(self._steps),
            ops=self._env.ops,
            evidence=self._env.evidence,
            closed=self._env.closed or "forced",
        )
        self.done.append(
            Segment(
                key=self._key,
                prompt_ids=tuple(self._prompt),
                completion_ids=tuple(self._completion),
                mask=tuple(self._mask),
                logps=tuple(self._logps) if any(self._logps) else (),
                trace=trace,
                cut=cut,
            )
        )
        self._next()
