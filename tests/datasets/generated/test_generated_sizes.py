"""Profiles give the published sizes; the same seed gives the same data on every machine."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from evimem.datasets.generated import PROFILES, Generated, generate, write_locomo
from evimem.datasets.generated.build import generate_with_report
from evimem.datasets.generated.profiles import plans
from evimem.errors import UsageError


def test_uni_51_the_four_tasks_have_the_published_sizes(uni_sft: Generated) -> None:
    data = uni_sft.dataset
    sessions = [len(history.sessions) for history in data.histories.values()]
    turns = [len(history.turns) for history in data.histories.values()]
    assert (sum(sessions), sum(turns)) == (117, 2290)
    for got, want in zip(turns, (162, 371, 703, 1054), strict=True):
        assert abs(got - want) <= 0.05 * want
    counts = Counter(gold.category for gold in data.gold.values())
    assert counts == {"single-hop": 389, "multi-hop": 131, "temporal": 188, "open-domain": 65}
    per_task = Counter(gold.history_id for gold in data.gold.values())
    assert list(per_task.values()) == [114, 128, 116, 415]


@pytest.mark.parametrize(
    ("name", "histories", "questions"),
    [("mera-locomo", 170, 24_787), ("mera-longmemeval", 277, 11_017)],
)
def test_mera_52_53_plans_add_up_to_the_published_counts(
    name: str, histories: int, questions: int
) -> None:
    profile = PROFILES[name]
    made = plans(profile, ((0.5, 0.5, 0.5),) * profile.histories)
    assert len(made) == histories
    assert sum(sum(plan.questions.values()) for plan in made) == questions


def test_mera_52_conversations_lie_within_the_measured_ranges() -> None:
    profile = PROFILES["mera-locomo"]
    for shares in ((0.0, 0.0, 0.0), (1.0, 1.0, 1.0)):
        plan = plans(profile, (shares,))[0]
        assert 19 <= plan.sessions <= 32
        assert 369 <= plan.turns <= 689


def test_uni_51_turns_have_the_measured_number_of_words(uni_sft: Generated) -> None:
    words = [
        len(turn.text.split())
        for history in uni_sft.dataset.histories.values()
        for turn in history.turns
    ]
    assert 20 <= sum(words) / len(words) <= 26


def test_gold_turns_per_question_are_close_to_the_measured_ones(uni_sft: Generated) -> None:
    per: dict[str, list[int]] = {}
    for gold in uni_sft.dataset.gold.values():
        per.setdefault(gold.category, []).append(len(gold.evidence))
    mean = {name: sum(values) / len(values) for name, values in per.items()}
    assert mean["multi-hop"] == pytest.approx(3.1, abs=0.5)
    assert mean["temporal"] == pytest.approx(1.2, abs=0.1)
    assert mean["single-hop"] == pytest.approx(1.1, abs=0.1)
    assert mean["open-domain"] == pytest.approx(2.2, abs=0.6)


def test_the_same_seed_gives_the_same_bytes_in_another_process(tmp_path: Path) -> None:
    path = tmp_path / "here.json"
    write_locomo(generate("tiny", 5), path)
    code = (
        "import sys; from pathlib import Path;"
        "from evimem.datasets.generated import generate, write_locomo;"
        "write_locomo(generate('tiny', 5), Path(sys.argv[1]))"
    )
    other = tmp_path / "there.json"
    subprocess.run(
        [sys.executable, "-c", code, str(other)],
        check=True,
        env={"PYTHONHASHSEED": "77", "PYTHONPATH": ":".join(sys.path)},
        timeout=120,
    )
    assert path.read_bytes() == other.read_bytes()


def test_the_choices_of_a_stream_are_pinned() -> None:
    from evimem.datasets.generated.draw import Draw

    draw = Draw("pinned", 1)
    got = [draw.below(1000) for _ in range(5)] + [draw.between(3, 4)]
    mixed = list("abcdef")
    draw.shuffle(mixed)
    digest = hashlib.sha256(json.dumps([got, mixed]).encode()).hexdigest()[:12]
    assert digest == "9754936470ff"


def test_other_seeds_give_other_conversations() -> None:
    first, second = generate("tiny", 1), generate("tiny", 2)
    texts = [
        {turn.text for history in data.histories.values() for turn in history.turns}
        for data in (first, second)
    ]
    assert len(texts[0] & texts[1]) < 0.02 * len(texts[0])
    assert not set(first.histories) & set(second.histories)


def test_hardly_any_turn_or_question_occurs_twice(uni_sft: Generated) -> None:
    turns = [t.text for h in uni_sft.dataset.histories.values() for t in h.turns]
    questions = [one.text for one in uni_sft.dataset.questions]
    assert len(set(turns)) > 0.95 * len(turns)
    assert len(set(questions)) > 0.98 * len(questions)


def test_an_unknown_profile_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"'huge'.*mera-locomo"):
        generate_with_report("huge", 0)
