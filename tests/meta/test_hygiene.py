"""Rules for the whole tree that a linter does not know."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))

BANNED_MODULES = {"pickle", "dill", "marshal", "shelve", "joblib", "cloudpickle"}
BANNED_CALLS = {"eval", "exec"}


def _violations(tree: ast.AST) -> list[str]:
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [a.name for a in node.names if a.name.split(".")[0] in BANNED_MODULES]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found += [node.module] if node.module.split(".")[0] in BANNED_MODULES else []
        elif isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            allow = [k for k in node.keywords if k.arg == "allow_pickle"]
            bad = name in BANNED_CALLS or name in ("yaml.load", "torch.load")
            bad |= any(getattr(k.value, "value", None) is not False for k in allow)
            found += [name] if bad else []
    return found


def test_case_p122_nothing_is_unpickled_or_evaluated() -> None:
    assert _violations(ast.parse("import pickle\neval('1')\nnp.load('x', allow_pickle=True)")) == [
        "pickle",
        "eval",
        "np.load",
    ]
    for path in SOURCES:
        assert _violations(ast.parse(path.read_text(encoding="utf-8"))) == [], path


def test_case_p044_no_memory_semantics_read_the_wall_clock() -> None:
    """Only the composition root knows what time it is; everything else gets a clock."""
    for path in SOURCES:
        if path.name == "compose.py":
            continue
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"\b(datetime|date)\.(now|today|utcnow)\(", text), path
        assert "time.time()" not in text, path


def test_only_settings_reads_the_environment() -> None:
    for path in SOURCES:
        # Peers run as processes of their own: their environment is made there, not read.
        if path.name != "settings.py" and "peers" not in path.parts:
            assert not re.search(r"os\.(environ|getenv)", path.read_text(encoding="utf-8")), path


def test_tracked_files_hold_no_machine_path_and_no_registry_host() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False
    ).stdout
    names = [name for name in listed.decode("utf-8").split("\0") if name]
    bad = re.compile(
        rb"/[w]ork/|/[r]oot/|/home/[a-z]+/|https?://[a-z0-9.-]*(py[p]i|python[h]osted|np[m]js)"
    )
    for name in names:
        path = ROOT / name
        if path.is_file():
            assert not bad.search(path.read_bytes()), name


def test_source_files_stay_readable() -> None:
    for path in SOURCES:
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 600, path
