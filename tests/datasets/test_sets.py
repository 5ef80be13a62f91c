"""Sets by name: what is read, what is taken, the published counts and figures, what stays apart."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest

from evimem.datasets import (
    Dataset,
    check_apart,
    complexity,
    defect_names,
    load_locomo,
    load_longmemeval,
    load_set,
    load_split,
    partition,
    set_names,
    take,
    with_defects,
    with_reme_golds,
)
from evimem.datasets import locomo as locomo_module
from evimem.errors import UsageError

COLUMNS = ("multi-hop", "temporal", "open-domain", "single-hop")


def counts(percent: float, n: int) -> list[int]:
    """Numbers of right answers among n that print as that percentage with two places."""
    return [k for k in range(n + 1) if f"{100 * k / n:.2f}" == f"{percent:.2f}"]


def test_every_name_of_a_set_is_known_and_another_is_refused(tmp_path: Path) -> None:
    names = set_names()
    for one in ("locomo-1986", "locomo-1540", "locomo-1307", "locomo-1089", "locomo-1085",
                "lme-500", "lme-101", "lme-oracle-500", "beam-report"):  # fmt: skip
        assert one in names
    assert len(set(names)) == len(names)
    with pytest.raises(UsageError, match=r"no set 'locomo-1541'; there are locomo-all"):
        load_set("locomo-1541", tmp_path)
    with pytest.raises(UsageError, match="holds no locomo"):
        load_set("locomo-1540", tmp_path)
    with pytest.raises(UsageError, match=r"holds no longmemeval/longmemeval_oracle\.json"):
        load_set("lme-oracle-500", tmp_path)


def test_ben_4_s_and_oracle_are_read_from_their_own_files(
    tmp_path: Path, longmemeval_file: Path
) -> None:
    folder = tmp_path / "longmemeval"
    folder.mkdir()
    records = json.loads(longmemeval_file.read_text(encoding="utf-8"))
    known = load_split("longmemeval", "500").question_ids[:2]
    for record, question_id in zip(records, known, strict=True):
        record["question_id"] = question_id
    (folder / "longmemeval_s_cleaned.json").write_text(json.dumps(records), encoding="utf-8")
    for record in records:  # the oracle file has other dates
        record["question_date"] = "2023/07/09 (Sun) 10:00"
    (folder / "longmemeval_oracle.json").write_text(json.dumps(records), encoding="utf-8")
    s, oracle = load_set("lme-500", tmp_path), load_set("lme-oracle-500", tmp_path)
    assert [one.files[0].name for one in (s, oracle)] == [
        "longmemeval_s_cleaned.json",
        "longmemeval_oracle.json",
    ]
    assert (s.split, oracle.split) == ("500", "oracle-500")
    assert s.questions[0].asked_at != oracle.questions[0].asked_at
    assert "2 of the 500 questions of lme-500 are at hand" in s.notes
    dropped = load_set("lme-500", tmp_path, future_sessions="drop")
    assert len(dropped.histories[known[0]].turns) < len(s.histories[known[0]].turns)


def test_a_set_without_one_question_at_hand_is_refused(
    tmp_path: Path, longmemeval_file: Path
) -> None:
    shutil.copy(longmemeval_file, tmp_path / "longmemeval_s_cleaned.json")
    with pytest.raises(UsageError, match="none of the 101 questions of 'lme-101'"):
        load_set("lme-101", tmp_path)


def test_beam_is_a_set_as_a_whole(tmp_path: Path, beam_folder: Path) -> None:
    shutil.copytree(beam_folder, tmp_path / "beam_100k")
    dataset = load_set("beam-report", tmp_path)
    assert (dataset.name, dataset.split, len(dataset.questions)) == ("beam", "report", 3)


def test_ben_5_train_validation_and_test_share_no_conversation() -> None:
    for name in ("1:1:8", "2:1:7"):
        parts = partition(name)
        assert sum(len(load_split("locomo", part).question_ids) for part in parts) == 1540
    with pytest.raises(UsageError, match="no division '8:1:1'"):
        partition("8:1:1")


def test_ben_5_parts_that_share_a_conversation_are_refused() -> None:
    with pytest.raises(UsageError, match=r"'tune' and '1089' of locomo share .* 'conv-26'"):
        check_apart("locomo", ["tune", "1089"])
    with pytest.raises(UsageError, match="share the conversation"):
        check_apart("longmemeval", ["tune", "500"])
    check_apart("longmemeval", ["tune", "101"])
    check_apart("longmemeval", ["tune", "report"])


def test_ben_5_sets_with_the_same_questions_have_the_same_hash() -> None:
    whole, again = load_split("locomo", "1089"), load_split("locomo", "memory-r2-test")
    assert whole.sha256 == again.sha256
    dropped = set(whole.question_ids) - set(load_split("locomo", "1085").question_ids)
    assert dropped == {"conv-26#30", "conv-26#46", "conv-50#39", "conv-50#42"}


def test_x1_each_published_figure_fits_one_set_of_questions_only() -> None:
    for percent in (75.18, 61.58, 63.29, 67.02):
        assert counts(percent, 1986)
        assert not counts(percent, 1540)
    assert counts(77.40, 1540) == [1192]
    assert not counts(77.40, 1986)
    for name, n in (("1986", 1986), ("1540", 1540)):
        assert len(load_split("locomo", name).question_ids) == n


def test_x2_figures_over_500_and_over_101_questions_are_told_apart() -> None:
    assert (counts(60.80, 500), counts(60.80, 101)) == ([304], [])
    assert (counts(71.29, 101), counts(71.29, 500)) == ([72], [])
    assert (counts(69.31, 101), counts(59.80, 500), counts(59.80, 101)) == ([70], [299], [])


@pytest.mark.data
def test_x3_the_101_questions_have_the_published_number_of_each_type(data_dir: Path) -> None:
    golds = load_longmemeval(data_dir / "longmemeval" / "questions_500.json").gold
    found = Counter(golds[one].category for one in load_split("longmemeval", "101").question_ids)
    assert found == {
        "single-session-user": 14,
        "single-session-assistant": 12,
        "knowledge-update": 15,
        "multi-session": 26,
        "single-session-preference": 6,
        "temporal-reasoning": 28,
    }


def by_category(dataset: Dataset, part: str) -> list[int]:
    found = Counter(one.category for one in take(dataset, part).gold.values())
    return [found[name] for name in COLUMNS]


@pytest.mark.data
def test_qem_33_x10_the_sets_have_the_published_number_of_each_category(data_dir: Path) -> None:
    whole = load_set("locomo-1986", data_dir)
    assert by_category(whole, "1540") == [282, 321, 96, 841]
    assert by_category(whole, "1089") == [201, 237, 62, 589]
    assert by_category(whole, "1085") == [201, 237, 58, 589]  # all four are open-domain
    assert sum(by_category(whole, "1307")) == 1307
    assert sum(by_category(whole, "memory-r1-train")) == 152
    assert sum(by_category(whole, "memory-r1-validation")) == 81


@pytest.mark.data
def test_x10_the_columns_of_the_1307_set_add_up_to_58_30_and_not_to_53_30(data_dir: Path) -> None:
    sizes = by_category(load_set("locomo-1307", data_dir), "1307")
    columns = dict(zip(COLUMNS, sizes, strict=True))
    published = {"single-hop": 65.20, "multi-hop": 61.92, "open-domain": 48.19, "temporal": 38.76}
    right = {name: counts(published[name], n) for name, n in columns.items()}
    whole = [sum(one[0] for one in right.values())] if all(right.values()) else []
    assert whole == counts(58.30, 1307) == [762]
    assert 762 not in counts(53.30, 1307)


@pytest.mark.data
def test_each_question_stands_once_in_the_set_without_repeats(data_dir: Path) -> None:
    whole = load_set("locomo-1540", data_dir)
    texts = [(whole.gold[q.question_id].history_id, q.text) for q in whole.questions]
    kept = set(load_split("locomo", "1529").question_ids)
    once = [(whole.gold[q.question_id].history_id, q.text) for q in whole.questions
            if q.question_id in kept]  # fmt: skip
    assert len(once) == len(set(once)) == len(set(texts))
    gone = {one.question_id for one in whole.questions} - kept
    assert gone == {f"conv-48#{n}" for n in range(89, 100)}


@pytest.mark.data
def test_qem_49_qem_50_qem_55_x15_counts_come_from_the_set_with_the_exact_parser(
    data_dir: Path,
) -> None:
    dataset = load_set("locomo-1540", data_dir, evidence="exact")
    spread = {
        one.question_id: complexity(one, dataset.histories[one.history_id])
        for one in dataset.gold.values()
    }
    sizes = Counter(min(one.turns, 3) for one in spread.values() if one.turns)
    assert [sizes[n] for n in (1, 2, 3)] == [1122, 229, 184]
    crossing = [one for one in spread.values() if one.sessions > 1]
    assert len(crossing) == 332
    assert sum((one.span_days or 0) > 180 for one in crossing) == 66
    mapped = {one.question_id for one in dataset.gold.values() if one.fully_mapped}
    assert mapped == set(load_split("locomo", "1531").question_ids)


@pytest.mark.data
def test_ben_4_oracle_loads_with_evidence_sessions_only(data_dir: Path) -> None:
    oracle = load_set("lme-oracle-500", data_dir)
    whole = load_set("lme-500", data_dir)
    shared = set(oracle.histories) & set(whole.histories)
    assert len(oracle.questions) == 34
    assert len(shared) == 34
    for one in shared:
        assert len(oracle.histories[one].sessions) < len(whole.histories[one].sessions)
        assert set(oracle.gold[one].evidence) == set(whole.gold[one].evidence)
    assert any(note.startswith("34 of the 500") for note in oracle.notes)


@pytest.mark.data
def test_audited_golds_stand_beside_the_published_ones_under_another_name(data_dir: Path) -> None:
    plain = load_set("locomo-1540", data_dir)
    audited = load_set("locomo-1540", data_dir, defects=["locomo-audit"])
    assert audited.split == "1540+locomo-audit"
    changed = [key for key, one in audited.gold.items() if one.answer != plain.gold[key].answer]
    assert 90 < len(changed) <= 99
    assert all(audited.gold[key].defects for key in changed)
    reme = load_set("lme-500", data_dir, defects=["longmemeval-reme", "longmemeval-known"])
    assert reme.split == "500+longmemeval-reme"
    original = load_set("lme-500", data_dir)
    relabelled = [one for one in reme.gold.values() if "reme:CHANGED" in one.defects]
    assert len(relabelled) == 8  # of twelve, as many as are at hand
    gone = [
        one.question_id
        for one in relabelled
        if original.gold[one.question_id].answerable and not one.answerable
    ]
    assert gone == ["0bb5a684", "2a1811e2", "gpt4_2655b836"]  # of five
    assert not any(reme.gold[one].evidence for one in gone)


def test_lists_of_defects_are_applied_by_name(locomo_file: Path, tmp_path: Path) -> None:
    dataset = load_locomo(locomo_file, variant_ok=True)
    assert defect_names("locomo") == ("locomo-audit",)
    assert defect_names("longmemeval") == ("longmemeval-reme", "longmemeval-known")
    assert defect_names("beam") == ()
    with pytest.raises(UsageError, match="no list 'reme' of defects of locomo; there are: locomo-"):
        with_defects(dataset, "reme", tmp_path)
    with pytest.raises(UsageError, match="no list 'longmemeval-reme' of defects of locomo"):
        with_defects(dataset, "longmemeval-reme", tmp_path)
    with pytest.raises(UsageError, match="cannot read"):
        with_defects(dataset, "locomo-audit", tmp_path)
    audit = tmp_path / "locomo_audit" / "errors_indexed.json"
    audit.parent.mkdir()
    entry = {"sample_id": "conv-x", "qa_index": 0, "error_type": "INCOMPLETE",
             "question": "What did Bo give away?", "correct": "a green kayak"}  # fmt: skip
    audit.write_text(json.dumps([entry]), encoding="utf-8")
    audited = with_defects(dataset, "locomo-audit", tmp_path)
    assert (audited.gold["conv-x#0"].answer, audited.split) == ("a green kayak", "all+locomo-audit")


def test_reme_golds_make_questions_without_evidence_unanswerable(
    locomo_file: Path, longmemeval_file: Path, tmp_path: Path
) -> None:
    path = tmp_path / "changes.json"
    entry = {"question_id": "q1", "reme": "Not enough is known.", "answer_sessions_changed": True}
    other = {"question_id": "q2_abs", "reme": "8", "answer_sessions_changed": False}
    path.write_text(json.dumps([entry, other, {**entry, "question_id": "zz"}]), encoding="utf-8")
    dataset = load_longmemeval(longmemeval_file)
    gold, before = with_reme_golds(dataset, path).gold, dataset.gold
    assert (gold["q1"].answerable, gold["q1"].evidence) == (False, ())
    assert gold["q1"].evidence_sessions == ()
    assert (gold["q2_abs"].answer, gold["q2_abs"].answerable) == ("8", False)
    assert gold["q2_abs"].evidence == before["q2_abs"].evidence
    with pytest.raises(UsageError, match="not those of 'locomo'"):
        with_reme_golds(load_locomo(locomo_file, variant_ok=True), path)


def test_options_of_the_loader_reach_the_set(
    tmp_path: Path, locomo_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locomo_module, "_check_hash", lambda source, variant_ok: None)
    records = json.loads(locomo_file.read_text(encoding="utf-8"))
    records[0]["sample_id"] = "conv-26"
    (tmp_path / "locomo10.json").write_text(json.dumps(records), encoding="utf-8")
    plain = load_set("locomo-tune", tmp_path)
    other = load_set("locomo-tune", tmp_path, evidence="exact", captions=False)
    assert plain.gold["conv-26#0"].evidence == ("D1:2", "D2:1")
    assert other.gold["conv-26#0"].evidence == ("D1:2",)
    assert any(turn.caption for turn in plain.histories["conv-26"].turns)
    assert not any(turn.caption for turn in other.histories["conv-26"].turns)
