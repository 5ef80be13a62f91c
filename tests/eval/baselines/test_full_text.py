"""FullText shows the whole conversation, or its newest part where the window is smaller."""

from __future__ import annotations

from collections.abc import Callable

from evimem.eval.baselines.full_text import FullText
from evimem.eval.harness.system import Tools
from evimem.llm.scripted import ScriptedModels
from evimem.model.evidence import Question
from evimem.model.turn import History

ASKED = Question(text="What is Rita's bakery called?")


def test_the_prompt_holds_every_turn_and_one_call_is_made(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    models = ScriptedModels({"answer": ["Amber"]})
    tools = tools_of(models)

    asked = FullText().build(history, tools).ask(ASKED, tools)

    assert asked.answer == "Amber"
    assert asked.steps[0].turn_ids == tuple(f"t{n}" for n in range(8))
    [request] = models.requests
    assert all(turn.text in request.messages[1].text for turn in history.turns)
    assert request.messages[1].text.endswith(ASKED.text), "the question last, for prefix caches"


def test_a_small_window_leaves_out_the_oldest_turns_and_says_which_were_read(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    tools = tools_of(["Amber"], window=600)

    asked = FullText().build(history, tools).ask(ASKED, tools)

    read = asked.steps[0].turn_ids
    assert read == tuple(f"t{n}" for n in range(8 - len(read), 8))
    assert 0 < len(read) < 8


def test_an_answer_that_declines_is_an_abstention(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    tools = tools_of(["It is not mentioned in the conversation."])

    assert FullText().build(history, tools).ask(ASKED, tools).abstained
