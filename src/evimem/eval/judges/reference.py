"""What a judge lays an answer beside. It has no field for who answered (BEN-7)."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from evimem.datasets import Gold

__all__ = ["Reference", "answer_digest", "reference_of"]

_FORMAT = 1  # version of what a digest covers
_UNANSWERABLE = "The conversations do not tell this."


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """The right answer to one question, and what kind of question it is."""

    answer: str
    """The gold answer; of a question that cannot be answered, the explanation why."""
    category: str = ""
    """Type of the question by name; it may choose the wording of the judge."""
    answerable: bool = True
    """False where the right answer is that memory does not hold it."""


def reference_of(gold: Gold) -> Reference:
    """The reference of a gold answer. Where a question cannot be answered and the benchmark gives
    no explanation, it is a sentence of ours, with the answer that invites itself where one is
    known."""
    answer = gold.answer
    if not gold.answerable and not answer:
        answer = _UNANSWERABLE
        if gold.trap:
            answer += f" The following answer is wrong: {gold.trap}"
    return Reference(answer=answer, category=gold.category, answerable=gold.answerable)


def answer_digest(reference: Reference, answer: str) -> str:
    """Hash of an answer and the gold that it is laid beside: what a judgement is found by."""
    parts: list[object] = [_FORMAT, reference.answer, answer]
    if not reference.answerable:
        parts.append("unanswerable")
    written = json.dumps(parts, ensure_ascii=True).encode("ascii")
    return hashlib.blake2b(written, digest_size=12).hexdigest()
