"""Secrets that were stored before anybody looked: found, and taken out of the bank for good."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from evimem.build import episodes, facts
from evimem.engine.ingest import new_entry
from evimem.engine.lookup import id_of
from evimem.engine.record_bank import BUILDER
from evimem.engine.redaction import SecretGuard, hold_secrets
from evimem.model.item import Item
from evimem.model.turn import Session, Turn
from evimem.ports import BuildRecord, Reader, Store, Writer

__all__ = ["Finding", "ScanReport", "scan"]

PAGE = 500
"""Entries per transaction of a fix."""

Place = Literal["turn", "item", "session", "history", "build", "trace"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Secrets of one kind in one place; never the secret itself."""

    place: Place
    """What holds it: a turn, an item, a session's title, the change log of an entry, what a builder
    kept of a reply to a turn, a trace."""
    ref: str
    """Id of the entry (of the turn for a build), session or trace."""
    source_id: str = ""
    """Its id in its source."""
    kind: str
    """What it is, such as "github_token"."""
    count: int
    """How many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanReport:
    """What a scan found, and what became of it."""

    bank: str
    """The bank."""
    findings: tuple[Finding, ...]
    """Every place."""
    scanned: int
    """Turns and items looked at."""
    fixed: bool = False
    """True if everything found was replaced, and every earlier text of it deleted."""
    scrubbed: bool = False
    """True if the files hold no byte of it any more; False without a fix, or while a long reader
    keeps the log (run it again later)."""
    degraded: tuple[str, ...] = ()
    """Why changed entries have no vector yet."""


def scan(store: Store, bank: str, *, fix: bool) -> ScanReport:
    """Looks for secrets in everything that a bank holds; with `fix`, takes them out.

    A fix replaces words, titles, attributes and kept replies, blanks the change log of the entries,
    and deletes the traces that quote them or hold a secret of their own. Then the files are
    scrubbed. Vectors of changed entries are gone; `embed_pending` makes them again.

    Raises:
        BankReadOnly: a fix was asked for and the file cannot be written.
    """
    findings: list[Finding] = []
    seen: set[str] = set()
    after = 0
    while True:
        with store.read(bank) as reader:
            page = reader.entries(after=after, limit=PAGE)
            # What a fix changes gets a new row number and comes again at the end.
            values = [value for _, value in page if id_of(value) not in seen]
            found = list(_in_entries(reader, values))
        if not page:
            break
        after = page[-1][0]
        seen.update(map(id_of, values))
        findings += found
        if fix and found:
            with store.write(bank) as tx:
                _clean_entries(tx, dict.fromkeys(one.ref for one in found))
    with store.read(bank) as reader:
        sessions, traces = reader.sessions(), reader.traces(limit=_ALL)
        builds = [one for name in _BUILDERS for one in reader.builds(name).values()]
    in_sessions = [one for session in sessions for one in _in_session(session)]
    in_traces = [
        one
        for trace in traces
        for one in _findings("trace", trace.trace_id, hold_secrets(trace.to_json()))
    ]
    in_builds = [
        one
        for build in builds
        for one in _findings("build", build.turn_id, hold_secrets([build.detail, build.raw]))
    ]
    if fix and (in_sessions or in_builds or in_traces):
        with store.write(bank) as tx:
            tx.put_sessions(map(SecretGuard("redact").session, sessions))
            tx.put_builds(map(_cleaned, builds))
            tx.clear_past((), traces=[one.ref for one in in_traces])
    findings += in_sessions + in_builds + in_traces
    return ScanReport(
        bank=bank,
        findings=tuple(findings),
        scanned=len(seen),
        fixed=fix,
        scrubbed=fix and store.scrub(),
    )


_ALL = 2**31 - 1
_BUILDERS = (facts.BUILDER, episodes.BUILDER, BUILDER)  # the lite form keeps no reply


def _in_entries(reader: Reader, values: Iterable[Turn | Item]) -> Iterator[Finding]:
    for value in values:
        guard = SecretGuard("warn")
        guard.value(value)
        place: Place = "turn" if isinstance(value, Turn) else "item"
        yield from _findings(place, id_of(value), guard.found, value.source_id)
        past = [text for one in reader.history(id_of(value)) for text in (one.text, one.reason)]
        yield from _findings("history", id_of(value), hold_secrets(past), value.source_id)


def _in_session(session: Session) -> Iterator[Finding]:
    held = hold_secrets(session.title)
    yield from _findings("session", session.session_id, held, session.source_id)


def _cleaned(build: BuildRecord) -> BuildRecord:
    guard = SecretGuard("redact")
    return replace(build, detail=guard.text(build.detail), raw=guard.text(build.raw))


def _findings(place: Place, ref: str, held: Counter[str], source_id: str = "") -> Iterator[Finding]:
    for kind, count in sorted(held.items()):
        yield Finding(place=place, ref=ref, source_id=source_id, kind=kind, count=count)


def _clean_entries(tx: Writer, ids: Iterable[str]) -> None:
    """Replaces what entries hold, and deletes what was said of them before.

    They are read anew: another writer may have changed them since they were looked at.
    """
    wanted: Sequence[str] = list(ids)
    guard = SecretGuard("redact")
    tx.put([new_entry(guard.value(value)) for value in tx.get(wanted)])
    tx.clear_past(wanted)
