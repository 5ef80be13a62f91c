"""The statements: each names the bank, uses the index it should, and none hides elsewhere."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

import evimem.storage.sqlite
from evimem.storage.sqlite import sql
from evimem.storage.sqlite.schema import MIGRATIONS

STATEMENTS = {
    name: value
    for name, value in vars(sql).items()
    if name.isupper() and not name.startswith("_") and isinstance(value, str)
}
OVER_BANKS = {"BANK_NAMES", "BANK_STATE"}  # by the unique name, or all names
SHARED_TABLES = {"file", "migration", "sqlite_schema", "sqlite_master", "sqlite_sequence"}


@pytest.fixture(scope="module")
def tables() -> Iterator[apsw.Connection]:
    """An empty file's tables."""
    connection = apsw.Connection(":memory:")
    for step in MIGRATIONS:
        step.apply(connection)
    yield connection
    connection.close()


def bindings(statement: str) -> Any:
    return {"bank": 1, "name": "x", "born": 1} if ":" in statement else (1,) * statement.count("?")


def columns_used(connection: apsw.Connection, statement: str) -> dict[str, set[str]]:
    """For each table that a statement touches, the columns it reads or (updating) writes."""
    used: dict[str, set[str]] = {}

    def note(op: int, first: str | None, second: str | None, _: Any, trigger: str | None) -> int:
        if trigger is None and first is not None:
            if op in (apsw.SQLITE_READ, apsw.SQLITE_UPDATE):
                used.setdefault(first, set()).add(second or "")
            elif op in (apsw.SQLITE_INSERT, apsw.SQLITE_DELETE):
                used.setdefault(first, set())
        return apsw.SQLITE_OK

    connection.authorizer = note
    try:
        connection.execute("EXPLAIN " + statement, bindings(statement), can_cache=False).fetchall()
    finally:
        connection.authorizer = None
    return used


@pytest.mark.parametrize("name", sorted(STATEMENTS))
def test_case_p107_every_statement_names_the_bank_of_every_table(
    tables: apsw.Connection, name: str
) -> None:
    statement = STATEMENTS[name]
    used = columns_used(tables, statement)
    if name.startswith("FILE_"):
        assert set(used) == {"file"}
        return
    inserted = re.match(r"\s*INSERT (?:OR IGNORE )?INTO (\w+)\(([^)]*)\)", statement)
    if inserted is not None:
        assert "bank" in re.split(r",\s*", inserted[2])
        used.setdefault(inserted[1], set()).add("bank")
    assert used and not set(used) & SHARED_TABLES
    for table, columns in used.items():
        if name not in OVER_BANKS:
            assert "bank" in columns, f"{name} touches {table} without its bank"
    if inserted is None and name not in OVER_BANKS:
        assert re.search(r"WHERE\s[^;]*\bbank = [?:]", statement), f"{name} is not bound to a bank"


def test_every_table_but_the_shared_ones_has_a_bank_column(tables: apsw.Connection) -> None:
    names = [n for (n,) in tables.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    for table in set(names) - SHARED_TABLES:
        columns = [c for (c,) in tables.execute("SELECT name FROM pragma_table_info(?)", (table,))]
        assert "bank" in columns, table
    assert set(names) - SHARED_TABLES == {
        "bank", "session", "item", "vector", "link", "change", "trace", "trace_item", "removed",
        "build",
    }  # fmt: skip


def test_case_p046_one_column_holds_the_time_as_a_number_in_utc(tables: apsw.Connection) -> None:
    found = tables.execute("SELECT name, type FROM pragma_table_info('item')").fetchall()
    assert [kind for name, kind in found if name == "said_at"] == ["INTEGER"]
    assert [name for name, _ in found if "time" in name or "date" in name] == []


@pytest.mark.parametrize("name", sorted(STATEMENTS))
def test_no_statement_walks_over_other_banks(tables: apsw.Connection, name: str) -> None:
    if name == "BANK_NAMES":
        return
    statement = STATEMENTS[name]
    plan = tables.execute("EXPLAIN QUERY PLAN " + statement, bindings(statement)).fetchall()
    scans = [str(line) for *_, line in plan if str(line).startswith("SCAN")]
    if name == "LINKS_DELETE":
        assert scans == [], "a range of the primary key"
    assert [line for line in scans if line != "SCAN CONSTANT ROW"] == []


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ITEMS_ALL", "SEARCH item USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"),
        ("ITEMS_PAGE", "SEARCH item USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"),
        ("ITEMS_PENDING", "SEARCH v USING INDEX sqlite_autoindex_vector_1 (row=?)"),
        ("VECTORS_ALL", "SEARCH vector USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"),
        ("VECTORS_OF_ROW_DELETE", "SEARCH vector USING INDEX sqlite_autoindex_vector_1 (row=?)"),
        ("ITEM_BY_ID", "SEARCH item USING INDEX sqlite_autoindex_item_1 (bank=? AND id=?)"),
        ("ITEMS_SINCE", "SEARCH item USING INDEX item_generation (bank=? AND generation>?)"),
        ("CHANGES_OF", "SEARCH change USING INDEX change_entry (bank=? AND id=?)"),
        ("CHANGES_OF_KIND", "SEARCH c USING INDEX change_entry (bank=? AND id=?)"),
        ("CHANGES_BLANK", "SEARCH change USING INDEX change_entry (bank=? AND id=?)"),
        ("LINK_DERIVED", "SEARCH link USING INDEX link_target (dst=?)"),
        ("LINK_BINDS", "SEARCH l USING INDEX link_target (dst=?)"),
        ("BUILDS", "SEARCH b USING PRIMARY KEY (turn>? AND turn<?)"),
        ("BUILDS_BLANK", "SEARCH build USING PRIMARY KEY (turn=?)"),
        ("LINKS_ALL", "SEARCH l USING PRIMARY KEY (src>? AND src<?)"),
        ("SESSION_HAS_TURN", "SEARCH item USING INDEX item_session (session=?)"),
        ("ITEM_COUNTS", "SEARCH item USING COVERING INDEX item_generation (bank=?)"),
    ],
)
def test_frequent_statements_use_their_index(
    tables: apsw.Connection, name: str, expected: str
) -> None:
    statement = STATEMENTS[name]
    plan = tables.execute("EXPLAIN QUERY PLAN " + statement, bindings(statement)).fetchall()
    assert expected in [line for *_, line in plan]


def test_statements_on_tables_stand_in_one_module_only() -> None:
    folder = Path(evimem.storage.sqlite.__file__).parent
    allowed = {"sql.py", "schema.py"}
    verb = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE|REPLACE|WITH)\s", re.ASCII)
    found = []
    for file in sorted(folder.glob("*.py")):
        if file.name in allowed:
            continue
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                text = node.value
                if verb.match(text) and not re.search(r"\b(migration|sqlite_schema)\b", text):
                    found.append((file.name, text))
    assert found == []


def test_one_library_touches_the_file() -> None:
    folder = Path(evimem.storage.sqlite.__file__).parent
    for file in folder.glob("*.py"):
        tree = ast.parse(file.read_text("utf-8"))
        names = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
        assert "sqlite3" not in names and "pickle" not in names
