"""`evimem`: the command line. Each command parses, makes one call of `Memory`, and formats."""

from __future__ import annotations

import click

from evimem import __version__
from evimem.interfaces.cli import ask, bench, care, demo, store

__all__ = ["cli", "main"]

_EPILOG = """\b
Exit codes: 0 done; 1 done, nothing found; 2 not possible as asked;
3 done, some items failed or a problem was found; 4 the bank's file failed;
5 an embedder or endpoint failed."""


@click.group(epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="evimem")
def cli() -> None:
    """Evidence memory for LLM agents: import conversations, ask, get cited answers."""


for _module in (demo, store, ask, care, bench):
    for _command in _module.COMMANDS:
        cli.add_command(_command)


def main() -> None:
    """The entry point of the `evimem` command."""
    cli()


if __name__ == "__main__":
    main()
