"""Whatever models say, a question ends with a checked answer and a trace that replays."""

from __future__ import annotations

import dataclasses
import json
import random
from typing import Any

import pytest
from qemem_world import ask, view

from evimem.model.chat import ChatReply, ChatRequest
from evimem.query.qemem.fusion import Budgets
from evimem.recipes.qemem import FULL, QEM_RECIPES, rebuilt
from evimem.trace import Trace

WORDS = (
    "kiln", "Pavel", "yesterday", "T1", "[T2]", "E1", "S9", "v1", "\n", "\u2028", "\x00", "“", '"',
    "FINAL ANSWER:", "no information", "900", "\ud83e", "🦆", "# NOTE", "{cards}", "窑", "<think>",
    "3 March 2031", "a new kiln from Pavel", "not mentioned", "-", "*", "",
)  # fmt: skip


def text(rng: random.Random) -> str:
    return " ".join(rng.choice(WORDS) for _ in range(rng.choice((0, 1, 2, 5, 40))))


def value(rng: random.Random, depth: int = 0) -> Any:
    kinds = [text, lambda r: r.random() < 0.5, lambda r: r.randint(-9, 9), lambda _: None]
    if depth < 2:
        kinds += [
            lambda r: [value(r, depth + 1) for _ in range(r.randint(0, 3))],
            lambda r: {text(r): value(r, depth + 1) for _ in range(r.randint(0, 2))},
        ]
    return rng.choice(kinds)(rng)


def maybe(rng: random.Random, right: Any) -> Any:
    return right if rng.random() < 0.9 else value(rng)


def reply(rng: random.Random, request: ChatRequest) -> Any:
    """A reply of the right shape most of the time, of any other now and then."""
    if rng.random() < 0.1:
        return text(rng)
    data: Any
    if request.role == "plan":
        data = {
            "need": maybe(rng, text(rng)),
            "answer_type": maybe(rng, rng.choice(("date", "list", text(rng)))),
            "aggregate": maybe(rng, rng.random() < 0.5),
            "temporal": maybe(rng, True),
            "queries": maybe(rng, [text(rng) for _ in range(rng.randint(0, 9))]),
        }
    elif request.role == "verify":
        data = {
            "cards": maybe(
                rng,
                [
                    {
                        "claim": maybe(rng, text(rng)),
                        "sources": maybe(
                            rng, [f"{rng.choice('EST')}{rng.randint(0, 9)}", text(rng)]
                        ),
                        "quote": maybe(rng, text(rng)),
                        "time": maybe(rng, text(rng)),
                        "relation": maybe(rng, text(rng)),
                    }
                    for _ in range(rng.randint(0, 4))
                ],
            ),
            "sufficient": maybe(rng, rng.random() < 0.3),
            "missing": maybe(rng, text(rng)),
            "follow_up_queries": maybe(rng, [text(rng) for _ in range(rng.randint(0, 5))]),
        }
    else:
        return ChatReply(
            text=f"{text(rng)} {rng.choice(('', 'FINAL ANSWER:'))} {text(rng)}",
            finish=rng.choice(("stop", "stop", "length")),
        )
    words = json.dumps(data)
    return words[: rng.randint(0, len(words))] if rng.random() < 0.05 else words


@pytest.mark.parametrize("seed", range(60))
def test_any_replies_end_in_a_checked_answer_and_a_trace_that_replays(seed: int) -> None:
    rng = random.Random(seed)
    config = dataclasses.replace(
        QEM_RECIPES[rng.choice(sorted(QEM_RECIPES))],
        narrow=Budgets(episode=1, semantic=1, turn=rng.randint(1, 3)),
    )
    over = view()
    trace, models = ask(
        "From whom did Mira buy her kiln?",
        lambda request: reply(rng, request),
        config,
        over=over,
        window=rng.choice((0, 4000)),
    )
    assert trace.answer is not None and trace.answer.text.strip()
    assert (trace.answer.status == "supported") <= bool(trace.answer.citations)
    for cited in trace.answer.citations:
        (entry,) = over.get([cited.turn_id])
        assert entry.body[cited.start : cited.end] == cited.quote != ""
    assert Trace.from_json(json.loads(json.dumps(trace.to_json()))) == trace
    sent = {request.digest for request in models.requests}
    assert {one.request.digest for one in rebuilt(config, trace)} <= sent
    cards = [c for done in trace.rounds if done.assessment for c in done.assessment.cards]
    assert [c.card_id for c in cards] == [f"v{n}" for n in range(1, len(cards) + 1)]
    for made in cards:
        assert made.claim and len(made.sources) == len(made.item_ids)
        assert not made.quote_verified or made.start < made.end
    for done in trace.rounds:
        assert done.assessment is None or (
            [d.item_id for d in done.assessment.decisions] == [c.item_id for c in done.candidates]
        )
    assert FULL.refinements + 1 >= len(trace.rounds)
