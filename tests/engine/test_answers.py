"""Questions to small conversations of ours through `Memory`, with the default embedder.

Each conversation is one that people have: friends, a family, a user with an assistant, a team that
runs servers, a customer with a shop's support, a diary, a bank of one turn.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from evimem import Memory
from evimem.model.answer import Answer

Said = tuple[str, str, str]
"""Day (ISO), speaker, words."""

FRIENDS: list[Said] = [
    ("2024-02-03", "Hanna", "The penguins are called Olaf and Britta."),
    ("2024-02-03", "Piotr", "I'm still at the print shop, but the pay is bad."),
    (
        "2024-03-16",
        "Piotr",
        "I'm going to train as a nurse. The course begins on 2 April in Gdansk.",
    ),
    ("2024-03-16", "Hanna", "Sorry, no idea. I live in Sopot, it's all expensive."),
    ("2024-05-11", "Hanna", "I ran my first half marathon last Sunday! 2 hours and 14 minutes."),
    ("2024-05-11", "Hanna", "We went to Lisbon in April with Lena and her husband Marek."),
    ("2024-08-20", "Hanna", "I moved to Gdynia last week, the flat in Sopot was too small."),
    ("2024-08-20", "Piotr", "How much is the rent?"),
    ("2024-08-20", "Hanna", "2,400 zloty, with a balcony."),
    ("2024-08-20", "Piotr", "I bought a used bike yesterday for 300 zloty. It is green."),
]
ASSISTANT: list[Said] = [
    ("2024-01-15", "user", "I weigh 82 kg at the moment. My resting heart rate is 58."),
    ("2024-01-15", "assistant", "Thanks, noted."),
    ("2024-01-15", "user", "What shoes would you recommend for wide feet?"),
    ("2024-01-15", "assistant", "I'd suggest the Altra Torin or the New Balance 1080 in wide."),
    ("2024-02-12", "user", "My wife Salma is vegetarian, can you suggest a dinner with iron?"),
    ("2024-02-12", "assistant", "Try lentil dal with spinach. Serve it with rice."),
    ("2024-02-12", "user", "I am allergic to peanuts, please keep that in mind."),
    ("2024-03-18", "user", "I work as a data analyst at Norvell, and my boss Ingrid is strict."),
    ("2024-05-06", "user", "I now weigh 78 kg. Feeling strong."),
    ("2024-05-06", "user", "I'm not allergic to peanuts after all, it was the almonds."),
    ("2024-05-06", "user", "I left Norvell last month and started at Brightwave as a team lead."),
]
SERVERS: list[Said] = [
    ("2024-03-04", "milo", "Note that postgres on db-01 listens on port 5432."),
    ("2024-03-04", "dana", "The staging URL is https://stage.orbit.example, ask me for access."),
    ("2024-03-04", "priya", "We pay 310 dollars a month for the cache cluster, too much."),
    ("2024-04-11", "dana", "I turned on log rotation this morning."),
    ("2024-04-11", "priya", "We moved postgres to db-02, it listens on port 6543 now."),
    ("2024-05-20", "priya", "Cache cluster is 180 dollars a month now, we dropped two nodes."),
    ("2024-05-20", "dana", "Which version of redis do we run?"),
    ("2024-05-20", "priya", "Redis 7.2 on all three nodes."),
    ("2024-06-17", "dana", "We decided to use Terraform instead of Ansible for the new cluster."),
]
SUPPORT: list[Said] = [
    ("2024-09-02", "Customer", "Hi, my order 88213 has not arrived."),
    ("2024-09-02", "Customer", "I moved, my new address is 14 Quince Street, Leeds."),
    ("2024-09-09", "Bea", "The shade in black is free. Ticket number is R-5507."),
    ("2024-09-16", "Customer", "My phone number changed, it is 0113 496 0777 now."),
]
DIARY: list[Said] = [
    ("2021-08-28", "user", "We got married a week ago in the botanical garden."),
    ("2022-11-11", "user", "Our daughter Tilda was born three days ago. 3,400 grams."),
    ("2024-06-30", "user", 'Read "The Glass Orchard" this week. Loved it.'),
    ("2024-09-12", "user", "Grandfather Emil died on Monday."),
]
NICKNAMES: list[Said] = [
    ("2024-02-01", "Will", "I sold my guitar to May yesterday."),
    ("2024-03-10", "Will", "Rob told me his bakery opens on 1 April, no joke!"),
    ("2024-06-01", "Joy", "I lost my ring on the beach there."),
    ("2024-06-01", "Will", "We saw otters and an eagle."),
]
PARROT: list[Said] = [("2024-01-10", "user", "The parrot is Kiwi.")]
TALKS = {
    "friends": FRIENDS,
    "assistant": ASSISTANT,
    "servers": SERVERS,
    "support": SUPPORT,
    "diary": DIARY,
    "nicknames": NICKNAMES,
    "parrot": PARROT,
}


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    path: Path = tmp_path_factory.mktemp("answers") / "talks.evimem"
    with Memory.open(path) as opened:
        for bank, lines in TALKS.items():
            for day, said in itertools.groupby(lines, key=lambda line: line[0]):
                messages = [
                    {"role": speaker, "content": words}
                    if speaker in ("user", "assistant")
                    else {"role": "person", "name": speaker, "content": words}
                    for _, speaker, words in said
                ]
                at = datetime.fromisoformat(day).replace(hour=18, tzinfo=UTC)
                opened.add(messages, session_id=day, timestamp=at, bank=bank)
        yield opened


def ask(memory: Memory, bank: str, question: str, *, as_of: datetime | None = None) -> Answer:
    """The answer, after every quote was compared with its turn."""
    answer = memory.ask(question, bank=bank, as_of=as_of)
    for cited in answer.citations:
        turn = memory.get(cited.turn_id, bank=bank)
        assert turn.body[cited.start : cited.end] == cited.quote
    return answer


@pytest.mark.parametrize(
    ("bank", "question", "text"),
    [
        ("parrot", "What is the parrot called?", "Kiwi"),
        ("parrot", "What is the parrot's name?", "Kiwi"),
        ("friends", "What are the penguins called?", "Olaf and Britta"),
        ("friends", "How long did Hanna need for the half marathon?", "2 hours and 14 minutes"),
        ("friends", "Who went to Lisbon with Hanna?", "Lena and her husband Marek"),
        ("friends", "How much is Hanna's rent?", "2,400 zloty"),
        ("friends", "How much did Piotr's bike cost?", "300 zloty"),
        ("friends", "When does Piotr's course begin?", "2 April 2024"),
        ("assistant", "What is my wife's name?", "Salma"),
        ("assistant", "Who is my boss at Norvell?", "Ingrid"),
        ("servers", "What is the staging URL?", "https://stage.orbit.example"),
        ("servers", "Who turned on log rotation?", "dana"),
        ("support", "What is the order number?", "88213"),
        ("support", "What is the customer's address?", "14 Quince Street, Leeds"),
        ("support", "What is the ticket number?", "R-5507"),
        ("support", "What is the customer's phone number?", "0113 496 0777"),
        ("diary", "Where did I get married?", "The botanical garden"),
        ("diary", "How much did Tilda weigh?", "3,400 grams"),
        ("nicknames", "Who did Will sell his guitar to?", "May"),
        ("nicknames", "When does Rob's bakery open?", "1 April 2024"),
    ],
)
def test_the_answer_is_the_value_and_no_half_of_it(
    memory: Memory, bank: str, question: str, text: str
) -> None:
    answer = ask(memory, bank, question)
    assert (answer.text, answer.status) == (text, "supported")
    assert answer.citations


@pytest.mark.parametrize(
    ("bank", "question", "text"),
    [
        ("friends", "Where does Hanna live?", "Gdynia (earlier: Sopot, until 20 August 2024)"),
        ("assistant", "How much do I weigh?", "78 kg (earlier: 82 kg, until 6 May 2024)"),
        ("assistant", "Where do I work?", "Brightwave (earlier: Norvell, until 6 May 2024)"),
        (
            "servers",
            "What port does postgres listen on?",
            "6543 (earlier: 5432, until 11 April 2024)",
        ),
        (
            "servers",
            "How much do we pay for the cache cluster?",
            "180 dollars (earlier: 310 dollars, until 20 May 2024)",
        ),
    ],
)
def test_a_changed_fact_gets_its_newest_value_and_names_the_older_one(
    memory: Memory, bank: str, question: str, text: str
) -> None:
    answer = ask(memory, bank, question)
    assert answer.text == text
    assert len(answer.citations) == 2


def test_a_question_as_of_a_time_or_of_a_month_gets_the_value_of_then(memory: Memory) -> None:
    spring = datetime(2024, 4, 1, tzinfo=UTC)
    assert ask(memory, "friends", "Where does Hanna live?", as_of=spring).text == "Sopot"
    assert ask(memory, "friends", "Where did Hanna live in March 2024?").text == "Sopot"


def test_a_fact_that_was_corrected_is_denied_with_both_sentences(memory: Memory) -> None:
    answer = ask(memory, "assistant", "Am I allergic to peanuts?")
    assert answer.text.startswith("No: I'm not allergic to peanuts")
    assert [c.quote[:18] for c in answer.citations] == ["I'm not allergic t", "I am allergic to p"]


def test_yes_and_no_follow_what_was_chosen_and_what_was_put_aside(memory: Memory) -> None:
    assert ask(memory, "servers", "Do we use Terraform?").text.startswith("Yes")
    assert ask(memory, "servers", "Do we use Ansible for the new cluster?").text.startswith("No")


def test_what_you_said_is_the_assistant_s(memory: Memory) -> None:
    answer = ask(memory, "assistant", "What dinner did you suggest for my wife?")
    assert {c.speaker for c in answer.citations} == {"assistant"}
    assert "lentil dal" in answer.text
    shoes = ask(memory, "assistant", "What shoes did you recommend?")
    assert "Altra Torin" in shoes.text


def test_a_reply_answers_what_was_asked_right_before_it(memory: Memory) -> None:
    answer = ask(memory, "servers", "Which version of redis do we run?")
    assert (answer.text, answer.citations[0].quote) == ("7.2", "Redis 7.2 on all three nodes.")


def test_this_week_and_last_week_count_from_the_newest_turn(memory: Memory) -> None:
    assert "Emil died" in ask(memory, "diary", "What happened this week?").text
    assert ask(memory, "diary", "What happened last week?").status == "not_in_memory"


@pytest.mark.parametrize(
    ("bank", "question"),
    [
        ("parrot", "What is the dog called?"),
        ("parrot", "How old is the parrot?"),
        ("friends", "Where did Piotr run his first half marathon?"),
        ("friends", "When did Hanna buy a bike?"),
        ("friends", "What is the name of Piotr's girlfriend?"),
        ("assistant", "What is my blood pressure?"),
        ("servers", "What is the production URL?"),
        ("servers", "Which version of postgres do we run?"),
        ("support", "What is the customer's email address?"),
        ("diary", "What is my son's name?"),
        ("nicknames", "What did Will lose on the beach?"),
    ],
)
def test_what_was_never_told_or_told_of_another_is_not_in_memory(
    memory: Memory, bank: str, question: str
) -> None:
    answer = ask(memory, bank, question)
    assert (answer.status, answer.text) == ("not_in_memory", "Not in memory.")
    assert answer.missing


def test_case_p089_the_trace_tells_why_a_turn_was_not_in_the_answer(memory: Memory) -> None:
    answer = ask(memory, "friends", "What color is Piotr's bike?")
    trace = memory.trace(answer.trace_id, bank="friends")
    other = memory.search("penguins", bank="friends").hits[0]
    first, *later = trace.fate(other.turn_id)
    assert "rank " in first
    assert "reject: " in first
    assert later == [f"round {n}: viewed before" for n in range(2, len(later) + 2)]


def test_a_word_is_found_in_its_turn_even_in_a_bank_of_four_turns(memory: Memory) -> None:
    for word in ("guitar", "bakery", "ring", "eagle", "joke", "otters", "beach"):
        assert word in memory.search(word, bank="nicknames").hits[0].text
