"""The selector in the loop: all options are searched, those chosen count, the rest is named."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest

from evimem.embed.hashing import HashingEmbedder
from evimem.model.evidence import EvidenceState, Question
from evimem.model.search import Hit
from evimem.query.lite.packager import LitePackager
from evimem.query.loop import RunInput, run
from evimem.query.memory_view import MemoryView
from evimem.query.question import analyse
from evimem.query.selector.features import NAMES, feature_rows
from evimem.query.selector.options import Option
from evimem.query.selector.policy import STRENGTHS, Choice, SelectorPolicy
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
    """A policy that asks options of a kind at level 1 where its weight is more than 0.5, at level 2
    where it is more than 5, else not."""
    linear = np.zeros((len(NAMES), len(STRENGTHS) - 1))
    for number, name in enumerate(NAMES):
        case, _, kind = name.partition(":")
        if case == "any":
            liked = weights.get(kind, weights.get("every", 0.0))
            linear[number] = (liked - 0.5, 2 * liked - 5.5)
    return SelectorPolicy(weights={"linear": linear})


def start(question: str = ASKED) -> EvidenceState:
    return EvidenceState(question=Question(text=question))


def test_the_question_always_counts_and_the_strongest_options_follow(view: MemoryView) -> None:
    policy = liking(speaker=2.0, examples=9.0, subject=1.0)
    proposed = SelectorProposer(policy=policy).propose(start(), view)
    assert [(step.why, step.weight) for step in proposed.done] == [
        ("the question itself", 1.0),
        ("common examples of the kinds that it names", 2.0),
        ("the question's names and content words", 1.0),
        ("the question, in what one person said", 1.0),
    ]
    assert proposed.searches == ()
    assert proposed.plan is not None
    assert proposed.plan.queries == tuple(step.request.text for step in proposed.done)
    assert "not chosen: synonyms" in proposed.plan.dropped
    assert not any("examples" in one for one in proposed.plan.dropped)


def test_what_is_not_chosen_is_not_searched(view: MemoryView) -> None:
    proposed = SelectorProposer(policy=liking(examples=2.0)).propose(start(), view)
    assert proposed.plan is not None and len(proposed.plan.dropped) > 3
    assert view.searches == len(proposed.done) == 2


def test_a_search_is_carried_out_once(view: MemoryView) -> None:
    looked = look(start(), view)
    assert looked.step(0) is looked.step(0)
    assert view.searches == 2


def test_a_policy_that_likes_nothing_asks_the_question_alone(view: MemoryView) -> None:
    proposed = SelectorProposer(policy=liking()).propose(start(), view)
    assert [step.request.text for step in proposed.done] == [ASKED]


def test_every_option_has_a_row_of_finite_bounded_numbers(view: MemoryView) -> None:
    looked = look(start(), view)
    assert looked.rows.shape == (len(looked.options), len(NAMES))
    assert len(looked.requests) == len(looked.options)
    assert looked.question.request.text == ASKED
    assert np.isfinite(looked.rows).all()
    assert looked.rows.min() >= 0.0 and looked.rows.max() <= 1.0


def row(view: MemoryView, state: EvidenceState, kind: str) -> dict[str, float]:
    looked = look(state, view)
    at = [one.kind for one in looked.options].index(kind)  # type: ignore[arg-type]
    told = dict(zip(NAMES, looked.rows[at].tolist(), strict=True))
    assert not any(value for name, value in told.items() if not name.endswith(f":{kind}"))
    return {name.partition(":")[0]: v for name, v in told.items() if name.endswith(f":{kind}")}


def test_features_say_what_the_option_is_and_what_is_asked(view: MemoryView) -> None:
    told = row(view, start(), "speaker")
    assert (told["any"], told["later"], told["several"], told["time"]) == (1.0, 0.0, 1.0, 0.0)
    told = row(view, start("When did Nora adopt her puppy?"), "speaker")
    assert (told["several"], told["time"]) == (0.0, 1.0)


def test_features_of_later_rounds_say_so(view: MemoryView) -> None:
    seen = dataclasses.replace(start(), viewed=("t1-0",), round=1)
    assert row(view, seen, "speaker")["later"] == 1.0


def test_a_hit_that_stands_out_makes_sure() -> None:
    def sure(*scores: float) -> float:
        hits = tuple(
            Hit(item_id=f"t{n}", kind="turn", score=score, rank=n + 1)
            for n, score in enumerate(scores)
        )
        asked = analyse(ASKED, speakers=())
        told = feature_rows([Option(kind="told", text="x")], hits, start(), asked)[0]
        return float(told[NAMES.index("sure:told")])

    assert sure(9.0, *[1.0] * 9, 0.0) == pytest.approx(8 / 9), "to the tenth, of the whole range"
    assert sure(9.0, 8.0, 7.0) == 1.0
    assert sure(2.0, 2.0) == sure() == 0.0


def test_a_choice_is_carried_out_by_its_levels(view: MemoryView) -> None:
    looked = look(start(), view)
    levels = [0] * len(looked.options)
    levels[0], levels[2] = 1, 2
    proposed = chosen(looked, Choice(levels=tuple(levels)))
    assert proposed.done == (
        looked.question,
        dataclasses.replace(looked.step(2), weight=STRENGTHS[2]),
        dataclasses.replace(looked.step(0), weight=STRENGTHS[1]),
    )


def test_it_runs_in_the_loop_of_lite_and_never_shows_a_turn_twice(view: MemoryView) -> None:
    recipe = dataclasses.replace(
        lite(),
        proposer=SelectorProposer(policy=liking(every=1.0)),
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
    assert trace.usage.searches == view.searches


def test_two_runs_choose_alike(view: MemoryView) -> None:
    proposer = SelectorProposer(policy=liking(told=1.0, meaning=9.0))
    assert proposer.propose(start(), view) == proposer.propose(start(), view)
