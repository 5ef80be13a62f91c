"""Refinement: what later rounds are shown, what they add, when they end."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from qemem_world import ask, card, cards, label_of, plan, shown, view

from evimem.llm.scripted import ScriptedModels
from evimem.model.chat import ChatRequest
from evimem.model.evidence import EvidenceState, Question, StopReason
from evimem.model.item import Item
from evimem.model.turn import Turn
from evimem.query.loop import replay, state_hash
from evimem.query.memory_view import MemoryView
from evimem.query.parts import BankView
from evimem.query.qemem.fusion import Budgets
from evimem.query.qemem.state import with_cards
from evimem.query.qemem.stop import QemStop
from evimem.recipes.qemem import FULL, QEM_RECIPES
from evimem.trace import Round, Trace

QUESTION = "From whom did Mira buy the new kiln?"
SMALL = dataclasses.replace(
    FULL,
    narrow=Budgets(episode=1, semantic=1, turn=1),
    wide=Budgets(episode=1, semantic=1, turn=1),
)
"""Pools so small that every round finds something new."""

Say = Callable[[ChatRequest], Any]


def cites(claim: str, *, missing: str = "more", ask: Sequence[str] = ("pear trees",)) -> Say:
    """A constructor that makes a card of the first turn shown and asks for more."""

    def say(request: ChatRequest) -> Any:
        label, text = next((k, v) for k, v in shown(request).items() if k[0] == "T")
        return cards(card(claim, label, quote=text.partition(": ")[2]), missing=missing, ask=ask)

    return say


def refined(*rounds: Say | str, over: Any = None, **given: Any) -> tuple[Trace, ScriptedModels]:
    """The question under constructors that say `rounds`, one a round."""
    said = iter(rounds)

    def script(request: ChatRequest) -> Any:
        if request.role == "plan":
            return plan()
        if request.role == "verify":
            reply = next(said)
            return reply(request) if callable(reply) else reply
        return "FINAL ANSWER: Pavel"

    return ask(QUESTION, script, given.pop("config", SMALL), over=over, **given)


def prompts(models: ScriptedModels) -> list[str]:
    return [r.messages[-1].text for r in models.requests if r.role == "verify"]


ENOUGH: Say = cites("last", missing="")


@pytest.fixture(scope="module")
def three() -> tuple[Trace, ScriptedModels]:
    return refined(
        cites("the kiln is from Pavel"),
        cites("Jon has pears", ask=("quarrel money crowns",)),
        cites("400 crowns", ask=("weather",)),
    )


def test_qem_20_a_later_prompt_shows_new_memories_and_the_claims_and_sources_before(
    three: tuple[Trace, ScriptedModels],
) -> None:
    trace, models = three
    assert len(trace.rounds) == 3
    for n, text in enumerate(prompts(models)[1:], start=1):
        before, after = text.split("Memories:\n")
        for done in trace.rounds[:n]:
            for one in done.candidates:
                assert f"[{one.label}]" not in text
                assert one.payload.splitlines()[-1] not in after
            assert done.assessment is not None
            for made in done.assessment.cards:
                assert f"{made.card_id}: {made.claim} ({made.sources[0]})" in before
        for one in trace.rounds[n].candidates:
            assert f"[{one.label}]" in after
    assert "Cards made in earlier rounds" not in prompts(models)[0]


def test_qem_20_what_was_examined_is_never_a_candidate_again(
    three: tuple[Trace, ScriptedModels],
) -> None:
    found = [c.item_id for done in three[0].rounds for c in done.candidates]
    assert len(found) == len(set(found))
    for before, done in itertools.pairwise(three[0].rounds):
        gone = {c.item_id for c in before.candidates}
        assert done.searches
        for step in done.searches:
            assert gone <= step.request.exclusion.items
            assert step.request.origin == "gap"


def test_qem_21_cards_and_pool_only_grow_and_earlier_cards_stay_as_they_are(
    three: tuple[Trace, ScriptedModels],
) -> None:
    trace, models = three
    states = list(replay(with_cards, trace))
    for one, later in itertools.pairwise(states):
        assert later.cards[: len(one.cards)] == one.cards
        assert later.pool[: len(one.pool)] == one.pool
        assert len(later.cards) == len(one.cards) + 1
    assert [c.card_id for c in states[-1].cards] == ["v1", "v2", "v3"]
    assert [c.round for c in states[-1].cards] == [1, 2, 3]
    answer_prompt = models.requests[-1].messages[-1].text
    assert all(f"[{c.card_id}] {c.claim}" in answer_prompt for c in states[-1].cards)


def test_qem_24_labels_go_on_over_rounds_and_name_one_memory_each(
    three: tuple[Trace, ScriptedModels],
) -> None:
    labels = [c.label for done in three[0].rounds for c in done.candidates]
    assert len(labels) == len(set(labels))
    for letter in "EST":
        numbers = sorted(int(one[1:]) for one in labels if one[0] == letter)
        assert numbers == list(range(1, len(numbers) + 1))


def test_qem_24_a_later_card_may_cite_an_earlier_round() -> None:
    first: list[str] = []

    def one(request: ChatRequest) -> Any:
        first.append(label_of(request, "kiln"))
        return cards(missing="more", ask=["pear trees"])

    def two(request: ChatRequest) -> Any:
        assert first[0] not in shown(request)
        return cards(card("it was from Pavel", first[0], quote="a new kiln from Pavel"))

    trace, _ = refined(one, two)
    made = trace.rounds[1].assessment
    assert made is not None and made.cards[0].quote_verified
    assert made.cards[0].unresolved == ()
    assert trace.answer is not None and trace.answer.citations[0].turn_id == "s1-2"


SILENT: Say = lambda request: cards(missing="more")  # noqa: E731 - a table entry


@pytest.mark.parametrize(
    ("rounds", "reason", "count"),
    [
        ([ENOUGH], "sufficient", 1),
        ([cites("a"), ENOUGH], "sufficient", 2),
        ([cites("a"), cites("b"), cites("c", ask=("quarrel",))], "max_iterations", 3),
        ([SILENT], "no_candidates", 1),
        (["not JSON", "not JSON"], "no_candidates", 1),
    ],
)
def test_qem_22_the_loop_ends_when_enough_was_found_or_nothing_is_asked_or_at_the_ceiling(
    rounds: list[Say | str], reason: StopReason, count: int
) -> None:
    trace, _ = refined(*rounds)
    assert (trace.stop_reason, len(trace.rounds)) == (reason, count)
    assert trace.answer is not None and trace.answer.rounds == count


def test_qem_22_nothing_new_ends_the_loop_without_a_call() -> None:
    trace, models = refined(cites("a"), config=FULL)
    assert (trace.stop_reason, len(trace.rounds)) == ("no_candidates", 2)
    assert trace.rounds[1].candidates == () and trace.rounds[1].calls == ()
    assert len(prompts(models)) == 1
    assert trace.answer is not None
    assert (trace.answer.status, trace.answer.missing) == ("partial", "more")


def test_qem_22_nothing_new_ends_the_loop_also_where_others_write_the_gap_queries() -> None:
    state = EvidenceState(question=Question(text=QUESTION))
    empty = Round(n=2, state_before="")
    assert QemStop(own_queries=False).stop((empty,), state) == "no_candidates"
    assert QemStop().stop((), state) is None
    full = refined(SILENT)[0].rounds[0]
    assert QemStop(own_queries=False).stop((full,), state) is None
    assert QemStop().stop((full,), state) == "no_candidates"


@pytest.mark.parametrize("refinements", [0, 1, 2, 3])
def test_qem_23_the_budget_of_refinements_is_a_parameter(refinements: int) -> None:
    config = dataclasses.replace(SMALL, refinements=refinements)
    asked = ("pear trees", "quarrel", "which ones")
    rounds = [cites(f"claim {n}", ask=asked[n : n + 1] or ("kiln",)) for n in range(4)]
    trace, models = refined(*rounds, config=config)
    assert len(prompts(models)) == len(trace.rounds) == 1 + refinements
    assert QEM_RECIPES["qem-full"].refinements == 2, "the default"
    assert len(refined(*rounds, config=config, max_rounds=1)[0].rounds) == 1


def test_an_unusable_later_reply_keeps_the_cards_and_what_was_missing() -> None:
    trace, _ = refined(cites("from Pavel", missing="the price"), "hm", "hm")
    assert trace.answer is not None
    assert (trace.answer.text, trace.answer.status) == ("Pavel", "partial")
    assert trace.answer.missing == "the price"
    assert trace.rounds[1].assessment is not None and trace.rounds[1].assessment.problem
    *_, last = replay(with_cards, trace)
    assert [c.claim for c in last.cards] == ["from Pavel"]


@pytest.mark.parametrize("calls", [1, 2, 3, 4])
def test_a_budget_of_calls_ends_the_loop_and_still_answers(calls: int) -> None:
    trace, models = refined(cites("a"), cites("b"), cites("c", ask=("quarrel",)), max_calls=calls)
    roles = [r.role for r in models.requests]
    assert roles == ["plan", "verify", "verify"][: calls - 1] + ["answer"]
    assert trace.stop_reason == "budget"
    assert trace.answer is not None and trace.usage.calls == calls


def test_the_log_replays_to_every_state(three: tuple[Trace, ScriptedModels]) -> None:
    stored = Trace.from_json(three[0].to_json())
    assert stored == three[0]
    *before, last = replay(with_cards, stored)
    assert [state_hash(s) for s in before] == [done.state_before for done in stored.rounds]
    assert isinstance(last, EvidenceState) and last.round == 3


class Forgetting:
    """A view from which entries vanish once a first round has been read."""

    def __init__(self, inner: MemoryView, *gone: str) -> None:
        self._inner, self._gone, self.forgotten = inner, set(gone), False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def get(self, ids: Sequence[str]) -> list[Turn | Item]:
        return self._inner.get([one for one in ids if not self._hides(one)])

    def neighbours(self, turn_id: str, *, before: int, after: int) -> list[Turn]:
        found = self._inner.neighbours(turn_id, before=before, after=after)
        return [] if self._hides(turn_id) else [t for t in found if not self._hides(t.turn_id)]

    def _hides(self, one: str) -> bool:
        return self.forgotten and one in self._gone


def test_what_was_forgotten_between_rounds_is_neither_verified_nor_cited() -> None:
    world = Forgetting(view(), "s1-2")
    over: BankView = world  # type: ignore[assignment]
    labels: list[str] = []

    def one(request: ChatRequest) -> Any:
        labels.append(label_of(request, "a new kiln"))
        return cards(missing="more", ask=["pear trees"])

    def two(request: ChatRequest) -> Any:
        world.forgotten = True
        return cards(card("it was from Pavel", labels[0], quote="a new kiln from Pavel"))

    trace, _ = refined(one, two, over=over)
    assessment = trace.rounds[1].assessment
    assert assessment is not None
    (made,) = assessment.cards
    assert (made.sources, made.quote_verified) == ((labels[0],), False)
    assert trace.answer is not None
    assert "s1-2" not in {c.turn_id for c in trace.answer.citations}
    assert trace.context == ()
