"""From what people type to what is stored: references to turns, sessions and speakers."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from evimem.errors import NotFound, UsageError
from evimem.model.item import Item, id_of
from evimem.model.turn import Turn
from evimem.ports import Reader

__all__ = [
    "entry_of",
    "id_in",
    "id_of",
    "names_like",
    "said_by",
    "same_name",
    "session_id_of",
    "sessions_called",
]


def entry_of(reader: Reader, ref: str) -> Turn | Item:
    """The turn or item that an id, or an id in the source, means.

    Raises:
        NotFound: there is none in this bank.
    """
    values = reader.get([id_in(reader, ref)])
    if not values:
        raise NotFound(f"no turn or item {ref!r} in this bank")
    return values[0]


def id_in(reader: Reader, ref: str) -> str:
    """The id that a reference means; unlike `entry_of` it works on a damaged entry too.

    Raises:
        NotFound: there is none in this bank.
    """
    found = reader.resolve(ref)
    if found is None:
        raise NotFound(f"no turn or item {ref!r} in this bank")
    return found


def session_id_of(reader: Reader, ref: str) -> str:
    """The id of the session that an id, or an id in the source, means.

    Raises:
        NotFound: there is none in this bank.
        UsageError: several are called so; the message lists them.
    """
    matches = [s for s in reader.sessions() if ref in (s.session_id, s.source_id)]
    if not matches:
        raise NotFound(f"no session {ref!r} in this bank: `evimem sessions` lists them")
    if len(matches) > 1:
        ids = ", ".join(s.session_id for s in matches[:5])
        raise UsageError(f"{len(matches)} sessions are called {ref!r}: use an id ({ids})")
    return matches[0].session_id


def same_name(name: str) -> str:
    """What two ways of writing one name share: upper and lower case, composed and decomposed
    letters, and space around or between make no difference."""
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFD", name).casefold())
    return " ".join(folded.split())


def names_like(known: Iterable[str], name: str | None) -> frozenset[str]:
    """The ways in which a name is written, itself among them; nothing for None."""
    if name is None:
        return frozenset()
    wanted = same_name(name)
    return frozenset([name, *(one for one in known if same_name(one) == wanted)])


def sessions_called(reader: Reader, ref: str | None) -> frozenset[str]:
    """Ids of the sessions that an id, or an id in the source, means; nothing for None."""
    if ref is None:
        return frozenset()
    return frozenset([ref, *(s.session_id for s in reader.sessions() if s.source_id == ref)])


def said_by(reader: Reader, speaker: str) -> list[str]:
    """Ids of all that a speaker said.

    Raises:
        NotFound: nobody of that name speaks in this bank; the message lists who does.
    """
    wanted = same_name(speaker)
    ids: list[str] = []
    seen: dict[str, None] = {}
    after = 0
    while page := reader.entries(after=after, limit=2000):
        after = page[-1][0]
        for _, value in page:
            seen[value.speaker] = None
            if same_name(value.speaker) == wanted:
                ids.append(id_of(value))
    if not ids:
        known = ", ".join(sorted(name for name in seen if name)[:10]) or "nobody"
        raise NotFound(f"nobody called {speaker!r} speaks in this bank (there are: {known})")
    return ids
