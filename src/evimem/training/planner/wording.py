"""How a planner's request is put to a small model: whole, or without what it was trained to do.

The rules of MERA's prompt take four times the tokens of a state. A planner that was trained on
plans knows them; it is told its task in a line and shown the state. Training and inference word a
request by the same function, so a planner is asked as it was trained.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from typing import Literal

from evimem.errors import UsageError
from evimem.model.chat import ChatMessage, ChatRequest
from evimem.training.execution import Trials
from evimem.training.states import PlannerState

__all__ = ["WORDINGS", "WordedTrials", "Wording", "worded"]

Wording = Literal["full", "brief"]
"""full: as the recipe words it; brief: the task in a line, no empty section of the state, and no
times: they are a third of the tokens of a small state, and its queries are for words."""

WORDINGS: tuple[Wording, ...] = ("full", "brief")
"""All wordings."""

_BRIEF = (
    "Plan the next search in a memory of conversations. Reply with JSON: missing, sufficient, "
    "intents (fact, entities, topics)."
)

_TIMES = re.compile(r"\nAsked at: \S+$|, said [^\n]*?(?=:$)", re.M)
"""The reference date, and the time of a record after its speaker."""


def worded(request: ChatRequest, wording: Wording) -> ChatRequest:
    """A planner's request in a wording.

    Args:
        request: as the recipe makes it: a system message, then the state.
        wording: the wording.

    Raises:
        UsageError: there is no such wording, or the request is no planner's.
    """
    if wording == "full":
        return request
    if wording != "brief":
        raise UsageError(f"no wording {wording!r}; there are {', '.join(WORDINGS)}")
    if request.role != "plan" or len(request.messages) != 2:
        raise UsageError(
            f"a request of {len(request.messages)} messages for {request.role!r} is no planner's:"
            " only that can be put briefly"
        )
    question, *sections = request.messages[1].text.split("\n\n")
    kept = [one for one in sections if not _empty(one)]
    text = _TIMES.sub("", "\n".join([question, *kept]))
    told = (ChatMessage(role="system", text=_BRIEF), ChatMessage(role="user", text=text))
    return dataclasses.replace(request, messages=told, prompt=f"{request.prompt}+brief")


def _empty(block: str) -> bool:
    """True for a section with nothing in it ("Relations: none")."""
    return "\n" not in block and block.endswith(": none")


@dataclass(frozen=True, slots=True, kw_only=True)
class WordedTrials(Trials):
    """Trials whose prompts are in a wording."""

    wording: Wording = "full"
    """The wording."""

    def prompt(self, state: PlannerState) -> ChatRequest:
        """What the planner reads of a state."""
        return worded(Trials.prompt(self, state), self.wording)
