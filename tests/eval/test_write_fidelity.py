"""The audit of writes: words of derived items that their source turns do not hold (E5)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from evimem.build.lite_spaces import lite_spaces
from evimem.eval.write_fidelity import Finding, WriteAudit, audit_writes, quotes_in
from evimem.model.item import DerivedKind, Item, Link, LinkRole
from evimem.model.turn import Turn
from evimem.query.qemem.quotes import verify

DAY = datetime(2023, 5, 8, 18, tzinfo=UTC)
LINES = (
    ("Ana", "I adopted two grey kittens, Pepper and Salt, and paid 40 euros."),
    ("Bo", "Lovely! My sister Ines always says that cats choose their people."),
    ("Ana", "We signed up yesterday for the clay class in Turku."),
)
TURNS = tuple(
    Turn(
        turn_id=f"t{n}",
        session_id="s1",
        index=n,
        speaker=speaker,
        role="person",
        text=text,
        said_at=DAY,
    )
    for n, (speaker, text) in enumerate(LINES)
)


def item(
    text: str,
    *targets: str,
    role: LinkRole = "parent",
    kind: DerivedKind = "fact",
    builder: str = "facts",
    item_id: str = "i",
) -> Item:
    return Item(
        item_id=item_id,
        kind=kind,
        text=text,
        links=tuple(Link(role=role, target=target) for target in targets),
        attrs={"builder": builder} if builder else {},
    )


def found(text: str, *targets: str) -> list[tuple[str, str, bool]]:
    """Findings of one fact, of the first turn where none is named."""
    audit = audit_writes([*TURNS, item(text, *(targets or ("t0",)))])
    return [(one.kind, one.words, one.nearby) for each in audit.items for one in each.findings]


@pytest.mark.parametrize(
    "text",
    [
        "Ana adopted two grey kittens.",
        "Ana adopted 2 kittens, Pepper and Salt.",
        "On 8 May 2023 Ana said that she had paid 40 euros.",
        "The kittens' names are Pepper and Salt.",
        'Ana told of "two grey kittens".',
        "Ana told of “Two Grey  Kittens,” once.",
    ],
)
def test_words_that_the_source_holds_are_faithful(text: str) -> None:
    assert found(text) == []


def test_days_that_the_source_means_are_held() -> None:
    assert found("Ana signed up on 7 May 2023.", "t2") == []
    assert found("Ana signed up on 6 May 2023.", "t2") == [("number", "6", False)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ana adopted three grey kittens.", ("number", "three", False)),
        ("Ana paid 45 euros.", ("number", "45", False)),
        ("Ana adopted Pepper and Ginger.", ("name", "Ginger", False)),
        ("Zoltan adopted two kittens.", ("name", "Zoltan", False)),
        ("Ana paid. Zoltan did not.", ("name", "Zoltan", False)),
        ('Ana has "two black kittens".', ("quote", "two black kittens", False)),
        ("Ana has “grey two kittens”.", ("quote", "grey two kittens", False)),
        (
            "Ana said 'she adopted two grey kittens'.",
            ("quote", "she adopted two grey kittens", False),
        ),
    ],
)
def test_altered_numbers_names_and_quotes_are_found(
    text: str, expected: tuple[str, str, bool]
) -> None:
    assert found(text) == [expected]


def test_what_other_turns_of_the_session_hold_is_told_apart() -> None:
    assert found("Bo adopted two kittens.") == [("name", "Bo", True)]
    assert found("Ana adopted them with Ines.") == [("name", "Ines", True)]
    assert found('Ana thinks that "cats choose their people".') == [
        ("quote", "cats choose their people", True)
    ]
    elsewhere = Turn(
        turn_id="z", session_id="s2", index=0, speaker="Ana", role="person", text="Meet Otto."
    )
    audit = audit_writes([*TURNS, elsewhere, item("Ana and Otto adopted kittens.", "t0")])
    assert audit.items[0].findings == (Finding(kind="name", words="Otto", nearby=False),)


def test_a_capital_at_the_start_of_a_sentence_makes_no_name_of_a_word_in_use() -> None:
    assert found("Kittens are what Ana adopted.") == []  # "kittens" stands in lower case
    assert found("She adopted them.") == []
    assert found("Adopting kittens cost 40 euros.") == []  # "adopted" is another form of it
    assert found("Hello Pepper!") == []


def test_an_items_sources_are_what_its_links_lead_to_over_other_items_too() -> None:
    episode = item("Kittens", "t0", "t1", role="member", kind="episode", item_id="e")
    learned = item("Ines thinks that Pepper chose.", "e", role="source", kind="semantic")
    audit = audit_writes([*TURNS, episode, learned])
    assert audit.items == ()
    assert [(one.kind, one.checked) for one in audit.builders] == [("episode", 1), ("semantic", 1)]


def test_an_item_without_source_turns_is_masked_and_not_faithful() -> None:
    outside = item("Zoltan has 7 dogs.", builder="")
    audit = audit_writes([*TURNS, outside])
    (counted,) = audit.builders
    assert (counted.builder, counted.items, counted.checked) == ("", 1, 0)
    assert (counted.faithful, counted.nearby, counted.altered) == (0, 0, 0)
    (one,) = audit.items
    assert one.faithful is None
    assert one.findings == ()


def test_counts_go_by_builder_and_kind_and_one_builder_can_be_asked_for() -> None:
    entries: list[Turn | Item] = [
        *TURNS,
        item("Ana adopted two kittens.", "t0", item_id="a"),
        item("Ana adopted six kittens with Ginger.", "t0", item_id="b"),
        item("Bo adopted kittens.", "t0", item_id="c"),
        item('He said "cats rule".', "t1", role="source", kind="record", builder="x", item_id="d"),
    ]
    audit = audit_writes(entries, bank="pets")
    facts, records = audit.builders
    assert (facts.builder, facts.kind, facts.items, facts.checked) == ("facts", "fact", 3, 3)
    assert (facts.faithful, facts.nearby, facts.altered) == (1, 1, 1)
    assert facts.findings == {"number": 1, "name": 1}
    assert (records.quotes, records.findings, records.altered) == (1, {"quote": 1}, 1)
    assert audit.altered == 2
    assert [one.item_id for one in audit.items] == ["b", "c", "d"]
    only: WriteAudit = audit_writes(entries, builder="x")
    assert [one.builder for one in only.builders] == ["x"]
    assert audit_writes(entries, builder="nobody").builders == ()


def test_lite_spaces_say_nothing_that_their_turns_do_not_hold() -> None:
    items = lite_spaces(TURNS)
    audit = audit_writes([*TURNS, *items])
    assert sum(one.checked for one in audit.builders) == len(items) > 1
    assert audit.items == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('He read "The Long Way" twice.', ["The Long Way"]),
        ("“One”, „two“ and «three».", ["One", "two", "three"]),
        ("She said ‘don’t go’ and 'it isn't far'.", ["don’t go", "it isn't far"]),
        ("The dogs' bowls aren't the cats' toys.", []),
        ("Rock 'n' roll of the '90s", []),
        ('5" of rain and "…" and ""', []),
        ("It's Ana's 'clay' class.", ["clay"]),
    ],
)
def test_quotes_are_what_stands_between_marks_and_apostrophes_are_none(
    text: str, expected: list[str]
) -> None:
    assert list(quotes_in(text)) == expected


def test_a_quote_is_held_to_the_rules_of_quote_verification() -> None:
    quote = "two grey kittens Pepper and Salt"  # punctuation does not count
    assert verify(quote, [("t0", LINES[0][1])]).quote_verified
    assert found(f'Ana has "{quote}".') == []
