"""The training of the selector from nothing to weights, top to bottom.

Generated conversations -> states along trajectories, every option searched -> the supervised start
-> the filter -> GRPO with executed rewards -> measured on generated conversations of another seed.
No benchmark file is read. What a run writes is the form of every training here: `metrics.jsonl` and
`report.json`, which `evimem bench training` draws, beside the weights.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.util
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evimem.datasets import Dataset
from evimem.datasets.generated.build import generate
from evimem.datasets.generated.profiles import profile_named
from evimem.datasets.splits import benchmark_questions
from evimem.errors import missing_extra
from evimem.model.evidence import EvidenceState, StopReason
from evimem.model.turn import History
from evimem.ports import Embedder
from evimem.query.lite.packager import LitePackager, weighed_scores
from evimem.query.memory_view import MemoryView
from evimem.query.parts import BankView, Recipe
from evimem.query.selector.policy import SelectorPolicy
from evimem.recipes.lite_trained import KEPT, lite_trained
from evimem.scoring.stats import paired_bootstrap
from evimem.trace import Round
from evimem.training.rewards import Reward, reward_named
from evimem.training.selector.learning import SelectorTraining, Step, fresh_policy, question_only
from evimem.training.selector.run import (
    Found,
    Progress,
    TrainedSelector,
    collect,
    found_by,
    train_selector,
    with_policy,
)

__all__ = ["SelectorSetup", "train"]

REWARD = "no-penalties"
"""The paper's reward (Eq. 5); its penalties are on the form of written words."""
SHOWN = (20, 20)
"""Candidates of a round in training; the deepest depth that is rewarded."""
VIEWED = 20
"""Turns viewed at which recall is measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectorSetup:
    """Data and settings of a run."""

    profile: str = "mera-locomo"
    """Profile of the generator."""
    histories: int = 14
    """Conversations to train on."""
    questions: int = 146
    """Questions of each; those with an answer in it are used."""
    held: int = 2
    """Conversations of another seed that recall is measured on."""
    seed: int = 21
    """Of the generator and the training; the held-out conversations have the next one."""
    learning: SelectorTraining = field(default_factory=SelectorTraining)
    """The settings of learning; their seed is replaced by that of the run."""


def train(
    setup: SelectorSetup, embedder: Embedder, out: Path, *, on_progress: Progress | None = None
) -> dict[str, Any]:
    """Trains a selector and writes it with its metrics and report.

    Args:
        setup: data and settings.
        embedder: encodes turns and queries.
        out: folder for selector.safetensors, metrics.jsonl and report.json.
        on_progress: called with what is done, how much of it and of how much.

    Returns:
        The report.

    Raises:
        UsageError: there is no such profile, or no state is informative.
        MissingExtra: SciPy is not installed.
        EmbedderError: a turn could not be encoded.
    """
    if importlib.util.find_spec("scipy") is None:  # said now rather than after the training
        raise missing_extra("an interval of recall", "eval")
    config = dataclasses.replace(setup.learning, seed=setup.seed)
    data = _answerable(setup, setup.histories, setup.seed)
    reward = reward_named(REWARD)
    assert isinstance(reward, Reward)

    def view(history: History) -> BankView:
        return MemoryView(history, embedder=embedder)

    situations, funnel = collect(
        [data], _exploring(config), view, config, reward,
        test_ids=benchmark_questions(), on_progress=on_progress,
    )  # fmt: skip
    trained = train_selector(situations, funnel, config, on_progress=on_progress)
    held = _answerable(setup, setup.held, setup.seed + 1)
    measured = _measured(trained, held, {name: view(one) for name, one in held.histories.items()})
    told = {
        "about": "selector of queries for lite-trained: generated conversations only",
        "data": f"{setup.profile}, seed {setup.seed}, {setup.histories} conversations",
        "embedder": embedder.model_id,
    }
    weights = SelectorPolicy(weights=trained.policy.weights, metadata=told).to_bytes()
    report = {
        "method": "selector",
        "seed": setup.seed,
        "setup": dataclasses.asdict(setup),
        "states": dataclasses.asdict(trained.funnel),
        "start_loss": [round(trained.losses[0], 4), round(trained.losses[-1], 4)],
        "held_out": measured,
        "sha256": hashlib.sha256(weights).hexdigest(),
        **told,
    }
    out.mkdir(parents=True, exist_ok=True)
    (out / "selector.safetensors").write_bytes(weights)
    lines = [json.dumps(_line(n, one)) for n, one in enumerate(trained.curve, start=1)]
    (out / "metrics.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (out / "report.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return report


def _answerable(setup: SelectorSetup, histories: int, seed: int) -> Dataset:
    whole = profile_named(setup.profile)
    profile = dataclasses.replace(whole, histories=histories, questions=histories * setup.questions)
    data = generate(profile, seed)
    kept = [one.question_id for one in data.questions if data.gold[one.question_id].answerable]
    return data.only(kept, split=f"{profile.name}-{seed}")


class _Going:
    """A stop rule for trajectories: on, while anything unseen comes back."""

    def stop(self, rounds: Sequence[Round], state: EvidenceState) -> StopReason | None:
        return None if rounds[-1].candidates else "no_candidates"


def _exploring(config: SelectorTraining) -> Recipe:
    """The recipe whose trajectories give the states."""
    return dataclasses.replace(
        lite_trained(fresh_policy(config)),
        packager=LitePackager(shown=SHOWN, scores=weighed_scores, kept=KEPT),
        stop=_Going(),
        max_rounds=len(SHOWN),
    )


def _measured(
    trained: TrainedSelector, held: Dataset, views: Mapping[str, BankView]
) -> dict[str, Any]:
    """Recall of gold turns in the first turns viewed, for the policies that are compared."""
    policies = {
        "question": question_only(),
        "untrained": trained.untrained,
        "started": trained.started,
        "trained": trained.policy,
    }
    recipe = dataclasses.replace(lite_trained(trained.policy), stop=_Going(), max_rounds=2)
    found = {
        name: found_by(with_policy(recipe, policy), held, views, turns=VIEWED)
        for name, policy in policies.items()
    }
    made: dict[str, Any] = {"viewed": VIEWED, "n": len(found["trained"])}
    for name, some in found.items():
        made[name] = _mean(some)
    for name in ("question", "untrained", "started"):
        gap = paired_bootstrap(
            [one.recall for one in found["trained"]], [one.recall for one in found[name]]
        ).difference
        made[f"over {name}"] = [round(100 * x, 1) for x in (gap.estimate, gap.low, gap.high)]
    return made


def _mean(found: Sequence[Found]) -> dict[str, float]:
    several = [one for one in found if one.category == "multi-hop"]
    return {
        "recall": round(100 * sum(one.recall for one in found) / len(found), 1),
        "multi-hop complete": round(
            100 * sum(one.complete for one in several) / max(1, len(several)), 1
        ),
    }


def _line(number: int, step: Step) -> dict[str, float]:
    return {
        "step": number,
        "reward": step.reward,
        "entropy": step.entropy,
        "queries": step.queries,
        "frac_reward_zero_std": step.flat,
    }
