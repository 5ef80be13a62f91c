"""Make the environments that other memory packages run in, one each, outside the project.

    python dev/make_peer_env.py                # all of them
    python dev/make_peer_env.py mem0-v1        # one
    python dev/make_peer_env.py --list         # what there is, what is made, where

Versions are those that the adapters were written for. An environment is made beside its place and
moved there once it is whole, so that one that was interrupted is made anew. They lie in the folder
EVIMEM_PEERS names or, where it names none, in the user's cache folder; the tests of the real
packages need EVIMEM_PEERS. Nothing of them is imported by evimem, and none has a network when it
runs: see evimem/eval/peers/inside/serve.py.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from evimem.eval.peers.known import PEERS, PeerKind

MARK = "requirements.txt"
"""Lists what a whole environment holds."""


def folder_of(environ: dict[str, str]) -> Path:
    """Where environments lie."""
    named = environ.get("EVIMEM_PEERS")
    if named:
        return Path(named)
    cache = environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "evimem" / "peers"


def environments() -> dict[str, PeerKind]:
    """One kind per environment; those that share one install the same."""
    return {kind.environment: kind for kind in PEERS.values()}


def wanted(kind: PeerKind) -> str:
    """The text of the mark."""
    return "\n".join([*kind.requirements, *kind.bare]) + "\n"


def is_made(place: Path, kind: PeerKind) -> bool:
    """True if the environment is whole and holds the versions asked for."""
    mark = place / MARK
    return mark.is_file() and mark.read_text(encoding="utf-8") == wanted(kind)


def install(python: Path, packages: Sequence[str], *more: str) -> None:
    """pip install, quietly.

    Raises:
        subprocess.CalledProcessError: pip failed; it has said why.
    """
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, *more, *packages], check=True)


def make(place: Path, kind: PeerKind, *, python: str = sys.executable) -> None:
    """One environment. Its programs name the folder that it was made in, so only its Python is run,
    which works from anywhere."""
    part = place.with_name(place.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    part.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([python, "-m", "venv", str(part)], check=True)
    inside = part / "bin" / "python"
    install(inside, kind.requirements)
    if kind.bare:
        install(inside, kind.bare, "--no-deps")
    (part / MARK).write_text(wanted(kind), encoding="utf-8")
    shutil.rmtree(place, ignore_errors=True)
    part.rename(place)


def main() -> int:
    """Make what was asked for; 1 where one failed."""
    known = environments()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(known))
    parser.add_argument("--list", action="store_true", help="say what there is and stop")
    given = parser.parse_args()
    unknown = [name for name in given.names if name not in known]
    if unknown:
        parser.error(f"no environment is called {unknown[0]!r}; there are {', '.join(known)}")
    folder = folder_of(dict(os.environ))
    if given.list:
        for name, kind in known.items():
            state = "made" if is_made(folder / name, kind) else "not made"
            print(f"{name:<12}{state:<10}{kind.licence:<12}{', '.join(wanted(kind).split())}")
        print(f"in {folder}")
        return 0
    failed = 0
    for name in given.names or known:
        if is_made(folder / name, known[name]):
            print(f"{name}: is made")
            continue
        try:
            make(folder / name, known[name])
            print(f"{name}: made")
        except subprocess.CalledProcessError as error:
            failed = 1
            print(f"{name}: failed ({error}); the others do without it", file=sys.stderr)
    print(f"set EVIMEM_PEERS={folder}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
