"""Reports of a whole small run: every section, three written forms, no word of the benchmark."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path

import pytest
from bench_world import SAID, tiny

from evimem.embed.hashing import HashingEmbedder
from evimem.eval.harness.keep import Keep
from evimem.eval.harness.registry import systems_named
from evimem.eval.harness.rows import RunData
from evimem.eval.harness.run import Plan, run
from evimem.eval.harness.tables import Line, Plot, Section, Table
from evimem.eval.judges.control import control_rates
from evimem.eval.judges.judge import ProfileJudge
from evimem.eval.judges.profiles import load_profile
from evimem.eval.reporting.assemble import assemble
from evimem.eval.reporting.cells import cell_words
from evimem.eval.reporting.drawing import svg
from evimem.eval.reporting.page import as_html
from evimem.eval.reporting.papers import published
from evimem.eval.reporting.report import Report, as_json, as_markdown
from evimem.llm.scripted import ScriptedModels, ScriptedReply
from evimem.model.chat import ChatRequest
from evimem.scoring.stats import Interval

NAMES = ("full-text", "naive-rag", "ircot", "lite", "mera-on-turns", "qemem-on-lite", "mem1")


def said(request: ChatRequest) -> ScriptedReply:
    """A judge that accepts every answer with "Amber"; all else by the example, or Amber."""
    if request.role == "judge":
        right = "Amber" in request.messages[-1].text.rsplit("nswer", 1)[-1]
        return json.dumps({"label": "CORRECT" if right else "WRONG"})
    return request.example if isinstance(request.example, Mapping) else "Amber"


@pytest.fixture(scope="module")
def models() -> ScriptedModels:
    return ScriptedModels(said)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("run")


def again(models: ScriptedModels, folder: Path) -> tuple[RunData, Report]:
    judge = ProfileJudge(load_profile("mem0"), models)
    keep = Keep(folder, {"set": "tiny", "answer model": "scripted", "code": "test"})
    plan = Plan(
        systems=systems_named(NAMES),
        dataset=tiny(),
        models=models,
        embedder=HashingEmbedder(),
        judges=(judge,),
    )
    data = run(plan, keep)
    rates = control_rates(judge, rows=keep.judged)
    return data, assemble(data, title="Tiny <run>", rates=[rates])


@pytest.fixture(scope="module")
def report(models: ScriptedModels, folder: Path) -> Report:
    return again(models, folder)[1]


def test_ben_18_the_report_has_every_part_that_the_run_can_give(report: Report) -> None:
    names = [section.name for section in report.sections]

    assert report.n == 5 and report.set_id.startswith("longmemeval/tiny@")
    for wanted in (
        "systems", "accuracy", "comparisons", "lexical", "recall-by-round", "visibility",
        "budget-curves", "termination", "query-behaviour", "failure-attribution", "cost",
    ):  # fmt: skip
        assert wanted in names, wanted
    assert len(set(names)) == len(names)
    assert not [one for one in report.caveats if one.startswith("left out")]


def test_ben_8_what_the_judge_accepts_of_control_answers_stands_beside_accuracy(
    report: Report,
) -> None:
    assert any("of vague" in one and "definite wrong" in one for one in report.caveats)


def test_ben_11_a_second_run_makes_no_call_and_prints_the_same_report(
    models: ScriptedModels, folder: Path, report: Report
) -> None:
    made = len(models.requests)

    second = again(models, folder)[1]

    assert len(models.requests) == made
    assert as_json(second) == as_json(report)
    assert as_html(second) == as_html(report)


def test_no_word_of_the_benchmark_stands_in_a_report(report: Report) -> None:
    forms = (as_json(report), as_markdown(report), as_html(report))

    for turns in SAID.values():
        for _, _, words in turns:
            assert not any(words in form for form in forms)
    assert not any("bakery" in form for form in forms)


class _Tags(HTMLParser):
    """Tags and whatever would be fetched."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.fetched: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "link", "img", "path", "use", "circle", "rect", "br"):
            self.open.append(tag)
        for name, value in attrs:
            if name in ("src", "href", "xlink:href") and value and not value.startswith("#"):
                self.fetched.append(value)

    def handle_endtag(self, tag: str) -> None:
        if self.open and self.open[-1] == tag:
            self.open.pop()

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)


def test_the_page_is_whole_escapes_its_text_and_needs_nothing_beside_itself(
    report: Report,
) -> None:
    page = as_html(report)
    tags = _Tags()
    tags.feed(page)

    assert tags.open == [] and tags.fetched == []
    assert "<script" not in page
    assert "Tiny &lt;run&gt;" in page
    assert page.count("<svg") == sum(len(section.plots) for section in report.sections) > 0
    assert set(re.findall(r'<a href="#([^"]+)"', page)) == {s.name for s in report.sections}


def test_markdown_tables_have_as_many_cells_as_heads(report: Report) -> None:
    width = 0
    for line in as_markdown(report).splitlines():
        if not line.startswith("|"):
            width = 0
            continue
        cells = len(re.findall(r"(?<!\\)\|", line)) - 1
        width = width or cells
        assert cells == width, line


def test_values_are_written_in_their_unit_and_what_was_not_measured_as_a_dash() -> None:
    share = Interval(estimate=0.816, low=0.7, high=0.9, n=10, method="wilson")

    assert cell_words(share, percent=True) == "81.6 [70.0, 90.0]"
    assert cell_words(None, percent=True) == "-"
    assert cell_words(0, percent=False) == "0"
    assert cell_words(12345, percent=False) == "12,345"
    assert cell_words(0.5, percent=False) == "0.50"
    assert cell_words("a", percent=True) == "a"


def test_every_kind_of_plot_is_drawn_the_same_way_twice() -> None:
    line = Line(label="lite", x=(1, 2), y=(0.5, 0.7), low=(0.4, 0.6), high=(0.6, 0.8))
    for kind, ticks in (("line", ()), ("points", ()), ("bars", ("a", "b", "c"))):
        plot = Plot(
            title="t", x_label="round", y_label="recall", lines=(line, line), kind=kind, ticks=ticks
        )
        assert svg(plot) == svg(plot)
        assert "lite" in svg(plot)


def test_more_lines_than_colours_stay_apart_by_stroke() -> None:
    lines = tuple(Line(label=f"s{n}", x=(1, 2), y=(n, n)) for n in range(14))
    drawn = svg(Plot(title="t", x_label="x", y_label="y", lines=lines))

    assert drawn.count("stroke-dasharray") > svg(
        Plot(title="t", x_label="x", y_label="y", lines=lines[:12])
    ).count("stroke-dasharray")


def test_a_row_of_the_wrong_length_is_refused() -> None:
    with pytest.raises(ValueError, match="2 cells for 1 columns"):
        Table(title="t", columns=("a",), rows=(("b", 1),))


def test_printed_figures_stand_only_beside_the_very_same_set() -> None:
    assert published(tiny()) == []
    assert Section(name="x", title="X").tables == ()
