"""Measures the answers of `lite` and fits the constants of its abstention; run by hand.

    python dev/fit_answer.py --data DIR --cache DIR [--split tune|report] [--fit] [--show KIND]

Splits: `tune` (LoCoMo conv-26 and conv-30, the LongMemEval tune part) is what constants are chosen
on; `report` only ever measures. What was tried, with figures, stands in dev/notes-answer.md.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from evimem.datasets import Dataset, Gold, load, take
from evimem.embed.local import LocalEmbedder
from evimem.eval.vector_cache import CachedEmbedder
from evimem.model.evidence import EvidenceState, Question
from evimem.query.lite.abstain import Signals, is_chat, log_odds, signals
from evimem.query.lite.answer import LiteAnswerer
from evimem.query.lite.answer_rank import read
from evimem.query.lite.packager import LitePackager
from evimem.query.lite.proposer import LiteProposer
from evimem.query.memory_view import MemoryView
from evimem.query.parts import BankView, Draft
from evimem.temporal import normalise_date_answer
from evimem.trace import SearchStep

ROUNDS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One answered question."""

    question: Question
    gold: Gold
    draft: Draft
    signals: Signals
    chat: bool
    kind: str
    complete: bool
    seconds: float


def viewed(question: Question, view: BankView) -> EvidenceState:
    """The state after ROUNDS rounds of proposer and packager, without an assessor."""
    state = EvidenceState(question=question)
    for number in range(1, ROUNDS + 1):
        steps = tuple(
            SearchStep(request=p.request, why=p.why, hits=view.search(p.request))
            for p in LiteProposer().propose(state, view).searches
        )
        shown = LitePackager().package(steps, state, view)
        state = EvidenceState(
            question=question,
            requests=(*state.requests, *(s.request for s in steps)),
            viewed=tuple(dict.fromkeys((*state.viewed, *(c.item_id for c in shown)))),
            round=number,
        )
    return state


def answered(data: Dataset, embedder: CachedEmbedder) -> list[Case]:
    """Every question of a part, answered."""
    cases: list[Case] = []
    by_history: dict[str, list[Question]] = {}
    for question in data.questions:
        by_history.setdefault(data.gold[question.question_id].history_id, []).append(question)
    for history_id, questions in by_history.items():
        history = data.histories[history_id]
        view = MemoryView(history, embedder=embedder)
        source = {turn.turn_id: turn.source_id for turn in history.turns}
        for question in questions:
            state = viewed(question, view)
            begun = time.perf_counter()
            draft = LiteAnswerer().answer(state, view)
            seconds = time.perf_counter() - begun
            reading = read(state, view)
            gold = data.gold[question.question_id]
            seen = {source[one] for one in state.viewed}
            cases.append(
                Case(
                    question=question,
                    gold=gold,
                    draft=draft,
                    signals=signals(reading),
                    chat=is_chat(reading),
                    kind=reading.analysis.kind,
                    complete=bool(gold.evidence) and set(gold.evidence) <= seen,
                    seconds=seconds,
                )
            )
    return cases


def report(name: str, cases: list[Case]) -> None:
    """Abstention and when-questions of one data set."""
    yes = [c for c in cases if c.gold.answerable]
    no = [c for c in cases if not c.gold.answerable]
    kept = sum(c.draft.status != "not_in_memory" for c in yes)
    refused = sum(c.draft.status == "not_in_memory" for c in no)
    rates = kept / max(len(yes), 1), refused / max(len(no), 1)
    print(f"{name}: answerable answered {kept}/{len(yes)} = {rates[0]:.3f}", end="; ")
    print(f"unanswerable refused {refused}/{len(no)} = {rates[1]:.3f}", end="; ")
    print(f"balanced accuracy {sum(rates) / 2:.3f}")
    when = [c for c in yes if c.question.text.casefold().startswith("when")]
    found = [c for c in when if c.complete]
    same = sum(is_same(c) for c in found)
    print(f"  when: gold turns viewed {len(found)}/{len(when)}, exact {same}/{len(found)}")
    print("  status:", dict(Counter(c.draft.status for c in cases)), end="; ")
    print(f"{1000 * np.median([c.seconds for c in cases]):.1f} ms a question (median)")


def is_same(case: Case) -> bool:
    """True if the answer is the gold answer, normalised."""
    return normalise_date_answer(case.draft.text) == normalise_date_answer(case.gold.answer)


def fit(cases: list[Case]) -> None:
    """Logistic constants for the two kinds of questions, classes weighted alike."""
    for name, chat, columns in (
        ("one person", False, ("margin", "word_margin", "words")),
        ("no person or chat", True, ("words",)),
    ):
        part = [c for c in cases if (c.chat or not c.signals.person) is chat]
        truth = np.array([c.gold.answerable for c in part])
        if truth.all() or not truth.any():
            print(f"{name}: n = {len(part)}, one class only")
            continue
        table = np.array([[getattr(c.signals, k) for k in columns] for c in part], dtype=float)
        weights, bias = logistic(table, truth)
        odds = table @ weights + bias
        now = np.array([log_odds(c.signals, chat=c.chat) for c in part])
        print(name, len(part), dict(zip(columns, weights.round(2), strict=True)), round(bias, 2))
        print("  fitted", rates(odds, truth), "constants in the code", rates(now, truth))


def logistic(table: np.ndarray, truth: np.ndarray, *, ridge: float = 1.0) -> tuple:
    """Weights and bias on the raw scale, by gradient descent with a ridge on the z-scores."""
    mean, spread = table.mean(axis=0), table.std(axis=0) + 1e-9
    z = np.c_[(table - mean) / spread, np.ones(len(table))]
    cost = np.where(truth, 0.5 / truth.mean(), 0.5 / (1 - truth.mean()))
    w = np.zeros(z.shape[1])
    for _ in range(4000):
        gradient = z.T @ (cost * (1 / (1 + np.exp(-z @ w)) - truth))
        w -= 0.005 * (gradient + ridge * np.r_[w[:-1], 0])
    raw = w[:-1] / spread
    return raw, float(w[-1] - raw @ mean)


def rates(odds: np.ndarray, truth: np.ndarray) -> str:
    """Share of answerable kept, of unanswerable refused, and their mean."""
    kept, refused = float((odds[truth] > 0).mean()), float((odds[~truth] <= 0).mean())
    return f"{kept:.3f} / {refused:.3f} = {(kept + refused) / 2:.3f}"


def show(cases: list[Case], kind: str) -> None:
    """Questions of a kind with gold and answer, for reading."""
    for case in cases:
        if kind in (case.kind, case.gold.category):
            print(f"{case.question.text} | {case.gold.answer} => {case.draft.status}: ", end="")
            print(f"{case.draft.text} | {case.draft.missing}")


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--split", default="tune", choices=("tune", "report"))
    parser.add_argument("--sets", default="locomo,longmemeval")
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--show", default="")
    given = parser.parse_args()
    everything: list[Case] = []
    with CachedEmbedder(LocalEmbedder(), given.cache) as embedder:
        for name in given.sets.split(","):
            data = take(load(name, data_dir=given.data), given.split)
            cases = answered(data, embedder)
            report(f"{name}/{given.split}", cases)
            show(cases, given.show)
            everything.extend(cases)
    if given.fit and given.split == "tune":
        fit(everything)


if __name__ == "__main__":
    main()
