"""WhatsApp chats exported as text, from Android and iOS, in any locale.

The file names no zone and no order of day and month. A first pass over the dates decides the
order: by any part above 12, else by which order makes time run forward, else day first is assumed
with a warning. A line is a new message only if it has the whole header of this file's style; every
other line continues the message before it. Times have minutes only on Android, so the order of the
file is kept. The name of a speaker ends at the first ": ".

Ids come from content: the chat is known by its first message, or by `ImportOptions.conversation`
(use it where WhatsApp cut the beginning off, which it does after 40,000 messages).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from evimem.errors import ImportFormatError
from evimem.importers._context import Context
from evimem.importers._conversation import Conversation
from evimem.importers._faults import ReadFault
from evimem.importers._format import Format
from evimem.importers._head import Head
from evimem.importers._reading import Line, text_lines
from evimem.importers._source import Source
from evimem.importers._times import clock_time, full_year
from evimem.importers._whatsapp_words import (
    ADMINS,
    ATTACHED,
    CONNECTORS,
    DELETED,
    EDITED,
    ENCRYPTED,
    FILE_ATTACHED,
    HALVES,
    OMITTED,
)
from evimem.model.imports import ImportEvent, Skipped
from evimem.model.turn import JsonValue

__all__ = ["FORMAT"]

Order = Literal["dmy", "mdy", "ymd"]

_MARK = "\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff"
_M = f"[{_MARK}]*"
_WORDS = "|".join(re.escape(word) for word in sorted(CONNECTORS, key=len, reverse=True))
_HALF = "|".join(re.escape(word) for word in sorted(HALVES, key=len, reverse=True))
_STAMP = (
    rf"(?P<a>\d{{1,4}}){_M}(?:[./-]){_M}\s?(?P<b>\d{{1,2}}){_M}(?:[./-]){_M}\s?"
    rf"(?P<c>\d{{1,4}}){_M}\.?[,،]?\s*(?:(?:{_WORDS})\s+)?(?:(?P<before>{_HALF})\s*)?{_M}"
    rf"(?P<h>\d{{1,2}})[:.](?P<m>\d{{2}})(?:[:.](?P<s>\d{{2}}))?"
    rf"(?:\s*(?P<after>{_HALF}))?{_M}"
)
_IOS = re.compile(rf"{_M}\[{_M}(?P<stamp>{_STAMP})\]\s?(?P<rest>.*)", re.IGNORECASE | re.DOTALL)
_ANDROID = re.compile(rf"{_M}(?P<stamp>{_STAMP})\s[-–]\s(?P<rest>.*)", re.IGNORECASE | re.DOTALL)
_SENDER = re.compile(r"(?P<name>[^\n]{1,120}?):(?: (?P<text>.*))?", re.DOTALL)
_MARKS = re.compile(f"[{_MARK}]")
_ATTACHED = re.compile(
    rf"[{_MARK}]*<(?:{'|'.join(map(re.escape, ATTACHED))})\s?: ?(?P<file>[^<>\n]+)>", re.IGNORECASE
)
_FILE = re.compile(
    rf"{_M}(?P<file>[^\n]+?) \((?:{'|'.join(map(re.escape, FILE_ATTACHED))})\)(?:\n|$)",
    re.IGNORECASE,
)
_EDITED = re.compile(rf"\s*{_M}<(?:{'|'.join(map(re.escape, EDITED))})\.?>{_M}\s*$", re.IGNORECASE)
_DELETED = re.compile(
    rf"(?:{'|'.join(map(re.escape, DELETED))})(?:.{{1,20}}(?:{'|'.join(ADMINS)}).{{0,60}})?"
)


@dataclass(frozen=True, slots=True)
class _Header:
    """The beginning of a message."""

    number: int
    stamp: str
    parts: tuple[int, int, int]
    clock: tuple[int, int, int]
    rest: str
    ios: bool


@dataclass(slots=True)
class _Message:
    """A message while its lines are gathered."""

    header: _Header
    lines: list[str] = field(default_factory=list)
    size: int = 0

    def add(self, text: str, name: str, limit: int) -> None:
        """Add a line.

        Raises:
            ReadFault: the message is longer than `limit`.
        """
        self.lines.append(text)
        self.size += len(text) + 1
        if self.size > limit:
            raise ReadFault(
                f"{name}, line {self.header.number}",
                f"the message is longer than max_record_chars={limit}",
            )


def _header(line: Line, ios: bool | None) -> _Header | None:
    """The header of a line; None if it continues a message. `ios` restricts to one style."""
    text = line.text
    # Cheap look first: most lines of long messages have no digit where a header has one.
    if not any(char.isdecimal() for char in text[:6]):
        return None
    match = None
    if ios is not False:
        match = _IOS.fullmatch(text)
    if match is None and ios is not True:
        match = _ANDROID.fullmatch(text)
    if match is None:
        return None
    hour = int(match["h"])
    half = (match["before"] or match["after"] or "").lower()
    if half:
        hour = hour % 12 + HALVES[half] if 1 <= hour <= 12 else 24
    return _Header(
        number=line.number,
        stamp=_MARKS.sub("", match["stamp"]),
        parts=(int(match["a"]), int(match["b"]), int(match["c"])),
        clock=(hour, int(match["m"]), int(match["s"] or 0)),
        rest=match["rest"],
        ios=match.re is _IOS,
    )


def _when(header: _Header, order: Order) -> datetime | None:
    a, b, c = header.parts
    year, month, day = {"ymd": (a, b, c), "dmy": (c, b, a), "mdy": (c, a, b)}[order]
    return clock_time(full_year(year), month, day, *header.clock)


def _headers(source: Source, ctx: Context) -> Iterator[_Header | Line]:
    """Headers, and the lines that continue them. The first header fixes the file's style."""
    ios: bool | None = None
    for line in text_lines(source, ctx.options.encoding, limit=ctx.options.max_record_chars):
        if line.fault:
            raise ReadFault(f"{source.name}, line {line.number}", line.fault)
        header = _header(line, ios)
        if header is None:
            yield line
        else:
            ios = header.ios
            yield header


def _order(source: Source, ctx: Context) -> Order:
    """The order of day, month and year in this file.

    Raises:
        ImportFormatError: the order the user gave does not fit.
    """
    dotted = 0  # dates with dots, which no locale writes month first
    first_large = second_large = 0  # lines whose first, second part is above 12
    backward = {"dmy": 0, "mdy": 0}
    last: dict[Literal["dmy", "mdy"], datetime | None] = {"dmy": None, "mdy": None}
    examples = ["", ""]
    try:
        for header in _headers(source, ctx):
            if isinstance(header, Line):
                continue
            a, b, _ = header.parts
            if a > 31:
                return "ymd"
            dotted += "." in header.stamp.split()[0].strip(",")
            if a > 12 >= b:
                first_large, examples[0] = first_large + 1, header.stamp
            elif b > 12 >= a:
                second_large, examples[1] = second_large + 1, header.stamp
            for order in last:
                now, before = _when(header, order), last[order]
                if now is not None:
                    backward[order] += before is not None and now < before
                    last[order] = now
    except ReadFault:
        pass  # the second pass reports it, after the messages before it
    given = ctx.options.date_order
    if given is not None:
        misfit = examples[0] if given == "mdy" else examples[1]
        if misfit:
            raise ImportFormatError(
                f"{source.name!r}: date_order={given!r} does not fit the date {misfit!r}"
            )
        return given
    return _decided(first_large or dotted, second_large, backward, ctx)


def _decided(first_large: int, second_large: int, backward: dict[str, int], ctx: Context) -> Order:
    if first_large or second_large:
        if first_large and second_large:
            ctx.warn("dates fit neither day first nor month first everywhere; took the more common")
        return "dmy" if first_large >= second_large else "mdy"
    if bool(backward["dmy"]) != bool(backward["mdy"]):
        return "mdy" if backward["dmy"] else "dmy"
    ctx.warn("no date tells whether day or month comes first: day first was assumed; pass "
             "date_order='mdy' if that is wrong")  # fmt: skip
    return "dmy"


def _read(source: Source, ctx: Context) -> Iterator[ImportEvent]:
    order = _order(source, ctx)
    limit = ctx.options.max_record_chars
    title = source.base.rpartition(".")[0]
    chat = _Chat(ctx, Conversation(ctx, None, title=title.lstrip("_"), by_gap=True), order)
    at: _Message | None = None
    latest: datetime | None = None
    preamble = 0
    try:
        for found in _headers(source, ctx):
            if isinstance(found, Line):
                if at is None:
                    preamble += bool(found.text.strip())
                else:
                    at.add(found.text, source.name, limit)
                continue
            when = _when(found, order)
            if at is not None and _is_quoted(found, when, latest):
                at.add(f"{found.stamp} - {found.rest}", source.name, limit)
                continue
            if at is not None:
                yield from chat.message(at, source.name)
            at = _Message(found, [found.rest])
            latest = when or latest
    except ReadFault:
        if at is not None:
            yield from chat.message(at, source.name)
        raise
    if at is not None:
        yield from chat.message(at, source.name)
    if preamble:
        yield Skipped("text_before_first_message", source.name, f"{preamble} lines")
    if not chat.talk.turns:
        yield Skipped("empty_conversation", source.name)


def _is_quoted(header: _Header, when: datetime | None, latest: datetime | None) -> bool:
    """A line of a message that looks like a system line: it has no sender and its time is before
    the message's own, or is none."""
    if header.ios or _SENDER.fullmatch(header.rest):
        return False
    return when is None or (latest is not None and when < latest)


class _Chat:
    """Messages of one file to events."""

    def __init__(self, ctx: Context, talk: Conversation, order: Order) -> None:
        self.talk = talk
        self._ctx = ctx
        self._order = order
        self._group = ""  # iOS writes its own notes under the chat's name

    def message(self, message: _Message, name: str) -> Iterator[ImportEvent]:
        header = message.header
        where = f"{name}, line {header.number}"
        body = "\n".join(message.lines)
        match = _SENDER.fullmatch(body)
        sender = match["name"] if match is not None else ""
        # System lines quote the names of groups: 'Ana named the group "Trip: May"'.
        if match is None or re.search('[ ("][\'"“„«]', sender):
            yield Skipped("system", where, body[:80])
            return
        text = match["text"] or ""
        plain = _MARKS.sub("", text).strip().rstrip(".").lower()
        # iOS begins its own notes with a mark, so nobody's words are taken for one there.
        note = not header.ios or text.startswith(("\u200e", "\u200f"))
        if note and header.ios and any(phrase in plain for phrase in ENCRYPTED):
            self._group = sender
            yield Skipped("system", where, plain[:80])
        elif note and _DELETED.fullmatch(plain):
            yield Skipped("deleted", where)
        else:
            yield from self._spoken(header, sender, text, plain, where)

    def _spoken(
        self, header: _Header, sender: str, text: str, plain: str, where: str
    ) -> Iterator[ImportEvent]:
        attrs: dict[str, JsonValue] = {}
        files: list[JsonValue] = []
        marked = text.startswith(("\u200e", "\u200f"))
        if plain in OMITTED and (plain.startswith("<") or marked):
            files.append({"not_included": True, "note": _MARKS.sub("", text).strip()})
            text = ""
        else:
            text, found = _files(text)
            files.extend(found)
            edited = _EDITED.search(text)
            if edited:
                text, attrs["edited"] = text[: edited.start()], True
            if marked and not files and not edited and header.ios and sender == self._group:
                yield Skipped("system", where, plain[:80])
                return
        if files:
            attrs["attachments"] = files
        speaker = _MARKS.sub("", sender).lstrip("~").strip()
        if speaker != sender:
            attrs["sender"] = sender
        naive = _when(header, self._order)
        if naive is None:
            self._ctx.warn("a time could not be read and stays unknown", header.stamp)
        yield from self.talk.turn(
            speaker=speaker or sender,
            role="person",
            text=text,
            where=where,
            said_at=None if naive is None else self._ctx.local(naive),
            raw_time=header.stamp,
            attrs=attrs,
        )


def _files(text: str) -> tuple[str, list[JsonValue]]:
    """The text without attachment notes, and their file names."""
    match = _FILE.match(text)
    if match:
        return text[match.end() :], [{"name": _MARKS.sub("", match["file"])}]
    found: list[JsonValue] = [{"name": m["file"].strip()} for m in _ATTACHED.finditer(text)]
    return (_ATTACHED.sub("", text).strip() if found else text), found


def _recognises(head: Head) -> bool:
    if head.binary:
        return False
    lines = head.text.split("\n", 30)[:30]
    return any(_header(Line(i, line.removesuffix("\r")), None) for i, line in enumerate(lines, 1))


FORMAT = Format(
    name="whatsapp",
    what="WhatsApp chat exported as text, with or without media",
    recognises=_recognises,
    read=_read,
    is_json=False,
)
