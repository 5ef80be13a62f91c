"""NaiveRAG cuts between turns, shows k units and knows the turns of each."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from evimem.eval.baselines.naive_rag import NAIVE_RAG_TURNS, NaiveRag
from evimem.eval.harness.system import Tools
from evimem.llm.scripted import ScriptedModels
from evimem.model.evidence import Question
from evimem.model.turn import History

ASKED = Question(text="bakery called Amber Rita")


def test_no_call_is_made_to_build_and_one_to_answer(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    models = ScriptedModels({"answer": ["Amber"]})
    tools = tools_of(models)

    built = NaiveRag(chunk_tokens=60).build(history, tools)
    assert models.requests == ()
    asked = built.ask(ASKED, tools)

    assert asked.answer == "Amber"
    assert [(r.role, r.phase) for r in models.requests] == [("answer", "online")]


def test_every_turn_is_in_exactly_one_chunk_and_no_chunk_cuts_a_turn(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    stored = NaiveRag(chunk_tokens=60).build(history, tools_of([])).stored()

    assert len(stored) > 2
    assert [one for chunk in stored for one in chunk.turn_ids] == [f"t{n}" for n in range(8)]
    for chunk in stored:
        for turn_id in chunk.turn_ids:
            assert history.turns[int(turn_id[1:])].text in chunk.text


def test_overlap_repeats_the_last_turns_of_the_chunk_before(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    stored = NaiveRag(chunk_tokens=60, overlap=1).build(history, tools_of([])).stored()

    for before, after in pairwise(stored):
        assert after.turn_ids[0] == before.turn_ids[-1]


def test_over_single_turns_the_turn_that_shares_the_words_comes_first(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    tools = tools_of(["Amber"])

    asked = NAIVE_RAG_TURNS.build(history, tools).ask(
        Question(text="I met Rita yesterday, her bakery is called Amber."), tools
    )

    assert asked.steps[0].turn_ids[0] == "t3"
    assert len(asked.steps[0].turn_ids) == 8, "k = 20 is more than there are"
    assert asked.shown[0].text == "[6:00 pm on 5 October 2024] Marek: " + history.turns[3].text
