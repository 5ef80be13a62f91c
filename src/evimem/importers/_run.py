"""From a path to events: which files, of which formats, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from evimem.errors import ImportFormatError, UsageError
from evimem.importers._context import Context
from evimem.importers._detect import FORMATS, recognise, required, unknown_format
from evimem.importers._faults import ReadFault
from evimem.importers._format import Format
from evimem.importers._head import head_of
from evimem.importers._source import Bundle, Source, open_bundle
from evimem.importers.options import ImportOptions
from evimem.importers.slack import export_root, read_export
from evimem.model.imports import Detected, Failed, ImportEvent, Skipped

__all__ = ["detect", "import_path"]

_DEFAULTS = ImportOptions()
_TEXT_FILES = (".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".txt", ".md")
# Files that exports hold beside the conversations.
_COMPANIONS = frozenset(
    {
        *("user.json", "users.json", "projects.json", "memories.json"),
        *("message_feedback.json", "model_comparisons.json", "shared_conversations.json"),
        *("export_manifest.json", "user_settings.json", "readme.md", "readme.txt"),
    }
)


def detect(path: Path | str, *, options: ImportOptions = _DEFAULTS) -> str:
    """The name of the format of a file, folder or archive, by its content.

    A folder or archive with files of several formats gives "mixed".

    Raises:
        ImportFormatError: no known format; the message lists them.
        UnsafeArchive: an archive breaks a limit.
        UsageError: the path cannot be read.
    """
    with open_bundle(Path(path), options) as bundle:
        _, plan = _plan(bundle, Path(path), None, options, [])
        names = {found.name for _, found in plan}
        if export_root(bundle.sources) is not None:
            names.add("slack")
        return names.pop() if len(names) == 1 else "mixed"


def import_path(
    path: Path | str, *, format: str | None = None, options: ImportOptions = _DEFAULTS
) -> Iterator[ImportEvent]:
    """Read a file, a folder or an archive as a stream of events.

    A part that cannot be read gives `Failed`, a part left out gives `Skipped`; the rest goes on. At
    most one conversation is held in memory where the format permits.

    Args:
        path: what to read.
        format: a name of `FORMATS`; None: by content.
        options: what the source does not say itself.

    Raises:
        UsageError: no such format or path (at once).
        ImportFormatError: no known format, or another than the given one (with the first event).
        UnsafeArchive: an archive breaks a limit (with the first event).
    """
    if format is not None and format not in FORMATS:
        raise UsageError(f"unknown format {format!r}; known are: {', '.join(FORMATS)}")
    where = Path(path)
    if not where.exists():
        raise UsageError(f"no such file or folder: {str(path)!r}")
    return _events(where, format, options)


def _events(path: Path, format: str | None, options: ImportOptions) -> Iterator[ImportEvent]:
    ctx = Context(options)
    with open_bundle(path, options) as bundle:
        skipped: list[ImportEvent] = [*bundle.skipped]
        export, plan = _plan(bundle, path, format, options, skipped)
        yield from skipped
        if export is not None:
            yield from _guarded(read_export(export, bundle.sources, ctx))
            yield from ctx.drain()
        for source, found in plan:
            ctx.begin(found.name, source.name)
            yield Detected(found.name, source.name)
            yield from _guarded(found.read(source, ctx))
            yield from ctx.drain()


def _guarded(events: Iterator[ImportEvent]) -> Iterator[ImportEvent]:
    """A file that cannot be read any further fails; what came before it stands."""
    try:
        yield from events
    except ReadFault as fault:
        yield Failed(fault.where, fault.message)


def _plan(
    bundle: Bundle,
    path: Path,
    format: str | None,
    options: ImportOptions,
    skipped: list[ImportEvent],
) -> tuple[str | None, list[tuple[Source, Format]]]:
    """The folder of a Slack export, and which other files to read as what; the rest goes to
    `skipped`.

    Raises:
        ImportFormatError: nothing here can be read.
    """
    if bundle.single:
        source = bundle.sources[0]
        return None, [(source, _format_of(source, format, options))]
    export = export_root(bundle.sources) if format in (None, "slack") else None
    plan: list[tuple[Source, Format]] = []
    why: dict[str, int] = {}
    for source in bundle.sources:
        if export is not None and (not export or source.name.startswith(f"{export}/")):
            continue
        found = _candidate(source, format, options)
        if isinstance(found, Format):
            plan.append((source, found))
        else:
            skipped.append(found)
            reason = found.reason if isinstance(found, Skipped) else "failed"
            why[reason] = why.get(reason, 0) + 1
    if not plan and export is None and not any(isinstance(event, Failed) for event in skipped):
        told = ", ".join(f"{count} {reason}" for reason, count in why.items()) or "no files"
        raise ImportFormatError(
            f"{path.name!r} holds nothing that can be imported ({told}); formats known: "
            f"{', '.join(FORMATS)}"
        )
    return export, plan


def _format_of(source: Source, format: str | None, options: ImportOptions) -> Format:
    try:
        head = head_of(source, options)
    except ReadFault as fault:
        raise ImportFormatError(str(fault)) from fault
    if head.empty:
        raise unknown_format(head)
    if format is not None:
        return required(format, head)
    found = recognise(head)
    if found is None:
        raise unknown_format(head)
    return found


def _candidate(source: Source, format: str | None, options: ImportOptions) -> Format | ImportEvent:
    """The format of one of many files, or why it is left out."""
    name = source.base.lower()
    if not name.endswith(_TEXT_FILES):
        return Skipped("not_a_text_file", source.name)
    if name in _COMPANIONS:
        return Skipped("companion_file", source.name)
    try:
        head = head_of(source, options)
    except ReadFault as fault:
        return Failed(fault.where, fault.message)
    if head.empty:
        return Skipped("empty_file", source.name)
    known = recognise(head)
    if format is None or (known is None and format not in ("jsonl", "csv")):
        return known or Skipped("unknown_format", source.name)
    try:
        return required(format, head)
    except ImportFormatError as error:
        return Skipped("other_format", source.name, str(error)[:200])
