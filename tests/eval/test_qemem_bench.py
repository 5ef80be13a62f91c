"""QEMem's retrieval bench: what each order of source turns is made of."""

from __future__ import annotations

from pathlib import Path

import pytest

from evimem.build.lite_spaces import lite_spaces
from evimem.datasets import Dataset
from evimem.embed.hashing import HashingEmbedder
from evimem.eval import report as report_module
from evimem.eval import suite
from evimem.eval.qemem_bench import MATCHED, QEMEM, qemem_systems, space_pool
from evimem.eval.report import plot, read_report, write_report
from evimem.eval.results import PairResult
from evimem.model.search import SearchRequest
from evimem.model.turn import History
from evimem.query.memory_view import MemoryView


@pytest.fixture
def history(dataset: Dataset) -> History:
    return dataset.histories["x"]


def ranked(name: str, history: History, question: str, k: int = 400) -> list[str]:
    embedder = HashingEmbedder()
    system = qemem_systems(space_pool(embedder), embedder)[name]()
    system.build(history)
    system.prepare(question)
    return system.rank(question, k)


@pytest.mark.parametrize("name", [QEMEM, "qemem-turns", "qemem-lists", "qemem-pool", MATCHED])
def test_every_system_orders_source_turns_each_once(name: str, history: History) -> None:
    order = ranked(name, history, "What is the name of Ana's kitten?")
    assert len(order) == len(set(order))
    assert set(order) <= {turn.turn_id for turn in history.turns}
    assert ranked(name, history, "What is the name of Ana's kitten?", 2) == order[:2]


def test_qem_31_without_other_spaces_and_examples_the_order_is_the_foundations(
    history: History,
) -> None:
    question = "Where is the lake?"
    view = MemoryView(history, embedder=HashingEmbedder())
    hits = view.search(SearchRequest(text=question, k=400))
    assert ranked("qemem-turns", history, question) == [hit.item_id for hit in hits]


def test_qem_31_matched_is_one_dense_list_of_the_store_by_the_question_as_asked(
    history: History,
) -> None:
    question = "What did Ana say about Pepper?"
    embedder = HashingEmbedder()
    texts = {turn.turn_id: turn.body for turn in history.turns}
    members: dict[str, list[str]] = {}
    for item in lite_spaces(history.turns):
        texts[item.item_id] = item.text
        members[item.item_id] = [link.target for link in item.links if link.role == "member"]
    (asked,) = embedder.embed([question])
    likeness = {one: float(embedder.embed([text])[0] @ asked) for one, text in texts.items()}
    best = max(likeness, key=lambda one: likeness[one])
    expected = members.get(best, [best])
    assert ranked(MATCHED, history, question)[: len(expected)] == expected


def test_the_report_compares_with_single_lists_and_draws_both_curves(
    dataset: Dataset, tmp_path: Path
) -> None:
    part = suite.Part(dataset.name, dataset.split)
    report = suite.qemem([(part, dataset)], embedder=HashingEmbedder(), code="x")
    assert report.manifest["spaces"].startswith("lite_spaces/")
    assert "sha256" in report.manifest[f"data {dataset.name}"]
    pairs = {(pair.first, pair.second): pair for pair in report.parts[0].pairs}
    assert isinstance(pairs[QEMEM, MATCHED], PairResult)
    assert {(QEMEM, "fusion"), (QEMEM, "lite"), (QEMEM, "dense")} <= set(pairs)
    write_report(report, tmp_path / "qemem.json")
    assert read_report(tmp_path / "qemem.json") == report
    plot(report.parts, tmp_path / "qemem.svg", systems=suite.QEMEM_DRAWN, units=("turns",))
    drawn = (tmp_path / "qemem.svg").read_text(encoding="utf-8")
    for name in suite.QEMEM_DRAWN:
        assert f">{name}  " in drawn
    assert "qemem-lists" not in drawn
    assert "locomo, all: 4 questions of 2 conversations" in drawn
    assert "95% intervals over questions" in drawn
    assert "budget in source turns" in drawn
    assert "budget in tokens" not in drawn


def test_curves_that_are_drawn_together_differ_in_colour_marker_and_dashes() -> None:
    colours, markers, dashes = zip(*report_module._STYLES, strict=True)
    several = len(suite.QEMEM_DRAWN)
    for kind in (colours, markers):
        assert len(set(kind)) == len(report_module._STYLES)
    assert len({str(one) for one in dashes[:several]}) == several
