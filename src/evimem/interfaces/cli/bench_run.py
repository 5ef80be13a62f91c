"""`evimem bench run` and `bench systems`: memory systems side by side, and their report."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import click

from evimem.compose import build_models
from evimem.datasets import Dataset
from evimem.datasets.sets import load_set, set_names
from evimem.errors import SettingsError, UsageError
from evimem.eval.diagnostics.tables_mera import SweepPoint, sweep
from evimem.eval.harness.dry import Estimate, MuteModels, estimate
from evimem.eval.harness.keep import Keep
from evimem.eval.harness.registry import ON_TURNS, at_depth, limited, mera_system, systems_named
from evimem.eval.harness.rows import RunData
from evimem.eval.harness.run import Budget, Plan, info_of, run
from evimem.eval.harness.sampling import of_conversations, sampled
from evimem.eval.harness.system import System
from evimem.eval.judges.control import ControlRates, control_rates
from evimem.eval.judges.judge import ProfileJudge
from evimem.eval.judges.profiles import load_profile, profile_names
from evimem.eval.judging import set_id
from evimem.eval.manifest import make_manifest
from evimem.eval.peers.known import PEERS, peer_kind, python_of
from evimem.eval.peers.peer_system import PeerSystem
from evimem.eval.reporting.assemble import assemble
from evimem.eval.reporting.audits import AUDITS, audited
from evimem.eval.reporting.page import as_html
from evimem.eval.reporting.report import Report, as_json, as_markdown
from evimem.interfaces.cli.bench_common import (
    bench_embedder,
    bench_progress,
    code_version,
    data_path,
)
from evimem.interfaces.cli.bench_peers import peers_folder
from evimem.interfaces.cli.common import bank_option, emit_json, failing_clearly, json_option
from evimem.model.cost import Price
from evimem.ports import Embedder, Models
from evimem.query.templates import read_templates
from evimem.recipes.mera import MERA_RECIPES
from evimem.settings import Settings

__all__ = ["COMMANDS"]

_NO_CEILING = 10**9  # of one operation; the run has a budget of its own
_PACKAGE = "package:"  # begins the name of a package that runs in its own environment
_DEPTH = 120  # turns that a search brings where no prompt has to hold them


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    """What the command line says of a run."""

    set_name: str
    defects: tuple[str, ...]
    conversations: tuple[str, ...]
    questions: int | None
    seed: int
    systems: tuple[str, ...]
    peers: Path | None
    judges: tuple[str, ...]
    audits: tuple[str, ...]
    audit_size: int | None
    sweep: str | None
    sweep_ks: tuple[int, ...]
    sweep_rounds: tuple[int, ...]
    no_model: bool
    shared: bool
    rounds: int | None
    reply_tokens: int | None
    parallel: int
    budget: Budget
    other_code: bool


def _run_options(command: Callable[..., None]) -> Callable[..., None]:
    folder = click.Path(path_type=Path, file_okay=False)
    number = click.IntRange(min=1)
    for option in reversed(
        (
            click.option("--data", metavar="PATH", help="Folder of benchmark files [EVIMEM_DATA]."),
            click.option("--set", "set_name", default="locomo-1540", show_default=True,
                         help="Questions by name; a wrong name lists all."),
            click.option("--defects", multiple=True, metavar="LIST",
                         help="Correct golds by a list of known defects."),
            click.option("--conversation", "conversations", multiple=True, metavar="ID",
                         help="Only this one (repeat)."),
            click.option("--questions", type=number, metavar="N", help="A seeded sample of N."),
            click.option("--seed", default=0, show_default=True, help="Of sample and intervals."),
            click.option("--system", "systems", multiple=True, metavar="NAME",
                         help="Repeat; `bench systems` lists them. Default: all."),
            click.option("--peers", type=folder, help="Environments of packages [EVIMEM_PEERS]."),
            click.option("--judge", "judges", multiple=True, metavar="PROFILE",
                         help=f"Repeat: {', '.join(profile_names())}."),
            click.option("--audit", "audits", multiple=True, type=click.Choice(sorted(AUDITS)),
                         help="Also have the judge model audit these (repeat)."),
            click.option("--audit-size", type=number, metavar="N",
                         help="Cards of a system, or questions, of an audit."),
            click.option("--sweep", metavar="NAME",
                         help="Run this system of MERA over --sweep-k and --sweep-rounds too."),
            click.option("--sweep-k", "sweep_ks", multiple=True, type=number, metavar="K"),
            click.option("--sweep-rounds", "sweep_rounds", multiple=True, type=number, metavar="T"),
            click.option("--no-model", is_flag=True,
                         help="Retrieval alone: what systems find when no model answers."),
            click.option("--shared/--no-shared", default=True, show_default=True,
                         help="Answer by the shared prompt too."),
            click.option("--rounds", type=number, metavar="N", help="Ceiling of rounds."),
            click.option("--reply-tokens", type=click.IntRange(min=16), metavar="N",
                         help="Ceiling of every reply."),
            click.option("--keep", type=folder, required=True,
                         help="Folder of rows; a run in it goes on where the last one stopped."),
            click.option("--other-code", is_flag=True,
                         help="Go on with rows of another version; the report names both."),
            click.option("--parallel", type=number, default=1, show_default=True,
                         help="Builds and questions at a time."),
            click.option("--dry-run", is_flag=True, help="Say what it would cost; ask nothing."),
            click.option("--max-calls", type=number, metavar="N", help="Stop after N calls."),
            click.option("--max-tokens", type=number, metavar="N", help="Stop after N tokens."),
            click.option("--max-cost", type=click.FloatRange(min=0.0), metavar="X",
                         help="Stop at this cost, by the prices of the settings."),
            click.option("--title", default="Memory systems side by side", help="Of the report."),
            click.option("--out", type=folder, default=Path("out"), show_default=True,
                         help="Folder for report.html, report.md and report.json."),
            click.option("--cache", type=folder, help="Folder of vectors kept between runs."),
        )
    ):  # fmt: skip
        command = option(command)
    return command


@click.command("run")
@_run_options
@bank_option
@json_option
@failing_clearly
def run_command(
    data: str | None,
    keep: Path,
    dry_run: bool,
    max_calls: int | None,
    max_tokens: int | None,
    max_cost: float | None,
    title: str,
    out: Path,
    cache: Path | None,
    path: str | None,
    bank: str | None,
    as_json: bool,
    **chosen: object,
) -> None:
    """Memory systems side by side on one set of questions: each is built, asked, answers by its
    own prompt and by a shared one, is judged and reported. What was done is kept row by row: the
    same command goes on where it stopped, and makes no call twice.

    \b
    Example:
      evimem bench run --set locomo-1540 --conversation conv-30 --system lite --system naive-rag \\
        --judge mem0 --questions 40 --keep out/run
    """  # fmt: skip
    settings = Settings.load(path=path, bank=bank)
    budget = Budget(calls=max_calls, tokens=max_tokens, money=max_cost)
    options = _Options(budget=budget, **chosen)  # type: ignore[arg-type]
    if options.no_model and (options.judges or options.audits):
        raise UsageError("without a model there is nothing to judge: leave out --judge and --audit")
    part = _part(data_path(data, settings), options)
    models = MuteModels() if options.no_model else _models(settings, keep / "replies.jsonl")
    points = _points(options)
    with bench_embedder(settings, cache) as embedder, bench_progress(as_json) as progress:
        plan = _plan(options, part, models, embedder, settings, points)
        if dry_run:
            _show_estimates(estimate(plan), as_json=as_json)
            return
        kept = Keep(keep, _manifest(options, plan), other_code=options.other_code)
        ran = run(plan, kept, on_progress=lambda stage, done, all_: progress(done, all_, stage))
        rates = [
            control_rates(judge, rows=kept.judged, parallel=options.parallel)
            for judge in plan.judges
            if isinstance(judge, ProfileJudge)
        ]
        extra = audited(options.audits, ran, models, n=options.audit_size, seed=options.seed)
    report = assemble(
        ran,
        title=title,
        rates=rates,
        prices=plan.prices,
        points=points,
        extra=extra,
        seed=options.seed,
    )
    written = _write(report, out)
    if as_json:
        emit_json(report)
        return
    _summary(ran, rates)
    if kept.skipped:
        click.echo(f"note: {kept.skipped} broken lines of rows were passed over")
    click.echo(f"written: {', '.join(map(str, written))}")


def _part(data: Path, options: _Options) -> Dataset:
    if options.set_name not in set_names():
        raise UsageError(
            f"there is no set {options.set_name!r}; there are {', '.join(set_names())}"
        )
    part = load_set(options.set_name, data, defects=options.defects)
    return sampled(
        of_conversations(part, options.conversations), options.questions, seed=options.seed
    )


def _models(settings: Settings, replies: Path) -> Models:
    """The models without the ceilings of one operation, since a build asks thousands of times.
    Replies are kept, so that systems over the same store pay for it once."""
    if settings.models is None:
        raise SettingsError(
            "no model is set: set EVIMEM_LLM_URL and EVIMEM_LLM_MODEL, or use --no-model"
        )
    free = dataclasses.replace(settings.models, max_calls=_NO_CEILING, max_tokens=_NO_CEILING)
    replies.parent.mkdir(parents=True, exist_ok=True)
    saved = settings.saved_replies or replies
    models = build_models(dataclasses.replace(settings, models=free, saved_replies=saved))
    assert models is not None  # the settings name one
    return models


def _points(options: _Options) -> tuple[SweepPoint, ...]:
    """The settings of a sweep over a system of MERA (MERA-91)."""
    if options.sweep is None:
        return ()
    recipe = options.sweep.removesuffix(ON_TURNS)
    if recipe not in MERA_RECIPES:
        raise UsageError(
            f"{options.sweep!r} cannot be swept: name a recipe of MERA, {', '.join(MERA_RECIPES)},"
            f" with or without {ON_TURNS}"
        )
    base = MERA_RECIPES[recipe]
    ks, rounds = options.sweep_ks or (base.k,), options.sweep_rounds or (base.max_rounds,)
    return sweep(base, ks=ks, rounds=rounds)


def _plan(
    options: _Options,
    part: Dataset,
    models: Models,
    embedder: Embedder | None,
    settings: Settings,
    points: Sequence[SweepPoint],
) -> Plan:
    if embedder is None:
        raise SettingsError("the systems need an embedder: set EVIMEM_EMBEDDER=local")
    templates = {} if settings.prompts is None else read_templates(settings.prompts)
    systems = [limited(one, options.rounds) for one in _systems(options, settings)]
    on_turns = (options.sweep or "").endswith(ON_TURNS)
    systems += [mera_system(point.config, on_turns=on_turns) for point in points]
    if options.no_model:
        systems = [at_depth(one, _DEPTH) for one in systems]
    judges = [
        ProfileJudge(load_profile(name, templates=templates), models) for name in options.judges
    ]
    return Plan(
        systems=systems,
        dataset=part,
        models=models,
        embedder=embedder,
        judges=judges,
        shared=options.shared and not options.no_model,
        parallel=options.parallel,
        reply_tokens=options.reply_tokens,
        budget=options.budget,
        prices=_prices(models),
    )


def _systems(options: _Options, settings: Settings) -> list[System]:
    """Our own forms of systems, and packages as "package:<name>"."""
    if not options.systems:
        return [] if options.sweep else list(systems_named(()))
    made: list[System] = []
    for name in dict.fromkeys(options.systems):
        package = name.removeprefix(_PACKAGE)
        if package == name:
            made += systems_named((name,))
            continue
        kind = peer_kind(package)
        python = python_of(kind, peers_folder(options.peers, settings))
        made.append(PeerSystem(kind=kind, python=python))
    return made


def _prices(models: Models) -> Mapping[str, Price]:
    """Those of the endpoints, where they have one."""
    return getattr(models, "prices", {})


def _manifest(options: _Options, plan: Plan) -> dict[str, str]:
    told = plan.models.describe()
    return make_manifest(
        [plan.dataset],
        code=code_version(),
        embedder=plan.embedder,
        params={
            "set": set_id(plan.dataset),
            "seed": options.seed,
            "reply tokens": "as prompts ask" if plan.reply_tokens is None else plan.reply_tokens,
            "answer model": plan.models.session().model("answer").model_id,
            **{f"model {role}": words for role, words in told.items()},
            **{f"system {one.name}": _params(one) for one in plan.systems},
        },
    )


def _params(system: System) -> str:
    return "; ".join(f"{key} {value}" for key, value in system.params.items())


def _write(report: Report, out: Path) -> list[Path]:
    """The three forms of the report."""
    out.mkdir(parents=True, exist_ok=True)
    forms = {
        "report.html": as_html(report),
        "report.md": as_markdown(report),
        "report.json": as_json(report),
    }
    for name, text in forms.items():
        (out / name).write_text(text, encoding="utf-8")
    return [out / name for name in forms]


def _summary(data: RunData, rates: Sequence[ControlRates]) -> None:
    for run_ in data.systems:
        failed = sum(bool(row.failed) for row in run_.asks.values())
        told = [f"{len(run_.asks)} asked, {failed} failed"]
        for judge, labels in run_.own_labels.items():
            right = sum(label is True for label in labels.values())
            told.append(f"{right} right by {_short(judge)}")
        click.echo(f"{run_.name:<20}{', '.join(told)}")
    for one in rates:
        click.echo(f"note: {_short(one.judge)}: {one.told()}")


def _short(judge: str) -> str:
    """A judge's profile alone, for the terminal."""
    return judge.rsplit(" ", 1)[-1].split("@")[0].removeprefix("judge.")


def _show_estimates(rows: Sequence[Estimate], *, as_json: bool) -> None:
    if as_json:
        emit_json(list(rows))
        return
    for row in rows:
        money = "" if row.money is None else f", cost {row.money:.2f}"
        told = row.failed or (
            f"{row.calls:,} calls, {row.tokens_in:,} + {row.tokens_out:,} tokens{money}"
        )
        click.echo(f"{row.system:<20}{told}")
    click.echo("an estimate from one conversation; judges are not in it")


@click.command("systems")
@json_option
@failing_clearly
def systems_command(as_json: bool) -> None:
    """Every system that `bench run` knows: parameters, and how it differs from its paper.

    \b
    Example:
      evimem bench systems --json
    """  # fmt: skip
    infos = [info_of(one) for one in systems_named(())]
    if as_json:
        emit_json(infos)
        return
    for info in infos:
        click.echo(info.name)
        for key, value in info.params.items():
            click.echo(f"  {key}: {value}")
        for one in info.deviations:
            click.echo(f"  differs: {one.what} ({one.why})")
    click.echo(f"packages: {', '.join(_PACKAGE + name for name in PEERS)}")


COMMANDS = (run_command, systems_command)
