"""The selector in the loop: all options are searched, those chosen count, the rest is named."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest

from evimem.embed.hashing import HashingEmbedder
from evimem.model.evidence import EvidenceState, Question
from evimem.query.lite.packager import LitePackager
from evimem.query.loop import RunInput, run
from evimem.query.memory_view import MemoryView
from evimem.query.selector.features import NAMES
from evimem.query.selector.policy import Choice, SelectorPolicy
from evimem.query.selector.proposer import SelectorProposer, chosen, look
from evimem.recipes.lite import lite

ASKED = "What pets does Nora have?"


@pytest.fixture
def view(talk) -> MemoryView:  # type: ignore[no-untyped-def]
    return MemoryView(
        talk(
            """Nora: I adopted a puppy from the Riverside shelter.
            Ivo: What did you call him?
            Nora: Biscuit, because he is so brown.""",
            """Ivo: Pottery with clay is my new hobby.
            Nora: My turtle sleeps all day.
            Ivo: Mine would too.""",
        ),
        embedder=HashingEmbedder(),
    )


def liking(**weights: float) -> SelectorPolicy:
    """A policy that likes the features named, and nothing below 0.5."""
    linear = np.array([weights.get(name.replace(":", "_"), 0.0) for name in NAMES])
    return SelectorPolicy(weights={"linear": linear, "enough": np.array([0.5, 0.0])})


def start(question: str = ASKED) -> EvidenceState:
    return EvidenceState(question=Question(text=question))


def test_the_question_always_counts_and_the_best_options_follow(view: MemoryView) -> None:
    policy = liking(kind_examples=9.0, kind_speaker=2.0, kind_subject=1.0)
    proposed = SelectorProposer(policy=policy).propose(start(), view)
    assert [step.why for step in proposed.done] == [
        "the question itself",
        "by its examples",
        "by its speaker",
        "by its subject",
    ]
    assert proposed.searches == ()
    assert proposed.plan is not None
    assert proposed.plan.queries == tuple(step.request.text for step in proposed.done)
    assert "not chosen: synonyms" in proposed.plan.dropped
    assert not any("examples" in one for one in proposed.plan.dropped)


def test_a_policy_that_has_enough_asks_what_always_counts_alone(view: MemoryView) -> None:
    proposed = SelectorProposer(policy=liking()).propose(start(), view)
    assert [step.why for step in proposed.done] == ["the question itself", "by its examples"]
    proposed = SelectorProposer(policy=liking(), base=()).propose(start(), view)
    assert [step.request.text for step in proposed.done] == [ASKED]


def test_no_more_queries_than_the_ceiling(view: MemoryView) -> None:
    proposed = SelectorProposer(policy=liking(bias=1.0), most=2).propose(start(), view)
    assert len(proposed.done) == 2 + 2


def test_every_option_has_a_row_of_finite_bounded_numbers(view: MemoryView) -> None:
    looked = look(start(), view)
    assert looked.rows.shape == (len(looked.options), len(NAMES))
    assert len(looked.steps) == len(looked.options)
    assert len(looked.base) == 2
    assert np.isfinite(looked.rows).all()
    assert looked.rows.min() >= 0.0 and looked.rows.max() <= 1.0


def row(view: MemoryView, state: EvidenceState, kind: str) -> dict[str, float]:
    looked = look(state, view, base=())
    at = [one.kind for one in looked.options].index(kind)  # type: ignore[arg-type]
    return dict(zip(NAMES, looked.rows[at].tolist(), strict=True))


def test_features_say_what_the_option_is_and_how_its_hits_lie(view: MemoryView) -> None:
    told = row(view, start(), "speaker")
    assert (told["bias"], told["kind:speaker"], told["kind:subject"]) == (1.0, 1.0, 0.0)
    assert (told["later"], told["later:speaker"], told["several"]) == (0.0, 0.0, 1.0)
    assert told["asked_speaker"] == 1.0, "only what Nora said comes back"
    assert told["overlap"] == 1.0, "the conversation has six turns, all near the question"
    examples = row(view, start(), "examples")
    assert (examples["kind:examples"], examples["overlap"]) == (1.0, 1.0)


def test_features_of_later_rounds_see_what_was_viewed(view: MemoryView) -> None:
    seen = dataclasses.replace(start(), viewed=("t1-0",), round=1)
    told = row(view, seen, "speaker")
    assert (told["later"], told["later:speaker"], told["rounds"]) == (1.0, 1.0, 0.2)
    assert told["new_sessions"] == 0.5, "two turns of Nora left: one in a session not seen yet"
    assert told["beside_seen"] == 0.0


def test_a_choice_is_carried_out_in_its_order(view: MemoryView) -> None:
    looked = look(start(), view)
    proposed = chosen(looked, Choice(picked=(2, 0), ended=True))
    assert proposed.done == (*looked.base, looked.steps[2], looked.steps[0])


def test_it_runs_in_the_loop_of_lite_and_never_shows_a_turn_twice(view: MemoryView) -> None:
    recipe = dataclasses.replace(
        lite(),
        proposer=SelectorProposer(policy=liking(bias=1.0)),
        packager=LitePackager(shown=(2, 2)),
    )
    given = RunInput(question=Question(text=ASKED), bank="b", trace_id="t", created_at="")
    clock = itertools.count().__next__
    trace = run(recipe, view, given, seconds=lambda: float(clock()))
    assert [len(done.candidates) for done in trace.rounds[:2]] == [2, 2]
    assert (
        len(set(trace.viewed))
        == len(trace.viewed)
        == sum(len(done.candidates) for done in trace.rounds)
    )
    assert trace.usage.searches == view.searches, "options that were not chosen cost a search too"


def test_two_runs_choose_alike(view: MemoryView) -> None:
    proposer = SelectorProposer(policy=liking(overlap=1.0, fresh=0.4))
    assert proposer.propose(start(), view) == proposer.propose(start(), view)
