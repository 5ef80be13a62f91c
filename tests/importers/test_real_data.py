"""The public data sets import whole. Only counts and ids stand here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.data


def test_locomo10_gives_272_sessions_and_5882_turns(data_dir: Path, read: Any) -> None:
    found = read(data_dir / "locomo10.json")
    assert len(found.sessions) == 272
    assert len(found.turns) == 5882
    assert len(set(found.ids)) == 5882
    assert not found.failed
    assert sum(bool(turn.caption) for turn in found.turns) == 1226
    assert any("noon" in warning and "(14x" in warning for warning in found.warnings)
    assert all(9 <= session.started_at.hour <= 21 for session in found.sessions)
    assert found.skipped["session_without_turns"] >= 16
    assert {session.title.split()[0] for session in found.sessions} == {
        f"conv-{i}" for i in (26, 30, 41, 42, 43, 44, 47, 48, 49, 50)
    }


def test_longmemeval_files_import_with_all_their_turns(data_dir: Path, read: Any) -> None:
    files = sorted((data_dir / "longmemeval").glob("s_*/*.json"))[:4]
    assert files
    for file in files:
        loaded = json.loads(file.read_text(encoding="utf-8"))
        entries = loaded if isinstance(loaded, list) else [loaded]
        sessions = [session for entry in entries for session in entry["haystack_sessions"]]
        found = read(file)
        assert len(found.turns) == sum(len(session) for session in sessions)
        assert len(found.sessions) == sum(bool(session) for session in sessions)
        assert len(set(found.ids)) == len(found.ids)
        times = [session.started_at for session in found.sessions]
        assert times == sorted(times)
        assert not found.failed
        assert "has_answer" not in str(found.turns[:50])
