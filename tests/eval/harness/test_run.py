"""The runner over a tiny benchmark with scripted models: blind, resumable, counted, budgeted."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest
from bench_world import tiny

from evimem.datasets import Gold
from evimem.embed.hashing import HashingEmbedder
from evimem.errors import BudgetExceeded, ModelServerError, UsageError
from evimem.eval.harness.keep import Keep
from evimem.eval.harness.registry import system_names, systems_named
from evimem.eval.harness.rows import JudgeRow
from evimem.eval.harness.run import Budget, Plan, run
from evimem.eval.harness.system import Asked, Deviation, Shown, Step, System, Tools
from evimem.llm.scripted import ScriptedModels, ScriptedReply
from evimem.model.chat import ChatRequest
from evimem.model.evidence import Question
from evimem.model.turn import History


def always(request: ChatRequest) -> ScriptedReply:
    """The example of the schema, or a word."""
    example = request.example
    return example if isinstance(example, Mapping) else "Amber"


@dataclass
class Spy:
    """A system that notes everything it is given."""

    name: str = "spy"
    params: Mapping[str, str] = field(default_factory=dict)
    deviations: tuple[Deviation, ...] = ()
    traces_turns: bool = True
    histories: list[History] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    nows: list[datetime | None] = field(default_factory=list)
    fails: Callable[[str], bool] = lambda stage: False
    lock: threading.Lock = field(default_factory=threading.Lock)

    def build(self, history: History, tools: Tools) -> Spy:
        with self.lock:
            self.histories.append(history)
            self.nows.append(tools.now)
        if self.fails("build"):
            raise ModelServerError("the server is down")
        return self

    @property
    def sizes(self) -> Mapping[str, int]:
        return {"turns": 4}

    def stored(self) -> tuple[Shown, ...]:
        return (Shown(text="Amber", turn_ids=("porto-t2",)),)

    def ask(self, question: Question, tools: Tools) -> Asked:
        with self.lock:
            self.questions.append(question)
            self.nows.append(tools.now)
        if self.fails("ask"):
            raise ModelServerError("the server is down")
        return Asked(
            answer="Amber",
            shown=self.stored(),
            steps=(Step(queries=(question.text,), turn_ids=("porto-t2",)),),
        )


def plan_of(*systems: System, models: ScriptedModels | None = None, **more: object) -> Plan:
    return Plan(
        systems=systems,
        dataset=tiny(),
        models=models or ScriptedModels(always),
        embedder=HashingEmbedder(),
        **more,  # type: ignore[arg-type]
    )


def test_ben_14_no_name_or_attribute_that_a_system_sees_tells_evidence_or_abstention() -> None:
    spy = Spy()

    run(plan_of(spy, shared=False), Keep(None, {}))

    seen = repr((spy.histories, spy.questions))
    for secret in ("answer_", "_abs", "has_answer", "evidence", "longmemeval", "adversarial"):
        assert secret not in seen
    assert all("bakery is called Amber" in repr(h) for h in spy.histories if "Ines" in repr(h))
    for question in spy.questions:
        for sealed in ("answer", "category", "evidence", "gold"):
            with pytest.raises(AttributeError, match="sealed"):
                getattr(question, sealed)


def test_ben_15_now_is_the_newest_time_said_and_never_the_wall_clock() -> None:
    spy = Spy()

    run(plan_of(spy, shared=False), Keep(None, {}))

    assert set(spy.nows) == {datetime(2024, 10, 5, 18, tzinfo=UTC)}


def test_a_second_run_in_the_same_folder_builds_and_asks_nothing(tmp_path: Path) -> None:
    first, second = Spy(), Spy()
    models = ScriptedModels(always)
    one = run(plan_of(first, models=models), Keep(tmp_path, {"set": "tiny"}))
    made = len(models.requests)

    two = run(plan_of(second, models=models), Keep(tmp_path, {"set": "tiny"}))

    assert len(first.questions) == 5 and len(models.requests) == made == 5
    assert second.questions == [] and second.histories == []
    assert two.systems[0].asks == one.systems[0].asks
    assert two.systems[0].shared == one.systems[0].shared


@pytest.mark.parametrize("parallel", [1, 4])
def test_rows_do_not_depend_on_how_many_run_at_a_time(parallel: int, tmp_path: Path) -> None:
    ran = run(plan_of(Spy(), parallel=parallel), Keep(tmp_path, {}))

    [system] = ran.systems
    assert list(system.asks) == ["q1", "q2", "q3", "q4", "q5_abs"]
    assert {row.answer for row in system.asks.values()} == {"Amber"}
    assert set(system.builds) == {"porto", "oslo"}
    assert system.builds["porto"].stored == (("porto-t2",),)


def test_a_build_that_fails_fails_its_questions_and_the_next_run_tries_again(
    tmp_path: Path,
) -> None:
    down, up = Spy(fails=lambda stage: stage == "build"), Spy()

    broken = run(plan_of(down), Keep(tmp_path, {})).systems[0]
    mended = run(plan_of(up), Keep(tmp_path, {})).systems[0]

    assert "server is down" in broken.builds["porto"].failed
    assert all(row.failed for row in broken.asks.values()) and not broken.shared
    assert not any(row.failed for row in mended.asks.values())
    assert len(up.questions) == 5 and not mended.builds["porto"].failed


def test_a_question_that_fails_is_asked_again_and_the_others_are_not(tmp_path: Path) -> None:
    calls = {"n": 0}

    def third(stage: str) -> bool:
        calls["n"] += stage == "ask"
        return stage == "ask" and calls["n"] == 3

    run(plan_of(Spy(fails=third), shared=False), Keep(tmp_path, {}))
    again = Spy()
    ran = run(plan_of(again, shared=False), Keep(tmp_path, {})).systems[0]

    assert len(again.questions) == 1
    assert not any(row.failed for row in ran.asks.values())


def test_a_budget_stops_the_run_keeps_what_was_done_and_a_larger_one_goes_on(
    tmp_path: Path,
) -> None:
    [system] = systems_named(("full-text",))
    with pytest.raises(BudgetExceeded, match="2 calls of 2"):
        run(plan_of(system, shared=False, budget=Budget(calls=2)), Keep(tmp_path, {}))
    kept = len(Keep(tmp_path, {}).asks)
    models = ScriptedModels(always)

    run(plan_of(system, models=models, shared=False), Keep(tmp_path, {}))

    assert kept == 2
    assert len(models.requests) == 3


def test_ben_13_a_folder_takes_no_run_with_another_manifest(tmp_path: Path) -> None:
    Keep(tmp_path, {"set": "a", "machine": "one", "system lite": "k 1"})

    Keep(tmp_path, {"set": "a", "machine": "two", "system mera": "k 8"})
    with pytest.raises(UsageError, match="differs in set"):
        Keep(tmp_path, {"set": "b"})
    with pytest.raises(UsageError, match="system lite"):
        Keep(tmp_path, {"set": "a", "system lite": "k 2"})


def test_rows_hold_no_word_that_the_conversation_holds_and_are_whole_when_read_back(
    tmp_path: Path,
) -> None:
    ran = run(plan_of(*systems_named(("full-text",))), Keep(tmp_path, {}))

    kept = (tmp_path / "asks.jsonl").read_text(encoding="utf-8")
    assert "Porto marathon" not in kept
    told = [one.text for one in ran.systems[0].asks["q1"].shown]
    assert told[0] == "I signed up for the Porto marathon on 5 November."


class CountingJudge:
    """Right is what holds "Amber"; counts what it reads."""

    name = "by-rule"

    def __init__(self) -> None:
        self.read: list[tuple[str, str]] = []

    def key(self, question: Question, gold: Gold, answer: str) -> tuple[str, ...]:
        return (question.question_id, self.name, answer)

    def judge(self, question: Question, gold: Gold, answer: str) -> JudgeRow:
        self.read.append((question.question_id, answer))
        return JudgeRow(
            question_id=question.question_id,
            judge=self.name,
            answer=answer,
            correct=answer == gold.answer,
        )


def test_equal_answers_are_judged_once_whoever_wrote_them(tmp_path: Path) -> None:
    judge = CountingJudge()
    other = Spy(name="other")

    ran = run(plan_of(Spy(), other, judges=(judge,)), Keep(tmp_path, {}))

    assert len(judge.read) == 5, "two systems and two prompts said the same"
    for system in ran.systems:
        assert system.own_labels["by-rule"] == {
            "q1": True, "q2": False, "q3": False, "q4": False, "q5_abs": False,
        }  # fmt: skip
        assert system.shared_labels == system.own_labels


def test_ben_16_every_system_runs_offline_over_the_tiny_benchmark_with_a_scripted_model() -> None:
    models = ScriptedModels(always)
    names = system_names()

    ran = run(plan_of(*systems_named(names), models=models, parallel=2), Keep(None, {}))

    assert [system.name for system in ran.systems] == list(names)
    for system in ran.systems:
        assert [row.failed for row in system.builds.values()] == ["", ""], system.name
        assert [row.failed for row in system.asks.values()] == [""] * 5, system.name
        assert len(system.shared) == 5, system.name
        known = {turn.turn_id for h in tiny().histories.values() for turn in h.turns}
        viewed = {one for row in system.asks.values() for one in row.viewed}
        assert viewed <= known, system.name
        if system.info.traces_turns:
            assert all(set(one) <= known for b in system.builds.values() for one in b.stored)


def test_systems_are_named_clearly() -> None:
    with pytest.raises(UsageError, match="no system 'nope'; there are full-text"):
        systems_named(("nope",))
    with pytest.raises(UsageError, match="named twice"):
        systems_named(("lite", "lite"))
