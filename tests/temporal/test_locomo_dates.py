"""The engine's answers against LoCoMo's own (counts only; figures stand in docs)."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "dev" / "temporal_check.py"


@pytest.mark.data
def test_issue_2_when_answers_equal_locomo_in_at_least_159_of_246(data_dir: Path) -> None:
    spec = importlib.util.spec_from_file_location("temporal_check", SCRIPT)
    assert spec is not None and spec.loader is not None
    check = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = check
    spec.loader.exec_module(check)
    cases = check.load_cases(data_dir / "locomo10.json")
    report = [case for case in cases if case.conversation not in check.TUNING]
    everything, eight = check.measure(cases), check.measure(report)
    assert everything["questions"] == 246
    assert everything["with an expression"] >= 207
    assert everything["any"] >= 159
    assert eight["any"] >= 120
