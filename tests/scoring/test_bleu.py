"""BLEU-1: tokens worked out by hand, and scores of the toolkit that the published figures use."""

from __future__ import annotations

import math

import pytest

from evimem.scoring.bleu import bleu1, treebank_words


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("She's been there, isn't she?", "she 's been there , is n't she ?"),
        ("At 5:30 p.m., 1,000 people.", "at 5:30 p.m. , 1,000 people ."),
        ('"Hi," he said (twice).', "`` hi , '' he said ( twice ) ."),
        ("Dr. Lee left. Then rain came.", "dr. lee left . then rain came ."),
        ("the dogs' end...", "the dogs ' end ..."),
        ("cannot, gonna, 'tis", "can not , gon na , ' tis"),
        ("red--blue—green; 50% & $5", "red -- blue — green ; 50 % & $ 5"),
        ("", ""),
    ],
)
def test_ben_7_words_are_parted_as_in_the_penn_treebank(text: str, tokens: str) -> None:
    assert treebank_words(text) == tokens.split()


@pytest.mark.parametrize(
    ("answer", "gold", "score"),
    [  # computed with NLTK 3.10 on the same tokens, then checked by hand
        ("a red kayak", "a red kayak", 1.0),
        ("the red kayak is red", "red kayak", 2 / 5),  # red counts once
        ("red", "a red kayak", math.exp(1 - 3 / 1)),  # brevity penalty
        ("kayak red", "red kayak", 1.0),  # order is nothing to unigrams
        ("blue boat", "red kayak", 0.0),  # no smoothing of unigrams
        ("Red kayak.", "red kayak", 2 / 3),
        ("", "red", 0.0),
        ("red", "", 0.0),
    ],
)
def test_ben_7_bleu_1_is_clipped_precision_with_brevity_penalty(
    answer: str, gold: str, score: float
) -> None:
    assert bleu1(answer, gold) == pytest.approx(score)
