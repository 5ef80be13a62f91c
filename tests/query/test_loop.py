"""The loop with scripted parts: citations are checked, ceilings hold, the trace tells all.

The parts are scripted for exactness; the view is a real index over a real conversation.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import pytest

from evimem.model.answer import Answer, AnswerStatus
from evimem.model.evidence import (
    Assessment,
    Candidate,
    Decision,
    EvidenceItem,
    EvidenceState,
    Question,
    StopReason,
)
from evimem.model.search import SearchRequest
from evimem.model.turn import History
from evimem.query.loop import RunInput, grown, run
from evimem.query.memory_view import MemoryView
from evimem.query.parts import BankView, Draft, Proposal, Proposed, Recipe
from evimem.trace import Round, SearchStep, Trace

WORDS = "Mira adopted a cat in May."


@dataclass(frozen=True)
class Scripted:
    """Every part of a recipe at once; never stops by itself."""

    draft: Draft

    def propose(self, state: EvidenceState, view: BankView) -> Proposed:
        request = SearchRequest(text=f"cat {state.round}", k=5)
        return Proposed(searches=(Proposal(request=request, why="scripted"),))

    def package(
        self, steps: Sequence[SearchStep], state: EvidenceState, view: BankView
    ) -> tuple[Candidate, ...]:
        hits = [hit for step in steps for hit in step.hits if hit.item_id not in state.viewed]
        return tuple(
            Candidate(item_id=h.item_id, payload=WORDS, score=h.score, rank=h.rank, round=1)
            for h in hits
        )

    def assess(
        self, state: EvidenceState, candidates: Sequence[Candidate], view: BankView
    ) -> Assessment:
        decisions = tuple(
            Decision(item_id=c.item_id, verdict="reject", reason="scripted") for c in candidates
        )
        return Assessment(decisions=decisions, evidence=(), sufficient=False)

    def stop(self, rounds: Sequence[Round], state: EvidenceState) -> StopReason | None:
        return None

    def answer(self, state: EvidenceState, view: BankView) -> Draft:
        return self.draft


def quote(item_id: str = "t1-0", text: str = WORDS, start: int = 0) -> EvidenceItem:
    return EvidenceItem(item_id=item_id, quote=text, start=start, end=start + len(text), round=1)


@pytest.fixture
def view(talk: Callable[..., History]) -> MemoryView:
    return MemoryView(talk(f"Ana: {WORDS}\nBo: How nice!"))


def answered(view: MemoryView, *support: EvidenceItem, **given: int) -> Trace:
    status: AnswerStatus = "supported"
    part = Scripted(Draft(text="a cat", status=status, support=support))
    recipe = Recipe(
        name="scripted",
        proposer=part,
        packager=part,
        assessor=part,
        stop=part,
        answerer=part,
        max_rounds=2,
        updater=grown,
    )
    start = RunInput(
        question=Question(text="What did Mira adopt?"), bank="b", trace_id="q", created_at=""
    )
    return run(recipe, view, replace(start, **given), seconds=itertools.count().__next__)


def answer_of(view: MemoryView, *support: EvidenceItem) -> Answer:
    answer = answered(view, *support).answer
    assert answer is not None
    return answer


def test_a_verbatim_quote_becomes_a_citation_with_speaker_and_time(view: MemoryView) -> None:
    (cited,) = answer_of(view, quote(text="a cat", start=13)).citations
    assert (cited.quote, cited.start, cited.end, cited.speaker) == ("a cat", 13, 18, "Ana")
    assert cited.said_at is not None


@pytest.mark.parametrize(
    "bad",
    [
        quote(text="Mira adopted a dog in May."),
        quote(text="a cat", start=12),
        quote(text="mira adopted a cat in may."),
        quote(text=""),
        quote(item_id="t9-9"),
    ],
    ids=["other word", "other place", "other case", "empty", "unknown turn"],
)
def test_case_p091_a_quote_that_does_not_stand_there_is_dropped(
    view: MemoryView, bad: EvidenceItem
) -> None:
    assert [cited.quote for cited in answer_of(view, bad, quote()).citations] == [WORDS]
    alone = answer_of(view, bad)
    assert (alone.status, alone.citations) == ("not_in_memory", ())
    assert alone.text == "Not in memory."


def test_no_argument_raises_the_recipes_ceiling_of_rounds(view: MemoryView) -> None:
    assert len(answered(view, quote(), max_rounds=99).rounds) == 2
    lower = answered(view, quote(), max_rounds=1)
    assert (len(lower.rounds), lower.stop_reason) == (1, "max_iterations")


def test_what_the_budget_leaves_unread_is_listed_and_ends_the_loop(view: MemoryView) -> None:
    trace = answered(view, quote(), budget=12)
    assert trace.stop_reason == "budget"
    assert len(trace.viewed) == 1
    assert set(trace.rounds[0].cut) == {"t1-0", "t1-1"} - set(trace.viewed)


def test_every_search_is_counted_and_the_trace_survives_json(view: MemoryView) -> None:
    trace = answered(view, quote())
    assert trace.usage.searches == len(trace.rounds) == 2
    assert [r.n for r in trace.rounds] == [1, 2]
    assert trace.rounds[0].state_before != trace.rounds[1].state_before
    assert Trace.from_json(trace.to_json()) == trace
