"""The report page and figures of dev/run_conv26.py, over a made-up trace."""

from __future__ import annotations

import importlib
import json
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from evimem.datasets import Gold
from evimem.engine.build_plan import BuildState
from evimem.model.answer import Answer, Usage
from evimem.model.chat import ModelCall
from evimem.model.evidence import (
    Assessment,
    Candidate,
    Decision,
    EvidenceItem,
    Intent,
    Plan,
    Question,
)
from evimem.model.turn import Turn
from evimem.trace import Round, Trace

NASTY = "<script>alert('x')</script> & \"quoted\""


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """dev/run_conv26.py as a module, with its neighbours."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "dev"))
    return importlib.import_module("run_conv26")


def candidate(turn: str, n: int) -> Candidate:
    return Candidate(
        item_id=turn, payload=f"Ada:\n- {NASTY}", score=0.5, rank=1, round=n, refs=(turn,)
    )


def judged(n: int, turn: str, verdict: Any) -> Round:
    evidence = EvidenceItem(item_id=turn, quote="", start=0, end=0, round=n, refs=(turn,))
    return Round(
        n=n,
        state_before="",
        candidates=(candidate(turn, n),),
        plan=Plan(intents=(Intent(fact=NASTY),), dropped=(NASTY,)),
        assessment=Assessment(
            decisions=(Decision(item_id=turn, verdict=verdict, reason=NASTY),),
            evidence=(evidence,) if verdict == "accept" else (),
            sufficient=False,
            missing=NASTY,
        ),
        calls=(
            ModelCall(
                role="plan", phase="online", model="m", prompt="p", request="r",
                outcome="discarded", problem=NASTY, text=NASTY, tokens_in=7, tokens_out=3,
            ),
        ),
    )  # fmt: skip


@pytest.fixture
def made(runner: ModuleType) -> Any:
    """A run of one question with two gold turns: one accepted in round 1, one only viewed in 2."""
    turns = {
        f"t{n}": Turn(
            turn_id=f"t{n}", session_id="s", index=n, speaker="Ada", role="person", text=NASTY,
            source_id=f"D1:{n}",
        )
        for n in (1, 2)
    }  # fmt: skip
    trace = Trace(
        trace_id="q1",
        bank="default",
        question=NASTY,
        recipe="mera",
        created_at="2026-01-01T00:00:00+00:00",
        rounds=(judged(1, "t1", "accept"), judged(2, "t2", "reject")),
        answer=Answer(text=NASTY, status="partial", missing=NASTY),
        usage=Usage(calls=2, tokens_in=14, tokens_out=6, seconds=1.5),
    )
    asked = runner.Asked(
        question=Question(text=NASTY, question_id="conv-26#1"),
        gold=Gold(
            question_id="conv-26#1", history_id="conv-26", category="multi-hop", answer=NASTY
        ),
        gold_turns=("t1", "t2"),
        trace=trace,
    )
    return runner.Run(
        manifest={"model": NASTY},
        turns=turns,
        state=BuildState(turns=2, done=1, fallback=1, facts=2, with_facts=2),
        build={
            "calls": 2, "tokens_in": 10, "tokens_out": 5, "tokens_cached": 0, "seconds": 1.0,
            "read": 2, "rejected": {},
        },
        records=[{"turn_id": "t1", "status": "fallback", "detail": NASTY, "raw": NASTY}],
        asked=[asked],
    )  # fmt: skip


class Reading(HTMLParser):
    """Checks that tags close in order, and gathers what could load something."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        if tag not in ("meta", "br"):
            self.open.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_escapes_everything_and_loads_nothing(runner: ModuleType, made: Any) -> None:
    page = runner.conv26_page.page(made, runner.summary(made))
    reading = Reading()
    reading.feed(page)
    assert reading.open == []
    assert "script" not in reading.seen
    assert all(link.startswith("#") for link in reading.links)
    assert "url(" not in page and "@import" not in page
    assert page.count("&lt;script&gt;") >= 12


def test_the_summary_counts_and_holds_no_words(runner: ModuleType, made: Any) -> None:
    figures = runner.summary(made)
    assert figures["recall_viewed_by_round"] == [0.5, 1.0]
    assert figures["recall_accepted_by_round"] == [0.5, 0.5]
    assert figures["by_role"]["plan"]["discarded"] == 2
    assert figures["by_role"]["plan"]["tokens_in"] == 14
    assert figures["build"]["fallback"] == 1
    without_manifest = {key: value for key, value in figures.items() if key != "manifest"}
    assert "script" not in json.dumps(without_manifest)


@pytest.mark.data
def test_questions_are_drawn_evenly_and_only_from_built_turns(
    runner: ModuleType, data_dir: Path
) -> None:
    dataset = runner.load("locomo", data_dir=data_dir)
    history = dataset.histories["conv-26"]
    first = {one.session_id for one in history.sessions[:4]}
    built = {turn.source_id for turn in history.turns if turn.session_id in first}
    picked = runner.chosen(dataset, built, count=10, seed=26)
    assert picked == runner.chosen(dataset, built, count=10, seed=26)
    golds = [dataset.gold[question.question_id] for question in picked]
    assert len({gold.question_id for gold in golds}) == 10
    assert all(set(gold.evidence) <= built for gold in golds)
    counts = [[gold.category for gold in golds].count(one) for one in {g.category for g in golds}]
    assert counts == [2, 2, 2, 2, 2]
