"""Benchmarks from the user's own files: `load` gives histories, questions and sealed gold.

No benchmark text is part of this project; splits hold ids only.
"""

from evimem.datasets.base import Dataset, DatasetName, Gold, SourceFile
from evimem.datasets.beam import load_beam
from evimem.datasets.defects import (
    defect_names,
    with_defects,
    with_locomo_audit,
    with_longmemeval_defects,
    with_reme_golds,
)
from evimem.datasets.evidence import (
    Complexity,
    EvidenceRule,
    ParsedEvidence,
    alias_groups,
    complexity,
    parse_evidence,
    parse_exact,
    parse_repaired,
)
from evimem.datasets.loading import find, load
from evimem.datasets.locomo import load_locomo
from evimem.datasets.longmemeval import load_longmemeval
from evimem.datasets.sets import check_apart, load_set, partition, set_names
from evimem.datasets.splits import Split, ids_hash, load_split, split_names, take

__all__ = [
    "Complexity",
    "Dataset",
    "DatasetName",
    "EvidenceRule",
    "Gold",
    "ParsedEvidence",
    "SourceFile",
    "Split",
    "alias_groups",
    "check_apart",
    "complexity",
    "defect_names",
    "find",
    "ids_hash",
    "load",
    "load_beam",
    "load_locomo",
    "load_longmemeval",
    "load_set",
    "load_split",
    "parse_evidence",
    "parse_exact",
    "parse_repaired",
    "partition",
    "set_names",
    "split_names",
    "take",
    "with_defects",
    "with_locomo_audit",
    "with_longmemeval_defects",
    "with_reme_golds",
]
