"""The loop of MERA under scripted models: intents, gate, stop reasons, budgets, answers.

The models are scripted for exactness; parsing, search, graph and loop are the real ones.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
from mera_world import World, intents, verdict

from evimem.errors import BudgetExceeded, ModelAuthError
from evimem.llm.scripted import ScriptedModels
from evimem.model.chat import ChatReply, ChatRequest
from evimem.model.evidence import Intent, StopReason
from evimem.query.mera.prompts import plan as plan_prompt
from evimem.recipes.mera import MERA, MERA_RECIPES, MeraConfig
from evimem.trace import Trace

TOLD = (
    ("Mira", "I took the cello up again!", ["Mira plays the cello"]),
    ("Tomas", "Graz is home now.", ["Tomas moved to Graz"]),
    ("Mira", "My sister has a bakery.", ["Mira's sister runs a bakery"]),
    ("Mira", "The bakery is in Porto.", ["The bakery of Mira's sister is in Porto"]),
    ("Tomas", "It rained all day.", ["It rained all day at Tomas's place"]),
)
BM25 = MeraConfig(name="mera-bm25", ranker="bm25")


@pytest.fixture
def w() -> World:
    return World(*TOLD)


def script(
    plan: Callable[[int, ChatRequest], Any],
    keep: tuple[str, ...] = (),
    *,
    sufficient: bool = False,
    answer: Any = None,
    **added: Any,
) -> ScriptedModels:
    """Models by role; `plan` gets the number of the call."""
    planned = iter(range(1000))

    def say(request: ChatRequest) -> Any:
        if request.role == "seed":
            return {"seeds": [{"name": "Mira", "type": "person"}]}
        if request.role == "plan":
            return plan(next(planned), request)
        if request.role == "verify":
            return verdict(
                request, *keep, sufficient=sufficient, graph="nodes" in str(request.schema), **added
            )
        return answer or {"answer": "Porto", "evidence": ["e1"], "covered": "full"}

    return ScriptedModels(say)


def stopped(trace: Trace) -> tuple[StopReason, int]:
    return trace.stop_reason, len(trace.rounds)


def test_mera_11_the_query_is_the_fact_the_entities_and_the_topics_joined() -> None:
    intent = Intent(fact="where the bakery is", entities=("bakery", "sister"), topics=("place",))
    assert intent.query == "where the bakery is bakery sister place"


def test_mera_12_five_intents_give_three_and_the_surplus_is_logged(w: World) -> None:
    models = script(lambda n, _: intents("cello", "Graz", "bakery", "rain", "Porto"))
    trace = w.ask("Where is the bakery?", models, BM25)
    first = trace.rounds[0]
    assert [s.request.text for s in first.searches] == ["cello", "Graz", "bakery"]
    assert first.plan is not None
    assert first.plan.surplus == 2


@pytest.mark.parametrize("k", [1, 2, 4])
def test_mera_13_k_holds_per_intent_after_exclusion(w: World, k: int) -> None:
    models = script(lambda n, _: intents("Mira", "Tomas"))
    trace = w.ask("q", models, dataclasses.replace(BM25, k=k))
    for done in trace.rounds:
        assert all(len(step.hits) <= k for step in done.searches)
    assert len(trace.rounds[0].searches[0].hits) == min(k, 3)
    viewed = [c.item_id for done in trace.rounds for c in done.candidates]
    assert len(viewed) == len(set(viewed)), "a viewed turn came again"


def test_mera_17_repeating_a_query_brings_other_parents(w: World) -> None:
    models = script(lambda n, _: intents("Mira"))
    trace = w.ask("q", models, dataclasses.replace(BM25, k=1))
    brought = [{c.item_id for c in done.candidates} for done in trace.rounds[:3]]
    assert brought[0] and brought[1] and brought[0].isdisjoint(brought[1])


def test_mera_18_search_reaches_what_no_node_is_near(w: World) -> None:
    models = script(lambda n, _: intents("moved to Graz"))
    trace = w.ask("Where is Mira's bakery?", models, BM25)
    assert trace.seeds is not None
    assert [node.name for node in trace.seeds.nodes] == ["Mira"]
    assert "t1" in [c.item_id for c in trace.rounds[0].candidates]


@pytest.mark.parametrize("name", ["mera", "mera-mmr", "mera-bm25"])
def test_mera_19_three_retrievers_are_selectable_and_logged(w: World, name: str) -> None:
    models = script(lambda n, _: intents("bakery"))
    trace = w.ask("q", models, MERA_RECIPES[name])
    rankers = {s.request.ranker for done in trace.rounds for s in done.searches}
    assert rankers == {MERA_RECIPES[name].ranker}


def test_mera_36_each_round_plans_then_searches_then_verifies(w: World) -> None:
    models = script(lambda n, _: intents("bakery"), ("Porto",))
    trace = w.ask("q", models, dataclasses.replace(BM25, k=1))
    assert [call.role for call in trace.calls][:5] == ["seed", "plan", "verify", "plan", "verify"]
    assert trace.calls[-1].role == "answer"
    for done in trace.rounds:
        roles = [call.role for call in done.calls]
        assert roles == (["plan", "verify"] if done.candidates else ["plan"])


def test_mera_37_the_planner_sees_question_graph_evidence_and_queries(w: World) -> None:
    models = script(lambda n, _: intents(f"bakery {n}"), ("bakery",))
    w.ask("Where is the bakery?", models, dataclasses.replace(BM25, k=1))
    second = [r for r in models.requests if r.role == "plan"][1].messages[-1].text
    for part in ("Where is the bakery?", "Mira", "runs a bakery", "bakery 0", "e1: "):
        assert part in second
    assert second.index("Where is") < second.index("bakery 0")
    rules = plan_prompt.PROMPT.system
    for word in ("entities", "relations", "dates", "quantities", "sufficient"):
        assert word in rules


def test_mera_38_an_unusable_plan_is_counted_and_the_loop_goes_on(w: World) -> None:
    models = script(lambda n, _: "no idea" if n < 2 else intents("bakery in Porto"), ("Porto",))
    trace = w.ask("q", models, BM25)
    first = trace.rounds[0]
    assert first.plan is not None and first.plan.problem.startswith("InvalidReply")
    assert (first.searches, first.candidates, first.gained) == ((), (), 0)
    assert "t3" in trace.accepted
    assert [c.outcome for c in first.calls] == ["discarded", "discarded"]


def test_mera_40_only_accepted_records_enter_and_the_rejected_stay_viewed(w: World) -> None:
    models = script(lambda n, _: intents("Mira bakery"), ("Porto",))
    trace = w.ask("q", models, BM25)
    first = trace.rounds[0]
    assert first.assessment is not None
    verdicts = {d.item_id: d.verdict for d in first.assessment.decisions}
    assert set(verdicts) == {c.item_id for c in first.candidates}
    assert trace.accepted == ("t3",)
    assert set(trace.viewed) > {"t3"}
    assert set(trace.accepted) <= set(trace.viewed)


def test_mera_41_the_graph_stands_on_accepted_turns_only(w: World) -> None:
    added = {
        "nodes": [
            {"name": "Porto", "type": "location", "from": ["c1"]},
            {"name": "cello", "type": "state", "from": ["c2"]},
        ]
    }
    models = script(lambda n, _: intents("bakery Porto", "cello"), ("Porto",), **added)
    trace = w.ask("q", models, BM25)
    first = trace.rounds[0]
    assert first.assessment is not None and first.assessment.graph is not None
    assert [(n.name, n.refs) for n in first.assessment.graph.nodes] == [("Porto", ("t3",))]
    assert any("cello" in reason for reason in first.assessment.dropped)


def test_mera_42_unknown_ids_are_dropped_and_an_unusable_verdict_accepts_nothing(w: World) -> None:
    judged = [{"id": "c999", "keep": True, "why": ""}, {"id": "c1", "keep": True, "why": "says so"}]
    models = script(lambda n, _: intents("bakery in Porto"), decisions=judged)
    trace = w.ask("q", models, BM25)
    first = trace.rounds[0]
    assert first.assessment is not None
    assert any("c999" in reason for reason in first.assessment.dropped)
    assert len(first.assessment.evidence) == 1
    verdicts = [d for d in first.assessment.decisions if d.reason == "not_judged"]
    assert len(verdicts) == len(first.candidates) - 1

    broken = ScriptedModels(
        lambda r: "well..." if r.role == "verify" else
        {"seeds": []} if r.role == "seed" else intents("bakery") if r.role == "plan" else
        {"answer": "Porto", "evidence": ["e1"], "covered": "full"}
    )  # fmt: skip
    trace = w.ask("q", broken, BM25)
    first = trace.rounds[0]
    assert first.assessment is not None and first.assessment.problem
    assert {d.verdict for d in first.assessment.decisions} == {"reject"}
    assert trace.answer is not None and trace.answer.status == "not_in_memory"


def test_mera_43_enough_in_round_one_does_not_stop_before_two_rounds(w: World) -> None:
    models = script(lambda n, _: intents(f"bakery {n}"), ("bakery",), sufficient=True)
    assert stopped(w.ask("q", models, dataclasses.replace(BM25, k=1))) == ("converged", 2)
    by_planner = script(lambda n, _: intents("bakery", sufficient=n >= 1), ("bakery",))
    trace = w.ask("q", by_planner, BM25)
    assert stopped(trace) == ("converged", 2)
    assert trace.rounds[1].searches == (), "a vote that ends the search searches no more"
    eager = script(lambda n, _: intents("bakery", sufficient=True), ("bakery",))
    trace = w.ask("q", eager, BM25)
    assert stopped(trace) == ("converged", 2)
    assert trace.rounds[0].searches, "before the minimum the intents are searched all the same"


@pytest.mark.parametrize("kind", ["no valid intent", "no candidate", "no update"])
def test_mera_44_three_unproductive_rounds_exhaust_the_search(w: World, kind: str) -> None:
    plans = {
        "no valid intent": "???",
        "no candidate": intents("xylophone"),
        "no update": intents("Mira"),
    }
    trace = w.ask("q", script(lambda n, _: plans[kind]), dataclasses.replace(BM25, k=1))
    assert stopped(trace) == ("exhausted", 3)
    assert [done.gained for done in trace.rounds] == [0, 0, 0]


def test_mera_44_a_productive_round_begins_the_count_anew(w: World) -> None:
    asked = ["xylophone", "xylophone", "bakery in Porto", "xylophone", "xylophone", "xylophone"]
    trace = w.ask("q", script(lambda n, _: intents(asked[n]), ("Porto",)), BM25)
    assert stopped(trace) == ("exhausted", 6)


def test_mera_45_the_ceiling_of_rounds_is_the_third_reason(w: World) -> None:
    models = script(lambda n, _: intents("Mira Tomas"), ("Mira", "Tomas", "bakery"))
    config = dataclasses.replace(BM25, k=1, max_rounds=3)
    assert stopped(w.ask("q", models, config)) == ("max_iterations", 3)
    assert stopped(w.ask("q", models, config, max_rounds=2)) == ("max_iterations", 2)
    assert stopped(w.ask("q", models, config, max_rounds=50)) == ("max_iterations", 3)


def test_mera_46_the_defaults_are_patience_three_two_rounds_k_eight_ten_rounds() -> None:
    assert (MERA.patience, MERA.min_rounds, MERA.k, MERA.max_rounds) == (3, 2, 8, 10)


def test_mera_47_the_answer_prompt_holds_accepted_records_and_no_other(w: World) -> None:
    models = script(lambda n, _: intents("Mira bakery"), ("Porto",))
    trace = w.ask("Where is the bakery?", models, BM25)
    told = models.requests[-1].messages[-1].text
    assert models.requests[-1].role == "answer"
    assert "is in Porto" in told
    for other in ("cello", "Graz", "runs a bakery", "rained"):
        assert other not in told
    assert len(trace.viewed) > 1
    answer = trace.answer
    assert answer is not None
    assert (answer.text, answer.status) == ("Porto", "supported")
    assert [(c.turn_id, c.quote) for c in answer.citations] == [("t3", "The bakery is in Porto.")]


def test_mera_48_without_evidence_the_answer_is_an_abstention(w: World) -> None:
    none = {"answer": "Not mentioned", "evidence": [], "covered": "none"}
    trace = w.ask(
        "What is Mira's dog called?", script(lambda n, _: intents("dog"), answer=none), BM25
    )
    assert trace.answer is not None and trace.answer.status == "not_in_memory"
    bold = {"answer": "Rex", "evidence": ["e1"], "covered": "full"}
    trace = w.ask(
        "What is Mira's dog called?", script(lambda n, _: intents("dog"), answer=bold), BM25
    )
    assert trace.answer is not None
    assert (trace.answer.status, trace.answer.text) == ("not_in_memory", "Not in memory.")


def test_mera_49_flat_makes_no_graph_call_and_the_same_searches(w: World) -> None:
    plan = lambda n, _: intents(f"bakery {n}", "Mira")  # noqa: E731
    graph_models, flat_models = script(plan, ("Porto",)), script(plan, ("Porto",))
    mmr = MERA_RECIPES["mera-mmr"]
    with_graph = w.ask("q", graph_models, mmr)
    flat = w.ask("q", flat_models, MERA_RECIPES["mera-flat"])
    assert {r.role for r in flat_models.requests} == {"plan", "verify", "answer"}
    assert flat.seeds is None
    assert all(d.assessment is None or d.assessment.graph is None for d in flat.rounds)
    searched = [[s.request for s in d.searches] for d in with_graph.rounds]
    assert [[s.request for s in d.searches] for d in flat.rounds] == searched
    assert MERA_RECIPES["mera-flat"].ranker == "mmr"
    for request in flat_models.requests:
        assert "graph" not in request.messages[-1].text.casefold()


def test_case_p091_words_that_the_evidence_lacks_leave_the_answer_unverified(w: World) -> None:
    bold = {"answer": "Two bakeries in Lisbon", "evidence": ["e1"], "covered": "full"}
    trace = w.ask("q", script(lambda n, _: intents("bakery"), ("Porto",), answer=bold), BM25)
    answer = trace.answer
    assert answer is not None
    assert answer.status == "unverified"
    assert any("Two" in why and "Lisbon" in why for why in answer.degraded)


def test_an_unusable_answer_keeps_the_evidence_and_says_so(w: World) -> None:
    trace = w.ask(
        "q", script(lambda n, _: intents("bakery"), ("Porto",), answer="It is Porto"), BM25
    )
    answer = trace.answer
    assert answer is not None
    assert (answer.text, answer.status) == ("It is Porto", "unverified")
    assert answer.citations
    assert any(why.startswith("answer_unusable") for why in answer.degraded)


def test_the_budget_of_calls_ends_the_search_and_leaves_room_for_the_answer(w: World) -> None:
    models = script(lambda n, _: intents("bakery in Porto"), ("Porto",))
    trace = w.ask("q", models, BM25, max_calls=4)
    assert trace.stop_reason == "budget"
    assert [c.role for c in trace.calls] == ["seed", "plan", "verify", "answer"]
    assert trace.answer is not None and trace.answer.text == "Porto"
    assert trace.usage.calls == 4
    trace = w.ask("q", models, BM25, max_calls=3)
    assert [c.role for c in trace.calls] == ["seed", "plan", "answer"]
    assert trace.viewed == (), "what no verifier read was not viewed"


def test_a_model_that_cannot_be_reached_is_an_error_and_no_empty_answer(w: World) -> None:
    models = ScriptedModels(lambda r: ModelAuthError("the key is wrong"))
    with pytest.raises(ModelAuthError, match="key is wrong"):
        w.ask("q", models, BM25)
    with pytest.raises(BudgetExceeded):
        w.ask("q", script(lambda n, _: intents("x")), BM25, max_calls=0)


def test_mera_24_an_unusable_seed_reply_gives_one_node_with_the_question(w: World) -> None:
    models = ScriptedModels(
        lambda r: "???" if r.role == "seed" else
        intents("bakery") if r.role == "plan" else
        verdict(r, "Porto") if r.role == "verify" else
        {"answer": "Porto", "evidence": ["e1"], "covered": "full"}
    )  # fmt: skip
    trace = w.ask("Where is the bakery?", models, BM25)
    assert trace.seeds is not None
    assert [node.name for node in trace.seeds.nodes] == ["Where is the bakery?"]
    assert any(note.startswith("seeds: InvalidReply") for note in trace.notes)


def test_mera_22_a_seed_of_unknown_type_is_mapped_and_noted(w: World) -> None:
    def say(request: ChatRequest) -> Any:
        if request.role == "seed":
            return {
                "seeds": [{"name": "bakery", "type": "state"}, {"name": "Rex", "type": "state"}]
            }
        if request.role == "plan":
            return intents("bakery")
        return verdict(request) if request.role == "verify" else {
            "answer": "", "evidence": [], "covered": "none"
        }  # fmt: skip

    trace = w.ask("Where is the bakery?", ScriptedModels(say), BM25)
    assert trace.seeds is not None
    assert [node.name for node in trace.seeds.nodes] == ["bakery"]
    assert any("Rex" in note for note in trace.notes)


def test_mera_95_the_reference_date_reaches_verifier_and_answer(w: World) -> None:
    models = script(lambda n, _: intents("bakery"), ("Porto",))
    trace = w.ask("q", models, BM25)
    assert trace.reference_time == "2023-05-05T10:00:00+00:00", (
        "the newest turn's where none is set"
    )
    for request in models.requests:
        if request.role in ("verify", "answer"):
            assert "Reference date of the question: 2023-05-05 10:00 (Friday)" in (
                request.messages[-1].text
            )
    models = script(lambda n, _: intents("bakery"), ("Porto",))
    w.ask("q", models, BM25, asked_at="2024-01-31T00:00:00+00:00")
    assert "Reference date of the question: 2024-01-31" in models.requests[-1].messages[-1].text


def test_of_a_plan_that_is_cut_twice_the_complete_intents_are_used(w: World) -> None:
    cut = '{"missing": "x", "sufficient": false, "intents": [{"fact": "bakery in Porto", '
    cut += '"entities": [], "topics": []}, {"fact": "the brea'
    models = script(lambda n, _: ChatReply(text=cut, finish="length"), ("Porto",))
    trace = w.ask("q", models, BM25)
    first = trace.rounds[0]
    assert first.plan is not None
    assert [intent.fact for intent in first.plan.intents] == ["bakery in Porto"]
    assert any(reason.startswith("reply cut") for reason in first.plan.dropped)
    room = [r.max_tokens for r in models.requests if r.role == "plan"][:2]
    assert room[1] == 2 * room[0], "never the same call again"
