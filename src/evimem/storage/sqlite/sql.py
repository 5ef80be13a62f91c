"""Every statement on the tables of banks, as constants, so that one test can read them all.

Each names the bank column of each table it touches; `BANK_NAMES` and the `FILE_` statements alone
look over banks, for `banks()`, `check()` and the shared counters. ``NOT INDEXED`` keeps a scan of
one bank on the table itself, in the order of row numbers, and ``+bank`` keeps the engine from
looking a single row up by its bank; a test reads the plans.
"""

from __future__ import annotations

# -- the file ---------------------------------------------------------------------------------

FILE_GENERATION = "SELECT generation FROM file WHERE id = 1"
FILE_RAISE_GENERATION = "UPDATE file SET generation = max(generation, ?) WHERE id = 1"
FILE_UNSCRUBBED = "SELECT unscrubbed FROM file WHERE id = 1"
FILE_ERASED = "UPDATE file SET unscrubbed = unscrubbed + 1 WHERE id = 1"
FILE_SCRUBBED = "UPDATE file SET unscrubbed = 0 WHERE id = 1 AND unscrubbed = ?"

# -- banks ------------------------------------------------------------------------------------

BANK_NAMES = "SELECT bank, name FROM bank ORDER BY name"
BANK_STATE = """
SELECT bank, born, generation, trimmed, next_number, next_seq, items, embedder, dim
FROM bank WHERE name = ?"""
BANK_ADD = """
INSERT INTO bank(bank, name, born, generation, trimmed, next_number, next_seq, items)
VALUES (NULL, :name, :born, :born, 0, 1, 1, 0)"""
BANK_UPDATE = """
UPDATE bank SET generation = ?, trimmed = ?, next_number = ?, next_seq = ?, items = ?,
    embedder = ?, dim = ?
WHERE bank = ?"""
BANK_DELETE = "DELETE FROM bank WHERE bank = ?"

# -- sessions ---------------------------------------------------------------------------------

_SESSION = "id, source_id, title, started_at, started_offset, source"

SESSION_ROW = "SELECT row FROM session WHERE bank = ? AND id = ?"
SESSION_ADD_BARE = """
INSERT INTO session(row, bank, id, source_id, title, source) VALUES (?, ?, ?, '', '', '')"""
SESSION_PUT = """
UPDATE session SET source_id = ?, title = ?, started_at = ?, started_offset = ?, source = ?
WHERE bank = ? AND row = ?"""
SESSIONS = f"""
SELECT {_SESSION} FROM session WHERE bank = ? ORDER BY started_at IS NULL, started_at, row"""
SESSION_IDS = "SELECT row, id FROM session WHERE bank = ?"
SESSION_COUNT = "SELECT count(*) FROM session WHERE bank = ?"
SESSION_HAS_TURN = """
SELECT EXISTS (SELECT 1 FROM item WHERE +bank = ? AND session = ? AND kind = 0)"""
SESSION_ID = "SELECT id FROM session WHERE bank = ? AND row = ?"
SESSION_DELETE = "DELETE FROM session WHERE bank = ? AND row = ?"
SESSIONS_DELETE = "DELETE FROM session WHERE bank = ?"

# -- items ------------------------------------------------------------------------------------

_CONTENT = "kind, position, speaker, role, said_at, said_offset, source_id, caption, attrs, text"
_ENTRY = f"row, id, session, state, version, {_CONTENT}, traits, analyzer, crc, tokens"

ITEM_BY_ID = f"SELECT {_ENTRY} FROM item WHERE bank = ? AND id = ?"
ITEM_ROW = "SELECT row, state FROM item WHERE bank = ? AND id = ?"
ITEM_STATE = "SELECT id, kind, state, version, session FROM item WHERE bank = ? AND row = ?"
ITEM_ADD = """
INSERT INTO item(row, bank, id, kind, state, version, generation, session, position, speaker, role,
    said_at, said_offset, source_id, caption, attrs, blank, traits, analyzer, crc, tokens, text)
VALUES (?, ?, ?, ?, 0, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
ITEM_UPDATE = """
UPDATE item SET row = ?, state = 0, version = ?, generation = ?, session = ?, kind = ?,
    position = ?, speaker = ?, role = ?, said_at = ?, said_offset = ?, source_id = ?, caption = ?,
    attrs = ?, text = ?, blank = ?, traits = ?, analyzer = ?, crc = ?, tokens = ?
WHERE bank = ? AND row = ?"""
ITEM_RETOKENISE = """
UPDATE item SET traits = ?, analyzer = ?, crc = ?, tokens = ?, generation = ?
WHERE bank = ? AND row = ?"""
ITEM_RETIRE = """
UPDATE item SET state = 1, version = version + 1, generation = ? WHERE bank = ? AND row = ?"""
ITEM_TOUCH = "UPDATE item SET generation = ? WHERE bank = ? AND row = ?"
ITEM_LEAVE_SESSION = """
UPDATE item SET session = NULL, generation = ? WHERE +bank = ? AND session = ?"""
ITEM_DELETE = "DELETE FROM item WHERE bank = ? AND row = ?"
ITEMS_DELETE = "DELETE FROM item NOT INDEXED WHERE bank = ? AND row BETWEEN ? AND ?"
ITEMS_LIVE_IN_SESSION = f"""
SELECT {_ENTRY} FROM item WHERE +bank = ? AND state = 0 AND kind = 0 AND session = ?
ORDER BY position, row"""
ITEMS_PAGE = f"""
SELECT {_ENTRY} FROM item NOT INDEXED
WHERE bank = ? AND row > ? AND row <= ? AND state = 0 ORDER BY row LIMIT ?"""
ITEMS_ALL = f"""
SELECT {_ENTRY} FROM item NOT INDEXED WHERE bank = ? AND row BETWEEN ? AND ? ORDER BY row"""
ITEMS_SINCE = f"""
SELECT {_ENTRY} FROM item WHERE bank = ? AND generation > ? ORDER BY row"""
ITEMS_BY_SOURCE = """
SELECT id, kind FROM item WHERE bank = ? AND source_id = ? AND source_id <> '' AND state = 0
ORDER BY row"""
ITEMS_PENDING = """
SELECT row, id, kind, text, caption, attrs FROM item AS i NOT INDEXED
WHERE bank = ? AND row > ? AND row <= ? AND state = 0 AND blank = 0
AND NOT EXISTS (SELECT 1 FROM vector AS v WHERE +v.bank = i.bank AND v.row = i.row)
ORDER BY row LIMIT ?"""
ITEMS_TO_EMBED = """
SELECT row, id, kind, text, caption, attrs FROM item NOT INDEXED
WHERE bank = ? AND row > ? AND row <= ? AND state = 0 AND blank = 0 ORDER BY row LIMIT ?"""
ITEM_COUNTS = """
SELECT kind, analyzer, count(*), sum(blank = 0) FROM item INDEXED BY item_generation
WHERE bank = ? AND state = 0 GROUP BY kind, analyzer"""
ITEM_IDS = """
SELECT id, kind FROM item NOT INDEXED WHERE bank = ? AND row BETWEEN ? AND ? ORDER BY row"""

# -- vectors ----------------------------------------------------------------------------------

VECTOR_PUT = """
INSERT INTO vector(number, bank, row, part, generation, crc, data)
SELECT ?, ?, ?, ?, ?, ?, ?
WHERE EXISTS (SELECT 1 FROM item WHERE bank = ? AND row = ? AND state = 0)
ON CONFLICT(row, part) DO UPDATE SET
    bank = excluded.bank, generation = excluded.generation, crc = excluded.crc,
    data = excluded.data"""
VECTORS_ALL = """
SELECT row, part, crc, data FROM vector NOT INDEXED
WHERE bank = ? AND number BETWEEN ? AND ? ORDER BY number"""
VECTORS_SINCE = """
SELECT row, part, crc, data FROM vector WHERE bank = ? AND generation > ? ORDER BY number"""
VECTORS_OF_ROW_DELETE = "DELETE FROM vector WHERE +bank = ? AND row = ?"
VECTORS_DELETE = "DELETE FROM vector NOT INDEXED WHERE bank = ? AND number BETWEEN ? AND ?"
VECTOR_ENTRIES = "SELECT count(*) FROM vector WHERE bank = ? AND part = 0"

# -- links ------------------------------------------------------------------------------------

LINK_ADD = "INSERT INTO link(src, position, bank, role, dst, hidden) VALUES (?, ?, ?, ?, ?, ?)"
LINKS_OF = """
SELECT l.role, i.id, l.hidden FROM link AS l JOIN item AS i ON i.row = l.dst AND i.bank = l.bank
WHERE l.bank = ? AND l.src = ? ORDER BY l.position"""
# Some links bind: what they lead to takes the item along, whatever else it links to. A fact, an
# episode and a record are bound to every turn that was shown when they were written (hidden links),
# an episode to its members, a semantic fact to the turns that it was said in. A semantic fact that
# was learned from episodes is kept by those alone.
LINK_SOURCES = """
SELECT l.dst FROM link AS l JOIN item AS i ON i.row = l.src AND i.bank = l.bank
WHERE l.bank = ? AND l.src = ? AND NOT (l.hidden AND i.kind IN (1, 2, 4))
AND NOT (l.role = 0 AND i.kind = 3 AND EXISTS (
    SELECT 1 FROM link AS s WHERE s.bank = l.bank AND s.src = l.src AND s.role = 2))"""
LINK_BINDS = """
SELECT l.src FROM link AS l JOIN item AS i ON i.row = l.src AND i.bank = l.bank
WHERE l.bank = ? AND l.dst = ?
AND (l.hidden AND i.kind IN (1, 2, 4) OR l.role = 1 AND i.kind = 2 OR l.role = 0 AND i.kind = 3)"""
LINK_DERIVED = "SELECT src FROM link WHERE bank = ? AND dst = ?"
LINKS_TO = """
SELECT DISTINCT i.id FROM link AS l JOIN item AS i ON i.row = l.src AND i.bank = l.bank
WHERE l.bank = ? AND l.dst = ? AND NOT l.hidden AND i.state = 0 ORDER BY i.row"""
LINKS_ALL = """
SELECT l.src, i.id FROM link AS l NOT INDEXED
CROSS JOIN item AS i ON i.row = l.dst AND i.bank = l.bank
WHERE l.bank = ? AND l.src BETWEEN ? AND ? AND NOT l.hidden AND i.kind = 0
ORDER BY l.src, l.position"""
LINKS_OF_ITEM_DELETE = "DELETE FROM link WHERE bank = ? AND src = ?"
LINKS_DELETE = "DELETE FROM link WHERE bank = ? AND src BETWEEN ? AND ?"

# -- what builders did ------------------------------------------------------------------------

BUILDS = """
SELECT i.id, b.key, b.status, b.items, b.attempts, b.detail, b.raw
FROM build AS b NOT INDEXED CROSS JOIN item AS i ON i.row = b.turn AND i.bank = b.bank
WHERE b.bank = ? AND b.turn BETWEEN ? AND ? AND b.builder = ? AND i.state = 0 ORDER BY b.turn"""
BUILDS_OF = """
SELECT i.id, b.builder, b.key, b.status, b.items, b.attempts, b.detail, b.raw
FROM item AS i JOIN build AS b ON b.turn = i.row AND +b.bank = i.bank
WHERE i.bank = ? AND i.id = ? AND i.state = 0"""
BUILD_PUT = """
INSERT INTO build(turn, builder, bank, key, status, items, attempts, detail, raw)
SELECT row, ?, bank, ?, ?, ?, ?, ?, ? FROM item WHERE bank = ? AND id = ? AND kind = 0 AND state = 0
ON CONFLICT(turn, builder) DO UPDATE SET
    bank = excluded.bank, key = excluded.key, status = excluded.status, items = excluded.items,
    attempts = excluded.attempts, detail = excluded.detail, raw = excluded.raw"""
BUILDS_BLANK = """
UPDATE build SET detail = '', raw = '' WHERE bank = ? AND turn = ?"""
BUILDS_BLANK_IN_SESSION = """
UPDATE build SET detail = '', raw = ''
WHERE +bank = ? AND turn IN (SELECT row FROM item WHERE +bank = ? AND session = ?)"""
BUILDS_DELETE = "DELETE FROM build WHERE bank = ? AND turn BETWEEN ? AND ?"

# -- change log -------------------------------------------------------------------------------

CHANGE_ADD = """
INSERT INTO change(bank, seq, id, op, version, at, reason, text) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"""
CHANGES_OF = """
SELECT seq, op, version, at, reason, text FROM change INDEXED BY change_entry
WHERE bank = ? AND id = ? ORDER BY seq"""
CHANGES_OF_KIND = """
SELECT c.id, c.seq, c.op, c.version, c.at, c.reason, c.text
FROM item AS i INDEXED BY item_generation
CROSS JOIN change AS c INDEXED BY change_entry ON c.bank = i.bank AND c.id = i.id
WHERE i.bank = ? AND i.kind = ? ORDER BY c.seq"""
CHANGES_BLANK = """
UPDATE change INDEXED BY change_entry SET text = NULL, reason = ''
WHERE bank = ? AND id = ? AND (text IS NOT NULL OR reason <> '')"""
CHANGES_WITH_TEXT = "SELECT count(*) FROM change WHERE bank = ? AND text IS NOT NULL"
CHANGES_DELETE = "DELETE FROM change WHERE bank = ?"

# -- traces -----------------------------------------------------------------------------------

TRACE_ROW = "SELECT row FROM trace WHERE bank = ? AND id = ?"
TRACE_ADD = "INSERT INTO trace(row, bank, id, body) VALUES (?, ?, ?, ?)"
TRACE_LINK = "INSERT INTO trace_item(trace, item, bank) VALUES (?, ?, ?)"
TRACES_NEWEST = """
SELECT id, body FROM trace NOT INDEXED
WHERE bank = ? AND row BETWEEN ? AND ? ORDER BY row DESC LIMIT ?"""
TRACE_BY_ID = "SELECT id, body FROM trace WHERE bank = ? AND id = ?"
TRACE_COUNT = "SELECT count(*) FROM trace WHERE bank = ?"
TRACE_DELETE = "DELETE FROM trace WHERE bank = ? AND row = ?"
TRACES_OF = "SELECT trace FROM trace_item WHERE bank = ? AND item = ?"
TRACES_DELETE = "DELETE FROM trace WHERE bank = ?"
TRACES_TRIM = """
DELETE FROM trace WHERE bank = ? AND row IN (
    SELECT row FROM trace NOT INDEXED
    WHERE bank = ? AND row BETWEEN ? AND ? ORDER BY row DESC LIMIT -1 OFFSET ?)"""

# -- feed of removals -------------------------------------------------------------------------

REMOVED_ADD = "INSERT OR IGNORE INTO removed(bank, generation, row) VALUES (?, ?, ?)"
REMOVED_SINCE = "SELECT row FROM removed WHERE bank = ? AND generation > ? ORDER BY row"
REMOVED_COUNT = "SELECT count(*) FROM removed WHERE bank = ?"
REMOVED_AFTER = """
SELECT generation FROM removed WHERE bank = ? ORDER BY generation LIMIT 1 OFFSET ?"""
REMOVED_TRIM = "DELETE FROM removed WHERE bank = ? AND generation <= ?"
REMOVED_DELETE = "DELETE FROM removed WHERE bank = ?"

# -- verification -----------------------------------------------------------------------------

CHECK_ORPHANS = """
SELECT i.id FROM item AS i NOT INDEXED
WHERE i.bank = ? AND i.row BETWEEN ? AND ? AND i.kind > 0 AND i.state = 0 AND i.source_id = ''
AND NOT EXISTS (SELECT 1 FROM link AS l WHERE l.bank = i.bank AND l.src = i.row)"""
CHECK_RETIRED_VECTORS = """
SELECT count(*) FROM vector AS v JOIN item AS i ON i.row = v.row AND i.bank = v.bank
WHERE v.bank = ? AND i.state <> 0"""
CHECK_VECTOR_SIZE = "SELECT count(*) FROM vector WHERE bank = ? AND length(data) <> ?"
CHECK_HIGHEST = """
SELECT max(
    ifnull((SELECT max(row) FROM item WHERE bank = :bank), 0),
    ifnull((SELECT max(row) FROM session WHERE bank = :bank), 0),
    ifnull((SELECT max(row) FROM trace WHERE bank = :bank), 0),
    ifnull((SELECT max(number) FROM vector WHERE bank = :bank), 0))"""
CHECK_TRACE_ITEMS = """
SELECT i.id FROM trace_item AS t JOIN item AS i ON i.row = t.item AND i.bank = t.bank
WHERE t.bank = ? AND t.trace = (SELECT row FROM trace WHERE bank = ? AND id = ?)"""
