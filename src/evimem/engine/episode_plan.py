"""What of a bank a builder of episodes still has to do: batches of turns, their keys and records.

A batch is up to date when its record has the key that it would have now, and its turns still are in
the episodes that were made of them. An episode of turns in several batches ties these: if one must
be done anew, the episode goes, and all must. So forgetting a turn of a merged episode makes the
rest of it anew, and everything else stays.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from evimem.build import lite_spaces
from evimem.engine.build_plan import SessionState
from evimem.model.codec import to_json
from evimem.model.ids import content_hash
from evimem.model.item import Item
from evimem.model.turn import Session, Turn
from evimem.ports import BuildRecord, BuildStatus, Reader
from evimem.scoring.tokens import estimate_tokens

__all__ = [
    "Cost",
    "EpisodeEstimate",
    "EpisodePlan",
    "EpisodeState",
    "EpisodeTask",
    "cost_of",
    "cut_lite",
    "episode_estimate",
    "episode_plan",
    "episode_state",
    "key_lite",
]

Cut = Callable[[Sequence[Turn]], Sequence[tuple[Turn, ...]]]
"""The batches of a session's turns."""
KeyOf = Callable[[Sequence[Turn]], str]
"""What making a batch is, as a hash."""

TURNS_PER_EPISODE = 5
"""Turns of an episode that an estimate counts with."""
CALLS_PER_EPISODE = 3
"""Calls of an episode that an estimate counts with: its narrative, what is expected of it, and what
is new in it. Asking whether to merge it comes on top where an earlier one is like it."""
PROMPT_TOKENS = 600
"""Prompt tokens of a call beside the words of the turns: instructions and schema."""
OUT_PER_TOKEN = 1.0
"""Generated tokens per token of a turn: the narrative, and what is known after it."""
OUT_PER_CALL = 60
"""Generated tokens of a call beside: the reply's form."""


@dataclass(slots=True, kw_only=True)
class EpisodeTask:
    """One batch of the bank: consecutive turns of one session."""

    turns: tuple[Turn, ...]
    """Its turns, at least one, all with words."""
    session: Session
    """Their session."""
    key: str
    """What making it is, as a hash."""
    record: BuildRecord | None
    """What was done with it so far, under whatever key."""
    tied: bool = False
    """True if its episodes went, or go with those of another batch that must be done anew."""

    @property
    def ref(self) -> str:
        """The turn that stands for it on records and in reports: its first."""
        return self.turns[0].turn_id

    @property
    def status(self) -> BuildStatus | None:
        """What was done and still stands; None: it must be done."""
        record = self.record
        if record is None or record.key != self.key or self.tied:
            return None
        return record.status

    @property
    def detail(self) -> str:
        """Why that status; empty for a plain one."""
        return self.record.detail if self.record is not None and self.status else ""


@dataclass(slots=True, kw_only=True)
class EpisodePlan:
    """Every batch of a bank, and what stands on them."""

    builder: str
    """The builder whose form this is."""
    tasks: list[EpisodeTask]
    """All batches in the order of time."""
    records: frozenset[str]
    """Turns that have a record of this builder, those that begin no batch any more among them."""
    episodes: int
    """Its live episodes."""
    facts: int
    """Its live semantic facts."""
    others: tuple[str, ...]
    """Ids of live episodes and semantic facts of other builders: they go when this one builds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeState:
    """How far the episodes of a bank are."""

    builder: str
    """Which form: "episodes" (a model wrote them) or that of `lite_spaces`."""
    turns: int = 0
    """Turns with words."""
    batches: int = 0
    """Batches of them, made at once: stretches of a session with a model, whole sessions without.
    Each is in exactly one of the next five counts."""
    done: int = 0
    """Batches that are up to date."""
    fallback: int = 0
    """Batches of which some part stands as its own words, or holds no facts, because no usable
    reply came."""
    refused: int = 0
    """Batches that the model declined to read; they are not asked for again."""
    failed: int = 0
    """Batches at which the provider failed; worth a retry."""
    pending: int = 0
    """Batches not done yet, or done under another model, wording or text."""
    episodes: int = 0
    """Live episodes of this form."""
    facts: int = 0
    """Live semantic facts of this form."""
    others: int = 0
    """Episodes and semantic facts of another form, which go as soon as this one builds."""
    causes: Mapping[str, int] = field(default_factory=dict)
    """Why batches are fallback, refused or failed, by cause."""
    sessions: tuple[SessionState, ...] = ()
    """Every session by time, counted in turns."""

    @property
    def complete(self) -> bool:
        """True if nothing is left to do or to retry."""
        return not self.failed and not self.pending


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeEstimate:
    """What a build of episodes would take, before anything is sent."""

    bank: str
    """The bank."""
    model: str
    """The model that would be asked; empty without one."""
    state: EpisodeState
    """How far the bank is."""
    batches: int
    """Batches that would be made."""
    turns: int
    """Their turns."""
    calls: int
    """Calls, repairs not counted, roughly: how many depends on what comes out."""
    tokens_in: int
    """Prompt tokens, roughly."""
    tokens_out: int
    """Generated tokens, roughly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What one batch may take, roughly."""

    calls: int
    """Calls."""
    tokens_in: int
    """Prompt tokens."""
    tokens_out: int
    """Generated tokens."""


def cut_lite(turns: Sequence[Turn]) -> list[tuple[Turn, ...]]:
    """The batches of a session for `lite_spaces`: all its turns with words at once."""
    spoken = tuple(turn for turn in turns if turn.body.strip())
    return [spoken] if spoken else []


def key_lite(turns: Sequence[Turn]) -> str:
    """What making a session's lite spaces is: the builder's version and all of its turns.

    Which words are rare in the bank is left out, though titles are chosen by it: otherwise every
    new session would make all others anew. A title stays as good as it was when it was chosen.
    """
    given = [lite_spaces.BUILDER, [to_json(turn) for turn in turns]]
    return content_hash(json.dumps(given, ensure_ascii=False, sort_keys=True))


def episode_plan(reader: Reader, *, builder: str, cut: Cut, key_of: KeyOf) -> EpisodePlan:
    """Every batch with words, in the order of time, and how it stands.

    Args:
        reader: the bank.
        builder: the builder.
        cut: cuts a session into batches.
        key_of: the key of a batch.
    """
    records = reader.builds(builder)
    tasks: list[EpisodeTask] = []
    stand: dict[str, Item] = {}
    for session, spoken in _sessions(reader):
        for turns in cut(spoken):
            record = records.get(turns[0].turn_id)
            tasks.append(
                EpisodeTask(turns=turns, session=session, key=key_of(turns), record=record)
            )
        derived = reader.derived([turn.turn_id for turn in spoken])
        ids = dict.fromkeys(one for found in derived.values() for one in found)
        for value in reader.get([one for one in ids if one not in stand]):
            if isinstance(value, Item) and value.kind in ("episode", "semantic") and value.built:
                stand[value.item_id] = value
    mine = [item for item in stand.values() if item.attrs.get("builder") == builder]
    episodes = [item for item in mine if item.kind == "episode"]
    _tie(tasks, episodes)
    return EpisodePlan(
        builder=builder,
        tasks=tasks,
        records=frozenset(records),
        episodes=len(episodes),
        facts=len(mine) - len(episodes),
        others=tuple(one for one, item in stand.items() if item.attrs.get("builder") != builder),
    )


def _sessions(reader: Reader) -> list[tuple[Session, list[Turn]]]:
    """Sessions with their turns, by the time of the first turn that has one, unknown times last:
    sessions that are written message by message have no time of their own."""
    sessions = [(one, reader.session(one.session_id)) for one in reader.sessions()]

    def begun(pair: tuple[Session, list[Turn]]) -> tuple[bool, float]:
        times = (turn.said_at for turn in pair[1] if turn.said_at is not None)
        first = next(times, pair[0].started_at)
        return (first is None, 0.0 if first is None else first.timestamp())

    return sorted(sessions, key=begun)


def _tie(tasks: Sequence[EpisodeTask], episodes: Iterable[Item]) -> None:
    """Marks batches whose episodes went, or are shared with a batch that must be done anew."""
    at = {turn.turn_id: task for task in tasks for turn in task.turns}
    shared: dict[str, set[str]] = {}  # by batch: the batches that its episodes reach into
    held: set[str] = set()
    for episode in episodes:
        members = [link.target for link in episode.links if link.role == "member"]
        held.update(members)
        refs = {at[one].ref for one in members if one in at}
        for ref in refs:
            shared.setdefault(ref, set()).update(refs)
    for task in tasks:
        if task.status not in (None, "failed") and task.record is not None:
            task.tied = sum(turn.turn_id in held for turn in task.turns) < task.record.items
    by_ref = {task.ref: task for task in tasks}
    reached = [task for task in tasks if task.status in (None, "failed")]
    while reached:
        for ref in shared.pop(reached.pop().ref, ()):
            other = by_ref[ref]
            if other.status not in (None, "failed"):
                other.tied = True
                reached.append(other)


def episode_state(plan: EpisodePlan, tasks: Sequence[EpisodeTask]) -> EpisodeState:
    """How far these batches of a plan are; items are counted over the whole bank."""
    counts = Counter(task.status for task in tasks)
    causes = Counter(
        task.detail.partition(":")[0] or "unknown"
        for task in tasks
        if task.status in ("fallback", "refused", "failed")
    )
    by_session: dict[str, list[EpisodeTask]] = {}
    for task in tasks:
        by_session.setdefault(task.session.session_id, []).append(task)
    return EpisodeState(
        builder=plan.builder,
        turns=sum(len(task.turns) for task in tasks),
        batches=len(tasks),
        done=counts["done"],
        fallback=counts["fallback"],
        refused=counts["refused"],
        failed=counts["failed"],
        pending=counts[None],
        episodes=plan.episodes,
        facts=plan.facts,
        others=len(plan.others),
        causes=dict(sorted(causes.items())),
        sessions=tuple(_session_state(members) for members in by_session.values()),
    )


def _session_state(tasks: Sequence[EpisodeTask]) -> SessionState:
    turns: Counter[BuildStatus | None] = Counter()
    for task in tasks:
        turns[task.status] += len(task.turns)
    session = tasks[0].session
    return SessionState(
        session_id=session.session_id,
        source_id=session.source_id,
        turns=turns.total(),
        done=turns.total() - turns["failed"] - turns[None],
        failed=turns["failed"],
        pending=turns[None],
    )


def episode_estimate(
    state: EpisodeState, wanted: Sequence[EpisodeTask], *, bank: str, model_id: str
) -> EpisodeEstimate:
    """What making the wanted batches would take; without a model nothing is asked."""
    costs = [cost_of(task) for task in wanted] if model_id else []
    return EpisodeEstimate(
        bank=bank,
        model=model_id,
        state=state,
        batches=len(wanted),
        turns=sum(len(task.turns) for task in wanted),
        calls=sum(cost.calls for cost in costs),
        tokens_in=sum(cost.tokens_in for cost in costs),
        tokens_out=sum(cost.tokens_out for cost in costs),
    )


def cost_of(task: EpisodeTask) -> Cost:
    """What making one batch with a model may take."""
    words = sum(estimate_tokens(turn.body) for turn in task.turns)
    calls = 1 + CALLS_PER_EPISODE * -(-len(task.turns) // TURNS_PER_EPISODE)
    return Cost(
        calls=calls,
        # Borders, narrative and comparison show the turns; what is expected shows what is known.
        tokens_in=3 * words + calls * PROMPT_TOKENS,
        tokens_out=round(OUT_PER_TOKEN * words) + calls * OUT_PER_CALL,
    )
