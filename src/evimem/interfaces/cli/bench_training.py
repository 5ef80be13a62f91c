"""`evimem bench training`: curves and tables of trainings, from the folders that they wrote to."""

from __future__ import annotations

from pathlib import Path

import click

from evimem.eval.reporting.page import as_html
from evimem.eval.reporting.report import as_json as written_json
from evimem.eval.reporting.report import as_markdown
from evimem.eval.reporting.training_report import training_report
from evimem.eval.reporting.training_runs import read_runs
from evimem.interfaces.cli.bench_common import code_version
from evimem.interfaces.cli.common import emit_json, failing_clearly, json_option

__all__ = ["COMMANDS"]


@click.command("training")
@click.argument(
    "folders", nargs=-1, required=True, metavar="RUN...", type=click.Path(path_type=Path)
)
@click.option("--title", default="Trainings side by side", help="Of the page.")
@click.option("--note", "notes", multiple=True, metavar="TEXT", help="Said above all (repeat).")
@click.option("--seed", default=0, show_default=True, help="Of intervals.")
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("out/training.html"), show_default=True,
    help="The page; .md and .json are written beside it.",
)  # fmt: skip
@json_option
@failing_clearly
def training_command(
    folders: tuple[Path, ...],
    title: str,
    notes: tuple[str, ...],
    seed: int,
    out: Path,
    as_json: bool,
) -> None:
    """Curves and tables of trainings: reward, recall, entropy and validation stage by stage, what
    training brought over its start, methods and schedules over seeds, cost.

    RUN is a folder that a training wrote to (metrics.jsonl, report.json), or a folder of such
    folders. Runs that differ by their seed only are put together.

    \b
    Example:
      evimem bench training runs/toy-* --out out/training.html
    """  # fmt: skip
    report = training_report(
        read_runs(folders), title=title, code=code_version(), notes=notes, seed=seed
    )
    forms = {".html": as_html(report), ".md": as_markdown(report), ".json": written_json(report)}
    out.parent.mkdir(parents=True, exist_ok=True)
    written = [out.with_suffix(suffix) for suffix in forms]
    for path, text in zip(written, forms.values(), strict=True):
        path.write_text(text, encoding="utf-8")
    if as_json:
        emit_json(report)
        return
    click.echo(
        f"{len(folders)} folders, {report.n} questions; written: {', '.join(map(str, written))}"
    )


COMMANDS = (training_command,)
