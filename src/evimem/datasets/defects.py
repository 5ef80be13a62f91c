"""Known defects of published golds, laid over a data set on request.

Figures are reported as published and audited, side by side; an overlay never edits a file.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evimem.datasets.base import Dataset, DatasetName, Gold
from evimem.datasets.reading import as_list, as_record, field_text, read_json
from evimem.errors import UsageError

__all__ = [
    "DEFECTS",
    "SCORE_CHANGING",
    "defect_names",
    "with_defects",
    "with_locomo_audit",
    "with_longmemeval_defects",
    "with_reme_golds",
]

SCORE_CHANGING = frozenset(
    {"HALLUCINATION", "TEMPORAL_ERROR", "ATTRIBUTION_ERROR", "AMBIGUOUS", "INCOMPLETE"}
)
"""Audit codes whose golds are wrong or incomplete; WRONG_CITATION concerns the evidence only."""

DEFECTS: Mapping[str, tuple[DatasetName, str]] = {
    "locomo-audit": ("locomo", "locomo_audit/errors_indexed.json"),
    "longmemeval-reme": ("longmemeval", "longmemeval/reme_gold_changes.json"),
    "longmemeval-known": ("longmemeval", "longmemeval/known_defects.json"),
}
"""Lists of defects by name: the benchmark and the list's place in the folder of the data."""


def defect_names(dataset: DatasetName) -> tuple[str, ...]:
    """The lists that can be applied to a benchmark."""
    return tuple(name for name, (owner, _) in DEFECTS.items() if owner == dataset)


def with_defects(dataset: Dataset, name: str, data_dir: Path) -> Dataset:
    """The data set with a list of known defects applied.

    "locomo-audit" and "longmemeval-reme" replace golds, and the name of the part then says so:
    figures on corrected golds stand beside those on published ones, never in one table.
    "longmemeval-known" only marks them.

    Args:
        dataset: a benchmark or a part of one.
        name: one of `defect_names`.
        data_dir: the folder that holds the benchmarks and the lists.

    Raises:
        UsageError: no such list for this benchmark, or its file is not there.
        ImportFormatError: the file is of another format.
    """
    owner, place = DEFECTS.get(name, ("", ""))
    if owner != dataset.name:
        known = ", ".join(defect_names(dataset.name)) or "none"
        raise UsageError(f"no list {name!r} of defects of {dataset.name}; there are: {known}")
    path = data_dir / place
    if name == "longmemeval-known":
        return with_longmemeval_defects(dataset, path)
    changed = (
        with_locomo_audit(dataset, path)
        if name == "locomo-audit"
        else with_reme_golds(dataset, path)
    )
    return dataclasses.replace(changed, split=f"{dataset.split}+{name}")


def with_locomo_audit(dataset: Dataset, path: Path) -> Dataset:
    """LoCoMo with the golds of an independent audit (`errors_indexed.json`).

    The answer is replaced where the audit says that the published one is wrong, the evidence
    wherever the audit names turns that exist; the code is kept in `Gold.defects`.

    Raises:
        UsageError: the data set is not LoCoMo, or the audit is of another version of it.
        ImportFormatError: the file is of another format.
    """
    if dataset.name != "locomo":
        raise UsageError(f"this audit is of LoCoMo, not of {dataset.name!r}")
    data, source = read_json(path)
    texts = {question.question_id: question.text for question in dataset.questions}
    changed: dict[str, Gold] = {}
    for number, entry in enumerate(as_list(data, path.name)):
        where = f"{path.name}[{number}]"
        record = as_record(entry, where)
        question_id = f"{field_text(record, 'sample_id', where)}#{record.get('qa_index')}"
        if question_id not in texts:
            continue  # the data set is a part
        if texts[question_id] != record.get("question"):
            raise UsageError(
                f"{where}: {question_id!r} is another question in this LoCoMo file;"
                " use the audit that belongs to it"
            )
        changed[question_id] = _audited(dataset, question_id, record, where)
    note = f"{len(changed)} golds audited ({source.name}, sha256 {source.sha256[:12]})"
    return dataset.with_gold(changed, note=note)


def _audited(dataset: Dataset, question_id: str, record: dict[str, Any], where: str) -> Gold:
    gold = dataset.gold[question_id]
    code = field_text(record, "error_type", where)
    known = {turn.source_id for turn in dataset.histories[gold.history_id].turns}
    named = dict.fromkeys(
        str(one) for one in as_list(record.get("correct_evidence", []), where) if one in known
    )
    return dataclasses.replace(
        gold,
        answer=field_text(record, "correct", where) if code in SCORE_CHANGING else gold.answer,
        evidence=tuple(named) or gold.evidence,
        unmapped=() if named else gold.unmapped,
        defects=(*gold.defects, f"audit:{code}"),
    )


def with_longmemeval_defects(dataset: Dataset, path: Path) -> Dataset:
    """LongMemEval with the codes of `known_defects.json` in `Gold.defects`; golds stay.

    Raises:
        UsageError: the data set is not LongMemEval.
        ImportFormatError: the file is of another format.
    """
    if dataset.name != "longmemeval":
        raise UsageError(f"these defects are LongMemEval's, not those of {dataset.name!r}")
    data, source = read_json(path)
    changed: dict[str, Gold] = {}
    for kind, entries in as_record(data, path.name).items():
        if not isinstance(entries, list):
            continue  # a remark in words
        for entry in entries:
            question_id = entry["id"] if isinstance(entry, dict) else str(entry)
            gold = changed.get(question_id) or dataset.gold.get(question_id)
            if gold is not None:
                changed[question_id] = dataclasses.replace(gold, defects=(*gold.defects, kind))
    return dataset.with_gold(changed, note=f"{len(changed)} golds marked ({source.name})")


def with_reme_golds(dataset: Dataset, path: Path) -> Dataset:
    """LongMemEval with the golds that ReMe's authors corrected (`reme_gold_changes.json`).

    They leave out sessions dated after the question; where the evidence went with them, the right
    answer is that memory does not hold it, and the question becomes an unanswerable one.

    Raises:
        UsageError: the data set is not LongMemEval.
        ImportFormatError: the file is of another format.
    """
    if dataset.name != "longmemeval":
        raise UsageError(f"these golds are LongMemEval's, not those of {dataset.name!r}")
    data, source = read_json(path)
    changed: dict[str, Gold] = {}
    for number, entry in enumerate(as_list(data, path.name)):
        where = f"{path.name}[{number}]"
        record = as_record(entry, where)
        question_id = field_text(record, "question_id", where)
        gold = dataset.gold.get(question_id)
        if gold is None:
            continue  # the data set is a part
        gold = dataclasses.replace(
            gold,
            answer=field_text(record, "reme", where),
            defects=(*gold.defects, "reme:CHANGED"),
        )
        if record.get("answer_sessions_changed"):
            gold = dataclasses.replace(
                gold, answerable=False, evidence=(), unmapped=(), evidence_sessions=()
            )
        changed[question_id] = gold
    note = (
        f"{len(changed)} golds of ReMe ({source.name}, sha256 {source.sha256[:12]}); they belong to"
        " haystacks without the sessions after the question's date"
    )
    return dataset.with_gold(changed, note=note)
