"""Reads other people's conversation files into turns, sessions and facts, as a stream of events.

`import_path` is the door: a file, a folder or an archive goes in, events come out (see
`evimem.model.imports`). The format is told by content. Nothing is written anywhere, nothing in a
file is executed, and whatever is not imported is counted with a reason.
"""

from evimem.importers._detect import FORMATS
from evimem.importers._format import Format
from evimem.importers._run import detect, import_path
from evimem.importers.options import FIELD_NAMES, ImportOptions
from evimem.model.imports import (
    Detected,
    FactRead,
    Failed,
    ImportEvent,
    SessionStart,
    Skipped,
    TurnRead,
    Warned,
)

__all__ = [
    "FIELD_NAMES",
    "FORMATS",
    "Detected",
    "FactRead",
    "Failed",
    "Format",
    "ImportEvent",
    "ImportOptions",
    "SessionStart",
    "Skipped",
    "TurnRead",
    "Warned",
    "detect",
    "import_path",
]
