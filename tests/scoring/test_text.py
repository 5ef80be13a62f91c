"""Answer scores: hand-computed values, and the quirks that tell the public F1s apart."""

from __future__ import annotations

import pytest

from evimem.scoring.porter import porter_stem
from evimem.scoring.text import exact_match, locomo_f1, mem0_f1, normalise_answer, token_f1


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("The  Blue-Lagoon, Bar!", "blue lagoon bar"),
        ("3June, 2022", "3 june 2022"),
        ("1,500 and 2.5 km.", "1500 and 2.5 km"),
        ("Melanie’s a  cat", "melanies cat"),
        ("Ｆｕｌｌ width", "full width"),
        ("the 4th of May", "4th of may"),
        ("...", ""),
        ("日本語。", "日本語"),
    ],
)
def test_normal_form_of_an_answer(text: str, form: str) -> None:
    assert normalise_answer(text) == form


def test_exact_match_ignores_case_articles_and_punctuation_and_never_matches_nothing() -> None:
    assert exact_match("A red kayak.", "red kayak")
    assert not exact_match("red kayaks", "red kayak")
    assert not exact_match("", "")
    assert not exact_match("?", "!")


def test_token_f1_is_a_bag_of_words() -> None:
    assert token_f1("red red kayak", "red kayak") == pytest.approx(2 * 2 / 5)
    assert token_f1("red", "blue") == token_f1("", "blue") == 0.0
    assert token_f1("the red kayak", "red kayak") == 1.0


def test_locomo_f1_stems_and_drops_and_too() -> None:
    # {paint, pot} against {paint, potteri}: one common stem
    assert locomo_f1("painting and pots", "paintings, pottery", category=4) == pytest.approx(0.5)
    assert locomo_f1("painted", "painting", category=2) == 1.0


def test_locomo_f1_category_1_takes_the_best_part_per_gold() -> None:
    assert locomo_f1("hiking, red kayaks", "kayak, hiking, chess", category=1) == pytest.approx(
        (2 / 3 + 1 + 0) / 3
    )


def test_locomo_f1_category_3_cuts_the_gold_at_the_semicolon() -> None:
    assert locomo_f1("likely yes", "likely yes; she said so", category=3) == 1.0
    assert locomo_f1("likely yes", "likely yes; she said so", category=4) < 1.0


def test_locomo_f1_category_5_accepts_the_two_published_phrases_only() -> None:
    assert locomo_f1("No information available.", "", category=5) == 1.0
    assert locomo_f1("That is not mentioned", "", category=5) == 1.0
    assert locomo_f1("I do not know", "", category=5) == 0.0
    with pytest.raises(ValueError, match="categories 1 to 5"):
        locomo_f1("a", "b", category=6)


def test_mem0_f1_is_over_sets_and_does_not_stem() -> None:
    assert mem0_f1("Red red, kayak!", "red kayak") == 1.0
    assert mem0_f1("the kayak", "kayak") == pytest.approx(2 / 3)
    assert mem0_f1("painted", "painting") == 0.0
    assert mem0_f1("red-kayak", "red kayak") == 0.0


@pytest.mark.parametrize(
    ("word", "stem"),
    [  # examples of the published description, and of the toolkit's departures from it
        *(("caresses", "caress"), ("ponies", "poni"), ("cats", "cat"), ("agreed", "agre")),
        *(("plastered", "plaster"), ("motoring", "motor"), ("conflated", "conflat")),
        *(("hopping", "hop"), ("falling", "fall"), ("filing", "file"), ("happy", "happi")),
        *(("relational", "relat"), ("conditional", "condit"), ("digitizer", "digit")),
        *(("vietnamization", "vietnam"), ("formaliti", "formal"), ("triplicate", "triplic")),
        *(("electriciti", "electr"), ("hopefulness", "hope"), ("revival", "reviv")),
        *(("adjustable", "adjust"), ("adoption", "adopt"), ("effective", "effect")),
        *(("probate", "probat"), ("rate", "rate"), ("controll", "control"), ("roll", "roll")),
        *(("dies", "die"), ("died", "die"), ("dying", "die"), ("skies", "sky"), ("by", "by")),
        *(("say", "say"), ("enjoy", "enjoy"), ("Sunnily", "sunnili"), ("biology", "biolog")),
    ],
)
def test_porter_stems_of_known_words(word: str, stem: str) -> None:
    assert porter_stem(word) == stem
