"""Budget and ledger of one operation."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evimem.errors import BudgetExceeded, InvalidReply, ModelServerError, PromptTooLong
from evimem.llm.scripted import ScriptedModels
from evimem.llm.session import ANSWER_TOKENS, Budget, most_tokens
from evimem.model.chat import ChatMessage, ChatReply, ChatRequest, Phase, Role
from evimem.model.cost import totals

YES: dict[str, Any] = {
    "type": "object",
    "properties": {"yes": {"type": "boolean"}},
    "required": ["yes"],
    "additionalProperties": False,
}


def request(
    role: Role = "plan", *, phase: Phase = "online", schema: Any = None, max_tokens: int = 100
) -> ChatRequest:
    return ChatRequest(
        messages=(ChatMessage(role="user", text="one two three"),),
        role=role,
        phase=phase,
        schema=schema,
        max_tokens=max_tokens,
        prompt="test.plan@1#0",
    )


def usage(tokens: int) -> ChatReply:
    return ChatReply(text="ok", tokens_in=tokens, tokens_out=0)


def test_every_attempt_is_a_call_in_the_order_finished() -> None:
    replies = [ModelServerError("503"), "no json", '{"yes": true}']
    session = ScriptedModels({"plan": replies}).session()
    assert session.model("plan").chat(request(schema=YES)).data == {"yes": True}
    assert [(c.outcome, c.text) for c in session.calls] == [
        ("failed", ""),
        ("discarded", "no json"),
        ("ok", '{"yes": true}'),
    ]
    failed, discarded, _ = session.calls
    assert failed.problem == "ModelServerError: 503" and failed.tokens_in == 0
    assert discarded.problem.startswith("no JSON could be read")
    assert discarded.tokens_in > 0 and discarded.role == "plan" and discarded.model
    assert failed.request == discarded.request != session.calls[2].request
    assert discarded.prompt == "test.plan@1#0"


def test_a_reply_that_stays_unusable_is_discarded_and_still_counted() -> None:
    session = ScriptedModels({"plan": ["no", "never"]}).session()
    with pytest.raises(InvalidReply):
        session.model("plan").chat(request(schema=YES))
    assert [c.outcome for c in session.calls] == ["discarded", "discarded"]
    assert totals(session.calls).online.calls == 2


def test_mera_76_a_reply_thrown_away_below_counts_by_its_usage() -> None:
    cut = PromptTooLong("the server cut the prompt", tokens_in=400, tokens_out=30)
    script = [cut, PromptTooLong("nothing was sent")]
    session = ScriptedModels({"answer": script}, max_tokens=700).session()
    for _ in range(2):
        with pytest.raises(PromptTooLong):
            session.model("answer").chat(request("answer"))
    assert [c.outcome for c in session.calls] == ["discarded", "failed"]
    assert totals(session.calls).online.total == 430
    with pytest.raises(BudgetExceeded, match="430 of 700"):
        session.model("answer").chat(request("answer", max_tokens=300))


def test_two_sessions_share_no_ledger_and_no_budget() -> None:
    models = ScriptedModels(lambda asked: "ok", max_calls=2)
    for _ in range(3):
        session = models.session()
        session.model("plan").chat(request())
        assert len(session.calls) == 1


def test_case_p025_the_smaller_of_the_callers_and_the_operators_ceiling_holds() -> None:
    for operator, caller, allowed in ((3, 50, 3), (50, 3, 3), (3, None, 3), (None, 3, 3)):
        models = ScriptedModels(lambda asked: "ok", max_calls=operator)
        session = models.session(max_calls=caller)
        for _ in range(allowed):
            session.model("answer").chat(request("answer"))
        with pytest.raises(BudgetExceeded):
            session.model("answer").chat(request("answer"))
        assert len(session.calls) == len(models.requests) == allowed


def test_case_p025_the_error_says_ceiling_used_and_what_raises_it() -> None:
    budget = Budget(max_calls=9, operator_calls=2)
    budget.hold(request())
    with pytest.raises(BudgetExceeded) as caught:
        budget.hold(request())
    assert str(caught.value) == (
        "no call is left for 'plan': 1 of 2 are used, and the last one is kept for the answer. "
        "To allow more, the operator raises EVIMEM_LLM_MAX_CALLS."
    )
    budget = Budget(max_tokens=10, operator_tokens=500)
    with pytest.raises(
        BudgetExceeded, match="raise max_tokens, which EVIMEM_LLM_MAX_TOKENS allows"
    ):
        budget.hold(request("answer"))
    with pytest.raises(ValueError, match="max_calls=-1"):
        Budget(max_calls=-1)


def test_the_last_call_of_a_question_is_kept_for_the_answer() -> None:
    session = ScriptedModels(lambda asked: "ok", max_calls=3).session()
    session.model("plan").chat(request())
    session.model("verify").chat(request("verify"))
    with pytest.raises(BudgetExceeded, match="kept for the answer"):
        session.model("plan").chat(request())
    assert session.model("answer").chat(request("answer")).text == "ok"
    with pytest.raises(BudgetExceeded):
        session.model("answer").chat(request("answer"))


def test_once_answered_nothing_is_kept_back() -> None:
    session = ScriptedModels(lambda asked: "ok", max_calls=2).session()
    session.model("answer").chat(request("answer"))
    session.model("verify").chat(request("verify"))


def test_tokens_for_the_answer_are_kept_too() -> None:
    ceiling = 4 * ANSWER_TOKENS
    budget = Budget(operator_tokens=ceiling)
    big = request(max_tokens=ceiling - ANSWER_TOKENS - 100)
    with pytest.raises(BudgetExceeded, match=f"{ANSWER_TOKENS} are kept for the answer"):
        budget.hold(request(max_tokens=ceiling - ANSWER_TOKENS))
    budget.spend(budget.hold(big), most_tokens(big))
    with pytest.raises(BudgetExceeded):
        budget.hold(request(max_tokens=200))
    budget.hold(request("answer", max_tokens=2000))


def test_retries_cost_calls_too() -> None:
    models = ScriptedModels(lambda asked: ModelServerError("503"), max_calls=4)
    session = models.session()
    with pytest.raises(BudgetExceeded):
        session.model("plan").chat(request())
    assert len(session.calls) == len(models.requests) == 3


def test_a_call_that_failed_gives_its_tokens_back() -> None:
    script = [ModelServerError("503")] * 5 + ["ok"]
    session = ScriptedModels({"default": script}, max_tokens=700).session()
    session.model("answer").chat(request("answer", max_tokens=600))
    assert totals(session.calls).online.calls == 1


def test_the_operators_ceilings_are_per_question_and_the_callers_bind_a_build_too() -> None:
    models = ScriptedModels(lambda asked: usage(50), max_calls=2, max_tokens=100)
    session = models.session()
    phases: tuple[Phase, ...] = ("summary", "update", "summary", "update")
    for phase in phases:
        session.model("extract").chat(request("extract", phase=phase))
    assert len(session.calls) == 4
    session = models.session(max_calls=3)
    for _ in range(3):
        session.model("extract").chat(request("extract", phase="summary"))
    with pytest.raises(BudgetExceeded, match=r"3 of 3 are used\. To allow more, raise max_calls\."):
        session.model("extract").chat(request("extract", phase="summary"))


@settings(max_examples=100, deadline=None)
@given(
    ceiling=st.integers(0, 3000),
    asked=st.integers(0, 10_000),
    calls=st.lists(st.tuples(st.integers(1, 2000), st.floats(0, 1)), max_size=12),
)
def test_case_p025_tokens_never_exceed_the_ceiling(
    ceiling: int, asked: int, calls: list[tuple[int, float]]
) -> None:
    shares = iter(calls)

    def script(sent: ChatRequest) -> ChatReply:
        _, share = current
        return usage(int(most_tokens(sent) * share))

    session = ScriptedModels(script, max_tokens=ceiling).session(max_tokens=asked)
    for current in shares:
        try:
            session.model("seed").chat(request("seed", max_tokens=current[0]))
        except BudgetExceeded:
            continue
    assert totals(session.calls).online.total <= min(ceiling, asked)


def test_threads_together_never_exceed_a_ceiling() -> None:
    gate = threading.Barrier(4, timeout=10)

    def script(sent: ChatRequest) -> ChatReply:
        gate.wait()  # four are inside at once, so what they hold counts before what they use
        return usage(100)

    session = ScriptedModels(script, max_calls=8, max_tokens=1000).session()
    model = session.model("answer")

    def work(n: int) -> bool:
        try:
            model.chat(request("answer", max_tokens=100))
        except BudgetExceeded:
            return False
        return True

    with ThreadPoolExecutor(4) as workers:
        assert list(workers.map(work, range(4))) == [True] * 4
        assert list(workers.map(work, range(4))) == [True] * 4
        assert list(workers.map(work, range(4))) == [False] * 4
    assert totals(session.calls).online.total == 800
