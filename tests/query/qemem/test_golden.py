"""A whole run of qem-full, every prompt as on file: plan, two rounds of cards, answer, retry."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

import pytest
from qemem_world import ask, card, cards, label_of, plan

from evimem.llm.scripted import ScriptedModels
from evimem.model.chat import ChatRequest
from evimem.query.qemem.fusion import Budgets
from evimem.recipes.qemem import FULL
from evimem.trace import Trace

SNAPSHOTS = Path(__file__).parent / "snapshots"
WRITE = os.environ.get("EVIMEM_WRITE_SNAPSHOTS") == "1"  # read before tests clear the settings

CONFIG = dataclasses.replace(FULL, narrow=Budgets(episode=1, semantic=2, turn=2))
QUESTION = "How much did Mira pay for the kiln in all?"
CALLS = ("1_plan", "2_cards", "3_cards", "4_answer", "5_retry")


def script(request: ChatRequest) -> Any:
    text = request.messages[-1].text
    if request.role == "plan":
        return plan(
            "about 900 crowns",
            "what did it cost",
            answer_type="count",
            need="every payment for the kiln",
        )
    if request.role == "answer":
        if "# NOTE" not in text:
            return "REASONING: two sums.\nFINAL ANSWER: The total is not stated."
        return "REASONING: 900 and 400 more.\n**FINAL ANSWER:** about 900 and then 400 crowns"
    if "earlier rounds" not in text:
        return cards(
            card("Mira paid about 900 crowns", label_of(request, "900"), quote="About 900 crowns"),
            card("The kiln was cheap", "E1", "T40", quote="cheap as dirt", relation="other"),
            missing="whether she paid more later",
            ask=["400 crowns more", "gave him crowns", "last Friday", "a fourth"],
        )
    return cards(
        card(
            "Mira gave Pavel 400 crowns more",
            label_of(request, "400"),
            quote="I gave him 400 crowns more last Friday",
            time="15 March 2031",  # a day too late
            relation="answer candidate",
        )
    )


@pytest.fixture(scope="module")
def golden() -> tuple[Trace, ScriptedModels]:
    return ask(QUESTION, script, CONFIG)


def written(request: ChatRequest) -> str:
    """Everything of a request that a model or a ledger sees."""
    told = [f"{request.prompt}  role {request.role}  max_tokens {request.max_tokens}"]
    told += [f"--- {message.role}\n{message.text}" for message in request.messages]
    told.append("--- schema\n" + json.dumps(request.schema, indent=1))
    return "\n".join(told) + "\n"


@pytest.mark.parametrize("name", CALLS)
def test_qem_10_13_20_25_and_28_every_prompt_is_the_one_on_file(
    golden: tuple[Trace, ScriptedModels], name: str
) -> None:
    """A change of words needs a new version of its prompt: raise it, then write the files anew by
    running this test with EVIMEM_WRITE_SNAPSHOTS=1."""
    request = golden[1].requests[CALLS.index(name)]
    file = SNAPSHOTS / f"{name}.txt"
    if WRITE:
        file.parent.mkdir(exist_ok=True)
        file.write_text(written(request), encoding="utf-8")
    assert written(request) == file.read_text(encoding="utf-8")


def test_the_run_ends_as_told(golden: tuple[Trace, ScriptedModels]) -> None:
    trace, models = golden
    assert len(models.requests) == len(CALLS)
    assert (trace.stop_reason, len(trace.rounds)) == ("sufficient", 2)
    assert trace.answer is not None
    assert (trace.answer.text, trace.answer.status) == (
        "about 900 and then 400 crowns",
        "supported",
    )
    assert [one.turn_id for one in trace.answer.citations] == ["s1-4", "s3-2"]
    made = [c for done in trace.rounds if done.assessment for c in done.assessment.cards]
    assert [(c.card_id, c.quote_verified, c.unresolved) for c in made] == [
        ("v1", True, ()),
        ("v2", False, ("T40",)),
        ("v3", True, ()),
    ]
    assert (made[2].time, made[2].time_origin) == ("the Friday before 18 March 2031", "normaliser")
