"""States collected from whole trajectories, with the real loop and scripted models."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
from mera_world import World, fact
from training_world import PLANS, TOLD, asked, trajectory

from evimem.datasets import Gold
from evimem.errors import UsageError
from evimem.model.turn import History
from evimem.query.loop import grown
from evimem.query.mera.state import with_graph
from evimem.training.states import (
    PlannerState,
    bank_hash,
    gold_turns,
    planner_calls,
    read_states,
    states_of,
    write_states,
)


def test_mera_55_there_are_as_many_states_as_planner_calls_unusable_ones_included() -> None:
    w = World(*TOLD)
    trace = asked(w, *PLANS)
    states = states_of(trajectory(trace, "t0", "t3"), with_graph)
    attempts = [c for c in trace.calls if c.role == "plan"]
    assert len(trace.rounds) == 4
    assert (planner_calls(trace), len(states)) == (4, 4)
    assert len(attempts) == 5, "a repair is part of the call that it repairs"
    assert [one.state.round for one in states] == [0, 1, 2, 3]


def test_mera_55_a_round_whose_planner_could_not_be_paid_has_no_state() -> None:
    trace = asked(World(*TOLD), *PLANS, max_calls=4)
    assert trace.stop_reason == "budget"
    assert [done.plan is not None for done in trace.rounds] == [True, False]
    states = states_of(trajectory(trace, "t3"), with_graph)
    assert (planner_calls(trace), len(states)) == (1, 1)


def test_mera_55_past_searches_are_kept_without_their_exclusions() -> None:
    trace = asked(World(*TOLD), *PLANS)
    last = states_of(trajectory(trace, "t3"), with_graph)[-1]
    assert [one.text for one in last.state.requests] == ["cello", "runs", "Porto"]
    assert not any(one.exclusion.parents for one in last.state.requests)
    assert set(last.state.viewed) > {"t0", "t2", "t3"}


def test_mera_55_a_state_holds_what_the_planner_read_and_what_was_found() -> None:
    w = World(*TOLD)
    trace = asked(w, *PLANS)
    first, second, third, last = states_of(trajectory(trace, "t0", "t3", "t1"), with_graph)
    assert first.state.graph is not None, "the seeds"
    assert (first.found, first.missing, first.progress) == ((), ("t0", "t3", "t1"), 0.0)
    assert (second.found, second.missing) == (("t0",), ("t3", "t1"))
    assert third.found == ("t0",)
    assert (last.found, last.missing) == (("t0", "t3"), ("t1",))
    assert last.progress == pytest.approx(2 / 3)
    assert [one.text for one in last.state.requests] == ["cello", "runs", "Porto"]
    assert [one.item_id for one in last.state.evidence] == ["t3"]


def test_a_gold_turn_viewed_and_rejected_counts_as_found() -> None:
    w = World(*TOLD)
    trace = asked(w, *PLANS)
    second = states_of(trajectory(trace, "t0"), with_graph)[1]
    assert "t0" not in trace.accepted
    assert second.missing == ()


def test_mera_55_a_state_survives_its_written_form_exactly(tmp_path: Path) -> None:
    states = states_of(trajectory(asked(World(*TOLD), *PLANS), "t3"), with_graph)
    again = [PlannerState.from_json(json.loads(json.dumps(one.to_json()))) for one in states]
    assert again == states
    assert [a.state_id for a in again] == [one.state_id for one in states]
    path = tmp_path / "states.jsonl"
    assert write_states(path, states) == 4
    assert list(read_states(path, banks=["b1"])) == states


def test_mera_55_a_state_of_a_memory_that_is_not_at_hand_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "states.jsonl"
    write_states(path, states_of(trajectory(asked(World(*TOLD)), "t3"), with_graph))
    with pytest.raises(UsageError, match=r"line 1 of 'states.jsonl' needs the memory 'b1'"):
        list(read_states(path, banks=["b2"]))
    path.write_text('{"state": 3}\n', encoding="utf-8")
    with pytest.raises(UsageError, match="line 1"):
        list(read_states(path))


def test_state_ids_differ_by_memory_question_and_round() -> None:
    trace = asked(World(*TOLD), *PLANS)
    ids = {one.state_id for one in states_of(trajectory(trace, "t3"), with_graph)}
    other = {one.state_id for one in states_of(trajectory(trace, "t3", bank="b2"), with_graph)}
    assert len(ids) == len(other) == 4
    assert not ids & other


def test_another_recipes_updater_is_noticed() -> None:
    trace = asked(World(*TOLD), *PLANS)
    with pytest.raises(UsageError, match="another state in round 2"):
        states_of(trajectory(trace, "t3"), grown)


def test_a_question_asked_with_its_id_replays_too() -> None:
    trace = asked(World(*TOLD), *PLANS)
    named = dataclasses.replace(trajectory(trace, "t3"), question_id="other")
    assert len(states_of(named, with_graph)) == 4


def test_mera_55_the_hash_of_a_memory_is_of_its_content_in_any_order() -> None:
    w = World(*TOLD)
    whole = bank_hash([*w.turns, *w.facts])
    assert bank_hash(reversed([*w.facts, *w.turns])) == whole
    assert bank_hash(w.turns) != whole
    assert bank_hash([*w.turns, *w.facts, fact(w.turns[0], 9, "new")]) != whole
    other = dataclasses.replace(w.facts[0], attrs={"n": 0, "keywords": ["music"], "topics": []})
    assert bank_hash([*w.turns, other, *w.facts[1:]]) != whole, "keywords are searched"


def test_gold_turns_are_ids_of_the_bank_in_the_order_of_the_gold() -> None:
    w = World(*TOLD)
    told = History(history_id="h", sessions=(), turns=tuple(w.turns))
    evidence = ("D1:3", "D1:0", "D9:9", "D1:3")
    gold = Gold(question_id="q", history_id="h", category="", evidence=evidence)
    assert gold_turns(gold, told) == ("t3", "t0")
