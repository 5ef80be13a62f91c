"""What every build with a model shares: what it cost, what failed, and why it ends early."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from evimem.engine.ingest import clear_leaked_past, new_entry
from evimem.engine.redaction import SecretGuard
from evimem.errors import BadModelRequest, BudgetExceeded, ModelAuthError, ModelError
from evimem.model.chat import ModelCall
from evimem.model.item import Item
from evimem.ports import BuildStatus, Writer

__all__ = ["BuildCourse", "ModelUsage", "exchange", "usage_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelUsage:
    """What one model was asked."""

    model: str
    """The model."""
    calls: int
    """Attempts, retries and repairs included; replayed ones not."""
    tokens_in: int
    """Prompt tokens."""
    tokens_out: int
    """Generated tokens."""
    tokens_cached: int = 0
    """Prompt tokens from a prefix cache; part of `tokens_in`."""


@dataclass(slots=True, kw_only=True)
class BuildCourse:
    """How a build goes so far. A unit is what is read and kept at once: a turn, a batch."""

    units: str
    """What the units are called, such as "turns"."""
    most_failures: int
    """Units failing one after the other, none succeeding, after which the build stops: the
    endpoint is gone, and every further unit would cost all its retries."""
    rejected: Counter[str] = field(default_factory=Counter)
    """What was left out, per reason."""
    failures: dict[str, str] = field(default_factory=dict)
    """Units without a usable reply, by id: status and why."""
    stopped: str = ""
    """Why it ends before all is read; empty while it goes on."""
    fatal: ModelError | None = None
    """Why no call can succeed."""
    usable: int = 0
    """Units that did not fail."""
    in_a_row: int = 0
    """Units that failed since the last that did not."""

    @property
    def over(self) -> bool:
        """True if nothing more is to be read."""
        return bool(self.stopped) or self.fatal is not None

    def detail_of(self, error: ModelError | BudgetExceeded) -> str | None:
        """Why a unit failed, as "cause: message"; None where the error ends the build instead."""
        if isinstance(error, BudgetExceeded):
            self.stopped = self.stopped or str(error)
            return None
        if isinstance(error, BadModelRequest) and self.usable:
            return f"bad_request: {error}"  # others went through: it is this unit that is refused
        if isinstance(error, BadModelRequest | ModelAuthError):
            self.fatal = self.fatal or error
            return None
        return f"provider: {error}"

    def count(self, ref: str, status: BuildStatus, detail: str) -> None:
        """Counts what came of a unit, and stops where the endpoint seems gone."""
        if status != "done":
            self.failures[ref] = f"{status}: {detail}"
        if status != "failed":
            self.usable += 1
            self.in_a_row = 0
            return
        self.in_a_row += 1
        if self.in_a_row >= self.most_failures and not self.stopped:
            self.stopped = (
                f"{self.in_a_row} {self.units} failed one after the other, the last with "
                f"{detail[:200]!r}: see to the endpoint, then run the same again"
            )

    def raise_fatal(self, done: int, wanted: int) -> None:
        """Raises what made every call impossible, if anything did.

        Args:
            done: units read before.
            wanted: units that were to be read.

        Raises:
            ModelAuthError, BadModelRequest: what the endpoint said.
        """
        if self.fatal is not None:
            raise type(self.fatal)(
                f"{self.fatal} ({done} of {wanted} {self.units} were read before, and are "
                "kept; the same command goes on from there)"
            )


def exchange(
    tx: Writer, *, old: Iterable[str], items: Sequence[Item], guard: SecretGuard, reason: str
) -> bool:
    """Puts items in place of those whose ids are `old`; an id in both stays.

    Returns:
        True if an earlier text held a secret in the open: then `Store.scrub` must follow.
    """
    receipt = tx.put([new_entry(item) for item in items])
    new = {item.item_id for item in items}
    gone = [item_id for item_id in old if item_id not in new]
    for item_id in gone:
        tx.retire(item_id, reason=reason)
    return guard.mode == "redact" and clear_leaked_past(tx, [*receipt.updated, *gone])


def usage_of(calls: Iterable[ModelCall]) -> tuple[ModelUsage, ...]:
    """What was asked of each model."""
    found: dict[str, ModelUsage] = {}
    for call in calls:
        if call.outcome == "replayed":
            continue
        held = found.get(call.model) or ModelUsage(
            model=call.model, calls=0, tokens_in=0, tokens_out=0
        )
        found[call.model] = replace(
            held,
            calls=held.calls + 1,
            tokens_in=held.tokens_in + call.tokens_in,
            tokens_out=held.tokens_out + call.tokens_out,
            tokens_cached=held.tokens_cached + call.tokens_cached,
        )
    return tuple(found.values())
