"""The import contract holds, and a violation is caught."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def _lint(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    env = {"PYTHONPATH": str(folder / "src"), "PATH": "/usr/bin:/bin"}
    return subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, encoding="utf-8", check=False
    )


def _copy(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path / "pyproject.toml")
    return tmp_path


def test_import_arrows_hold_and_a_seeded_violation_is_caught(tmp_path: Path) -> None:
    copy = _copy(tmp_path)
    assert _lint(copy).returncode == 0, _lint(copy).stdout

    seeded = copy / "src/evimem/model/ids.py"
    seeded.write_text(
        seeded.read_text(encoding="utf-8") + "\nimport evimem.engine  # noqa\n", encoding="utf-8"
    )
    caught = _lint(copy)
    assert caught.returncode == 1
    assert "evimem.model.ids" in caught.stdout


def test_the_core_may_not_reach_a_database_driver(tmp_path: Path) -> None:
    copy = _copy(tmp_path)
    seeded = copy / "src/evimem/retrieval/analyzer.py"
    seeded.write_text(seeded.read_text(encoding="utf-8") + "\nimport sqlite3\n", encoding="utf-8")
    assert _lint(copy).returncode == 1
