"""Keys of words, and examples of the kinds that words name."""

from __future__ import annotations

from evimem.query.kinds import examples_of, other_names_of
from evimem.query.words import key, keys


def test_forms_of_a_word_share_a_key_and_stop_words_have_none() -> None:
    assert {key(w) for w in ("painting", "Paintings", "painted", "paints", "PAINT's")} == {"paint"}
    assert key("the") == key("???") == key("") == ""
    assert keys("What's the cat's name? Don't ask") == ("cat", "name", "ask")


def test_scripts_without_spaces_give_pairs() -> None:
    assert keys("你好世界") == ("你好", "好世", "世界")


def test_a_kind_is_known_in_every_form_of_its_names() -> None:
    assert "turtle" in examples_of(["Pets"])
    assert examples_of(["pet"]) == examples_of(["pets"])
    assert "hobby" in other_names_of(["activities"])
    assert "activity" not in other_names_of(["activities"])


def test_unknown_and_stop_words_name_nothing() -> None:
    assert examples_of(["xylography", "the", "", "own"]) == ()
    assert other_names_of([]) == ()


def test_the_kind_that_most_words_name_comes_first() -> None:
    alone, both = examples_of(["activity"]), examples_of(["family", "activity"])
    assert alone[0] == "hiking"
    assert both[:3] == ("camping", "hiking", "picnic")  # of "family activity"
    assert len(set(both)) == len(both)
