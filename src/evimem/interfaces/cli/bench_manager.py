"""`evimem bench manager` and `bench rejudge`: memory managers on benchmarks (UNI-58 to 70)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import click

from evimem.compose import build_models
from evimem.datasets import Dataset, DatasetName, find, load
from evimem.errors import SettingsError, UsageError
from evimem.eval.answerers import model_answerer, model_judge
from evimem.eval.judges.judge import profile_judge
from evimem.eval.judges.profiles import profile_names
from evimem.eval.judging import JReport, j_table, rejudge, set_id
from evimem.eval.manager_data import PARTS, first_events, manager_part
from evimem.eval.manager_eval import Manager, Setup, run
from evimem.eval.manager_report import CellFigures, ManagerReport, curve_table, manager_table
from evimem.eval.manager_rows import Kept
from evimem.eval.managers import lite_manager, model_manager
from evimem.eval.manifest import make_manifest, report_notes
from evimem.eval.report import write_report
from evimem.interfaces.cli.bench_common import (
    bench_embedder,
    bench_progress,
    code_version,
    data_path,
)
from evimem.interfaces.cli.common import bank_option, emit_json, failing_clearly, json_option
from evimem.manager.environment import Limits
from evimem.manager.oplog import replay
from evimem.manager.protocol import ProtocolName, protocol_of
from evimem.model.codec import from_json
from evimem.ports import Embedder, Models
from evimem.query.templates import read_templates
from evimem.settings import Settings

__all__ = ["COMMANDS"]

_TUNED = (
    "conv-26 and conv-30 are where constants are chosen here, and they are part of the test set of"
    " 2:1:7: what was chosen on them was not held out from it"
)


@click.command()
@click.option("--data", metavar="PATH", help="Benchmark file or folder [EVIMEM_DATA].")
@click.option("--dataset", type=click.Choice(sorted(PARTS)), default="locomo", show_default=True)
@click.option(
    "--part",
    type=click.Choice(("train", "val", "test", "tune")),
    default="tune",
    show_default=True,
    help="Train, val and test are 2:1:7 of LoCoMo.",
)
@click.option("--lite", is_flag=True, help="The manager without a model.")
@click.option(
    "--protocol",
    type=click.Choice(("text", "native")),
    default="text",
    show_default=True,
    help="How a model writes calls.",
)
@click.option(
    "--events",
    type=click.IntRange(min=1),
    metavar="N",
    help="Read the first N events of each conversation, ask what can be answered from them.",
)
@click.option(
    "--questions", type=click.IntRange(min=1), metavar="N", help="Ask the first N questions."
)
@click.option(
    "--searches",
    multiple=True,
    type=click.IntRange(min=1),
    default=(8,),
    show_default=True,
    metavar="N",
    help="Searches per question at most; several give a curve.",
)
@click.option(
    "--keep",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Keep banks, answers and judgements with their words: the next run makes no call twice.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("out"),
    show_default=True,
    help="Folder for the report.",
)
@click.option(
    "--cache", type=click.Path(path_type=Path), help="Folder of vectors kept between runs."
)
@bank_option
@json_option
@failing_clearly
def manager(
    data: str | None,
    dataset: DatasetName,
    part: str,
    lite: bool,
    protocol: ProtocolName,
    events: int | None,
    questions: int | None,
    searches: tuple[int, ...],
    keep: Path | None,
    out: Path,
    cache: Path | None,
    path: str | None,
    bank: str | None,
    as_json: bool,
) -> None:
    """What a memory manager writes down, and what it finds again: operations, bank size,
    duplicates, gold turns stored and retrieved. With models for answers and judgements also J,
    the storage ceiling, and retrieval efficiency.

    \b
    Example:
      evimem bench manager --data locomo10.json --part tune --lite
    """  # fmt: skip
    settings = Settings.load(path=path, bank=bank)
    chosen = _chosen(data_path(data, settings), dataset, part, events=events, questions=questions)
    models = build_models(settings)
    templates = {} if settings.prompts is None else read_templates(settings.prompts)
    one = _manager(models, templates, lite=lite, protocol=protocol)
    with bench_embedder(settings, cache) as embedder, bench_progress(as_json) as progress:
        manifest = make_manifest(
            [chosen],
            code=code_version(),
            embedder=embedder,
            params={
                "manager": one.name,
                "part": set_id(chosen),
                "searches": ", ".join(str(k) for k in searches),
                "events": "all" if events is None else events,
            },
        )
        report = run(
            chosen,
            banks=[one],
            policies=[one],
            setup=_setup(
                models, templates, embedder=embedder, keep=keep, events=events,
                made_with={"code": manifest["code"], "embedder": manifest["embedder"]},
            ),
            searches=tuple(dict.fromkeys(searches)),
            manifest=manifest,
            notes=_notes(chosen),
            on_progress=progress,
        )  # fmt: skip
    written = out / "manager.json"
    write_report(report, written)
    if as_json:
        emit_json(report)
        return
    click.echo(manager_table(report))
    if len(searches) > 1:
        click.echo("\n" + curve_table(report, bank=one.name, policy=one.name))
    for note in report.notes:
        click.echo(f"note: {note}")
    click.echo(f"written: {written}")


def _chosen(
    data: Path, name: DatasetName, part: str, *, events: int | None, questions: int | None
) -> Dataset:
    """The questions to ask, with their conversations."""
    dataset = load(name, data_dir=data) if data.is_dir() and find(data) else load(data)
    if dataset.name != name:
        raise UsageError(f"{str(data)!r} holds {dataset.name}; name it with --dataset")
    chosen = manager_part(dataset, part)
    if events is not None:
        chosen = first_events(chosen, events)
    if questions is not None:
        ids = [one.question_id for one in chosen.questions[:questions]]
        chosen = chosen.only(ids, split=f"{chosen.split}, first {len(ids)} questions")
    return chosen


def _manager(
    models: Models | None, templates: Mapping[str, str], *, lite: bool, protocol: ProtocolName
) -> Manager:
    if lite:
        return lite_manager()
    if models is None:
        raise SettingsError("no model is set to manage memory: set EVIMEM_LLM_MODEL, or use --lite")
    return model_manager(models, protocol_of(protocol), templates=templates)


def _setup(
    models: Models | None,
    templates: Mapping[str, str],
    *,
    embedder: Embedder | None,
    keep: Path | None,
    events: int | None,
    made_with: Mapping[str, str],
) -> Setup:
    return Setup(
        replay=lambda ops: replay(ops, embedder=embedder),
        limits=Limits(),
        answerer=None if models is None else model_answerer(models, templates=templates),
        judge=None if models is None else model_judge(models, templates=templates),
        embedder=embedder,
        keep=keep,
        made_with=made_with,
        events=events,
    )


def _notes(dataset: Dataset) -> tuple[str, ...]:
    notes = report_notes([dataset])
    tuned = {"conv-26", "conv-30"} & set(dataset.histories)
    return (*notes, _TUNED) if dataset.name == "locomo" and tuned else notes


@click.command("rejudge")
@click.argument("report", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option(
    "--keep",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    required=True,
    metavar="FOLDER",
    help="Where the run kept its answers.",
)
@click.option("--data", metavar="PATH", help="Benchmark file or folder [EVIMEM_DATA].")
@click.option(
    "--judge",
    "profile",
    type=click.Choice(profile_names()),
    help="Judge by this profile; without it as the run did.",
)
@bank_option
@json_option
@failing_clearly
def rejudge_command(
    report: Path,
    keep: Path,
    data: str | None,
    profile: str | None,
    path: str | None,
    bank: str | None,
    as_json: bool,
) -> None:
    """Judge the stored answers of a run of `bench manager` by the judge that is set now: another
    model, another profile, or another prompt from the folder EVIMEM_PROMPTS (uni.judge.txt,
    judge.mem0.txt, ...). Nothing is generated but labels.

    \b
    Example:
      evimem bench rejudge out/manager.json --keep rows --data locomo10.json
    """  # fmt: skip
    settings = Settings.load(path=path, bank=bank)
    models = build_models(settings)
    if models is None:
        raise SettingsError("no model is set to judge: set EVIMEM_LLM_MODEL")
    templates = {} if settings.prompts is None else read_templates(settings.prompts)
    judge = (
        model_judge(models, templates=templates)
        if profile is None
        else profile_judge(models, profile, templates=templates)
    )
    stored = _read(report)
    kept = Kept.at(keep)
    whole = _loaded(data_path(data, settings), stored.cells[0].set_id.partition("/")[0])
    made: list[JReport] = []
    for cell in stored.cells:
        dataset = _asked(whole, cell)
        answers = kept.answers_of(cell)
        assert cell.j is not None  # or there were no answers
        made.append(cell.j)
        if cell.j.judge != judge.name:
            made += rejudge(
                dataset, answers, [judge], rows=kept.judged, name=cell.cell.name,
                answerer=cell.j.answerer,
            )  # fmt: skip
    if as_json:
        emit_json(made)
    else:
        click.echo(j_table(made))


def _read(path: Path) -> ManagerReport:
    try:
        return from_json(ManagerReport, json.loads(path.read_text(encoding="utf-8")))
    except ValueError as error:
        raise UsageError(f"{str(path)!r} is no report of `bench manager`: {error}") from error


def _loaded(data: Path, name: str) -> Dataset:
    held = {str(one): place for one, place in find(data).items()} if data.is_dir() else {}
    return load(held.get(name, data))


def _asked(whole: Dataset, cell: CellFigures) -> Dataset:
    """The questions of a stored cell, with their gold."""
    split = cell.set_id.partition("/")[2].rpartition("@")[0]
    part = whole.only([one.question_id for one in cell.questions], split=split)
    if set_id(part) != cell.set_id:
        raise UsageError(f"the data does not hold the questions of {cell.set_id}; name their file")
    return part


COMMANDS = (manager, rejudge_command)
