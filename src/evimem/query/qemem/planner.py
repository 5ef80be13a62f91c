"""Planning and the searches of every round (QEMem; QEM-1 to 3, 5, 9, 19, 20).

The requirement of a question is settled before the first round, because the first pool is already
sized by it; later rounds ask for what the last one missed, and for nothing else.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast, get_args

from evimem.model.cards import AnswerType, Need
from evimem.model.chat import ChatRequest
from evimem.model.evidence import EvidenceState, Plan, Question, Setting
from evimem.model.item import Kind
from evimem.model.search import Exclusion, Origin, Ranker
from evimem.ports import ChatModel
from evimem.query.calls import Said, ask, one_line
from evimem.query.parts import BankView, Opened, Proposal, Proposed
from evimem.query.qemem.pool import (
    DEPTH,
    RANKERS,
    SPACES,
    query_set,
    searches,
    session_date,
)
from evimem.query.qemem.prompts import plan as prompt
from evimem.query.words import WORD

__all__ = [
    "Lists",
    "PlanOpener",
    "QuestionOpener",
    "SetProposer",
    "read_plan",
    "span_of",
    "speakers_of",
]

NEED_CHARS = 600
"""Characters of a need at most; it is one sentence."""
QUERY_CHARS = 300
"""Characters of a query at most; more is no query but a derailed model."""
NAME_CHARS = 80
"""Characters of a name at most; a name is stored text like any other."""
SPEAKERS_SHOWN = 12
"""Speakers named in a prompt: those with most turns."""


def speakers_of(names: Sequence[str]) -> str:
    """The people of a conversation in words."""
    known = [" ".join(name.split())[:NAME_CHARS] for name in names if name.strip()]
    if not known:
        return "people whose names are unknown"
    shown, more = known[:SPEAKERS_SHOWN], len(known) - SPEAKERS_SHOWN
    parts = [*shown, f"{more} other{'s' if more > 1 else ''}"] if more > 0 else shown
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def span_of(view: BankView) -> str:
    """The first and the last day of a conversation in words; empty if unknown."""
    first, last = view.earliest, view.latest
    if first is None or last is None:
        return ""
    days = dict.fromkeys(session_date(one.isoformat()) for one in (first, last))
    return " to ".join(days)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOpener:
    """Asks a model once for the requirement and the queries of a question (QEM-1)."""

    model: ChatModel
    """The planner (role `plan`)."""
    templates: Mapping[str, str] = field(default_factory=dict)
    """Prompts from files, by name."""
    reply_tokens: int
    """Ceiling of the reply."""

    def open(self, question: Question, view: BankView) -> Opened:
        """The state with its need and planned queries; after an unusable reply with neither, so
        that the question alone is asked (QEM-3)."""
        state = QuestionOpener().open(question, view).state
        plan = read_plan(ask(self.model, self.request(state)), question.text)
        problem = (f"plan: {plan.problem}",) if plan.problem else ()
        state = dataclasses.replace(state, need=plan.need, follow_ups=plan.queries)
        return Opened(state=state, notes=(*problem, *plan.dropped), plan=plan)

    def request(self, state: EvidenceState) -> ChatRequest:
        """The planner's prompt for the question and its setting."""
        setting = state.setting or Setting(speakers=speakers_of(()))
        return prompt.render(
            state.question.text,
            speakers=setting.speakers,
            span=setting.span,
            templates=self.templates,
            room=self.reply_tokens,
        )


@dataclass(frozen=True, slots=True)
class QuestionOpener:
    """Begins with the question alone: no planning (QEM-31)."""

    def open(self, question: Question, view: BankView) -> Opened:
        """The state; a question without a date of its own has that of the newest turn."""
        if question.asked_at is None and view.latest is not None:
            question = dataclasses.replace(question, asked_at=view.latest.isoformat())
        setting = Setting(speakers=speakers_of(view.speakers), span=span_of(view))
        return Opened(state=EvidenceState(question=question, setting=setting))


def read_plan(said: Said, question: str) -> Plan:
    """The plan in a planner's reply; an unknown type of answer becomes "entity" (QEM-1), and what
    is beyond six queries is counted (QEM-2)."""
    if said.problem:
        return Plan(problem=said.problem)
    dropped = list(said.dropped)
    named = one_line(said.data.get("answer_type"), QUERY_CHARS)
    kind = "_".join(WORD.findall(named.casefold().replace("_", " ")))
    if kind not in get_args(AnswerType):
        dropped.append(f"answer_type: no type {named!r:.40}, read as 'entity'")
        kind = "entity"
    listed = said.data.get("queries")
    asked = [one_line(one, QUERY_CHARS) for one in (listed if isinstance(listed, list) else [])]
    kept = query_set(question, asked)[1:]
    if len(kept) < len(asked):
        dropped.append(
            f"queries: {len(kept)} of {len(asked)} are used, the others are blank, said before or "
            f"beyond {prompt.MAX_QUERIES}"
        )
    need = Need(
        need=one_line(said.data.get("need"), NEED_CHARS) or " ".join(question.split()),
        answer_type=cast(AnswerType, kind),
        aggregate=said.data.get("aggregate") is True,
        temporal=said.data.get("temporal") is True,
    )
    return Plan(need=need, queries=kept, dropped=tuple(dropped))


@dataclass(frozen=True, slots=True, kw_only=True)
class Lists:
    """How the queries of a round become searches: a list per query, space and ranker (QEM-5)."""

    spaces: Sequence[Kind] = SPACES
    """Spaces to search."""
    rankers: Sequence[Ranker] = RANKERS
    """Lists per query and space."""
    lead: Ranker | None = None
    """The one list of turns for the question itself and for gap queries, in place of `rankers`;
    None: theirs are like all others."""
    k: int = DEPTH
    """Hits per list."""

    def first(self, queries: Sequence[str], gone: Exclusion) -> tuple[Proposal, ...]:
        """The searches of the query set, whose first query is the question."""
        return self._of(queries[:1], self.lead, gone, "question") + self._of(
            queries[1:], None, gone, "plan"
        )

    def later(self, queries: Sequence[str], gone: Exclusion) -> tuple[Proposal, ...]:
        """The searches of the gap queries."""
        return self._of(queries, self.lead, gone, "gap")

    def _of(
        self, queries: Sequence[str], lead: Ranker | None, gone: Exclusion, origin: Origin
    ) -> tuple[Proposal, ...]:
        def made(spaces: Sequence[Kind], rankers: Sequence[Ranker]) -> tuple[Proposal, ...]:
            return searches(
                queries,
                k=self.k,
                exclusion=gone,
                origin=origin,
                spaces=spaces,
                rankers=rankers,
            )

        if lead is None or "turn" not in self.spaces:
            return made(self.spaces, self.rankers)
        others = [space for space in self.spaces if space != "turn"]
        return made(others, self.rankers) + made(("turn",), (lead,))


@dataclass(frozen=True, slots=True, kw_only=True)
class SetProposer:
    """Asks the query set in the first round, and the gap queries in later ones (Q9)."""

    lists: Lists
    """How queries become searches."""

    def propose(self, state: EvidenceState, view: BankView) -> Proposed:
        """The searches of a round; none where nothing was said to be missing."""
        gone = Exclusion(items=frozenset(state.viewed))
        if state.round:
            return Proposed(searches=self.lists.later(state.follow_ups, gone))
        asked = query_set(state.question.text, state.follow_ups)
        return Proposed(searches=self.lists.first(asked, gone))
