"""BEAM (100K): chats with a model over months, 20 probing questions each, turn-level gold.

CC BY-SA 4.0, read from the user's path: `N.chat.json` beside `N.probing_questions.json`. Held
out: no constant of this project is chosen on it.
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evimem.datasets.base import Dataset, Gold, SourceFile
from evimem.datasets.reading import MONTHS, as_list, as_record, field_text, read_json
from evimem.errors import ImportFormatError, UsageError
from evimem.model.evidence import Question
from evimem.model.ids import stable_id
from evimem.model.turn import History, Role, Session, Turn

__all__ = ["load_beam", "parse_anchor"]

_SUFFIX = re.compile(r"\s*->->\s*[\d,/NA]+(?=\)?\s*$)")  # bullet of the plan that made the message
_ANCHOR = re.compile(r"([A-Za-z]+)-(\d{1,2})-(\d{4})")
_ANSWER_KEYS = ("answer", "ideal_answer", "ideal_response", "ideal_summary", "expected_compliance")
_ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant"}


def parse_anchor(text: str) -> datetime:
    """A time anchor like "March-15-2024" as the start of that day in UTC.

    Raises:
        ImportFormatError: the text is not such a day.
    """
    match = _ANCHOR.fullmatch(text.strip())
    if match is None or match[1].lower() not in MONTHS:
        raise ImportFormatError(f"{text!r} is not a day like 'March-15-2024'")
    try:
        return datetime(int(match[3]), MONTHS[match[1].lower()], int(match[2]), tzinfo=UTC)
    except ValueError as error:
        raise ImportFormatError(f"{text!r} is not a possible day: {error}") from error


def load_beam(path: Path) -> Dataset:
    """BEAM from a folder of chats, or from one `N.chat.json` file.

    Questions get ids like "beam-1#knowledge_update-0"; gold turns are the messages whose ids
    stand in `source_chat_ids`, in whatever nesting.

    Raises:
        ImportFormatError: a file is of another format.
        UsageError: the folder holds no chat.
    """
    chats = sorted(path.glob("*.chat.json"), key=_number) if path.is_dir() else [path]
    if not chats:
        raise UsageError(f"the folder {str(path)!r} holds no *.chat.json; name the one that does")
    repairs: Counter[str] = Counter()
    histories: dict[str, History] = {}
    questions: list[Question] = []
    golds: dict[str, Gold] = {}
    sources: list[SourceFile] = []
    for chat in chats:
        history_id = f"beam-{chat.name.split('.')[0]}"
        data, source = read_json(chat)
        probes, probe_source = read_json(
            chat.with_name(chat.name.replace(".chat.", ".probing_questions."))
        )
        sources += [source, probe_source]
        history = _history(history_id, as_list(data, chat.name), repairs)
        histories[history_id] = history
        for gold, text in _golds(history, as_record(probes, probe_source.name), repairs):
            # asked after the chat: "now" is the newest turn's time, the default
            questions.append(Question(text=text, question_id=gold.question_id))
            golds[gold.question_id] = gold
    return Dataset(
        name="beam",
        histories=histories,
        questions=tuple(questions),
        gold=golds,
        files=tuple(sources),
        repairs=+repairs,
        notes=(f"{len(histories)} of BEAM 100K's 20 chats",),
    )


def _number(path: Path) -> tuple[int, str]:
    head = path.name.split(".")[0]
    return (int(head) if head.isdigit() else 0, head)


def _history(history_id: str, batches: list[Any], repairs: Counter[str]) -> History:
    sessions: list[Session] = []
    turns: list[Turn] = []
    for number, entry in enumerate(batches):
        where = f"{history_id}[{number}]"
        batch = as_record(entry, where)
        messages = [
            as_record(message, where)
            for group in as_list(batch.get("turns"), f"{where}.turns")
            for message in as_list(group, f"{where}.turns")
        ]
        anchor = batch.get("time_anchor") or next(
            (one["time_anchor"] for one in messages if one.get("time_anchor")), None
        )
        source_id = f"batch_{field_text(batch, 'batch_number', where)}"
        session = Session(
            session_id=stable_id("s", history_id, source_id),
            source_id=source_id,
            started_at=parse_anchor(anchor) if anchor else None,
            source="beam",
        )
        sessions.append(session)
        for index, message in enumerate(messages):
            role = field_text(message, "role", where)
            if role not in _ROLES:
                raise ImportFormatError(f"{where}: role {role!r} is not one of {sorted(_ROLES)}")
            text, cut = _SUFFIX.subn("", field_text(message, "content", where))
            repairs["plan suffix '->->' removed"] += cut
            message_id = field_text(message, "id", where)
            turns.append(
                Turn(
                    turn_id=stable_id("t", history_id, message_id),
                    session_id=session.session_id,
                    index=index,
                    speaker=role,
                    role=_ROLES[role],
                    text=text,
                    said_at=session.started_at,
                    source_id=message_id,
                )
            )
    return History(history_id=history_id, sessions=tuple(sessions), turns=tuple(turns))


def _flat(value: Any) -> list[str]:
    """Ids in any nesting of objects and lists, as text."""
    if isinstance(value, dict):
        return [one for part in value.values() for one in _flat(part)]
    if isinstance(value, list):
        return [one for part in value for one in _flat(part)]
    return [] if value is None else [str(value)]


def _golds(
    history: History, probes: dict[str, Any], repairs: Counter[str]
) -> list[tuple[Gold, str]]:
    known = {turn.source_id: turn.session_id for turn in history.turns}
    names = {session.session_id: session.source_id for session in history.sessions}
    golds: list[tuple[Gold, str]] = []
    for category, entries in probes.items():
        for index, entry in enumerate(as_list(entries, f"{history.history_id}.{category}")):
            question_id = f"{history.history_id}#{category}-{index}"
            probe = as_record(entry, question_id)
            ids = list(dict.fromkeys(_flat(probe.get("source_chat_ids"))))
            found = tuple(one for one in ids if one in known)
            repairs["evidence token without a turn"] += len(ids) - len(found)
            answer = next((probe[key] for key in _ANSWER_KEYS if key in probe), "")
            gold = Gold(
                question_id=question_id,
                history_id=history.history_id,
                category=category.replace("_", "-"),
                answer=str(answer),
                answerable=category != "abstention",
                evidence=found,
                unmapped=tuple(one for one in ids if one not in known),
                evidence_sessions=tuple(dict.fromkeys(names[known[one]] for one in found)),
            )
            golds.append((gold, field_text(probe, "question", question_id)))
    return golds
