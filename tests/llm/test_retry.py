"""Another try where that can help, within bounds."""

from __future__ import annotations

import pytest

from evimem.errors import (
    BadModelRequest,
    BudgetExceeded,
    EmptyReply,
    ModelAuthError,
    ModelServerError,
    ModelTimeout,
    PromptTooLong,
    RateLimited,
)
from evimem.llm.retry import Retrying
from evimem.llm.scripted import ScriptedModel, ScriptedReply
from evimem.model.chat import ChatMessage, ChatRequest

REQUEST = ChatRequest(messages=(ChatMessage(role="user", text="hi"),), role="plan")


class Time:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now = 0.0
        self.waits: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds


def retrying(
    *replies: ScriptedReply, attempts: int = 8, longest: float = 300.0, share: float = 0.5
) -> tuple[Retrying, ScriptedModel, Time]:
    model, time = ScriptedModel(replies), Time()
    wrapped = Retrying(
        model,
        attempts=attempts,
        longest=longest,
        sleep=time.sleep,
        seconds=lambda: time.now,
        random=lambda: share,
    )
    return wrapped, model, time


def test_waits_double_up_to_a_cap_and_are_a_random_share_of_the_step() -> None:
    model, scripted, time = retrying(*[ModelServerError("503")] * 8, "ok", attempts=9)
    assert model.chat(REQUEST).text == "ok"
    assert time.waits == [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 15.0]
    assert len(scripted.requests) == 9


def test_case_p023_a_time_that_the_server_names_is_waited_in_full() -> None:
    model, _, time = retrying(RateLimited("429", retry_after=20.0), "ok", share=0.0)
    assert model.chat(REQUEST).text == "ok"
    assert time.waits == [20.0]
    model, _, time = retrying(RateLimited("429", retry_after=20.0), "ok", share=0.9)
    model.chat(REQUEST)
    assert time.waits == [20.45]


def test_a_longer_wait_than_the_cap_ends_the_call_at_once() -> None:
    model, scripted, time = retrying(RateLimited("429", retry_after=3600.0), "ok")
    with pytest.raises(RateLimited) as caught:
        model.chat(REQUEST)
    assert time.waits == [] and len(scripted.requests) == 1
    assert caught.value.__notes__ == ["given up after 1 attempts and 0.0 s of waits"]


@pytest.mark.parametrize(
    "error",
    [
        ModelAuthError("401"),
        BadModelRequest("400"),
        PromptTooLong("long"),
        EmptyReply("empty"),
        BudgetExceeded("no"),
    ],
)
def test_what_no_retry_can_mend_is_raised_at_once(error: Exception) -> None:
    model, scripted, time = retrying(error, "ok")
    with pytest.raises(type(error)):
        model.chat(REQUEST)
    assert len(scripted.requests) == 1 and time.waits == []


def test_a_budget_that_ends_between_attempts_says_why_another_was_due() -> None:
    model, _, _ = retrying(ModelServerError("503"), BudgetExceeded("no call is left"))
    with pytest.raises(BudgetExceeded) as caught:
        model.chat(REQUEST)
    assert caught.value.__notes__ == ["the attempt before failed: 503"]


def test_attempts_are_bounded() -> None:
    model, scripted, _ = retrying(*[ModelServerError("503")] * 9, attempts=3)
    with pytest.raises(ModelServerError):
        model.chat(REQUEST)
    assert len(scripted.requests) == 3
    with pytest.raises(ValueError, match="attempts=0"):
        retrying(attempts=0)


def test_a_server_that_hangs_is_waited_for_twice_at_most() -> None:
    model, scripted, _ = retrying(*[ModelTimeout("late")] * 5)
    with pytest.raises(ModelTimeout):
        model.chat(REQUEST)
    assert len(scripted.requests) == 2


def test_no_attempt_begins_after_the_deadline() -> None:
    model, scripted, time = retrying(*[RateLimited("429", retry_after=30.0)] * 9, longest=100.0)
    with pytest.raises(RateLimited):
        model.chat(REQUEST)
    assert len(scripted.requests) == 4 and time.now <= 100.0


def test_an_exhausted_quota_is_not_waited_for() -> None:
    model, scripted, time = retrying(RateLimited("no credit", quota=True), "ok")
    with pytest.raises(RateLimited, match="no credit"):
        model.chat(REQUEST)
    assert (len(scripted.requests), time.waits) == (1, [])


def test_a_server_that_is_not_there_is_told_of_after_a_few_attempts() -> None:
    gone = ModelServerError("no connection", unreachable=True)
    model, scripted, _ = retrying(*[gone] * 9)
    with pytest.raises(ModelServerError, match="no connection"):
        model.chat(REQUEST)
    assert len(scripted.requests) == 4


def test_a_failing_server_may_name_the_time_too() -> None:
    model, _, time = retrying(ModelServerError("503", retry_after=7.0), "ok", share=0.0)
    assert model.chat(REQUEST).text == "ok"
    assert time.waits == [7.0]
