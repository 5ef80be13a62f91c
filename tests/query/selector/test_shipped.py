"""The recipe with the shipped selector: its weights, and a question answered by it."""

from __future__ import annotations

import hashlib
import itertools
from importlib import resources

import pytest

from evimem.embed.hashing import HashingEmbedder
from evimem.model.evidence import Question
from evimem.query.loop import RunInput, run
from evimem.query.memory_view import MemoryView
from evimem.recipes import RECIPES
from evimem.recipes.lite_trained import WEIGHTS, shipped_policy
from evimem.trace import Trace

FOLDER = resources.files("evimem.recipes") / "weights"


@pytest.fixture
def view(talk) -> MemoryView:  # type: ignore[no-untyped-def]
    history = talk(
        """Nora: I adopted a puppy from the Riverside shelter last week.
        Ivo: What did you call him?
        Nora: Biscuit, because he is so brown.""",
        """Ivo: Pottery with clay is my new hobby.
        Nora: My turtle sleeps all day.""",
    )
    return MemoryView(history, embedder=HashingEmbedder())


def ask(view: MemoryView) -> Trace:
    given = RunInput(
        question=Question(text="What pets does Nora have?"), bank="b", trace_id="t", created_at=""
    )
    return run(RECIPES["lite-trained"](), view, given, seconds=itertools.count().__next__)


def test_the_model_card_names_the_weights_that_are_shipped() -> None:
    data = (FOLDER / WEIGHTS).read_bytes()
    card = (FOLDER / "README.md").read_text("utf-8")
    assert hashlib.sha256(data).hexdigest() in card
    assert shipped_policy().metadata["sha256"] == hashlib.sha256(data).hexdigest()
    assert len(data) < 20_000
    assert shipped_policy().metadata["data"].startswith("mera-locomo, seed "), "generated only"


def test_it_asks_more_than_the_question_and_says_which_weights_chose(view: MemoryView) -> None:
    trace = ask(view)
    first = trace.rounds[0]
    assert first.searches[0].why == "the question itself"
    assert "common examples of the kinds that it names" in {step.why for step in first.searches}
    assert all(step.weight > 0 for step in first.searches)
    assert first.plan is not None and first.plan.dropped
    assert trace.versions["selector"] == shipped_policy().metadata["sha256"][:12]


def test_two_runs_are_alike_and_the_weights_of_searches_are_kept(view: MemoryView) -> None:
    one, two = ask(view), ask(view)
    assert one.rounds == two.rounds
    back = Trace.from_json(one.to_json())
    assert [x.weight for x in back.rounds[0].searches] == [x.weight for x in one.rounds[0].searches]
