"""Managers on generated conversations: every figure worked out by hand from scripted policies.

`Notes` writes each turn down as it was said and searches with the question's words. The answer is
whatever the records say, and the judge looks for the gold's words in it, unless a test says so.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from evimem.datasets import Dataset, Gold, load, load_longmemeval, load_split
from evimem.embed.hashing import HashingEmbedder
from evimem.errors import UsageError
from evimem.eval.answerers import (
    Answerer,
    Judge,
    Written,
    holds_gold,
    model_answerer,
    model_judge,
    said_records,
)
from evimem.eval.judges.reference import Reference
from evimem.eval.judging import rejudge
from evimem.eval.manager_data import constructions, first_events, gold_chunks, manager_part
from evimem.eval.manager_eval import Manager, Running, Setup, run
from evimem.eval.manager_report import (
    ManagerReport,
    cross_table,
    curve,
    curve_table,
    manager_table,
)
from evimem.eval.manager_rows import Kept
from evimem.eval.manager_stats import count_event, duplicates
from evimem.eval.report import write_report
from evimem.llm.scripted import ScriptedModels
from evimem.manager.agent import ModelPolicy, Policy, run_event
from evimem.manager.environment import Environment, Limits
from evimem.manager.events import Construction, Event, Retrieval
from evimem.manager.oplog import replay
from evimem.model.chat import ChatRequest, ToolCall
from evimem.model.evidence import Question
from evimem.model.records import Record
from evimem.model.tools import Said, ToolStep
from evimem.model.turn import History, Session, Turn

FACTS = [
    [("Ana", "I adopted a kitten called Pepper."), ("Bo", "How lovely."), ("Ana", "She naps.")],
    [("Bo", "My kayak course is in Turku."), ("Ana", "Good luck."), ("Bo", "I got a green kayak.")],
]
QUESTIONS = [
    ("What is the kitten called?", "single-hop", "Pepper", ("D1:1",)),
    ("Where is the kayak course?", "single-hop", "in Turku", ("D2:1",)),
    (
        "Which colour has Bo's kayak, and where is the course?",
        "multi-hop",
        "green",
        ("D2:1", "D2:3"),
    ),
    ("When does Ana nap?", "temporal", "zanzibar", ()),
]


def history(name: str) -> History:
    """Two sessions of three turns: four construction events."""
    start = datetime(2023, 5, 1, 18, tzinfo=UTC)
    sessions, turns = [], []
    for number, said in enumerate(FACTS):
        session = Session(
            session_id=f"{name}-s{number}",
            source_id=f"session_{number + 1}",
            started_at=start + timedelta(days=7 * number),
        )
        sessions.append(session)
        turns += [
            Turn(
                turn_id=f"{name}-t{number}-{index}",
                session_id=session.session_id,
                index=index,
                speaker=speaker,
                role="person",
                text=text,
                said_at=session.started_at,
                source_id=f"D{number + 1}:{index + 1}",
            )
            for index, (speaker, text) in enumerate(said)
        ]
    return History(history_id=name, sessions=tuple(sessions), turns=tuple(turns))


@pytest.fixture
def small() -> Dataset:
    """Two conversations with the same words, four questions each."""
    questions: list[Question] = []
    gold: dict[str, Gold] = {}
    for name in ("x", "y"):
        for number, (text, category, answer, evidence) in enumerate(QUESTIONS):
            key = f"{name}#{number}"
            questions.append(Question(text=text, question_id=key))
            gold[key] = Gold(
                question_id=key,
                history_id=name,
                category=category,
                answer=answer,
                evidence=evidence,
            )
    return Dataset(
        name="locomo",
        histories={name: history(name) for name in ("x", "y")},
        questions=tuple(questions),
        gold=gold,
        split="small",
    )


def call(name: str, **arguments: Any) -> ToolCall:
    return ToolCall(name=name, arguments=arguments)


def say(*calls: ToolCall) -> Said:
    return Said(text="", calls=calls)


FINISH = call("finish_event")


@dataclass
class Notes:
    """Writes what `keep` lets through, word for word; asks each of `queries` in turn."""

    keep: Callable[[Turn], bool] = lambda turn: True
    queries: Callable[[str], Sequence[str]] = lambda question: (question,)
    seen: list[tuple[Event, str]] = field(default_factory=list)

    def respond(self, event: Event, observation: str, steps: Sequence[ToolStep]) -> Said:
        if not steps:
            self.seen.append((event, observation))
        if isinstance(event, Retrieval):
            queries = self.queries(event.question)
            refused = any(not one.ok for step in steps for one in step.observed)
            if len(steps) < len(queries) and not refused:
                return say(call("memory_search", query=queries[len(steps)]))
            return say(FINISH)
        told = [turn for turn in event.turns if self.keep(turn)]
        if not told or len(steps) == 2:
            return say(FINISH)
        if not steps:
            return say(call("memory_search", query=told[0].text))
        return say(
            *(call("create_memory", content=f"{turn.speaker}: {turn.text}") for turn in told)
        )


def manager(name: str, policy: Policy) -> Manager:
    return Manager(name=name, start=lambda: Running(policy=policy))


def setup(keep: Path | None = None, **changed: Any) -> Setup:
    """Answers that say the records, judged by rule; searches by words, three records at a time."""
    given: dict[str, Any] = {
        "replay": replay,
        "limits": Limits(retrieval_k=3, construction_k=3),
        "answerer": Answerer(name="says", write=said_records),
        "judge": Judge(name="holds", read=holds_gold),
        "keep": keep,
    }
    return Setup(**{**given, **changed})


def only_ana(turn: Turn) -> bool:
    return turn.speaker == "Ana"


@pytest.mark.data
def test_uni_58_the_split_is_two_to_one_to_seven_with_the_published_counts(data_dir: Path) -> None:
    whole = load("locomo", data_dir=data_dir)
    parts = {name: manager_part(whole, name) for name in ("train", "val", "test")}
    tuned = manager_part(whole, "tune")
    assert len(tuned.questions) == 152 + 81
    assert all(gold.answerable for gold in tuned.gold.values())
    assert set(parts["train"].histories) == {"conv-43", "conv-47"}
    assert set(parts["val"].histories) == {"conv-44"}
    assert set(parts["test"].histories) == {f"conv-{n}" for n in (26, 30, 41, 42, 48, 49, 50)}
    counts = Counter(gold.category for gold in parts["test"].gold.values())
    assert counts == {"multi-hop": 201, "open-domain": 62, "single-hop": 589, "temporal": 237}
    assert len(parts["test"].questions) == 1089
    for part in parts.values():
        assert all(gold.category_id != 5 for gold in part.gold.values())
    ids = [{one.question_id for one in part.questions} for part in parts.values()]
    assert not ids[0] & ids[1] | ids[1] & ids[2] | ids[0] & ids[2]


def test_uni_58_parts_without_category_5_and_unknown_parts(small: Dataset) -> None:
    with pytest.raises(UsageError, match="no part 'dev' for managers; there are train, val"):
        manager_part(small, "dev")
    with pytest.raises(UsageError, match="none of the questions"):
        manager_part(small, "val")


def test_uni_59_j_of_a_run_names_set_and_denominator(small: Dataset) -> None:
    notes = manager("notes", Notes())
    report = run(small, banks=[notes], policies=[notes], setup=setup())
    (cell,) = report.cells
    assert cell.j is not None
    found = {group.name: (group.correct, group.n) for group in cell.j.groups}
    assert found == {
        "overall": (6, 8),
        "single-hop": (4, 4),
        "multi-hop": (2, 2),
        "temporal": (0, 2),
    }
    shown = manager_table(report)
    assert "75.00 (6/8)" in shown
    assert cell.set_id in shown


def lme_record(number: int, sessions: int, category: str) -> dict[str, Any]:
    """A question of its own haystack; only the first session holds the answer."""
    return {
        "question_id": f"q{number}",
        "question_type": category,
        "question": "Which plant did I buy?",
        "answer": f"plant{number}",
        "question_date": "2023/06/01 (Thu) 10:00",
        "haystack_dates": [f"2023/05/{day + 1:02d} (Mon) 09:00" for day in range(sessions)],
        "haystack_session_ids": [f"s{day}" for day in range(sessions)],
        "answer_session_ids": ["s0"],
        "haystack_sessions": [
            [
                {
                    "role": "user",
                    "content": f"I bought a plant{number}." if day == 0 else f"Tell me of {day}.",
                    "has_answer": day == 0,
                },
                {"role": "assistant", "content": "Nice."},
            ]
            for day in range(sessions)
        ],
    }


@pytest.mark.parametrize(("name", "sessions"), [("oracle", 1), ("s", 6)])
def test_uni_60_both_longmemeval_files_run_with_a_bank_per_question(
    name: str, sessions: int, tmp_path: Path
) -> None:
    kinds = [
        "single-session-user",
        "single-session-assistant",
        "single-session-preference",
        "multi-session",
        "temporal-reasoning",
        "knowledge-update",
    ]
    path = tmp_path / f"longmemeval_{name}.json"
    records = [lme_record(number, sessions, kind) for number, kind in enumerate(kinds)]
    path.write_text(json.dumps(records), encoding="utf-8")
    dataset = load_longmemeval(path)
    policy = Notes(queries=lambda question: ("bought a plant",))
    notes = manager("notes", policy)
    report = run(dataset, banks=[notes], policies=[notes], setup=setup(tmp_path))
    (bank,) = report.banks
    assert (bank.conversations, bank.events) == (6, 6 * sessions)
    assert bank.records == 6 * sessions * 2
    (cell,) = report.cells
    assert cell.j is not None
    assert {group.name for group in cell.j.groups} == {"overall", *kinds}
    assert cell.j.overall.correct == 6
    kept = Kept.at(tmp_path)
    for row in kept.banks:  # nothing of another history
        plants = {op.after for op in row.ops if "bought" in op.after}
        assert plants == {f"user: I bought a plant{row.history_id[1:]}."}
    asked = [event for event, _ in policy.seen if isinstance(event, Retrieval)]
    assert {event.reference for event in asked} == {datetime(2023, 6, 1, 10, tzinfo=UTC)}


def test_uni_60_longmemeval_is_taken_whole_and_abstention_with_it(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    ids = load_split("longmemeval", "500").question_ids
    named = (ids[0], next(one for one in ids if one.endswith("_abs")), "other")
    records = [{**lme_record(0, 1, "multi-session"), "question_id": one} for one in named]
    path.write_text(json.dumps(records), encoding="utf-8")
    part = manager_part(load_longmemeval(path), "test")
    assert [one.question_id for one in part.questions] == list(named[:2])


def test_uni_61_four_cells_from_two_banks_and_two_policies_each_bank_built_once(
    small: Dataset,
) -> None:
    weak = Notes(keep=only_ana, queries=lambda question: ("nothing of it",))
    strong = Notes()
    managers = [manager("P0", weak), manager("P1", strong)]
    report = run(small, banks=managers, policies=managers, setup=setup())
    correct = {
        (one.cell.bank, one.cell.policy): one.j.overall.correct
        for one in report.cells
        if one.j is not None
    }
    # Ana's words hold one answer per conversation; a search for other words finds none of it.
    assert correct == {("P0", "P0"): 0, ("P0", "P1"): 2, ("P1", "P0"): 0, ("P1", "P1"): 6}
    for policy in (weak, strong):
        built = [event for event, _ in policy.seen if isinstance(event, Construction)]
        assert len(built) == 2 * 4  # each conversation read once, though two policies search it
        asked = [event for event, _ in policy.seen if isinstance(event, Retrieval)]
        assert len(asked) == 2 * len(small.questions)
    table = cross_table(report, searches=8).splitlines()
    assert table[1].split() == ["bank", "P0", "P1"]
    assert table[2].split() == ["P0", "0.00", "(0/8)", "25.00", "(2/8)"]
    assert table[3].split() == ["P1", "0.00", "(0/8)", "75.00", "(6/8)"]
    assert [one.bank for one in report.banks] == ["P0", "P1"]


def test_uni_61_bank_and_policy_are_chosen_independently(small: Dataset) -> None:
    builder, searcher = Notes(), Notes()
    report = run(
        small,
        banks=[manager("builds", builder)],
        policies=[manager("searches", searcher)],
        setup=setup(),
    )
    assert all(isinstance(event, Construction) for event, _ in builder.seen)
    assert all(isinstance(event, Retrieval) for event, _ in searcher.seen)
    assert [(one.cell.bank, one.cell.policy) for one in report.cells] == [("builds", "searches")]
    for names in (["a", "a"], []):
        managers = [manager(name, Notes()) for name in names]
        with pytest.raises(UsageError, match="each bank needs a name"):
            run(small, banks=managers, policies=[manager("p", searcher)], setup=setup())


def test_uni_65_more_searches_cost_tokens_and_may_raise_j(small: Dataset) -> None:
    policy = manager(
        "notes", Notes(queries=lambda question: ("kitten", "naps", question, "green", "b"))
    )
    given = setup(limits=Limits(retrieval_k=1, construction_k=3))
    report = run(small, banks=[policy], policies=[policy], setup=given, searches=(8, 1, 3))
    points = curve(report, bank="notes", policy="notes")
    assert [point.searches for point in points] == [1, 3, 8]
    # One record a search: the kitten's, then also the course's; the fourth query finds the colour.
    assert [point.j for point in points] == [25.0, 50.0, 75.0]
    used = {one.cell.searches: one.searches for one in report.cells}
    assert used == {1: 1.0, 3: 3.0, 8: 5.0}
    shown = [point.tokens for point in points]
    assert shown[0] < shown[1] < shown[2]
    assert points[0].ratio is None
    assert points[1].ratio == pytest.approx(shown[1] / shown[0])
    table = curve_table(report, bank="notes", policy="notes")
    assert f"x{points[2].ratio:.2f}" in table
    assert "estimated" in table


def scripted(words: str = "") -> Callable[[ChatRequest], str]:
    """A model that manages by text: it searches, writes one memory, finishes; and it answers."""

    def say_it(request: ChatRequest) -> str:
        if request.role == "answer":
            return "ANSWER: Pepper"
        if request.role == "judge":
            return '{"label": "CORRECT"}'
        said = [one for one in request.messages if one.role == "assistant"]
        writes = "new_turns" in request.messages[1].text
        if not said:
            tool = {"name": "memory_search", "arguments": {"query": "kitten"}}
        elif len(said) == 1 and writes:
            tool = {"name": "create_memory", "arguments": {"content": "Ana has a kitten, Pepper."}}
        else:
            tool = {"name": "finish_event", "arguments": {}}
        return f"{words}<tool_call>{json.dumps(tool)}</tool_call>"

    return say_it


def model_manager(models: ScriptedModels, name: str) -> Manager:
    def start() -> Running:
        session = models.session()
        return Running(
            policy=ModelPolicy(model=session.model("manage")), calls=lambda: session.calls
        )

    return Manager(name=name, start=start)


def asked_of(models: ScriptedModels) -> dict[str, list[str]]:
    made: dict[str, list[str]] = {}
    for request in models.requests:
        made.setdefault(request.role, []).append(request.digest)
    return made


def test_uni_63_another_manager_changes_no_other_request(small: Dataset) -> None:
    """The same decisions in other words by another endpoint: answers and judges are asked the very
    same, byte for byte."""
    found = []
    reports = []
    for name, words in (("small", ""), ("large", "I will look first. ")):
        models = ScriptedModels(
            {
                "manage": scripted(words),
                "answer": scripted(),
                "judge": scripted(),
            }
        )
        one = model_manager(models, name)
        given = setup(answerer=model_answerer(models), judge=model_judge(models))
        reports.append(run(small, banks=[one], policies=[one], setup=given))
        found.append(asked_of(models))
    assert found[0]["manage"] != found[1]["manage"]
    assert found[0]["answer"] == found[1]["answer"]
    assert found[0]["judge"] == found[1]["judge"]
    assert len(found[0]["answer"]) > 0
    assert [one.cells[0].j for one in reports[:1]] != [None]
    tokens = [one.cells[0].tokens for one in reports]
    assert tokens[0] < tokens[1]  # the words of the second manager are paid for


def test_uni_63_the_endpoint_is_all_that_is_swapped(small: Dataset) -> None:
    requests = []
    for name in ("small", "large"):
        models = ScriptedModels({"manage": scripted(), "answer": scripted(), "judge": scripted()})
        one = model_manager(models, name)
        given = setup(answerer=model_answerer(models), judge=model_judge(models))
        run(small, banks=[one], policies=[one], setup=given)
        requests.append(asked_of(models))
    assert requests[0] == requests[1]


def test_uni_66_stored_answers_of_a_run_are_judged_by_another_prompt(
    small: Dataset, tmp_path: Path
) -> None:
    notes = manager("notes", Notes())
    report = run(small, banks=[notes], policies=[notes], setup=setup(tmp_path))
    (cell,) = report.cells
    assert cell.j is not None

    def strict(question: str, reference: Reference, answer: str) -> Any:
        return "CORRECT" if answer == reference.answer else "WRONG"

    kept = Kept.at(tmp_path)
    answers = kept.answers_of(cell)
    assert set(answers) == {one.question_id for one in small.questions}
    before = len(kept.answers)
    reports = rejudge(
        small,
        answers,
        [Judge(name="holds", read=holds_gold), Judge(name="strict", read=strict)],
        rows=kept.judged,
        name=cell.cell.name,
        answerer="says",
    )
    assert reports[0].overall.correct == cell.j.overall.correct == 6
    assert reports[1].overall.correct == 0
    assert len(kept.answers) == before


def test_a_second_run_makes_no_call_and_gives_the_same_report(
    small: Dataset, tmp_path: Path
) -> None:
    models = ScriptedModels({"manage": scripted(), "answer": scripted(), "judge": scripted()})
    one = model_manager(models, "m")
    given = setup(tmp_path, answerer=model_answerer(models), judge=model_judge(models))
    report = run(small, banks=[one], policies=[one], setup=given, searches=(1, 8))
    made = len(models.requests)
    assert made > 0
    assert run(small, banks=[one], policies=[one], setup=given, searches=(1, 8)) == report
    assert len(models.requests) == made
    other = model_manager(models, "other")
    run(small, banks=[other], policies=[one], setup=given, searches=(1, 8))
    roles = Counter(request.role for request in models.requests[made:])
    assert roles["manage"] > 0
    assert roles["answer"] == 0  # the same records were answered before


def test_a_kept_bank_that_does_not_come_out_of_its_log_is_refused(
    small: Dataset, tmp_path: Path
) -> None:
    notes = manager("notes", Notes())
    run(small, banks=[notes], policies=[notes], setup=setup(tmp_path))
    path = tmp_path / "banks.jsonl"
    path.write_text(path.read_text(encoding="utf-8").replace("Pepper", "Salt"), encoding="utf-8")
    with pytest.raises(UsageError, match="comes out of its log with another hash"):
        run(small, banks=[notes], policies=[notes], setup=setup(tmp_path))


@dataclass
class Clumsy:
    """Breaks a rule of each kind, on known events."""

    def respond(self, event: Event, observation: str, steps: Sequence[ToolStep]) -> Said:
        if isinstance(event, Retrieval):
            return say(call("memory_search", query="kitten")) if not steps else say(FINISH)
        if event.index == 1:  # writes without a search, then bundles, then goes on rightly
            plan = [
                say(call("create_memory", content="Ana naps.")),
                say(call("memory_search", query="Ana")),
                say(call("create_memory", content="Ana naps."), FINISH),
                say(call("create_memory", content="Naps: Ana?")),
                say(FINISH),
            ]
            return plan[len(steps)]
        if event.index == 2:  # never closes
            return Said(text="hm")
        if event.index == 3:
            plan = [
                say(call("memory_search", query="Ana")),
                say(call("update_memory", memory_id="m1", content="Ana sleeps.")),
                say(call("delete_memory", memory_id="m2")),
                say(call("delete_memory", memory_id="m77")),
                say(FINISH),
            ]
            return plan[len(steps)]
        return say(call("remember", text="Bo")) if not steps else say(FINISH)


def test_uni_70_operations_rejections_bundles_and_forced_closures_are_counted(
    small: Dataset,
) -> None:
    one = manager("clumsy", Clumsy())
    part = small.only([q.question_id for q in small.questions[:4]], split="x")
    report = run(part, banks=[one], policies=[one], setup=setup())
    (bank,) = report.banks
    assert (bank.conversations, bank.events, bank.changed) == (1, 4, 2)
    assert bank.ops == {"create": 2, "update": 1, "delete": 1}
    assert bank.rejected_writes == 2  # before a search, and of an unknown alias
    assert bank.bundled == 1
    assert bank.forced == 1
    assert bank.refused == {
        "write_gate": 1,
        "finish_bundled": 1,
        "no_call": 24,
        "unknown_alias": 1,
        "unknown_tool": 1,
    }
    assert bank.records == 1
    assert bank.responses == 5 + 24 + 5 + 2
    assert bank.well_formed == 5 + 0 + 5 + 1
    assert bank.searches == 2
    shown = manager_table(report)
    assert "2 create (0.50/event), 1 update (0.25/event), 1 delete (0.25/event)" in shown
    assert "rejected writes 2, bundled finishes 1, forced closures 1" in shown


def record(number: int, content: str) -> Record:
    return Record(record_id=f"r{number}", content=content, chunks=(1,))


def test_uni_70_near_equal_records_are_found_by_folded_words_and_by_cosine() -> None:
    records = [
        record(1, "Ana has a grey kitten."),
        record(2, "A grey kitten Ana has"),
        record(3, "Ana has the grey kittens"),
        record(4, "Ana has not a grey kitten."),
        record(5, "Bo paddles."),
    ]
    found = duplicates(records)
    assert (found.by_words, found.by_cosine) == (2, None)
    embedder = HashingEmbedder(dim=4096)
    vectors = embedder.embed([one.content for one in records])
    near = sum(
        any(float(vectors[i] @ vectors[j]) >= 0.95 for j in range(i)) for i in range(len(records))
    )
    assert duplicates(records, embedder=embedder).by_cosine == near == 1
    assert duplicates([], embedder=embedder).by_cosine == 0


def test_uni_70_the_ceiling_answers_from_the_index_of_the_evidence_and_masks_without_a_chunk(
    small: Dataset,
) -> None:
    given: list[tuple[str, tuple[str, ...]]] = []

    def write(question: str, reference: datetime | None, records: Sequence[Record]) -> Written:
        given.append((question, tuple(one.content for one in records)))
        return said_records(question, reference, records)

    blind = manager("blind", Notes(queries=lambda question: ("nothing of it",)))
    report = run(
        small,
        banks=[manager("notes", Notes())],
        policies=[blind],
        setup=setup(answerer=Answerer(name="says", write=write)),
    )
    (cell,) = report.cells
    assert cell.ceiling is not None
    assert (cell.ceiling.n, cell.ceiling.masked) == (6, 2)
    assert cell.ceiling.correct == 6  # everything was stored ...
    assert cell.ceiling.found_correct == 0  # ... and nothing was found
    assert cell.ceiling.efficiency == 0.0
    # The chunk of the gold turn with everything written in it, and nothing else.
    assert (
        QUESTIONS[0][0],
        ("Ana: I adopted a kitten called Pepper.", "Bo: How lovely."),
    ) in given
    assert (
        QUESTIONS[2][0],
        ("Bo: My kayak course is in Turku.", "Ana: Good luck.", "Bo: I got a green kayak."),
    ) in given
    assert not any(records for question, records in given if question == QUESTIONS[3][0])
    assert "storage ceiling 100.00% (6/6)" in manager_table(report)
    assert "retrieval efficiency 0.0% (2 masked)" in manager_table(report)


def test_uni_70_efficiency_is_j_over_the_ceiling_on_the_same_questions(small: Dataset) -> None:
    half = manager("half", Notes(keep=only_ana))
    report = run(small, banks=[half], policies=[half], setup=setup())
    (cell,) = report.cells
    assert cell.j is not None and cell.ceiling is not None
    assert cell.ceiling.correct == 2  # only the kitten's name was written down
    assert cell.ceiling.found_correct == 2
    assert cell.ceiling.efficiency == 1.0
    none = manager("none", Notes(keep=lambda turn: False))
    (empty,) = run(small, banks=[none], policies=[none], setup=setup()).cells
    assert empty.ceiling is not None
    assert empty.ceiling.efficiency is None  # nothing was right, so nothing is said


def test_uni_70_stored_and_retrieved_gold_chunks_need_no_model(small: Dataset) -> None:
    half = manager("half", Notes(keep=only_ana))
    blind = manager("blind", Notes(queries=lambda question: ("kitten",)))
    report = run(
        small, banks=[half], policies=[half, blind], setup=setup(answerer=None, judge=None)
    )
    figures = {one.cell.policy: one.evidence for one in report.cells}
    seen = figures["half"]
    assert seen is not None
    assert (seen.n, seen.masked) == (6, 2)
    # Chunks: 1 = D1:1 and D1:2, 2 = D1:3, 3 = D2:1 and D2:2, 4 = D2:3. Ana speaks in 1, 2 and 3.
    assert seen.stored.estimate == pytest.approx((1 + 1 + 0.5) / 3)
    assert seen.all_stored.estimate == pytest.approx(2 / 3)
    other = figures["blind"]
    assert other is not None
    assert other.stored == seen.stored
    assert other.found.estimate == pytest.approx(1 / 3)  # the kitten's record alone holds the word
    assert other.found_first == other.found
    assert all(one.j is None and one.ceiling is None for one in report.cells)
    shown = manager_table(report)
    (line,) = [one for one in shown.splitlines() if one.split()[:3] == ["overall", "6", "2"]][:1]
    assert line.split()[3:8] == ["83.3", "33.3", "33.3", "66.7", "33.3"]
    assert [one.name for one in report.cells[0].categories] == ["single-hop", "multi-hop"]
    multi = report.cells[0].categories[1]
    assert (multi.n, multi.stored.estimate, multi.all_stored.estimate) == (2, 0.5, 0.0)
    course = manager("course", Notes(queries=lambda question: ("Good luck",)))
    (cell,) = run(
        small, banks=[half], policies=[course], setup=setup(answerer=None, judge=None)
    ).cells
    multi = cell.categories[1]  # one of two gold chunks is stored, and found: half of the gold
    assert [one.estimate for one in (multi.found_first, multi.found, multi.all_found)] == [
        0.5,
        0.5,
        0,
    ]
    assert "recall@20 of gold chunks" in cross_table(report, searches=8)


def test_uni_70_recall_at_20_looks_at_the_first_twenty_records_found(small: Dataset) -> None:
    """One conversation of thirty events, found in the order written; the gold is the 25th."""

    class Counting:
        def respond(self, event: Event, observation: str, steps: Sequence[ToolStep]) -> Said:
            if isinstance(event, Retrieval):
                plan = [call("memory_search", query=f"word{n}") for n in range(30)]
                return say(plan[len(steps)]) if len(steps) < 25 else say(FINISH)
            text = f"word{event.index - 1}"
            plan = [call("memory_search", query=text), call("create_memory", content=text), FINISH]
            return say(plan[len(steps)])

    turns = tuple(
        Turn(
            turn_id=f"t{n}",
            session_id=f"s{n}",
            index=0,
            speaker="Ana",
            role="person",
            text=f"word{n}",
            source_id=f"D{n}:1",
        )
        for n in range(30)
    )
    sessions = tuple(Session(session_id=f"s{n}", source_id=f"{n}") for n in range(30))
    long = Dataset(
        name="locomo",
        histories={"z": History(history_id="z", sessions=sessions, turns=turns)},
        questions=(Question(text="?", question_id="z#0"),),
        gold={
            "z#0": Gold(
                question_id="z#0", history_id="z", category="multi-hop", evidence=("D3:1", "D24:1")
            )
        },
    )
    one = manager("counting", Counting())
    limits = Limits(searches=30, responses=40, retrieval_k=1)
    given = setup(answerer=None, judge=None, limits=limits)
    report = run(long, banks=[one], policies=[one], setup=given, searches=(30,))
    evidence = report.cells[0].evidence
    assert evidence is not None
    found = (evidence.stored, evidence.found_first, evidence.found)
    assert [one.estimate for one in found] == [1.0, 0.5, 1.0]


def test_uni_70_gold_reaches_neither_policy_nor_answer_prompt(small: Dataset) -> None:
    """Gold with marks that occur nowhere else is looked for in everything that was shown."""
    marked = small.with_gold(
        {
            key: Gold(
                question_id=key,
                history_id=gold.history_id,
                category="CATEGORYMARK",
                answer="GOLDMARK",
                trap="TRAPMARK",
                evidence=gold.evidence,
                unmapped=("D9:99MARK",),
                evidence_sessions=("SESSIONMARK",),
                defects=("DEFECTMARK",),
            )
            for key, gold in small.gold.items()
        },
        note="marked",
    )
    policy = Notes()
    models = ScriptedModels({"answer": scripted(), "judge": scripted()})
    managed = ScriptedModels({"manage": scripted()})
    report = run(
        marked,
        banks=[manager("notes", policy), model_manager(managed, "model")],
        policies=[manager("notes", policy), model_manager(managed, "model")],
        setup=setup(answerer=model_answerer(models), judge=model_judge(models)),
    )
    shown = [repr(event) + observation for event, observation in policy.seen]
    asked = [repr(one.messages) for one in managed.requests]
    answers = [repr(one.messages) for one in models.requests if one.role == "answer"]
    judges = [repr(one.messages) for one in models.requests if one.role == "judge"]
    assert shown and asked and answers and judges
    for text in [*shown, *asked, *answers]:
        assert "MARK" not in text
    for text in [*asked, *answers]:  # a policy's event carries turns; no model sees their ids
        assert "D1:1" not in text and "x-t0" not in text
    assert all("GOLDMARK" in text for text in judges)
    assert not any("CATEGORYMARK" in text for text in judges)
    assert len(report.cells) == 4


def test_an_answer_model_without_a_judge_is_refused(small: Dataset) -> None:
    notes = manager("notes", Notes())
    with pytest.raises(UsageError, match="give both or none"):
        run(small, banks=[notes], policies=[notes], setup=setup(judge=None))


def test_questions_do_not_touch_each_other(small: Dataset) -> None:
    """A question found alone is found the same among the others."""
    notes = manager("notes", Notes())
    whole = run(small, banks=[notes], policies=[notes], setup=setup()).cells[0]
    for number in range(4):
        alone = small.only([f"x#{number}"], split="one")
        (cell,) = run(alone, banks=[notes], policies=[notes], setup=setup()).cells
        assert cell.questions[0] in whole.questions


def test_now_in_a_question_is_the_newest_turn_read_where_the_benchmark_names_no_date(
    small: Dataset,
) -> None:
    notes = Notes()
    one = manager("notes", notes)
    for events, day in ((None, 8), (2, 1)):
        notes.seen.clear()
        run(first_events(small, 2), banks=[one], policies=[one], setup=setup(events=events))
        asked = [event for event, _ in notes.seen if isinstance(event, Retrieval)]
        assert {event.reference for event in asked} == {datetime(2023, 5, day, 18, tzinfo=UTC)}


def test_progress_counts_events_and_questions_of_every_bank(small: Dataset) -> None:
    told: list[tuple[int, int, str]] = []
    managers = [manager("a", Notes()), manager("b", Notes())]
    run(
        small,
        banks=managers,
        policies=managers,
        setup=setup(),
        on_progress=lambda done, total, label: told.append((done, total, label)),
    )
    assert [done for done, _, _ in told] == list(range(1, 33))
    assert {(total, label) for _, total, label in told} == {(2 * (8 + 8), "locomo/small")}


def test_rows_of_another_making_are_refused(small: Dataset, tmp_path: Path) -> None:
    notes = manager("notes", Notes())
    run(small, banks=[notes], policies=[notes], setup=setup(tmp_path, made_with={"code": "1"}))
    with pytest.raises(UsageError, match="made with code '1', this is '2'"):
        run(small, banks=[notes], policies=[notes], setup=setup(tmp_path, made_with={"code": "2"}))
    assert len(Kept.at(tmp_path).found) == len(small.questions)


def test_first_events_keep_the_questions_whose_gold_was_read(small: Dataset) -> None:
    cut = first_events(small, 2)
    assert [one.question_id for one in cut.questions] == ["x#0", "y#0"]
    notes = Notes()
    one = manager("notes", notes)
    report = run(cut, banks=[one], policies=[one], setup=setup(events=2))
    assert report.banks[0].events == 4
    assert "first 2 events" in report.cells[0].set_id
    with pytest.raises(UsageError, match="no question has all its gold"):
        first_events(small.only(["x#1"], split="one"), 2)


def test_gold_chunks_are_those_of_the_events_read(small: Dataset) -> None:
    told = small.histories["x"]
    read = constructions(told)
    assert [len(event.turns) for event in read] == [2, 1, 2, 1]
    gold = small.gold["x#2"]
    assert gold_chunks(gold, read) == (3, 4)
    assert gold_chunks(gold, read[:3]) == (3,)
    assert gold_chunks(small.gold["x#3"], read) == ()
    second = Gold(question_id="q", history_id="x", category="", evidence=("D2:2",))
    assert gold_chunks(second, read) == (3,)


def test_an_event_without_calls_of_a_model_counts_no_tokens(small: Dataset) -> None:
    env = Environment(replay(()), limits=Limits())
    event = constructions(small.histories["x"])[0]
    trace = run_event(Notes(), env, event)
    counted = count_event(trace, index=event.index)
    assert counted.tokens == 0
    assert counted.shown > 0
    assert counted.ops == {"create": 2}


def test_a_report_is_written_and_holds_no_words(small: Dataset, tmp_path: Path) -> None:
    notes = manager("notes", Notes())
    report = run(small, banks=[notes], policies=[notes], setup=setup(), manifest={"code": "c"})
    assert isinstance(report, ManagerReport)
    write_report(report, tmp_path / "manager.json")
    text = (tmp_path / "manager.json").read_text(encoding="utf-8")
    assert json.loads(text)["manifest"] == {"code": "c"}
    assert "Pepper" not in text and "Turku" not in text
