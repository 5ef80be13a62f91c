"""MemGAS: two calls a session, links by a mixture, weights by entropy, sessions by a walk."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pytest

from evimem.eval.baselines.mem_gas import GRANULARITIES, MemGas
from evimem.eval.baselines.mem_gas_graph import (
    associations,
    page_rank,
    router_weights,
    upper_part,
)
from evimem.eval.harness.system import Asked, Tools
from evimem.llm.scripted import ScriptedModels
from evimem.model.chat import ChatRequest
from evimem.model.evidence import Question
from evimem.model.turn import History, JsonValue

ASKED = Question(text="Bakery Amber called lovely by Marek: met Rita yesterday?")


def script(
    summary: str = "They talk.", answer: str = "Amber", kept: JsonValue = (1,)
) -> Callable[[ChatRequest], str | Mapping[str, JsonValue]]:
    def reply(request: ChatRequest) -> str | Mapping[str, JsonValue]:
        name = request.prompt.partition("@")[0]
        if name == "memgas.summary":
            return summary
        if name == "memgas.keywords":
            return {"keywords": ["marathon", "bakery"]}
        if name == "memgas.filter":
            return {"messages": list(kept)} if isinstance(kept, tuple) else {"messages": kept}
        return answer

    return reply


# -- the graph ---------------------------------------------------------------------------------


def test_the_upper_part_of_two_heaps_is_the_upper_heap() -> None:
    rng = np.random.default_rng(3)
    low, high = rng.normal(0.2, 0.03, 40), rng.normal(0.7, 0.05, 12)
    found = upper_part(np.concatenate([low, high]))
    assert not found[:40].any() and found[40:].all()


def test_one_value_far_above_the_others_is_the_upper_part() -> None:
    values = np.array([0.30, 0.31, 0.29, 0.305, 0.9])
    assert upper_part(values).tolist() == [False, False, False, False, True]


@pytest.mark.parametrize("values", [[], [0.4], [0.4, 0.4, 0.4]])
def test_values_that_are_all_alike_have_no_upper_part(values: list[float]) -> None:
    assert not upper_part(np.array(values)).any()


def test_nodes_of_the_first_sessions_have_no_links_and_links_go_to_earlier_sessions_only() -> None:
    rng = np.random.default_rng(5)
    vectors = rng.normal(size=(7 * 4, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    links = associations(vectors, per_session=4, unlinked=5, candidates=30)
    assert (links == links.T).all()
    assert not links[:20, :20].any(), "sessions 1 to 5"
    assert not links[20:24, 20:24].any(), "nodes of one session"
    assert links[20:].any(axis=1).all()


def test_a_new_node_is_linked_among_its_most_similar_ones_only() -> None:
    vectors = np.zeros((4, 2), dtype=np.float32)
    angles = (0.1, 0.2, 1.2, 0.0)
    vectors[:] = [(math.cos(a), math.sin(a)) for a in angles]
    both = associations(vectors, per_session=1, unlinked=3, candidates=30)
    assert both[3].tolist() == [True, True, False, False]
    one = associations(vectors, per_session=1, unlinked=3, candidates=2)
    assert one[3].tolist() == [True, False, False, False], "of the two nearest the upper one"


def test_the_granularity_that_singles_out_a_session_weighs_most() -> None:
    likeness = np.array([[0.9, 0.5], [0.1, 0.5], [0.1, 0.5]], dtype=np.float32)
    weights = router_weights(likeness, temperature=0.2)
    assert weights == pytest.approx([1.0, 0.0], abs=1e-6)


def test_router_weights_follow_from_the_entropies() -> None:
    likeness = np.array([[0.6, 0.4], [0.2, 0.3]], dtype=np.float64)

    def telling(a: float, b: float) -> float:
        p = math.exp(a / 0.2) / (math.exp(a / 0.2) + math.exp(b / 0.2))
        return 1 + (p * math.log2(p) + (1 - p) * math.log2(1 - p))

    parts = [telling(0.6, 0.2), telling(0.4, 0.3)]
    expected = [part / sum(parts) for part in parts]
    found = router_weights(likeness.astype(np.float32), temperature=0.2)
    assert found == pytest.approx(expected, abs=1e-5)


def test_no_weight_is_negative_however_many_sessions_there_are() -> None:
    rng = np.random.default_rng(1)
    likeness = rng.uniform(0.1, 0.5, size=(200, 4)).astype(np.float32)
    weights = router_weights(likeness, temperature=0.2)
    assert (weights >= 0).all() and weights.sum() == pytest.approx(1)


def test_granularities_that_tell_nothing_weigh_alike() -> None:
    assert router_weights(np.full((5, 4), 0.3, dtype=np.float32), temperature=0.2).tolist() == (
        [0.25] * 4
    )


def test_the_walk_solves_its_equation() -> None:
    rng = np.random.default_rng(2)
    links = rng.uniform(size=(9, 9)) < 0.3
    links = (links | links.T) & ~np.eye(9, dtype=bool)
    links[8, :] = links[:, 8] = False  # a node without links
    start = rng.uniform(size=9)
    begin = start / start.sum()
    degrees = links.sum(axis=0)
    onward = np.where(degrees > 0, links / np.maximum(degrees, 1), begin[:, None])
    exact = np.linalg.solve(np.eye(9) - 0.4 * onward, 0.6 * begin)
    assert page_rank(links, start, damping=0.4) == pytest.approx(exact, abs=1e-9)


def test_a_walk_from_nowhere_begins_everywhere() -> None:
    links = np.zeros((4, 4), dtype=bool)
    assert page_rank(links, np.zeros(4), damping=0.1) == pytest.approx([0.25] * 4)


# -- the system --------------------------------------------------------------------------------


def test_a_build_makes_two_calls_a_session_and_four_nodes(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    models = ScriptedModels(script())
    built = MemGas().build(history, tools_of(models))
    assert [one.prompt.partition("@")[0] for one in models.requests] == [
        "memgas.summary",
        "memgas.keywords",
    ] * 3
    assert {(one.role, one.phase) for one in models.requests} == {("extract", "summary")}
    assert "Rita" in models.requests[0].messages[1].text
    assert built.sizes == {"sessions": 3, "nodes": 12, "links": 0, "unread": 0, "unusable": 0}


def test_a_question_takes_one_call_and_shows_the_turns_of_the_best_sessions(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    tools = tools_of(script())
    built = MemGas(sessions=1).build(history, tools)
    models = ScriptedModels({"answer": ["Amber"]})
    asked = built.ask(ASKED, tools_of(models))
    assert (asked.answer, asked.stop, asked.problem) == ("Amber", "finished", "")
    assert asked.steps[0].turn_ids == ("t3", "t4", "t5")
    assert [one.turn_ids for one in asked.shown] == [("t3",), ("t4",), ("t5",)]
    [request] = models.requests
    assert (request.role, request.phase) == ("answer", "online")
    assert "Amber" in request.messages[1].text and "Krakow" not in request.messages[1].text


def test_the_filter_is_a_second_call_and_what_it_leaves_out_was_viewed_all_the_same(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    models = ScriptedModels(script(kept=(1, 99)))
    tools = tools_of(models)
    asked = MemGas(sessions=1, filtered=True).build(history, tools).ask(ASKED, tools)
    assert [one.role for one in models.requests[6:]] == ["verify", "answer"]
    assert asked.steps[0].turn_ids == ("t3", "t4", "t5")
    assert asked.steps[0].accepted == ("t3",)
    assert [one.turn_ids for one in asked.shown] == [("t3",)]


def test_a_filter_that_keeps_nothing_or_cannot_be_read_shows_all_and_says_so(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    def asked(kept: JsonValue) -> Asked:
        tools = tools_of(script(kept=kept))
        return MemGas(sessions=1, filtered=True).build(history, tools).ask(ASKED, tools)

    nothing, broken = asked(()), asked("none")
    for one in (nothing, broken):
        assert len(one.shown) == 3 and one.problem.startswith("filter: ")
        assert one.answer == "Amber"


def test_unusable_notes_are_counted_and_the_session_is_found_by_its_text(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    def reply(request: ChatRequest) -> str:
        return "" if request.role == "extract" else "Amber"

    tools = tools_of(reply)
    built = MemGas(sessions=1).build(history, tools)
    assert built.sizes["unusable"] == 6
    assert built.ask(ASKED, tools).steps[0].turn_ids == ("t3", "t4", "t5")
    assert [one.turn_ids for one in built.stored()] == [(f"t{n}",) for n in range(8)]


def test_a_session_beyond_the_window_is_read_in_part_and_that_is_counted(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    turns = tuple(replace(turn, text=f"{turn.text} " * 8) for turn in history.turns)
    models = ScriptedModels(script(), window=800)
    built = MemGas().build(replace(history, turns=turns), tools_of(models))
    read = [one.messages[1].text.count("\n") + 1 for one in models.requests[::2]]
    assert built.sizes["unread"] == 8 - sum(read) > 0
    assert [one.turn_ids for one in built.stored() if len(one.turn_ids) == 1] == [
        (f"t{n}",) for n in range(8)
    ]


def test_summaries_and_keywords_stand_for_the_turns_of_their_session(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    stored = MemGas().build(history, tools_of(script())).stored()
    of_sessions = [one for one in stored if len(one.turn_ids) > 1]
    assert [one.text for one in of_sessions] == ["They talk.", "marathon, bakery"] * 3
    assert of_sessions[0].turn_ids == ("t0", "t1", "t2")


def test_a_conversation_without_words_is_answered_from_nothing(
    tools_of: Callable[..., Tools],
) -> None:
    tools = tools_of(["not mentioned"])
    empty = History(history_id="none", sessions=(), turns=())
    asked = MemGas().build(empty, tools).ask(ASKED, tools)
    assert asked.abstained and asked.shown == ()


def test_published_parameters_are_listed() -> None:
    params = MemGas().params
    assert (params["candidates"], params["seeds"], params["sessions"]) == ("30", "15", "3")
    assert (params["damping"], params["temperature"]) == ("0.1", "0.2")
    assert len(GRANULARITIES) == 4 and MemGas().traces_turns
