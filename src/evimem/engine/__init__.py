"""Memory: one object that adds, imports, searches, answers, explains and forgets.

`memory` is the class people use, `ingest` the write path, `cache` the in-memory indexes, `view`
what a recipe sees of a bank, `results` what calls return, `context` the block for a prompt,
`secrets` what a key or password looks like, `redaction` what keeps them out, `scan` what finds
them.
"""

from evimem.engine.memory import Memory
from evimem.engine.redaction import SecretsMode
from evimem.engine.results import AddReceipt, DoctorReport, SearchHit, SearchResult
from evimem.engine.scan import Finding, ScanReport

__all__ = [
    "AddReceipt",
    "DoctorReport",
    "Finding",
    "Memory",
    "ScanReport",
    "SearchHit",
    "SearchResult",
    "SecretsMode",
]
