"""Named parts of the benchmarks as files of question ids, each with a hash (BEN-5).

The files under `splits/` hold ids only. LoCoMo: constants are chosen on `tune` (conv-26 and
conv-30), figures reported on `report` (the other eight). LongMemEval: `tune` is 40% of the
cleaned haystacks that were at hand, per question type and abstention, in the order of
sha256(id); `report` is everything else. BEAM is held out whole.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources

from evimem.datasets.base import Dataset, DatasetName
from evimem.errors import UsageError

__all__ = ["Split", "benchmark_questions", "ids_hash", "load_split", "split_names", "take"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """One named part."""

    dataset: DatasetName
    """The benchmark."""
    name: str
    """The part, such as "report"."""
    question_ids: tuple[str, ...]
    """Its questions, in order."""
    sha256: str
    """`ids_hash` of them."""
    about: str
    """Where the part comes from and what it is for."""


def ids_hash(question_ids: Iterable[str]) -> str:
    """A hash of a set of questions, whatever their order: print it beside every figure."""
    return hashlib.sha256("\n".join(sorted(question_ids)).encode()).hexdigest()


def split_names(dataset: DatasetName) -> tuple[str, ...]:
    """The named parts of a benchmark, "all" first."""
    folder = resources.files("evimem.datasets") / "splits"
    names = sorted(
        entry.name.removeprefix(f"{dataset}.").removesuffix(".json")
        for entry in folder.iterdir()
        if entry.name.startswith(f"{dataset}.")
    )
    return ("all", *names)


def load_split(dataset: DatasetName, name: str) -> Split:
    """A named part from its file.

    Raises:
        UsageError: there is no such part, or its file was changed.
    """
    entry = resources.files("evimem.datasets") / "splits" / f"{dataset}.{name}.json"
    if not entry.is_file():
        raise UsageError(
            f"{dataset} has no split {name!r}; there are {', '.join(split_names(dataset))}"
        )
    data = json.loads(entry.read_text(encoding="utf-8"))
    ids = tuple(
        f"{prefix}{number}" for prefix, numbers in data["questions"].items() for number in numbers
    )
    found = ids_hash(ids)
    if found != data["sha256"]:
        raise UsageError(
            f"split {dataset}/{name} was changed: its ids hash to {found}, the file says"
            f" {data['sha256']}; restore the file"
        )
    return Split(dataset=dataset, name=name, question_ids=ids, sha256=found, about=data["about"])


def benchmark_questions() -> frozenset[str]:
    """Every question of LoCoMo and LongMemEval: no training may see one, nor its history (MERA-54,
    UNI-51), but for the parts that a paper trains on."""
    whole: tuple[tuple[DatasetName, str], ...] = (("locomo", "1986"), ("longmemeval", "500"))
    return frozenset(one for name, part in whole for one in load_split(name, part).question_ids)


def take(dataset: Dataset, name: str) -> Dataset:
    """The named part of a data set: those of its questions that are at hand.

    Raises:
        UsageError: no such part.
    """
    if name == "all":
        return dataset.only((one.question_id for one in dataset.questions), split="all")
    if dataset.name == "beam" and name == "report":
        return dataset.only((one.question_id for one in dataset.questions), split="report")
    return dataset.only(load_split(dataset.name, name).question_ids, split=name)
