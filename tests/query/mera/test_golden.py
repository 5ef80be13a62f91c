"""A worked trajectory of the shape of MERA D.4, the replay of traces, and paired ablations.

The paper's question asks for the best of several things that it does not name; the best one is met
by a global search two rounds after the others, enters the graph, is asked for by name, and later
rounds bring nothing, so the search ends exhausted. The story here is ours.
"""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import pytest
from mera_world import Told, World, intents, shown, verdict

from evimem.llm.scripted import ScriptedModel, ScriptedModels
from evimem.model.chat import ChatRequest
from evimem.query.loop import replay, state_hash
from evimem.query.mera.state import with_graph
from evimem.recipes.mera import MERA, MERA_RECIPES, MeraConfig, mera, rebuilt
from evimem.trace import Trace

QUESTION = "Which of my beds gained the most in harvest over the past month?"

NORTH = "Lena saw the harvest of her north bed rise from 12 kg to 30 kg over the past month"
GLASS = "Lena saw the harvest of her greenhouse bed stay at about 40 kg over the past month"
ROOF = "Lena gained about 25 kg with her rooftop tubs over the past three weeks"
ROOF_TOO = "Lena saw a rapid rise in what her rooftop tubs gave"

TOLD: tuple[Told, ...] = (
    ("Lena", "The north bed went from 12 to 30 kilos this month.", [NORTH]),
    ("Lena", "The greenhouse is where it was, 40 kilos or so.", [GLASS]),
    ("Lena", "25 kilos more from the tubs on the roof in three weeks!", [ROOF]),
    ("Lena", "Those tubs up there are something.", [ROOF_TOO]),
    ("Lena", "Watering the beds takes an hour.", ["Lena waters her beds for an hour"]),
    ("Lena", "A neighbour has rooftop bees.", ["Lena's neighbour keeps bees on the rooftop"]),
    ("Lena", "I read of a bed harvest.", ["Lena read about a harvest of beds in a month"]),
    ("Lena", "Beds and beds.", ["Lena thinks of the most beds with gains of harvest"]),
)

ASKED = (
    ("harvest of the beds over the past month",),
    ("harvest of the north bed", "harvest of the greenhouse bed", "highest harvest of the month"),
    (
        "how much did the north bed gain",
        "how much did the greenhouse gain",
        "what gained, rooftop tubs too",
    ),
    ("harvest of the rooftop tubs", "harvest of the north bed", "harvest of the greenhouse bed"),
    ("anything else that gained", "rooftop", "north bed"),
    ("more gains of harvest", "greenhouse"),
)

CONFIG = MeraConfig(name="mera", ranker="bm25", k=2)


def gate(request: ChatRequest) -> dict[str, Any]:
    """Keeps what tells a harvest of a bed or tub, and says what it adds to the graph."""
    found = shown(request, "c")
    by_text = {line: handle for handle, text in found.items() for line in text.splitlines()[1:]}

    def at(words: str) -> str | None:
        return by_text.get(f"- {words}")

    nodes, attributes, calculations = [], [], []
    for words, name in ((NORTH, "north bed"), (GLASS, "greenhouse bed"), (ROOF, "rooftop tubs")):
        if handle := at(words):
            nodes.append({"name": name, "type": "state", "from": [handle]})
            head, _, period = words.partition(" over ")
            value = "25 kg" if words is ROOF else head[-5:]
            when = f"over {period}"
            attributes.append(
                {"entity": name, "key": "harvest", "value": value, "when": when, "from": [handle]}
            )
    if handle := at(NORTH):
        operands = [{"value": "12", "from": handle}, {"value": "30", "from": handle}]
        calculations.append(
            {"entity": "north bed", "key": "gain", "kind": "difference", "operands": operands,
             "unit": "kg"}
        )  # fmt: skip
    return verdict(
        request, NORTH, GLASS, ROOF, ROOF_TOO,
        nodes=nodes, attributes=attributes, calculations=calculations,
    )  # fmt: skip


def models() -> ScriptedModels:
    rounds = iter(ASKED)

    def say(request: ChatRequest) -> Any:
        if request.role == "seed":
            names = ("beds", "harvest", "past month")
            return {"seeds": [{"name": name, "type": "state"} for name in names]}
        if request.role == "plan":
            return intents(*next(rounds))
        if request.role == "verify":
            return gate(request)
        return {"answer": "The rooftop tubs", "evidence": ["e3", "e1"], "covered": "full"}

    return ScriptedModels(say)


@pytest.fixture(scope="module")
def golden() -> tuple[World, ScriptedModels, Trace]:
    world, scripted = World(*TOLD), models()
    return world, scripted, world.ask(QUESTION, scripted, CONFIG)


def graphs(trace: Trace) -> list[str]:
    """The names in the graph before each round and at the end."""
    states = list(replay(with_graph, trace))
    return [" ".join(node.name for node in s.graph.nodes) for s in states if s.graph is not None]


def test_mera_93_an_entity_the_question_does_not_name_is_found_admitted_and_asked_for(
    golden: tuple[World, ScriptedModels, Trace],
) -> None:
    _, _, trace = golden
    names = graphs(trace)
    assert "rooftop" not in QUESTION
    assert "rooftop" not in names[0] and "bed" not in names[0].replace("beds", "")
    assert "north bed" in names[1] and "greenhouse bed" in names[1]
    assert "rooftop" not in names[2], "round 2 asks by the new anchors and adds no new one"
    assert trace.rounds[1].gained == 0 or "rooftop" not in names[2]
    assert "rooftop tubs" in names[3], "round 3 brings it from outside the graph"
    assert {"t2", "t3"} <= set(trace.accepted)
    asked = [step.request.text for step in trace.rounds[3].searches]
    assert "harvest of the rooftop tubs" in asked
    assert [done.gained for done in trace.rounds[3:]] == [0, 0, 0]
    assert (trace.stop_reason, len(trace.rounds)) == ("exhausted", 6)
    assert trace.answer is not None
    assert (trace.answer.text, trace.answer.status) == ("The rooftop tubs", "supported")
    assert trace.answer.citations[0].turn_id == "t2"


def test_mera_35_the_gain_is_calculated_with_operands_and_turns(
    golden: tuple[World, ScriptedModels, Trace],
) -> None:
    _, scripted, trace = golden
    (state,) = list(replay(with_graph, trace))[-1:]
    assert state.graph is not None
    (gain,) = [a for a in state.graph.attributes if a.calc is not None]
    assert gain.calc is not None
    assert gain.calc.result.startswith("+18")
    assert [(o.value, o.ref) for o in gain.calc.operands] == [("12", "t0"), ("30", "t0")]
    assert "+18" in scripted.requests[-1].messages[-1].text, "the answer model sees it"


def test_mera_50_the_log_replays_to_every_state_and_to_the_answer_prompt(
    golden: tuple[World, ScriptedModels, Trace],
) -> None:
    _, scripted, trace = golden
    stored = Trace.from_json(trace.to_json())
    assert stored == trace
    *before, last = replay(with_graph, stored)
    assert [state_hash(s) for s in before] == [done.state_before for done in stored.rounds]
    again = rebuilt(CONFIG, stored)
    assert tuple(one.request for one in again) == scripted.requests, "every prompt, to the byte"
    assert [one.request.digest for one in again] == [call.request for call in stored.calls]
    assert [one.round for one in again][-1] == len(stored.rounds) + 1
    assert ROOF in again[-1].request.messages[-1].text and last.evidence
    for done in stored.rounds:
        assert done.plan is not None and done.calls and done.searches
        assert all(call.text for call in done.calls)
        assert done.assessment is None or len(done.assessment.decisions) == len(done.candidates)
    assert stored.usage.tokens_in == sum(call.tokens_in for call in stored.calls) > 0


def test_mera_21_the_state_round_trips_through_json_to_the_bit(
    golden: tuple[World, ScriptedModels, Trace],
) -> None:
    from evimem.model.codec import from_json, to_json
    from evimem.model.evidence import EvidenceState

    for state in replay(with_graph, golden[2]):
        assert from_json(EvidenceState, to_json(state)) == state


def test_mera_28_evidence_and_queries_only_grow(
    golden: tuple[World, ScriptedModels, Trace],
) -> None:
    states = list(replay(with_graph, golden[2]))
    for one, next_one in itertools.pairwise(states):
        assert next_one.evidence[: len(one.evidence)] == one.evidence
        assert next_one.requests[: len(one.requests)] == one.requests
        assert next_one.viewed[: len(one.viewed)] == one.viewed


def test_mera_29_without_the_graph_a_query_finds_the_same(
    golden: tuple[World, ScriptedModels, Trace],
) -> None:
    world, _, trace = golden
    request = trace.rounds[2].searches[0].request
    assert world.view.search(request) == trace.rounds[2].searches[0].hits


def test_mera_94_directions_that_brought_nothing_are_shown_as_exhausted(
    golden: tuple[World, ScriptedModels, Trace],
) -> None:
    _, scripted, trace = golden
    last = list(replay(with_graph, trace))[-1]
    assert last.graph is not None
    exhausted = {d.text for d in last.graph.directions if d.status == "exhausted"}
    invalid = {d.text for d in last.graph.directions if d.status == "invalid"}
    assert "greenhouse" in exhausted
    assert not exhausted & invalid
    plans = [r.messages[-1].text for r in scripted.requests if r.role == "plan"]
    assert "Directions searched without result:\n- " in plans[-1]


# Paired ablations: one field differs, every other call is the same to the byte


def sent(scripted: ScriptedModels, *roles: str) -> list[ChatRequest]:
    return [r for r in scripted.requests if r.role in roles]


def test_paired_ablation_another_planner_endpoint_changes_no_byte_of_any_call() -> None:
    world = World(*TOLD)
    runs = {}
    for name in ("mera", "mera-small", "mera-rl", "mera-large"):
        scripted = models()
        config = dataclasses.replace(MERA_RECIPES[name], ranker="bm25", k=2)
        world.ask(QUESTION, scripted, config)
        runs[name] = scripted.requests
    assert runs["mera"] == runs["mera-small"] == runs["mera-rl"] == runs["mera-large"]


def test_mera_39_small_rl_and_large_differ_in_the_planners_endpoint_alone() -> None:
    base = dataclasses.asdict(MERA)
    for name in ("mera-small", "mera-rl", "mera-large"):
        differing = {
            key for key, value in dataclasses.asdict(MERA_RECIPES[name]).items()
            if value != base[key]
        }  # fmt: skip
        assert differing == {"name", "planner"}
    asked: list[tuple[str, str]] = []

    class Noting:
        calls = ()

        def model(self, role: str, *, slot: str = "") -> ScriptedModel:
            asked.append((role, slot))
            return ScriptedModel(())

    for name in ("mera", "mera-small", "mera-rl", "mera-large"):
        asked.clear()
        mera(MERA_RECIPES[name], Noting())  # type: ignore[arg-type]
        planner, *others = asked
        wanted = {"mera": ("plan", ""), "mera-large": ("verify", "")}
        assert planner == wanted.get(name, ("plan", name.replace("mera", "plan")))
        assert sorted(others) == [("answer", ""), ("seed", ""), ("verify", "")]


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("mera-noagg", {"aggregate"}),
        ("mera-bm25", {"ranker"}),
        ("mera-mmr", {"ranker"}),
        ("mera-flat", {"graph", "ranker"}),
    ],
)
def test_each_ablation_declares_what_it_changes(name: str, fields: set[str]) -> None:
    base = dataclasses.asdict(MERA)
    differing = {
        key for key, value in dataclasses.asdict(MERA_RECIPES[name]).items() if value != base[key]
    }
    assert differing == {"name", *fields}


def test_mera_16_without_aggregation_the_first_plan_and_its_searches_are_the_same() -> None:
    world = World(*TOLD)
    with_it, without = models(), models()
    one = world.ask(QUESTION, with_it, CONFIG)
    other = world.ask(QUESTION, without, dataclasses.replace(CONFIG, aggregate=False))
    assert sent(with_it, "seed", "plan")[:2] == sent(without, "seed", "plan")[:2]
    assert one.rounds[0].searches == other.rounds[0].searches
