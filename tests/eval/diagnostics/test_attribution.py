"""Wrong answers get one label each, by rules first; figures counted by hand."""

from __future__ import annotations

import pytest
from bench_rows import EVIDENCE, JUDGE, ask, cells, dataset, run_of, step, system

from evimem.eval.diagnostics.attribution import (
    LABELS,
    attribute,
    is_part_of,
    label_of,
    run_id,
    section,
)
from evimem.eval.diagnostics.sufficiency import PROMPT, SufficiencyJudge, evidence_suffices
from evimem.eval.harness.rows import AskRow, SystemRun
from evimem.eval.harness.system import Shown
from evimem.llm.scripted import ScriptedModels

WRONG = dict.fromkeys(EVIDENCE, False)

ROWS = (
    ask("q1", step("t0 t1"), answer="a tent", stop="converged"),  # a part of "a boat and a tent"
    ask("q2", step("t5"), answer="Boat", stop="converged"),  # nothing found
    ask("q3", step("t3"), answer="June", stop="converged"),  # half, converged
    ask("q4", step("t7"), answer="Bruno", stop="exhausted"),  # all found
    ask("q5", step("t0"), answer="no", stop="converged"),  # no gold turns
)


def run(**more: object) -> SystemRun:
    return system(*ROWS, labels=more.pop("labels", WRONG), **more)  # type: ignore[arg-type]


def never() -> bool | None:
    raise AssertionError("a rule decides; no judge may be asked")


@pytest.mark.parametrize(
    ("recall", "stop", "part", "label"),
    [
        (0.0, "converged", False, "retrieval failure"),
        (0.0, "exhausted", True, "retrieval failure"),
        (0.5, "converged", True, "premature stop"),
        (0.5, "sufficient", False, "premature stop"),
        (1.0, "converged", False, "reasoning error"),
        (1.0, "exhausted", False, "reasoning error"),
        (1.0, "converged", True, "incomplete answer"),
    ],
)
def test_mera_89_the_rules_decide_in_order_and_no_judge_is_asked(
    recall: float, stop: str, part: bool, label: str
) -> None:
    assert label_of(recall=recall, stop=stop, part=part, suffices=never) == (label, False)


@pytest.mark.parametrize(
    ("word", "part", "label"),
    [
        (True, False, "reasoning error"),
        (True, True, "incomplete answer"),
        (False, True, "ambiguous"),
        (None, False, "ambiguous"),
    ],
)
@pytest.mark.parametrize("recall", [0.5, None])
def test_mera_89_a_judge_decides_where_evidence_is_incomplete_or_unknown(
    recall: float | None, word: bool | None, part: bool, label: str
) -> None:
    found = label_of(recall=recall, stop="exhausted", part=part, suffices=lambda: word)
    assert found == (label, True)


def test_mera_89_an_answer_is_a_part_only_if_its_words_are_some_of_the_golds() -> None:
    assert is_part_of("The tent.", "a boat and a tent")
    assert not is_part_of("a boat and a tent", "the boat and the tent"), "all of it"
    assert not is_part_of("tent, kayak", "a boat and a tent"), "something else too"
    assert not is_part_of("", "a boat")


def test_mera_88_every_wrong_answer_gets_exactly_one_label() -> None:
    found = attribute(run_of(run()), run(), judge=JUDGE)

    assert {one.question_id: one.label for one in found.failures} == {
        "q1": "incomplete answer",
        "q2": "retrieval failure",
        "q3": "premature stop",
        "q4": "reasoning error",
        "q5": "ambiguous",
    }
    assert sum(found.counts.values()) == len(found.failures) == 5
    assert tuple(found.counts) == LABELS


def test_mera_88_rules_run_before_the_judge_who_sees_only_the_open_cases() -> None:
    asked: list[str] = []

    def judge(question_id: str, row: AskRow) -> bool | None:
        asked.append(question_id)
        return True

    found = attribute(run_of(run()), run(), judge=JUDGE, suffices=judge)

    assert asked == ["q5"]
    assert found.counts["reasoning error"] == 2
    assert [one.judged for one in found.failures] == [False, False, False, False, True]


def test_mera_88_p_correct_is_laid_apart_by_equation_10() -> None:
    labels = {"q1": True, "q2": True, "q3": False, "q4": True, "q5": False}
    parts = attribute(run_of(run()), run(labels=labels), judge=JUDGE).parts

    # with gold: q1 and q4 complete (both right), q2 and q3 not (one right)
    assert parts.n == 4
    assert parts.sufficient is not None and parts.sufficient.estimate == 0.5
    assert parts.correct_given is not None and parts.correct_given.estimate == 1.0
    assert parts.correct_otherwise is not None and parts.correct_otherwise.estimate == 0.5
    assert parts.product == 0.5
    assert parts.correct is not None and parts.correct.estimate == 0.75
    assert parts.correct.estimate == pytest.approx(
        parts.product + (1 - parts.sufficient.estimate) * parts.correct_otherwise.estimate
    ), "the whole is the product and what Eq. 10 leaves out"


def test_mera_88_evidence_that_a_judge_finds_enough_counts_as_sufficient() -> None:
    halves = system(
        ask("q1", step("t0"), answer="x", stop="exhausted"),
        ask("q2", step("t2"), answer="Amber"),
        labels={"q1": False, "q2": True},
    )

    alone = attribute(run_of(halves), halves, judge=JUDGE)
    judged = attribute(run_of(halves), halves, judge=JUDGE, suffices=lambda name, row: True)

    assert alone.parts.sufficient is not None and alone.parts.sufficient.estimate == 0.5
    assert alone.counts["ambiguous"] == 1
    assert judged.parts.sufficient is not None and judged.parts.sufficient.estimate == 1.0
    assert judged.parts.product == 0.5
    assert judged.counts["reasoning error"] == 1


def test_mera_90_reasoning_errors_are_shared_out_among_types() -> None:
    every = system(
        ask("q1", step("t0 t1"), answer="x"),
        ask("q3", step("t3 t4"), answer="x"),
        ask("q4", step("t6"), answer="x"),
        labels=WRONG,
    )

    table = section(run_of(every), judge=JUDGE).tables[2]

    by_type = {row[1]: dict(zip(table.columns, row, strict=True)) for row in table.rows}
    assert by_type["multi-hop"]["reasoning error"] == 2
    assert by_type["multi-hop"]["of all reasoning errors"] == pytest.approx(2 / 3)
    assert by_type["single-hop"]["of all reasoning errors"] == pytest.approx(1 / 3)
    assert by_type["open-domain"]["wrong"] == 0


def test_x5_the_run_is_named_and_another_run_has_another_name() -> None:
    data = run_of(run())
    other = run_of(run(), manifest={"embedder": "other"})

    table = section(data, judge=JUDGE).tables[0]

    assert cells(table, "s")["run"] == run_id(data, "s")
    assert run_id(data, "s") != run_id(other, "s")
    named = run_of(run(), manifest={"run": "may"})
    assert run_id(named, "s").startswith("may/s@")


def test_answers_without_a_readable_judgement_and_failed_questions_are_counted_apart() -> None:
    odd = system(
        ask("q1", step("t0"), answer="x"),
        ask("q2", failed="down"),
        labels={"q1": None, "q2": False},
    )

    found = attribute(run_of(odd), odd, judge=JUDGE)

    assert (found.failures, found.asked, found.unread, found.failed) == ((), 0, 1, 4)
    assert found.parts.sufficient is None and found.parts.product is None


def test_the_judge_of_evidence_sees_memories_and_gold_and_neither_answer_nor_system() -> None:
    models = ScriptedModels({"judge": [{"sufficient": True}]})
    shown = (Shown(text="Rita has a bakery", speaker="Ines"), Shown(text="Bruno is a dog"))

    word = evidence_suffices(
        models.session().model("judge"), question="Whose bakery?", gold="Rita", shown=shown
    )

    assert word is True
    [request] = models.requests
    assert (request.role, request.phase) == ("judge", "judge")
    told = request.messages[1].text
    assert "Ines: Rita has a bakery" in told and "Bruno is a dog" in told and "Rita" in told
    assert all(sentence in PROMPT.system for sentence in PROMPT.rules.values())


def test_a_judge_of_evidence_is_not_asked_about_nothing_nor_twice_about_a_question() -> None:
    models = ScriptedModels({"judge": [{"sufficient": True}]})
    judge = SufficiencyJudge(models.session().model("judge"), dataset(), known={"q2": False})
    row = ask("q1", shown=(Shown(text="a boat"),))

    assert judge("q3", ask("q3")) is False, "nothing was shown"
    assert judge("q1", row) is True
    assert judge("q1", row) is True
    assert judge("q2", ask("q2", shown=row.shown)) is False
    assert len(models.requests) == 1
    assert judge.verdicts == {"q1": True, "q2": False, "q3": False}


def test_the_judge_of_evidence_is_shown_what_its_window_holds_the_first_memories_first() -> None:
    models = ScriptedModels({"judge": [{"sufficient": False}]}, window=1000)
    shown = tuple(Shown(text=f"memory {n} " + "word " * 40) for n in range(50))

    word = evidence_suffices(models.session().model("judge"), question="q", gold="g", shown=shown)

    assert word is False
    told = models.requests[0].messages[1].text
    assert "memory 0 " in told and "memory 49 " not in told


def test_an_unusable_word_of_the_judge_of_evidence_is_none() -> None:
    models = ScriptedModels(lambda request: "I cannot say")

    word = evidence_suffices(
        models.session().model("judge"), question="q", gold="g", shown=(Shown(text="x"),)
    )

    assert word is None
