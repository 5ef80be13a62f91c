"""The shared prompt shows what the system's own prompt showed, cut from the end."""

from __future__ import annotations

from datetime import UTC, datetime

from evimem.embed.hashing import HashingEmbedder
from evimem.errors import ModelServerError
from evimem.eval.harness.capped import CappedSession
from evimem.eval.harness.rows import AskRow
from evimem.eval.harness.shared import SHARED, shared_answer
from evimem.eval.harness.system import Shown, Tools
from evimem.llm.scripted import ScriptedModels, ScriptedReply
from evimem.model.chat import ChatMessage, ChatRequest
from evimem.model.evidence import Question

DAY = datetime(2024, 5, 2, 9, tzinfo=UTC)
ROW = AskRow(
    system="any",
    question_id="q",
    shown=(
        Shown(text="the bakery is Amber", said_at=DAY, speaker="Marek"),
        Shown(text="a fact of no time"),
    ),
)


def tools_of(script: object, window: int = 0) -> tuple[Tools, ScriptedModels]:
    models = ScriptedModels({"answer": script}, window=window)  # type: ignore[dict-item]
    return Tools(session=models.session(), embedder=HashingEmbedder(), now=DAY), models


def test_memories_come_dated_in_the_systems_order_and_its_name_is_not_told() -> None:
    tools, models = tools_of(["Amber"])

    row = shared_answer(ROW, Question(text="Which bakery?"), tools)

    assert (row.answer, row.cut, row.prompt) == ("Amber", 0, SHARED.tag)
    told = models.requests[0].messages[1].text
    assert "[9:00 am on 2 May 2024] Marek: the bakery is Amber\na fact of no time" in told
    assert "any" not in told.split()


def test_what_does_not_fit_the_window_is_cut_from_the_end_and_counted() -> None:
    tools, _ = tools_of(["Amber"], window=600)
    long = AskRow(system="any", question_id="q", shown=(*ROW.shown, Shown(text="word " * 900)))

    assert shared_answer(long, Question(text="Which bakery?"), tools).cut == 1


def test_a_model_that_fails_is_told_in_the_row() -> None:
    tools, _ = tools_of([ModelServerError("down")] * 10)

    row = shared_answer(ROW, Question(text="Which bakery?"), tools)

    assert "down" in row.failed and row.answer == ""


def test_a_capped_session_lowers_every_ceiling_and_raises_none() -> None:
    seen: list[int] = []

    def note(request: ChatRequest) -> ScriptedReply:
        seen.append(request.max_tokens)
        return "x"

    model = CappedSession(ScriptedModels(note).session(), 100).model("answer")
    said = (ChatMessage(role="user", text="hi"),)
    model.chat(ChatRequest(messages=said, role="answer", max_tokens=500))
    model.chat(ChatRequest(messages=said, role="answer", max_tokens=40))

    assert seen == [100, 40]
