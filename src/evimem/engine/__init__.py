"""Memory: one object that adds, imports, searches, answers, explains and forgets.

`memory` is the class people use, `ingest` the write path, `cache` the in-memory indexes, `view`
what a recipe sees of a bank, `results` what calls return, `context` the block for a prompt.
"""

from evimem.engine.memory import Memory
from evimem.engine.results import AddReceipt, DoctorReport, SearchHit, SearchResult

__all__ = ["AddReceipt", "DoctorReport", "Memory", "SearchHit", "SearchResult"]
