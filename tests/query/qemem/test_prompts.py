"""The prompts of QEMem: no rule lost, published ones from files, the retry note."""

from __future__ import annotations

from pathlib import Path

import pytest

from evimem.errors import UsageError
from evimem.llm.schema import check, check_schema
from evimem.model.chat import ChatRequest
from evimem.model.prompt import Prompt
from evimem.query.qemem.prompts import answer, construct, plan
from evimem.query.templates import filled, read_templates

RULES = {
    "qem.plan": {
        "need", "about", "answer-type", "aggregate", "temporal", "combine", "queries", "data",
    },
    "qem.construct": {
        "every-relevant", "claim", "sources", "quote", "time", "relation", "conflict",
        "nothing-invented", "sufficient", "follow-up", "data",
    },
    "qem.answer": {
        "1 evidence", "2 time", "3 lists", "4 inference", "5 best match", "6 only asked",
        "7 short", "reasoning", "data",
    },
    "qem.retry": {"present", "again"},
}  # fmt: skip
"""What each prompt must say, by the prompts that the paper prints."""


@pytest.mark.parametrize(
    "prompt",
    [plan.PROMPT, construct.PROMPT, answer.PROMPT, answer.DIRECT, answer.RETRY],
    ids=lambda p: p.name,
)
def test_every_rule_stands_in_the_prompt_and_none_is_missing(prompt: Prompt) -> None:
    assert set(prompt.rules) == RULES[prompt.name.replace("direct", "answer")]
    for sentence in prompt.rules.values():
        assert sentence in prompt.system


def test_qem_31_the_direct_prompt_speaks_of_no_card() -> None:
    assert "card" in answer.PROMPT.system.casefold()
    assert "card" not in answer.DIRECT.system.casefold()


def asked(templates: dict[str, str]) -> tuple[ChatRequest, ChatRequest]:
    return (
        plan.render("Who ran?", speakers="Ana and Bo", span="2031", templates=templates),
        construct.render(
            "Who ran?", need="", pool="[T1] Ana: I ran", previous="v1", templates=templates
        ),
    )


def test_schemas_are_portable_and_their_examples_fit() -> None:
    for request in asked({}):
        assert request.schema is not None
        check_schema(request.schema)
        checked = check(request.example, request.schema)
        assert (checked.problems, checked.rejected, checked.notes) == ((), (), ())


def test_a_prompt_from_a_file_takes_the_place_of_ours_and_names_itself(tmp_path: Path) -> None:
    (tmp_path / "qem.plan.txt").write_text('Plan {question}: {"need": ""}', encoding="utf-8")
    templates = read_templates(tmp_path)
    ours, theirs = asked({})[0], asked(templates)[0]
    assert [m.text for m in theirs.messages] == ['Plan Who ran?: {"need": ""}']
    assert theirs.prompt.startswith("qem.plan@file#") and ours.prompt == plan.PROMPT.tag
    assert asked(templates)[1] == asked({})[1], "the others stay as they are"


def test_a_template_that_lacks_a_place_or_a_folder_without_one_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"qem\.plan\.txt"):
        read_templates(tmp_path)
    (tmp_path / "qem.answer.txt").write_text("{question} {cards} {pool}", encoding="utf-8")
    with pytest.raises(UsageError, match=r"no place \{sources\}"):
        read_templates(tmp_path)


def test_what_is_filled_in_is_never_looked_through() -> None:
    assert filled("{a} {b} {c}", {"a": "{b}", "b": "2"}) == "{b} 2 {c}"


def test_qem_28_the_retry_keeps_the_context_and_quotes_the_answer_before() -> None:
    def render(declined: str) -> ChatRequest:
        return answer.render(
            "Who ran?", speakers="Ana", cards="v1", sources="", pool="", templates={},
            declined=declined,
        )  # fmt: skip

    first, second = render(""), render("No idea")
    assert second.messages[-1].text.startswith(first.messages[-1].text)
    assert '"No idea"' in second.messages[-1].text[len(first.messages[-1].text) :]
    assert first.prompt != second.prompt
