"""Recorded teachers: they replay, and become the very ids that rollouts sample."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path

import pytest
from unimem_training_world import END, FINISH, CharWording, Sampling, text_of, writer

from evimem.errors import UsageError
from evimem.llm.scripted import ScriptedModel
from evimem.manager.agent import ModelPolicy
from evimem.manager.lite import LitePolicy
from evimem.model.chat import ChatRequest
from evimem.training.stored import words_grader
from evimem.training.unimem.demonstrations import (
    Demonstration,
    examples,
    load,
    record,
    replay_demonstration,
    save,
)
from evimem.training.unimem.stages import Stage
from evimem.training.unimem.toy_world import LIMITS, Careless, toy_tasks

[TASK] = toy_tasks(1, seed=4)


def shown() -> Demonstration:
    return record(LitePolicy(), TASK, name="lite/1", limits=LIMITS)


def test_uni_52_a_recorded_dialogue_runs_again_and_comes_out_the_same(tmp_path: Path) -> None:
    made = shown()
    assert len(made.built) == len(TASK.events) and len(made.searched) == len(TASK.questions)
    path = tmp_path / "shown" / "demo.jsonl"
    careless = record(Careless(random.Random(1)), TASK, name="careless", limits=LIMITS)
    save([made, careless], path)
    assert load(path) == [made, careless]
    for one in load(path):
        bank = replay_demonstration(one, limits=LIMITS)
        assert tuple(bank.ops) == one.ops


def test_uni_52_a_record_that_was_changed_does_not_replay() -> None:
    made = shown()
    trace = made.built[0]
    first = trace.steps[0]
    other = dataclasses.replace(first.observed[0], text='{"memories": [1]}')
    steps = (dataclasses.replace(first, observed=(other,)), *trace.steps[1:])
    wrong = dataclasses.replace(
        made, built=(dataclasses.replace(trace, steps=steps), *made.built[1:])
    )
    with pytest.raises(UsageError, match="came out otherwise"):
        replay_demonstration(wrong, limits=LIMITS)
    ops = dataclasses.replace(trace.ops[0], after="Something else.")
    wrong = dataclasses.replace(
        made, built=(dataclasses.replace(trace, ops=(ops,)), *made.built[1:])
    )
    with pytest.raises(UsageError, match="otherwise than its log says"):
        replay_demonstration(wrong, limits=LIMITS)


def test_a_line_that_is_no_record_is_named(tmp_path: Path) -> None:
    path = tmp_path / "demo.jsonl"
    save([shown()], path)
    path.write_text(path.read_text(encoding="utf-8") + '{"task": "t"}\n', encoding="utf-8")
    with pytest.raises(UsageError, match=r"demo\.jsonl, line 10: no recorded event"):
        load(path)


def test_uni_52_any_chat_model_can_be_the_teacher() -> None:
    def say(request: ChatRequest) -> str:
        context = "".join(message.text for message in request.messages[1:])
        return str(writer(lambda _: "A dog is called Rex.")(context))

    made = record(ModelPolicy(model=ScriptedModel(say)), TASK, name="scripted", limits=LIMITS)
    assert {trace.closed for trace in made.traces} == {"finished"}
    assert len(replay_demonstration(made, limits=LIMITS).records()) == len(TASK.events)


def test_uni_53_the_loss_is_about_what_the_teacher_said_and_nothing_else() -> None:
    made, left_out = examples([shown()], CharWording(), max_tokens=5000)
    assert left_out == 0 and len(made) == len(TASK.events) + len(TASK.questions)
    one = made[0]
    assert len(one.ids) == len(one.mask)
    said = text_of([t for t, keep in zip(one.ids, one.mask, strict=True) if keep])
    read = text_of([t for t, keep in zip(one.ids, one.mask, strict=True) if not keep])
    assert said.count("<tool_call>") == said.count(chr(END)) == 3 and said.endswith(FINISH + chr(3))
    assert "tool_response" not in said and "new_turns" not in said
    assert "tool_call>" not in read and read.count("<tool_response>") == 2


def test_demonstrations_and_rollouts_of_the_same_words_have_the_same_ids() -> None:
    content = "A memory."
    sampling = Sampling(writer(lambda _: content))
    stage = Stage(wording=CharWording(), generate=sampling, limits=LIMITS)
    [rollout] = stage.construct([TASK])
    traces = tuple(one.trace for one in rollout.segments)
    told = Demonstration(task="t", teacher="t", built=traces, searched=())
    made, _ = examples([told], CharWording(), max_tokens=5000)
    for example, segment in zip(made, rollout.segments, strict=True):
        assert example.ids == (*segment.prompt_ids, *segment.completion_ids)
        assert example.mask == (*[False] * len(segment.prompt_ids), *segment.mask)


def test_events_that_were_not_finished_or_are_too_long_are_left_out_and_counted() -> None:
    made = shown()
    forced = dataclasses.replace(made.built[0], closed="forced")
    cut = dataclasses.replace(made, built=(forced, *made.built[1:]))
    kept, left_out = examples([cut], CharWording(), max_tokens=5000)
    assert (len(kept), left_out) == (8, 1)
    assert examples([made], CharWording(), max_tokens=10) == ([], 9)


def test_the_careless_teacher_goes_wrong_in_its_share_and_keeps_the_form() -> None:
    tasks = toy_tasks(40, seed=9)
    right = total = 0
    for n, task in enumerate(tasks):
        made = record(Careless(random.Random(n)), task, name="c", limits=LIMITS)
        assert {trace.closed for trace in made.traces} == {"finished"}
        for question, trace in zip(task.questions, made.searched, strict=True):
            bank = replay_demonstration(made, limits=LIMITS)
            found = [bank.get(one) for one in trace.evidence]
            right += words_grader(question, [one for one in found if one is not None])
            total += 1
    assert 0.15 < right / total < 0.4, "about one half of one half"


def test_the_teacher_without_a_model_answers_all_of_the_toy_world() -> None:
    for task in toy_tasks(5, seed=1):
        made = record(LitePolicy(), task, name="lite/1", limits=LIMITS)
        bank = replay_demonstration(made, limits=LIMITS)
        for question, trace in zip(task.questions, made.searched, strict=True):
            found = [bank.get(one) for one in trace.evidence]
            assert words_grader(question, [one for one in found if one is not None])
