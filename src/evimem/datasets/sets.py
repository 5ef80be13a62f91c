"""One name for a set of questions: "locomo-1540", "lme-101", "lme-oracle-500", "beam-report".

A name says which file is read and which questions are taken from it, so that a figure can be given
with the name of its set and another run finds the same questions (BEN-5, X1 to X3, X10).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

from evimem.datasets.base import Dataset, DatasetName
from evimem.datasets.beam import load_beam
from evimem.datasets.defects import with_defects
from evimem.datasets.evidence import EvidenceRule
from evimem.datasets.loading import find
from evimem.datasets.locomo import load_locomo
from evimem.datasets.longmemeval import FutureSessions, load_longmemeval
from evimem.datasets.splits import load_split, split_names, take
from evimem.errors import UsageError

__all__ = ["PARTITIONS", "check_apart", "load_set", "partition", "set_names"]

_SHORT: Mapping[str, DatasetName] = {
    "locomo": "locomo",
    "lme-oracle": "longmemeval",
    "lme": "longmemeval",
    "beam": "beam",
}
_BEAM_PARTS = ("all", "report")
_ORACLE_PLACES = (
    "longmemeval/longmemeval_oracle.json",
    "longmemeval_oracle.json",
    "longmemeval/oracle_reme.json",
)

PARTITIONS: Mapping[str, tuple[str, str, str]] = {
    "1:1:8": ("memory-r1-train", "memory-r1-validation", "1307"),
    "2:1:7": ("memory-r2-train", "memory-r2-validation", "1089"),
}
"""Published divisions of LoCoMo by conversation: train, validation and test part."""


def set_names() -> tuple[str, ...]:
    """Every name that `load_set` takes."""
    names: list[str] = []
    for short, dataset in _SHORT.items():
        parts = _BEAM_PARTS if dataset == "beam" else split_names(dataset)
        names += [f"{short}-{part}" for part in parts]
    return tuple(names)


def load_set(
    name: str,
    data_dir: Path,
    *,
    defects: Sequence[str] = (),
    evidence: EvidenceRule = "repaired",
    captions: bool = True,
    future_sessions: FutureSessions = "keep",
) -> Dataset:
    """The questions of a named set that are at hand, with their conversations and sealed gold.

    Args:
        name: one of `set_names`. "lme-..." reads the haystacks of S, "lme-oracle-..." the evidence
            sessions alone; the two files date the same sessions differently and never mix.
        data_dir: the folder that holds the benchmarks.
        defects: lists of known defects to apply, see `with_defects`.
        evidence: LoCoMo: which parser maps evidence strings to turns (X15).
        captions: LoCoMo: take picture captions into the turns (BEN-2).
        future_sessions: LongMemEval: what to do with sessions dated after the question.

    Raises:
        UsageError: no such set, the folder does not hold it, or none of its questions is at hand.
        ImportFormatError: a file is of another format.
    """
    short, part = _parts_of(name)
    path = _place(short, data_dir)
    if short == "locomo":
        whole = load_locomo(path, evidence=evidence, captions=captions)
    elif short == "beam":
        whole = load_beam(path)
    else:
        whole = load_longmemeval(path, future_sessions=future_sessions)
    taken = take(whole, part)
    wanted = len(whole.questions)
    if part != "all" and short != "beam":
        wanted = len(load_split(whole.name, part).question_ids)
    if not taken.questions:
        raise UsageError(f"none of the {wanted} questions of {name!r} is in {str(path)!r}")
    notes = taken.notes
    if len(taken.questions) < wanted:
        notes += (f"{len(taken.questions)} of the {wanted} questions of {name} are at hand",)
    split = f"oracle-{part}" if short == "lme-oracle" else part
    taken = dataclasses.replace(taken, split=split, notes=notes)
    for one in defects:
        taken = with_defects(taken, one, data_dir)
    return taken


def partition(name: str) -> tuple[str, str, str]:
    """Train, validation and test part of LoCoMo by the ratio's name, checked to be apart.

    Raises:
        UsageError: no such division, or its parts share a conversation.
    """
    if name not in PARTITIONS:
        raise UsageError(f"no division {name!r} of LoCoMo; there are {', '.join(PARTITIONS)}")
    check_apart("locomo", PARTITIONS[name])
    return PARTITIONS[name]


def check_apart(dataset: DatasetName, parts: Sequence[str]) -> None:
    """Refuse parts that share a conversation: what was chosen on one is then not held out from
    another.

    Raises:
        UsageError: two of them share one, or there is no such part.
    """
    held: dict[str, str] = {}
    for part in parts:
        for question_id in load_split(dataset, part).question_ids:
            conversation = question_id.partition("#")[0]
            other = held.setdefault(conversation, part)
            if other != part:
                raise UsageError(
                    f"the parts {other!r} and {part!r} of {dataset} share the conversation"
                    f" {conversation!r}: choose and report on parts that are apart"
                )


def _parts_of(name: str) -> tuple[str, str]:
    """Short name of the source and name of the part."""
    if name not in set_names():
        raise UsageError(f"no set {name!r}; there are {', '.join(set_names())}")
    short = next(one for one in _SHORT if name.startswith(f"{one}-"))
    return short, name.removeprefix(f"{short}-")


def _place(short: str, data_dir: Path) -> Path:
    """The file or folder that a set is read from."""
    if short == "lme-oracle":
        found = next((data_dir / one for one in _ORACLE_PLACES if (data_dir / one).exists()), None)
        looked = " or ".join(_ORACLE_PLACES)
    else:
        found = find(data_dir).get(_SHORT[short])
        looked = _SHORT[short]
    if found is None:
        raise UsageError(f"{str(data_dir)!r} holds no {looked}: put the file there")
    return found
