"""What `doctor` looks at beside the store's own checks: analyzer versions and the embedder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evimem.build.lite_spaces import BUILDER as LITE
from evimem.engine.episode_store import BUILDERS
from evimem.errors import EmbedderError, UsageError
from evimem.ports import BankStats, Embedder, Problem, Reader
from evimem.retrieval.analyzer import ANALYZER_VERSION

__all__ = ["analyzer_problems", "build_problems", "embedder_problems"]


def analyzer_problems(banks: Sequence[BankStats]) -> Iterator[Problem]:
    """Banks whose tokens another analyzer made."""
    for stats in banks:
        others = [version for version in stats.analyzers if version != ANALYZER_VERSION]
        if others:
            yield Problem(
                what=f"bank {stats.bank!r} holds tokens of analyzer {others[0]}, this version's is "
                f"{ANALYZER_VERSION}: words are found badly",
                todo=f"run `evimem reindex --bank {stats.bank}`",
            )


def embedder_problems(embedder: Embedder | None, banks: Sequence[BankStats]) -> Iterator[Problem]:
    """An embedder that does not work, and banks that lack its vectors."""
    if embedder is None:
        return
    try:
        embedder.embed(["a short text"])
    except EmbedderError as error:
        yield Problem(what=f"the embedder does not work: {error}", todo="see the message")
    for stats in banks:
        if stats.embedder is not None and stats.embedder != embedder.model_id:
            yield Problem(
                what=f"bank {stats.bank!r} holds vectors of {stats.embedder!r}, the embedder "
                f"is {embedder.model_id!r}",
                todo=f"run `evimem reindex --bank {stats.bank}`",
            )
        elif stats.pending:
            yield Problem(
                what=f"bank {stats.bank!r} has {stats.pending} entries without a vector",
                todo=f"run `evimem embed --bank {stats.bank}`",
                severity="warning",
            )


def build_problems(reader: Reader, bank: str, builder: str) -> Iterator[str]:
    """What of a builder's work is missing, for a recipe that searches it.

    Args:
        reader: the bank.
        bank: its name.
        builder: "facts", "episodes" or "records".

    Raises:
        UsageError: there is nothing to search at all.
    """
    if builder == "facts":
        yield from _fact_problems(reader, bank)
    elif builder == "records":
        _need_records(reader, bank)
    else:
        yield from _episode_problems(reader)


def _need_records(reader: Reader, bank: str) -> None:
    """Raises UsageError where a bank has turns and no record: there is nothing to search."""
    stats = reader.stats()
    if stats.turns and not stats.items.get("record"):
        raise UsageError(
            f"bank {bank!r} has {stats.turns} turns and no records, and this recipe searches "
            f"records: run `evimem manage --bank {bank}` first (--lite: without a model)"
        )


def _episode_problems(reader: Reader) -> Iterator[str]:
    """What keeps recipes over episodes from seeing them: turns are searched all the same."""
    stats = reader.stats()
    if stats.turns and not stats.items.get("episode"):
        yield (
            "episodes_missing: only turns are searched; run `evimem build episodes` (or with "
            "--lite, without a model) for episodes and facts"
        )
        return
    held = {name: sum(one.items for one in reader.builds(name).values()) for name in BUILDERS}
    # Turns without words are in no episode.
    waiting = stats.turns - stats.blank - sum(held.values())
    if any(held.values()) and waiting > 0:
        lite = " --lite" if held[LITE] else ""
        yield (
            f"episodes_pending: {waiting} turns are in no episode yet; run `evimem build "
            f"episodes{lite}`"
        )


def _fact_problems(reader: Reader, bank: str) -> Iterator[str]:
    """What keeps recipes over facts from seeing the whole bank.

    Raises:
        UsageError: the bank has turns and no fact at all: there is nothing to search.
    """
    stats = reader.stats()
    if stats.turns and not stats.items.get("fact"):
        raise UsageError(
            f"bank {bank!r} has {stats.turns} turns and no facts, and this recipe searches facts: "
            f"run `evimem build facts --bank {bank}` first"
        )
    done = reader.builds("facts")
    failed = sum(one.status == "failed" for one in done.values())
    refused = sum(one.status == "refused" for one in done.values())
    # A turn without words holds no fact and has no record.
    waiting = stats.turns - stats.blank - len(done) + failed
    if done and waiting > 0:
        yield f"facts_pending: {waiting} turns have no facts yet; run `evimem build facts`"
    if refused:
        yield f"facts_refused: the model declined {refused} turns; their words are not searched"
