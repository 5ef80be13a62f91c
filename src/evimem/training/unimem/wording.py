"""Event contexts as token ids: what a policy reads, and how its responses are read back.

A response is kept as the ids that were sampled. What follows it (the tools' results and the mark
that the next response begins) is appended as ids of its own, so nothing is ever rendered a second
time and no id changes after it was sampled. Demonstrations are written the same way, so training
on them and sampling see the same ids.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from evimem.errors import UsageError
from evimem.manager.events import Event
from evimem.manager.prompts.observe import observe
from evimem.manager.prompts.system import system_text
from evimem.manager.protocol import TextProtocol
from evimem.model.chat import ChatReply
from evimem.model.tools import Said, ToolStep

__all__ = ["ChatWording", "Tokenizer", "Wording"]


class Tokenizer(Protocol):
    """What is used of a tokenizer of transformers."""

    eos_token_id: int

    def __call__(self, text: str, *, add_special_tokens: bool) -> Any:
        """Ids of a text under `input_ids`."""
        ...

    def decode(self, ids: Sequence[int], *, skip_special_tokens: bool) -> str:
        """The text of ids."""
        ...

    def apply_chat_template(self, messages: Sequence[Any], **options: Any) -> Any:
        """Messages as one text."""
        ...


class Wording(Protocol):
    """One way to write event contexts as ids."""

    def opening(self, event: Event) -> list[int]:
        """System message, observation, and the mark that a response begins."""
        ...

    def said(self, step: ToolStep) -> list[int]:
        """A response that was not sampled (a demonstration), with its end mark."""
        ...

    def between(self, observation: str, steps: Sequence[ToolStep], *, ended: bool) -> list[int]:
        """What stands between the last response and the next: its end mark, if it was not sampled,
        the results, and the mark that a response begins."""
        ...

    def read(self, ids: Sequence[int]) -> tuple[Said, bool]:
        """What a sampled response says, and whether its end mark was sampled."""
        ...


_MARK = "\u2402RESPONSE\u2403"
"""Stands for a response while a template is taken apart; no template holds it."""


class ChatWording:
    """Contexts by the chat template of a model."""

    def __init__(self, tokenizer: Tokenizer, *, system: str | None = None, **template: Any) -> None:
        """Take the template apart.

        Args:
            tokenizer: of the model, with a chat template.
            system: the system message; None: the manager's own.
            template: options of the template, such as enable_thinking=False.

        Raises:
            UsageError: the template leaves out or changes a response, so that no context could go
                on after it.
        """
        self._tokenizer = tokenizer
        self._protocol = TextProtocol()
        self._system = system_text(self._protocol.told)[0] if system is None else system
        self._template = template
        self._end = tokenizer.eos_token_id
        self._end_text = tokenizer.decode([self._end], skip_special_tokens=False)
        self._before_result, self._after_result = self._taken_apart()

    def _taken_apart(self) -> tuple[str, str]:
        """The template's words between a response's end mark and a result, and after it."""
        whole = self._rendered(
            [
                {"role": "user", "content": "a"},
                {"role": "assistant", "content": _MARK},
                {"role": "user", "content": _MARK},
            ]
        )
        parts = whole.split(_MARK)
        if len(parts) != 3 or not parts[1].startswith(self._end_text):
            raise UsageError(
                "the chat template does not end a response with the end token"
                f" {self._end_text!r}: events of several responses cannot be written with it"
            )
        return parts[1][len(self._end_text) :], parts[2]

    def _rendered(self, messages: Sequence[dict[str, str]]) -> str:
        text = self._tokenizer.apply_chat_template(
            [{"role": "system", "content": self._system}, *messages],
            tokenize=False,
            add_generation_prompt=True,
            **self._template,
        )
        return str(text)

    def _ids(self, text: str) -> list[int]:
        return list(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    def opening(self, event: Event) -> list[int]:
        """System message, observation, and the mark that a response begins."""
        return self._ids(self._rendered([{"role": "user", "content": observe(event)}]))

    def said(self, step: ToolStep) -> list[int]:
        """A response that was not sampled, with its end mark."""
        written = self._protocol.messages("", [step])[1].text
        return [*self._ids(written), self._end]

    def between(self, observation: str, steps: Sequence[ToolStep], *, ended: bool) -> list[int]:
        """End mark if it was not sampled, results, and the mark that a response begins."""
        results = self._protocol.messages(observation, steps)[-1].text
        text = f"{self._before_result}{results}{self._after_result}"
        return [*(() if ended else (self._end,)), *self._ids(text)]

    def read(self, ids: Sequence[int]) -> tuple[Said, bool]:
        """What a sampled response says; what was cut says so to the policy, as in inference."""
        ended = bool(ids) and ids[-1] == self._end
        text = self._tokenizer.decode(list(ids[:-1] if ended else ids), skip_special_tokens=False)
        reply = ChatReply(text=text, finish="stop" if ended else "length")
        return self._protocol.read(reply), ended
