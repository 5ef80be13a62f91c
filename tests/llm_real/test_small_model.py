"""Every prompt, schema and limit over real HTTP with a real, very small model.

What the model says is of no use and is not looked at; that the calls, the JSON, the counts and the
errors hold is. Skipped where the model or its server is not on this machine.
"""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Literal

import pytest

from evimem.build.prompts import extract
from evimem.errors import PromptTooLong, ReplyError, TruncatedReply
from evimem.llm.endpoints import chat_model, endpoint
from evimem.llm.pool import Endpoint, ModelPool
from evimem.llm.schema import check
from evimem.model.chat import ChatMessage, ChatReply, ChatRequest, JsonSchema
from evimem.model.turn import Turn
from evimem.ports import ModelSession
from evimem.query.mera.prompts import answer, plan, seed, verify

pytestmark = pytest.mark.slow

SCHEMA: JsonSchema = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "known": {"type": "boolean"}},
    "required": ["name", "known"],
    "additionalProperties": False,
}
RECORDS = (
    "c1: Nadia, said 2024-03-05 18:12 (Tuesday):\n- Nadia signed up for a pottery course.\n\n"
    "c2: Tom, said 2024-03-05 18:11 (Tuesday):\n- Tom works at the Corner Bakery."
)
TURN = Turn(
    turn_id="t1",
    session_id="s1",
    index=0,
    speaker="Nadia",
    role="person",
    text="I signed up for a pottery course last Tuesday.",
    said_at=datetime(2024, 3, 5, 18, 12, tzinfo=UTC),
)
QUESTION = "When did Nadia sign up for the pottery course?"
PROMPTS: dict[str, ChatRequest] = {
    "extract": extract.render(TURN),
    "seed": seed.render(QUESTION),
    "plan": plan.render(f"Question: {QUESTION}", graph=True),
    "plan, flat": plan.render(f"Question: {QUESTION}", graph=False),
    "verify": verify.render(QUESTION, state="", candidates=RECORDS, reference="", graph=True),
    "verify, flat": verify.render(
        QUESTION, state="", candidates=RECORDS, reference="", graph=False
    ),
    "answer": answer.render(QUESTION, graph="", records=RECORDS, reference=""),
    "answer, flat": answer.render(QUESTION, graph=None, records=RECORDS, reference=""),
}

Sessions = Callable[..., ModelSession]


@pytest.fixture
def session(small_server: dict[str, Any]) -> Sessions:
    """Makes a session of models that all are the small one."""

    def make(
        *, strategy: Literal["auto", "native", "json", "prompt"] = "auto", parallel: int = 2
    ) -> ModelSession:
        given = {
            "url": small_server["url"],
            "model": small_server["model"],
            "strategy": strategy,
            "timeout": 120,
        }
        made = chat_model(endpoint("small", given, setting="EVIMEM_LLM"))
        return ModelPool(
            [Endpoint(name="small", model=made, parallel=parallel)], slots={"default": "small"}
        ).session()

    return make


def asking(words: str, *, schema: JsonSchema | None = SCHEMA, most: int = 100) -> ChatRequest:
    return ChatRequest(
        messages=(ChatMessage(role="user", text=words),),
        role="plan",
        schema=schema,
        schema_name="person",
        max_tokens=most,
    )


@pytest.mark.parametrize("name", list(PROMPTS))
def test_the_server_takes_every_prompt_with_its_schema_and_the_reply_fits(
    session: Sessions, name: str
) -> None:
    request = dataclasses.replace(PROMPTS[name], max_tokens=min(160, PROMPTS[name].max_tokens))
    assert request.schema is not None
    models = session()
    try:
        data = models.model(request.role).chat(request).data
    except TruncatedReply as error:  # a model of this size may not come to an end
        assert error.raw.lstrip().startswith("{")
    else:
        assert check(data, request.schema).fits
    assert all(call.tokens_in > 0 and call.tokens_out > 0 for call in models.calls)
    assert models.calls[0].prompt == request.prompt


def test_a_reply_bound_to_a_schema_fits_it_and_comes_to_an_end(session: Sessions) -> None:
    models = session(strategy="native")
    reply = models.model("plan").chat(asking("Ada Lovelace. Her name, and is she known?"))
    assert check(reply.data, SCHEMA).fits
    assert reply.finish == "stop"
    assert [call.outcome for call in models.calls] == ["ok"]


@pytest.mark.parametrize("strategy", ["json", "prompt"])
def test_the_server_takes_requests_for_json_without_a_schema_too(
    session: Sessions, strategy: str
) -> None:
    models = session(strategy=strategy)
    try:
        reply = models.model("plan").chat(asking("Ada Lovelace. Her name, and is she known?"))
    except ReplyError:  # unbound, so small a model may well miss the schema
        assert all(call.outcome == "discarded" and call.problem for call in models.calls)
    else:
        assert check(reply.data, SCHEMA).fits
    assert sum(call.tokens_out for call in models.calls) > 0


def test_the_ceiling_of_tokens_is_kept_and_told(session: Sessions) -> None:
    models = session()
    with pytest.raises(TruncatedReply):
        models.model("plan").chat(asking("Name all the kings of France.", most=6))
    assert [call.tokens_out for call in models.calls] == [6]


def test_a_prompt_beyond_the_context_is_told_as_such_and_costs_nothing(session: Sessions) -> None:
    models = session()
    with pytest.raises(PromptTooLong, match="available context size"):
        models.model("plan").chat(asking("one two three four five " * 1200))
    assert sum(call.tokens_out for call in models.calls) == 0


def test_what_the_server_has_read_before_is_counted_as_cached(session: Sessions) -> None:
    models = session()
    words = asking("A long beginning that is the same each time. " * 20, schema=None, most=4)
    first = models.model("plan").chat(words)
    again = models.model("plan").chat(words)
    assert first.tokens_in == again.tokens_in
    assert 0 < again.tokens_cached <= again.tokens_in


def test_several_requests_at_once_are_all_answered_and_all_counted(session: Sessions) -> None:
    models = session(parallel=4)
    replies: list[ChatReply] = []

    def one(n: int) -> None:
        replies.append(models.model("plan").chat(asking(f"Say {n}.", schema=None, most=8)))

    threads = [threading.Thread(target=one, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert len(replies) == len(models.calls) == 4
    assert all(reply.tokens_out > 0 for reply in replies)


def test_the_server_ends_cleanly_when_it_is_told_to(
    small_server: dict[str, Any], start_python: Callable[..., subprocess.Popen[str]]
) -> None:
    process = start_python("serve_model.py", "--context", "512")
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["model"] == "smollm2"
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=20) == 0


@pytest.mark.skipif(os.name != "posix", reason="processes are adopted on POSIX systems only")
def test_the_server_does_not_outlive_the_process_that_started_it(
    small_server: dict[str, Any], start_python: Callable[..., subprocess.Popen[str]]
) -> None:
    parent = start_python(
        "-c",
        "import subprocess, sys\n"
        "p = subprocess.Popen([sys.executable, 'serve_model.py', '--context', '512'],"
        " stdout=subprocess.PIPE, text=True)\n"
        "p.stdout.readline()\n"
        "print(p.pid, flush=True)\n",
    )
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    parent.wait(timeout=20)
    for _ in range(100):
        try:
            os.kill(child, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    os.kill(child, signal.SIGKILL)
    pytest.fail("the server was still there 10 s after its parent was gone")
