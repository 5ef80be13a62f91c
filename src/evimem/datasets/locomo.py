"""LoCoMo: ten long conversations between two people, 1,986 questions with evidence turns.

CC BY-NC 4.0, so the file is never part of this project; the user names its path. The published
file is pinned by hash, and its known defects are repaired and counted (data-and-metrics 2.1).
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evimem.datasets.base import Dataset, Gold, SourceFile
from evimem.datasets.evidence import EvidenceRule, parse_evidence
from evimem.datasets.reading import MONTHS, as_list, as_record, field_text, read_json
from evimem.errors import ImportFormatError
from evimem.model.evidence import Question
from evimem.model.ids import stable_id
from evimem.model.turn import History, Session, Turn

__all__ = ["CATEGORIES", "SHA256", "load_locomo", "parse_session_time"]

SHA256 = "79fa87e90f04081343b8c8debecb80a9a6842b76a7aa537dc9fdf651ea698ff4"
"""Hash of the published locomo10.json; several changed copies circulate."""

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
"""True names of the category numbers. Several public harnesses swap them: print n beside."""

_COUNTS = {"conversations": 10, "sessions": 272, "turns": 5882, "questions": 1986, "captions": 1226}
_PER_CATEGORY = {1: 282, 2: 321, 3: 96, 4: 841, 5: 446}
_SESSION_TIME = re.compile(
    r"\s*(\d{1,2}):(\d{2})\s*([ap]m)\s+on\s+(\d{1,2})\s+([A-Za-z]+),?\s+(\d{4})\s*", re.I
)
_SESSION_KEY = re.compile(r"session_(\d+)")


def parse_session_time(text: str) -> tuple[datetime, bool]:
    """The time of a session ("1:56 pm on 8 May, 2023") in UTC, and whether noon was repaired.

    The generator wrote noon as "12:xx am" (sessions lie between 9:00 and 21:59), so 12 am reads
    as 12 pm here. The file names no zone; UTC stands in for it.

    Raises:
        ImportFormatError: the text is not such a time.
    """
    match = _SESSION_TIME.fullmatch(text)
    if match is None or match[5].lower() not in MONTHS:
        raise ImportFormatError(f"{text!r} is not a session time like '1:56 pm on 8 May, 2023'")
    hour, half = int(match[1]), match[3].lower()
    noon = hour == 12 and half == "am"
    hour = hour % 12 + (12 if half == "pm" or noon else 0)
    month = MONTHS[match[5].lower()]
    try:
        when = datetime(int(match[6]), month, int(match[4]), hour, int(match[2]), tzinfo=UTC)
    except ValueError as error:
        raise ImportFormatError(f"{text!r} is not a possible time: {error}") from error
    return when, noon


def load_locomo(
    path: Path,
    *,
    evidence: EvidenceRule = "repaired",
    captions: bool = True,
    variant_ok: bool = False,
) -> Dataset:
    """LoCoMo from its JSON file (BEN-1, BEN-2, BEN-3).

    Args:
        path: the file.
        evidence: which parser maps evidence strings to turns.
        captions: take picture captions (`blip_caption`) into the turns; the search `query` that
            came with a picture is never taken, since it leaks golds.
        variant_ok: read a file with another hash; the data set then carries a note.

    Raises:
        ImportFormatError: the file is of another format, has another hash than the pinned one
            without `variant_ok`, or has the pinned hash and other counts.
    """
    data, source = read_json(path)
    _check_hash(source, variant_ok=variant_ok)
    repairs: Counter[str] = Counter()
    histories: dict[str, History] = {}
    questions: list[Question] = []
    golds: dict[str, Gold] = {}
    for number, sample in enumerate(as_list(data, path.name)):
        where = f"{path.name}[{number}]"
        record = as_record(sample, where)
        history = _history(record, where, repairs, captions=captions)
        histories[history.history_id] = history
        for gold, text in _golds(record, history, repairs, rule=evidence):
            questions.append(Question(text=text, question_id=gold.question_id))
            golds[gold.question_id] = gold
    notes = () if source.sha256 == SHA256 else (f"variant of LoCoMo, sha256 {source.sha256}",)
    dataset = Dataset(
        name="locomo",
        histories=histories,
        questions=tuple(questions),
        gold=golds,
        files=(source,),
        repairs=+repairs,
        notes=notes,
    )
    if source.sha256 == SHA256:
        _check_counts(dataset, captions=captions)
    return dataset


def _check_hash(source: SourceFile, *, variant_ok: bool) -> None:
    if source.sha256 != SHA256 and not variant_ok:
        raise ImportFormatError(
            f"{source.name!r} is not the published LoCoMo file: its sha256 is {source.sha256},"
            f" expected {SHA256}; get that file, or allow variants (variant_ok=True) and name"
            " the hash with every figure"
        )


def _check_counts(dataset: Dataset, *, captions: bool) -> None:
    turns = [turn for history in dataset.histories.values() for turn in history.turns]
    found = {
        "conversations": len(dataset.histories),
        "sessions": sum(len(history.sessions) for history in dataset.histories.values()),
        "turns": len(turns),
        "questions": len(dataset.questions),
        "captions": sum(bool(turn.caption) for turn in turns),
    }
    wanted = _COUNTS if captions else {**_COUNTS, "captions": 0}
    categories = Counter(gold.category_id for gold in dataset.gold.values())
    if found != wanted or categories != _PER_CATEGORY:
        raise ImportFormatError(
            f"the pinned LoCoMo file gave {found} and {dict(categories)}, expected {wanted} and"
            f" {_PER_CATEGORY}: this is a fault of the loader, please report it"
        )


def _history(
    record: dict[str, Any], where: str, repairs: Counter[str], *, captions: bool
) -> History:
    history_id = field_text(record, "sample_id", where)
    conversation = as_record(record.get("conversation"), f"{where}.conversation")
    numbers = sorted(
        int(match[1]) for key in conversation if (match := _SESSION_KEY.fullmatch(key))
    )
    dated = sum(key.endswith("_date_time") for key in conversation)
    repairs["date key without a session"] += dated - len(numbers)
    sessions: list[Session] = []
    turns: list[Turn] = []
    for number in numbers:
        name = f"session_{number}"
        said_at, noon = parse_session_time(field_text(conversation, f"{name}_date_time", where))
        repairs["noon written as 12 am"] += noon
        session = Session(
            session_id=stable_id("s", history_id, name),
            source_id=name,
            started_at=said_at,
            source="locomo",
        )
        sessions.append(session)
        spoken = as_list(conversation[name], f"{where}.{name}")
        for index, said in enumerate(spoken):
            turn = as_record(said, f"{where}.{name}[{index}]")
            source_id = field_text(turn, "dia_id", f"{where}.{name}[{index}]")
            turns.append(
                Turn(
                    turn_id=stable_id("t", history_id, source_id),
                    session_id=session.session_id,
                    index=index,
                    speaker=field_text(turn, "speaker", f"{where}.{name}[{index}]"),
                    role="person",
                    text=field_text(turn, "text", f"{where}.{name}[{index}]"),
                    said_at=said_at,
                    source_id=source_id,
                    caption=turn.get("blip_caption", "") if captions else "",
                )
            )
    return History(history_id=history_id, sessions=tuple(sessions), turns=tuple(turns))


def _golds(
    record: dict[str, Any], history: History, repairs: Counter[str], *, rule: EvidenceRule
) -> list[tuple[Gold, str]]:
    known = {turn.source_id: turn.session_id for turn in history.turns}
    session_names = {session.session_id: session.source_id for session in history.sessions}
    golds: list[tuple[Gold, str]] = []
    for index, entry in enumerate(as_list(record.get("qa"), f"{history.history_id}.qa")):
        question_id = f"{history.history_id}#{index}"
        qa = as_record(entry, question_id)
        category = qa.get("category")
        if category not in CATEGORIES:
            raise ImportFormatError(f"{question_id}: category {category!r} is not one of 1 to 5")
        parsed = parse_evidence(
            as_list(qa.get("evidence", []), f"{question_id}.evidence"), known, rule=rule
        )
        repairs["integer answer cast to text"] += isinstance(qa.get("answer"), int)
        repairs["evidence entry mended"] += parsed.mended
        repairs["evidence token without a turn"] += len(parsed.unmapped)
        adversarial = category == 5
        gold = Gold(
            question_id=question_id,
            history_id=history.history_id,
            category=CATEGORIES[category],
            category_id=category,
            answer="" if adversarial else field_text(qa, "answer", question_id),
            trap=field_text(qa, "adversarial_answer", question_id) if adversarial else "",
            answerable=not adversarial,
            evidence=parsed.turns,
            unmapped=parsed.unmapped,
            evidence_sessions=tuple(
                dict.fromkeys(session_names[known[turn]] for turn in parsed.turns)
            ),
        )
        golds.append((gold, field_text(qa, "question", question_id)))
    return golds
