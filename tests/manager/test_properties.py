"""Random tool sequences against a reference model of a dozen lines, and what must always hold."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from manager_world import Script, chunk, done, question, says, told

from evimem.embed.hashing import HashingEmbedder
from evimem.manager.agent import EventTrace, replayed, run_event
from evimem.manager.environment import Environment, Limits
from evimem.manager.events import Construction, Event
from evimem.manager.memory_bank import MemoryBank
from evimem.manager.oplog import as_of, replay
from evimem.manager.protocol import TextProtocol, parse_calls
from evimem.model.chat import ToolCall
from evimem.model.tools import Observed, Said, ToolStep

LIMITS = Limits(searches=3, responses=6, construction_k=2, retrieval_k=4, cap=5)

WORDS = st.sampled_from(["cat", "red cat", "bicycle", "Ben", "choir on Thursday", "the"])
ALIASES = st.sampled_from(["m1", "m2", "m3", "m4", "m5", "m9", "r1", "x", ""])
NAMES = ["memory_search", "create_memory", "update_memory", "delete_memory", "finish_event"]


def _call(name: str, **arguments: st.SearchStrategy[Any]) -> st.SearchStrategy[ToolCall]:
    return st.fixed_dictionaries(arguments).map(lambda given: ToolCall(name=name, arguments=given))


SEARCHES = _call("memory_search", query=WORDS, limit=st.sampled_from([None, 1, 3, 99]))
WRITES = st.one_of(
    _call("create_memory", content=WORDS),
    _call("update_memory", memory_id=ALIASES, content=WORDS),
    _call("delete_memory", memory_id=ALIASES),
)
ODD = st.builds(
    ToolCall,
    name=st.sampled_from([*NAMES, "noop", ""]),
    arguments=st.sampled_from([{}, {"query": 1}, {"content": ""}, "text", None, [], {"x": 1}]),
)
CALLS = st.one_of(SEARCHES, SEARCHES, WRITES, WRITES, WRITES, ODD)
RESPONSES = st.one_of(
    st.just(says(done())),
    st.lists(st.one_of(CALLS, CALLS, st.just(done())), max_size=5).map(
        lambda calls: Said(text="", calls=tuple(calls))
    ),
    st.lists(CALLS, max_size=2).map(
        lambda calls: Said(text="", calls=tuple(calls), problems=("unread",))
    ),
)
KINDS = st.sampled_from(["chunk", "chunk", "chunk", "question"])
EVENTS = st.lists(st.tuples(KINDS, st.lists(RESPONSES, max_size=7)), max_size=6)
SEARCH_FIRST = st.lists(RESPONSES, max_size=6).map(
    lambda said: [says(ToolCall(name="memory_search", arguments={"query": "cat"})), *said]
)
BUSY = st.lists(st.tuples(st.just("chunk"), SEARCH_FIRST), min_size=1, max_size=6)


class Reference:
    """What a bank must hold after the calls that were carried out."""

    def __init__(self) -> None:
        self.contents: dict[str, str] = {}
        self.chunks: dict[str, list[int]] = {}
        self.aliases = 0

    def took(self, one: Observed, event: Event) -> None:
        if not one.ok or one.call is None or not isinstance(event, Construction):
            return
        given: Any = one.call.arguments
        if one.call.name == "create_memory":
            alias = told(one)["id"]
            assert alias not in self.chunks
            self.contents[alias], self.chunks[alias] = given["content"], [event.index]
        elif one.call.name == "update_memory":
            alias = given["memory_id"]
            self.contents[alias] = given["content"]
            if event.index not in self.chunks[alias]:
                self.chunks[alias].append(event.index)
        elif one.call.name == "delete_memory":
            del self.contents[given["memory_id"]]


def _events(drawn: Iterable[tuple[str, list[Said]]]) -> list[tuple[Event, list[Said]]]:
    made: list[tuple[Event, list[Said]]] = []
    for n, (kind, said) in enumerate(drawn, start=1):
        # Whatever was drawn, the event ends: by force at the latest.
        made.append((chunk(n) if kind == "chunk" else question(), [*said, *[says(done())] * 6]))
    return made


def _run(
    bank: MemoryBank, events: list[tuple[Event, list[Said]]]
) -> tuple[Environment, list[EventTrace]]:
    env = Environment(bank, limits=LIMITS)
    return env, [run_event(Script(said), env, event) for event, said in events]


@settings(max_examples=150, deadline=None)
@given(drawn=st.one_of(EVENTS, BUSY), words=st.booleans())
def test_a_bank_equals_a_reference_model_under_any_calls(
    drawn: list[tuple[str, list[Said]]], words: bool
) -> None:
    bank = MemoryBank(embedder=None if words else HashingEmbedder())
    _, traces = _run(bank, _events(drawn))
    model = Reference()
    for trace in traces:
        for one in trace.observed:
            model.took(one, trace.event)
            if one.ok and one.call is not None and one.call.name == "memory_search":
                for row in told(one)["memories"]:
                    assert model.contents[row["id"]] == row["memory"]
    assert [one.content for one in bank.records()] == list(model.contents.values())
    assert [list(one.chunks) for one in bank.records()] == [
        model.chunks[alias] for alias in model.contents
    ]
    created = [op.record_id for op in bank.ops if op.kind == "create"]
    assert len(set(created)) == len(created) == len(model.chunks), "no id is given twice"


@settings(max_examples=150, deadline=None)
@given(drawn=st.one_of(EVENTS, BUSY))
def test_no_write_comes_without_a_search_seen_before_and_no_budget_is_exceeded(
    drawn: list[tuple[str, list[Said]]],
) -> None:
    env, traces = _run(MemoryBank(), _events(drawn))
    bundled = 0
    for trace in traces:
        seen, searches = False, 0
        assert 1 <= len(trace.steps) <= LIMITS.responses
        for at, step in enumerate(trace.steps):
            found = False
            assert len(step.observed) == max(1, len(step.said.calls) + len(step.said.problems))
            for one in step.observed:
                name = one.call.name if one.call is not None else ""
                if name == "memory_search" and one.ok:
                    found, searches = True, searches + 1
                    assert len(told(one)["memories"]) <= LIMITS.cap
                if name in NAMES[1:4] and one.ok:
                    assert seen, "a write before a search was seen"
                    assert isinstance(trace.event, Construction)
                if name == "finish_event":
                    alone = len(step.said.calls) + len(step.said.problems) == 1
                    bundled += not alone
                    assert one.reason != "finish_bundled" or not alone
                    assert not one.ok or (alone and at == len(trace.steps) - 1)
            seen = seen or found
        assert searches <= LIMITS.searches
        finished = trace.steps[-1].observed[-1]
        assert (trace.closed == "finished") == (
            finished.ok and finished.call is not None and finished.call.name == "finish_event"
        )
        if trace.closed == "forced":
            assert len(trace.steps) == LIMITS.responses
    assert env.refused["finish_bundled"] == bundled


@settings(max_examples=100, deadline=None)
@given(drawn=st.one_of(EVENTS, BUSY))
def test_provenance_only_grows_and_every_past_bank_comes_back(
    drawn: list[tuple[str, list[Said]]],
) -> None:
    bank = MemoryBank()
    env = Environment(bank, limits=LIMITS)
    before: dict[str, tuple[int, ...]] = {}
    hashes = [bank.hash]
    for event, said in _events(drawn):
        had = len(bank.ops)
        hash_before = bank.hash
        run_event(Script(said), env, event)
        now = {one.record_id: one.chunks for one in bank.records()}
        for record_id, chunks in now.items():
            old = before.get(record_id, ())
            assert chunks[: len(old)] == old
            assert len(set(chunks)) == len(chunks)
        before.update(now)
        if not isinstance(event, Construction):
            assert (bank.hash, len(bank.ops)) == (hash_before, had)
        hashes.append(bank.hash)
        assert as_of(bank.ops, had).hash == hash_before
    assert replay(bank.ops).hash == hashes[-1]


@settings(max_examples=60, deadline=None)
@given(drawn=st.one_of(EVENTS, BUSY))
def test_a_recorded_stream_replays_through_json_to_the_same_hash(
    drawn: list[tuple[str, list[Said]]],
) -> None:
    bank = MemoryBank(embedder=HashingEmbedder())
    _, traces = _run(bank, _events(drawn))
    read = [EventTrace.from_json(json.loads(json.dumps(one.to_json()))) for one in traces]
    again = MemoryBank(embedder=HashingEmbedder())
    assert list(replayed(read, Environment(again, limits=LIMITS))) == traces
    assert again.hash == bank.hash


JSON_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-99, 99), st.text(max_size=30)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=200, deadline=None)
@given(
    calls=st.lists(
        st.builds(
            ToolCall,
            name=st.sampled_from(NAMES),
            arguments=st.dictionaries(st.text(max_size=8), JSON_VALUES, max_size=3),
        ),
        max_size=4,
    ),
    prose=st.text(alphabet=" abc\n{}\"'`.", max_size=40),
)
def test_any_calls_that_are_written_are_read_back(calls: list[ToolCall], prose: str) -> None:
    text = prose.join(
        f"<tool_call>{json.dumps({'name': one.name, 'arguments': one.arguments})}</tool_call>"
        for one in calls
    )
    said = parse_calls(text)
    assert (list(said.calls), said.problems) == (calls, ())
    step = ToolStep(said=Said(text="", calls=tuple(calls)), observed=())
    assert parse_calls(TextProtocol().messages("e", [step])[1].text).calls == said.calls


PIECES = [
    *("<tool_call>", "</tool_call>", "<think>", "</think>", '{"name": ', '"finish_event"'),
    *(', "arguments": {', "}", "}}", "[", "]", "```json\n", "\\", '"', "NaN", "\ud800"),
]


@settings(max_examples=300, deadline=None)
@given(parts=st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=6)), max_size=25))
def test_no_text_breaks_the_reader_or_the_executor(parts: list[str]) -> None:
    text = "".join(parts)
    said = parse_calls(text)
    assert said.text == text
    env = Environment(MemoryBank(), limits=LIMITS)
    env.begin(chunk(1))
    observed, _ = env.step(said)
    assert all(isinstance(json.loads(one.text), dict) for one in observed)
