"""The gate in front of an endpoint: adaptive, fair, never stuck."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from evimem.errors import ModelServerError, RateLimited
from evimem.llm.limit import Limited, Limiter
from evimem.llm.scripted import ScriptedModel
from evimem.model.chat import ChatMessage, ChatReply, ChatRequest

REQUEST = ChatRequest(messages=(ChatMessage(role="user", text="hi"),), role="plan")


class Time:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now = 100.0
        self.waits: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds


def limiter(most: int) -> tuple[Limiter, Time]:
    time = Time()
    return Limiter(most, sleep=time.sleep, seconds=lambda: time.now), time


def test_a_rate_limit_halves_once_per_burst_and_never_below_one() -> None:
    gate, time = limiter(8)
    for _ in range(5):
        gate.refused(None)
    assert gate.limit == 4
    for expected in (2, 1, 1):
        time.now += 6.0
        gate.refused(None)
        assert gate.limit == expected


def test_it_grows_by_one_after_about_as_many_successes_and_not_in_the_cool_down() -> None:
    gate, time = limiter(4)
    gate.refused(None)
    for _ in range(50):
        gate.succeeded()
    assert gate.limit == 2
    time.now += 6.0
    grown = []
    for _ in range(12):
        gate.succeeded()
        grown.append(gate.limit)
    assert grown[1] == 2 and grown[2] == 3 and grown[-1] == 4 == max(grown)


def test_case_p023_a_named_pause_holds_for_every_caller_of_the_endpoint() -> None:
    gate, time = limiter(4)
    asked_at: list[float] = []

    def script(request: ChatRequest) -> ChatReply:
        asked_at.append(time.now)
        if len(asked_at) == 1:
            raise RateLimited("429", retry_after=7.0)
        return ChatReply(text="ok")

    one, other = Limited(ScriptedModel(script), gate), Limited(ScriptedModel(script), gate)
    with pytest.raises(RateLimited):
        one.chat(REQUEST)
    assert other.chat(REQUEST).text == "ok"
    assert asked_at == [100.0, 107.0] and time.waits == [7.0]


def test_a_pause_is_capped_and_a_sleep_that_ends_early_is_not_repeated() -> None:
    waits: list[float] = []
    gate = Limiter(2, sleep=waits.append, seconds=lambda: 0.0)
    gate.refused(5000.0)
    with gate.turn():
        pass
    assert waits == [120.0]


def test_a_turn_is_handed_on_when_the_call_fails() -> None:
    gate, _ = limiter(1)
    model = Limited(ScriptedModel([ModelServerError("503"), LookupError("odd"), "ok"]), gate)
    for error in (ModelServerError, LookupError):
        with pytest.raises(error):
            model.chat(REQUEST)
    assert model.chat(REQUEST).text == "ok"


def test_turns_are_given_in_the_order_asked_for() -> None:
    gate, _ = limiter(1)
    order: list[int] = []
    threads = []

    def work(n: int) -> None:
        with gate.turn():
            order.append(n)

    with gate.turn():
        for n in range(5):
            thread = threading.Thread(target=work, args=(n,))
            thread.start()
            threads.append(thread)
            while len(gate._waiting) <= n:
                pass
    for thread in threads:
        thread.join(10)
    assert order == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("given", [False, True])
def test_an_interrupt_while_waiting_leaves_no_turn_to_nobody(
    given: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, _ = limiter(1)

    def interrupted(event: threading.Event) -> None:
        if given:  # the turn came in the same moment
            gate._leave()
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        gate._enter()
        patched.setattr(threading.Event, "wait", interrupted)
        with pytest.raises(KeyboardInterrupt):
            gate._enter()
    if not given:
        gate._leave()
    assert gate._running == 0 and not gate._waiting
    with gate.turn():
        pass


def test_many_threads_with_rate_limits_all_finish_and_never_exceed_the_limit() -> None:
    gate, time = limiter(5)
    lock = threading.Lock()
    inside, peak, asked = 0, 0, 0

    def script(request: ChatRequest) -> ChatReply:
        nonlocal inside, peak, asked
        with lock:
            inside, asked = inside + 1, asked + 1
            peak, place = max(peak, inside), asked
            time.now += 0.5
        with lock:
            inside -= 1
        if place % 4 == 0:
            raise RateLimited("429")
        return ChatReply(text="ok")

    model = Limited(ScriptedModel(script), gate)

    def work(n: int) -> int:
        tries = 0
        while True:
            tries += 1
            try:
                model.chat(REQUEST)
            except RateLimited:
                continue
            return tries

    with ThreadPoolExecutor(16) as workers:
        tries = list(workers.map(work, range(200)))
    assert sum(tries) == asked and peak <= 5 and gate.limit >= 1
    assert gate._running == 0 and not gate._waiting


def test_a_gate_without_room_is_refused() -> None:
    with pytest.raises(ValueError, match="most=0"):
        Limiter(0)
