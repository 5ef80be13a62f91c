"""The denominators that papers report over are those of our sets, and their names say so."""

from __future__ import annotations

from pathlib import Path

import pytest

from evimem.datasets.sets import load_set
from evimem.datasets.splits import benchmark_questions, load_split
from evimem.eval.judging import set_id


@pytest.mark.data
@pytest.mark.parametrize("n", [1986, 1540, 1307, 1089, 1085])
def test_mera_71_a_set_of_locomo_holds_as_many_questions_as_its_name_says(
    data_dir: Path, n: int
) -> None:
    dataset = load_set(f"locomo-{n}", data_dir)

    assert len(dataset.questions) == n
    assert set_id(dataset).startswith(f"locomo/{n}@")


def test_mera_71_the_held_out_part_of_longmemeval_has_101_questions() -> None:
    assert len(load_split("longmemeval", "101").question_ids) == 101


def test_mera_54_uni_51_no_question_of_a_benchmark_is_free_to_train_on() -> None:
    held = benchmark_questions()
    assert len(held) == 1986 + 500
    for name in ("tune", "report"):
        assert held >= set(load_split("locomo", name).question_ids)
        assert held >= set(load_split("longmemeval", name).question_ids)
