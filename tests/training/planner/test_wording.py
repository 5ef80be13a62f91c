"""A planner's request, whole and brief."""

from __future__ import annotations

import json

import pytest
from mera_world import World, intents
from training_world import CONFIG, TOLD, state

from evimem.errors import UsageError
from evimem.llm.structured import Structured
from evimem.model.chat import ChatMessage, ChatRequest
from evimem.training.execution import Trials
from evimem.training.planner.wording import WORDINGS, WordedTrials, Wording, worded


def trials(wording: Wording) -> WordedTrials:
    return WordedTrials(
        config=CONFIG,
        banks={"b1": World(*TOLD).view},
        read=lambda model: Structured(model, attempts=1),
        wording=wording,
    )


def test_a_full_prompt_is_that_of_the_recipe() -> None:
    full = trials("full")
    plain = Trials(config=full.config, banks=full.banks, read=full.read)
    assert full.prompt(state("t3")) == plain.prompt(state("t3"))


def test_a_brief_prompt_keeps_the_state_and_leaves_rules_and_empty_sections_out() -> None:
    request, whole = trials("brief").prompt(state("t3")), trials("full").prompt(state("t3"))
    told, shown = (one.text for one in request.messages)
    assert len(told) < 200 < len(whole.messages[0].text)
    assert shown == "Question: Where is the bakery?"
    assert "Accepted evidence: none" in whole.messages[1].text
    assert request.schema == whole.schema and request.max_tokens == whole.max_tokens
    assert request.prompt != whole.prompt, "a trace says how its planner was asked"


def test_a_brief_prompt_keeps_sections_with_something_in_them_without_times() -> None:
    request = ChatRequest(
        role="plan",
        messages=(
            ChatMessage(role="system", text="rules"),
            ChatMessage(
                role="user",
                text="Question: who: none\nAsked at: 2023-05-04T10:00:00+00:00\n\nRelations: none"
                "\n\nQueries so far:\n- x: none\n\nAccepted evidence:\ne1: Mira, said 2023-05-03"
                " 16:28 (Wednesday):\n    - I said 3:",
            ),
        ),
    )
    shown = worded(request, "brief").messages[1].text
    assert shown == (
        "Question: who: none\nQueries so far:\n- x: none\nAccepted evidence:\ne1: Mira:\n"
        "    - I said 3:"
    )


def test_other_wordings_and_other_requests_are_refused() -> None:
    request = ChatRequest(role="verify", messages=(ChatMessage(role="user", text="x"),))
    with pytest.raises(UsageError, match="no planner's"):
        worded(request, "brief")
    with pytest.raises(UsageError, match="no wording 'short'"):
        worded(request, "short")  # type: ignore[arg-type]


def test_outputs_are_tried_alike_whatever_the_wording() -> None:
    plan = json.dumps(intents("Porto"))
    for wording in WORDINGS:
        assert trials(wording).run(state("t3"), plan).recovered == ("t3",)
