"""How a selector learns: slopes by differences and against the reference objective, and a world in
which one kind of query is right."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from evimem.errors import UsageError
from evimem.model.evidence import Question
from evimem.model.turn import History, Session, Turn
from evimem.query.lite.packager import LitePackager, weighed_scores
from evimem.query.memory_view import MemoryView
from evimem.query.parts import Recipe
from evimem.query.selector.features import NAMES
from evimem.query.selector.policy import STRENGTHS, Choice, SelectorPolicy
from evimem.query.selector.proposer import Looked, SelectorProposer
from evimem.recipes.lite import lite
from evimem.training.objectives import Rollout, mera_gradient, mera_objective
from evimem.training.rewards import REWARDS, Reward
from evimem.training.searching import asked
from evimem.training.selector.learning import (
    Adam,
    Group,
    SelectorTraining,
    fresh_policy,
    grpo,
    grpo_slope,
    question_only,
    start,
    worth_training,
)
from evimem.training.selector.situations import Situation, situations_of

SMALL = SelectorTraining(group=6, steps=60, states_per_step=4, rate=0.05, entropy=0.0, depths=(1,))
REWARD = REWARDS["no-penalties"]


def recipe(policy: SelectorPolicy | None = None) -> Recipe:
    """`lite` with a selector that may choose examples, showing one turn a round."""
    return dataclasses.replace(
        lite(),
        proposer=SelectorProposer(policy=policy or fresh_policy(SMALL)),
        packager=LitePackager(shown=(1, 1), scores=weighed_scores),
    )


def world(number: int = 0) -> MemoryView:
    """Pets that no word of the question names: only the query of examples finds them first."""
    pets = ["hamster", "parrot", "turtle", "rabbit"]
    lines = [
        ("Nora", f"My {pets[number % 4]} slept well."),
        ("Nora", "Having pets is something that I talk about with everybody."),
        ("Ivo", "Pets? You have told me that you have them."),
        ("Ivo", "The bridge is closed."),
        ("Nora", f"I bought bread at shop number {number}."),
    ]
    turns = tuple(
        Turn(
            turn_id=f"t{n}",
            session_id="s",
            index=2 * n,
            speaker=who,
            role="person",
            text=text,
            said_at=datetime(2024, 1, 1, tzinfo=UTC) + timedelta(days=n),
            source_id=f"D1:{n}",
        )
        for n, (who, text) in enumerate(lines)
    )
    history = History(
        history_id="h", sessions=(Session(session_id="s", source_id="s"),), turns=turns
    )
    return MemoryView(history)


def situations(count: int = 2, gold: Sequence[str] = ("t0",)) -> list[Situation]:
    assert isinstance(REWARD, Reward)
    return [
        one
        for n in range(count)
        for one in situations_of(
            recipe(),
            world(n),
            Question(text="What pets does Nora have?", question_id=f"q{n}"),
            history_id="h",
            bank=f"b{n}",
            gold=gold,
            choose=nothing,
            reward=REWARD,
            depths=(1,),
            price=0.0,
        )[:1]
    ]


def nothing(looked: Looked) -> Choice:
    """The question alone."""
    return Choice(levels=(0,) * len(looked.options))


def only(one: Situation, kind: str, level: int = 2) -> Choice:
    """One option alone."""
    return Choice(levels=tuple(level * (found == kind) for found in kinds(one)))


def kinds(one: Situation) -> list[str]:
    return [option.kind for option in one.looked.options]


def test_mera_55_states_are_those_before_the_proposer_was_asked() -> None:
    assert isinstance(REWARD, Reward)
    view = world()
    question = Question(text="What pets does Nora have?", question_id="q")
    made = situations_of(
        recipe(), view, question, history_id="h", bank="b", gold=("t0", "t4"),
        choose=nothing, reward=REWARD, depths=(1,), price=0.0,
    )  # fmt: skip
    trace = asked(recipe(question_only()), view, question)
    viewed = [tuple(c.item_id for d in trace.rounds[:n] for c in d.candidates) for n in range(9)]
    assert len(made) >= 2
    assert [one.state.state.viewed for one in made] == viewed[: len(made)]


def test_mera_64_a_choice_earns_what_the_loop_would_have_shown() -> None:
    one = situations(1)[0]
    assert one.earned(nothing(one.looked)) == 0.0
    assert one.earned(only(one, "examples")) == 1.0
    assert one.run(only(one, "examples")).retrieved == ("t0",)
    margins = one.margins()
    assert margins.shape == (len(one.looked.options), len(STRENGTHS))
    assert margins[kinds(one).index("examples"), 2] == 1.0
    assert not margins[kinds(one).index("subject")].any()


def test_strength_has_its_price() -> None:
    one = dataclasses.replace(situations(1)[0], price=0.01, _known={})
    assert one.earned(nothing(one.looked)) == 0.0
    assert one.earned(only(one, "examples", 2)) == pytest.approx(1.0 - 0.02)
    assert one.margins()[kinds(one).index("subject")] == pytest.approx([0.0, -0.01, -0.02])


def test_what_comes_first_is_worth_more() -> None:
    """Gold in second place counts at the second depth only."""
    one = situations(1, gold=("t1",))[0]
    wide = dataclasses.replace(
        one, depths=(1, 2), packager=LitePackager(shown=(2, 2), scores=weighed_scores), _known={}
    )
    assert wide.earned(nothing(wide.looked)) == 1.0
    assert wide.run(only(wide, "examples")).retrieved == ("t0", "t1")
    assert wide.earned(only(wide, "examples")) == 0.5


def test_mera_66_the_slope_is_that_of_the_reference_objective() -> None:
    policy = fresh_policy(dataclasses.replace(SMALL, seed=5))
    rng = np.random.default_rng(2)
    policy = SelectorPolicy(
        weights={n: rng.normal(size=v.shape) for n, v in policy.weights.items()}
    )
    groups = [
        Group(
            rows=rng.uniform(size=(4, len(NAMES))),
            choices=(
                Choice(levels=(0, 1, 0, 2)),
                Choice(levels=(2, 0, 1, 1)),
                Choice(levels=(0, 0, 0, 0)),
            ),
            rewards=(1.0, 0.25, 0.0),
        ),
        Group(
            rows=rng.uniform(size=(3, len(NAMES))),
            choices=(Choice(levels=(0, 2, 1)), Choice(levels=(1, 0, 0))),
            rewards=(0.0, 0.5),
        ),
    ]
    slope, _ = grpo_slope(policy, groups, spread=0.5)

    def tokens(now: SelectorPolicy, then: SelectorPolicy) -> list[list[Rollout]]:
        return [
            [
                Rollout(
                    logp=levels(now, group.rows, choice),
                    old=levels(then, group.rows, choice),
                    advantages=np.full(len(choice.levels), advantage),
                )
                for choice, advantage in zip(group.choices, centred(group.rewards), strict=True)
            ]
            for group in groups
        ]

    step = 1e-6
    for name, value in policy.weights.items():
        for at in list(np.ndindex(value.shape))[:7]:
            ends = []
            for move in (step, -step):
                moved = {key: one.copy() for key, one in policy.weights.items()}
                moved[name][at] += move
                ends.append(mera_objective(tokens(SelectorPolicy(weights=moved), policy)))
            assert slope[name][at] == pytest.approx((ends[0] - ends[1]) / (2 * step), abs=1e-6)
    assert mera_gradient(tokens(policy, policy))[0][0][0] == pytest.approx(
        centred(groups[0].rewards)[0] / 12 / 2
    ), "twelve levels in the first group, two groups"


def centred(rewards: Sequence[float]) -> list[float]:
    """Advantages at a spread of 0.5."""
    return [(one - sum(rewards) / len(rewards)) / 0.5 for one in rewards]


def levels(policy: SelectorPolicy, rows: np.ndarray, choice: Choice) -> np.ndarray:  # type: ignore[type-arg]
    """Log-probability of each option's level."""
    made: list[float] = []
    for row, level in zip(policy.scores(rows).tolist(), choice.levels, strict=True):
        made.append(row[level] - math.log(sum(math.exp(x) for x in row)))
    return np.array(made)


def test_mera_67_the_entropy_has_a_slope_of_its_own() -> None:
    policy = fresh_policy(SMALL)
    group = Group(
        rows=np.eye(3, len(NAMES)),
        choices=(Choice(levels=(0, 1, 2)), Choice(levels=(1, 0, 0))),
        rewards=(1.0, 1.0),
    )
    without, logged = grpo_slope(policy, [group], spread=1.0)
    assert all(not one.any() for one in without.values()), "equal rewards teach nothing"
    assert logged.flat == 1.0
    linear = policy.weights["linear"].copy()
    linear[0, 0] = 2.0  # the first feature speaks for level 1
    with_entropy, _ = grpo_slope(
        SelectorPolicy(weights={"linear": linear}), [group], spread=1.0, entropy=0.1
    )
    assert with_entropy["linear"][0, 0] < 0.0, "what is too likely becomes less so"


def test_mera_57_states_that_teach_nothing_are_told_apart() -> None:
    rng = np.random.default_rng(0)
    policy = fresh_policy(SMALL)
    hard = situations(1, gold=("t3",))[0]
    assert worth_training(policy, hard, SMALL, rng) == "too_hard"
    assert worth_training(policy, situations(1)[0], SMALL, rng) == "kept"
    easy = situations(1, gold=("t1",))[0]
    assert worth_training(question_only(), easy, SMALL, rng) == "too_easy"


def test_the_supervised_start_learns_what_brings_something() -> None:
    config = dataclasses.replace(SMALL, start_epochs=60, start_rate=0.05, start_heat=0.02)
    made = situations(3)
    before = fresh_policy(config)
    after, losses = start(before, made, config)
    assert losses[-1] < losses[0]
    fresh = situations(4)[3]
    picked = dict(
        zip(kinds(fresh), after.greedy(after.scores(fresh.looked.rows)).levels, strict=True)
    )
    assert picked["examples"] > 0


def test_grpo_raises_the_reward_on_a_conversation_that_it_never_saw() -> None:
    made = situations(3)
    held = situations(4)[3]
    before = fresh_policy(SMALL)
    *_, (after, last) = grpo(before, made, SMALL)

    def mean(policy: SelectorPolicy) -> float:
        rng = np.random.default_rng(9)
        scores = policy.scores(held.looked.rows)
        drawn = [policy.sample(scores, rng=rng) for _ in range(50)]
        return float(np.mean([held.earned(one) for one in drawn]))

    assert mean(before) < 0.6
    assert mean(after) > 0.9
    assert last.reward > 0.8


def test_the_same_seed_gives_the_same_weights_and_another_seed_others() -> None:
    short = dataclasses.replace(SMALL, steps=3)

    def trained(config: SelectorTraining) -> bytes:
        *_, (policy, _) = grpo(fresh_policy(config), situations(2), config)
        return policy.to_bytes()

    assert trained(short) == trained(short)
    assert trained(short) != trained(dataclasses.replace(short, seed=1))


def test_adam_goes_uphill_by_its_rate_at_first() -> None:
    moved = Adam(0.1).step({"w": np.array([1.0, 1.0])}, {"w": np.array([4.0, -0.5])})
    assert moved["w"] == pytest.approx([1.1, 0.9], abs=1e-6)


def test_bad_settings_and_no_states_are_refused() -> None:
    with pytest.raises(UsageError, match="group is 0"):
        SelectorTraining(group=0)
    with pytest.raises(UsageError, match="no state to train on"):
        next(iter(grpo(fresh_policy(SMALL), [], SMALL)))
    with pytest.raises(UsageError, match="at least one group"):
        grpo_slope(fresh_policy(SMALL), [], spread=1.0)
