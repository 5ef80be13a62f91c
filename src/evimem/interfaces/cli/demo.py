"""`evimem demo`: a small conversation of ours, imported and asked about, in a throw-away bank."""

from __future__ import annotations

import dataclasses
import tempfile
from importlib import resources
from pathlib import Path

import click

from evimem.interfaces.cli.common import emit_json, failing_clearly, json_option, open_memory, out
from evimem.interfaces.cli.render import show_answer, show_import

__all__ = ["COMMANDS", "QUESTIONS"]

QUESTIONS = (
    "When did Nadia sign up for the pottery course?",
    "Where does Tom work?",
    "Which instruments does Nadia play?",
    "Who did Nadia go hiking with?",
    "When did Tom quit the bakery?",
    "What did Tom pay for his car?",
)


@click.command()
@json_option
@failing_clearly
def demo(as_json: bool) -> None:
    """Import a small conversation and ask about it: no key, no server, nothing kept.

    \b
    Example:
      evimem demo
    """
    source = resources.files("evimem.interfaces.cli").joinpath("data/demo.jsonl")
    console = out()
    with (
        tempfile.TemporaryDirectory(prefix="evimem-demo-") as folder,
        resources.as_file(source) as conversation,
        open_memory(str(Path(folder) / "demo.evimem"), None) as memory,
    ):
        receipt = memory.import_file(conversation)
        traces = [memory.ask_traced(question) for question in QUESTIONS]
    if as_json:
        emit_json({"import": receipt, "answers": [trace.answer for trace in traces]})
        return
    console.print("[bold]import of a conversation between Nadia and Tom (5 sessions)[/]")
    show_import(console, receipt)
    for trace in traces:
        console.print(f"\n> {trace.question}", style="bold cyan", markup=False)
        if trace.answer is not None:  # its bank is gone by now, so no trace to point to
            show_answer(console, dataclasses.replace(trace.answer, trace_id=""), trace=trace)
    console.print('\nYour own data: evimem import chats.zip, then evimem ask "..."', markup=False)


COMMANDS = (demo,)
