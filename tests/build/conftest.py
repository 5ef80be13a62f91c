"""Turns and models for tests of the builders."""

from __future__ import annotations

import json
from typing import Any

import pytest

from evimem.llm.scripted import ScriptedModels
from evimem.model.chat import ChatRequest
from evimem.model.turn import Turn
from evimem.ports import ChatModel


class Kit:
    """Helpers that tests of facts share."""

    def turn(self, text: str = "I adopted a parrot.", **more: Any) -> Turn:
        given: dict[str, Any] = {
            "turn_id": "t1", "session_id": "s1", "index": 0, "speaker": "Ana", "role": "person",
            **more,
        }  # fmt: skip
        return Turn(text=text, **given)

    def reply(self, *texts: str) -> dict[str, Any]:
        """A reply with these facts."""
        return {"facts": [self.fact(text) for text in texts]}

    def fact(self, text: str, **more: Any) -> dict[str, Any]:
        return {"text": text, "keywords": ["parrot"], "topics": ["pets"], **more}

    def model(self, script: Any) -> tuple[ChatModel, ScriptedModels]:
        """A scripted model with the real parsing around it, and its log of requests."""
        models = ScriptedModels(script if callable(script) else {"extract": script})
        return models.session().model("extract"), models

    def shown(self, request: ChatRequest) -> dict[str, Any]:
        """What a request shows, as the model reads it."""
        found: dict[str, Any] = json.loads(request.messages[1].text)
        return found


@pytest.fixture
def kit() -> Kit:
    return Kit()
