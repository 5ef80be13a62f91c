"""Rows of a small benchmark run, written by hand: one conversation of eight turns, five questions.

Turns are t0 to t7, said to be D1:0 to D1:7; t6 and t7 are the same words at the same time (an alias
group). Gold turns: q1 t0 t1, q2 t2, q3 t3 t4, q4 t6 (t7), q5 none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

from evimem.datasets import Dataset, Gold
from evimem.eval.harness.rows import AskRow, BuildRow, CallRow, RunData, SharedRow, SystemRun
from evimem.eval.harness.system import Step, SystemInfo
from evimem.eval.harness.tables import Cell, Table
from evimem.model.chat import Outcome, Phase, Role
from evimem.model.evidence import Question
from evimem.model.turn import History, Session, Turn
from evimem.trace import Trace

JUDGE = "judge-model mem0#1"
EVIDENCE = {
    "q1": ("D1:0", "D1:1"),
    "q2": ("D1:2",),
    "q3": ("D1:3", "D1:4"),
    "q4": ("D1:6", "D1:7"),
    "q5": (),
}
TYPES = {"q1": "multi-hop", "q2": "single-hop", "q3": "multi-hop", "q4": "single-hop",
         "q5": "open-domain"}  # fmt: skip
ANSWERS = {"q1": "a boat and a tent", "q2": "Amber", "q3": "in May", "q4": "Rita", "q5": "yes"}


def history(history_id: str = "h", prefix: str = "") -> History:
    """Eight turns in one session."""
    words = [f"turn number {n}" for n in range(6)] + ["the same", "the same"]
    at = datetime(2024, 5, 1, 10, tzinfo=UTC)
    return History(
        history_id=history_id,
        sessions=(Session(session_id=f"{prefix}s", source_id="1", started_at=at),),
        turns=tuple(
            Turn(
                turn_id=f"{prefix}t{n}",
                session_id=f"{prefix}s",
                index=n,
                speaker="Ana",
                role="person",
                text=said,
                said_at=at,
                source_id=f"D1:{n}",
            )
            for n, said in enumerate(words)
        ),
    )


def dataset(*, unanswerable: Sequence[str] = (), only: Sequence[str] = tuple(EVIDENCE)) -> Dataset:
    """The five questions, or some of them."""
    return Dataset(
        name="locomo",
        histories={"h": history()},
        questions=tuple(Question(text=f"{name}?", question_id=name) for name in only),
        gold={
            name: Gold(
                question_id=name,
                history_id="h",
                category=TYPES[name],
                answer=ANSWERS[name],
                answerable=name not in unanswerable,
                evidence=EVIDENCE[name],
            )
            for name in only
        },
        split="mini",
    )


def call(
    role: Role,
    tokens_in: int = 0,
    tokens_out: int = 0,
    *,
    phase: Phase = "online",
    model: str = "m",
    outcome: Outcome = "ok",
    request: str = "",
    seconds: float = 0.0,
    cached: int = 0,
) -> CallRow:
    """One model call."""
    return CallRow(
        role=role,
        phase=phase,
        model=model,
        prompt="p@1#0",
        request=request,
        outcome=outcome,
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        tokens_cached=cached,
        seconds=seconds,
    )


def step(turns: str = "", accepted: str = "", *queries: str) -> Step:
    """A round: turn ids as words."""
    return Step(queries=queries, turn_ids=tuple(turns.split()), accepted=tuple(accepted.split()))


def ask(name: str, *steps: Step, system: str = "s", **more: object) -> AskRow:
    """A question asked."""
    return AskRow(system=system, question_id=name, steps=steps, **more)  # type: ignore[arg-type]


def system(
    *asks: AskRow,
    name: str = "s",
    params: Mapping[str, str] | None = None,
    labels: Mapping[str, bool | None] | None = None,
    shared: Sequence[SharedRow] = (),
    shared_labels: Mapping[str, bool | None] | None = None,
    builds: Sequence[BuildRow] | None = None,
    traces_turns: bool = True,
    trace: Callable[[str], Trace | None] = lambda question_id: None,
) -> SystemRun:
    """One system's part of a run."""
    made = (BuildRow(system=name, history_id="h"),) if builds is None else builds
    return SystemRun(
        info=SystemInfo(name=name, params=dict(params or {}), traces_turns=traces_turns),
        builds={one.history_id: one for one in made},
        asks={one.question_id: one for one in asks},
        shared={one.question_id: one for one in shared},
        own_labels={} if labels is None else {JUDGE: dict(labels)},
        shared_labels={} if shared_labels is None else {JUDGE: dict(shared_labels)},
        trace=trace,
    )


def run_of(
    *systems: SystemRun, data: Dataset | None = None, manifest: Mapping[str, str] | None = None
) -> RunData:
    """A run of systems."""
    return RunData(
        dataset=data or dataset(), systems=systems, manifest=dict(manifest or {"embedder": "hash"})
    )


def cells(table: Table, row: str) -> dict[str, Cell]:
    """The cells of a row by the heads of their columns."""
    [found] = [one for one in table.rows if one[0] == row]
    return dict(zip(table.columns, found, strict=True))
