"""LongMemEval's retrieval metrics: hand-computed values, quirks, and BM25 on the real haystacks."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from rank_bm25 import BM25Okapi

from evimem.datasets import load_set
from evimem.model.turn import History, Role, Session, Turn
from evimem.scoring.lme_retrieval import (
    lme_ndcg_any,
    lme_recall_all,
    lme_recall_any,
    ndcg,
    sessions_in_order,
    user_corpus,
)

SAID: tuple[tuple[str, Role, str], ...] = (
    ("answer_1", "user", "one"),
    ("answer_1", "assistant", "two"),
    ("answer_1", "user", "three"),
    ("answer_2", "user", "four"),
    ("answer_2", "assistant", "five"),
    ("x", "assistant", "six"),
)


def haystack() -> History:
    day = datetime(2023, 5, 1, tzinfo=UTC)
    names = list(dict.fromkeys(name for name, _, _ in SAID))
    sessions = tuple(Session(session_id=f"s-{n}", source_id=n, started_at=day) for n in names)
    turns = []
    for name in names:
        for index, (_, role, text) in enumerate(one for one in SAID if one[0] == name):
            turns.append(
                Turn(
                    turn_id=f"{name}-{index}",
                    session_id=f"s-{name}",
                    index=index,
                    speaker=role,
                    role=role,
                    text=text,
                    said_at=day,
                    source_id=f"{name}_{index + 1}",
                )
            )
    return History(history_id="h", sessions=sessions, turns=tuple(turns))


def test_only_user_turns_are_searched_and_only_labelled_ones_are_gold() -> None:
    labelled = ["answer_1_3", "answer_2_2"]  # the second is the assistant's
    turns = user_corpus(haystack(), labelled, granularity="turn")
    assert turns.ids == ("answer_1_1", "answer_1_3", "answer_2_1")
    assert turns.gold == {"answer_1_3"}
    sessions = user_corpus(haystack(), labelled, granularity="session")
    assert sessions.ids == ("answer_1", "answer_2", "x")
    assert sessions.texts == ("one three", "four", "")
    assert sessions.gold == {"answer_1"}
    assert not user_corpus(haystack(), ["answer_2_2"], granularity="session").gold


def test_recall_any_and_all_differ_with_two_gold_ids() -> None:
    ranking, gold = ["a", "b", "c", "d"], {"b", "d"}
    assert [lme_recall_any(ranking, gold, k) for k in (1, 2, 4)] == [0.0, 1.0, 1.0]
    assert [lme_recall_all(ranking, gold, k) for k in (1, 2, 4)] == [0.0, 0.0, 1.0]


def test_the_benchmarks_ndcg_counts_rank_two_in_full_and_the_usual_one_does_not() -> None:
    assert lme_ndcg_any(["a", "b"], {"b"}, 2) == 1.0
    assert ndcg(["a", "b"], {"b"}, 2) == pytest.approx(1 / math.log2(3))
    ranking, gold = ["a", "b", "c", "d", "e"], {"c", "e", "z"}
    wanted = (1 / math.log2(3) + 1 / math.log2(5)) / (1 + 1 + 1 / math.log2(3))
    assert lme_ndcg_any(ranking, gold, 5) == pytest.approx(wanted)
    usual = (1 / math.log2(4) + 1 / math.log2(6)) / (1 + 1 / math.log2(3) + 1 / math.log2(4))
    assert ndcg(ranking, gold, 5) == pytest.approx(usual)
    assert lme_ndcg_any(["c", "e"], gold, 2) == ndcg(["c", "e"], gold, 2) == 1.0  # ideal cut at k
    assert lme_ndcg_any(["a"], gold, 1) == 0.0


def test_a_question_without_gold_is_left_out_and_not_scored() -> None:
    for metric in (lme_recall_any, lme_recall_all, lme_ndcg_any, ndcg):
        with pytest.raises(ValueError, match="leave the question out"):
            metric(["a"], set(), 5)


def test_turns_become_sessions_in_the_order_first_met() -> None:
    assert sessions_in_order(["s_1_4", "x_2", "s_1_1", "y_9"]) == ["s_1", "x", "y"]


@pytest.mark.data
def test_bm25_finds_the_share_of_evidence_that_the_reference_run_found(data_dir: Path) -> None:
    """The reference is 48 answerable questions; of these the data set holds a part, so bounds."""
    dataset = load_set("lme-500", data_dir)
    found: dict[str, list[float]] = {}
    for question in dataset.questions:
        gold = dataset.gold[question.question_id]
        history = dataset.history(question)
        for granularity in ("session", "turn"):
            corpus = user_corpus(history, gold.evidence, granularity=granularity)  # type: ignore[arg-type]
            if not gold.answerable or not corpus.gold:
                continue
            for name, split in (("official", str.split), ("regex", _regex_words)):
                index = BM25Okapi([split(text) for text in corpus.texts])
                order = np.argsort(-index.get_scores(split(question.text)), kind="stable")
                ranking = [corpus.ids[place] for place in order]
                key = f"{granularity} {name}"
                found.setdefault(f"{key} any@5", []).append(lme_recall_any(ranking, corpus.gold, 5))
                found.setdefault(f"{key} all@10", []).append(
                    lme_recall_all(ranking, corpus.gold, 10)
                )
    shares = {key: float(np.mean(values)) for key, values in found.items()}
    reference = {
        "session official any@5": 0.812,
        "session official all@10": 0.729,
        "session regex any@5": 0.875,
        "session regex all@10": 0.750,
        "turn official any@5": 0.562,
        "turn official all@10": 0.417,
        "turn regex any@5": 0.688,
        "turn regex all@10": 0.417,
    }
    assert {len(values) for values in found.values()} == {32}
    assert shares == pytest.approx(reference, abs=0.05)


def _regex_words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())
