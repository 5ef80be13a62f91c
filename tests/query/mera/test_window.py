"""Prompts fit the window of the models that read them."""

from __future__ import annotations

from typing import Any

import pytest
from mera_world import World, intents, verdict

from evimem.errors import SettingsError
from evimem.llm.scripted import ScriptedModels
from evimem.model.chat import ChatRequest
from evimem.recipes.mera import MERA, fitted, rebuilt
from evimem.scoring.tokens import estimate_tokens
from evimem.trace import Trace

LONG = "and then the long walk around the lake with the two old dogs of the neighbour who sings"
TOLD = tuple(
    ("Mira", f"Walk {n}", [f"Mira walked number {n} {LONG}", f"It rained on walk {n} {LONG}"])
    for n in range(60)
)


def asked(window: int) -> tuple[ScriptedModels, Trace]:
    def say(request: ChatRequest) -> Any:
        if request.role == "seed":
            return {"seeds": []}
        if request.role == "plan":
            return intents("Mira walked", "rained on the lake", "two old dogs")
        if request.role == "verify":
            nodes = [{"name": "Mira", "type": "person", "from": ["c1"]}]
            return verdict(request, "walk", nodes=nodes)
        return {"answer": "Mira", "evidence": ["e1"], "covered": "full"}

    models = ScriptedModels(say, window=window)
    return models, World(*TOLD).ask("Who walked?", models, MERA)


@pytest.mark.parametrize("window", [0, 4000, 4096, 8192])
def test_case_p032_no_prompt_with_its_reply_exceeds_the_window(window: int) -> None:
    models, trace = asked(window)
    assert len(trace.accepted) > 20
    for request in models.requests:
        prompt = sum(estimate_tokens(message.text) for message in request.messages)
        schema = estimate_tokens(str(request.schema))
        if window:
            assert prompt + schema + request.max_tokens <= window
    cut = [one for done in trace.rounds for one in done.cut]
    assert bool(cut) == (window in (4000, 4096)), "what does not fit is named in the trace"
    assert tuple(one.request for one in rebuilt(MERA, trace)) == models.requests


def test_what_was_left_unread_is_found_again_in_a_later_round() -> None:
    _, trace = asked(4096)
    unread = {one for done in trace.rounds for one in done.cut}
    assert unread & set(trace.viewed)


def test_a_window_that_is_too_small_is_refused_with_what_to_do() -> None:
    with pytest.raises(SettingsError, match=r"set to 2048 tokens .*EVIMEM_LLM_CONTEXT"):
        fitted(MERA, 2048)
    assert fitted(MERA, 0) == MERA == fitted(MERA, 128_000)


def test_older_records_that_do_not_fit_the_answer_prompt_are_named() -> None:
    _, trace = asked(4000)
    assert trace.answer is not None
    assert any(why.startswith("context_trimmed:") for why in trace.answer.degraded)
