"""The memory manager with a real small model: construction events of LoCoMo conv-26 over HTTP.

    EVIMEM_DATA=... python dev/run_manager.py --out out/manager --model qwen-0.5b --events 20

The model's packages come first: `python dev/fetch_model.py qwen-0.5b --server`. Writes
`summary.json` with counts only, and `events.json` with every response, which quotes the benchmark
and stays out of the repository.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import time
from collections import Counter
from itertools import groupby
from pathlib import Path
from typing import Any

import fetch_model
from demo_llm import served

from evimem.compose import build_models
from evimem.datasets import load
from evimem.embed.local import LocalEmbedder
from evimem.manager.agent import EventTrace, ModelPolicy, run_event
from evimem.manager.environment import Environment, Limits
from evimem.manager.events import constructions_of
from evimem.manager.memory_bank import MemoryBank
from evimem.manager.protocol import protocol_of
from evimem.settings import Settings

CONVERSATION = "conv-26"
REPLY_TOKENS = 400
"""Ceiling of a response: small models do not stop by themselves."""


def summary(traces: list[EventTrace], bank: MemoryBank, seconds: float) -> dict[str, Any]:
    """Counts over the events, without a word of the benchmark."""
    steps = [step for trace in traces for step in trace.steps]
    observed = [one for step in steps for one in step.observed]
    return {
        "events": len(traces),
        "closed": dict(Counter(trace.closed for trace in traces)),
        "responses": len(steps),
        "tool_format": round(sum(trace.well_formed for trace in traces) / max(1, len(steps)), 4),
        "calls": dict(Counter(one.call.name for one in observed if one.call is not None)),
        "refused": dict(Counter(one.reason for one in observed if not one.ok)),
        "bundled_finishes": sum(trace.bundled for trace in traces),
        "ops": dict(Counter(op.kind for op in bank.ops)),
        "records": len(bank.records()),
        "seconds": round(seconds, 1),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description="The manager with a real small model.")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--data", type=Path, default=os.environ.get("EVIMEM_DATA"))
    parser.add_argument("--model", choices=sorted(fetch_model.MODELS), default="qwen-0.5b")
    parser.add_argument("--events", type=int, default=20)
    parser.add_argument("--responses", type=int, default=24, help="responses per event at most")
    parser.add_argument("--protocol", choices=("text", "native"), default="text")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    data = load("locomo", data_dir=options.data)
    history = data.histories[CONVERSATION]
    sessions = [list(members) for _, members in groupby(history.turns, key=lambda t: t.session_id)]
    events = constructions_of(sessions)[: options.events]
    with served(options.model, threads=options.threads, parallel=1, context=8192) as server:
        settings = Settings.load(
            path=options.out / "unused.evimem",
            environ={
                "EVIMEM_LLM_URL": server["url"],
                "EVIMEM_LLM_MODEL": server["model"],
                "EVIMEM_LLM_CONTEXT": str(server["context"]),
                "EVIMEM_LLM_TIMEOUT": "900",
                "EVIMEM_LLM_MAX_CALLS": "1000",
                "EVIMEM_LLM_MAX_TOKENS": "10000000",
            },
        )
        models = build_models(settings)
        if models is None:
            raise SystemExit("no model is set")
        session = models.session()
        policy = ModelPolicy(
            model=session.model("manage"),
            protocol=protocol_of(options.protocol),
            reply_tokens=REPLY_TOKENS,
        )
        bank = MemoryBank(embedder=LocalEmbedder())
        env = Environment(bank, limits=Limits(responses=options.responses))
        traces: list[EventTrace] = []
        begun = time.monotonic()
        for event in events:
            traces.append(run_event(policy, env, event))
            last = traces[-1]
            print(
                f"event {event.index}: {last.closed}, {len(last.steps)} responses, "
                f"{len(last.ops)} writes, {time.monotonic() - begun:.0f} s",
                flush=True,
            )
            told = summary(traces, bank, time.monotonic() - begun)
            git = subprocess.run(
                ["git", "describe", "--always", "--dirty"],
                capture_output=True,
                text=True,
                cwd=Path(__file__).parent,
            )
            model = fetch_model.MODELS[options.model]
            told["manifest"] = {
                "model": f"{model.file} sha256 {model.sha256[:16]}",
                "protocol": options.protocol,
                "limits": f"{options.responses} responses, {REPLY_TOKENS} tokens per reply",
                "conversation": f"LoCoMo {CONVERSATION}, first {options.events} events",
                "commit": git.stdout.strip(),
                "python": platform.python_version(),
            }
            (options.out / "summary.json").write_text(json.dumps(told, indent=1) + "\n", "utf-8")
            (options.out / "events.json").write_text(
                json.dumps([one.to_json() for one in traces], ensure_ascii=False), "utf-8"
            )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
