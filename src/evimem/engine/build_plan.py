"""What of a bank a builder still has to do: every turn with its call, its key and its record.

A turn is up to date when its record has the key that its call would have now. So a build goes on
where it was killed, does nothing twice, and does anew what another model, another wording or an
edit has outdated (MERA-7, MERA-51).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from evimem.build.facts import BUILDER, context_of, key_of
from evimem.build.prompts.extract import MOST_TOKENS, TOKENS_PER_TOKEN, render
from evimem.model.chat import ChatRequest
from evimem.model.turn import Session, Turn
from evimem.ports import BuildRecord, BuildStatus, Reader
from evimem.scoring.tokens import estimate_tokens

__all__ = [
    "BuildEstimate",
    "BuildState",
    "SessionState",
    "Task",
    "estimate_of",
    "plan_of",
    "state_of",
    "wanted_of",
]

OUT_PER_TOKEN = 2.0
"""Generated tokens per token of a turn that an estimate counts with: facts and their keywords."""
OUT_PER_CALL = 30
"""Generated tokens of a call beside: the reply's form."""


@dataclass(slots=True, kw_only=True)
class Task:
    """One turn of the bank that has words."""

    turn: Turn
    """The turn."""
    context: tuple[Turn, ...]
    """Earlier turns that its prompt shows."""
    session: Session
    """Its session."""
    request: ChatRequest
    """The call for the whole turn."""
    key: str
    """What the call is, as a hash; see `facts.key_of`."""
    record: BuildRecord | None
    """What was done with the turn so far, under whatever key."""

    @property
    def status(self) -> BuildStatus | None:
        """What was done under this very key; None: nothing."""
        record = self.record
        return record.status if record is not None and record.key == self.key else None

    @property
    def detail(self) -> str:
        """Why that status; empty for a plain one."""
        return self.record.detail if self.record is not None and self.status else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionState:
    """How far one session is."""

    session_id: str
    """Its id."""
    source_id: str
    """Its id in the source."""
    turns: int
    """Turns with words."""
    done: int
    """Turns that nothing is to be done for: done, fallback and refused ones."""
    failed: int
    """Turns that failed and are worth a retry."""
    pending: int
    """Turns not done yet, or outdated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildState:
    """How far the facts of a bank are."""

    turns: int = 0
    """Turns with words; each is in exactly one of the next five counts."""
    done: int = 0
    """Turns whose facts are up to date; some hold none."""
    fallback: int = 0
    """Turns that stand as their own words, because no usable reply came (MERA-10)."""
    refused: int = 0
    """Turns that the model declined to read; they are not asked for again."""
    failed: int = 0
    """Turns at which the provider failed, or whose reply was empty; worth a retry."""
    pending: int = 0
    """Turns not done yet, or done under another model, wording or text."""
    with_facts: int = 0
    """Turns that have facts up to date."""
    facts: int = 0
    """Their facts."""
    causes: Mapping[str, int] = field(default_factory=dict)
    """Why turns are fallback, refused or failed, by cause."""
    sessions: tuple[SessionState, ...] = ()
    """Every session by time."""

    @property
    def complete(self) -> bool:
        """True if nothing is left to do or to retry."""
        return not self.failed and not self.pending


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildEstimate:
    """What a build would take, before anything is sent."""

    bank: str
    """The bank."""
    model: str
    """The model that would be asked."""
    state: BuildState
    """How far the bank is."""
    turns: int
    """Turns that would be read."""
    calls: int
    """Calls, repairs not counted."""
    tokens_in: int
    """Prompt tokens, by an estimate from above."""
    tokens_out: int
    """Generated tokens, roughly."""


def plan_of(
    reader: Reader, *, model_id: str, sessions: Collection[str] = (), turns: Collection[str] = ()
) -> list[Task]:
    """Every turn with words, in the order of time.

    Args:
        reader: the bank.
        model_id: the model that would be asked.
        sessions: only these, by id; none: all.
        turns: only these turns; none: all.
    """
    records = reader.builds(BUILDER)
    wanted = frozenset(turns)
    tasks: list[Task] = []
    for session in reader.sessions():
        if sessions and session.session_id not in sessions:
            continue
        spoken = reader.session(session.session_id)
        for at, turn in enumerate(spoken):
            if not turn.body.strip() or (wanted and turn.turn_id not in wanted):
                continue
            context = context_of(spoken, at)
            request = render(turn, context=context)
            tasks.append(
                Task(
                    turn=turn,
                    context=context,
                    session=session,
                    request=request,
                    key=key_of(request, model_id=model_id),
                    record=records.get(turn.turn_id),
                )
            )
    return tasks


class _Unit(Protocol):
    """What is read at once: a turn, a batch of turns."""

    @property
    def status(self) -> BuildStatus | None:
        """What was done with it and still stands."""
        ...


U = TypeVar("U", bound=_Unit)


def wanted_of(
    tasks: Iterable[U], *, retry_failed: bool = True, only_failed: bool = False
) -> list[U]:
    """The turns (or batches of them) to read.

    Args:
        tasks: all of them.
        retry_failed: failed ones too.
        only_failed: no others, and those that stand as their own words too. A refusal is final.
    """
    statuses: set[BuildStatus | None] = {None}
    if only_failed:
        statuses = {"failed", "fallback"}
    elif retry_failed:
        statuses.add("failed")
    return [task for task in tasks if task.status in statuses]


def state_of(tasks: Sequence[Task]) -> BuildState:
    """How far these turns are."""
    counts = Counter(task.status for task in tasks)
    held = [task.record.items for task in tasks if task.status and task.record is not None]
    causes = Counter(
        task.detail.partition(":")[0] or "unknown"
        for task in tasks
        if task.status in ("fallback", "refused", "failed")
    )
    by_session: dict[str, list[Task]] = {}
    for task in tasks:
        by_session.setdefault(task.session.session_id, []).append(task)
    return BuildState(
        turns=len(tasks),
        done=counts["done"],
        fallback=counts["fallback"],
        refused=counts["refused"],
        failed=counts["failed"],
        pending=counts[None],
        with_facts=sum(n > 0 for n in held),
        facts=sum(held),
        causes=dict(sorted(causes.items())),
        sessions=tuple(_session_state(members) for members in by_session.values()),
    )


def _session_state(tasks: Sequence[Task]) -> SessionState:
    counts = Counter(task.status for task in tasks)
    session = tasks[0].session
    return SessionState(
        session_id=session.session_id,
        source_id=session.source_id,
        turns=len(tasks),
        done=len(tasks) - counts["failed"] - counts[None],
        failed=counts["failed"],
        pending=counts[None],
    )


def estimate_of(
    tasks: Sequence[Task], wanted: Sequence[Task], *, bank: str, model_id: str
) -> BuildEstimate:
    """What reading the wanted turns would take."""
    calls = sent = written = 0
    for task in wanted:
        words = estimate_tokens(task.turn.body)
        pieces = max(1, -(-TOKENS_PER_TOKEN * words // MOST_TOKENS))
        system, user = (estimate_tokens(message.text) for message in task.request.messages)
        calls += pieces
        sent += pieces * system + user
        written += round(OUT_PER_TOKEN * words) + pieces * OUT_PER_CALL
    return BuildEstimate(
        bank=bank,
        model=model_id,
        state=state_of(tasks),
        turns=len(wanted),
        calls=calls,
        tokens_in=sent,
        tokens_out=written,
    )
