"""Episodes and facts without a model."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import chain

import pytest

from evimem.build.lite_spaces import Borders, lite_spaces
from evimem.build.lite_words import told_of
from evimem.model.item import Item
from evimem.model.turn import Role, Turn

START = datetime(2024, 5, 1, 9, tzinfo=UTC)


def said(
    *lines: str,
    session: str = "s1",
    at: datetime | None = START,
    step: timedelta = timedelta(0),
    role: Role = "person",
) -> list[Turn]:
    turns = []
    for n, line in enumerate(lines):
        speaker, _, words = line.partition(": ")
        turns.append(
            Turn(
                turn_id=f"{session}-{n}",
                session_id=session,
                index=n,
                speaker=speaker,
                role=role,
                text=words,
                said_at=None if at is None else at + n * step,
            )
        )
    return turns


def episodes(turns: Sequence[Turn], borders: Borders | None = None) -> list[Item]:
    built = lite_spaces(turns, borders=borders) if borders else lite_spaces(turns)
    return [one for one in built if one.kind == "episode"]


def members(turns: Sequence[Turn], borders: Borders | None = None) -> list[list[str]]:
    return [[link.target for link in one.links] for one in episodes(turns, borders)]


CANOE = [
    "Ana: The canoe hull leaks.",
    "Ben: Patch the canoe hull with resin.",
    "Ana: Resin on the canoe hull held.",
    "Ben: A canoe hull needs resin yearly.",
]
GARLIC = [
    "Ben: Garlic beds need compost.",
    "Ana: Compost feeds garlic beds well.",
    "Ben: My garlic beds got compost.",
    "Ana: Compost and garlic beds belong together.",
]


def test_qem_4_every_turn_is_in_one_episode_in_order_and_a_session_ends_one() -> None:
    turns = said(*CANOE) + said(*GARLIC, session="s2", at=START + timedelta(days=1))
    assert members(turns) == [[f"s1-{n}" for n in range(4)], [f"s2-{n}" for n in range(4)]]
    first, second = episodes(turns)
    assert (first.session_id, first.said_at) == ("s1", START)
    assert second.said_at == START + timedelta(days=1)
    assert {link.role for link in first.links} == {"member"}


def test_a_change_of_subject_ends_an_episode() -> None:
    assert members(said(*CANOE, *GARLIC)) == [
        [f"s1-{n}" for n in range(4)],
        [f"s1-{n}" for n in range(4, 8)],
    ]


def test_silence_ends_an_episode_and_an_unknown_time_does_not() -> None:
    assert members(said(*CANOE[:2], step=timedelta(hours=1))) == [["s1-0"], ["s1-1"]]
    assert members(said(*CANOE[:2], step=timedelta(minutes=59))) == [["s1-0", "s1-1"]]
    assert members(said(*CANOE[:2], at=None)) == [["s1-0", "s1-1"]]


def test_an_episode_has_twelve_turns_at_most_whatever_is_said() -> None:
    same = said(*(["Ana: The canoe hull leaks."] * 40))
    groups = members(same)
    assert list(chain.from_iterable(groups)) == [turn.turn_id for turn in same]
    assert max(map(len, groups)) <= 12
    assert min(map(len, groups)) >= 4
    tight = members(same, Borders(least=8, most=10))
    assert max(map(len, tight)) <= 10
    assert list(chain.from_iterable(tight)) == [turn.turn_id for turn in same]


def test_blank_turns_are_in_no_episode_and_nothing_gives_nothing() -> None:
    assert members(said("Ana: The canoe leaks.", "Ben:  ")) == [["s1-0"]]
    assert lite_spaces([]) == []


def test_an_episode_has_a_title_of_telling_words_and_what_was_said() -> None:
    (episode,) = episodes(said(*CANOE))
    assert episode.attrs["title"] == "Ana and Ben: canoe, hull, resin, leaks, patch"
    assert episode.text.splitlines() == [str(episode.attrs["title"]), *CANOE]


def test_qem_7_a_fact_links_its_episode_and_the_turn_it_was_said_in() -> None:
    built = lite_spaces(said("Ana: Hello! I love my old canoe.", "Ben: Nice."))
    (episode,), (fact,) = built[:1], built[1:]
    assert (fact.kind, fact.text, fact.speaker) == ("semantic", "Ana loves Ana's old canoe.", "Ana")
    links = [(link.role, link.target) for link in fact.links]
    assert links == [("source", episode.item_id), ("parent", "s1-0")]
    assert fact.said_at == START


def test_a_model_has_no_facts_and_a_user_of_one_is_called_so() -> None:
    assert len(lite_spaces(said("bot: I love my old canoe.", role="assistant"))) == 1
    facts = lite_spaces(said("user: I love my old canoe.", role="user"))[1:]
    assert [one.text for one in facts] == ["The user loves the user's old canoe."]


def test_building_again_gives_the_same_items() -> None:
    turns = said(*CANOE, *GARLIC)
    first = lite_spaces(turns)
    assert lite_spaces(turns) == first
    assert len({one.item_id for one in first}) == len(first)
    assert all(one.built for one in first)


@pytest.mark.parametrize(
    ("sentence", "told"),
    [
        ("I love my dog.", "Ana loves Ana's dog."),
        ("I'm tired and I've lost my keys.", "Ana is tired and Ana has lost Ana's keys."),
        ("Yeah, I really enjoy rowing.", "Ana really enjoys rowing."),
        ("I was there and I went home.", "Ana was there and Ana went home."),
        ("I don't eat meat.", "Ana doesn't eat meat."),
        ("I can't swim but I try.", "Ana can't swim but Ana tries."),
        ("I’d go if they asked me.", ""),
        ("I watch birds at dawn.", "Ana watches birds at dawn."),
        ("It took me years to heal.", "It took Ana years to heal."),
    ],
)
def test_a_sentence_is_told_in_the_third_person(sentence: str, told: str) -> None:
    assert told_of(sentence, "Ana") == told


@pytest.mark.parametrize(
    "sentence",
    [
        "Did I tell that story?",
        "I hope your knee heals.",
        'He shouted "I quit" and left.',
        "She said I was late.",
        "Canoes leak now and then.",
        "",
    ],
)
def test_what_cannot_be_told_safely_is_left_out(sentence: str) -> None:
    assert told_of(sentence, "Ana") == ""
