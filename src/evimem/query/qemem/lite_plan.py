"""QEMem's planning without a model: the requirement and the query set, from the question's form.

The question itself is asked in every space; a list's members rarely share a word with it, so
common examples of the kinds that it names are a second query, of turns and by words. Further
queries (names with content words, near-synonyms, the noun phrase asked for) were measured and
brought nothing; `dev/notes-qemem.md` has the figures.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from evimem.model.cards import AnswerType, Need
from evimem.model.evidence import Plan
from evimem.model.item import Kind
from evimem.model.search import Exclusion, Ranker
from evimem.query.kinds import examples_of
from evimem.query.parts import Proposal
from evimem.query.qemem.pool import DEPTH, RANKERS, searches
from evimem.query.question import Analysis, AnswerKind, analyse

__all__ = ["GUIDED", "GUIDED_K", "lite_plan", "lite_searches"]

GUIDED: Mapping[Ranker, float] = {"fusion": 3.0}
"""Weights of the lists: the foundation's ranking of turns knows more than a list of examples."""
GUIDED_K = 20
"""Damping of the fusion under these weights."""
MAX_EXAMPLES = 32
"""Examples of kinds in one query at most; the bank's analyzer takes the rarest 64 words."""

_TYPES: Mapping[AnswerKind, AnswerType] = {
    "when": "date",
    "how_long": "duration",
    "how_many": "count",
    "how_often": "count",
    "list": "list",
    "yes_no": "yes_no",
    "why": "reason",
    "how": "description",
}
_SUPPOSES = re.compile(r"\b(?:would|might|likely|probably|considered)\b", re.IGNORECASE)
_ORDERS = re.compile(
    r"\b(?:before|after|since|until|first|last|earliest|latest|recent|recently|ago|how long)\b",
    re.IGNORECASE,
)


def lite_plan(question: str, speakers: Sequence[str]) -> Plan:
    """P(q) and the planned queries, by rules over the words of the question (Q1).

    Args:
        question: the question.
        speakers: the bank's speakers, to tell them from other names.
    """
    analysis = analyse(question, speakers=speakers)
    examples = examples_of((*analysis.focus, *analysis.words))[:MAX_EXAMPLES]
    return Plan(
        intents=(),
        need=Need(
            need=" ".join(question.split()),
            answer_type=_answer_type(analysis),
            aggregate=analysis.several,
            temporal=_temporal(analysis),
        ),
        queries=(" ".join(examples),) if examples else (),
    )


def _answer_type(analysis: Analysis) -> AnswerType:
    if _SUPPOSES.search(analysis.text):
        return "inference"
    return _TYPES.get(analysis.kind, "entity")


def _temporal(analysis: Analysis) -> bool:
    timed = analysis.kind in ("when", "how_long", "how_often")
    return timed or bool(analysis.dates) or _ORDERS.search(analysis.text) is not None


def lite_searches(
    question: str,
    queries: Sequence[str],
    *,
    k: int = DEPTH,
    exclusion: Exclusion = Exclusion(),  # noqa: B008 - a frozen value
) -> tuple[Proposal, ...]:
    """The searches of the query set: turns by the foundation's ranking, which holds both lists of
    QEM-5 and more; episodes and facts by both lists; queries of examples for turns by words.

    Args:
        question: the question's words.
        queries: planned queries, each a row of single words.
        k: hits per list.
        exclusion: what was examined before.
    """
    spaces: tuple[tuple[Kind, Sequence[Ranker]], ...] = (
        ("turn", ("fusion",)),
        ("episode", RANKERS),
        ("semantic", RANKERS),
    )
    asked = tuple(
        proposal
        for space, rankers in spaces
        for proposal in searches(
            [question],
            k=k,
            exclusion=exclusion,
            origin="question",
            spaces=(space,),
            rankers=rankers,
        )
    )
    return asked + searches(queries, k=k, exclusion=exclusion, spaces=("turn",), rankers=("bm25",))
