"""IRCoT: one sentence, one retrieval, until the answer is there; then a separate reader."""

from __future__ import annotations

from collections.abc import Callable

from evimem.eval.baselines.ircot import IrCot
from evimem.eval.harness.system import Tools
from evimem.llm.scripted import ScriptedModels
from evimem.model.evidence import Question
from evimem.model.turn import History

ASKED = Question(text="What is the bakery of Ines's sister called?")


def run_with(
    history: History,
    tools_of: Callable[..., Tools],
    sentences: list[str],
    reader: str = "So the answer is: Amber",
    **config: int,
) -> tuple[object, ScriptedModels]:
    models = ScriptedModels({"plan": sentences, "answer": [reader]})
    tools = tools_of(models)
    return IrCot(**config).build(history, tools).ask(ASKED, tools), models


def test_the_sentence_is_the_next_query_and_the_rest_of_the_generation_is_thrown_away(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    said = ["Marek has a dog called Bruno. The answer is: Bruno.", "So the answer is: Amber."]

    asked, models = run_with(history, tools_of, said, per_query=1)

    assert [step.queries for step in asked.steps] == [
        (ASKED.text,), ("Marek has a dog called Bruno.",),
    ]  # fmt: skip
    assert asked.steps[1].turn_ids == ("t5",)
    assert models.requests[1].messages[1].text.endswith("Reasoning: Marek has a dog called Bruno.")
    assert (asked.answer, asked.stop) == ("Amber", "converged")


def test_a_sentence_that_only_concludes_falls_back_to_the_question(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    said = ["Therefore the bakery is near.", "2 + 2 makes four.", "The answer is Amber."]

    asked, _ = run_with(history, tools_of, said)

    assert [step.queries[0] for step in asked.steps] == [ASKED.text] * 3


def test_an_empty_sentence_ends_the_reasoning(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    asked, _ = run_with(history, tools_of, ["   "])

    assert asked.stop == "exhausted"


def test_passages_and_sentences_have_ceilings(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    said = [f"Ines and Marek and Rita talk of number {word}." for word in ("a", "b", "c")]

    asked, models = run_with(history, tools_of, said, per_query=2, most=3, max_sentences=2)

    assert asked.stop == "max_iterations"
    assert sum(len(step.turn_ids) for step in asked.steps) == 3
    assert sum(r.role == "plan" for r in models.requests) == 2
    assert sum(r.role == "answer" for r in models.requests) == 1


def test_what_stands_behind_answer_is_counts_and_a_refusal_is_an_abstention(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    asked, _ = run_with(
        history, tools_of, ["The answer is x."], reader="They met. So the answer is: not mentioned."
    )

    assert asked.abstained and asked.answer == "not mentioned"
