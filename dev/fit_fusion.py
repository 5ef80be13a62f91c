"""Choose the constants of the fusion (src/evimem/retrieval/fusion.py).

    python dev/fit_fusion.py --data $EVIMEM_DATA --cache ~/.cache/evimem-fit

Reads the tuning parts only: LoCoMo conv-26 and conv-30 (categories 1 to 4) and the `tune` part of
LongMemEval. A pairwise logistic model (features of a gold turn less those of another turn) is
fitted with an L2 penalty on each constant times its feature's usual deviation. Each question
weighs the same within its benchmark; LongMemEval, with a twentieth of the questions, weighs six
times as much per question. The result is rounded to 0.05. Some constants are set by hand (`FIXED`)
with the reason beside them. The figures are those of the tuning parts, once fitted on
all of them and once on two folds (each conversation scored by constants fitted without it).

Vectors of turns are cached in --cache; the first run encodes about 13,000 pieces (some minutes).
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

from evimem.datasets.loading import load
from evimem.datasets.splits import load_split
from evimem.embed.local import LocalEmbedder
from evimem.model.turn import History
from evimem.ports import Changes, FloatArray, Row, VectorRow
from evimem.query.reading import read_query
from evimem.retrieval.analyzer import analyze
from evimem.retrieval.features import features, lexical
from evimem.retrieval.fusion import DENSE_WEIGHTS, LEXICAL_WEIGHTS
from evimem.retrieval.index import BankIndex
from evimem.retrieval.query import Query
from evimem.retrieval.space import Space
from evimem.scoring.budget import TURN_BUDGETS, coverage, normalised_auc

LONGMEMEVAL_WEIGHT = 6.0
PENALTY = 1.0
OTHERS = 200  # turns drawn per question to be compared with its gold turns
STEP = 0.05
FIXED = {
    # A turn that holds the asked word itself stands before its neighbours, which the windows
    # rank alike. Free it comes out near 0.05; at 0.2 the tuning figures are as good.
    "bm25": 0.2,
}


@dataclass(frozen=True, slots=True)
class Case:
    """One tuning question with the features of every turn."""

    question_id: str
    """Its id."""
    benchmark: str
    """locomo or longmemeval."""
    fold: int
    """0 or 1."""
    table: Mapping[str, FloatArray]
    """Per feature, shape (turns,)."""
    gold: np.ndarray
    """Numbers of the gold turns."""


class Vectors:
    """Vectors per text piece, from a folder of .npz files; new ones are encoded and kept."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.embedder = LocalEmbedder()
        self.known: dict[str, np.ndarray] = {}
        folder.mkdir(parents=True, exist_ok=True)
        for path in sorted(folder.glob("*.npz")):
            with np.load(path) as stored:
                self.known.update(zip(stored["keys"].tolist(), stored["vectors"], strict=True))

    def of(self, text: str) -> list[np.ndarray]:
        """One vector per piece of the text."""
        out = []
        for piece in self.embedder.chunks(text):
            key = hashlib.sha1(piece.encode("utf-8", "surrogatepass")).hexdigest()
            if key not in self.known:
                self.known[key] = self.embedder.embed([piece])[0].astype(np.float16)
            out.append(self.known[key])
        return out

    def save(self) -> None:
        """Keep everything in one file."""
        keys = np.array(list(self.known))
        vectors = np.stack(list(self.known.values()))
        np.savez(self.folder / "fit_fusion.npz", keys=keys, vectors=vectors)


def make_index(history: History, vectors: Vectors) -> BankIndex:
    """A bank of one conversation, with vectors."""
    rows, pieces = [], []
    for number, turn in enumerate(history.turns):
        made = analyze(turn.body)
        said = None if turn.said_at is None else int(turn.said_at.timestamp() * 1000)
        rows.append(
            Row(
                row=number,
                item_id=turn.turn_id,
                kind="turn",
                session_id=turn.session_id,
                index=turn.index,
                speaker=turn.speaker,
                role=turn.role,
                said_at=said,
                traits=made.traits,
                tokens=made.tokens,
            )
        )
        pieces += [
            VectorRow(row=number, part=part, vector=vector)
            for part, vector in enumerate(vectors.of(turn.body))
        ]
    index = BankIndex()
    index.apply(Changes(generation=1, reset=True, rows=tuple(rows), vectors=tuple(pieces)))
    return index


def at_turns(space: Space, query: Query) -> dict[str, FloatArray]:
    """Every feature over the turns in order of arrival."""
    assert query.vector is not None
    cosines = space.vectors.cosines(query.vector, space.layout)
    table = features(space, query, lexical(space, query, wide=True), cosines)
    return {name: values[space.layout.position_of] for name, values in table.items()}


def read_cases(data: Path, vectors: Vectors) -> list[Case]:
    """All tuning questions with gold turns."""
    cases: list[Case] = []
    for benchmark in ("locomo", "longmemeval"):
        dataset = load(benchmark, data_dir=data)
        wanted = load_split(dataset.name, "tune").question_ids
        part = dataset.only(wanted, split="tune")
        indexes = {h: make_index(one, vectors) for h, one in part.histories.items()}
        for number, question in enumerate(part.questions):
            gold = part.gold[question.question_id]
            if not gold.evidence or not gold.answerable or gold.category_id == 5:
                continue
            history = part.history(question)
            times = [turn.said_at for turn in history.turns if turn.said_at is not None]
            now = datetime.fromisoformat(question.asked_at) if question.asked_at else max(times)
            index = indexes[gold.history_id]
            vector = vectors.of(index.as_said(question.text))[0].astype(np.float32)
            query = read_query(question.text, vector=vector, reference=now)
            place = {turn.source_id: n for n, turn in enumerate(history.turns)}
            cases.append(
                Case(
                    question_id=question.question_id,
                    benchmark=benchmark,
                    fold=int(gold.history_id == "conv-30") if benchmark == "locomo" else number % 2,
                    table=at_turns(index.spaces()[0], query),
                    gold=np.array([place[turn] for turn in gold.evidence]),
                )
            )
    return cases


def fit(cases: Sequence[Case], names: Sequence[str]) -> dict[str, float]:
    """The pairwise logistic fit over these features, not rounded."""
    draw = np.random.default_rng(0)
    blocks, weights, spreads = [], [], []
    for case in cases:
        table = np.stack([case.table[name] for name in names], axis=1).astype(np.float64)
        spreads.append(table.std(axis=0))
        others = np.setdiff1d(np.arange(len(table)), case.gold)
        drawn = draw.choice(others, size=min(OTHERS, len(others)), replace=False)
        pairs = (table[case.gold][:, None, :] - table[drawn][None, :, :]).reshape(-1, len(names))
        blocks.append(pairs)
        share = LONGMEMEVAL_WEIGHT if case.benchmark == "longmemeval" else 1.0
        weights.append(np.full(len(pairs), share / len(pairs)))
    pairs, weight = np.concatenate(blocks), np.concatenate(weights)
    free = [n for n, name in enumerate(names) if name not in FIXED]
    # The usual deviation of a feature, over the questions in which it tells turns apart.
    usual = np.array([column[column > 1e-6].mean() for column in np.stack(spreads, axis=1)])[free]
    base = pairs @ np.array([FIXED.get(name, 0.0) for name in names])

    def loss(values: np.ndarray) -> tuple[float, np.ndarray]:
        margin = base + pairs[:, free] @ values
        wrong = 1.0 / (1.0 + np.exp(np.clip(margin, -50, 50)))
        slope = -(pairs[:, free] * (weight * wrong)[:, None]).sum(axis=0)
        total = (weight * np.logaddexp(0, -margin)).sum() + PENALTY * (
            (usual * values) ** 2
        ).sum() / 2
        return float(total), slope + PENALTY * usual**2 * values

    found = minimize(loss, np.zeros(len(free)), jac=True, method="L-BFGS-B").x
    fitted = dict(zip((names[n] for n in free), found.tolist(), strict=True))
    return {name: FIXED[name] if name in FIXED else fitted[name] for name in names}


def rounded(weights: Mapping[str, float]) -> dict[str, float]:
    """To the nearest step."""
    return {name: round(round(value / STEP) * STEP, 2) for name, value in weights.items()}


def show(title: str, cases: Sequence[Case], weights: Mapping[int, Mapping[str, float]]) -> None:
    """Print the figures of a part, each case scored with the constants of its fold."""
    worst, recall = [], []
    for case in cases:
        constants = weights[case.fold]
        score = np.stack([case.table[n] for n in constants], axis=1) @ list(constants.values())
        order = np.lexsort((np.arange(len(score)), -score))
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(1, len(order) + 1)
        worst.append(float(place[case.gold].max()))
        recall.append(float(np.mean(place[case.gold] <= 20)))
    curve = coverage(worst, [20, *TURN_BUDGETS]).mean(axis=0) * 100
    auc = float(normalised_auc(TURN_BUDGETS, curve[1:]))
    print(
        f"  {title:28} n={len(cases):4}  complete@20 {curve[0]:5.1f}  "
        f"recall@20 {np.mean(recall) * 100:5.1f}  AUC {auc:5.1f}"
    )


def main() -> None:
    """Fit, print the constants and the tuning figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the benchmarks")
    parser.add_argument("--cache", type=Path, required=True, help="folder for vectors")
    args = parser.parse_args()
    vectors = Vectors(args.cache)
    before = len(vectors.known)
    cases = read_cases(args.data, vectors)
    if len(vectors.known) > before:
        vectors.save()
    for title, names, now in (
        ("DENSE_WEIGHTS", list(DENSE_WEIGHTS), DENSE_WEIGHTS),
        ("LEXICAL_WEIGHTS", list(LEXICAL_WEIGHTS), LEXICAL_WEIGHTS),
    ):
        raw = fit(cases, names)
        chosen = rounded(raw)
        print(title, "as in the code" if chosen == dict(now) else f"differs from the code: {now}")
        for name in names:
            print(f'    "{name}": {chosen[name]},  # {raw[name]:.3f}')
        apart = {n: fit([case for case in cases if case.fold != n], names) for n in (0, 1)}
        for benchmark in ("locomo", "longmemeval"):
            part = [case for case in cases if case.benchmark == benchmark]
            show(f"{benchmark}, fitted on it", part, {0: chosen, 1: chosen})
            show(f"{benchmark}, two folds", part, apart)


if __name__ == "__main__":
    main()
