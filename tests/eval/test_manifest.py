"""A manifest names everything that a figure depends on."""

from __future__ import annotations

import dataclasses

from evimem.datasets import Dataset, SourceFile
from evimem.eval.manifest import make_manifest, report_notes
from evimem.eval.synthetic import NoiseEmbedder


def test_ben_13_manifest_names_code_data_embedder_and_parameters(dataset: Dataset) -> None:
    said = make_manifest(
        [dataset, dataset.only(["x#0"], split="tune")],
        code="1.2.3+abc",
        embedder=NoiseEmbedder(),
        params={"depth": 400, "rankers": ("bm25", "fusion")},
    )
    assert said["code"] == "1.2.3+abc"
    assert said["embedder"] == "noise-384/l2"
    assert said["data locomo"] == f"small.json sha256 {'0' * 64}"
    assert said["depth"] == "400"
    assert "bm25" in said["rankers"]
    assert make_manifest([], code="x", embedder=None)["embedder"] == "none"


def test_many_files_are_named_by_one_hash_that_follows_any_of_them(dataset: Dataset) -> None:
    files = tuple(SourceFile(name=f"{i}.json", sha256=f"{i:064d}") for i in range(5))
    many = dataclasses.replace(dataset, files=files)
    turned = dataclasses.replace(dataset, files=files[::-1])
    other = dataclasses.replace(dataset, files=(*files[:4], dataset.files[0]))

    def data(one: Dataset) -> str:
        return make_manifest([one], code="x", embedder=None)["data locomo"]

    assert data(many) == data(turned) != data(other)
    assert data(many).startswith("5 files")


def test_notes_carry_what_the_loader_said_and_repaired(dataset: Dataset) -> None:
    noted = dataclasses.replace(dataset, notes=("a variant",), repairs={"noon": 2})
    assert report_notes([noted, noted]) == (
        "locomo: a variant",
        "locomo: repaired while loading: 2 x noon",
    )
