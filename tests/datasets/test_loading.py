"""One door: names, paths, formats, sealed gold, splits, audits."""

from __future__ import annotations

import dataclasses
import json
from importlib import resources
from pathlib import Path

import pytest

from evimem.datasets import (
    Dataset,
    Gold,
    find,
    ids_hash,
    load,
    load_locomo,
    load_longmemeval,
    load_split,
    split_names,
    take,
    with_locomo_audit,
    with_longmemeval_defects,
)
from evimem.errors import ImportFormatError, UsageError
from evimem.model.codec import to_json
from evimem.model.evidence import Question


@pytest.mark.parametrize("name", ["answer", "category", "evidence", "gold"])
def test_ben_14_a_question_refuses_gold_by_name(name: str) -> None:
    question = Question(text="Who?", question_id="q")
    with pytest.raises(AttributeError, match="gold is sealed"):
        getattr(question, name)
    with pytest.raises(AttributeError, match="no attribute 'colour'"):
        getattr(question, "colour")  # noqa: B009
    assert set(to_json(question)) == {"text", "question_id", "asked_at"}


def test_ben_14_gold_words_stay_out_of_repr() -> None:
    gold = Gold(question_id="q", history_id="h", category="c", answer="blue", trap="red")
    assert "blue" not in repr(gold)
    assert "red" not in repr(gold)


def test_format_is_recognised_by_content(
    locomo_file: Path, longmemeval_file: Path, beam_folder: Path
) -> None:
    with pytest.raises(ImportFormatError, match="not the published LoCoMo file"):
        load(locomo_file)
    assert load(longmemeval_file).name == "longmemeval"
    assert load(str(beam_folder / "4.chat.json")).name == load(beam_folder).name == "beam"


@pytest.mark.parametrize("text", ["[]", "{}", "[1]", '{"messages": []}'])
def test_a_file_of_another_format_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ImportFormatError, match="not a benchmark known here"):
        load(path)


def test_missing_truncated_and_wrongly_encoded_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        load(tmp_path / "none.json")
    cut = tmp_path / "cut.json"
    cut.write_text('[{"question_id": ', encoding="utf-8")
    with pytest.raises(ImportFormatError, match="is not JSON"):
        load(cut)
    cut.write_bytes(b"\xff\xfe\x00[")
    with pytest.raises(ImportFormatError, match="is not JSON"):
        load(cut)


def test_a_name_needs_the_folder_that_holds_it(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="data_dir"):
        load("locomo")
    with pytest.raises(UsageError, match="holds no locomo10"):
        load("locomo", data_dir=tmp_path)
    assert find(tmp_path) == {}


def test_a_question_id_used_twice_is_refused(tmp_path: Path, longmemeval_file: Path) -> None:
    records = json.loads(longmemeval_file.read_text(encoding="utf-8"))
    longmemeval_file.write_text(json.dumps([records[0], records[0]]), encoding="utf-8")
    with pytest.raises(UsageError, match="'q1' occurs twice"):
        load_longmemeval(longmemeval_file)


def test_a_part_keeps_its_conversations_only(longmemeval_file: Path) -> None:
    dataset = load_longmemeval(longmemeval_file)
    part = dataset.only(["q2_abs", "absent"], split="mine")
    assert [one.question_id for one in part.questions] == ["q2_abs"]
    assert list(part.histories) == list(part.gold) == ["q2_abs"]
    assert part.split == "mine"
    assert part.history(part.questions[0]).history_id == "q2_abs"


def test_golds_that_do_not_belong_to_the_questions_are_refused(longmemeval_file: Path) -> None:
    dataset = load_longmemeval(longmemeval_file)
    with pytest.raises(UsageError, match="do not belong together"):
        dataclasses.replace(dataset, gold={})


def test_ben_5_every_split_file_hashes_to_what_it_says() -> None:
    sizes = {
        name: len(load_split("locomo", name).question_ids) for name in split_names("locomo")[1:]
    }
    assert sizes == {
        "1085": 1085,
        "1089": 1089,
        "1307": 1307,
        "1529": 1529,
        "1531": 1531,
        "1540": 1540,
        "1986": 1986,
        "memory-r1-train": 152,
        "memory-r1-validation": 81,
        "memory-r2-test": 1089,
        "memory-r2-train": 328,
        "memory-r2-validation": 123,
        "report": 1682,
        "tune": 304,
    }
    sizes = {
        name: len(load_split("longmemeval", name).question_ids)
        for name in split_names("longmemeval")[1:]
    }
    assert sizes == {"101": 101, "500": 500, "report": 487, "tune": 13}


@pytest.mark.parametrize(
    ("dataset", "parts", "whole"),
    [
        ("locomo", ("tune", "report"), "1986"),
        ("locomo", ("memory-r1-train", "memory-r1-validation", "1307"), "1540"),
        ("locomo", ("memory-r2-train", "memory-r2-validation", "memory-r2-test"), "1540"),
        ("longmemeval", ("tune", "report"), "500"),
    ],
)
def test_ben_5_parts_do_not_overlap_and_cover_the_whole(
    dataset: str, parts: tuple[str, ...], whole: str
) -> None:
    ids = [one for part in parts for one in load_split(dataset, part).question_ids]  # type: ignore[arg-type]
    assert len(set(ids)) == len(ids)
    assert ids_hash(ids) == load_split(dataset, whole).sha256  # type: ignore[arg-type]


def test_ben_5_tune_conversations_are_the_two_named_ones() -> None:
    def conversations(name: str) -> set[str]:
        return {one.split("#")[0] for one in load_split("locomo", name).question_ids}

    assert conversations("tune") == {"conv-26", "conv-30"}
    assert len(conversations("report")) == 8
    assert not set(load_split("longmemeval", "101").question_ids) & set(
        load_split("longmemeval", "tune").question_ids
    )


def test_ben_5_a_changed_split_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "splits"
    folder.mkdir()
    real = resources.files("evimem.datasets") / "splits" / "locomo.tune.json"
    data = json.loads(real.read_text(encoding="utf-8"))
    data["questions"]["conv-26#"].pop()
    (folder / "locomo.tune.json").write_text(json.dumps(data), encoding="utf-8")
    monkeypatch.setattr(resources, "files", lambda _: tmp_path)
    with pytest.raises(UsageError, match="was changed"):
        load_split("locomo", "tune")


def test_an_unknown_split_lists_the_known_ones() -> None:
    with pytest.raises(UsageError, match="there are all, 1085"):
        load_split("locomo", "tuen")
    with pytest.raises(UsageError, match="beam has no split 'tune'"):
        load_split("beam", "tune")


def test_beam_is_held_out_whole(beam_folder: Path) -> None:
    dataset = load(beam_folder)
    part = take(dataset, "report")
    assert (part.questions, part.split) == (dataset.questions, "report")
    assert take(dataset, "all").split == "all"


def _audit(tmp_path: Path, **change: object) -> Path:
    record = {
        "sample_id": "conv-x",
        "qa_index": 0,
        "error_type": "INCOMPLETE",
        "question": "What did Bo give away?",
        "correct": "a green kayak",
        "correct_evidence": ["D1:2", "D77:1"],
        **change,
    }
    path = tmp_path / "audit.json"
    path.write_text(json.dumps([record, {**record, "qa_index": 99}]), encoding="utf-8")
    return path


def _small(locomo_file: Path) -> Dataset:
    return load_locomo(locomo_file, variant_ok=True)


def test_audit_replaces_wrong_golds_and_says_so(locomo_file: Path, tmp_path: Path) -> None:
    dataset = _small(locomo_file)
    audited = with_locomo_audit(dataset, _audit(tmp_path))
    gold = audited.gold["conv-x#0"]
    assert (gold.answer, gold.evidence) == ("a green kayak", ("D1:2",))
    assert gold.defects == ("audit:INCOMPLETE",)
    assert dataset.gold["conv-x#0"].answer == "a kayak"
    assert "1 golds audited" in audited.notes[-1]


def test_audit_of_a_citation_keeps_the_answer(locomo_file: Path, tmp_path: Path) -> None:
    path = _audit(tmp_path, error_type="WRONG_CITATION")
    assert with_locomo_audit(_small(locomo_file), path).gold["conv-x#0"].answer == "a kayak"


def test_audit_of_another_version_is_refused(
    locomo_file: Path, longmemeval_file: Path, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="another question"):
        with_locomo_audit(_small(locomo_file), _audit(tmp_path, question="What else?"))
    with pytest.raises(UsageError, match="not of 'longmemeval'"):
        with_locomo_audit(load_longmemeval(longmemeval_file), _audit(tmp_path))


def test_longmemeval_defects_are_marked_and_golds_stay(
    locomo_file: Path, longmemeval_file: Path, tmp_path: Path
) -> None:
    path = tmp_path / "defects.json"
    path.write_text(
        json.dumps({"wrong_gold": [{"id": "q1"}], "boundary": ["q1", "zz"], "note": "words"}),
        encoding="utf-8",
    )
    dataset = load_longmemeval(longmemeval_file)
    marked = with_longmemeval_defects(dataset, path)
    assert marked.gold["q1"].defects == ("wrong_gold", "boundary")
    assert marked.gold["q1"].answer == dataset.gold["q1"].answer
    with pytest.raises(UsageError, match="not those of 'locomo'"):
        with_longmemeval_defects(_small(locomo_file), path)


@pytest.mark.data
def test_audit_of_the_published_file_matches_all_156(data_dir: Path) -> None:
    dataset = load("locomo", data_dir=data_dir)
    audited = with_locomo_audit(dataset, data_dir / "locomo_audit" / "errors_indexed.json")
    assert sum(bool(one.defects) for one in audited.gold.values()) == 156
    changing = [
        one
        for one in audited.gold.values()
        if one.defects and one.defects[0] != "audit:WRONG_CITATION"
    ]
    assert len(changing) == 99


@pytest.mark.data
def test_ben_5_longmemeval_tune_is_forty_percent_of_the_haystacks_at_hand(data_dir: Path) -> None:
    dataset = load("longmemeval", data_dir=data_dir)
    tune, report = take(dataset, "tune"), take(dataset, "report")
    assert (len(tune.questions), len(report.questions)) == (13, 22)
    for part in (tune, report):
        assert any(not one.answerable for one in part.gold.values())
