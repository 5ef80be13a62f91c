"""Gold of the published LoCoMo in the chunks of construction events (needs EVIMEM_DATA)."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import pytest

from evimem.datasets import load
from evimem.manager.events import constructions_of
from evimem.training.stored import training_questions


def raw_ids(path: Path) -> dict[str, set[str]]:
    """Ids of turns that exist, in the raw evidence of every answerable question."""
    found: dict[str, set[str]] = {}
    for record in json.loads(path.read_text(encoding="utf-8")):
        sessions = [one for one in record["conversation"].values() if isinstance(one, list)]
        known = {turn["dia_id"] for session in sessions for turn in session}
        for n, asked in enumerate(record["qa"]):
            if asked["category"] != 5:
                ids = re.findall(r"D:?(\d+)\s*:\s*0*(\d+)", " ".join(asked.get("evidence", [])))
                found[f"{record['sample_id']}#{n}"] = {f"D{a}:{b}" for a, b in ids} & known
    return found


@pytest.mark.data
def test_uni_27_every_accepted_gold_id_of_locomo_lies_in_one_chunk_of_its_question(
    data_dir: Path,
) -> None:
    dataset = load("locomo", data_dir=data_dir)
    questions = accepted = 0
    for name, history in dataset.histories.items():
        sessions = [
            list(turns) for _, turns in itertools.groupby(history.turns, lambda one: one.session_id)
        ]
        read = constructions_of(sessions)
        places = {
            turn.source_id: [one.index for one in read if turn in one.turns]
            for turn in history.turns
        }
        for question in training_questions(dataset, name, read):
            evidence = dataset.gold[question.question_id].evidence
            assert [len(places[one]) for one in evidence] == [1] * len(evidence)
            assert set(question.chunks) == {places[one][0] for one in evidence}
            assert list(question.chunks) == sorted(set(question.chunks))
            questions += 1
            accepted += len(evidence)
    assert questions == 1540, "all but the adversarial ones"
    assert accepted == sum(map(len, raw_ids(data_dir / "locomo10.json").values())) == 2360
