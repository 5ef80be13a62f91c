"""The last step that most baselines share: memories in dated lines, one question, a short answer.

Where a paper's answer prompt has rules of its own, its module has a prompt of its own; this is the
plain one.
"""

from __future__ import annotations

from collections.abc import Sequence

from evimem.eval.baselines.common import day_of, lines, read_answer, room_of, say, within
from evimem.eval.harness.system import Asked, Shown, Step, Tools
from evimem.model.evidence import Question
from evimem.model.prompt import Prompt
from evimem.scoring.tokens import estimate_tokens

__all__ = ["REPLY_TOKENS", "answered", "asked_words"]

REPLY_TOKENS = 120
"""Ceiling of a short answer."""


def asked_words(question: Question, tools: Tools) -> str:
    """The question as a prompt ends with it: what "now" is, where known, and the words."""
    day = day_of(tools.now)
    now = f"The question is asked at {day}.\n" if day else ""
    return f"{now}Question: {question.text}"


def answered(
    question: Question,
    tools: Tools,
    *,
    prompt: Prompt,
    shown: Sequence[Shown],
    steps: tuple[Step, ...],
    stop: str = "finished",
    tokens: int = 8000,
    reply_tokens: int = REPLY_TOKENS,
    temperature: float = 0.0,
) -> Asked:
    """One answer call over memories, cut to the model's window from their end.

    Args:
        question: the question.
        tools: the models; the role is `answer`.
        prompt: the system message.
        shown: memories in the order to show.
        steps: the rounds that found them.
        stop: why the search ended.
        tokens: ceiling of the memories.
        reply_tokens: ceiling of the reply.
        temperature: of sampling.
    """
    model = tools.session.model("answer")
    fixed = estimate_tokens(prompt.system + question.text) + 60
    kept = within(shown, room_of(model, fixed=fixed, reply=reply_tokens, most=tokens))
    user = f"Memories:\n{lines(kept) or '(none)'}\n\n{asked_words(question, tools)}"
    said = say(tools, prompt, user, role="answer", max_tokens=reply_tokens, temperature=temperature)
    answer, abstained = read_answer(said)
    return Asked(
        answer=answer,
        abstained=abstained,
        shown=kept,
        steps=steps,
        stop=stop,
        problem=said.problem,
    )
