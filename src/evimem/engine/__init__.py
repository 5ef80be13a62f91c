"""Memory: one object that adds, imports, searches, answers, explains and forgets.

`memory` is the class people use, `ingest` the write path, `cache` the in-memory indexes, `view`
what a recipe sees of a bank, `results` what calls return, `context` the block for a prompt,
`secrets` what a key or password looks like, `redaction` what keeps them out, `scan` what finds
them, `building` what turns turns into facts, `episode_build` what turns them into episodes,
`managing` what keeps the manager's records by them, `record_bank` how these are stored.
"""

from evimem.engine.build_course import ModelUsage
from evimem.engine.build_plan import BuildEstimate, BuildState, SessionState
from evimem.engine.building import BuildReport
from evimem.engine.episode_build import EpisodeReport
from evimem.engine.episode_plan import EpisodeEstimate, EpisodeState
from evimem.engine.managing import ManageReport
from evimem.engine.memory import Memory
from evimem.engine.record_banks import KeptRecord
from evimem.engine.redaction import SecretsMode
from evimem.engine.results import AddReceipt, DoctorReport, SearchHit, SearchResult
from evimem.engine.scan import Finding, ScanReport

__all__ = [
    "AddReceipt",
    "BuildEstimate",
    "BuildReport",
    "BuildState",
    "DoctorReport",
    "EpisodeEstimate",
    "EpisodeReport",
    "EpisodeState",
    "Finding",
    "KeptRecord",
    "ManageReport",
    "Memory",
    "ModelUsage",
    "ScanReport",
    "SearchHit",
    "SearchResult",
    "SecretsMode",
    "SessionState",
]
