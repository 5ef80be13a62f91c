"""SimpleMem's memory: entries that are clear on their own, and the three ways to search them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime

import numpy as np

from evimem.eval.baselines.common import VectorList, WordList, line_of
from evimem.eval.baselines.rooms import CUT, built_data
from evimem.eval.baselines.simple_mem_prompts import WRITE, WRITE_EXAMPLE, WRITE_SCHEMA
from evimem.eval.harness.system import Shown, Tools
from evimem.model.turn import JsonValue, Turn
from evimem.query.calls import Said, one_line
from evimem.temporal import date_targets, dates_in_question, overlap_scores

__all__ = ["Entries", "Entry", "Marks", "texts_of", "windows_of", "write"]

WRITE_TOKENS = 4000
FIELD_CHARS = 600
"""Characters of a field that are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One memory."""

    text: str
    """A sentence that is clear on its own."""
    time: datetime | None = None
    """When it happens; where the model does not say, when it was said."""
    keywords: tuple[str, ...] = ()
    """Words to find it by."""
    place: str = ""
    """Where."""
    persons: tuple[str, ...] = ()
    """People in it."""
    entities: tuple[str, ...] = ()
    """Other named things in it."""
    topic: str = ""
    """What it is about."""
    turn_ids: tuple[str, ...] = ()
    """The turns that say it."""

    def shown(self) -> Shown:
        """As the prompts show it: the sentence, then its other fields in brackets."""
        fields = (
            ("place", self.place),
            ("persons", ", ".join(self.persons)),
            ("about", ", ".join((*self.entities, *([self.topic] if self.topic else [])))),
        )
        marks = "; ".join(f"{name}: {value}" for name, value in fields if value)
        text = f"{self.text} ({marks})" if marks else self.text
        return Shown(text=text, said_at=self.time, turn_ids=self.turn_ids)


def windows_of(count: int, *, size: int, overlap: int) -> Iterator[tuple[int, int, int]]:
    """Start, first new place and end of each window over so many turns; the last one overlaps too.

    Args:
        count: turns.
        size: turns of a window.
        overlap: turns that a window repeats from the one before; fewer than `size`.
    """
    new = 0
    while new < count:
        start = max(new - overlap, 0)
        end = min(start + size, count)
        yield start, new, end
        new = end


def write(
    turns: Sequence[Turn],
    tools: Tools,
    *,
    size: int,
    overlap: int,
    shown: int,
    temperature: float,
) -> tuple[list[Entry], Mapping[str, int]]:
    """Entries of a conversation, one call a window, each shown the last entries of the one before.

    What a call tells nothing of, because it cannot be used or ends too early, is kept as said.

    Args:
        turns: with words, in the order said.
        tools: the model of the role `extract`.
        size: turns of a window.
        overlap: turns that windows share.
        shown: entries of the window before that a window is shown.
        temperature: of sampling.

    Returns:
        The entries, and counts; unplaced entries name no message of their window.
    """
    entries: list[Entry] = []
    before: list[Entry] = []
    counts = {"windows": 0, "as said": 0, "unplaced": 0, "unusable": 0}
    for start, new, end in windows_of(len(turns), size=size, overlap=overlap):
        window = turns[start:end]
        said = built_data(
            tools,
            WRITE,
            _listed(window, before[-shown:] if shown else []),
            schema=WRITE_SCHEMA,
            example=WRITE_EXAMPLE,
            role="extract",
            phase="summary",
            max_tokens=WRITE_TOKENS,
            temperature=temperature,
        )
        told, last = _entries(said, window)
        cut = any(one.startswith(CUT) for one in said.dropped)
        kept = turns[max(new, start + last) : end] if said.problem or cut else ()
        before = [*told, *map(_as_said, kept)]
        entries += before
        counts["windows"] += 1
        counts["unusable"] += bool(said.problem)
        counts["as said"] += len(kept)
        counts["unplaced"] += sum(not one.turn_ids for one in told)
    return entries, counts


def _listed(window: Sequence[Turn], before: Sequence[Entry]) -> str:
    lines = [f"{n}. {line_of(turn)}" for n, turn in enumerate(window, start=1)]
    written = "".join(f"- {one.text}\n" for one in before)
    head = f"Entries already written:\n{written}\n" if written else ""
    return f"{head}Messages:\n" + "\n".join(lines)


def _entries(said: Said, window: Sequence[Turn]) -> tuple[list[Entry], int]:
    """Entries of a reply, and the place of the last message that one of them names, from 0."""
    found = said.data.get("entries")
    entries, last = [], 0
    for one in found if isinstance(found, list) else []:
        text = one_line(one.get("text"), FIELD_CHARS) if isinstance(one, dict) else ""
        if isinstance(one, dict) and text:
            named = one.get("sources")
            numbers = {n for n in named if isinstance(n, int)} if isinstance(named, list) else set()
            places = [n - 1 for n in sorted(numbers) if 1 <= n <= len(window)]
            sources = [window[at] for at in places]
            last = max([last, *places])
            entries.append(
                Entry(
                    text=text,
                    time=_time(one.get("time"), (sources or window)[0]),
                    keywords=texts_of(one.get("keywords")),
                    place=one_line(one.get("place"), FIELD_CHARS),
                    persons=texts_of(one.get("persons")),
                    entities=texts_of(one.get("entities")),
                    topic=one_line(one.get("topic"), FIELD_CHARS),
                    turn_ids=tuple(turn.turn_id for turn in sources),
                )
            )
    return entries, last


def texts_of(value: JsonValue) -> tuple[str, ...]:
    """The texts in a list of a reply, without blank ones and repeats."""
    texts = [one_line(one, FIELD_CHARS) for one in value] if isinstance(value, list) else []
    return tuple(dict.fromkeys(one for one in texts if one))


def _time(value: JsonValue, said: Turn) -> datetime | None:
    """A time as the model wrote it; where that is none, or no more than the day of the turn, the
    time that the turn was said."""
    text = one_line(value, FIELD_CHARS)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return said.said_at
    if said.said_at is not None and text == said.said_at.date().isoformat():
        return said.said_at
    zone = said.said_at.tzinfo if said.said_at is not None else UTC
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=zone)


def _as_said(turn: Turn) -> Entry:
    return Entry(
        text=f"{turn.speaker}: {turn.body}",
        time=turn.said_at,
        persons=(turn.speaker,),
        turn_ids=(turn.turn_id,),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """By which marks a question's memories can be told."""

    persons: tuple[str, ...] = ()
    """One of them is in it."""
    entities: tuple[str, ...] = ()
    """One of them is in it."""
    place: str = ""
    """Where it is."""
    time: str = ""
    """When it is, in words."""


@dataclass(slots=True)
class Entries:
    """The memory; read-only once made."""

    entries: Sequence[Entry]
    """In the order written."""
    _vectors: VectorList = field(init=False, default_factory=VectorList)
    _words: WordList = field(init=False)

    def index(self, tools: Tools) -> Entries:
        """Encode the sentences, and list their words with the keywords; returns itself."""
        for place, one in enumerate(self.entries):
            self._vectors.put(str(place), one.text, tools)
        self._words = WordList(
            [(str(at), " ".join((e.text, *e.keywords))) for at, e in enumerate(self.entries)]
        )
        return self

    def like(self, query: str, k: int, tools: Tools) -> list[int]:
        """Places of the entries most like a query."""
        return [int(name) for name, _ in self._vectors.search(query, k, tools)]

    def with_words(self, words: Sequence[str], k: int) -> list[int]:
        """Places of the best entries by words."""
        return [int(name) for name, _ in self._words.search(" ".join(words), k)]

    def with_marks(
        self, marks: Marks, k: int, *, query: str, today: date | None, tools: Tools
    ) -> list[int]:
        """Places of entries that have every mark given, those most like the query first.

        Args:
            marks: what is given; without any there is nothing to tell entries by.
            k: entries at most.
            query: orders them.
            today: what "last month" counts from.
            tools: encodes the query.
        """
        fits = [
            {at for at, one in enumerate(self.entries) if _names(wanted, (*held(one), one.text))}
            for wanted, held in (
                (marks.persons, lambda one: one.persons),
                (marks.entities, lambda one: (*one.entities, one.topic)),
                ((marks.place,) if marks.place else (), lambda one: (one.place,)),
            )
            if wanted
        ]
        in_time = self._in_time(marks.time, today)
        if in_time is not None:
            fits.append(in_time)
        if not fits:
            return []
        among = set.intersection(*fits)
        found = self._vectors.search(query, k, tools, among=map(str, among))
        return [int(name) for name, _ in found]

    def _in_time(self, words: str, today: date | None) -> set[int] | None:
        """Entries whose day meets the time in words; None where the words name no days."""
        targets = date_targets(dates_in_question(words, today)) if words else ()
        dated = [(at, one.time.toordinal()) for at, one in enumerate(self.entries) if one.time]
        if not targets:
            return None
        days = np.array([day for _, day in dated], dtype=np.int64)
        met = overlap_scores(targets, days, days) > 0
        return {at for (at, _), is_in in zip(dated, met.tolist(), strict=True) if is_in}


def _names(wanted: Iterable[str], held: Iterable[str]) -> bool:
    """Whether any of the names is in any of the texts, whatever their case."""
    texts = [text.casefold() for text in held]
    return any(name.casefold() in text for name in wanted for text in texts)
