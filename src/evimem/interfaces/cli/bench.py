"""`evimem bench`: retrieval, answers and speed, each with a table, a JSON file, maybe a plot.

Benchmark files are the user's own; nothing of them is written but ids and figures.
"""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import click

from evimem.compose import Memory, SystemClock, build_embedder
from evimem.errors import SettingsError
from evimem.eval import speed_bench, suite
from evimem.eval.answer_bench import answer_table
from evimem.eval.loop_bench import LoopRow, loop_script, run_loop
from evimem.eval.peer import SqliteVecPeer
from evimem.eval.report import Unit, plot, table, write_report
from evimem.eval.results import BenchReport
from evimem.eval.stored_bench import stored_table
from evimem.eval.synthetic import NoiseEmbedder
from evimem.interfaces.cli import bench_manager, bench_peers, bench_run, bench_training
from evimem.interfaces.cli.bench_common import (
    bench_embedder,
    bench_progress,
    code_version,
    data_path,
)
from evimem.interfaces.cli.common import bank_option, emit_json, failing_clearly, json_option
from evimem.llm.scripted import ScriptedModels
from evimem.ports import Embedder
from evimem.recipes import RECIPES
from evimem.settings import Settings
from evimem.storage.sqlite import SqliteStore

__all__ = ["COMMANDS"]


@click.group()
def bench() -> None:
    """Measure retrieval, answers and speed, and memory systems side by side."""


def _data_options(command: Callable[..., None]) -> Callable[..., None]:
    for option in (
        click.option("--data", metavar="PATH", help="Benchmark file or folder [EVIMEM_DATA]."),
        click.option(
            "--dataset", "datasets", multiple=True, type=click.Choice(sorted(suite.PARTS))
        ),
        click.option(
            "--part", "splits", multiple=True, type=click.Choice(("tune", "report", "all"))
        ),
        click.option(
            "--out", type=click.Path(path_type=Path), default=Path("out"), show_default=True,
            help="Folder for the report.",
        ),
        click.option(
            "--cache", type=click.Path(path_type=Path), help="Folder of vectors kept between runs."
        ),
    ):  # fmt: skip
        command = option(command)
    return command


@bench.command()
@_data_options
@click.option("--detail", is_flag=True, help="Per category and number of gold turns too.")
@bank_option
@json_option
@failing_clearly
def retrieval(
    data: str | None,
    datasets: tuple[str, ...],
    splits: tuple[str, ...],
    out: Path,
    cache: Path | None,
    detail: bool,
    path: str | None,
    bank: str | None,
    as_json: bool,
) -> None:
    """Recall, complete-evidence coverage and its curve for every ranking and for `lite`.

    \b
    Example:
      evimem bench retrieval --data locomo10.json --part report
    """
    settings = Settings.load(path=path, bank=bank)
    parts = suite.parts_of(data_path(data, settings), datasets=datasets, splits=splits)
    with bench_embedder(settings, cache) as embedder, bench_progress(as_json) as progress:
        report = suite.retrieval(
            parts, embedder=embedder, code=code_version(), on_progress=progress
        )
    _show(report, out, detail=detail, as_json=as_json)


@bench.command()
@_data_options
@click.option("--detail", is_flag=True, help="Per category and number of gold turns too.")
@bank_option
@json_option
@failing_clearly
def qemem(
    data: str | None,
    datasets: tuple[str, ...],
    splits: tuple[str, ...],
    out: Path,
    cache: Path | None,
    detail: bool,
    path: str | None,
    bank: str | None,
    as_json: bool,
) -> None:
    """Coverage of QEMem's retrieval over episodes, facts and turns, built without a model, beside
    single-list retrieval of the same store.

    \b
    Example:
      evimem bench qemem --data locomo10.json --part report
    """
    settings = Settings.load(path=path, bank=bank)
    parts = suite.parts_of(data_path(data, settings), datasets=datasets, splits=splits)
    with bench_embedder(settings, cache) as embedder, bench_progress(as_json) as progress:
        if embedder is None:
            raise SettingsError(
                "single-list retrieval is dense: set EVIMEM_EMBEDDER to one, not 'none'"
            )
        report = suite.qemem(parts, embedder=embedder, code=code_version(), on_progress=progress)
    _show(report, out, detail=detail, as_json=as_json, drawn=suite.QEMEM_DRAWN, units=("turns",))


@bench.command()
@_data_options
@bank_option
@json_option
@failing_clearly
def stored(
    data: str | None,
    datasets: tuple[str, ...],
    splits: tuple[str, ...],
    out: Path,
    cache: Path | None,
    path: str | None,
    bank: str | None,
    as_json: bool,
) -> None:
    """Evidence that was never stored, told apart from evidence that was not retrieved, per space
    of episodes, facts and turns built without a model.

    \b
    Example:
      evimem bench stored --data locomo10.json --part report
    """
    settings = Settings.load(path=path, bank=bank)
    parts = suite.parts_of(data_path(data, settings), datasets=datasets, splits=splits)
    with bench_embedder(settings, cache) as embedder, bench_progress(as_json) as progress:
        report = suite.stored(parts, embedder=embedder, code=code_version(), on_progress=progress)
    written = out / f"{report.kind}.json"
    write_report(report, written)
    if as_json:
        emit_json(report)
        return
    for part in report.parts:
        click.echo(stored_table(part) + "\n")
    for note in report.notes:
        click.echo(f"note: {note}")
    click.echo(f"written: {written}")


def _show(
    report: BenchReport,
    out: Path,
    *,
    detail: bool,
    as_json: bool,
    drawn: Sequence[str] = (),
    units: Sequence[Unit] = ("turns", "tokens"),
) -> None:
    """Writes a report of coverage with its plot, and prints it."""
    written, drawing = out / f"{report.kind}.json", out / f"{report.kind}.svg"
    write_report(report, written)
    plot(report.parts, drawing, systems=drawn, units=units)
    if as_json:
        emit_json(report)
        return
    for part in report.parts:
        click.echo(table(part, groups=("*",) if detail else ("overall",)) + "\n")
    for note in report.notes:
        click.echo(f"note: {note}")
    click.echo(f"written: {written}, {drawing}")


@bench.command()
@_data_options
@click.option("--recipe", type=click.Choice(sorted(RECIPES)), default="lite", show_default=True)
@bank_option
@json_option
@failing_clearly
def answers(
    data: str | None,
    datasets: tuple[str, ...],
    splits: tuple[str, ...],
    out: Path,
    cache: Path | None,
    recipe: str,
    path: str | None,
    bank: str | None,
    as_json: bool,
) -> None:
    """Dates of "when" questions, and saying "not in memory": scored by rule, no judge model.

    \b
    Example:
      evimem bench answers --data locomo10.json --part report
    """
    settings = Settings.load(path=path, bank=bank)
    parts = suite.parts_of(data_path(data, settings), datasets=datasets, splits=splits)
    with bench_embedder(settings, cache) as embedder, bench_progress(as_json) as progress:
        reports = suite.answers(
            parts, embedder=embedder, code=code_version(), recipe=recipe, on_progress=progress
        )
    for report in reports:
        write_report(report, out / f"answers-{report.dataset}-{report.split}.json")
    if as_json:
        emit_json(reports)
        return
    for report in reports:
        click.echo(answer_table(report) + "\n")


def _targets() -> Mapping[str, speed_bench.TargetFactory]:
    def ours(folder: Path, embedder: Embedder) -> speed_bench.SpeedTarget:
        clock = SystemClock()
        store = SqliteStore.open(folder / "m.evimem", clock=clock)
        return speed_bench.MemoryTarget(Memory(store, clock=clock, embedder=embedder))

    return {"evimem": ours, SqliteVecPeer.name: SqliteVecPeer}


def _loop(facts: int) -> LoopRow:
    """Rounds of mera under scripted models that answer at once."""
    clock, models = SystemClock(), ScriptedModels(loop_script())
    with tempfile.TemporaryDirectory(prefix="evimem-loop-") as folder:
        store = SqliteStore.open(Path(folder) / "m.evimem", clock=clock)
        embedder = NoiseEmbedder()
        with Memory(store, clock=clock, embedder=embedder, models=models) as memory:
            return run_loop(memory, store, facts=facts)


@bench.command()
@click.option("--smoke", is_flag=True, help="A thousand turns only: seconds.")
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("out"), show_default=True,
    help="Folder for the report.",
)  # fmt: skip
@bank_option
@json_option
@failing_clearly
def speed(smoke: bool, out: Path, path: str | None, bank: str | None, as_json: bool) -> None:
    """Import, embedding and search rates and memory, beside SQLite FTS5 + sqlite-vec.

    \b
    Example:
      evimem bench speed --smoke
    """
    settings = Settings.load(path=path, bank=bank)
    with bench_progress(as_json) as progress:
        report = speed_bench.run(
            _targets(),
            sizes=(1_000,) if smoke else speed_bench.SIZES,
            many_banks=None if smoke else speed_bench.MANY_BANKS,
            manifest={"code": code_version()},
            encoder=build_embedder(settings),
            on_progress=progress,
        )
        report = dataclasses.replace(report, loop=_loop(1_000 if smoke else 10_000))
    write_report(report, out / "speed.json")
    if as_json:
        emit_json(report)
    else:
        click.echo(speed_bench.speed_table(report))


for _module in (bench_manager, bench_run, bench_peers, bench_training):
    for _command in _module.COMMANDS:
        bench.add_command(_command)

COMMANDS = (bench,)
