"""An optional pass of a chat model over the turns: other words, the same facts.

A paraphrase is kept only if every value and time phrase that a gold answer or a question relies on
is still in it, word for word; all else is refused and counted. Turns without a fact are left alone.
"""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Mapping

from evimem.datasets.base import Dataset
from evimem.errors import ModelError
from evimem.model.chat import ChatMessage, ChatRequest
from evimem.model.prompt import compose
from evimem.model.turn import Turn
from evimem.ports import ChatModel

__all__ = ["PARAPHRASE", "paraphrase", "survives"]

PARAPHRASE = compose(
    "generated.paraphrase",
    1,
    task="Rewrite one chat message in other words, as the same speaker would say it.",
    rules={
        "keep": "Keep every phrase of the list exactly as it is written, word for word.",
        "same": "Add no fact, name, number or date, and leave none out.",
        "length": "Stay within ten words of the original length.",
        "only": "Answer with the rewritten message and nothing else.",
    },
)
"""What the model is told; the message and its phrases follow as a user message."""

_LONGEST = 1.8  # times the words of the original
_NUMBER = re.compile(r"\d+")


def paraphrase(
    dataset: Dataset, musts: Mapping[str, tuple[str, ...]], model: ChatModel
) -> tuple[Dataset, Counter[str]]:
    """The data set with the turns in `musts` said in other words.

    Args:
        dataset: a generated data set.
        musts: turn id -> phrases that must survive (see `Generated.musts`).
        model: rewrites one turn per call. A call that fails leaves the turn as it was.

    Returns:
        The new data set, and how many paraphrases were kept and refused, with the reason.
    """
    counts: Counter[str] = Counter()
    histories = {}
    for history_id, history in dataset.histories.items():
        turns = tuple(
            _rewritten(turn, musts[turn.turn_id], model, counts) if turn.turn_id in musts else turn
            for turn in history.turns
        )
        histories[history_id] = dataclasses.replace(history, turns=turns)
    note = f"{counts['kept']} turns paraphrased by {model.model_id}"
    notes = (*dataset.notes, note)
    return dataclasses.replace(dataset, histories=histories, notes=notes), counts


def survives(original: str, rewritten: str, musts: tuple[str, ...]) -> str:
    """Why a paraphrase is refused; empty if it may be used.

    Every phrase must stand in it as whole words, no number may be new, and it may not grow to a
    multiple of the original.
    """
    low = rewritten.lower()
    if not rewritten.strip():
        return "refused: empty"
    if any(not _holds(low, must.lower()) for must in musts):
        return "refused: a value or time phrase is gone"
    if set(_NUMBER.findall(rewritten)) - set(_NUMBER.findall(original)):
        return "refused: a new number"
    if len(rewritten.split()) > _LONGEST * len(original.split()):
        return "refused: too long"
    return ""


def _holds(text: str, phrase: str) -> bool:
    """True if the phrase stands in the text as whole words."""
    return re.search(rf"(?<!\w){re.escape(phrase)}(?!\w)", text) is not None


def _rewritten(turn: Turn, musts: tuple[str, ...], model: ChatModel, counts: Counter[str]) -> Turn:
    kept = "\n".join(f"- {must}" for must in musts)
    request = ChatRequest(
        messages=(
            ChatMessage(role="system", text=PARAPHRASE.system),
            ChatMessage(role="user", text=f"Phrases to keep:\n{kept}\n\nMessage:\n{turn.text}"),
        ),
        role="extract",
        phase="summary",
        prompt=PARAPHRASE.tag,
        max_tokens=256,
        temperature=0.8,
        sources=(turn.turn_id,),
    )
    try:
        text = model.chat(request).text.strip()
    except ModelError as error:
        counts[f"refused: call failed ({type(error).__name__})"] += 1
        return turn
    reason = survives(turn.text, text, musts)
    counts[reason or "kept"] += 1
    return turn if reason else dataclasses.replace(turn, text=text)
