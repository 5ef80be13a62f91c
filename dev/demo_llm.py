"""Import, facts, episodes, questions and traces with a real small model behind a real server.

    python dev/demo_llm.py               # after: python dev/fetch_model.py smollm2 --server
    make demo-llm                        # both

The conversation is the one of `evimem demo`, its first turns. The model is far too small to say
anything useful: this shows that every prompt, schema and limit works over a real server. Ends with
an error if a step fails or if no text was generated. Needs no network and keeps nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fetch_model

DEV = Path(__file__).parent
CONVERSATION = DEV.parent / "src" / "evimem" / "interfaces" / "cli" / "data" / "demo.jsonl"
QUESTION = "When did Nadia sign up for the pottery course?"
CONTEXT = 4096
"""Tokens per request: what the recipe needs at least, because this model may write on and on."""
START = 60.0
NOTHING_FOUND = 1
"""Exit code of `evimem ask` where memory does not hold the answer: for this model, a fine one."""
SOME_FAILED = 3
"""Exit code of `evimem build` where more than 5% of the turns got no usable reply; `check_build`
looks closer."""


class DemoError(Exception):
    """A step failed."""


@contextlib.contextmanager
def served(
    model: str, *, threads: int, parallel: int, context: int, port: int = 0
) -> Iterator[dict[str, Any]]:
    """A running server, and what it said when it was ready.

    Raises:
        DemoError: it did not come up.
    """
    command = [sys.executable, str(DEV / "serve_model.py"), "--model", model]
    command += ["--port", str(port)]
    command += ["--threads", str(threads), "--parallel", str(parallel), "--context", str(context)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, encoding="utf-8") as process:
        watch = threading.Timer(START, process.kill)
        watch.start()
        try:
            line = process.stdout.readline() if process.stdout is not None else ""
            watch.cancel()
            if not line:
                raise DemoError("the server did not start: see what it says above")
            yield json.loads(line)
        finally:
            watch.cancel()
            process.terminate()


class Evimem:
    """The command line, run as a person would run it, with these settings alone."""

    def __init__(self, settings: dict[str, str]) -> None:
        kept = {k: v for k, v in os.environ.items() if not k.startswith("EVIMEM_")}
        self._environ = {**kept, **settings, "PYTHONUTF8": "1", "COLUMNS": "100"}

    def show(self, *arguments: str, allowed: tuple[int, ...] = (0,)) -> None:
        """Runs a command with its output on the screen.

        Raises:
            DemoError: it ended with another exit code than the allowed ones.
        """
        print(f"\n$ evimem {' '.join(_quoted(one) for one in arguments)}", flush=True)
        begun = time.monotonic()
        done = subprocess.run([sys.executable, "-m", MODULE, *arguments], env=self._environ)
        print(f"({time.monotonic() - begun:.1f} s)", flush=True)
        if done.returncode not in allowed:
            raise DemoError(f"`evimem {arguments[0]}` ended with exit code {done.returncode}")

    def json(self, *arguments: str) -> Any:
        """What a command prints with --json.

        Raises:
            DemoError: it failed.
        """
        done = subprocess.run(
            [sys.executable, "-m", MODULE, *arguments, "--json"],
            env=self._environ,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
        if done.returncode != 0:
            raise DemoError(f"`evimem {arguments[0]} --json` ended with {done.returncode}")
        return json.loads(done.stdout)


MODULE = "evimem.interfaces.cli.main"


def _quoted(argument: str) -> str:
    return f'"{argument}"' if " " in argument else argument


def demo(folder: Path, *, url: str, model: str, turns: int, rounds: int, parallel: int) -> None:
    """Facts and mera, episodes and qemem, and the check that text was generated.

    Raises:
        DemoError: a step failed or nothing was generated.
    """
    lines = CONVERSATION.read_text(encoding="utf-8").splitlines()[:turns]
    source = folder / "conversation.jsonl"
    source.write_text("\n".join(lines) + "\n", encoding="utf-8")
    evimem = Evimem(
        {
            "EVIMEM_PATH": str(folder / "demo.evimem"),
            "EVIMEM_LLM_URL": url,
            "EVIMEM_LLM_MODEL": model,
            "EVIMEM_LLM_CONTEXT": str(CONTEXT),
            "EVIMEM_LLM_PARALLEL": str(parallel),
        }
    )
    evimem.show("import", str(source))
    evimem.show("build", "facts", allowed=(0, SOME_FAILED))
    check_build(evimem.json("build", "status"), turns=turns)
    evimem.show(
        "ask", QUESTION, "--recipe", "mera", "--max-rounds", str(rounds),
        allowed=(0, NOTHING_FOUND),
    )  # fmt: skip
    evimem.show("trace", "show")
    check(evimem.json("trace", "show"), roles={"seed", "plan", "answer"})
    evimem.show("build", "episodes", allowed=(0, SOME_FAILED))
    evimem.show(
        "ask", QUESTION, "--recipe", "qemem", "--max-rounds", str(rounds),
        allowed=(0, NOTHING_FOUND),
    )  # fmt: skip
    evimem.show("trace", "show")
    check(evimem.json("trace", "show"), roles={"plan", "verify", "answer"})


def check_build(state: dict[str, Any], *, turns: int) -> None:
    """That every turn was read. One that stands as its own words was: its reply was of no use.

    Raises:
        DemoError: some were not.
    """
    told = ", ".join(f"{name} {state[name]}" for name in ("done", "fallback", "failed", "facts"))
    print(f"\nturns: {told}")
    if state["done"] + state["fallback"] < turns:
        raise DemoError(f"of {turns} turns some were not read: {state['causes']}")


def check(trace: dict[str, Any], *, roles: set[str]) -> None:
    """That the model really spoke, in each of its parts.

    Raises:
        DemoError: it did not.
    """
    calls = [
        *trace.get("opening", []),
        *(call for one in trace.get("rounds", []) for call in one.get("calls", [])),
        *trace.get("closing", []),
    ]
    written: dict[str, int] = {}
    for call in calls:
        written[call["role"]] = written.get(call["role"], 0) + call.get("tokens_out", 0)
    told = ", ".join(f"{role} {count}" for role, count in written.items())
    print(f"\ntokens generated for the question: {told or 'none'}")
    silent = roles - {role for role, count in written.items() if count}
    if silent:
        raise DemoError(f"no text was generated for: {', '.join(sorted(silent))}")


def main() -> int:
    parser = argparse.ArgumentParser(description="The whole path with a real small model.")
    parser.add_argument("--model", choices=sorted(fetch_model.MODELS), default="smollm2")
    parser.add_argument("--turns", type=int, default=8, help="turns of the conversation")
    parser.add_argument("--rounds", type=int, default=2, help="rounds of search at most")
    parser.add_argument("--threads", type=int, default=1, help="threads of the server")
    options = parser.parse_args()
    begun = time.monotonic()
    try:
        with (
            served(options.model, threads=options.threads, parallel=2, context=CONTEXT) as server,
            tempfile.TemporaryDirectory(prefix="evimem-demo-llm-") as folder,
        ):
            print(f"{server['model']} answers at {server['url']}")
            demo(
                Path(folder),
                url=server["url"],
                model=server["model"],
                turns=options.turns,
                rounds=options.rounds,
                parallel=2,
            )
    except DemoError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"done in {time.monotonic() - begun:.0f} s")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
