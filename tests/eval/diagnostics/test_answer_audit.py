"""Answers against the conversation: packs, blinding, claims, weights and stability."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from bench_rows import JUDGE, ask, cells, system
from evidence_rows import WORDS, dataset

from evimem.datasets import Dataset
from evimem.errors import UsageError
from evimem.eval.diagnostics.answer_audit import (
    METRICS,
    N_SMALL,
    N,
    answer_audit,
    sample_questions,
    stability,
)
from evimem.eval.diagnostics.answer_judge import (
    AGAIN,
    CLAIMS,
    AnswerVerdict,
    Claim,
    ClaimLabel,
    judge_answer,
)
from evimem.eval.diagnostics.answer_pack import Packs
from evimem.eval.diagnostics.answer_section import answer_section
from evimem.eval.harness.rows import SharedRow, SystemRun
from evimem.llm.scripted import ScriptedModels, ScriptedReply
from evimem.model.chat import ChatRequest
from evimem.model.evidence import Question
from evimem.model.turn import JsonValue


def answers(name: str, said: dict[str, str], right: set[str], **more: object) -> SystemRun:
    rows = [ask(key, system=name, answer=text, **more) for key, text in said.items()]
    return system(*rows, name=name, labels={key: key in right for key in said})


def claims(*labelled: tuple[str, str], abstains: bool = False) -> dict[str, JsonValue]:
    """A judge's reply: claims with labels; core unless the claim begins with "aux"."""
    return {
        "abstains": abstains,
        "claims": [
            {"claim": text, "part": "auxiliary" if text.startswith("aux") else "core", "label": one}
            for text, one in labelled
        ],
    }


def answered(request: ChatRequest) -> str:
    """The answer, or the claim, that a request is about."""
    for line in request.messages[1].text.splitlines():
        for head in ("Answer: ", "Claim: "):
            if line.startswith(head):
                return line.removeprefix(head)
    raise AssertionError(request)


def judge(replies: dict[str, ScriptedReply]) -> ScriptedModels:
    return ScriptedModels(lambda request: replies[answered(request)])


def test_qem_58_a_pack_holds_gold_turns_their_neighbours_and_bm25_passages_in_order() -> None:
    data = dataset(only=("q2",))
    # Gold turns 1 and 5, two on each side in the session; by words 9 ("pear trees").
    pack = Packs(data, passages=3).of("c-q2")
    assert [turn.turn_id for turn in pack.turns] == [f"c-t{n}" for n in (0, 1, 2, 3, 4, 5, 6, 7, 9)]
    bare = Packs(data, around=0, passages=0).of("c-q2")
    assert [turn.turn_id for turn in bare.turns] == ["c-t1", "c-t5"]
    assert bare.text.splitlines()[0] == f"[1] [9:00 am on 10 January 2024] Bo: {WORDS[1]}"


def test_qem_58_a_question_without_gold_turns_is_checked_against_passages_alone() -> None:
    pack = Packs(dataset(only=("q5",)), passages=3).of("c-q5")
    assert {turn.turn_id for turn in pack.turns} == {"c-t1", "c-t5", "c-t9"}


TWO = dataset(only=("q1", "q2"))
OURS = answers("ours-system", {"c-q1": "three trees", "c-q2": "one died"}, {"c-q1"})
OTHER = answers("other-system", {"c-q1": "four trees", "c-q2": "one lives"}, {"c-q2"})
REPLIES: dict[str, ScriptedReply] = {
    "three trees": claims(("Bo planted three trees", "supported")),
    "one died": claims(("A tree died", "supported"), ("aux It was old", "contradicted")),
    "four trees": claims(("Bo planted four trees", "contradicted")),
    "one lives": claims(("A tree lives", "supported"), ("aux Bo is glad", "unverifiable")),
}


def test_qem_58_the_pack_is_the_same_for_all_methods() -> None:
    models = judge(REPLIES)

    audit = answer_audit([OURS, OTHER], TWO, models, judge=JUDGE)

    shown: dict[str, set[str]] = {}
    for request in models.requests:
        question, _, passages = request.messages[-1].text.partition("\n\nAnswer: ")
        shown.setdefault(question, set()).add(passages.partition("\n\nPassages:\n")[2])
    assert len(shown) == 2
    assert all(len(packs) == 1 for packs in shown.values())
    for key in ("c-q1", "c-q2"):
        digests = {audit.verdicts[name][key].pack for name in audit.verdicts}
        assert digests == {Packs(TWO).of(key).digest}


def test_qem_58_the_judge_sees_neither_system_nor_reference_answer_nor_correctness() -> None:
    models = judge(REPLIES)

    answer_audit([OURS, OTHER], TWO, models, judge=JUDGE)

    assert len(models.requests) == 4
    for request in models.requests:
        told = "\n".join(message.text for message in request.messages)
        for hidden in ("ours-system", "other-system", "gold answer", "single-hop", "multi-hop",
                       "all right", "CORRECT", "WRONG", "D1:2", "c-t1", "c-q"):  # fmt: skip
            assert hidden not in told
        assert (request.role, request.phase) == ("judge", "judge")


def test_qem_58_blinding_the_request_does_not_depend_on_labels_or_on_whose_answer_it_is() -> None:
    same = {"c-q1": "three trees", "c-q2": "one died"}
    requests = []
    for run in (answers("a", same, {"c-q1", "c-q2"}), answers("b", same, set())):
        models = judge(REPLIES)
        answer_audit([run], TWO, models, judge=JUDGE)
        requests.append(sorted(one.digest for one in models.requests))
    assert requests[0] == requests[1]


def test_qem_58_the_sample_is_even_over_type_complexity_and_correctness_with_weights() -> None:
    names = [f"c{n}" for n in range(6)]
    data = dataset(*names)
    right = {
        "a": {one.question_id: True for one in data.questions},
        "b": {one.question_id: one.question_id.startswith("c0") for one in data.questions},
    }

    sample = sample_questions(data, right, n=10)

    assert sample.strata == {
        **{
            (category, turns, "all right"): 1
            for category, turns in (
                ("single-hop", "1 turns"),
                ("multi-hop", "2 turns"),
                ("multi-hop", "3+ turns"),
                ("temporal", "2 turns"),
                ("open-domain", "0 turns"),
            )
        },
        **{
            (category, turns, "not all right"): 5
            for category, turns in (
                ("single-hop", "1 turns"),
                ("multi-hop", "2 turns"),
                ("multi-hop", "3+ turns"),
                ("temporal", "2 turns"),
                ("open-domain", "0 turns"),
            )
        },
    }
    assert {one.weight for one in sample.drawn} == {1.0, 5.0}
    assert sum(one.weight for one in sample.drawn) == 30
    assert (N, N_SMALL) == (240, 68)


def test_qem_62_the_size_of_the_sample_is_a_parameter() -> None:
    audit = answer_audit([OURS], TWO, judge(REPLIES), judge=JUDGE, n=1)
    assert len(audit.stratum) == 1


def one_verdict(
    replies: dict[str, ScriptedReply], answer: str, *, data: Dataset = TWO, passages: int = 1
) -> tuple[AnswerVerdict, ScriptedModels]:
    models = judge(replies)
    packs = Packs(data, around=0, passages=passages)
    question = next(one for one in data.questions if one.question_id == "c-q1")
    verdict = judge_answer(question, answer, packs.of("c-q1"), packs, models, system="s")
    return verdict, models


def test_qem_59_only_unsupported_claims_are_searched_for_again() -> None:
    replies: dict[str, ScriptedReply] = {
        "x": claims(
            ("Ana sold the kiln to Odile and not three pear trees", "unsupported"),
            ("The vase is blue", "supported"),
            ("A tart was baked", "contradicted"),
            ("aux That is nice", "unverifiable"),
        ),
        "Ana sold the kiln to Odile and not three pear trees": {
            "reason": "passage 1",
            "label": "contradicted",
        },
    }

    verdict, models = one_verdict(replies, "x")

    assert [request.prompt for request in models.requests] == [CLAIMS.tag, AGAIN.tag]
    again = models.requests[1].messages[-1].text
    assert WORDS[11] in again
    assert WORDS[1] not in again  # it was in the pack
    assert [(one.first, one.label, one.again) for one in verdict.claims] == [
        ("unsupported", "contradicted", True),
        ("supported", "supported", False),
        ("contradicted", "contradicted", False),
        ("unverifiable", "unverifiable", False),
    ]
    assert [one.core for one in verdict.claims] == [True, True, True, False]
    assert len(verdict.calls) == 2


def test_qem_59_without_anything_new_to_read_a_claim_stays_unsupported() -> None:
    replies: dict[str, ScriptedReply] = {"x": claims(("Zebras exist", "unsupported"))}
    verdict, models = one_verdict(replies, "x")
    assert len(models.requests) == 1
    assert (verdict.claims[0].label, verdict.claims[0].again) == ("unsupported", False)


def test_qem_59_an_unusable_second_reply_leaves_the_label() -> None:
    replies: dict[str, ScriptedReply] = {
        "x": claims(("The kiln was sold", "unsupported")),
        "The kiln was sold": "no idea",
    }
    verdict, _ = one_verdict(replies, "x")
    assert (verdict.claims[0].label, verdict.claims[0].again) == ("unsupported", True)


def test_qem_59_abstentions_are_kept_apart_and_need_no_call_where_the_system_says_so() -> None:
    said, models = one_verdict(
        {"It is not mentioned.": claims(abstains=True)}, "It is not mentioned."
    )
    assert (said.abstained, said.outcome, len(models.requests)) == (True, "abstained", 1)
    empty, models = one_verdict({}, " ")
    assert (empty.abstained, len(models.requests)) == (True, 0)
    declined = answers("s", {"c-q1": "no", "c-q2": "no"}, set(), abstained=True)
    audit = answer_audit([declined], TWO, judge({}), judge=JUDGE)
    figure = audit.figure("s", "abstention")
    assert figure is not None and figure.estimate == 1.0


def test_qem_59_an_answer_with_claims_is_no_abstention() -> None:
    replies: dict[str, ScriptedReply] = {"x": claims(("Bo has trees", "supported"), abstains=True)}
    verdict, _ = one_verdict(replies, "x")
    assert (verdict.abstained, verdict.outcome) == (False, "grounded")


def test_a_reply_without_claims_or_abstention_is_unread() -> None:
    verdict, _ = one_verdict({"x": claims()}, "x")
    assert verdict.outcome == "unread"
    broken, _ = one_verdict({"x": "nothing to see"}, "x")
    assert broken.outcome == "unread"


def verdict_of(*labels: tuple[bool, ClaimLabel], abstained: bool = False) -> AnswerVerdict:
    return AnswerVerdict(
        question_id="q",
        system="s",
        pack="",
        abstained=abstained,
        claims=tuple(
            Claim(text="x", core=core, first=label, label=label) for core, label in labels
        ),
    )


@pytest.mark.parametrize(
    ("verdict", "right", "expected"),
    [
        (verdict_of((True, "supported"), (False, "supported")), True,
         [1, 1, 0, 0, 0, 2, 1, (2, 2), (1, 1)]),
        (verdict_of((True, "supported"), (False, "unsupported")), True,
         [0, 0, 1, 0, 0, 2, 1, (1, 2), (0, 1)]),
        (verdict_of((True, "contradicted")), False, [0, 0, 0, 1, 0, 1, 0, (0, 1), (0, 0)]),
        (verdict_of((True, "unverifiable")), True, [0, 0, 1, 0, 0, 1, 0, (0, 1), (0, 1)]),
        (verdict_of(abstained=True), False, [0, 0, 0, 0, 1, 0, 0, (0, 0), (0, 0)]),
    ],
)  # fmt: skip
def test_qem_60_every_figure_of_one_answer(
    verdict: AnswerVerdict, right: bool, expected: list[object]
) -> None:
    found = [measure(verdict, right) for measure in METRICS.values()]
    assert found == [one if isinstance(one, tuple) else (one, 1) for one in expected]


def test_qem_60_figures_are_weighted_and_gaps_are_of_the_same_questions() -> None:
    names = [f"c{n}" for n in range(5)]
    data = dataset(*names, only=("q1", "q2"))
    ids = [one.question_id for one in data.questions]

    def run(name: str, said: Callable[[str], str], right: Callable[[str], bool]) -> SystemRun:
        return answers(name, {one: said(one) for one in ids}, {one for one in ids if right(one)})

    ours = run("ours", lambda one: "good", lambda one: True)
    base = run("base", lambda one: "good" if one.endswith("q1") else "bad", lambda one: True)
    replies: dict[str, ScriptedReply] = {
        "good": claims(("Bo has trees", "supported")),
        "bad": claims(("Bo has trees", "supported"), ("aux He has bees", "contradicted")),
    }

    audit = answer_audit([ours, base], data, judge(replies), judge=JUDGE, n=4)

    assert len(audit.stratum) == 4
    for system_, metric, value in (
        ("ours", "fully grounded", 1.0),
        ("base", "fully grounded", 0.5),
        ("base", "core-only grounded", 1.0),
        ("base", "claims per answer", 1.5),
        ("base", "claim support", 10 / 15),
        ("base", "any contradiction", 0.5),
        ("base", "grounded among correct", 0.5),
    ):
        figure = audit.figure(system_, metric)
        assert figure is not None
        assert figure.estimate == pytest.approx(value)
    gap = audit.gap("ours", "base", "fully grounded")
    assert gap is not None
    # Within a stratum all are alike, so every resample has the same gap.
    assert (gap.difference.estimate, gap.difference.low, gap.difference.high) == (0.5, 0.5, 0.5)


def test_questions_with_an_unread_reply_for_one_system_are_left_out_for_all() -> None:
    replies = {**REPLIES, "four trees": "no JSON"}

    audit = answer_audit([OURS, OTHER], TWO, judge(replies), judge=JUDGE)

    assert audit.read == ("c-q2",)
    figure = audit.figure("ours-system", "fully grounded")
    assert figure is not None
    assert (figure.estimate, figure.n) == (0.0, 1)
    table = answer_section(audit).tables[0]
    assert (cells(table, "ours-system")["unread"], cells(table, "other-system")["unread"]) == (0, 1)


def test_qem_61_a_reordered_pack_has_the_same_turns_and_unstable_answers_are_disputed() -> None:
    pack = Packs(TWO).of("c-q2")
    turned = pack.reordered(1)
    assert turned.turns != pack.turns
    assert {one.turn_id for one in turned.turns} == {one.turn_id for one in pack.turns}
    assert pack.reordered(1) == turned

    audit = answer_audit([OURS, OTHER], TWO, judge(REPLIES), judge=JUDGE)
    shaken = {**REPLIES, "three trees": claims(("Bo planted trees", "contradicted"))}
    models = judge(shaken)

    found = stability(audit, [OURS, OTHER], TWO, models)

    assert (found.n, found.unchanged) == (4, 3)
    [dispute] = found.disputes
    assert (dispute.question_id, dispute.system) == ("c-q1", "ours-system")
    assert (dispute.before, dispute.after) == ("grounded", "contradicted")
    first = {one.digest for one in models.requests}
    again = judge(REPLIES)
    answer_audit([OURS, OTHER], TWO, again, judge=JUDGE)
    assert not first & {one.digest for one in again.requests}
    assert stability(audit, [OURS, OTHER], TWO, judge(REPLIES), n=2).n == 2


def test_answers_by_the_shared_prompt_can_be_audited() -> None:
    rows = [
        SharedRow(system="s", question_id=key, prompt="p", answer=text)
        for key, text in (("c-q1", "three trees"), ("c-q2", "one died"))
    ]
    run = system(
        ask("c-q1", answer="?"), ask("c-q2", answer="?"), shared=rows,
        shared_labels={"c-q1": True, "c-q2": True},
    )  # fmt: skip
    audit = answer_audit([run], TWO, judge(REPLIES), judge=JUDGE, answers="shared")
    assert [one.outcome for one in audit.verdicts["s"].values()] in (
        ["grounded", "contradicted"],
        ["contradicted", "grounded"],
    )
    with pytest.raises(UsageError, match="at least one system"):
        answer_audit([], TWO, judge({}), judge=JUDGE)


def test_qem_60_qem_61_the_section_prints_figures_gaps_strata_disputes_and_caveats() -> None:
    audit = answer_audit([OURS, OTHER], TWO, judge(REPLIES), judge=JUDGE)
    shaken = {**REPLIES, "three trees": claims(("Bo planted trees", "contradicted"))}
    moved = stability(audit, [OURS, OTHER], TWO, judge(shaken))

    section = answer_section(audit, reference="ours-system", stability=moved)

    figures, gaps, counted, sample, stable = section.tables
    assert figures.columns[1:-1] == tuple(METRICS)
    assert "claims per answer" not in figures.percent
    assert [row[0] for row in gaps.rows] == ["other-system"]
    rows = {(row[0], row[1]): row[2:] for row in counted.rows}
    assert rows[("ours-system", "core")] == (2, 2, 0, 0, 0, 0, 0)
    assert rows[("ours-system", "auxiliary")] == (1, 0, 0, 1, 0, 0, 0)
    assert len(sample.rows) == 2
    assert "3 of 4 unchanged" in stable.title
    told = " ".join(section.notes)
    assert "A single model judges" in told
    assert "may still leave out" in told
    assert "three trees" not in repr(section)


def test_the_date_of_asking_is_told_and_every_rule_stands_in_its_prompt() -> None:
    for prompt in (CLAIMS, AGAIN):
        assert all(sentence in prompt.system for sentence in prompt.rules.values())
    packs = Packs(TWO)
    models = judge(REPLIES)
    question = Question(text="How many?", question_id="c-q1", asked_at="2024-09-02T10:00:00+00:00")
    judge_answer(question, "three trees", packs.of("c-q1"), packs, models, system="s")
    assert "Question (asked on 2 September 2024): How many?" in models.requests[0].messages[-1].text
