"""Who answers from records and who judges: named functions, by a model or by a rule.

Whoever answers gets a question's words, what "now" means in it, and records; whoever judges gets
the question's words, the right answer and an answer, and never what system wrote it (BEN-7).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from evimem.eval.judges.reference import Reference
from evimem.manager.prompts import answer as answer_prompt
from evimem.manager.prompts import judge as judge_prompt
from evimem.manager.prompts.judge import Label
from evimem.model.chat import ModelCall
from evimem.model.records import Record
from evimem.ports import Models
from evimem.query.calls import ask_in_words
from evimem.scoring.text import normalise_answer

__all__ = [
    "Answerer",
    "Judge",
    "Written",
    "holds_gold",
    "model_answerer",
    "model_judge",
    "said_records",
    "tokens_of",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What an answer model wrote."""

    text: str
    """The answer."""
    tokens: int = 0
    """Tokens of its calls, prompt and reply together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answerer:
    """Who answers from records (g in Eq. 2). Frozen while managers are compared."""

    name: str
    """Model, prompt and whatever else changes an answer; it keeps rows apart."""
    write: Callable[[str, datetime | None, Sequence[Record]], Written]
    """From the words of a question, what "now" means in it, and records."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """Who says whether an answer is right (J in Eq. 3)."""

    name: str
    """Model and prompt; it keeps rows apart."""
    read: Callable[[str, Reference, str], Label | None]
    """From question, right answer and answer; None where it gave no label that can be read."""


def said_records(question: str, reference: datetime | None, records: Sequence[Record]) -> Written:
    """Answers with every record's words, without a model: for generated data."""
    return Written(text="\n".join(one.content for one in records))


def holds_gold(question: str, reference: Reference, answer: str) -> Label | None:
    """Judges without a model, for generated data: CORRECT if the gold's words, in their normal
    form, stand in the answer one after the other."""
    wanted = normalise_answer(reference.answer)
    return "CORRECT" if wanted and f" {wanted} " in f" {normalise_answer(answer)} " else "WRONG"


def tokens_of(calls: Sequence[ModelCall]) -> int:
    """Prompt and generated tokens of all attempts; replayed ones count as when they were made."""
    return sum(call.tokens_in + call.tokens_out for call in calls)


def model_answerer(models: Models, *, templates: Mapping[str, str] | None = None) -> Answerer:
    """The answer model of the settings with the prompt of UNI-23; each question has a session of
    its own, and so its own budget.

    Args:
        models: endpoints; the role is `answer`.
        templates: prompts from files, by name.

    Raises:
        SettingsError: no endpoint is set for the role.
    """
    empty = answer_prompt.render("", (), templates=templates)

    def write(question: str, reference: datetime | None, records: Sequence[Record]) -> Written:
        session = models.session()
        request = answer_prompt.render(question, records, reference=reference, templates=templates)
        said = ask_in_words(session.model("answer"), request)
        text = "" if said.problem else answer_prompt.final_answer(said.raw)
        return Written(text=text, tokens=tokens_of(session.calls))

    return Answerer(name=f"{models.session().model('answer').model_id} {empty.prompt}", write=write)


def model_judge(models: Models, *, templates: Mapping[str, str] | None = None) -> Judge:
    """The judge model of the settings with the prompt of UNI-24.

    Args:
        models: endpoints; the role is `judge`.
        templates: prompts from files, by name.

    Raises:
        SettingsError: no endpoint is set for the role.
    """
    empty = judge_prompt.render("", "", "", templates=templates)

    def read(question: str, reference: Reference, answer: str) -> Label | None:
        request = judge_prompt.render(question, reference.answer, answer, templates=templates)
        said = ask_in_words(models.session().model("judge"), request)
        return None if said.problem else judge_prompt.read_label(said.raw)

    return Judge(name=f"{models.session().model('judge').model_id} {empty.prompt}", read=read)
