"""What may be trained on, and what it costs."""

from __future__ import annotations

import pytest

from evimem.datasets import load_split
from evimem.datasets.generated import generate
from evimem.errors import UsageError
from evimem.training.budget import construction_calls
from evimem.training.unimem.tasks import Task, asked, check_trainable, costs, tasks_of
from evimem.training.unimem.toy_world import toy_tasks


@pytest.mark.parametrize("part", ["train", "validation"])
def test_uni_51_57_58_only_the_conversations_of_the_part_may_be_used(part: str) -> None:
    allowed = {"train": {"conv-43", "conv-47"}, "validation": {"conv-44"}}[part]
    every = {one.partition("#")[0] for one in load_split("locomo", "1986").question_ids}
    assert len(every) == 10
    for history in sorted(every):
        if history in allowed:
            check_trainable("locomo", [history], part=part)  # type: ignore[arg-type]
        else:
            with pytest.raises(UsageError, match=history):
                check_trainable("locomo", [history], part=part)  # type: ignore[arg-type]


def test_uni_60_longmemeval_and_beam_are_for_testing_only() -> None:
    history = load_split("longmemeval", "500").question_ids[0]
    with pytest.raises(UsageError, match=history):
        check_trainable("longmemeval", ["gen-1", history])
    with pytest.raises(UsageError, match="beam"):
        check_trainable("beam", ["b"])
    check_trainable("locomo", ["gen-tiny-0-1"])


def test_uni_47_a_task_is_one_conversation_with_its_answerable_questions() -> None:
    dataset = generate("tiny", 3)
    made = tasks_of(dataset)
    assert [one.name for one in made] == list(dataset.histories)
    wanted = {key for key, gold in dataset.gold.items() if gold.answerable}
    assert {q.question_id for one in made for q in one.questions} == wanted
    for one in made:
        spoken = sum(bool(t.body.strip()) for t in dataset.histories[one.name].turns)
        assert sum(len(event.turns) for event in one.events) == spoken
        assert [event.index for event in one.events] == list(range(1, len(one.events) + 1))
    retrieval = asked(made[0].questions[0])
    assert retrieval.question == made[0].questions[0].text


def test_uni_49_the_estimate_counts_scored_questions() -> None:
    [task] = toy_tasks(1, seed=0)
    calls = construction_calls(costs([task]), group=8)
    assert (calls.events, calls.answers) == (8 * 5, 8 * 4)


def test_a_task_without_questions_is_refused() -> None:
    [task] = toy_tasks(1, seed=0)
    with pytest.raises(UsageError, match="it needs both"):
        Task(name="t", events=task.events, questions=())


def test_toy_tasks_are_the_same_for_the_same_seed_and_every_answer_is_in_its_chunk() -> None:
    assert toy_tasks(3, seed=5) == toy_tasks(3, seed=5) != toy_tasks(3, seed=6)
    for task in toy_tasks(10, seed=2):
        for question in task.questions:
            [place] = question.chunks
            turn = task.events[place - 1].turns[0]
            assert question.answer in turn.text and turn.speaker in question.text
