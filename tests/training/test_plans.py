"""Schedules, variants, settings and cost: what the papers' tables say."""

from __future__ import annotations

import itertools

import pytest

from evimem.errors import UsageError
from evimem.training.budget import (
    Task,
    construction_calls,
    joint_calls,
    lines,
    retrieval_calls,
)
from evimem.training.configs import MeraTraining, SftTraining, UniTraining, described
from evimem.training.schedules import BLOCKS, RATIOS, Schedule
from evimem.training.variants import VARIANTS, Variant, variant_named


def letters(schedule: Schedule, count: int) -> str:
    return "".join(one[0] for one in itertools.islice(schedule.phases(), count))


@pytest.mark.parametrize(
    ("written", "phases"),
    [("1:1", "crcrcrcr"), ("2:1", "ccrccrcc"), ("1:3", "crrrcrrr"), ("2:2", "ccrrccrr"),
     ("1:0", "cccccccc"), ("0:1", "rrrrrrrr")],
)  # fmt: skip
def test_uni_42_a_schedule_repeats_c_construction_and_r_retrieval_updates(
    written: str, phases: str
) -> None:
    schedule = Schedule.parse(written)
    assert letters(schedule, 8) == phases
    assert str(schedule) == written
    assert [schedule.phase(n)[0] for n in range(8)] == list(phases), "also after a resume"


def test_uni_42_the_papers_ratios_and_blocks_are_at_hand_and_1_to_1_is_the_default() -> None:
    assert [str(one) for one in RATIOS] == ["1:8", "1:4", "1:2", "1:1", "2:1", "4:1", "8:1"]
    assert [str(one) for one in BLOCKS] == ["1:1", "2:2", "4:4", "8:8", "16:16", "32:32"]
    assert all(one.construction == one.retrieval for one in BLOCKS)
    assert Schedule() == Schedule.parse("1:1") == UniTraining().schedule


@pytest.mark.parametrize("written", ["2-1", "", "1:", "a:b", "0:0", "-1:2", "1:2:3"])
def test_uni_42_what_is_no_schedule_is_refused(written: str) -> None:
    with pytest.raises(UsageError):
        Schedule.parse(written)


def test_uni_41_one_stage_is_weighted_at_a_time() -> None:
    schedule = Schedule.parse("2:1")
    assert [schedule.weights(n) for n in range(3)] == [(1.0, 0.0), (1.0, 0.0), (0.0, 1.0)]


def test_uni_45_each_variant_adds_one_thing_to_the_one_before() -> None:
    flags = {
        name: (one.trained, one.event_credit, one.rollouts == "per stage", one.follow_lineage)
        for name, one in VARIANTS.items()
    }
    assert flags == {
        "M0": (False, False, False, False),
        "M1": (True, False, False, False),
        "M2": (True, True, False, False),
        "M3": (True, True, True, False),
        "M4": (True, True, True, True),
    }
    for before, after in itertools.pairwise(flags.values()):
        assert sum(a != b for a, b in zip(before, after, strict=True)) == 1
    assert [one.name for one in VARIANTS.values() if one.alternates] == ["M3", "M4"]
    assert variant_named("m4") is VARIANTS["M4"]
    with pytest.raises(UsageError, match="no variant 'M5'"):
        variant_named("M5")
    with pytest.raises(UsageError, match="lineage"):
        Variant(name="X", follow_lineage=True, about="lineage of nothing")


def test_mera_69_every_default_is_ours_and_says_so() -> None:
    config = MeraTraining()
    assert (config.group, config.learning_rate, config.clip, config.beta, config.eta) == (
        8, 1e-6, 0.2, 0.001, 0.0,
    )  # fmt: skip
    told = described(config)
    for name in ("group", "learning_rate", "clip", "beta", "eta", "states_per_step", "steps"):
        line = next(one for one in told if one.startswith(f"{name} = "))
        assert line.endswith("(unstated in paper)")
    assert "ddof = 1" in told, "Eq. 6 states it"


def test_uni_46_the_settings_equal_table_7() -> None:
    config = UniTraining()
    assert config.learning_rate == 2e-6
    assert (config.task_batch, config.group, config.mini_batch) == (2, 8, 1)
    assert (config.temperature, config.top_p, config.epochs) == (0.7, 1.0, 200)
    assert (config.beta, config.eta, config.precision) == (0.0, 0.0, "bfloat16")
    assert (config.validate_every, config.save_every) == (10, 10)
    told = described(config)
    assert "learning_rate = 2e-06" in told and "group = 8" in told


def test_uni_47_two_training_conversations_make_200_steps() -> None:
    assert UniTraining().steps(tasks=2) == 200
    assert UniTraining().steps(tasks=3) == 400
    assert UniTraining(epochs=5).steps(tasks=4) == 10


def test_uni_48_what_the_paper_leaves_open_is_a_flag_and_marked() -> None:
    told = described(UniTraining())
    assert "clip = 0.2  (unstated in paper)" in told
    assert "delta = 1e-06  (unstated in paper)" in told
    assert "ddof = 1  (unstated in paper)" in told
    assert sum(one.endswith("(unstated in paper)") for one in told) == 5
    assert UniTraining(ddof=0).ddof == 0


def test_uni_50_training_and_evaluation_have_answer_models_and_judges_of_their_own() -> None:
    config = UniTraining()
    assert (config.train_answer, config.train_judge) == ("Qwen3.8-27B", "Qwen3.8-27B")
    assert (config.eval_answer, config.eval_judge) == ("GPT-OSS-120B", "GPT-4o-mini")


def test_uni_53_the_supervised_start_has_the_papers_settings() -> None:
    config = SftTraining()
    assert (config.learning_rate, config.warmup, config.batch) == (1e-5, 0.1, 8)
    assert (config.max_tokens, config.epochs, config.save_every) == (16_384, 3, 431)
    assert config.examples == 11_352
    assert 3448 in range(config.save_every, config.updates, config.save_every)
    assert not any("unstated" in one for one in described(config))


@pytest.mark.parametrize("field", ["group", "learning_rate", "epochs"])
def test_settings_that_are_not_positive_are_refused(field: str) -> None:
    with pytest.raises(UsageError, match=f"{field} is 0"):
        UniTraining(**{field: 0})


TASKS = (
    Task(name="conv-43", events=349, questions=178, evidenced=170),
    Task(name="conv-47", events=355, questions=150),
)


def test_uni_49_the_estimate_counts_every_scored_and_every_searched_answer() -> None:
    build, find = construction_calls(TASKS, group=8), retrieval_calls(TASKS, group=8)
    assert build.events == 8 * 704
    assert build.answers == build.judgements == 8 * (170 + 150)
    assert find.events == 704 + 8 * 328
    assert find.answers == find.judgements == 8 * 328 + 320
    assert find.frozen == 2 * find.answers
    whole = joint_calls(TASKS, group=8, event_credit=False)
    assert (whole.events, whole.answers) == (8 * (704 + 328), 8 * 328)
    assert joint_calls(TASKS, group=8, event_credit=True).answers == 8 * (328 + 320)


def test_uni_49_the_estimate_is_printed_per_iteration_and_in_all() -> None:
    told = lines(TASKS, group=8, schedule=Schedule.parse("2:1"), steps=4)
    assert "2,560 answers" in told[0] and "2,944 answers" in told[1]
    total = 3 * 2 * 2560 + 2 * 2944
    assert told[2].startswith("4 iterations at 2:1") and f"{total:,} calls" in told[2]
    with pytest.raises(UsageError, match="with evidence"):
        Task(name="x", events=1, questions=2, evidenced=3)
