"""`evimem bench run` and `bench systems`: memory systems side by side, with models."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import click

from evimem.compose import build_models
from evimem.datasets import load, take
from evimem.errors import SettingsError
from evimem.eval.harness.dry import Estimate, estimate
from evimem.eval.harness.keep import Keep
from evimem.eval.harness.registry import limited, system_names, systems_named
from evimem.eval.harness.run import Budget, Plan, run
from evimem.eval.harness.sampling import of_conversations, sampled
from evimem.eval.judging import set_id
from evimem.eval.manifest import make_manifest
from evimem.interfaces.cli.bench_common import (
    bench_embedder,
    bench_progress,
    code_version,
    data_path,
)
from evimem.interfaces.cli.common import bank_option, emit_json, failing_clearly, json_option
from evimem.ports import Models
from evimem.settings import Settings

__all__ = ["COMMANDS"]

_NO_CEILING = 10**9  # of one operation; the run has a budget of its own


@click.command("run")
@click.option("--data", metavar="PATH", help="Benchmark file or folder [EVIMEM_DATA].")
@click.option("--dataset", default="locomo", show_default=True)
@click.option("--split", default="1540", show_default=True, help="Named part of the benchmark.")
@click.option("--conversation", "conversations", multiple=True, help="Only these conversations.")
@click.option("--questions", type=click.IntRange(min=1), metavar="N", help="A sample of N.")
@click.option("--seed", default=0, show_default=True, help="Of the sample and of intervals.")
@click.option("--system", "systems", multiple=True, metavar="NAME", help="See `bench systems`.")
@click.option(
    "--keep",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="Folder of rows: a run in it goes on where the last one stopped.",
)
@click.option("--parallel", type=click.IntRange(min=1), default=1, show_default=True)
@click.option("--shared/--no-shared", default=True, help="Also answer by the shared prompt.")
@click.option("--dry-run", is_flag=True, help="Say what it would cost, and ask nothing.")
@click.option(
    "--rounds", type=click.IntRange(min=1), help="Ceiling of rounds, for systems that have them."
)
@click.option("--reply-tokens", type=click.IntRange(min=16), help="Ceiling of every reply.")
@click.option("--max-calls", type=click.IntRange(min=1))
@click.option("--max-tokens", type=click.IntRange(min=1))
@click.option(
    "--cache", type=click.Path(path_type=Path), help="Folder of vectors kept between runs."
)
@bank_option
@json_option
@failing_clearly
def run_command(
    data: str | None,
    dataset: str,
    split: str,
    conversations: tuple[str, ...],
    questions: int | None,
    seed: int,
    systems: tuple[str, ...],
    keep: Path,
    parallel: int,
    shared: bool,
    dry_run: bool,
    rounds: int | None,
    reply_tokens: int | None,
    max_calls: int | None,
    max_tokens: int | None,
    cache: Path | None,
    path: str | None,
    bank: str | None,
    as_json: bool,
) -> None:
    """Memory systems side by side: build, ask, answer by each system's prompt and a shared one.

    \b
    Example:
      evimem bench run --system full-text --system lite --questions 40 --keep out/run
    """  # fmt: skip
    settings = Settings.load(path=path, bank=bank)
    part = take(load(dataset, data_dir=data_path(data, settings)), split)
    part = sampled(of_conversations(part, conversations), questions, seed=seed)
    named = systems_named(systems or system_names())
    chosen = [limited(one, rounds) for one in named]
    models = _models(settings)
    with bench_embedder(settings, cache) as embedder, bench_progress(as_json) as progress:
        if embedder is None:
            raise SettingsError("the systems need an embedder: set EVIMEM_EMBEDDER")
        plan = Plan(
            systems=chosen,
            dataset=part,
            models=models,
            embedder=embedder,
            shared=shared,
            parallel=parallel,
            reply_tokens=reply_tokens,
            budget=Budget(calls=max_calls, tokens=max_tokens),
        )
        if dry_run:
            window = models.session().model("answer").window
            _show_estimates(estimate(plan, window=window), as_json=as_json)
            return
        manifest = make_manifest(
            [part],
            code=code_version(),
            embedder=embedder,
            params={
                "set": set_id(part),
                "seed": seed,
                "reply tokens": "as prompts ask" if reply_tokens is None else reply_tokens,
                **{f"model {role}": told for role, told in models.describe().items()},
                **{f"system {one.name}": "; ".join(f"{k} {v}" for k, v in one.params.items())
                   for one in chosen},
            },
        )  # fmt: skip
        ran = run(
            plan,
            Keep(keep, manifest),
            on_progress=lambda stage, done, total: progress(done, total, stage),
        )
    for system in ran.systems:
        failed = sum(bool(row.failed) for row in system.asks.values())
        click.echo(f"{system.name}: {len(system.asks)} asked, {failed} failed")


def _models(settings: Settings) -> Models:
    """The models without the ceilings of one operation: a build asks thousands of times, and the
    run has a budget of its own."""
    if settings.models is None:
        raise SettingsError("no model is set: set EVIMEM_LLM_URL and EVIMEM_LLM_MODEL")
    free = dataclasses.replace(settings.models, max_calls=_NO_CEILING, max_tokens=_NO_CEILING)
    models = build_models(dataclasses.replace(settings, models=free))
    assert models is not None  # the settings name one
    return models


def _show_estimates(rows: Sequence[Estimate], *, as_json: bool) -> None:
    if as_json:
        emit_json(list(rows))
        return
    for row in rows:
        money = "" if row.money is None else f", {row.money:.2f}"
        told = row.failed or (
            f"{row.calls:,} calls, {row.tokens_in:,} + {row.tokens_out:,} tokens{money}"
        )
        click.echo(f"{row.system:<20}{told}")


COMMANDS = (run_command,)
