"""Requirements and cases have tests that carry their ids, and no test carries an id unknown here.

`SPEC` lists ids of the specification that are built so far, `CASES` cases from real use. Only the
ids stand here: what they ask for is told by the tests.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]

SPEC = {
    "mera": range(1, 96),
    "qem": range(1, 63),
    "uni": range(1, 71),
    "ben": (*range(1, 19),),
    "x": (1, 4, 5, 6, 7, 8, 11, 12, 15),
}

CASES = (
    1, 2, 4, 5, 7, 8, 10, 11, 13, 14, 16, 17, 19, 20, 22, 23, 25, 26, 29, 31, 32, 34, 35, 37,
    38, 40, 41, 43, 44, 46, 49, 50, 52, 53, 55, 58, 59, 61, 62, 64, 65, 67, 68, 70, 71, 73, 74,
    76, 77, 79, 80, 82, 83, 85, 86, 88, 89, 91, 92, 94, 95, 97, 100, 101, 103, 104, 106, 107,
    109, 110, 113, 121, 122, 127, 128, 130, 131, 133, 134, 137, 139, 140, 143,
)  # fmt: skip

HIGHEST_CASE = 143

_SPEC_ID = re.compile(r"(?<![a-z0-9])(ben|x|mera|qem|uni)_?(\d{1,3})(?!\d)")
_CASE_ID = re.compile(r"(?<![a-z0-9])p(\d{3})(?!\d)")


def _names() -> Iterator[str]:
    for path in sorted(TESTS.rglob("test_*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                yield node.name.lower()


NAMES = tuple(_names())


def test_every_listed_requirement_is_named_by_a_test() -> None:
    named = {(kind, int(n)) for name in NAMES for kind, n in _SPEC_ID.findall(name)}
    listed = {(kind, n) for kind, numbers in SPEC.items() for n in numbers}
    assert sorted(listed - named) == []


def test_every_listed_case_is_named_by_a_test_and_every_named_case_is_listed() -> None:
    named = {
        int(n) for name in NAMES if name.startswith("test_case_") for n in _CASE_ID.findall(name)
    }
    assert sorted(set(CASES) - named) == [], "listed, and no test carries the id"
    assert sorted(named - set(CASES)) == [], "carried by a test, and not listed here"
    assert max(named) <= HIGHEST_CASE
    assert list(CASES) == sorted(set(CASES))


def test_ids_are_read_from_names_as_they_are_written() -> None:
    assert _CASE_ID.findall("test_case_p065_p070_in_2_banks") == ["065", "070"]
    assert _SPEC_ID.findall("test_ben_3_x15_exact_parser") == [("ben", "3"), ("x", "15")]
    assert _CASE_ID.findall("test_case_p1234_and_top100") == []
