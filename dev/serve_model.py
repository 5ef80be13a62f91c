"""Serve a small model on this machine, with the API that OpenAI-compatible clients speak.

    python dev/serve_model.py --model smollm2
    {"url": "http://127.0.0.1:41234/v1", "model": "smollm2", "context": 4096, "parallel": 1}

The one line on stdout comes when the server answers; then it serves until SIGTERM, SIGINT or the
end of the process that started it. The server is llama.cpp out of the package xllamacpp (see
constraints-llm.txt; it needs nothing beside Python). It listens on the loopback only.

`--context` is per request: with `--parallel 2` the server keeps two of that size.

What clients meet here, measured over HTTP with xllamacpp 2026.10.11549:

- `response_format` of type json_schema binds the reply to the schema token by token; json_object
  gives any JSON, and takes a schema as well. A json_schema without a schema is not refused: any
  JSON comes. A `pattern` that cannot be converted is dropped, with a line on the server's stderr.
- `max_tokens` reached: finish_reason "length" and a reply that ends in mid-word. So does a reply
  that reaches the end of the context, with fewer tokens than asked.
- Too long a prompt: status 400, {"error": {"code": 400, "type": "exceed_context_size_error",
  "message": "request (6031 tokens) exceeds the available context size (4096 tokens), try
  increasing it", "n_prompt_tokens": 6031, "n_ctx": 4096}}. Nothing is ever cut in silence.
- A schema that cannot be converted (an unknown type, a $ref to nothing), a field of the wrong type,
  an unknown response_format, a lone surrogate, bad JSON: status 400, "invalid_request_error".
- Any model name is accepted and unknown fields are passed over; the reply names the real model.
- `usage.prompt_tokens_details.cached_tokens` tells what came from the prefix cache and is part of
  `prompt_tokens`. /v1/messages (the Anthropic form) counts `input_tokens` without them.
- More requests than `--parallel` wait in line; none is refused.
- Small models repeat themselves until the ceiling when sampled greedily: smollm2 did in 12 of 12
  extractions. The penalties of fetch_model.MODELS, which count where a request sets none, are why
  its replies end: all of 6 extractions and 2 of 2 plans did.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import FrameType
from typing import Any

import fetch_model

WAIT = 60.0


def parameters(
    path: Path,
    *,
    alias: str,
    port: int = 0,
    context: int = 4096,
    threads: int = 1,
    parallel: int = 1,
    penalty: float = 1.0,
    frequency: float = 0.0,
    verbose: bool = False,
) -> Any:
    """The server's parameters.

    One thread is the default because waiting threads spin: on a busy machine two cost more than
    seven times the CPU seconds of one for the same work.
    """
    import xllamacpp

    made = xllamacpp.CommonParams()
    made.model.path = str(path)
    made.model_alias = {alias}
    made.hostnames = ["127.0.0.1"]
    made.port = port
    made.n_ctx = context * parallel  # the server divides it among its slots
    made.n_parallel = parallel
    made.kv_unified = False
    made.cpuparams.n_threads = threads
    made.cpuparams_batch.n_threads = threads
    made.n_threads_http = max(4, parallel + 2)
    made.n_gpu_layers = 0
    made.fit_params = False  # no memory fitting: the context is what was asked
    made.ctx_shift = False  # too long a prompt is an error and never cut in silence
    made.cache_ram_mib = 0  # no second store of prompts; each slot still keeps its prefix
    made.ui = False
    made.endpoint_slots = False
    made.sampling.penalty_repeat = penalty
    made.sampling.penalty_freq = frequency
    made.sampling.penalty_last_n = 512
    made.verbosity = 3 if verbose else 0
    return made


def healthy(url: str, *, seconds: float) -> bool:
    """True as soon as the server says that it is ready; False if it does not within that time."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            with urllib.request.urlopen(f"{url}/health", timeout=5) as reply:
                if reply.status == 200:
                    return True
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            pass
        time.sleep(0.05)
    return False


def serve(made: Any, *, say: dict[str, object]) -> int:
    """Serve until a signal comes or the parent is gone."""
    import xllamacpp

    parent = os.getppid()
    stopped = threading.Event()

    def stop(_number: int, _frame: FrameType | None) -> None:
        stopped.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    server = xllamacpp.Server(made)
    url = server.listening_address
    if not healthy(url, seconds=WAIT):
        print(f"error: the server at {url} did not become ready in {WAIT:.0f} s", file=sys.stderr)
        return 1
    print(json.dumps({"url": f"{url}/v1", **say}), flush=True)
    while not stopped.wait(0.5):
        if os.getppid() != parent:  # whoever started this is gone: do not stay behind
            break
    del server
    return 0


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Serve a small model on the loopback.")
    parser.add_argument("--model", choices=sorted(fetch_model.MODELS), default="smollm2")
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument("--context", "--ctx", type=int, default=4096, help="tokens per request")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--parallel", type=int, default=1, help="requests at once")
    parser.add_argument("--verbose", action="store_true", help="the server's log on stderr")
    options = parser.parse_args(argv)
    path = fetch_model.cached(options.model, fetch_model.cache_dir())
    if path is None:
        print(
            f"error: {options.model} is not in {fetch_model.cache_dir()}; fetch it with"
            f" `python dev/fetch_model.py {options.model}`",
            file=sys.stderr,
        )
        return 1
    try:
        import xllamacpp  # noqa: F401  # here, for the clear message
    except ImportError:
        print("error: xllamacpp is not installed; `make llm-server` does it", file=sys.stderr)
        return 1
    made = parameters(
        path,
        alias=options.model,
        port=options.port,
        context=options.context,
        threads=options.threads,
        parallel=options.parallel,
        penalty=fetch_model.MODELS[options.model].penalty,
        frequency=fetch_model.MODELS[options.model].frequency,
        verbose=options.verbose,
    )
    say = {"model": options.model, "context": options.context, "parallel": options.parallel}
    return serve(made, say=say)


if __name__ == "__main__":
    raise SystemExit(main())
