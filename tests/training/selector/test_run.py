"""From data sets to weights: guard, counts, the whole run, and figures at equal views."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from evimem.datasets import Dataset, Gold
from evimem.errors import UsageError
from evimem.model.evidence import Question
from evimem.model.turn import History, Session, Turn
from evimem.query.lite.packager import LitePackager, weighed_scores
from evimem.query.memory_view import MemoryView
from evimem.query.parts import Recipe
from evimem.query.selector.proposer import SelectorProposer
from evimem.recipes.lite import lite
from evimem.recipes.lite_trained import lite_trained
from evimem.training.rewards import REWARDS, Reward
from evimem.training.selector.learning import (
    SelectorTraining,
    fresh_policy,
    grpo,
    mean_policy,
    question_only,
)
from evimem.training.selector.run import collect, found_by, train_selector, with_policy

CONFIG = SelectorTraining(
    group=6, steps=40, states_per_step=4, rate=0.05, start_epochs=20, entropy=0.0, depths=(1,)
)
REWARD = REWARDS["no-penalties"]
LINES = (
    ("Nora", "My hamster slept well."),
    ("Nora", "Having pets is something that I talk about with everybody."),
    ("Ivo", "Pets? You have told me that you have them."),
    ("Ivo", "The bridge is closed."),
)


def history(name: str) -> History:
    turns = tuple(
        Turn(
            turn_id=f"{name}-t{n}",
            session_id="s",
            index=2 * n,
            speaker=who,
            role="person",
            text=text,
            said_at=datetime(2024, 1, 1, tzinfo=UTC) + timedelta(days=n),
            source_id=f"D1:{n}",
        )
        for n, (who, text) in enumerate(LINES)
    )
    return History(history_id=name, sessions=(Session(session_id="s", source_id="s"),), turns=turns)


def dataset(*names: str) -> Dataset:
    asked = {
        "open": ("What pets does Nora have?", ("D1:0",), True),
        "easy": ("Having pets is something that Nora talks about?", ("D1:1",), True),
        "none": ("What pets does Ivo have?", (), False),
    }
    questions, gold = [], {}
    for name in names:
        for kind, (text, evidence, answerable) in asked.items():
            one = f"{name}#{kind}"
            questions.append(Question(text=text, question_id=one))
            gold[one] = Gold(
                question_id=one,
                history_id=name,
                category=kind,
                evidence=evidence,
                answerable=answerable,
            )
    return Dataset(
        name="locomo",
        histories={name: history(name) for name in names},
        questions=tuple(questions),
        gold=gold,
    )


def recipe() -> Recipe:
    return dataclasses.replace(
        lite(),
        proposer=SelectorProposer(policy=fresh_policy(CONFIG)),
        packager=LitePackager(shown=(1, 1), scores=weighed_scores),
    )


def test_mera_54_held_out_conversations_are_refused() -> None:
    assert isinstance(REWARD, Reward)
    with pytest.raises(UsageError, match="test set"):
        collect([dataset("a", "b")], recipe(), MemoryView, CONFIG, REWARD, test_ids=["b"])
    with pytest.raises(UsageError, match="test set"):
        collect([dataset("a")], recipe(), MemoryView, CONFIG, REWARD, test_ids=["a#open"])


def test_mera_55_56_60_states_are_counted_and_complete_ones_left_out() -> None:
    assert isinstance(REWARD, Reward)
    told: list[tuple[str, int, int]] = []
    kept, funnel = collect(
        [dataset("a", "b")], recipe(), MemoryView, CONFIG, REWARD,
        on_progress=lambda *now: told.append(now),
    )  # fmt: skip
    assert told == [("conversations", 1, 2), ("conversations", 2, 2)]
    assert funnel.rollout_input == len(kept) > 0
    assert funnel.complete > 0
    assert funnel.collected >= funnel.complete + funnel.rollout_input
    assert all(one.state.missing for one in kept)
    assert {one.state.question_id.partition("#")[2] for one in kept} <= {"open", "easy"}
    assert len({one.state.bank for one in kept}) == 2, "memories are named by their content"


def test_a_whole_run_beats_its_start_and_the_question_alone_on_a_new_conversation() -> None:
    assert isinstance(REWARD, Reward)
    kept, funnel = collect([dataset("a", "b")], recipe(), MemoryView, CONFIG, REWARD)
    trained = train_selector(kept, funnel, CONFIG)
    assert trained.funnel.kept > 0 and funnel.kept == 0
    counts = trained.funnel
    assert counts.kept + counts.too_hard + counts.too_easy == counts.rollout_input
    assert len(trained.curve) == CONFIG.steps
    assert trained.losses[-1] < trained.losses[0]
    fresh = dataset("c")
    views = {"c": MemoryView(fresh.histories["c"])}

    def recall(policy: object, turns: int = 1) -> dict[str, float]:
        found = found_by(with_policy(recipe(), policy), fresh, views, turns=turns)  # type: ignore[arg-type]
        assert [one.complete for one in found] == [one.recall == 1.0 for one in found]
        return {one.category: one.recall for one in found}

    assert recall(question_only()) == {"open": 0.0, "easy": 1.0}
    assert recall(trained.policy)["open"] == 1.0
    some = found_by(
        with_policy(recipe(), trained.policy), fresh, views, turns=1, questions=fresh.questions[:1]
    )
    assert [one.question_id for one in some] == ["c#open"]


def test_the_policy_is_the_mean_of_the_later_half_of_the_steps() -> None:
    assert isinstance(REWARD, Reward)
    kept, funnel = collect([dataset("a")], recipe(), MemoryView, CONFIG, REWARD)
    config = dataclasses.replace(CONFIG, steps=5)
    trained = train_selector(kept, funnel, config)
    steps = [policy.weights["linear"] for policy, _ in grpo(trained.started, kept, config)]
    assert trained.policy.weights["linear"] == pytest.approx(sum(steps[2:]) / 3)
    assert not np.allclose(steps[2], steps[4]), "the steps differ"
    none = train_selector(kept, funnel, dataclasses.replace(CONFIG, steps=0))
    assert np.array_equal(none.policy.weights["linear"], none.started.weights["linear"])
    with pytest.raises(UsageError, match="no policy"):
        mean_policy([])


def test_states_that_teach_nothing_end_in_an_error_that_says_so() -> None:
    assert isinstance(REWARD, Reward)
    kept, funnel = collect([dataset("a")], recipe(), MemoryView, CONFIG, REWARD)
    hard = [
        dataclasses.replace(one, state=dataclasses.replace(one.state, gold=("nowhere",)), _known={})
        for one in kept
    ]
    with pytest.raises(UsageError, match="is informative"):
        train_selector(hard, funnel, CONFIG)


def test_a_recipe_without_a_selector_takes_no_policy() -> None:
    assert isinstance(REWARD, Reward)
    with pytest.raises(UsageError, match="'lite' has no selector"):
        with_policy(lite(), question_only())
    with pytest.raises(UsageError, match="'lite' has no selector"):
        collect([dataset("a")], lite(), MemoryView, CONFIG, REWARD)


def test_lite_trained_is_lite_but_for_planner_and_rounds() -> None:
    made = lite_trained(question_only())
    assert made.name == "lite-trained"
    assert made.assessor == lite().assessor and made.answerer == lite().answerer
    view = MemoryView(history("a"))
    assert {one.category for one in found_by(made, dataset("a"), {"a": view}, turns=20)} == {
        "open",
        "easy",
    }
