"""Counting rules of MERA-73 to 76 and the ledger that keeps every attempt."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import pytest

from evimem.llm.ledger import Ledger, causes
from evimem.model.chat import ChatMessage, ChatReply, ChatRequest, ModelCall, Phase, Role
from evimem.model.cost import TokenSum, counted, totals


def call(role: Role = "plan", phase: Phase = "online", n: int = 1, **fields: Any) -> ModelCall:
    values: dict[str, Any] = {
        "model": "m",
        "prompt": "p",
        "request": f"r{n}",
        "text": f"t{n}",
        "tokens_in": 100 * n,
        "tokens_out": n,
    }
    return ModelCall(role=role, phase=phase, **{**values, **fields})


def test_mera_73_offline_is_summary_plus_update_and_shared_among_conversations() -> None:
    sums = totals([call("extract", "summary", 1), call("manage", "update", 2), call(n=3)])
    assert sums.summary == TokenSum(calls=1, tokens_in=100, tokens_out=1)
    assert sums.update == TokenSum(calls=1, tokens_in=200, tokens_out=2)
    assert sums.offline == TokenSum(calls=2, tokens_in=300, tokens_out=3)
    assert sums.offline.total == 303
    assert sums.offline.per(10) == (30.0, 0.3, 30.3)
    with pytest.raises(ValueError, match="0"):
        sums.offline.per(0)


def test_mera_73_without_an_update_phase_update_is_none_and_not_zero() -> None:
    sums = totals([call("extract", "summary")])
    assert sums.update is None
    assert sums.offline == sums.summary
    assert totals([call("manage", "update", tokens_in=0, tokens_out=0)]).update == TokenSum(calls=1)


def test_mera_74_the_online_cost_is_the_sum_of_its_roles() -> None:
    online: list[Role] = ["seed", "plan", "verify", "plan", "answer"]
    sums = totals([call(role, n=n) for n, role in enumerate(online, 1)])
    assert sums.roles["plan"] == TokenSum(calls=2, tokens_in=600, tokens_out=6)
    assert set(sums.roles) == {"seed", "plan", "verify", "answer"}
    assert sum(part.total for part in sums.roles.values()) == sums.online.total == 1515


def test_mera_75_judge_calls_embeddings_and_the_build_are_counted_apart() -> None:
    calls = [
        call("extract", "summary", 1),
        call("judge", "judge", 2),
        call("judge", "online", 3),
        call("answer", "online", 4),
    ]
    sums = totals(calls, embeddings=7)
    assert sums.judge == TokenSum(calls=2, tokens_in=500, tokens_out=5)
    assert sums.embeddings == 7
    assert sums.online.total == 404 and sums.offline.total == 101
    assert "judge" not in sums.roles


def test_mera_76_discarded_text_counts_as_it_was_paid_for() -> None:
    sums = totals([call(n=1, outcome="discarded"), call(n=2)])
    assert sums.online == TokenSum(calls=2, tokens_in=300, tokens_out=3)
    assert sums.discarded == 1


def test_mera_76_prompt_tokens_from_a_prefix_cache_count_in_full() -> None:
    sums = totals([call(n=5, tokens_cached=400)])
    assert sums.online == TokenSum(calls=1, tokens_in=500, tokens_out=5, tokens_cached=400)
    assert sums.online.total == 505


def test_mera_76_an_exact_replay_is_counted_once() -> None:
    real, played = call(n=1), call(n=1, outcome="replayed")
    once = TokenSum(calls=1, tokens_in=100, tokens_out=1)
    assert totals([real, played, played]).online == once
    assert totals([played, played]).online == once  # a second run reports what the first did
    assert totals([real, real]).online.calls == 2  # two real calls are two, though equal
    other = replace(played, model="other")
    assert totals([real, played, other]).online.calls == 2
    assert totals([real, played]).replayed == 1


def test_mera_76_an_interrupted_call_without_usage_is_excluded() -> None:
    broken = call(n=1, outcome="failed", text="", tokens_in=0, tokens_out=0)
    sums = totals([broken, call(n=2)])
    assert sums.online == TokenSum(calls=1, tokens_in=200, tokens_out=2)
    assert sums.failed == 1
    assert counted([broken]) == ()


def test_ben_9_every_column_of_the_ledger_is_there() -> None:
    sums = totals([call(n=1, outcome="discarded", tokens_cached=9), call(outcome="failed")])
    assert (sums.discarded, sums.failed, sums.replayed) == (1, 1, 0)
    assert sums.online.tokens_cached == 9


def test_the_digest_of_a_request_covers_what_is_sent_and_only_that() -> None:
    one = ChatRequest(
        messages=(ChatMessage(role="user", text="hi"),), role="plan", schema={"type": "object"}
    )
    assert one.digest == replace(one, role="seed", prompt="x", phase="update").digest
    changes: list[dict[str, Any]] = [
        {"messages": (ChatMessage(role="system", text="hi"),)},
        {"messages": (ChatMessage(role="user", text="hi\ud800"),)},
        {"schema": None},
        {"schema_name": "other"},
        {"max_tokens": 5},
        {"temperature": 0.5},
        {"seed": 1},
    ]
    hashes = {replace(one, **change).digest for change in changes}
    assert len(hashes) == len(changes) and one.digest not in hashes


def test_what_became_of_a_reply_is_settled_later_and_only_on_its_own_attempt() -> None:
    ledger = Ledger()
    first, second = ChatReply(text="same"), ChatReply(text="same")
    ledger.add(call(n=1), first)
    ledger.add(call(n=2), second)
    ledger.add(call(n=3, outcome="replayed"), third := ChatReply(text="x"))
    ledger.settle(first, "discarded", "no JSON")
    ledger.settle(third, "discarded", "no JSON")
    ledger.settle(ChatReply(text="unknown"), "discarded", "?")
    assert [(c.outcome, c.problem) for c in ledger.calls] == [
        ("discarded", "no JSON"),
        ("ok", ""),
        ("replayed", "no JSON"),
    ]


def test_attempts_of_many_threads_are_all_kept() -> None:
    ledger = Ledger()

    def work() -> None:
        for n in range(200):
            reply = ChatReply(text=str(n))
            ledger.add(call(n=1), reply)
            ledger.settle(reply, "discarded", str(n))

    threads = [threading.Thread(target=work) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ledger.calls) == 1000
    assert all(c.outcome == "discarded" for c in ledger.calls)


def test_causes_are_counted_by_kind_and_not_by_place() -> None:
    calls = [
        call(problem="code fence; trailing comma"),
        call(problem="trailing comma; facts[3].n: '5' taken as 5"),
        call(problem="bare list; left out facts[1].text: missing; got keys ['x']"),
        call(problem="no JSON could be read: a key is due; got 'x'", outcome="discarded"),
        call(problem="RateLimited: slow down; wait", outcome="failed"),
        call(),
    ]
    assert causes(calls) == {
        "trailing comma": 2,
        "code fence": 1,
        "N": 1,
        "bare list": 1,
        "missing": 1,
        "got keys [N]": 1,
        "no JSON could be read": 1,
        "RateLimited": 1,
    }
