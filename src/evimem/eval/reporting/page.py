"""A report as one HTML page that needs nothing beside itself: no script, no font, no request."""

from __future__ import annotations

from html import escape

from evimem.eval.harness.tables import Cell, Section, Table
from evimem.eval.reporting.cells import row_words
from evimem.eval.reporting.drawing import svg
from evimem.eval.reporting.report import Report
from evimem.scoring.stats import Interval

__all__ = ["as_html"]

_FOLDED = 40  # rows; a longer table is folded away

_STYLE = """
:root { color-scheme: light dark; --edge: #8885; --soft: #8881; --link: #2a5db0; }
@media (prefers-color-scheme: dark) { :root { --link: #8ab4f8; } .plot { background: #fff; } }
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 76rem; padding: 1rem; }
h1 { font-size: 1.7rem; margin: .5rem 0; } h2 { font-size: 1.3rem; margin: 2.2rem 0 .6rem; }
h3 { font-size: 1rem; margin: 1.4rem 0 .4rem; }
a { color: var(--link); } nav { columns: 14rem; margin: 1rem 0; } nav a { display: block; }
.scroll { overflow-x: auto; border: 1px solid var(--edge); border-radius: 6px; }
table { border-collapse: collapse; font-size: .88rem; width: 100%; }
th, td { padding: .35rem .6rem; text-align: left; border-bottom: 1px solid var(--edge);
  vertical-align: top; }
th { background: var(--soft); white-space: nowrap; }
td.n, th.n { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
tbody tr:last-child td { border-bottom: 0; }
.note { font-size: .86rem; opacity: .85; margin: .3rem 0 0; padding-left: 1.1rem; }
.caveats { border-left: 4px solid #d98e04; padding: .4rem 1rem .4rem 2rem;
  background: var(--soft); }
.plot { border: 1px solid var(--edge); border-radius: 6px; padding: .4rem; margin: .8rem 0;
  background: #fff; color: #000; overflow-x: auto; }
.plot svg { max-width: 100%; height: auto; display: block; margin: 0 auto; }
code { font-size: .9em; overflow-wrap: anywhere; } summary { cursor: pointer; }
"""


def as_html(report: Report) -> str:
    """The page.

    Raises:
        MissingExtra: matplotlib, which draws the plots, is not installed.
    """
    links = "".join(
        f'<a href="#{escape(one.name)}">{escape(one.title)}</a>' for one in report.sections
    )
    caveats = "".join(f"<li>{escape(one)}</li>" for one in report.caveats)
    fields = "".join(
        f"<tr><td>{escape(key)}</td><td><code>{escape(value)}</code></td></tr>"
        for key, value in report.manifest.items()
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(report.title)}</title><style>{_STYLE}</style></head><body>"
        f"<h1>{escape(report.title)}</h1>"
        f"<p>Set <code>{escape(report.set_id)}</code>, n = {report.n}.</p>"
        + (f'<ul class="caveats">{caveats}</ul>' if caveats else "")
        + f"<nav>{links}</nav>"
        + "".join(map(_section, report.sections))
        + '<h2 id="manifest">Manifest</h2><details><summary>What to repeat the run with</summary>'
        f'<div class="scroll"><table><tbody>{fields}</tbody></table></div></details>'
        "</body></html>\n"
    )


def _section(section: Section) -> str:
    parts = [f'<section id="{escape(section.name)}"><h2>{escape(section.title)}</h2>']
    parts += [_notes(section.notes)]
    parts += [_table(table) for table in section.tables]
    parts += [f'<figure class="plot">{svg(plot)}</figure>' for plot in section.plots]
    return "".join([*parts, "</section>"])


def _table(table: Table) -> str:
    first = table.rows[0] if table.rows else ("",) * len(table.columns)
    heads = "".join(
        f"<th{_kind(value)}>{escape(name)}</th>"
        for name, value in zip(table.columns, first, strict=True)
    )
    rows = "".join(
        "<tr>"
        + "".join(
            f"<td{_kind(value)}>{escape(words)}</td>"
            for value, words in zip(row, row_words(table, row), strict=True)
        )
        + "</tr>"
        for row in table.rows
    )
    ids = (", ".join(table.ids),) if table.ids else ()
    body = (
        f'<div class="scroll"><table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>'
        f"</div>{_notes((*table.notes, *ids))}"
    )
    if len(table.rows) > _FOLDED:
        title = f"{escape(table.title)} ({len(table.rows)} rows)"
        return f"<details><summary><b>{title}</b></summary>{body}</details>"
    return f"<h3>{escape(table.title)}</h3>{body}"


def _kind(value: Cell) -> str:
    return ' class="n"' if isinstance(value, int | float | Interval) or value is None else ""


def _notes(notes: tuple[str, ...]) -> str:
    if not notes:
        return ""
    return '<ul class="note">' + "".join(f"<li>{escape(one)}</li>" for one in notes) + "</ul>"
