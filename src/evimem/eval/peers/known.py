"""The packages that can be run as peers: what is installed, how they are driven, what differs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from evimem.errors import UsageError
from evimem.eval.harness.system import Deviation
from evimem.eval.peers.proxy import Purpose
from evimem.model.turn import JsonValue

__all__ = ["PEERS", "PeerKind", "PurposeOf", "peer_kind", "python_of"]

PurposeOf = Callable[[Mapping[str, JsonValue]], Purpose]

_EXTRACT = Purpose(role="extract", phase="summary")
_MANAGE = Purpose(role="manage", phase="update")

_PROMPTS = Deviation(
    what="requests pass a loopback proxy: the model is that of the run, not the package's default; "
    "a wish for JSON mode and a forced tool are not carried over",
    why="all systems of a run ask the same models under one budget and one ledger",
)
_EMBEDDER = Deviation(
    what="vectors come from the embedder of the run",
    why="the package's default is a hosted one, or one whose weights cannot be had here",
)
_ANSWER = Deviation(
    what="the answer is written by a plain prompt of ours over the memories found",
    why="the package searches and leaves answering to its user",
)
_PROVENANCE = Deviation(
    what="the turns behind a memory are those of the call that last touched it or any before",
    why="the package keeps none; without them no recall by turn could be given",
)
_CLOCK = Deviation(
    what="stamps of the wall clock are not shown; the time said is kept beside each memory",
    why="a replay must not depend on the day that it runs on",
)


def _extracts(body: Mapping[str, JsonValue]) -> Purpose:
    return _EXTRACT


def _manages(body: Mapping[str, JsonValue]) -> Purpose:
    return _MANAGE


def _mem0_purpose(body: Mapping[str, JsonValue]) -> Purpose:
    """Extraction has a system message; the decision on what is stored is one user message."""
    messages = body.get("messages")
    alone = isinstance(messages, list) and len(messages) == 1
    return _MANAGE if alone else _EXTRACT


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerKind:
    """One package and one way of driving it."""

    name: str
    """Its name in tables."""
    adapter: str
    """The file `inside/<adapter>_peer.py`."""
    requirements: tuple[str, ...]
    """What its environment installs, pinned."""
    environment: str
    """Name of the environment; peers that differ in settings share one."""
    bare: tuple[str, ...] = ()
    """Installed after them without what they ask for, where that is large and not used here."""
    licence: str
    """SPDX id."""
    config: Mapping[str, JsonValue] = field(default_factory=dict)
    """Settings handed to the adapter."""
    infer: bool = False
    """True if a model reads what is stored; False: turns word for word."""
    slice: int = 1
    """Turns per request to the process, where it infers: one wait is for so many."""
    speaker_in_text: bool = True
    """Speakers stand before the words, where the package has no field for them."""
    answers: bool = False
    """True if it has a search and an answer of its own that ask models."""
    k: int = 30
    """Memories shown to the answer model."""
    purpose: PurposeOf = _extracts
    """What a chat request of a build is for."""
    deviations: tuple[Deviation, ...] = ()
    """How this differs from the package on its own."""


def _verbatim(name: str, adapter: str, environment: str, licence: str, *needs: str) -> PeerKind:
    return PeerKind(
        name=name,
        adapter=adapter,
        environment=environment,
        licence=licence,
        requirements=needs,
        deviations=(_EMBEDDER, _ANSWER, _CLOCK),
    )


_MEM0_V1 = "mem0ai==1.0.11"
_MEM0_V2 = "mem0ai==2.2.1"
_LANGMEM = ("langmem==0.0.30", "langgraph==1.2.24", "langchain-openai==1.7.4", "numpy==2.4.6")
_SIMPLEMEM = "simplemem==0.1.0"
_SIMPLEMEM_NEEDS = (
    "lancedb==0.27.1",  # later ones make no index by Tantivy, and its search by words finds nothing
    "pylance==1.0.4",
    "openai==3.57.0",
    "pyarrow==26.0.1",
    "tantivy==0.27.0",
    "dateparser==1.5.0",
    "pydantic==2.14.4",
    "numpy==2.4.6",
)  # and not sentence-transformers, which brings gigabytes: vectors come from the run
_MEMPALACE = "mempalace==3.11.0"

PEERS: Mapping[str, PeerKind] = {
    one.name: one
    for one in (
        PeerKind(
            name="mem0ai-1.0.11",
            adapter="mem0",
            environment="mem0-v1",
            licence="Apache-2.0",
            requirements=(_MEM0_V1,),
            config={"infer": True, "batch": 2},
            infer=True,
            slice=2,
            purpose=_mem0_purpose,
            deviations=(
                _PROMPTS,
                _EMBEDDER,
                _ANSWER,
                _PROVENANCE,
                _CLOCK,
                Deviation(
                    what="one store per conversation with names in the text, not one per speaker "
                    "with roles swapped",
                    why="two stores double the cost for the same facts, and the extraction prompt "
                    "drops what stands in the role assistant",
                ),
                Deviation(
                    what="the date in the extraction prompt is the newest time said",
                    why="the package writes the day of the run there",
                ),
            ),
        ),
        PeerKind(
            name="mem0ai-2",
            adapter="mem0",
            environment="mem0-v2",
            licence="Apache-2.0",
            requirements=(_MEM0_V2,),
            config={"infer": True, "batch": 2},
            infer=True,
            slice=2,
            deviations=(
                _PROMPTS,
                _EMBEDDER,
                _ANSWER,
                _PROVENANCE,
                _CLOCK,
                Deviation(
                    what="words are not lemmatised and no entities are linked",
                    why="its optional models of a language cannot be had here",
                ),
            ),
        ),
        PeerKind(
            name="langmem",
            adapter="langmem",
            environment="langmem",
            licence="MIT",
            requirements=_LANGMEM,
            config={"infer": True, "query_limit": 5},
            infer=True,
            k=40,
            purpose=_manages,
            deviations=(_PROMPTS, _EMBEDDER, _ANSWER, _PROVENANCE, _CLOCK),
        ),
        PeerKind(
            name="simplemem",
            adapter="simplemem",
            environment="simplemem",
            licence="MIT",
            requirements=_SIMPLEMEM_NEEDS,
            bare=(_SIMPLEMEM,),
            config={"window": 40},
            infer=True,
            slice=40,
            speaker_in_text=False,
            answers=True,
            deviations=(
                _PROMPTS,
                _EMBEDDER,
                Deviation(
                    what="the turns behind an entry are those of its whole window of 40",
                    why="the package keeps no turn ids; recall by turn reads as recall by window",
                ),
                Deviation(
                    what="lancedb is held at 0.27.1",
                    why="with later ones the package makes no index of words, says so in a line "
                    "that nobody sees, and searches without it",
                ),
                Deviation(
                    what="windows and searches run in order, not in parallel",
                    why="parallel windows do not see the entries of the one before",
                ),
            ),
        ),
        _verbatim("mem0ai-1.0.11-verbatim", "mem0", "mem0-v1", "Apache-2.0", _MEM0_V1),
        _verbatim("mem0ai-2-verbatim", "mem0", "mem0-v2", "Apache-2.0", _MEM0_V2),
        _verbatim("langgraph-store", "langmem", "langmem", "MIT", *_LANGMEM),
        _verbatim("mempalace", "mempalace", "mempalace", "MIT", _MEMPALACE),
    )
}
"""By name. The published k of mem0's own LoCoMo run is 30, of the harness that ran langmem 40."""


def python_of(kind: PeerKind, folder: Path) -> Path:
    """Where the Python of a kind's environment is.

    Args:
        kind: the package.
        folder: that of all environments, see dev/make_peer_env.py.
    """
    return folder / kind.environment / "bin" / "python"


def peer_kind(name: str) -> PeerKind:
    """A peer by name.

    Raises:
        UsageError: there is none of that name.
    """
    if name not in PEERS:
        raise UsageError(f"no peer is called {name!r}; there are {', '.join(PEERS)}")
    return PEERS[name]
