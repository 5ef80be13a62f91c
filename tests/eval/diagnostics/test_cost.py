"""Cost by the counting rules, each figure added up by hand."""

from __future__ import annotations

import dataclasses

import pytest
from bench_rows import ask, call, cells, dataset, run_of, step, system

from evimem.errors import UsageError
from evimem.eval.diagnostics.cost import (
    calls_per_question,
    group_shares,
    runtime,
    section,
    shares,
    system_cost,
)
from evimem.eval.harness.rows import BuildRow, RunData, SharedRow, SystemRun
from evimem.eval.harness.tables import Table
from evimem.model.cost import Price

HAIKU = Price(tokens_in=1.1, tokens_out=5.5)
OPUS = Price(tokens_in=5, tokens_out=25)

BUILT = BuildRow(
    system="s",
    history_id="h",
    calls=(
        call("extract", 1000, 100, phase="summary"),
        call("extract", 500, 50, phase="summary", outcome="discarded"),
        call("manage", 200, 20, phase="update"),
        call("extract", phase="summary", outcome="failed"),
    ),
    embeddings=8,
    seconds=30.0,
)


def run(**more: object) -> SystemRun:
    asks = (
        ask(
            "q1",
            step("t0"),
            calls=(
                call("seed", 100, 10),
                call("plan", 200, 20, cached=150),
                call("verify", 300, 30),
                call("plan", 200, 20),
                call("answer", 400, 40),
                call("judge", 9000, 9, phase="judge"),
            ),
            embeddings=3,
            seconds=6.0,
        ),
        ask("q2", step("t2"), calls=(call("answer", 400, 40),), embeddings=1, seconds=2.0),
    )
    shared = (SharedRow(system="s", question_id="q1", prompt="x", calls=(call("answer", 777, 0),)),)
    return system(*asks, builds=(BUILT,), shared=shared, **more)  # type: ignore[arg-type]


def table(data: RunData, start: str, **more: object) -> Table:
    found = section(data, **more).tables  # type: ignore[arg-type]
    return next(one for one in found if one.title.startswith(start))


def test_mera_73_summary_and_update_add_up_to_the_offline_total_per_conversation() -> None:
    row = cells(table(run_of(run()), "Offline"), "s")

    assert (row["summary in"], row["summary out"]) == (1500, 150)
    assert (row["update in"], row["update out"]) == (200, 20)
    assert row["total"] == 1500 + 150 + 200 + 20
    assert row["unit"] == "per conversation"


def test_mera_73_locomo_is_shared_among_conversations_and_longmemeval_among_questions() -> None:
    two = dataclasses.replace(run(), builds={"h": BUILT, "i": BUILT})
    both = dataclasses.replace(dataset(), histories={"h": dataset().histories["h"]} | {
        "i": dataset().histories["h"]
    })  # fmt: skip

    halves = table(RunData(dataset=both, systems=(two,), manifest={}), "Offline")

    assert cells(halves, "s")["total"] == 1870, "two builds of 1870 tokens, two conversations"
    assert cells(halves, "s")["n"] == 2
    of_questions = dataclasses.replace(dataset(), name="longmemeval")
    assert system_cost(run(), of_questions).unit == "question"


def test_mera_73_no_update_phase_is_not_zero_tokens() -> None:
    still = dataclasses.replace(BUILT, calls=BUILT.calls[:2])
    row = cells(table(run_of(system(builds=(still,))), "Offline"), "s")

    assert row["update in"] is None and row["update out"] is None
    assert row["total"] == 1650


def test_mera_74_online_tokens_per_question_are_the_sum_of_the_roles() -> None:
    online = cells(table(run_of(run()), "Online tokens per question, "), "s")
    roles = cells(table(run_of(run()), "Online tokens per question by role"), "s")

    assert (online["in"], online["out"], online["total"]) == (800, 80, 880)
    assert (roles["seed"], roles["plan"], roles["verify"]) == (55, 220, 165)
    assert roles["answer"] == 440
    assert roles["manage"] is None, "no such call, which is not 0"
    parts = [roles[one] for one in ("seed", "plan", "verify", "answer")]
    assert sum(one for one in parts if isinstance(one, float)) == roles["total"] == 880


def test_mera_75_embeddings_judging_and_the_shared_prompt_are_counted_apart() -> None:
    cost = system_cost(run(), dataset())
    row = cells(table(run_of(run()), "Counted apart"), "s")

    assert cost.online.online.total == 1760, "without 9009 judge tokens and 777 shared ones"
    assert (row["texts embedded, offline"], row["texts embedded, online"]) == (8, 4)
    assert row["judge tokens"] == 9009
    assert row["shared prompt tokens"] == 777


def test_mera_76_discarded_text_and_cached_tokens_count_replays_once_and_failures_never() -> None:
    calls = (
        call("answer", 10, 1, request="a"),
        call("answer", 10, 1, request="a", outcome="replayed"),
        call("answer", 10, 1, request="b", outcome="replayed"),
        call("answer", 10, 1, request="c", outcome="discarded"),
        call("answer", outcome="failed"),
        call("answer", 100, 1, request="d", cached=90),
    )
    cost = system_cost(system(ask("q1", calls=calls)), dataset())

    assert cost.online.online.total == 11 + 11 + 11 + 101
    assert (cost.online.discarded, cost.online.failed, cost.online.replayed) == (1, 1, 2)


def test_mera_77_seconds_are_averaged_per_question_then_over_runs_beside_a_reference() -> None:
    def timed(name: str, *seconds: float) -> SystemRun:
        rows = [
            ask(f"q{n}", seconds=took, system=name, calls=(call("plan"), call("answer")))
            for n, took in enumerate(seconds, start=1)
        ]
        return system(*rows, name=name)

    first = run_of(timed("small", 2.0, 4.0), timed("rl", 9.0, 9.0))
    again = run_of(timed("small", 1.0, 1.0), timed("rl", 5.0, 1.0))

    small, trained = runtime((first, again), reference="small")

    assert (small.runs, small.asked, small.seconds, small.ratio) == (2, 4, 2.0, 1.0)
    assert (trained.seconds, trained.ratio) == (6.0, 3.0)
    assert (trained.calls, trained.without_planner) == (2.0, 1.0)
    made = table(first, "Seconds", reference="small", parallel=32, repeats=(again,))
    assert any("32" in note and "small" in note for note in made.notes)
    assert cells(made, "rl")["ratio"] == 3.0


def test_mera_77_runs_of_different_questions_are_not_averaged() -> None:
    with pytest.raises(UsageError, match="different questions"):
        runtime((run_of(run()), run_of(run(), data=dataset(only=("q1",)))))


def test_x8_calls_per_question_stand_with_and_without_the_planner() -> None:
    assert calls_per_question(system_cost(run(), dataset())) == (3.0, 2.0)
    row = cells(table(run_of(run()), "Model calls"), "s")
    assert (row["plan"], row["all"], row["without planner"]) == (1.0, 3.0, 2.0)


def test_qem_43_building_is_paid_once_and_apart_from_the_price_of_a_question() -> None:
    row = cells(table(run_of(run()), "Money", prices={"m": HAIKU}), "s")

    assert row["building, once"] == pytest.approx((1700 * 1.1 + 170 * 5.5) / 1e6)
    assert row["per question"] == pytest.approx((1600 * 1.1 + 160 * 5.5) / 1e6 / 2)
    dear = cells(table(run_of(run()), "Money", prices={"m": OPUS}), "s")
    assert dear["per question"] == pytest.approx((1600 * 5 + 160 * 25) / 1e6 / 2)


def test_ben_10_models_without_a_price_are_named_and_no_table_of_money_without_prices() -> None:
    row = cells(table(run_of(run()), "Money", prices={"other": HAIKU}), "s")

    assert (row["models without a price"], row["per question"]) == ("m", 0.0)
    assert not any("oney" in one.title for one in section(run_of(run())).tables)


def test_qem_44_shares_add_up_to_100_exactly() -> None:
    assert shares({"a": 1, "b": 1, "c": 1}) == {"a": 33.4, "b": 33.3, "c": 33.3}
    assert sum(round(10 * one) for one in shares({"a": 2, "b": 3, "c": 2}).values()) == 1000
    assert shares({"a": 0, "b": 0}) == {"a": 0.0, "b": 0.0}
    with pytest.raises(ValueError, match="negative"):
        shares({"a": -1})


def test_qem_44_planning_evidence_and_answering_share_the_online_cost() -> None:
    cost = system_cost(run(), dataset(), prices={"m": HAIKU})

    # of 1760 tokens: seed and plan 550, verify 330, answer 880; a tie goes to the first
    assert group_shares(cost, money=False) == {
        "planning": 31.3,
        "evidence": 18.7,
        "answering": 50.0,
        "other": 0.0,
    }
    assert sum(group_shares(cost, money=True).values()) == pytest.approx(100)
    assert cost.money_by_role["plan"] == pytest.approx((400 * 1.1 + 40 * 5.5) / 1e6)
    assert sum(cost.money_by_role.values()) == pytest.approx(cost.online_money.amount)
    row = cells(table(run_of(run()), "Shares of the online cost in tokens"), "s")
    assert row["answering"] == 0.5


def test_work_of_failed_questions_and_calls_of_another_phase_are_told() -> None:
    strayed = system(
        ask("q1", failed="down", calls=(call("answer", 5, 5),)),
        ask("q2", calls=(call("manage", 7, 7, phase="update"),)),
    )

    made = section(run_of(strayed))

    assert any("1 questions failed" in note for note in made.notes)
    assert any("1 calls belong to another phase" in note for note in made.notes)


def test_a_system_that_was_asked_nothing_costs_nothing_that_could_be_told() -> None:
    made = section(run_of(system(builds=())))

    online = next(one for one in made.tables if one.title.startswith("Online tokens per question,"))
    assert cells(online, "s")["total"] is None
