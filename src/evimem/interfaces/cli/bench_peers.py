"""`evimem bench peers`: our search beside other packages, on the same turns and vectors."""

from __future__ import annotations

from pathlib import Path

import click

from evimem import __version__
from evimem.compose import Memory
from evimem.datasets import load, take
from evimem.errors import SettingsError
from evimem.eval.manifest import make_manifest
from evimem.eval.peers.report import peers_section
from evimem.eval.peers.retrieval import run, standard_entries, warmed
from evimem.eval.report import write_report
from evimem.eval.reporting.page import as_html
from evimem.eval.reporting.report import Report, as_markdown
from evimem.interfaces.cli.bench_common import (
    bench_embedder,
    bench_progress,
    code_version,
    data_path,
)
from evimem.interfaces.cli.common import bank_option, emit_json, failing_clearly, json_option
from evimem.ports import Embedder
from evimem.settings import Settings

__all__ = ["COMMANDS", "peers_folder"]


def peers_folder(given: Path | None, settings: Settings) -> Path:
    """Where the environments of other packages are.

    Raises:
        SettingsError: nobody says where.
    """
    folder = given or settings.peers
    if folder is None:
        raise SettingsError(
            "no environments of other packages: make them with dev/make_peer_env.py, then give "
            "--peers FOLDER or set EVIMEM_PEERS"
        )
    return folder


@click.command("peers")
@click.option("--data", metavar="PATH", help="LoCoMo file or its folder [EVIMEM_DATA].")
@click.option(
    "--peers",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of the packages' environments [EVIMEM_PEERS].",
)
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("out"), show_default=True,
    help="Folder for peers.json, peers.html and peers.md.",
)  # fmt: skip
@click.option(
    "--cache", type=click.Path(path_type=Path), help="Folder of vectors kept between runs."
)
@bank_option
@json_option
@failing_clearly
def peers_command(
    data: str | None,
    peers: Path | None,
    out: Path,
    cache: Path | None,
    path: str | None,
    bank: str | None,
    as_json: bool,
) -> None:
    """Our search beside other packages that run offline: coverage over budgets of turns, build
    rate and query latency, in one run over LoCoMo with the same embedder.

    \b
    Example:
      evimem bench peers --peers ~/.cache/evimem/peers
    """  # fmt: skip
    settings = Settings.load(path=path, bank=bank)
    folder = peers_folder(peers, settings)
    where = data_path(data, settings)
    dataset = load("locomo", data_dir=where) if where.is_dir() else load(where)
    with bench_embedder(settings, cache) as embedder, bench_progress(as_json) as progress:
        if embedder is None:
            raise SettingsError("the comparison needs an embedder: set EVIMEM_EMBEDDER=local")
        warmed(dataset, embedder)
        report = run(
            take(dataset, "all"),
            standard_entries(_opened, embedder, folder=folder, version=__version__),
            parts={name: take(dataset, name) for name in ("report", "tune", "all")},
            manifest=make_manifest([dataset], code=code_version(), embedder=embedder),
            on_progress=progress,
        )
    out.mkdir(parents=True, exist_ok=True)
    write_report(report, out / "peers.json")
    if as_json:
        emit_json(report)
        return
    page = Report(
        title="Retrieval beside other packages",
        set_id="locomo/report",
        n=report.parts[0].n,
        manifest=report.manifest,
        sections=(peers_section(report),),
    )
    (out / "peers.html").write_text(as_html(page), encoding="utf-8")
    (out / "peers.md").write_text(as_markdown(page), encoding="utf-8")
    click.echo(as_markdown(page))
    click.echo(f"written: {out / 'peers.json'}, {out / 'peers.html'}, {out / 'peers.md'}")


def _opened(folder: Path, embedder: Embedder) -> Memory:
    """An empty memory of ours in a folder of its own."""
    return Memory.open(folder / "memory.evimem", embedder=embedder)


COMMANDS = (peers_command,)
