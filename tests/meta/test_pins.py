"""The pins of the two environments agree, and torch stays out of them."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def pins(name: str) -> dict[str, str]:
    """Versions of a constraints file; a pin without a hash fails."""
    text = (ROOT / name).read_text(encoding="utf-8")
    found = re.findall(
        r"^([a-z0-9-]+)==(\S+) \\\n((?:    --hash=sha256:[0-9a-f]{64}.*\n)+)", text, re.M
    )
    assert len(found) == len(re.findall(r"^[a-zA-Z0-9]", text, re.M)), "each line has a hash"
    return {package: version for package, version, _ in found}


def test_packages_of_both_environments_have_one_version() -> None:
    main, train = pins("constraints.txt"), pins("constraints-train.txt")
    assert {name: train[name] for name in main.keys() & train.keys()} == {
        name: main[name] for name in main.keys() & train.keys()
    }
    assert "numpy" in main.keys() & train.keys()


def test_the_pins_of_training_leave_torch_to_pip_and_hold_the_rest_of_the_extra() -> None:
    train = pins("constraints-train.txt")
    assert not [name for name in train if re.match(r"torch$|nvidia|cuda|triton", name)]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extra = project["project"]["optional-dependencies"]["train"]
    names = {re.split(r"[<>=]", one)[0] for one in extra}
    assert names - set(train) == {"torch"}
    [torch] = [one for one in extra if one.startswith("torch")]
    made = re.search(
        r"^TORCH\s*:= torch==(\d+\.\d+)\.\d+$", (ROOT / "Makefile").read_text("utf-8"), re.M
    )
    assert made and torch.startswith(f"torch>={made[1]},<")


def test_ci_runs_the_tests_of_training_before_those_of_the_rest() -> None:
    steps = (ROOT / ".ci/run").read_text(encoding="utf-8").splitlines()
    ran = [line.split()[1] for line in steps if line.startswith("make ")]
    assert ran[-1] == "test" and "test-train" in ran
