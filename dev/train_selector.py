"""Trains the selector of `lite-trained` on generated conversations and writes its weights.

    python dev/train_selector.py --out selector.safetensors

About ten minutes on two idle cores with the default sizes; most of it is encoding. Nothing of a
benchmark is read: states come from the generator alone, and test ids are refused all the same.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
from collections.abc import Sequence
from pathlib import Path

from evimem.datasets import Dataset
from evimem.datasets.generated.build import generate
from evimem.datasets.splits import load_split
from evimem.embed.local import LocalEmbedder
from evimem.eval.vector_cache import CachedEmbedder
from evimem.model.evidence import EvidenceState, StopReason
from evimem.query.memory_view import MemoryView
from evimem.query.selector.policy import SelectorPolicy
from evimem.recipes.lite_trained import lite_trained
from evimem.trace import Round
from evimem.training.planner.selector_learning import SelectorTraining, fresh_policy
from evimem.training.planner.selector_run import collect, train_selector
from evimem.training.rewards import Reward, reward_named

HARD = ("multi-hop", "open-domain")
"""Categories that are trained on whole; of single-hop every fourth question is enough."""
ROUNDS = 3
"""Rounds of a trajectory; deeper states hold little that is still missing."""


class Going:
    """A stop rule for trajectories: on, while anything unseen comes back."""

    def stop(self, rounds: Sequence[Round], state: EvidenceState) -> StopReason | None:
        """The reason to stop, or None to go on."""
        return None if rounds[-1].candidates else "no_candidates"


def part(dataset: Dataset, histories: int) -> Dataset:
    """The first conversations with the questions that a planner can learn from."""
    names = list(dataset.histories)[:histories]
    kept = [
        one.question_id
        for number, one in enumerate(dataset.questions)
        if dataset.gold[one.question_id].history_id in names
        and (
            dataset.gold[one.question_id].category in HARD
            or (dataset.gold[one.question_id].category == "single-hop" and number % 4 == 0)
        )
    ]
    return dataset.only(kept, split=f"{dataset.split}-first-{histories}")


def main() -> None:
    """Reads the arguments, trains, writes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="file of the weights")
    parser.add_argument("--profile", default="mera-locomo", help="profile of the generator")
    parser.add_argument("--histories", type=int, default=12, help="conversations to train on")
    parser.add_argument("--seed", type=int, default=21, help="of the generator and the training")
    parser.add_argument("--hidden", type=int, default=8, help="hidden units; 0: linear")
    parser.add_argument("--steps", type=int, default=200, help="steps of GRPO")
    parser.add_argument("--cache", type=Path, default=Path("vectors"), help="folder of vectors")
    given = parser.parse_args()
    config = SelectorTraining(seed=given.seed, hidden=given.hidden, steps=given.steps)
    data = part(generate(given.profile, given.seed), given.histories)
    reward = reward_named("no-penalties")
    assert isinstance(reward, Reward)
    recipe = dataclasses.replace(
        lite_trained(fresh_policy(config)), max_rounds=ROUNDS, stop=Going()
    )
    tests = [one for name in ("tune", "report") for one in load_split("locomo", name).question_ids]
    with CachedEmbedder(LocalEmbedder(), given.cache) as embedder:
        situations, funnel = collect(
            [data],
            recipe,
            lambda history: MemoryView(history, embedder=embedder),
            config,
            reward,
            test_ids=tests,
            on_progress=lambda what, done, total: print(f"{what} {done}/{total}", flush=True),
        )
    trained = train_selector(situations, funnel, config)
    print("\n".join(trained.funnel.lines()))
    print(f"start: loss {trained.losses[0]:.3f} -> {trained.losses[-1]:.3f}")
    for at in range(0, len(trained.curve), 20):
        some = trained.curve[at : at + 20]
        rewards = sum(one.reward for one in some) / len(some)
        entropy = sum(one.entropy for one in some) / len(some)
        print(f"step {at}: reward {rewards:.3f}, entropy {entropy:.3f}")
    told = {
        "about": "selector of queries for lite-trained",
        "data": f"generated {given.profile}, seed {given.seed}, {given.histories} conversations",
    }
    written = SelectorPolicy(weights=trained.policy.weights, metadata=told).to_bytes()
    given.out.write_bytes(written)
    print(f"wrote {given.out.name}, {len(written):,} bytes, sha256 "
          f"{hashlib.sha256(written).hexdigest()}")  # fmt: skip


if __name__ == "__main__":
    main()
