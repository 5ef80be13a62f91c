"""The tables, as ordered named migrations. Once released, a migration is never edited.

Canonical: bank, session, item, link, change, trace. Derived, and renewed from them: vector (and
the tokens in item), build. Feed: removed. Row numbers are ``bank << 32 | number``, so that one
bank is one range of every big table, and a row number is never used again.
"""

from __future__ import annotations

import apsw

from evimem.storage.sqlite.migrations import Migration

__all__ = ["APPLICATION_ID", "MIGRATIONS"]

APPLICATION_ID = 0x65766D62
"""Marks a file as ours ("evmb"), see PRAGMA application_id."""

_TABLES = """
CREATE TABLE file(
    id INTEGER PRIMARY KEY CHECK (id = 1),
    generation INTEGER NOT NULL,        -- above every generation of an erased bank
    unscrubbed INTEGER NOT NULL         -- erasures since the last checkpoint of everything
) STRICT;
INSERT INTO file VALUES (1, 0, 0);

CREATE TABLE bank(
    bank INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    born INTEGER NOT NULL,              -- generation before the first change
    generation INTEGER NOT NULL,
    trimmed INTEGER NOT NULL,           -- removals up to this generation are no longer listed
    next_number INTEGER NOT NULL,       -- next row number of any table, without the bank
    next_seq INTEGER NOT NULL,          -- next entry of the change log
    items INTEGER NOT NULL,             -- rows in item, so that a lost page is noticed
    embedder TEXT,
    dim INTEGER
) STRICT;

CREATE TABLE session(
    row INTEGER PRIMARY KEY,
    bank INTEGER NOT NULL REFERENCES bank,
    id TEXT NOT NULL,
    source_id TEXT NOT NULL,
    title TEXT NOT NULL,
    started_at INTEGER,                 -- microseconds since 1970 UTC
    started_offset INTEGER,             -- seconds east of UTC
    source TEXT NOT NULL,
    UNIQUE (bank, id),
    CHECK (row >> 32 = bank)
) STRICT;

CREATE TABLE item(
    row INTEGER PRIMARY KEY,
    bank INTEGER NOT NULL REFERENCES bank,
    id TEXT NOT NULL,
    kind INTEGER NOT NULL,              -- 0 turn, 1 fact, 2 episode, 3 semantic, 4 record
    state INTEGER NOT NULL,             -- 0 live, 1 retired
    version INTEGER NOT NULL,
    generation INTEGER NOT NULL,        -- when the row was last changed
    session INTEGER REFERENCES session,
    position INTEGER NOT NULL,
    speaker TEXT NOT NULL,
    role TEXT NOT NULL,
    said_at INTEGER,                    -- microseconds since 1970 UTC
    said_offset INTEGER,                -- seconds east of UTC
    source_id TEXT NOT NULL,
    caption TEXT NOT NULL,
    attrs TEXT NOT NULL,                -- JSON object, empty for none
    blank INTEGER NOT NULL,             -- 1 if there is nothing to embed
    traits INTEGER NOT NULL,
    analyzer INTEGER NOT NULL,
    crc INTEGER NOT NULL,
    tokens BLOB NOT NULL,               -- little-endian uint32
    text TEXT NOT NULL,
    UNIQUE (bank, id),
    CHECK (row >> 32 = bank),
    CHECK (kind > 0 OR session IS NOT NULL)
) STRICT;
CREATE INDEX item_generation ON item(bank, generation, state, kind, analyzer, blank);
CREATE INDEX item_session ON item(session, position);
CREATE INDEX item_source ON item(bank, source_id) WHERE source_id <> '';

CREATE TABLE vector(
    number INTEGER PRIMARY KEY,         -- bank << 32 | number, in the order stored
    bank INTEGER NOT NULL REFERENCES bank,
    row INTEGER NOT NULL REFERENCES item ON DELETE CASCADE,
    part INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    crc INTEGER NOT NULL,
    data BLOB NOT NULL,                 -- little-endian float16
    UNIQUE (row, part),
    CHECK (number >> 32 = bank AND row >> 32 = bank)
) STRICT;
CREATE INDEX vector_generation ON vector(bank, generation, part);

CREATE TABLE link(
    src INTEGER NOT NULL REFERENCES item ON DELETE CASCADE ON UPDATE CASCADE,
    position INTEGER NOT NULL,
    bank INTEGER NOT NULL,
    role INTEGER NOT NULL,              -- 0 parent, 1 member, 2 source, 3 derived
    dst INTEGER NOT NULL REFERENCES item ON DELETE CASCADE ON UPDATE CASCADE,
    hidden INTEGER NOT NULL,
    PRIMARY KEY (src, position),
    CHECK (src >> 32 = bank AND dst >> 32 = bank)
) STRICT, WITHOUT ROWID;
CREATE INDEX link_target ON link(dst, src);

-- No live item may lose its last source: whoever deletes a source deletes what stands on it first.
CREATE TRIGGER item_keeps_a_source BEFORE DELETE ON item
WHEN EXISTS (
    SELECT 1 FROM link AS l WHERE l.bank = old.bank AND l.dst = old.row AND l.src <> old.row
    AND NOT EXISTS (
        SELECT 1 FROM link AS o WHERE o.bank = l.bank AND o.src = l.src AND o.dst <> old.row
    )
)
BEGIN
    SELECT RAISE(ABORT, 'an item would lose its last source');
END;

CREATE TABLE change(
    bank INTEGER NOT NULL REFERENCES bank,
    seq INTEGER NOT NULL,
    id TEXT NOT NULL,
    op INTEGER NOT NULL,                -- 0 put, 1 revise, 2 retire, 3 erase
    version INTEGER NOT NULL,
    at INTEGER NOT NULL,                -- microseconds since 1970 UTC
    reason TEXT NOT NULL,
    text TEXT,                          -- before the change; blanked when the entry is erased
    PRIMARY KEY (bank, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX change_entry ON change(bank, id);

CREATE TABLE trace(
    row INTEGER PRIMARY KEY,
    bank INTEGER NOT NULL REFERENCES bank,
    id TEXT NOT NULL,
    body BLOB NOT NULL,                 -- JSON, packed (see traces.py)
    UNIQUE (bank, id),
    CHECK (row >> 32 = bank)
) STRICT;

CREATE TABLE trace_item(
    trace INTEGER NOT NULL REFERENCES trace ON DELETE CASCADE,
    item INTEGER NOT NULL REFERENCES item ON UPDATE CASCADE,
    bank INTEGER NOT NULL,
    PRIMARY KEY (trace, item),
    CHECK (trace >> 32 = bank AND item >> 32 = bank)
) STRICT, WITHOUT ROWID;
CREATE INDEX trace_item_item ON trace_item(item);

CREATE TABLE removed(
    bank INTEGER NOT NULL REFERENCES bank,
    generation INTEGER NOT NULL,
    row INTEGER NOT NULL,
    PRIMARY KEY (bank, generation, row)
) STRICT, WITHOUT ROWID;
"""


_BUILDS = """
CREATE TABLE build(
    turn INTEGER NOT NULL REFERENCES item ON DELETE CASCADE ON UPDATE CASCADE,
    builder TEXT NOT NULL,
    bank INTEGER NOT NULL,
    key TEXT NOT NULL,                  -- of model, prompt and all that was sent
    status INTEGER NOT NULL,            -- 0 done, 1 fallback, 2 refused, 3 failed
    items INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    detail TEXT NOT NULL,
    raw TEXT NOT NULL,                  -- a reply that could not be used
    PRIMARY KEY (turn, builder),
    CHECK (turn >> 32 = bank)
) STRICT, WITHOUT ROWID;
"""


def _first_tables(connection: apsw.Connection) -> None:
    connection.pragma("application_id", APPLICATION_ID)
    connection.execute(_TABLES)


def _builds(connection: apsw.Connection) -> None:
    connection.execute(_BUILDS)


MIGRATIONS: tuple[Migration, ...] = (
    Migration(name="first_tables", apply=_first_tables),
    Migration(name="builds", apply=_builds),
)
"""In order; a file's version is how many of them it has seen."""
