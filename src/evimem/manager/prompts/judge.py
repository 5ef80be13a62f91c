"""The judge of an answer: CORRECT or WRONG, asked in one user message (UNI-24)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from evimem.model.chat import ChatMessage, ChatRequest
from evimem.model.prompt import compose
from evimem.query.templates import filled, tag_of

__all__ = ["PROMPT", "Label", "read_label", "render"]

MAX_TOKENS = 300
"""Ceiling of the reply: a sentence and a label, with room for models that think aloud."""

Label = Literal["CORRECT", "WRONG"]
"""What a judge says of an answer."""

PROMPT = compose(
    "uni.judge",
    1,
    task=(
        'You mark the answer to a question as "CORRECT" or "WRONG". You are given the question, '
        "which one person put to another, the reference answer, which is right, and the answer to "
        "be marked."
    ),
    rules={
        "point": (
            "Such a question asks for what one of the two should know of the other from their "
            "earlier conversations."
        ),
        "reference": (
            "The reference answer is mostly short and names what was asked for. An example: to "
            '"Do you still know what I brought home from Lisbon?" it is "a blue tile".'
        ),
        "generous": (
            "The answer to be marked may be much longer. Be generous: it is CORRECT as long as it "
            "is about the same thing as the reference answer."
        ),
        "time": (
            "Where a time is asked for, the reference answer is a day, month, year or the like. "
            "The answer to be marked may say more, or say it from another day, such as "
            '"last Friday" or "next year"; be generous, and mark it CORRECT if it means the same '
            "day or stretch of time."
        ),
        "format": (
            'The way a date is written makes no difference: "March 3rd" and "3 March" are the '
            "same, and so CORRECT."
        ),
        "reason": "Give your reason first, in one short sentence, then end with the label.",
        "one-label": (
            "Use only one of the words CORRECT and WRONG in what you write; with both, it cannot "
            "be read."
        ),
        "json": 'The label is JSON under the key "label", as in {"label": "..."}.',
    },
)

_LABEL = re.compile(
    r"[\"'“”]?\blabel\b[\"'“”]?\s{0,9}[:=]\s{0,9}[\"'“”*]{0,3}(correct|wrong)\b"
    r"(?![\"'“”]?\s{0,9}(?:or\b|/|\|))",
    re.IGNORECASE,
)
_CAPITALS = re.compile(r"(?<!not )(?<!NOT )(?<!n't )(?<!N'T )\b(CORRECT|WRONG)\b")
_ALONE = re.compile(r"[\W_]*(correct|wrong)[\W_]*", re.IGNORECASE)
_THOUGHT = re.compile(
    r"<think(?:ing)?>.*?(?:</think(?:ing)?>|$)|^.*</think(?:ing)?>", re.DOTALL | re.IGNORECASE
)


def render(
    question: str, gold: str, answer: str, *, templates: Mapping[str, str] | None = None
) -> ChatRequest:
    """The judge's request; it names no system.

    Args:
        question: the question.
        gold: the reference answer.
        answer: the answer to be marked.
        templates: prompts from files, by name; one in place of ours has the places {question},
            {answer} (the reference answer) and {response}.
    """
    template = (templates or {}).get(PROMPT.name)
    if template is None:
        text = (
            f"{PROMPT.system}\n\nQuestion: {question}\nReference answer: {gold}\n"
            f"Answer to be marked: {answer}"
        )
    else:
        text = filled(template, {"question": question, "answer": gold, "response": answer})
    return ChatRequest(
        messages=(ChatMessage(role="user", text=text),),
        role="judge",
        phase="judge",
        prompt=PROMPT.tag if template is None else tag_of(PROMPT.name, template),
        max_tokens=MAX_TOKENS,
    )


def read_label(reply: str) -> Label | None:
    """The label of a reply; None where it has none or says both.

    What stands under the key "label" decides, whatever other keys or words say, in any case and
    also in JSON that is broken or cut. Without the key: the one of the two words that stands in
    capitals, or, in small letters, a last line that is nothing else ("incorrect" and "not correct"
    are no labels).
    """
    text = _THOUGHT.sub(" ", reply)
    for found in (_LABEL.findall(text), _CAPITALS.findall(text), _last_line(text)):
        labels = {word.upper() for word in found}
        if labels:
            return _one(labels)
    return None


def _one(labels: set[str]) -> Label | None:
    if labels == {"CORRECT"}:
        return "CORRECT"
    return "WRONG" if labels == {"WRONG"} else None


def _last_line(text: str) -> list[str]:
    lines = [line for line in text.splitlines() if line.strip()]
    alone = _ALONE.fullmatch(lines[-1]) if lines else None
    return [alone.group(1)] if alone else []
