"""What MERA's search finds on LoCoMo with a language model of a training as its planner.

    python dev/measure_planner.py locomo10.json --run runs/planner --out planner-135m.json

Gold-turn recall at the stop, for the model before training, after the supervised start and after
GRPO, for plans by rules and for the question alone; the same rounds for all. No other model is
asked: facts are the turns' words, and rules stand where seeds and gate would be. It needs the
extras `train` and `eval`. Finished questions are kept in the folder of the run, so a stopped run
goes on. The file of figures holds the training's own report and curve too; a plot lies beside it.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import importlib.util
import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import mean

from evimem.datasets import Dataset, load_split
from evimem.datasets.loading import load
from evimem.embed.local import LocalEmbedder
from evimem.llm.structured import Structured
from evimem.model.evidence import EvidenceState, Question
from evimem.ports import ChatModel
from evimem.query.parts import BankView, Proposed, Proposer
from evimem.recipes.mera import MeraConfig, planner_of
from evimem.scoring.stats import paired_bootstrap
from evimem.training.planner.gathering import memory_of
from evimem.training.planner.measuring import Searched, searched
from evimem.training.planner.offline import Heuristic, offline_recipe
from evimem.training.planner.setups import Setup, paths, setup_named
from evimem.training.searching import to_train_on

ORDER = ("multi-hop", "open-domain", "temporal", "single-hop")
"""Categories in the order in which questions are taken."""
CURVE = (
    "step", "reward", "plan/retrieval", "plan/parsed", "plan/searches", "entropy",
    "completions/mean_length", "frac_reward_zero_std",
)  # fmt: skip
"""What of the training's metrics goes into the file."""


def read_once(model: ChatModel) -> ChatModel:
    """The reading of replies that is in use, with one attempt."""
    return Structured(model, attempts=1)


@dataclasses.dataclass(frozen=True)
class OnlyQuestion:
    """Searches for the question itself in every round."""

    config: MeraConfig

    def propose(self, state: EvidenceState, view: BankView) -> Proposed:
        """One search."""
        first = Heuristic(config=self.config, read=read_once).propose(state, view)
        search = first.searches[0]
        request = dataclasses.replace(search.request, text=state.question.text)
        return Proposed(searches=(dataclasses.replace(search, request=request),), plan=first.plan)


def taken(dataset: Dataset, each: int) -> Iterator[tuple[Question, tuple[str, ...]]]:
    """The first questions of each conversation, by category in `ORDER`, with their gold turns."""
    by_history: dict[str, list[tuple[int, int, Question, tuple[str, ...]]]] = defaultdict(list)
    for n, (question, gold) in enumerate(to_train_on(dataset)):
        told = dataset.gold[question.question_id]
        place = ORDER.index(told.category) if told.category in ORDER else len(ORDER)
        by_history[told.history_id].append((place, n, question, gold))
    for rows in by_history.values():
        for *_, question, gold in sorted(rows, key=lambda row: row[:2])[:each]:
            yield question, gold


@dataclasses.dataclass(frozen=True)
class Search:
    """What is the same for all planners."""

    dataset: Dataset
    """LoCoMo."""
    views: Mapping[str, BankView]
    """Its memories."""
    config: MeraConfig
    """The recipe."""
    each: int
    """Questions of a conversation."""
    rounds: int
    """Rounds of a search."""

    def measured(self, planner: Callable[[], Proposer], kept: Path) -> list[Searched]:
        """The searches of one planner; those in the file are taken from there."""
        asked = list(taken(self.dataset, self.each))
        lines = kept.read_text(encoding="utf-8").splitlines() if kept.exists() else []
        done = {one["question_id"]: Searched(**one) for one in map(json.loads, lines)}
        todo = [one for one in asked if one[0].question_id not in done]
        if todo:
            recipe = offline_recipe(self.config, planner(), rounds=self.rounds)
        with kept.open("a", encoding="utf-8") as file:
            for question, gold in todo:
                told = self.dataset.gold[question.question_id]
                one = searched(recipe, self.views[told.history_id], question, told, gold)
                done[question.question_id] = one
                file.write(f"{json.dumps(asdict(one))}\n")
                file.flush()
        return [done[question.question_id] for question, _ in asked]


def summary(found: Sequence[Searched]) -> dict[str, float]:
    """Means over questions."""
    n = len(found)
    return {
        "n": n,
        "recall_at_stop": sum(one.recall for one in found) / n,
        "complete": sum(one.complete for one in found) / n,
        "viewed": sum(one.viewed for one in found) / n,
        "searches": sum(one.searches for one in found) / n,
        "plans_read": sum(one.read for one in found) / sum(one.rounds for one in found),
    }


def planners(setup: Setup, run: Path) -> dict[str, Callable[[], Proposer]]:
    """All planners by name, made when they are needed."""
    config, at = setup.recipe, paths(run)

    def trained(path: Path | str) -> Proposer:
        from evimem.training.planner.local import local_planner  # needs torch

        return planner_of(config, read_once(local_planner(str(path), wording=setup.wording)))

    return {
        "question": lambda: OnlyQuestion(config),
        "heuristic": lambda: Heuristic(config=config, read=read_once),
        "untrained": lambda: trained(at["base"] if at["base"].exists() else setup.model),
        "sft": lambda: trained(at["start"]),
        "grpo": lambda: trained(at["final"]),
    }


def main() -> None:
    """Reads the arguments, measures, writes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="LoCoMo's file")
    parser.add_argument("--run", type=Path, required=True, help="folder of the training")
    parser.add_argument("--setup", default="cpu", help="the setup that it was trained with")
    parser.add_argument("--out", type=Path, required=True, help="file of the figures")
    parser.add_argument("--each", type=int, default=3, help="questions of each conversation")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of every search")
    parser.add_argument("--only", default="", help="planners, with commas between them")
    given = parser.parse_args()
    setup = setup_named(given.setup)
    dataset = load(given.data)
    embedder = None if setup.recipe.ranker == "bm25" else LocalEmbedder()
    search = Search(
        dataset=dataset,
        views={name: memory_of(one, embedder).view for name, one in dataset.histories.items()},
        config=setup.recipe,
        each=given.each,
        rounds=given.rounds,
    )
    folder = given.run / "locomo"
    folder.mkdir(exist_ok=True)
    made = planners(setup, given.run)
    found: dict[str, list[Searched]] = {}
    for name in given.only.split(",") if given.only else made:
        begun = time.monotonic()
        found[name] = search.measured(made[name], folder / f"{name}.jsonl")
        print(name, summary(found[name]), f"{time.monotonic() - begun:.0f} s", flush=True)
    at = paths(given.run)
    told: dict[str, object] = {"locomo": report(found)}
    if at["report"].exists():
        curve = [json.loads(one) for one in at["metrics"].read_text(encoding="utf-8").splitlines()]
        rows = [{key: row.get(key) for key in CURVE} for row in curve]
        training = json.loads(at["report"].read_text(encoding="utf-8"))
        told = {"manifest": manifest(setup, given.run), "training": training, **told, "curve": rows}
        plot(rows, given.out.with_suffix(".png"))
    given.out.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


def manifest(setup: Setup, run: Path) -> dict[str, object]:
    """The settings, and hashes of the weights."""
    at = paths(run)
    files = {name: at[name] / "model.safetensors" for name in ("base", "start", "final")}
    hashes = {
        name: hashlib.sha256(file.read_bytes()).hexdigest()
        for name, file in files.items()
        if file.exists()
    }
    settings = {
        one.name: getattr(setup, one.name)
        for one in dataclasses.fields(setup)
        if one.name not in ("model", "name")
    }
    shown = {
        name: asdict(value) if dataclasses.is_dataclass(value) else value  # type: ignore[arg-type]
        for name, value in settings.items()
    }
    return {"weights": hashes, "settings": shown}


def plot(rows: Sequence[Mapping[str, float]], path: Path) -> None:
    """Reward, read plans and entropy over the steps."""
    if importlib.util.find_spec("matplotlib") is None:
        print("no plot: matplotlib is not installed")
        return
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 3, figsize=(9, 2.6), layout="constrained")
    steps = [row["step"] for row in rows]
    for axis, name in zip(axes, ("reward", "plan/parsed", "entropy"), strict=True):
        values = [row[name] for row in rows]
        width = max(1, len(values) // 8)
        smooth = [mean(values[max(0, n - width + 1) : n + 1]) for n in range(len(values))]
        axis.plot(steps, values, color="0.75", linewidth=0.8)
        axis.plot(steps, smooth, color="C0")
        axis.set(title=name, xlabel="step")
        axis.grid(alpha=0.3)
    figure.savefig(path, dpi=150)


def report(found: Mapping[str, Sequence[Searched]]) -> dict[str, object]:
    """Figures per part of LoCoMo and planner, and paired differences on the reported part."""
    told: dict[str, object] = {}
    for part in ("tune", "report"):
        ids = set(load_split("locomo", part).question_ids)
        own = {n: [one for one in f if one.question_id in ids] for n, f in found.items()}
        told[part] = {name: summary(searches) for name, searches in own.items()}
        for after, before in (("grpo", "untrained"), ("grpo", "sft"), ("grpo", "heuristic")):
            if after in own and before in own:
                pair = [[one.recall for one in own[name]] for name in (after, before)]
                told[f"{part}: {after} - {before}"] = asdict(paired_bootstrap(*pair))
    return told


if __name__ == "__main__":
    main()
