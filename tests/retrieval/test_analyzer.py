"""The analyzer: what is found, what is folded, and that nothing can break it."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evimem.model.item import Item, Link
from evimem.model.turn import Turn
from evimem.retrieval.analyzer import Trait, analyze, analyze_entry, token_id, tokens_of, words_of
from evimem.retrieval.query import make_query
from evimem.retrieval.stemmer import stem


def found(query: str, document: str) -> bool:
    """True if every token of the query stands in the document."""
    return set(tokens_of(query).tolist()) <= set(tokens_of(document).tolist())


@pytest.mark.parametrize(
    ("query", "document"),
    [
        pytest.param("北京", "我昨天去了北京大学", id="han"),
        pytest.param("東京", "東京に住んでいます", id="japanese"),
        pytest.param("서울", "서울에 갔어요", id="hangul"),
        pytest.param("ภาษา", "ฉันรักภาษาไทย", id="thai"),
        pytest.param("👍", "great 👍🏽!", id="emoji-with-skin-tone"),
        pytest.param("❤", "I ❤️ it", id="emoji-with-selector"),
        pytest.param("cafe", "the CAFÉ on the corner", id="accents-and-case"),
        pytest.param("strasse", "Hauptstraße Straße", id="sharp-s"),
        pytest.param("fi", "ﬁ", id="ligature"),
        pytest.param("नमस्ते", "नमस्ते दुनिया", id="devanagari"),
        pytest.param("1.2.3", "we run v1.2.3 now", id="version-with-v"),
        pytest.param("1000", "it cost 1,000 euros", id="thousands"),
        pytest.param("7", "on the 7th of May", id="ordinal"),
        pytest.param("caroline", "Caroline’s and Caroline's book", id="possessive"),
        pytest.param("zerowidth", "zero\u200bwidth", id="zero-width-space"),
        pytest.param("paint", "she was painting", id="stem"),
        pytest.param("add item", "call `add_item` twice", id="identifier"),
    ],
)
def test_a_word_is_found_in_the_text_that_holds_it(query: str, document: str) -> None:
    assert found(query, document)


def test_different_words_stay_apart() -> None:
    assert not found("1.2.3", "version 1.2.30")
    assert not found("v2", "v3")
    assert not found("東京", "京都と東")
    assert words_of("1.5 and 15") == ["1.5", "and", "15"]


def test_token_ids_are_the_same_on_every_machine() -> None:
    # Little-endian 32 bits of BLAKE2b of the UTF-8 bytes, written down once.
    assert token_id("paint") == 0xA56F2CE6
    assert token_id("北京") == 0xD24DAA02
    assert analyze("paint Paint PAINTS").tokens.tolist() == [token_id("paint")] * 3
    assert analyze("paint").tokens.dtype == np.uint32


@pytest.mark.parametrize(
    ("forms", "root"),
    [
        ("paint paints painted painting", "paint"),
        ("hope hopes hoped hoping", "hope"),
        ("run runs running ran", "run"),
        ("study studies studied studying", "studi"),
        ("adopt adopted adoption adopting", "adopt"),
        ("organize organizes organized organizing organization", "organ"),
        ("relate related relational", "relat"),
        ("child children", "child"),
    ],
)
def test_forms_of_a_word_share_a_stem(forms: str, root: str) -> None:
    assert {stem(form) for form in forms.split()} == {root}


@pytest.mark.parametrize("word", ["bus", "news", "glass", "this", "sky", "is", "sing", "bed"])
def test_words_that_only_look_inflected_are_left_alone(word: str) -> None:
    assert stem(word) == word


def test_traits_say_what_a_text_is() -> None:
    assert analyze("How are you? Fine?").traits == Trait.ASKS | Trait.ONLY_ASKS
    assert analyze("I am fine. And you?").traits == Trait.ASKS
    assert analyze("Look [picture: what is it?]").traits == Trait.CAPTION
    assert analyze("Nothing special.").traits == 0


def test_caption_words_are_indexed_and_its_mark_is_not() -> None:
    assert words_of("x") + ["dog"] == [
        w for w in ["x", "dog"] if token_id(w) in analyze("x [picture: a dog]").tokens.tolist()
    ]
    assert token_id(stem("picture")) not in analyze("x [picture: a dog]").tokens.tolist()


@settings(max_examples=300, deadline=None)
@given(st.text(st.characters(), max_size=80))
def test_any_string_is_analyzed_without_error_and_without_zero_ids(text: str) -> None:
    tokens = analyze(text).tokens
    assert 0 not in tokens.tolist()
    make_query(text)


@pytest.mark.parametrize(
    "text", ["\x00", "a\x00b", "\ud800 lone", "\u202eabc\u202c", "\ufeff", "a\r\nb\rc"]
)
def test_odd_characters_are_no_words(text: str) -> None:
    assert all(word.isalnum() for word in words_of(text))


def test_a_word_of_a_megabyte_is_one_token() -> None:
    started = time.process_time()
    assert len(analyze("x" * 1_000_000).tokens) == 1
    assert len(analyze("中" * 100_000).tokens) == 99_999
    assert time.process_time() - started < 5


def test_mera_5_keywords_and_topics_of_an_item_are_searched_and_its_text_alone_has_traits() -> None:
    links = (Link(role="parent", target="t1"),)
    attrs = {"keywords": ["Kiwi?"], "topics": ["pets"]}
    plain = Item(item_id="f1", kind="fact", text="Ana has a parrot", links=links)
    tagged = Item(item_id="f1", kind="fact", text="Ana has a parrot", links=links, attrs=attrs)
    built = Item(
        item_id="f1", kind="fact", text="Ana has a parrot", links=links,
        attrs={**attrs, "builder": "facts"},
    )  # fmt: skip
    words = analyze("Ana has a parrot Kiwi pets").tokens
    assert np.array_equal(analyze_entry(plain).tokens, analyze("Ana has a parrot").tokens)
    assert np.array_equal(analyze_entry(tagged).tokens, words)
    assert (analyze_entry(plain).traits, analyze_entry(tagged).traits) == (0, 0)
    assert analyze_entry(built).traits == Trait.BUILT
    turn = Turn(
        turn_id="t1", session_id="s", index=0, speaker="Ana", role="person", text="Who?",
        caption="a cat", attrs=attrs,
    )  # fmt: skip
    assert np.array_equal(analyze_entry(turn).tokens, analyze(turn.body).tokens)
    assert analyze_entry(turn).traits == analyze(turn.body).traits
