"""Time expressions: found in a text, resolved to days, said by the rules of a policy."""

from __future__ import annotations

from evimem.temporal.compare import normalise_date_answer, same_days
from evimem.temporal.question import (
    DateTarget,
    date_targets,
    dates_in_question,
    overlap_scores,
)
from evimem.temporal.render import Policy, render, render_answer
from evimem.temporal.scan import event_span, find

__all__ = [
    "DateTarget",
    "Policy",
    "date_targets",
    "dates_in_question",
    "event_span",
    "find",
    "normalise_date_answer",
    "overlap_scores",
    "render",
    "render_answer",
    "same_days",
]
