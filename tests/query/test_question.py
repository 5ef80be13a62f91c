"""What a question asks for, from its words."""

from __future__ import annotations

import pytest

from evimem.query.question import DateWords, analyse, normalised


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("When did Ana move?", "when"),
        ("On what date did Ana move?", "when"),
        ("Who came to the party?", "who"),
        ("Whose bike is it?", "who"),
        ("Where does Ben live?", "where"),
        ("Which city did Ben visit?", "where"),
        ("Why did she leave?", "why"),
        ("How does he relax?", "how"),
        ("How many cats does Ana have?", "how_many"),
        ("How old is Ben?", "how_many"),
        ("How long did it take?", "how_long"),
        ("How often do they meet?", "how_often"),
        ("Did Ana sell the car?", "yes_no"),
        ("Is it a cat or a dog?", "choice"),
        ("What books has Ana read?", "list"),
        ("Which of these hobbies does Ana have?", "list"),
        ("What are Ana's new hobbies?", "list"),
        ("What people does Ben know?", "list"),
        ("What series does Ben watch?", "list"),
        ("What bus does Ben take?", "what"),
        ("What is Ana's job?", "what"),
        ("Tell me of the party.", "other"),
        ("", "other"),
        ("???", "other"),
    ],
)
def test_the_kind_of_answer_is_read_from_the_question_word(text: str, kind: str) -> None:
    assert analyse(text).kind == kind


def test_names_are_told_from_speakers_dates_and_first_words() -> None:
    found = analyse(
        'Did caroline show Dr. Brown "The Red Door" in the Lake District on Monday in May 2023?',
        speakers=("Caroline", "Mel"),
    )
    assert found.speakers == ("Caroline",)
    assert found.names == ("The Red Door", "Dr Brown", "Lake District")
    assert found.words == ("show", "Monday")
    assert found.dates == (DateWords(text="May 2023", year=2023, month=5),)


def test_speakers_come_in_the_order_of_the_question_by_any_part_of_their_name() -> None:
    found = analyse("What do Lee and Ana share?", speakers=("Ana Kim", "Bruce Lee", "Zoe"))
    assert found.speakers == ("Bruce Lee", "Ana Kim")
    assert found.several


@pytest.mark.parametrize(
    ("text", "dates"),
    [
        ("on 7 May 2023", [(2023, 5, 7)]),
        ("on May 7, 2023", [(2023, 5, 7)]),
        ("on the 3rd of June, 2022", [(2022, 6, 3)]),
        ("in July", [(None, 7, None)]),
        ("in 2021", [(2021, None, None)]),
        ("May I march with you?", []),
        ("what may help", []),
        ("between March 2021 and Sept 2022", [(2021, 3, None), (2022, 9, None)]),
    ],
)
def test_calendar_dates_are_found(
    text: str, dates: list[tuple[int | None, int | None, int | None]]
) -> None:
    assert [(d.year, d.month, d.day) for d in analyse(text).dates] == dates


@pytest.mark.parametrize(
    ("text", "focus"),
    [
        ("What books has Ana read?", ("books",)),
        ("What kind of art does Ana make?", ("art",)),
        ("What are Ana's new hobbies?", ("new", "hobbies")),
        ("What did Ana's team do?", ()),
        ("Where is it?", ()),
    ],
)
def test_the_focus_is_the_noun_phrase_asked_for(text: str, focus: tuple[str, ...]) -> None:
    assert analyse(text).focus == focus


def test_a_question_of_ten_thousand_words_is_read_in_part_and_kept_whole() -> None:
    text = "When did Ana " + "go " * 10_000
    found = analyse(text)
    assert found.kind == "when"
    assert found.text == text


def test_normalising_forgets_case_marks_and_spacing_and_nothing_else() -> None:
    assert normalised("  What's up,  Ana?! ") == normalised("what's UP ana")
    assert normalised("Ana likes Ben") != normalised("Ben likes Ana")
