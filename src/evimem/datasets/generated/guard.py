"""Training data must hold nothing of a test set (MERA-54, X9)."""

from __future__ import annotations

from collections.abc import Iterable

from evimem.errors import UsageError

__all__ = ["refuse_test_histories"]

_SHOWN = 5  # ids named in a message


def refuse_test_histories(ids: Iterable[str], test_ids: Iterable[str]) -> None:
    """Refuse to go on if any history or question to train on belongs to a test set.

    Question ids count as their conversation's: "conv-26#3" is in "conv-26" and the other way
    round, so that neither a history nor one of its questions slips through.

    Args:
        ids: ids of what is to be trained on, or chosen by.
        test_ids: ids of the histories or questions that are held out.

    Raises:
        UsageError: they share one.
    """
    held = {one.partition("#")[0] for one in test_ids}
    both = sorted({one for one in ids if one.partition("#")[0] in held})
    if both:
        shown = ", ".join(repr(one) for one in both[:_SHOWN])
        more = f" and {len(both) - _SHOWN} more" if len(both) > _SHOWN else ""
        raise UsageError(
            f"{shown}{more} belong to the test set: nothing of it may be trained on or chosen by;"
            " take another split"
        )
