"""Batched rollouts over the same environment as in use; no model, no torch."""

from __future__ import annotations

import dataclasses

import pytest
from manager_world import chunk, question, turn
from unimem_training_world import (
    END,
    FINISH,
    CharWording,
    Sampling,
    called,
    ids_of,
    text_of,
    writer,
)

from evimem.errors import UsageError
from evimem.llm.scripted import ScriptedModel
from evimem.manager.agent import ModelPolicy, run_events
from evimem.manager.environment import Environment, Limits
from evimem.manager.memory_bank import MemoryBank
from evimem.manager.prompts.observe import observe
from evimem.model.chat import ChatRequest
from evimem.training.unimem.rollouts import Room, Sampled, Segment, Work, roll

EVENTS = [chunk(1, "Rex barks."), chunk(2, "Pip purrs."), chunk(3, "Hello!")]


def content(context: str) -> str:
    return next((word for word in ("Rex barks.", "Pip purrs.") if word in context), "")


def work(*events: int) -> Work:
    return Work(
        env=Environment(MemoryBank()), events=[(n, EVENTS[n - 1]) for n in events or (1, 2, 3)]
    )


def generated(segment: Segment) -> list[str]:
    """The stretches that were sampled, as text."""
    ids = [
        one if keep else -1 for one, keep in zip(segment.completion_ids, segment.mask, strict=True)
    ]
    parts: list[list[int]] = [[]]
    for one in ids:
        if one < 0:
            parts.append([])
        else:
            parts[-1].append(one)
    return [text_of(part) for part in parts if part]


def test_uni_37_only_what_was_sampled_is_under_the_mask_and_it_is_kept_as_it_was() -> None:
    sampling = Sampling(writer(content))
    [(done, unread)] = roll([work(1)], CharWording(), sampling)
    [segment] = done
    assert unread == 0 and segment.key == 1
    assert generated(segment) == [
        called("memory_search", query="x") + chr(END),
        called("create_memory", content="Rex barks.") + chr(END),
        FINISH + chr(END),
    ]
    assert len(segment.mask) == len(segment.completion_ids)
    whole = text_of([*segment.prompt_ids, *segment.completion_ids])
    asked = [texts[0] for texts in sampling.asked]
    assert [whole.startswith(one) for one in asked] == [True] * 3, "nothing was written anew"
    assert text_of(segment.prompt_ids) == f"SYS\n{observe(EVENTS[0])}|" == asked[0]
    pairs = zip(segment.completion_ids, segment.mask, strict=True)
    assert "memories" in text_of([one for one, keep in pairs if not keep])


def test_rollouts_do_what_the_agent_does_with_the_same_words() -> None:
    def say(request: ChatRequest) -> str:
        context = "".join(message.text for message in request.messages[1:])
        return writer(content)(context)

    bank = MemoryBank()
    policy = ModelPolicy(model=ScriptedModel(say))
    wanted = list(run_events(policy, Environment(bank), EVENTS))
    one = work()
    [(done, _)] = roll([one], CharWording(), Sampling(writer(content)))
    assert [segment.trace for segment in done] == wanted
    assert one.env._bank.hash == bank.hash  # type: ignore[attr-defined]
    assert [record.content for record in bank.records()] == ["Rex barks.", "Pip purrs."]


def test_all_open_contexts_are_asked_for_at_once() -> None:
    sampling = Sampling(writer(content))
    rolled = roll([work(1, 2), work(3), work(2)], CharWording(), sampling)
    assert [[one.key for one in done] for done, _ in rolled] == [[1, 2], [3], [2]]
    # 3 responses an event, 2 where nothing is written
    assert [len(texts) for texts in sampling.asked] == [3, 3, 2, 1, 1, 1]


def test_a_response_that_was_cut_says_so_and_its_end_mark_is_not_the_policy_s() -> None:
    said = iter(["I think that", called("memory_search", query="x"), FINISH])

    def say(context: str) -> str:
        return next(said)

    sampling = Sampling(say, end=False)
    [(done, _)] = roll([work(3)], CharWording(), sampling)
    [segment] = done
    assert [one.reason for one in segment.trace.observed] == ["unparsed", "", ""]
    assert "be brief" in segment.trace.observed[0].text
    places = [at for at, one in enumerate(segment.completion_ids) if one == END]
    assert len(places) == 2 and not any(segment.mask[at] for at in places)


def test_a_context_without_room_for_another_response_is_closed_and_the_next_event_begins() -> None:
    opening = max(len(CharWording().opening(event)) for event in EVENTS[:2])
    room = Room(context=opening + 300, response=100)
    chatty = Sampling(lambda context: called("memory_search", query="y" * 30))
    one = work(1, 2)
    [(done, unread)] = roll([one], CharWording(), chatty, room=room)
    assert unread == 0
    assert [(segment.key, segment.cut, segment.trace.closed) for segment in done] == [
        (1, True, "forced"),
        (2, True, "forced"),
    ]
    for segment in done:
        assert segment.mask[-1], "what no response answers to is left out"
        assert len(segment.prompt_ids) + len(segment.completion_ids) <= room.context


def test_turns_to_read_only_go_first_and_an_event_that_never_fits_is_counted() -> None:
    event = dataclasses.replace(
        EVENTS[0], context=tuple(turn("An old line. " * 9, n=n) for n in range(4))
    )
    bare = len(CharWording().opening(EVENTS[0]))
    works = [Work(env=Environment(MemoryBank()), events=[("e", event), ("f", EVENTS[2])])]
    room = Room(context=bare + 300, response=100)
    [(done, unread)] = roll(works, CharWording(), Sampling(lambda _: FINISH), room=room)
    assert unread == 0 and [one.key for one in done] == ["e", "f"]
    shown = text_of(done[0].prompt_ids)
    assert shown.count("An old line. An old line.  ".strip()) >= 1 and "Rex barks." in shown
    assert shown.count('"speaker"') == 2, "one of four turns before, and the new one"
    assert done[0].trace.event == event, "the event itself is whole"
    works = [Work(env=Environment(MemoryBank()), events=[("e", event), ("f", EVENTS[2])])]
    room = Room(context=bare // 2, response=10)
    [(done, unread)] = roll(works, CharWording(), Sampling(lambda _: FINISH), room=room)
    assert (done, unread) == ([], 2)


def test_uni_18_24_responses_close_an_event() -> None:
    works = [
        Work(env=Environment(MemoryBank(), limits=Limits(responses=4)), events=[("q", question())])
    ]
    [(done, _)] = roll(works, CharWording(), Sampling(lambda _: "hm"))
    assert len(done[0].trace.steps) == 4 and done[0].trace.closed == "forced"
    assert done[0].mask[-1] and not done[0].cut


def test_an_idle_process_asks_the_model_as_often_as_the_busiest_one() -> None:
    left = iter([True, True, True, False])
    sampling = Sampling(writer(content))
    seen: list[bool] = []

    def together(busy: bool) -> bool:
        seen.append(busy)
        return next(left)

    assert roll([], CharWording(), sampling, together=together) == []
    assert seen == [False] * 4
    assert [len(texts) for texts in sampling.asked] == [1, 1, 1], "with a filler each"


def test_a_sampler_that_loses_a_response_is_found_out() -> None:
    with pytest.raises(UsageError, match="2 contexts got 1 responses"):
        roll([work(1), work(2)], CharWording(), lambda contexts: [Sampled(ids=(END,))])
    with pytest.raises(UsageError, match="without any token"):
        roll([work(1)], CharWording(), lambda contexts: [Sampled(ids=())])


def test_log_probabilities_of_the_sampler_stand_at_its_tokens() -> None:
    def sample(contexts: object) -> list[Sampled]:
        ids = (*ids_of(FINISH), END)
        return [Sampled(ids=ids, logps=tuple([-0.5] * len(ids)))]

    [(done, _)] = roll([work(1)], CharWording(), sample)
    assert set(done[0].logps) == {-0.5} and len(done[0].logps) == len(done[0].mask)
