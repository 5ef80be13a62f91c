"""How much gold evidence the selector finds, and others on the same questions.

    python dev/measure_selector.py --data $EVIMEM_DATA --dataset locomo --part report \
        --out docs/results/selector-locomo.json

Every system views turns in its own order; recall of gold turns and completeness count the first 20
and 40. `fusion` is one search; `question` is the loop of lite-trained with a policy that asks the
question alone; `untrained` are the first weights of two seeds, the first of them those that the
shipped weights began with; `lite` has its rules. Intervals draw questions (paired bootstrap).
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from evimem.datasets import Dataset, alias_groups, load
from evimem.datasets.splits import take
from evimem.embed.local import LocalEmbedder
from evimem.eval.retrieval_bench import to_score
from evimem.eval.vector_cache import CachedEmbedder
from evimem.interfaces.cli.bench_common import code_version
from evimem.model.evidence import EvidenceState, Question, StopReason
from evimem.model.search import SearchRequest
from evimem.query.memory_view import MemoryView
from evimem.query.parts import Recipe
from evimem.query.selector.policy import SelectorPolicy, load_policy
from evimem.recipes.lite import lite
from evimem.recipes.lite_trained import lite_trained, shipped_policy
from evimem.scoring.retrieval import FloatArray, complete_at, gold_ranks, recall_at
from evimem.scoring.stats import paired_bootstrap
from evimem.trace import Round
from evimem.training.searching import asked
from evimem.training.selector.learning import SelectorTraining, fresh_policy, question_only

VIEWED = (20, 40)
SEVERAL = ("multi-hop", "multi-session")
SEEDS = (21, 1)


def complete(ranks: FloatArray, k: int) -> float:
    """1 where every gold turn is within k."""
    return float(complete_at(ranks, k))


SCORES: tuple[tuple[str, Callable[[FloatArray, int], float]], ...] = (
    ("recall", recall_at),
    ("complete", complete),
)


class Going:
    """Goes on until enough is viewed, so that all systems are compared at the same number."""

    def stop(self, rounds: Sequence[Round], state: EvidenceState) -> StopReason | None:
        """The reason to stop, or None to go on."""
        full = len(state.viewed) >= max(VIEWED) or not rounds[-1].candidates
        return "no_candidates" if full else None


def systems(policy: SelectorPolicy) -> dict[str, Recipe | None]:
    """What is compared, by name; None: one search."""
    policies = {"question": question_only(), "trained": policy}
    for seed in SEEDS:
        policies[f"untrained-{seed}"] = fresh_policy(SelectorTraining(seed=seed))
    made: dict[str, Recipe | None] = {"fusion": None, "lite": lite()}
    made |= {name: lite_trained(one) for name, one in policies.items()}
    return {
        name: recipe and dataclasses.replace(recipe, stop=Going()) for name, recipe in made.items()
    }


def viewed(recipe: Recipe | None, view: MemoryView, question: Question) -> Sequence[str]:
    """Turns in the order viewed."""
    if recipe is None:
        hits = view.search(SearchRequest(text=question.text, k=max(VIEWED)))
        return [hit.item_id for hit in hits]
    return asked(recipe, view, question).viewed


def measure(data: Dataset, policy: SelectorPolicy, cache: Path) -> dict[str, Any]:
    """The table of one part."""
    questions, _ = to_score(data)
    compared = systems(policy)
    categories: list[str] = []
    ranks: dict[str, list[FloatArray]] = {name: [] for name in compared}
    with CachedEmbedder(LocalEmbedder(), cache) as embedder:
        for name, history in data.histories.items():
            mine = [one for one in questions if data.gold[one.question_id].history_id == name]
            if not mine:
                continue
            view, aliases = MemoryView(history, embedder=embedder), alias_groups(history)
            ids = {turn.source_id: turn.turn_id for turn in history.turns}
            for question in mine:
                gold = [ids[one] for one in data.gold[question.question_id].evidence]
                categories.append(data.gold[question.question_id].category)
                for system, recipe in compared.items():
                    order = viewed(recipe, view, question)
                    ranks[system].append(gold_ranks(order, gold, aliases=aliases))
            print(f"{name}: {len(mine)} questions", flush=True)
    return table(ranks, categories)


def table(ranks: Mapping[str, list[FloatArray]], categories: Sequence[str]) -> dict[str, Any]:
    """Means by category and paired differences of the trained selector, in percent."""
    groups = {"all": range(len(categories))} | {
        one: [n for n, found in enumerate(categories) if found == one]
        for one in sorted(set(categories))
    }
    made: dict[str, Any] = {"n": {name: len(some) for name, some in groups.items()}, "systems": {}}
    for system, found in ranks.items():
        made["systems"][system] = {
            name: {
                f"{what}@{k}": round(100 * sum(f(found[n], k) for n in some) / len(some), 1)
                for k in VIEWED
                for what, f in SCORES
            }
            for name, some in groups.items()
        }
    made["trained over"] = {}
    several = [name for name in groups if name in SEVERAL]
    for other in ranks:
        if other == "trained":
            continue
        made["trained over"][other] = {
            f"{what}@{k} {name}": _gap(f, k, ranks["trained"], ranks[other], groups[name])
            for name in ("all", *several)
            for k in VIEWED
            for what, f in SCORES
        }
    return made


def _gap(
    f: Any, k: int, one: Sequence[Any], two: Sequence[Any], some: Sequence[int]
) -> list[float]:
    gap = paired_bootstrap(
        [float(f(one[n], k)) for n in some], [float(f(two[n], k)) for n in some]
    ).difference
    return [round(100 * x, 1) for x in (gap.estimate, gap.low, gap.high)]


def main() -> None:
    """Reads the arguments, measures, writes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of benchmark files")
    parser.add_argument("--dataset", choices=("locomo", "longmemeval"), default="locomo")
    parser.add_argument("--part", default="tune", help="tune or report")
    parser.add_argument("--weights", type=Path, help="a file of weights; none: those shipped")
    parser.add_argument("--cache", type=Path, default=Path("vectors"), help="folder of vectors")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    policy = shipped_policy()
    if given.weights is not None:
        policy = load_policy(given.weights.read_bytes(), name=given.weights.name)
    data = load(given.dataset, data_dir=given.data)
    report = {
        "dataset": given.dataset,
        "part": given.part,
        "files": {one.name: one.sha256 for one in data.files},
        "weights_sha256": policy.metadata["sha256"],
        "embedder": LocalEmbedder().model_id,
        "code": code_version(),
        "intervals": "paired bootstrap over questions, 95%",
        **measure(take(data, given.part), policy, given.cache),
    }
    given.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    for name, one in report["systems"].items():
        print(f"{name:13s} {one['all']} {next((one[x] for x in SEVERAL if x in one), '')}")
    print(json.dumps(report["trained over"], indent=1))


if __name__ == "__main__":
    main()
