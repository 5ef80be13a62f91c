"""Policies over events: one policy for both kinds, traces, replay, models and single turns."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from manager_world import (
    Script,
    call,
    change,
    chunk,
    done,
    look,
    question,
    says,
    store,
    told,
    turn,
    write,
)

from evimem.embed.hashing import HashingEmbedder
from evimem.errors import (
    BudgetExceeded,
    EmptyReply,
    ModelServerError,
    RefusedReply,
    TruncatedReply,
    UsageError,
)
from evimem.llm.scripted import ScriptedModel, ScriptedModels, ScriptedReply
from evimem.manager.agent import (
    EventTrace,
    ModelPolicy,
    Recorded,
    SingleTurn,
    replayed,
    run_event,
    run_events,
)
from evimem.manager.environment import Environment, Limits
from evimem.manager.events import Construction, Event
from evimem.manager.memory_bank import MemoryBank
from evimem.manager.oplog import replay
from evimem.manager.prompts.observe import observe
from evimem.manager.protocol import NativeProtocol, TextProtocol
from evimem.model.chat import ChatReply, ChatRequest, ToolCall
from evimem.model.tools import Said, ToolStep
from evimem.scoring.tokens import estimate_tokens


def _text(*calls: ToolCall) -> str:
    return "\n".join(
        f"<tool_call>{json.dumps({'name': one.name, 'arguments': one.arguments})}</tool_call>"
        for one in calls
    )


STREAM: tuple[Event, ...] = (
    chunk(1, "We got a cat!"),
    chunk(2, "No, two cats."),
    question("Cats?"),
)
SAID = (
    [says(look("cat")), says(write("Ana has a cat."), done()), says(done())],
    [says(look("cat")), says(change("m1", "Ana has two cats.")), says(done())],
    [says(done()), says(look("cats")), says(done())],
)


def _ran() -> tuple[MemoryBank, list[EventTrace], Script]:
    bank, policy = MemoryBank(), Script(*SAID)
    return bank, list(run_events(policy, Environment(bank), STREAM)), policy


def test_uni_1_one_policy_serves_the_ordered_stream_and_sees_one_event_at_a_time() -> None:
    bank, traces, policy = _ran()
    assert [trace.event for trace in traces] == list(STREAM)
    assert [one.content for one in bank.records()] == ["Ana has two cats."]
    assert [(event, steps) for event, _, steps in policy.asked] == [
        (event, n) for event in STREAM for n in range(3)
    ]
    assert all(seen == observe(event) for event, seen, _ in policy.asked)


def test_uni_1_the_same_system_prompt_serves_both_kinds_of_event() -> None:
    for protocol in (TextProtocol(), NativeProtocol()):
        policy = ModelPolicy(model=ScriptedModel([]), protocol=protocol)
        requests = [policy.request(event, observe(event), ()) for event in STREAM]
        assert len({one.messages[0] for one in requests}) == 1
        assert requests[0].messages[0].role == "system"
        assert len({one.prompt for one in requests}) == 1
        assert {one.role for one in requests} == {"manage"}
        assert [one.phase for one in requests] == ["update", "update", "online"]


def test_uni_8_finish_leads_to_the_next_observation_and_ends_after_the_last_event() -> None:
    _, traces, policy = _ran()
    assert [trace.closed for trace in traces] == ["finished"] * 3
    observations = [seen for _, seen, steps in policy.asked if steps == 0]
    assert observations == [observe(event) for event in STREAM]
    assert traces[2].steps[0].observed[0].reason == "finish_early"
    assert len(traces[2].evidence) == 1, "handed over for the answer"
    assert traces[0].evidence == ()


def test_a_trace_tells_what_happened() -> None:
    bank, traces, _ = _ran()
    assert [tuple(op.kind for op in trace.ops) for trace in traces] == [
        ("create",),
        ("update",),
        (),
    ]
    assert [op for trace in traces for op in trace.ops] == list(bank.ops)
    assert [trace.bundled for trace in traces] == [1, 0, 0]
    assert [trace.well_formed for trace in traces] == [3, 3, 3]
    assert [len(trace.observed) for trace in traces] == [4, 3, 3]
    unread = run_event(
        Script([says(), says(call("nothing")), says(problems=("x",)), says(done())]),
        Environment(bank),
        chunk(9),
    )
    assert (unread.well_formed, len(unread.steps)) == (1, 4)


def test_a_recorded_stream_replays_through_json_to_the_same_bank() -> None:
    bank, traces, _ = _ran()
    lines = [json.dumps(trace.to_json()) for trace in traces]
    read = [EventTrace.from_json(json.loads(line)) for line in lines]
    assert read == traces
    again = MemoryBank()
    assert list(replayed(read, Environment(again))) == traces
    assert again.hash == bank.hash
    assert again.ops == bank.ops
    assert replay([op for trace in read for op in trace.ops]).hash == bank.hash


def test_a_replay_on_another_bank_or_under_other_limits_is_told() -> None:
    _, traces, _ = _ran()
    other = MemoryBank()
    store(Environment(other), 50, "Another cat was here before.")
    with pytest.raises(UsageError, match="event 1 of the record came out otherwise at response 1"):
        list(replayed(traces, Environment(other)))
    with pytest.raises(UsageError, match=r"event 1 .* ended early"):
        list(replayed(traces, Environment(MemoryBank(), limits=Limits(responses=2))))
    unfinished = EventTrace(event=STREAM[0], steps=traces[0].steps[:1], closed="finished")
    with pytest.raises(UsageError, match="1 responses"):
        run_event(Recorded(unfinished), Environment(MemoryBank()), STREAM[0])


def test_a_written_trace_that_does_not_fit_is_refused() -> None:
    _, traces, _ = _ran()
    data = traces[0].to_json()
    for changed in (
        {**data, "kind": "dream"},
        {**data, "closed": "no"},
        {**data, "extra": 1},
        {**data, "event": {}},
        {**data, "event": None},
    ):
        with pytest.raises(ValueError, match=r"EventTrace|Construction"):
            EventTrace.from_json(changed)


def test_a_model_runs_the_same_events_by_text_and_by_native_calls() -> None:
    banks = []
    for native in (False, True):
        replies: list[ScriptedReply] = []
        for event in SAID:
            for said in event:
                replies.append(
                    ChatReply(text="", calls=said.calls) if native else _text(*said.calls)
                )
        model = ScriptedModel(replies)
        policy = ModelPolicy(model=model, protocol=NativeProtocol() if native else TextProtocol())
        bank = MemoryBank()
        traces = list(run_events(policy, Environment(bank), STREAM))
        banks.append((bank.hash, [[one.text for one in trace.observed] for trace in traces]))
        assert len(model.requests) == 9
        assert [len(one.messages) for one in model.requests][:3] == (
            [2, 4, 7] if native else [2, 4, 6]
        )
    assert banks[0] == banks[1]


def test_a_request_shows_the_event_and_what_came_of_earlier_responses() -> None:
    model = ScriptedModel([_text(look("cat")), _text(done())])
    run_event(
        ModelPolicy(model=model, seed=7, temperature=0.7), Environment(MemoryBank()), STREAM[0]
    )
    first, second = model.requests
    assert first.messages[1].text == observe(STREAM[0])
    assert "We got a cat!" in first.messages[1].text
    assert second.messages[:2] == first.messages
    assert second.messages[2].text == _text(look("cat"))
    assert '{"memories": []}' in second.messages[3].text
    assert (first.temperature, first.seed, first.tools, first.schema) == (0.7, 7, (), None)
    for name in ("memory_search", "create_memory", "update_memory", "delete_memory"):
        assert name in first.messages[0].text


@pytest.mark.parametrize(
    "error",
    [EmptyReply("no words"), TruncatedReply("thinking took all", raw="Hm"), ChatReply(text="Hm")],
)
def test_a_reply_that_cannot_be_used_is_a_response_without_a_call(error: ScriptedReply) -> None:
    model = ScriptedModel([error, _text(done())])
    trace = run_event(ModelPolicy(model=model), Environment(MemoryBank()), chunk(1))
    assert [one.reason in ("unparsed", "no_call") for one in trace.steps[0].observed] == [True]
    assert len(trace.steps) == 2
    assert "error" in model.requests[1].messages[-1].text


@pytest.mark.parametrize(
    "error", [ModelServerError("down"), BudgetExceeded("calls"), RefusedReply("no")]
)
def test_a_model_that_fails_or_declines_stops_the_event(error: Exception) -> None:
    model = ScriptedModel([_text(look()), error])
    with pytest.raises(type(error)):
        run_event(ModelPolicy(model=model), Environment(MemoryBank()), chunk(1))


def test_a_model_that_never_finishes_is_closed_by_force() -> None:
    model = ScriptedModel(lambda request: "I am thinking.")
    trace = run_event(ModelPolicy(model=model), Environment(MemoryBank()), chunk(1))
    assert (trace.closed, len(trace.steps), len(model.requests)) == ("forced", 24, 24)


LONG = " ".join(["Ana planted very many tomatoes on the balcony."] * 12)


def _tokens(request: ChatRequest) -> int:
    return sum(estimate_tokens(one.text) for one in request.messages)


@pytest.mark.parametrize("native", [False, True])
def test_prompts_fit_the_window_and_earlier_results_give_way_first(native: bool) -> None:
    bank = MemoryBank()
    env = Environment(bank)
    store(env, 1, *(f"{LONG} {n}" for n in range(10)))
    calls = [look(f"tomatoes {n}") for n in range(6)]
    replies: list[ScriptedReply] = [
        ChatReply(text="Look.", calls=(one,)) if native else _text(one) for one in (*calls, done())
    ]
    model = ScriptedModel(replies, window=8000)
    policy = ModelPolicy(
        model=model, protocol=NativeProtocol() if native else TextProtocol(), reply_tokens=900
    )
    trace = run_event(policy, env, chunk(2))
    assert trace.closed == "finished"
    assert all(_tokens(one) + one.max_tokens <= 8000 for one in model.requests)
    last = model.requests[-1].messages
    results = [one.text for one in last if "memories" in one.text and one.role != "system"][-6:]
    assert len(results) == 6
    sizes = [len(one) for one in results]
    assert sizes == sorted(sizes), "the earlier, the shorter"
    assert sizes[0] < sizes[-1]
    assert LONG in results[-1]
    whole = ModelPolicy(model=ScriptedModel([]), protocol=policy.protocol)
    shown = whole.request(chunk(2), "e", trace.steps)
    assert _tokens(shown) > 8000, "without a known window nothing is cut"


def test_read_only_turns_give_way_where_results_are_not_enough() -> None:
    context = tuple(turn(f"{LONG} context {n}.", n=n) for n in range(10))
    event = Construction(index=1, turns=(turn("We got a cat!", n=20),), context=context)
    policy = ModelPolicy(model=ScriptedModel([], window=4000))
    shown = policy.request(event, observe(event), ())
    assert _tokens(shown) + shown.max_tokens <= 4000
    assert shown.max_tokens == 1000
    assert "We got a cat!" in shown.messages[1].text
    assert "context 9." in shown.messages[1].text, "the nearest stay"
    assert "context 0." not in shown.messages[1].text
    roomy = ModelPolicy(model=ScriptedModel([], window=100_000))
    assert roomy.request(event, observe(event), ()).messages[1].text == observe(event)


def test_what_cannot_be_cut_is_sent_as_it_is() -> None:
    event = chunk(1, f"{LONG} " * 20)
    policy = ModelPolicy(model=ScriptedModel([], window=2000))
    shown = policy.request(event, observe(event), ())
    assert shown.messages[1].text == observe(event)


def test_uni_26_a_single_turn_manager_gets_one_fixed_search_per_turn_and_one_generation() -> None:
    bank = MemoryBank(embedder=HashingEmbedder())
    env = Environment(bank)
    store(env, 1, "Ana has a cat.", "Ben cycles.")
    model = ScriptedModel(
        [_text(change("m1", "Ana has two cats."), look("x"), write("Chloe sings."), done())]
    )
    event = chunk(2, "No, two cats.", "And Chloe sings.")
    trace = run_event(SingleTurn(ModelPolicy(model=model)), env, event)
    assert [one.arguments for one in trace.steps[0].said.calls] == [
        {"query": "No, two cats."},
        {"query": "And Chloe sings."},
    ]
    assert len(model.requests) == 1, "results are not fed back"
    assert "Ana has a cat." in model.requests[0].messages[-1].text
    assert [one.call and one.call.name for one in trace.observed] == [
        "memory_search", "memory_search", "update_memory", "create_memory", "finish_event",
    ]  # fmt: skip
    assert all(one.ok for one in trace.observed)
    assert trace.bundled == 0
    assert [one.content for one in bank.records()] == [
        "Ana has two cats.", "Ben cycles.", "Chloe sings.",
    ]  # fmt: skip
    assert [op.kind for op in trace.ops] == ["update", "create"]


def test_uni_26_a_single_turn_manager_searches_a_question_once_without_its_model() -> None:
    bank = MemoryBank()
    env = Environment(bank)
    store(env, 1, "Ana has a cat.")
    trace = run_event(SingleTurn(ModelPolicy(model=ScriptedModel([]))), env, question("Any cat?"))
    assert [one.arguments for step in trace.steps for one in step.said.calls] == [
        {"query": "Any cat?"},
        {},
    ]
    assert trace.closed == "finished"
    assert trace.evidence == (bank.records()[0].record_id,)


def test_uni_26_a_generation_with_nothing_or_nothing_readable_closes_the_event() -> None:
    for words, responses in (("Nothing to do.", 2), (_text(done()), 2), ("<tool_call>{", 3)):
        model = ScriptedModel([words])
        trace = run_event(SingleTurn(ModelPolicy(model=model)), Environment(MemoryBank()), chunk(1))
        assert (trace.closed, len(trace.steps)) == ("finished", responses)
        assert len(model.requests) == 1


def test_a_policy_is_given_every_step_of_its_event_and_none_of_another() -> None:
    class Counting:
        def __init__(self) -> None:
            self.seen: list[list[str]] = []

        def respond(self, event: Event, observation: str, steps: Sequence[ToolStep]) -> Said:
            self.seen.append([one.text for step in steps for one in step.observed])
            return says(look("a"), look("b")) if len(steps) < 2 else says(done())

    policy = Counting()
    list(run_events(policy, Environment(MemoryBank()), [chunk(1), chunk(2)]))
    assert [len(one) for one in policy.seen] == [0, 2, 4, 0, 2, 4]
    assert told(run_event(policy, Environment(MemoryBank()), chunk(3)).observed[-1]) == {
        "event": "FINISH"
    }


@pytest.mark.parametrize("native", [False, True])
def test_the_real_stack_of_models_carries_both_protocols(native: bool) -> None:
    replies: list[ScriptedReply] = []
    for said in SAID[0]:
        words = f"<think>Perhaps {_text(done())}</think>{_text(*said.calls)}"
        replies.append(ChatReply(text="", calls=said.calls) if native else words)
    session = ScriptedModels({"manage": replies}).session()
    policy = ModelPolicy(
        model=session.model("manage"), protocol=NativeProtocol() if native else TextProtocol()
    )
    bank = MemoryBank()
    trace = run_event(policy, Environment(bank), STREAM[0])
    assert [one.content for one in bank.records()] == ["Ana has a cat."]
    assert (trace.closed, trace.bundled, len(trace.steps)) == ("finished", 1, 3)
    assert [(one.role, one.phase, one.outcome) for one in session.calls] == [
        ("manage", "update", "ok")
    ] * 3


def test_a_session_out_of_budget_stops_the_event_and_keeps_what_was_written() -> None:
    replies = [_text(*said.calls) for said in SAID[0]]
    session = ScriptedModels({"manage": replies}).session(max_calls=2)
    bank = MemoryBank()
    with pytest.raises(BudgetExceeded):
        run_event(ModelPolicy(model=session.model("manage")), Environment(bank), STREAM[0])
    assert [one.content for one in bank.records()] == ["Ana has a cat."]
