"""What users import is pinned, and importing it costs nothing and changes nothing."""

from __future__ import annotations

import subprocess
import sys

import evimem

PUBLIC = [
    "Answer",
    "Citation",
    "EvimemError",
    "ImportFormatError",
    "ImportOptions",
    "Item",
    "Memory",
    "NotFound",
    "ProviderError",
    "Session",
    "StorageError",
    "Turn",
    "UsageError",
    "__version__",
]


def test_public_names_are_exactly_these_and_all_exist() -> None:
    assert sorted(evimem.__all__) == sorted(PUBLIC)
    for name in PUBLIC:
        assert getattr(evimem, name) is not None


def _fresh(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-X", "utf8", "-c", code],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )
    return done.stdout.strip()


def test_importing_the_package_loads_nothing_heavy_and_sets_no_logging() -> None:
    loaded = _fresh(
        "import sys, logging; before = list(logging.root.handlers); import evimem;"
        "print([m for m in ('numpy','apsw','onnxruntime','torch','rich','click') "
        "if m in sys.modules], logging.root.handlers == before)"
    )
    assert loaded == "[] True"


def test_importing_the_package_reads_no_environment() -> None:
    read = _fresh(
        "import os, sys\n"
        "class Spy(dict):\n"
        "    seen = []\n"
        "    def get(self, key, default=None):\n"
        "        Spy.seen.append(key); return dict.get(self, key, default)\n"
        "    def __getitem__(self, key):\n"
        "        Spy.seen.append(key); return dict.__getitem__(self, key)\n"
        "os.environ = Spy(os.environ)\n"
        "import evimem\n"
        "print([k for k in Spy.seen if k.startswith('EVIMEM')])"
    )
    assert read == "[]"


def test_import_takes_at_most_300_ms() -> None:
    code = "import time; t=time.process_time(); import evimem; print(time.process_time()-t)"
    assert min(float(_fresh(code)) for _ in range(3)) <= 0.3
