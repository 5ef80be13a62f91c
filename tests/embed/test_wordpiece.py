"""The tokenizer equals the reference library, and slices cover everything within the limit."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.models import WordPiece as ReferenceWordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

import evimem.embed
from evimem.embed.wordpiece import WordPiece

OURS = WordPiece()


def _reference() -> Tokenizer:
    vocabulary = Path(evimem.embed.__file__).parent / "data" / "wordpiece_vocab.txt"
    words = vocabulary.read_text(encoding="utf-8").split("\n")
    vocab = {word: i for i, word in enumerate(words) if word}
    made = Tokenizer(ReferenceWordPiece(vocab, unk_token="[UNK]", max_input_chars_per_word=100))
    made.normalizer = BertNormalizer(
        clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=True
    )
    made.pre_tokenizer = BertPreTokenizer()
    return made


REFERENCE = _reference()

# Scripts whose character classes did not change between the two Unicode tables involved.
STABLE = st.characters(max_codepoint=0x4FF) | st.sampled_from(
    "\u200b\u00a0\u2014\u2019\ufffd字東京서😀"
)


@given(st.text(STABLE))
def test_tokens_equal_the_reference_on_any_text(text: str) -> None:
    assert OURS.encode(text) == REFERENCE.encode(text, add_special_tokens=False).ids


@pytest.mark.parametrize(
    "text",
    [
        "When did Caroline go to the support group?",
        "naïve café coöperation",
        "我昨天去了北京大学 and then 東京",
        "don't stop: 3.14, $5.00 & e-mail@example.test",
        "\u200bzero\u00a0width\tand\nspace",
        "x" * 101 + " short",
        "emoji 😀 here",
    ],
)
def test_tokens_equal_the_reference_on_hard_examples(text: str) -> None:
    assert OURS.encode(text) == REFERENCE.encode(text, add_special_tokens=False).ids


def test_a_long_text_is_cut_into_overlapping_slices_that_fit_and_cover_it() -> None:
    text = " ".join(f"word{i}" for i in range(2000))
    slices = OURS.split(text, limit=254, overlap=32)
    assert all(len(OURS.encode(piece)) <= 254 for piece in slices)
    covered = {word for piece in slices for word in piece.split()}
    assert covered == set(text.split())
    assert all(a.split()[-1] in b.split() for a, b in pairwise(slices))


def test_a_short_text_is_one_slice_and_a_blank_one_none() -> None:
    assert OURS.split("a short text", limit=254, overlap=32) == ["a short text"]
    assert OURS.split(" \n\t ", limit=254, overlap=32) == []


def test_a_word_of_a_megabyte_is_cut_and_not_lost() -> None:
    slices = OURS.split("字" * 100_000, limit=254, overlap=32)
    assert all(len(OURS.encode(piece)) <= 400 for piece in slices)
    assert sum(len(piece) for piece in slices) >= 100_000
