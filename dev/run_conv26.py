"""LoCoMo conv-26 with a real small model: facts over HTTP, ten questions, traces, a report page.

    EVIMEM_DATA=... python dev/run_conv26.py --out out/conv-26 --model qwen-0.5b --threads 2

The model's packages come first: `python dev/fetch_model.py qwen-0.5b --server`. The folder `--out`
gets the bank, one trace per question, `report.html` and `summary.json`. The page and the traces
quote the benchmark and stay out of the repository; the summary holds ids and counts only. Run again
with the same folder, it goes on where it was; delete the traces there to ask anew.

Questions are drawn by a fixed seed, the same number from every category, from those whose gold
turns all lie within the sessions that are built.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import conv26_page
import fetch_model
from demo_llm import DemoError, served

from evimem._version import __version__
from evimem.build.prompts.extract import PROMPT as EXTRACT
from evimem.compose import Memory
from evimem.datasets import Dataset, Gold, ids_hash, load
from evimem.engine.build_plan import BuildState
from evimem.engine.building import BuildReport
from evimem.errors import EvimemError
from evimem.model.chat import ModelCall
from evimem.model.codec import to_json
from evimem.model.evidence import Question
from evimem.model.graph import EvidenceGraph
from evimem.model.turn import Turn
from evimem.query.loop import grown, replay
from evimem.query.mera.state import with_graph
from evimem.recipes.mera import MERA_RECIPES
from evimem.settings import Settings
from evimem.trace import Trace

CONVERSATION = "conv-26"
BUILDER = "facts"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One question with all that came of it."""

    question: Question
    """The question."""
    gold: Gold
    """What should have been found."""
    gold_turns: tuple[str, ...]
    """Ids of the gold turns in the bank."""
    trace: Trace | None
    """How it was answered; None where there is no answer."""
    problem: str = ""
    """Why there is no answer."""
    graph: EvidenceGraph | None = None
    """The evidence graph after the last round."""

    def recall(self, *, accepted: bool) -> list[float]:
        """Share of the gold turns viewed, or accepted, up to each round (MERA-78, 79)."""
        seen: set[str] = set()
        shares = []
        for one in self.trace.rounds if self.trace is not None else ():
            if not accepted:
                seen |= {ref for c in one.candidates for ref in (c.item_id, *c.refs)}
            elif one.assessment is not None:
                seen |= {ref for e in one.assessment.evidence for ref in (e.item_id, *e.refs)}
            shares.append(round(sum(t in seen for t in self.gold_turns) / len(self.gold_turns), 4))
        return shares


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Everything that the report tells."""

    manifest: dict[str, str]
    """What to repeat it with."""
    turns: dict[str, Turn]
    """Turns of the bank by id."""
    state: BuildState
    """How far the facts of the built sessions are."""
    build: dict[str, Any]
    """Tokens, calls and seconds of building, over all runs into this folder."""
    records: list[dict[str, Any]]
    """Turns whose reply could not be used, each with the reason and the reply."""
    asked: list[Asked]
    """The questions."""


def settings_for(out: Path, *, url: str, model: str, context: int, parallel: int) -> Settings:
    """Settings of this run alone; nothing of the shell's counts."""
    return Settings.load(
        path=out / "conv-26.evimem",
        environ={
            "EVIMEM_LLM_URL": url,
            "EVIMEM_LLM_MODEL": model,
            "EVIMEM_LLM_CONTEXT": str(context),
            "EVIMEM_LLM_PARALLEL": str(parallel),
            "EVIMEM_LLM_TIMEOUT": "900",
        },
    )


def sessions_for(memory: Memory, at_least: int) -> list[str]:
    """Ids of the first sessions that together hold at least so many turns."""
    chosen: list[str] = []
    count = 0
    for session in memory.sessions():
        if count >= at_least:
            break
        chosen.append(session.session_id)
        count += len(memory.session(session.session_id))
    return chosen


def import_once(memory: Memory, data: Path, out: Path) -> None:
    """The whole conversation, through the importer."""
    samples = json.loads((data / "locomo10.json").read_text(encoding="utf-8"))
    one = [sample for sample in samples if sample["sample_id"] == CONVERSATION]
    source = out / "conv-26.json"
    source.write_text(json.dumps(one, ensure_ascii=False), encoding="utf-8")
    receipt = memory.import_file(source)
    say(f"imported: {receipt.stored} new turns")


def build(memory: Memory, sessions: Sequence[str], out: Path, *, workers: int) -> BuildReport:
    """Facts of the sessions; what it cost is added up in the folder, over all runs."""
    begun = time.monotonic()

    def progress(stage: str, done: int, total: int | None) -> None:
        if stage == "extract" and done % 5 == 0:
            say(f"facts: {done} of {total} turns, {time.monotonic() - begun:.0f} s")

    report = memory.build_facts(sessions=sessions, workers=workers, progress=progress)
    kept = out / "build.json"
    held = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
    for name, value in {
        "calls": report.calls,
        "tokens_in": sum(one.tokens_in for one in report.usage),
        "tokens_out": sum(one.tokens_out for one in report.usage),
        "tokens_cached": sum(one.tokens_cached for one in report.usage),
        "seconds": round(report.seconds, 1),
        "read": report.built,
    }.items():
        held[name] = round(held.get(name, 0) + value, 1)
    held["rejected"] = dict(Counter(held.get("rejected", {})) + Counter(report.rejected))
    kept.write_text(json.dumps(held, indent=1), encoding="utf-8")
    return report


def chosen(dataset: Dataset, built: set[str], *, count: int, seed: int) -> list[Question]:
    """Questions by seed, as evenly over the categories as their numbers allow.

    Args:
        dataset: the benchmark.
        built: source ids of the turns that have facts.
        count: how many.
        seed: of the draw.
    """
    fitting = defaultdict(list)
    for question in dataset.questions:
        gold = dataset.gold[question.question_id]
        if gold.history_id == CONVERSATION and gold.fully_mapped and set(gold.evidence) <= built:
            fitting[gold.category].append(question)
    draw = random.Random(seed)
    for category in sorted(fitting):
        draw.shuffle(fitting[category])
    picked: list[Question] = []
    while len(picked) < count and any(fitting.values()):
        for category in sorted(fitting):
            if fitting[category] and len(picked) < count:
                picked.append(fitting[category].pop())
    return picked


def ask(memory: Memory, question: Question, *, recipe: str, rounds: int, kept: Path) -> Trace | str:
    """The trace of a question, from an earlier run or now; the words of the error if it failed."""
    if kept.exists():
        return Trace.from_json(json.loads(kept.read_text(encoding="utf-8")))
    begun = time.monotonic()
    try:
        trace = memory.ask_traced(question.text, recipe=recipe, max_rounds=rounds)
    except EvimemError as error:
        say(
            f"{question.question_id}: {type(error).__name__} after {time.monotonic() - begun:.0f} s"
        )
        return f"{type(error).__name__}: {error}"
    kept.write_text(json.dumps(trace.to_json(), ensure_ascii=False), encoding="utf-8")
    say(
        f"{question.question_id}: {trace.answer.status if trace.answer else '-'}, "
        f"{len(trace.rounds)} rounds, {trace.stop_reason}, {time.monotonic() - begun:.0f} s"
    )
    return trace


def summary(run: Run) -> dict[str, Any]:
    """The figures, without a word of the benchmark."""
    traces = [one.trace for one in run.asked if one.trace is not None]
    calls = [call for trace in traces for call in trace.calls]
    longest = max((len(trace.rounds) for trace in traces), default=0)
    held = run.state.with_facts
    return {
        "manifest": run.manifest,
        "questions_sha256": ids_hash([one.question.question_id for one in run.asked]),
        "build": {
            **{
                name: getattr(run.state, name)
                for name in ("turns", "done", "fallback", "refused", "failed", "facts")
            },
            "turns_with_facts": held,
            "causes": dict(run.state.causes),
            **run.build,
        },
        "questions": [_row(one) for one in run.asked],
        "stop_reasons": dict(Counter(trace.stop_reason for trace in traces)),
        "statuses": dict(Counter(t.answer.status for t in traces if t.answer is not None)),
        "by_role": by_role(calls),
        "seconds": round(sum(trace.usage.seconds for trace in traces), 1),
        "recall_viewed_by_round": mean_recall(run.asked, longest, accepted=False),
        "recall_accepted_by_round": mean_recall(run.asked, longest, accepted=True),
    }


def _row(one: Asked) -> dict[str, Any]:
    row: dict[str, Any] = {
        "id": one.question.question_id,
        "category": one.gold.category,
        "gold_turns": len(one.gold_turns),
        "problem": one.problem.partition(":")[0],
    }
    trace = one.trace
    if trace is None:
        return row
    return {
        **row,
        "status": trace.answer.status if trace.answer is not None else None,
        "stop_reason": trace.stop_reason,
        "rounds": len(trace.rounds),
        "calls": trace.usage.calls,
        "tokens_in": trace.usage.tokens_in,
        "tokens_out": trace.usage.tokens_out,
        "seconds": round(trace.usage.seconds, 1),
        "plans_unusable": sum(1 for r in trace.rounds if r.plan is not None and r.plan.problem),
        "checks_unusable": sum(
            1 for r in trace.rounds if r.assessment is not None and r.assessment.problem
        ),
        "recall_viewed": one.recall(accepted=False),
        "recall_accepted": one.recall(accepted=True),
    }


def by_role(calls: Sequence[ModelCall]) -> dict[str, dict[str, Any]]:
    """Calls, replies thrown away, tokens and seconds per role."""
    found: dict[str, dict[str, Any]] = {}
    for call in calls:
        held = found.setdefault(
            call.role,
            {
                "calls": 0,
                "discarded": 0,
                "failed": 0,
                "tokens_in": 0,
                "tokens_cached": 0,
                "tokens_out": 0,
                "seconds": 0.0,
            },
        )
        held["calls"] += 1
        if call.outcome in ("discarded", "failed"):
            held[call.outcome] += 1
        for name in ("tokens_in", "tokens_cached", "tokens_out"):
            held[name] += getattr(call, name)
        held["seconds"] = round(held["seconds"] + call.seconds, 1)
    return found


def mean_recall(asked: Sequence[Asked], longest: int, *, accepted: bool) -> list[float]:
    """Mean recall up to each round; a question that ended earlier keeps its last value."""
    curves = [one.recall(accepted=accepted) for one in asked if one.trace is not None]
    curves = [curve or [0.0] for curve in curves]
    return [
        round(sum(c[min(n, len(c) - 1)] for c in curves) / len(curves), 4) for n in range(longest)
    ]


def final_graph(trace: Trace) -> EvidenceGraph | None:
    """The evidence graph after the last round, by replaying the trace; no model is called."""
    *_, last = replay(with_graph if MERA_RECIPES[trace.recipe].graph else grown, trace)
    return last.graph


def manifest(
    options: argparse.Namespace, server: dict[str, Any], prompts: set[str]
) -> dict[str, str]:
    """What it takes to do this again."""
    git = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parent,
    )
    model = fetch_model.MODELS[options.model]
    return {
        "model": f"{model.file} sha256 {model.sha256[:16]}",
        "server": f"xllamacpp {fetch_model.pins(fetch_model.CONSTRAINTS)['xllamacpp'][0]}, "
        f"threads: {options.threads}, context {server['context']} per request, "
        f"repetition penalty {model.penalty}, frequency penalty {model.frequency}",
        "recipe": f"{options.recipe}, at most {options.rounds} rounds",
        "prompts": ", ".join(sorted(prompts)),
        "questions": f"{options.questions} of {CONVERSATION}, seed {options.seed}",
        "evimem": f"{__version__}, commit {git.stdout.strip() or 'unknown'}",
        "python": platform.python_version(),
    }


def say(line: str) -> None:
    print(line, flush=True)


def work(options: argparse.Namespace, server: dict[str, Any]) -> Run:
    """All steps with one server."""
    out: Path = options.out
    settings = settings_for(
        out,
        url=server["url"],
        model=server["model"],
        context=server["context"],
        parallel=options.parallel,
    )
    dataset = load("locomo", data_dir=options.data)
    with Memory.from_settings(settings) as memory:
        import_once(memory, options.data, out)
        sessions = sessions_for(memory, options.turns)
        report = build(memory, sessions, out, workers=options.parallel)
        say(
            f"facts: {report.state.facts} of {report.state.turns} turns, {report.stopped or 'done'}"
        )
        turns = {
            turn.turn_id: turn
            for session in memory.sessions()
            for turn in memory.session(session.session_id)
        }
        built = {turn.source_id for turn in turns.values() if turn.session_id in sessions}
        ids = {turn.source_id: turn.turn_id for turn in turns.values()}
        asked = []
        for question in chosen(dataset, built, count=options.questions, seed=options.seed):
            gold = dataset.gold[question.question_id]
            name = question.question_id.replace("#", "-").replace("/", "-")
            got = ask(
                memory,
                question,
                recipe=options.recipe,
                rounds=options.rounds,
                kept=out / f"trace-{options.recipe}-{name}.json",
            )
            asked.append(
                Asked(
                    question=question,
                    gold=gold,
                    gold_turns=tuple(ids[one] for one in gold.evidence),
                    trace=got if isinstance(got, Trace) else None,
                    problem=got if isinstance(got, str) else "",
                    graph=final_graph(got) if isinstance(got, Trace) else None,
                )
            )
        with memory._store.read(settings.bank) as reader:  # the records have no public reader
            records = reader.builds(BUILDER)
    prompts = {EXTRACT.tag} | {c.prompt for a in asked if a.trace for c in a.trace.calls}
    unusable = [
        to_json(record)
        for record in records.values()
        if record.status != "done" or record.detail or record.raw
    ]
    return Run(
        manifest=manifest(options, server, prompts),
        turns=turns,
        state=report.state,
        build=json.loads((out / "build.json").read_text(encoding="utf-8")),
        records=unusable,
        asked=asked,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="conv-26 with a real small model.")
    parser.add_argument("--out", type=Path, required=True, help="folder for all that comes out")
    parser.add_argument("--data", type=Path, default=os.environ.get("EVIMEM_DATA"))
    parser.add_argument("--model", choices=sorted(fetch_model.MODELS), default="qwen-0.5b")
    parser.add_argument("--recipe", choices=sorted(MERA_RECIPES), default="mera")
    parser.add_argument("--turns", type=int, default=60, help="turns to build at least")
    parser.add_argument("--questions", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=10, help="rounds of search at most")
    parser.add_argument("--seed", type=int, default=26)
    parser.add_argument("--threads", type=int, default=1, help="threads of the server")
    parser.add_argument("--parallel", type=int, default=1, help="calls at a time")
    # The same each time: facts count as read under a model at an address.
    parser.add_argument("--port", type=int, default=8726)
    parser.add_argument("--context", type=int, default=8192, help="tokens per request")
    options = parser.parse_args()
    if options.data is None or not (Path(options.data) / "locomo10.json").exists():
        print(
            "error: set EVIMEM_DATA (or --data) to the folder with locomo10.json", file=sys.stderr
        )
        return 2
    options.data = Path(options.data)
    options.out.mkdir(parents=True, exist_ok=True)
    begun = time.monotonic()
    # One slot per role, so that each keeps the beginning of its prompt that never changes.
    slots = max(4, options.parallel)
    try:
        with served(
            options.model,
            port=options.port,
            threads=options.threads,
            parallel=slots,
            context=options.context,
        ) as server:
            run = work(options, server)
    except DemoError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    figures = summary(run)
    (options.out / "summary.json").write_text(json.dumps(figures, indent=1), encoding="utf-8")
    page = conv26_page.page(run, figures)
    (options.out / "report.html").write_text(page, encoding="utf-8")
    say(f"{options.out / 'report.html'} after {time.monotonic() - begun:.0f} s")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
