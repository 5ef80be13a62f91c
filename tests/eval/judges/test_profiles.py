"""Judge profiles: every rule is in the wording, what a judge sees, how replies are read."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from evimem.datasets import Gold
from evimem.errors import UsageError
from evimem.eval.judges.parsers import PARSERS, last_label, named_label, yes_or_no
from evimem.eval.judges.profiles import Profile, load_profile, profile_names
from evimem.eval.judges.reference import Reference, answer_digest, reference_of
from evimem.manager.prompts.judge import PROMPT
from evimem.query.templates import NAMES, read_templates

PROFILES = [load_profile(name) for name in profile_names()]
LME_TYPES = {
    "single-session-user": "base",
    "single-session-assistant": "base",
    "multi-session": "base",
    "temporal-reasoning": "temporal",
    "knowledge-update": "update",
    "single-session-preference": "preference",
}


def sent(profile: Profile, *, category: str = "", answerable: bool = True) -> str:
    reference = Reference(answer="GOLD", category=category, answerable=answerable)
    request = profile.request("QUESTION?", reference, "ANSWER")
    return "\n".join(message.text for message in request.messages)


def test_ben_7_the_four_profiles_are_there_and_another_is_refused() -> None:
    assert profile_names() == ("longmemeval", "mem0", "nemori", "strict")
    with pytest.raises(UsageError, match=r"no judge profile 'gpt'; there are longmemeval, mem0"):
        load_profile("gpt")


@pytest.mark.parametrize("profile", PROFILES, ids=lambda one: one.name)
def test_ben_7_every_wording_carries_its_rules_and_has_its_places(profile: Profile) -> None:
    assert {"base", "abstention"} <= set(profile.wordings)
    assert set(profile.kinds.values()) <= set(profile.wordings)
    assert profile.parser in PARSERS
    for wording in profile.wordings.values():
        assert wording.rules
        for sentence in wording.rules.values():
            assert wording.text.count(f"- {sentence}\n") == 1
        for place in ("{question}", "{answer}", "{response}"):
            assert wording.text.count(place) == 1


@pytest.mark.parametrize("profile", PROFILES, ids=lambda one: one.name)
def test_ben_7_a_judge_is_asked_as_judge_at_temperature_zero(profile: Profile) -> None:
    request = profile.request("QUESTION?", Reference(answer="GOLD"), "ANSWER")
    assert (request.role, request.phase, request.temperature) == ("judge", "judge", 0.0)
    assert request.prompt == profile.tag
    text = sent(profile)
    assert all(text.count(one) == 1 for one in ("QUESTION?", "GOLD", "ANSWER"))


def test_ben_7_nemori_is_the_wording_of_mem0_after_a_system_message() -> None:
    mem0, nemori = load_profile("mem0"), load_profile("nemori")
    assert nemori.wordings == mem0.wordings
    request = nemori.request("q", Reference(answer="g"), "a")
    assert [one.role for one in request.messages] == ["system", "user"]
    assert [one.role for one in mem0.request("q", Reference(answer="g"), "a").messages] == ["user"]
    assert nemori.tag.rpartition("#")[2] != mem0.tag.rpartition("#")[2]


def test_uni_24_mem0_and_uni_mem_judge_by_the_same_rules() -> None:
    wording = load_profile("mem0").wordings["base"]
    assert dict(wording.rules) == dict(PROMPT.rules)
    assert wording.text.startswith(PROMPT.system)


@pytest.mark.parametrize(("category", "kind"), LME_TYPES.items())
def test_ben_7_longmemeval_chooses_the_template_by_type(category: str, kind: str) -> None:
    profile = load_profile("longmemeval")
    assert profile.kind_of(Reference(answer="g", category=category)) == kind
    told = sent(profile, category=category)
    every = {rule for one in profile.wordings.values() for rule in one.rules.values()}
    assert {rule for rule in every if rule in told} == set(profile.wordings[kind].rules.values())


@pytest.mark.parametrize("category", LME_TYPES)
def test_ben_7_abstention_goes_before_every_type(category: str) -> None:
    for profile in PROFILES:
        reference = Reference(answer="g", category=category, answerable=False)
        assert profile.kind_of(reference) == "abstention"


def test_ben_7_longmemeval_wordings_tell_what_each_type_forgives() -> None:
    profile = load_profile("longmemeval")
    assert "off by one" in sent(profile, category="temporal-reasoning")
    assert "off by one" not in sent(profile, category="multi-session")
    assert "only a part" in sent(profile, category="multi-session")
    assert "what was so earlier" in sent(profile, category="knowledge-update")
    assert "need not meet every point" in sent(profile, category="single-session-preference")
    assert "cannot be answered" in sent(profile, answerable=False)


def test_ben_7_the_tag_changes_with_everything_that_changes_a_judgement() -> None:
    profile = load_profile("strict")
    base = profile.wordings["base"]
    changes: list[dict[str, object]] = [
        {"system": "x"},
        {"parser": "yes-no"},
        {"max_tokens": 9},
        {"kinds": {"temporal": "preference"}},
        {"wordings": {**profile.wordings, "base": dataclasses.replace(base, text="y")}},
    ]
    tags = {dataclasses.replace(profile, **change).tag for change in changes}  # type: ignore[arg-type]
    assert len({*tags, profile.tag}) == 6
    assert load_profile("strict").tag == profile.tag
    assert profile.tag.startswith("judge.strict@1#")


def test_a_published_prompt_takes_the_place_of_ours_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "judge.longmemeval.temporal.txt").write_text(
        "T {question} {answer} {response}", encoding="utf-8"
    )
    (tmp_path / "judge.nemori.system.txt").write_text("Expert {here}.", encoding="utf-8")
    templates = read_templates(tmp_path)
    longmemeval = load_profile("longmemeval", templates=templates)
    reference = Reference(answer="{question}", category="temporal-reasoning")
    assert longmemeval.request("Q", reference, "{answer}").messages[0].text == (
        "T Q {question} {answer}"  # what is put in is never looked through
    )
    assert longmemeval.tag.startswith("judge.longmemeval@file#")
    assert longmemeval.wordings["base"] == load_profile("longmemeval").wordings["base"]
    nemori = load_profile("nemori", templates=templates)
    assert nemori.request("q", reference, "a").messages[0].text == "Expert {here}."
    assert load_profile("mem0", templates=templates).tag == load_profile("mem0").tag


def test_every_wording_of_a_published_judge_can_be_given_as_a_file() -> None:
    for name in ("mem0", "nemori", "longmemeval"):
        for kind in load_profile(name).wordings:
            key = f"judge.{name}" if kind == "base" else f"judge.{name}.{kind}"
            assert key in NAMES or (kind, name != "longmemeval") == ("abstention", True)


def test_a_file_without_its_places_is_refused(tmp_path: Path) -> None:
    (tmp_path / "judge.mem0.txt").write_text("{question} {answer}", encoding="utf-8")
    with pytest.raises(UsageError, match=r"no place \{response\}"):
        read_templates(tmp_path)


@pytest.mark.parametrize(
    ("reply", "correct"),
    [
        ('{"label": "CORRECT"}', True),
        ('It fits.\n{"label": "wrong"}', False),
        ("{'label': 'CORRECT', 'reason': 'not WRONG'", True),
        ("The answer is CORRECT.", True),
        ("CORRECT or WRONG, who knows", None),
        ('{"label": "MAYBE"}', None),
        ("", None),
    ],
)
def test_ben_7_labels_in_json_are_read_and_malformed_ones_are_none(
    reply: str, correct: bool | None
) -> None:
    assert named_label(reply) is correct


@pytest.mark.parametrize(
    ("reply", "correct"),
    [
        ("yes", True),
        ("No.", False),
        ("**Yes**, it is.", True),
        ("The reply is right: yes", True),
        ("Yes, no doubt about it.", True),  # it begins with one
        ("It says no, or yes.", None),
        ("It was yesterday.", None),  # LongMemEval's own parser reads a yes
        ("The reply is right.", None),  # and here a no
        ("<think>yes? no?</think>\nNo", False),
        ("no-one can say", None),
        ("", None),
    ],
)
def test_ben_7_yes_and_no_are_read_anywhere_and_malformed_ones_are_none(
    reply: str, correct: bool | None
) -> None:
    assert yes_or_no(reply) is correct


@pytest.mark.parametrize(
    ("reply", "correct"),
    [
        ("The place is CORRECT but the month is not.\nWRONG", False),
        ("At first it seems wrong.\nCORRECT", True),
        ("It is incorrect.", False),
        ("This is not correct", False),
        ("This isn't wrong", True),
        ("<think>WRONG</think> CORRECT", True),
        ("A correction was made, wrongly.", None),
        ("", None),
    ],
)
def test_ben_7_the_last_label_counts_and_malformed_ones_are_none(
    reply: str, correct: bool | None
) -> None:
    assert last_label(reply) is correct


def test_a_question_without_an_answer_has_an_explanation_and_its_trap_as_reference() -> None:
    gold = Gold(question_id="q", history_id="h", category="adversarial", answerable=False)
    assert reference_of(gold).answer == "The conversations do not tell this."
    trapped = reference_of(dataclasses.replace(gold, trap="a kayak"))
    assert trapped.answer.endswith("The following answer is wrong: a kayak")
    explained = reference_of(dataclasses.replace(gold, answer="Never said.", trap="x"))
    assert (explained.answer, explained.answerable) == ("Never said.", False)


def test_a_digest_tells_answers_golds_and_unanswerable_questions_apart() -> None:
    one = Reference(answer="g", category="temporal")
    digests = {
        answer_digest(one, "a"),
        answer_digest(one, "b"),
        answer_digest(dataclasses.replace(one, answer="h"), "a"),
        answer_digest(dataclasses.replace(one, answerable=False), "a"),
    }
    assert len(digests) == 4
