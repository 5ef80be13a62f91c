"""Contexts written as characters and samplers that are functions, for tests of Uni-Mem's training.

No model and no tokenizer: an id is the number of a character, and the end mark is id 3.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from evimem.manager.events import Event
from evimem.manager.prompts.observe import observe
from evimem.manager.protocol import TextProtocol
from evimem.model.chat import ChatReply
from evimem.model.tools import Said, ToolStep
from evimem.training.unimem.rollouts import Sampled

END = 3


def ids_of(text: str) -> list[int]:
    return [ord(sign) for sign in text]


def text_of(ids: Sequence[int]) -> str:
    return "".join(map(chr, ids))


class CharWording:
    """`Wording` of characters: SYS, the observation, a bar where a response begins."""

    def opening(self, event: Event) -> list[int]:
        return ids_of(f"SYS\n{observe(event)}|")

    def said(self, step: ToolStep) -> list[int]:
        return [*ids_of(TextProtocol().messages("", [step])[1].text), END]

    def between(self, observation: str, steps: Sequence[ToolStep], *, ended: bool) -> list[int]:
        results = TextProtocol().messages(observation, steps)[-1].text
        return [*(() if ended else (END,)), *ids_of(f"{results}|")]

    def read(self, ids: Sequence[int]) -> tuple[Said, bool]:
        ended = ids[-1] == END
        text = text_of(ids[:-1] if ended else ids)
        finish: Any = "stop" if ended else "length"
        return TextProtocol().read(ChatReply(text=text, finish=finish)), ended


class Sampling:
    """`Generate` from a function of the context's text; keeps what it was asked."""

    def __init__(self, say: Callable[[str], str], *, end: bool = True) -> None:
        self.say = say
        self.end = end
        self.asked: list[list[str]] = []

    def __call__(self, contexts: Sequence[Sequence[int]]) -> list[Sampled]:
        texts = [text_of(one) for one in contexts]
        self.asked.append(texts)
        return [
            Sampled(ids=tuple([*ids_of(self.say(text)), *([END] if self.end else [])]))
            for text in texts
        ]


def called(name: str, **arguments: Any) -> str:
    body = json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False)
    return f"<tool_call>{body}</tool_call>"


FINISH = called("finish_event")


def writer(content: Callable[[str], str], query: Callable[[str], str] = lambda text: "x") -> Any:
    """Searches once; writes what `content` makes of the context, if anything; then finishes. For a
    question it searches for what `query` makes of the context."""

    def say(context: str) -> str:
        done = context.count("</tool_response>")
        if '"event": "question"' in context:
            return FINISH if done else called("memory_search", query=query(context))
        if not done:
            return called("memory_search", query="x")
        wanted = content(context)
        if done == 1 and wanted:
            return called("create_memory", content=wanted)
        return FINISH

    return say
