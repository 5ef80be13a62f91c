"""Generated data sets as files that the loaders of LoCoMo and LongMemEval read (BEN-6)."""

from __future__ import annotations

import json
from collections import defaultdict
from datetime import datetime
from pathlib import Path
from typing import Any

from evimem.datasets.base import Dataset, Gold
from evimem.errors import UsageError
from evimem.model.evidence import Question
from evimem.model.turn import History, Turn

__all__ = ["write_locomo", "write_longmemeval"]

_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August"),
    *("September", "October", "November", "December"),
)
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def write_locomo(dataset: Dataset, path: Path) -> None:
    """A data set of conversations between two people as one file; read it with
    `load_locomo(path, variant_ok=True)`.

    Raises:
        UsageError: the data set has another form.
    """
    _check(dataset, "locomo")
    asked: defaultdict[str, list[Question]] = defaultdict(list)
    for question in dataset.questions:
        asked[dataset.gold[question.question_id].history_id].append(question)
    records = [
        {
            "sample_id": history_id,
            "conversation": _conversation(history),
            "qa": [_qa(one, dataset.gold[one.question_id]) for one in asked[history_id]],
        }
        for history_id, history in dataset.histories.items()
    ]
    path.write_text(json.dumps(records, ensure_ascii=False, indent=1), encoding="utf-8")


def write_longmemeval(dataset: Dataset, path: Path) -> None:
    """A data set of chats with an assistant as one file; read it with `load_longmemeval(path)`.

    Every record holds one question and its whole haystack, as in the benchmark, so that a
    conversation with forty questions is written forty times.

    Raises:
        UsageError: the data set has another form.
    """
    _check(dataset, "longmemeval")
    with path.open("w", encoding="utf-8") as file:
        for number, question in enumerate(dataset.questions):
            gold = dataset.gold[question.question_id]
            record = _record(question, gold, dataset.histories[gold.history_id])
            file.write("[\n" if number == 0 else ",\n")
            json.dump(record, file, ensure_ascii=False)
        file.write("\n]\n" if dataset.questions else "[]\n")


def _check(dataset: Dataset, form: str) -> None:
    if dataset.name != form:
        raise UsageError(
            f"a data set in the form of {dataset.name} cannot be written as {form};"
            f" use write_{dataset.name}"
        )


def _by_session(history: History) -> dict[str, list[Turn]]:
    found: dict[str, list[Turn]] = {one.session_id: [] for one in history.sessions}
    for turn in history.turns:
        found[turn.session_id].append(turn)
    return found


def _conversation(history: History) -> dict[str, Any]:
    first, second = history.speakers
    record: dict[str, Any] = {"speaker_a": first, "speaker_b": second}
    turns = _by_session(history)
    for session in history.sessions:
        record[f"{session.source_id}_date_time"] = _locomo_time(_started(session.started_at))
        record[session.source_id] = [
            {"speaker": turn.speaker, "dia_id": turn.source_id, "text": turn.text}
            for turn in turns[session.session_id]
        ]
    return record


def _started(when: datetime | None) -> datetime:
    if when is None:
        raise UsageError("a session has no time: both formats need one")
    return when


def _locomo_time(when: datetime) -> str:
    half = "am" if when.hour < 12 else "pm"
    clock = f"{when.hour % 12 or 12}:{when.minute:02d} {half}"
    return f"{clock} on {when.day} {_MONTHS[when.month - 1]}, {when.year}"


def _qa(question: Question, gold: Gold) -> dict[str, Any]:
    record: dict[str, Any] = {
        "question": question.text,
        "evidence": list(gold.evidence),
        "category": gold.category_id,
    }
    if gold.answerable:
        record["answer"] = gold.answer
    else:
        record["adversarial_answer"] = gold.trap
    return record


def _lme_time(when: datetime) -> str:
    return when.strftime(f"%Y/%m/%d ({_DAYS[when.weekday()]}) %H:%M")


def _record(question: Question, gold: Gold, history: History) -> dict[str, Any]:
    turns = _by_session(history)
    wanted = set(gold.evidence)
    return {
        "question_id": question.question_id,
        "question_type": gold.category,
        "question": question.text,
        "answer": gold.answer,
        "question_date": _lme_time(datetime.fromisoformat(question.asked_at or "")),
        "haystack_dates": [_lme_time(_started(one.started_at)) for one in history.sessions],
        "haystack_session_ids": [one.source_id for one in history.sessions],
        "haystack_sessions": [
            [
                {"role": turn.role, "content": turn.text}
                | ({"has_answer": True} if turn.source_id in wanted else {})
                for turn in turns[session.session_id]
            ]
            for session in history.sessions
        ],
        "answer_session_ids": list(gold.evidence_sessions),
    }
