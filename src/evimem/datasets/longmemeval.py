"""LongMemEval: one haystack of chat sessions per question, with turn labels (BEN-4).

MIT. Reads the published files (a list of records), a file with one record, a folder of such
files, and lists of questions without haystacks. Nothing is assumed about the order of roles or
sessions (data-and-metrics 2.2).
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from evimem.datasets.base import Dataset, Gold, SourceFile
from evimem.datasets.reading import as_list, as_record, field_text, read_json
from evimem.errors import ImportFormatError, UsageError
from evimem.model.evidence import Question
from evimem.model.ids import stable_id
from evimem.model.turn import History, Role, Session, Turn

__all__ = ["PUBLISHED", "FutureSessions", "load_longmemeval", "parse_lme_time"]

PUBLISHED = {
    "d6f21ea9d60a0d56f34a05b609c79c88a451d2ae03597821ea3d5a9678c3a442": "longmemeval_s_cleaned",
    "821a2034d219ab45846873dd14c14f12cfe7776e73527a483f9dac095d38620c": "longmemeval_oracle",
}
"""Hashes of the published files; a data set read from one of them says so."""

FutureSessions = Literal["keep", "drop"]

_TIME = re.compile(
    r"(\d{4})[/-](\d{1,2})[/-](\d{1,2})(?:\s*\([A-Za-z]+\))?(?:\s+(\d{1,2}):(\d{2}))?"
)
_ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "system": "system"}


def parse_lme_time(text: str) -> datetime:
    """A time like "2023/05/30 (Tue) 16:42" in UTC (the files name no zone); a bare day is 00:00.

    Raises:
        ImportFormatError: the text is not such a time.
    """
    match = _TIME.fullmatch(text.strip())
    if match is None:
        raise ImportFormatError(f"{text!r} is not a time like '2023/05/30 (Tue) 16:42'")
    year, month, day, hour, minute = (int(part or 0) for part in match.groups())
    try:
        return datetime(year, month, day, hour, minute, tzinfo=UTC)
    except ValueError as error:
        raise ImportFormatError(f"{text!r} is not a possible time: {error}") from error


def load_longmemeval(path: Path, *, future_sessions: FutureSessions = "keep") -> Dataset:
    """LongMemEval from a file or a folder.

    Args:
        path: a JSON file (one record or a list of records), or a folder of such files. A folder
            may also hold the folders of cleaned haystacks (`s_cleaned*`); these are then read.
        future_sessions: what to do with sessions dated after the question. "keep" is what the
            benchmark does; with "drop" evidence may vanish, and the question then counts as
            having unmapped evidence.

    Raises:
        ImportFormatError: a file is of another format.
        UsageError: a folder holds no JSON file.
    """
    repairs: Counter[str] = Counter()
    histories: dict[str, History] = {}
    questions: list[Question] = []
    golds: dict[str, Gold] = {}
    sources: list[SourceFile] = []
    for file in _files(path):
        data, source = read_json(file)
        sources.append(source)
        for number, entry in enumerate(data if isinstance(data, list) else [data]):
            where = f"{file.name}[{number}]"
            record = as_record(entry, where)
            question = _question(record, where)
            history, gold = _haystack(record, where, question, repairs, future=future_sessions)
            questions.append(question)
            golds[question.question_id] = gold
            if history is not None:
                histories[history.history_id] = history
    notes = [f"sessions after the question's date: {future_sessions}"]
    notes += [f"the published {PUBLISHED[f.sha256]}" for f in sources if f.sha256 in PUBLISHED]
    if len(questions) < 500:
        notes.append(f"{len(questions)} of LongMemEval's 500 questions")
    return Dataset(
        name="longmemeval",
        histories=histories,
        questions=tuple(questions),
        gold=golds,
        files=tuple(sources),
        repairs=+repairs,
        notes=tuple(notes),
    )


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    inner = sorted(child for child in path.glob("s_cleaned*") if child.is_dir())
    files = sorted(file for folder in inner or [path] for file in folder.glob("*.json"))
    if not files:
        raise UsageError(f"the folder {str(path)!r} holds no .json file; name the one that does")
    return files


def _question(record: dict[str, Any], where: str) -> Question:
    key = "question_date" if "question_date" in record else "question_date_day"
    asked = parse_lme_time(field_text(record, key, where))
    return Question(
        text=field_text(record, "question", where),
        question_id=field_text(record, "question_id", where),
        asked_at=asked.isoformat(),
    )


def _haystack(
    record: dict[str, Any],
    where: str,
    question: Question,
    repairs: Counter[str],
    *,
    future: FutureSessions,
) -> tuple[History | None, Gold]:
    """The sessions of one record in the order of time, and its gold."""
    question_id = question.question_id
    repairs["integer answer cast to text"] += isinstance(record.get("answer"), int)
    evidence: list[str] = []
    unmapped: list[str] = []
    history = None
    named = record.get("answer_session_ids", record.get("sessions_with_has_answer", []))
    if "haystack_sessions" in record:
        kept, dropped = _sessions(record, where, question, repairs, future=future)
        sessions, turns = _turns(question_id, kept, repairs, evidence)
        unmapped = [turn for one in dropped for turn in _labelled(one)]
        history = History(history_id=question_id, sessions=sessions, turns=turns)
    gold = Gold(
        question_id=question_id,
        history_id=question_id,
        category=field_text(record, "question_type", where),
        answer=field_text(record, "answer", where),
        answerable=not question_id.endswith("_abs"),
        evidence=tuple(evidence),
        unmapped=tuple(unmapped),
        evidence_sessions=tuple(as_list(named, f"{where}.answer_session_ids")),
    )
    return history, gold


_Sitting = tuple[datetime, str, list[dict[str, Any]]]  # time, source id, raw turns


def _sessions(
    record: dict[str, Any],
    where: str,
    question: Question,
    repairs: Counter[str],
    *,
    future: FutureSessions,
) -> tuple[list[_Sitting], list[_Sitting]]:
    """Sessions kept, in the order of time, and sessions dropped because they lie in the future."""
    dates = as_list(record.get("haystack_dates"), f"{where}.haystack_dates")
    names = as_list(record.get("haystack_session_ids"), f"{where}.haystack_session_ids")
    bodies = as_list(record.get("haystack_sessions"), f"{where}.haystack_sessions")
    if not len(dates) == len(names) == len(bodies):
        raise ImportFormatError(
            f"{where}: {len(dates)} dates, {len(names)} ids and {len(bodies)} sessions"
            " do not belong together"
        )
    seen: Counter[str] = Counter()
    sittings: list[_Sitting] = []
    for date, name, body in zip(dates, names, bodies, strict=True):
        seen[name] += 1
        repairs["session id used twice"] += seen[name] > 1
        # the same filler may occur twice with different dates: the later one gets its number
        source_id = name if seen[name] == 1 else f"{name}#{seen[name]}"
        turns = [as_record(turn, f"{where}.{name}") for turn in as_list(body, f"{where}.{name}")]
        repairs["empty session"] += not turns
        sittings.append((parse_lme_time(date), source_id, turns))
    ordered = sorted(sittings, key=lambda sitting: sitting[0])  # stable
    repairs["haystack out of order, sorted by date"] += ordered != sittings
    asked = datetime.fromisoformat(question.asked_at or "")
    late = [one for one in ordered if one[0] > asked]
    repairs[f"session after the question's date ({future})"] += len(late)
    if future == "keep":
        return ordered, []
    return [one for one in ordered if one[0] <= asked], late


def _labelled(sitting: _Sitting) -> list[str]:
    _, source_id, turns = sitting
    return [f"{source_id}_{i + 1}" for i, turn in enumerate(turns) if turn.get("has_answer")]


def _turns(
    question_id: str, sittings: list[_Sitting], repairs: Counter[str], evidence: list[str]
) -> tuple[tuple[Session, ...], tuple[Turn, ...]]:
    """Values of the sittings; ids of labelled turns are appended to `evidence`."""
    sessions: list[Session] = []
    turns: list[Turn] = []
    for said_at, source_id, raw in sittings:
        session = Session(
            session_id=stable_id("s", question_id, source_id),
            source_id=source_id,
            started_at=said_at,
            source="longmemeval",
        )
        sessions.append(session)
        for index, turn in enumerate(raw):
            where = f"{question_id}/{source_id}[{index}]"
            role = field_text(turn, "role", where)
            if role not in _ROLES:
                raise ImportFormatError(f"{where}: role {role!r} is not one of {sorted(_ROLES)}")
            text = field_text(turn, "content", where)
            repairs["blank turn"] += not text.strip()
            turns.append(
                Turn(
                    turn_id=stable_id("t", question_id, source_id, index),
                    session_id=session.session_id,
                    index=index,
                    speaker=role,
                    role=_ROLES[role],
                    text=text,
                    said_at=said_at,
                    source_id=f"{source_id}_{index + 1}",
                )
            )
        evidence.extend(_labelled((said_at, source_id, raw)))
    return tuple(sessions), tuple(turns)
