"""Writes the generated parts of docs/: the CLI reference, from the commands themselves.

Run `make docs`; `--check` (part of `make check`) fails if a page is not up to date.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from evimem.interfaces.cli.main import cli

PAGE = Path(__file__).resolve().parents[1] / "docs" / "cli.md"

HEAD = """# Command line

Generated from the commands by `make docs`. Every command takes `--json`, `--bank` and `--path`.

"""


def _section(command: click.Command, words: list[str]) -> str:
    context = click.Context(command, info_name=" ".join(words), max_content_width=100)
    text = f"## {' '.join(words)}\n\n```text\n{command.get_help(context)}\n```\n\n"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner is not None:
                text += _section(inner, [*words, name])
    return text


def main() -> int:
    """Writes or checks the page. Returns the exit code."""
    text = (HEAD + _section(cli, ["evimem"])).rstrip() + "\n"
    if "--check" in sys.argv[1:]:
        if PAGE.exists() and PAGE.read_text(encoding="utf-8") == text:
            return 0
        print(f"{PAGE.name} is not up to date: run `make docs`", file=sys.stderr)
        return 1
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
