"""`evimem`: the command line. Each command parses, makes one call of `Memory`, and formats."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from evimem import __version__
from evimem.interfaces.cli import ask, audit, build, care, demo, records, store
from evimem.interfaces.cli.common import EXIT_FAILED_ITEMS, EXIT_INTERRUPTED, emit_error

__all__ = ["cli", "main"]

_EPILOG = """\b
Exit codes: 0 done; 1 done, nothing found; 2 not possible as asked;
3 done, some items failed or a problem was found; 4 the bank's file failed;
5 an embedder or endpoint failed; 130 interrupted."""


class _Cli(click.Group):
    """The group of commands; however a command ends, it ends with a message and an exit code.

    `bench` and `train` bring a quarter of the package with them, so they are imported when they
    are named.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every name, in the order of the alphabet."""
        return sorted((*super().list_commands(ctx), "bench", "train"))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name."""
        if cmd_name == "bench":
            from evimem.interfaces.cli.bench import bench

            return bench
        if cmd_name == "train":
            from evimem.interfaces.cli.train import train_group

            return train_group
        return super().get_command(ctx, cmd_name)

    def main(self, args: Sequence[str] | None = None, *rest: Any, **extra: Any) -> Any:
        """See `click.Group.main`. With --json, wrong usage is told in JSON too."""
        given = list(sys.argv[1:] if args is None else args)
        as_json = "--json" in given
        try:
            ended = super().main(given, *rest, **{**extra, "standalone_mode": False})
        except click.ClickException as error:
            if as_json:
                emit_error("UsageError", error.format_message())
            error.show()
            raise SystemExit(error.exit_code) from error
        except click.Abort as error:
            message = "interrupted: what was stored stays, and the same command goes on from there"
            if as_json:
                emit_error("Interrupted", message)
            click.echo(f"evimem: {message}", err=True)
            raise SystemExit(EXIT_INTERRUPTED) from error
        except OSError as error:
            click.echo(f"evimem: reading or writing failed ({error})", err=True)
            _drop_output()
            raise SystemExit(EXIT_FAILED_ITEMS) from error
        raise SystemExit(ended if isinstance(ended, int) else 0)


def _drop_output() -> None:
    """What is still buffered for standard output goes nowhere, so that the exit is quiet."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):  # no real stream, as in a test
        return


@click.group(cls=_Cli, epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="evimem")
def cli() -> None:
    """Evidence memory for LLM agents: import conversations, ask, get cited answers."""


for _module in (demo, store, build, records, ask, care, audit):
    for _command in _module.COMMANDS:
        cli.add_command(_command)


def main() -> None:
    """The entry point of the `evimem` command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that lacks a letter
    cli()


if __name__ == "__main__":
    main()
