"""Write src/evimem/datasets/splits/*.json from the benchmark files: ids only, with a hash.

    python dev/make_splits.py DATA_DIR

The tests compare the files with the rules stated in `about`; run this again only to add a split.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from evimem.datasets import Gold, ids_hash, load
from evimem.datasets.locomo import load_locomo
from evimem.datasets.longmemeval import load_longmemeval

OUT = Path(__file__).parents[1] / "src" / "evimem" / "datasets" / "splits"
TUNE = ("conv-26", "conv-30")
MEMORY_R2 = {
    "memory-r2-train": ("conv-43", "conv-47"),
    "memory-r2-validation": ("conv-44",),
    "memory-r2-test": ("conv-41", "conv-49", "conv-50", "conv-42", "conv-48", "conv-30", "conv-26"),
}
MEMORY_R1 = {"memory-r1-train": ("conv-26",), "memory-r1-validation": ("conv-30",)}
LME_101 = {
    "single-session-user": 14,
    "single-session-assistant": 12,
    "knowledge-update": 15,
    "multi-session": 26,
    "single-session-preference": 6,
    "temporal-reasoning": 28,
}


def by_hash(ids: Iterable[str]) -> list[str]:
    return sorted(ids, key=lambda one: hashlib.sha256(one.encode()).hexdigest())


def write(dataset: str, name: str, ids: Iterable[str], about: str) -> None:
    ids = list(ids)
    grouped: dict[str, list[int | str]] = {}
    for one in ids:
        head, mark, number = one.partition("#")
        grouped.setdefault(f"{head}#" if mark else "", []).append(int(number) if mark else one)
    data = {
        "about": about,
        "n": len(ids),
        "sha256": ids_hash(ids),
        "questions": grouped,
    }
    text = json.dumps(data, indent=None, separators=(", ", ": "))
    (OUT / f"{dataset}.{name}.json").write_text(text + "\n", encoding="utf-8")
    print(f"{dataset}/{name}: {len(ids)}")


def locomo(data_dir: Path) -> None:
    whole = load("locomo", data_dir=data_dir)
    exact = load_locomo(data_dir / "locomo10.json", evidence="exact").gold
    golds = list(whole.gold.values())

    def ids(keep: Iterable[str] | None = None, *, answerable: bool = False) -> list[str]:
        names = None if keep is None else set(keep)
        return [
            gold.question_id
            for gold in golds
            if (names is None or gold.history_id in names) and (gold.answerable or not answerable)
        ]

    seen: dict[tuple[str, str], str] = {}
    for question in whole.questions:
        gold = whole.gold[question.question_id]
        if gold.answerable:
            words = " ".join(question.text.split()).casefold()
            seen.setdefault((gold.history_id, words), question.question_id)
    once = set(seen.values())
    rest = [one for one in whole.histories if one not in TUNE]
    write(
        "locomo",
        "tune",
        ids(TUNE),
        "conv-26 and conv-30, all categories: constants are chosen here",
    )
    write("locomo", "report", ids(rest), "the other eight conversations, all categories")
    write("locomo", "1986", ids(), "every question (X1)")
    write("locomo", "1540", ids(answerable=True), "categories 1 to 4 (QEM-33)")
    write(
        "locomo",
        "1529",
        [one for one in ids(answerable=True) if one in once],
        "categories 1 to 4, each question once: eleven of conv-48 stand twice in the file",
    )
    write(
        "locomo",
        "1307",
        ids(rest, answerable=True),
        "categories 1 to 4 without conv-26 and conv-30 (X10)",
    )
    mapped = [one for one in ids(answerable=True) if exact[one].fully_mapped]
    write(
        "locomo",
        "1531",
        mapped,
        "categories 1 to 4, evidence fully mapped by the exact parser (QEM-55)",
    )
    for ratio, parts in (("1:1:8", MEMORY_R1), ("2:1:7", MEMORY_R2)):
        for name, kept in parts.items():
            about = f"{', '.join(kept)}, categories 1 to 4 ({ratio})"
            write("locomo", name, ids(kept, answerable=True), about)
    test = ids(MEMORY_R2["memory-r2-test"], answerable=True)
    write("locomo", "1089", test, "the test part of 2:1:7, categories 1 to 4 (X10)")
    write(
        "locomo",
        "1085",
        [one for one in test if whole.gold[one].evidence],
        "the same without the four questions that name no evidence (X10)",
    )


def longmemeval(data_dir: Path) -> None:
    folder = data_dir / "longmemeval"
    every = load_longmemeval(folder / "questions_500.json").gold
    here = load_longmemeval(folder).gold
    strata: dict[tuple[str, bool], list[Gold]] = defaultdict(list)
    for gold in here.values():
        strata[gold.category, gold.answerable].append(gold)
    tune: set[str] = set()
    for part in strata.values():
        ordered = by_hash(gold.question_id for gold in part)
        tune.update(ordered[: round(0.4 * len(ordered))])
    write("longmemeval", "500", every, "every question (BEN-4)")
    write(
        "longmemeval",
        "tune",
        [one for one in every if one in tune],
        "40% of the cleaned haystacks at hand, per type and abstention, in the order of sha256(id)",
    )
    write("longmemeval", "report", [one for one in every if one not in tune], "all but tune")
    held: list[str] = []
    for kind, count in LME_101.items():
        pool = by_hash(
            one for one, gold in every.items() if gold.category == kind and one not in tune
        )
        held += pool[:count]
    write(
        "longmemeval",
        "101",
        [one for one in every if one in set(held)],
        "our own stratified 101 with the published counts per type (X3); not the unpublished ids",
    )


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    locomo(Path(sys.argv[1]))
    longmemeval(Path(sys.argv[1]))
