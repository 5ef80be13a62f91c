"""The answerer of `lite` on small conversations, ranked by words alone (no embedder)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from evimem.model.answer import NOT_IN_MEMORY
from evimem.model.evidence import EvidenceState, Question
from evimem.model.turn import History, Role, Session, Turn
from evimem.query.lite.answer import LiteAnswerer
from evimem.query.memory_view import MemoryView
from evimem.query.parts import Draft
from evimem.query.words import STOP_WORDS, WORD, key

Line = tuple[str, str, str]
"""Day (ISO), speaker, words."""

ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant"}


def history(lines: Sequence[Line]) -> History:
    """A conversation with one session per day; turn ids are t0, t1, ..."""
    turns: list[Turn] = []
    for day, group in itertools.groupby(enumerate(lines), key=lambda pair: pair[1][0]):
        for index, (number, (_, speaker, text)) in enumerate(group):
            turns.append(
                Turn(
                    turn_id=f"t{number}",
                    session_id=f"s-{day}",
                    index=index,
                    speaker=speaker,
                    role=ROLES.get(speaker, "person"),
                    text=text,
                    said_at=datetime.fromisoformat(day).replace(hour=12, tzinfo=UTC),
                    source_id=f"D{number}",
                )
            )
    days = dict.fromkeys(turn.session_id for turn in turns)
    sessions = tuple(Session(session_id=one, source_id=one) for one in days)
    return History(history_id="small", sessions=sessions, turns=tuple(turns))


def ask(lines: Sequence[Line], question: str, *, asked_at: str | None = None) -> Draft:
    """The draft answer when every turn was viewed, with its citations checked."""
    given = history(lines)
    state = EvidenceState(
        question=Question(text=question, asked_at=asked_at),
        viewed=tuple(turn.turn_id for turn in given.turns),
        round=1,
    )
    draft = LiteAnswerer().answer(state, MemoryView(given))
    bodies = {turn.turn_id: turn.body for turn in given.turns}
    for item in draft.support:
        assert item.quote
        assert bodies[item.item_id][item.start : item.end] == item.quote
    return draft


def cited(draft: Draft) -> list[str]:
    return [item.item_id for item in draft.support]


PEOPLE: list[Line] = [
    ("2024-06-01", "Mira", "I adopted a cat in May. She sleeps all day."),
    ("2024-06-01", "Leo", "How sweet! I baked bread yesterday."),
    ("2024-06-03", "Leo", "I went to Berlin last weekend with my sister Nora."),
    ("2024-06-03", "Mira", "Nice! How long have you been painting, Leo?"),
    ("2024-06-03", "Leo", "For five years already. It calms me down."),
    ("2024-06-20", "Mira", 'I have been to Lisbon twice this year, and I read "Dune".'),
    ("2024-07-02", "Mira", 'I finished "Emma" because my book club chose it.'),
    ("2024-07-02", "Leo", "We play chess every Friday. I also bought a kayak."),
]


def test_a_when_question_gets_the_named_time_in_words() -> None:
    draft = ask(PEOPLE, "When did Mira adopt a cat?")
    assert draft.text == "May 2024"
    assert draft.status == "supported"
    assert cited(draft) == ["t0"]


def test_a_relative_time_is_resolved_against_the_day_it_was_said() -> None:
    assert ask(PEOPLE, "When did Leo bake bread?").text == "31 May 2024"
    berlin = ask(PEOPLE, "When did Leo go to Berlin?")
    assert berlin.text == "The weekend before 3 June 2024"


def test_an_event_told_without_a_time_is_dated_by_its_turn_and_says_so() -> None:
    draft = ask(PEOPLE, "When did Leo buy a kayak?")
    assert draft.text == "2 July 2024"
    assert draft.status == "partial"
    assert "this is when it was told" in draft.missing


def test_something_that_goes_on_is_dated_by_the_month() -> None:
    lines: list[Line] = [
        ("2024-06-03", "Mira", "I'm rereading all the Moomin books."),
        ("2024-06-03", "Leo", "Good choice."),
    ]
    draft = ask(lines, "When did Mira start rereading the Moomin books?")
    assert (draft.text, draft.status) == ("June 2024", "partial")


def test_a_time_in_the_speaker_s_turn_before_dates_what_follows() -> None:
    lines: list[Line] = [
        ("2024-06-03", "Mira", "We were out in the woods last weekend."),
        ("2024-06-03", "Leo", "Tell me more!"),
        ("2024-06-03", "Mira", "We toasted bread over a fire."),
    ]
    draft = ask(lines, "When did Mira toast bread?")
    assert draft.text == "The weekend before 3 June 2024"
    assert [(item.item_id, item.quote) for item in draft.support] == [
        ("t2", "We toasted bread over a fire."),
        ("t0", "last weekend"),
    ]


def test_a_length_of_time_is_no_answer_to_when() -> None:
    lines: list[Line] = [
        ("2024-06-03", "Mira", "I ran a marathon for five hours!"),
        ("2024-06-03", "Leo", "Wow."),
    ]
    assert ask(lines, "When did Mira run a marathon?").text == "3 June 2024"


def test_a_date_in_the_question_chooses_among_repeated_events() -> None:
    lines: list[Line] = [
        ("2023-06-27", "Mira", "We went camping last week, it was lovely."),
        ("2023-06-27", "Leo", "Lucky you."),
        ("2023-08-17", "Mira", "We went camping two days ago, camping is our favourite."),
        ("2023-08-17", "Leo", "Again!"),
    ]
    assert ask(lines, "When did Mira go camping in June?").text == "The week before 27 June 2023"
    assert ask(lines, "When did Mira go camping in August?").text == "15 August 2023"


def test_a_plan_is_answered_with_the_time_to_come() -> None:
    lines: list[Line] = [
        ("2023-05-25", "Mira", "I went camping last month. We will go camping again next month!"),
        ("2023-05-25", "Leo", "Enjoy."),
    ]
    assert ask(lines, "When is Mira planning to go camping?").text == "June 2023"
    assert ask(lines, "When did Mira go camping?").text == "April 2023"


def test_a_when_question_without_any_known_time_is_partial() -> None:
    turn = Turn(
        turn_id="t", session_id="s", index=0, speaker="Mira", role="person", text="I sold my boat."
    )
    given = History(
        history_id="h", sessions=(Session(session_id="s", source_id="s"),), turns=(turn,)
    )
    state = EvidenceState(
        question=Question(text="When did Mira sell her boat?"), viewed=("t",), round=1
    )
    draft = LiteAnswerer().answer(state, MemoryView(given))
    assert draft.status == "partial"
    assert "no time" in draft.missing
    assert cited(draft) == ["t"]


@pytest.mark.parametrize(
    ("question", "answer", "turns"),
    [
        ("Where did Leo go last weekend?", "Berlin", ["t2"]),
        ("Who went to Berlin with Leo?", "Nora", ["t2"]),
        ("How many times has Mira been to Lisbon?", "Twice", ["t5"]),
        ("How long has Leo been painting?", "For five years", ["t4"]),
        ("How often does Leo play chess?", "Every Friday", ["t7"]),
        ("Why did Mira finish Emma?", "Because my book club chose it", ["t6"]),
        ("What books has Mira read?", "Dune, Emma", ["t5", "t6"]),
        ("What pet does Mira have?", "Cat", ["t0"]),
        ("Which city did Leo visit, Berlin or Paris?", "Berlin", ["t2"]),
        ("Did Leo bake bread?", "Yes: I baked bread yesterday.", ["t1"]),
    ],
)
def test_each_kind_of_question_gets_its_kind_of_answer(
    question: str, answer: str, turns: list[str]
) -> None:
    draft = ask(PEOPLE, question)
    assert (draft.text, cited(draft)) == (answer, turns)
    assert draft.status == "supported"


def test_a_number_that_nobody_said_is_named_as_missing() -> None:
    lines: list[Line] = [
        ("2024-06-03", "Mira", "The beach was wonderful, I love going to the beach."),
        ("2024-06-03", "Leo", "I prefer the hills."),
    ]
    draft = ask(lines, "How many times has Mira gone to the beach?")
    assert draft.status == "partial"
    assert draft.missing == "the number"


@pytest.mark.parametrize(
    "question",
    [
        "When did Mira go to Berlin?",
        "What did Mira bake?",
        "Where did Mira buy a kayak?",
        "What is Leo allergic to?",
        "Did Mira adopt a dog?",
    ],
)
def test_a_fact_of_somebody_else_or_of_nobody_is_not_in_memory(question: str) -> None:
    draft = ask(PEOPLE, question)
    assert draft.text == NOT_IN_MEMORY
    assert draft.status == "not_in_memory"
    assert draft.missing
    assert draft.support, "the nearest evidence is shown"


def test_a_name_that_no_evidence_holds_is_not_in_memory() -> None:
    lines: list[Line] = [
        ("2024-06-03", "Leo", "I flew to Vienna for my cousin's concert."),
        ("2024-06-03", "Mira", "Vienna is lovely."),
    ]
    assert ask(lines, "Why did Leo fly to Vienna?").status != "not_in_memory"
    draft = ask(lines, "Why did Leo fly to Oslo?")
    assert (draft.status, draft.missing) == ("not_in_memory", "anything that names Oslo")


def test_what_was_not_found_is_said_in_words() -> None:
    draft = ask(PEOPLE, "What is Leo allergic to?")
    assert draft.missing == "anything that Leo said about allergic"


def test_nothing_viewed_is_not_in_memory_without_citations() -> None:
    state = EvidenceState(question=Question(text="When did Mira adopt a cat?"))
    draft = LiteAnswerer().answer(state, MemoryView(history(PEOPLE)))
    assert (draft.status, draft.support) == ("not_in_memory", ())
    assert draft.missing


def test_a_topic_never_spoken_of_in_a_chat_is_not_in_memory() -> None:
    lines: list[Line] = [
        ("2024-05-01", "user", "Can you help me plan a dinner for six people?"),
        ("2024-05-01", "assistant", "Of course: how about a mushroom risotto?"),
        ("2024-05-02", "user", "I moved my dentist appointment to Tuesday."),
        ("2024-05-02", "assistant", "Noted."),
    ]
    assert ask(lines, "Which airline did I fly with to Chicago?").status == "not_in_memory"
    assert ask(lines, "When is my dentist appointment?").status != "not_in_memory"


@pytest.mark.parametrize(
    "question",
    [
        "Can you recommend a trail for running?",
        "I want to run a trail this weekend. Any suggestions?",
    ],
)
def test_a_request_for_advice_gets_what_bears_on_it_and_no_claim(question: str) -> None:
    lines: list[Line] = [
        ("2024-05-01", "user", "I love trail running in the hills."),
        ("2024-05-01", "assistant", "Great exercise."),
    ]
    draft = ask(lines, question)
    assert (draft.text, draft.status) == ("I love trail running in the hills.", "partial")
    assert draft.missing.startswith("advice")
    assert ask(lines, "Can you recommend a dentist?").status == "not_in_memory"


def test_an_answer_in_the_question_s_reply_is_found() -> None:
    """The turn that replies to a question holds none of its words."""
    lines: list[Line] = [
        ("2024-05-01", "Leo", "What motivated you to study law, Mira?"),
        ("2024-05-01", "Mira", "My grandfather was wronged once, and nobody stood by him."),
        ("2024-05-01", "Leo", "Law is a long study."),
        ("2024-05-02", "Mira", "The study of law is hard, my law books weigh a ton."),
    ]
    draft = ask(lines, "What motivated Mira to study law?")
    assert cited(draft) == ["t1"]


HIKE: list[Line] = [
    ("2024-09-08", "Mira", "We went hiking in the Tatra mountains last month."),
    ("2024-09-08", "Leo", "Who is we?"),
    ("2024-09-08", "Mira", "My colleague Paul and I."),
    ("2024-11-21", "Mira", "I sold cups at the market last Sunday."),
    ("2024-11-21", "Leo", "How many did you sell?"),
    ("2024-11-21", "Mira", "Eleven, and one flower pot."),
]


def test_what_was_asked_back_completes_the_answer() -> None:
    who = ask(HIKE, "Who did Mira go hiking with?")
    assert (who.text, cited(who)) == ("Paul", ["t2", "t0"])
    many = ask(HIKE, "How many cups did Mira sell?")
    assert (many.text, cited(many)) == ("Eleven", ["t5", "t3"])


def test_without_the_question_back_what_follows_is_not_taken_for_an_answer() -> None:
    lines = [line for line in HIKE if line[1] == "Mira"]
    assert ask(lines, "Who did Mira go hiking with?").status == "partial"


# --- cases from real use -----------------------------------------------------------------------

PORTS: list[Line] = [
    ("2024-05-01", "user", "server ssh port is 22"),
    ("2024-05-01", "assistant", "Noted."),
    ("2026-02-10", "user", "we moved sshd, it listens on 49222 now"),
    ("2026-02-10", "assistant", "Good to know."),
]
PORT_QUESTION = "what is the server ssh port?"


def test_case_p080_the_newest_value_answers_and_the_older_one_is_named() -> None:
    draft = ask(PORTS, PORT_QUESTION)
    assert draft.text == "49222 (earlier: 22, until 10 February 2026)"
    assert cited(draft) == ["t2", "t0"]
    assert draft.status == "supported"


def test_case_p080_as_of_an_earlier_day_the_older_value_answers() -> None:
    draft = ask(PORTS, PORT_QUESTION, asked_at="2025-06-01T00:00:00+00:00")
    assert draft.text == "22"
    assert cited(draft) == ["t0"]


def test_case_p080_a_later_number_about_something_else_replaces_nothing() -> None:
    lines = [*PORTS[:2], ("2026-02-10", "user", "I now own 12 chickens"), PORTS[3]]
    assert ask(lines, PORT_QUESTION).text == "22"


WALNUTS: list[Line] = [
    ("2024-05-01", "user", "I am planning a party."),
    ("2024-05-01", "assistant", "Anything to avoid?"),
    ("2024-05-01", "user", "I am allergic to walnuts."),
    ("2024-05-01", "assistant", "No walnuts then."),
    ("2024-05-01", "user", "That was my guest, not me."),
    ("2024-05-01", "assistant", "Understood."),
    ("2024-05-01", "user", 'Funny that my guest typed "I am allergic to walnuts" on my phone.'),
    ("2024-05-01", "assistant", "Ha."),
]


def test_case_p079_a_correction_beats_the_claim_however_often_it_is_retold() -> None:
    draft = ask(WALNUTS, "Am I allergic to walnuts?")
    assert draft.text == "No: That was my guest, not me."
    assert cited(draft) == ["t4", "t2"]


def test_case_p079_an_open_question_says_that_the_claim_was_taken_back() -> None:
    draft = ask(WALNUTS, "What am I allergic to?")
    assert "Taken back later" in draft.text
    assert set(cited(draft)) == {"t4", "t2"}


def test_case_p079_without_the_correction_the_claim_stands() -> None:
    lines = [line for line in WALNUTS if "not me" not in line[2]]
    assert ask(lines, "Am I allergic to walnuts?").text == "Yes: I am allergic to walnuts."


FOOTBALL: list[Line] = [
    ("2024-05-01", "Ana", "My friend Jonas hates football but his father signed him up."),
    ("2024-05-01", "Bo", "Poor Jonas!"),
    ("2024-05-02", "Ana", "I love chess, I play it every day."),
    ("2024-05-02", "Bo", "Chess is great."),
]


@pytest.mark.parametrize("question", ["does Ana like football?", "Does Ana hate football?"])
def test_case_p086_a_friend_s_dislike_is_not_the_speaker_s(question: str) -> None:
    draft = ask(FOOTBALL, question)
    assert draft.status == "not_in_memory"
    assert "Ana said of themselves" in draft.missing


def test_case_p086_the_friend_and_the_speaker_s_own_likes_are_still_known() -> None:
    assert ask(FOOTBALL, "Who hates football?").text == "Jonas"
    assert ask(FOOTBALL, "Does Ana love chess?").text.startswith("Yes")


def unheld(answer: str, quotes: Sequence[str]) -> list[str]:
    """Words of an answer that stand in none of its quotes."""
    held = {key(word) for quote in quotes for word in WORD.findall(quote)}
    words = [word for word in WORD.findall(answer) if word.casefold() not in STOP_WORDS]
    return [word for word in words if key(word) not in held]


@pytest.mark.parametrize(
    "question",
    [
        "Where did Leo go last weekend?",
        "Who went to Berlin with Leo?",
        "How many times has Mira been to Lisbon?",
        "What books has Mira read?",
        "What pet does Mira have?",
        "What did Mira adopt?",
        "How does Leo feel about painting?",
    ],
)
def test_case_p091_every_word_of_an_extracted_answer_stands_in_its_quotes(question: str) -> None:
    draft = ask(PEOPLE, question)
    assert draft.status != "not_in_memory"
    assert unheld(draft.text, [item.quote for item in draft.support]) == []


@pytest.mark.parametrize(
    "question",
    [
        "",
        "???",
        "the of and",
        "`_`",
        "ünïcödé \ud83d?",
        "when " * 3000,
        "(" * 500,
        "WHEN DID\x00 IT",
    ],
)
def test_no_question_breaks_the_answerer(question: str) -> None:
    draft = ask(PEOPLE, question)
    assert draft.status in ("supported", "partial", "not_in_memory")
    assert draft.text


# Names and codes of things: the value where it was told, nothing where it was not.

HOUSE: list[Line] = [
    ("2024-06-01", "user", "My locker code is 4471 and my gym is Forge on Mill Lane."),
    ("2024-06-01", "user", "The plumber comes on 3 June at 8:30."),
    ("2024-06-01", "user", "His name is Mr. Okafor, his number is 555-0142."),
    ("2024-06-02", "user", "The grey horse is called Bell, her foal is Nut."),
    ("2024-06-02", "user", "Our daughter Tilda rides the horse of Uncle Theo."),
    ("2024-06-09", "user", "The plumber's new number is 555-0199, the old one is dead."),
]


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What is my locker code?", "4471"),
        ("What is the plumber's name?", "Mr. Okafor"),
        ("What is the plumber's number?", "555-0199 (earlier: 555-0142, until 9 June 2024)"),
        ("What is the grey horse called?", "Bell"),
        ("What is our daughter's name?", "Tilda"),
    ],
)
def test_a_name_or_code_is_taken_out_as_it_stands(question: str, text: str) -> None:
    draft = ask(HOUSE, question)
    assert (draft.text, draft.status) == (text, "supported")


@pytest.mark.parametrize(
    "question",
    [
        "What is my garage code?",
        "What is Uncle Theo's number?",
        "What is the plumber's email address?",
        "What is my son's name?",
    ],
)
def test_an_attribute_that_was_never_told_is_missing_though_its_thing_is_known(
    question: str,
) -> None:
    draft = ask(HOUSE, question)
    assert draft.status == "not_in_memory"
    assert draft.missing


def test_of_two_numbers_the_one_right_before_what_is_counted_answers() -> None:
    lines: list[Line] = [("2024-06-01", "user", "I booked six nights, it costs 96 euros a night.")]
    assert ask(lines, "How many nights did I book?").text == "Six"
    assert ask(lines, "How much does it cost?").text == "96 euros"


def test_a_place_of_several_words_is_shown_whole() -> None:
    lines: list[Line] = [
        (
            "2024-06-01",
            "Ana",
            "I lost my job at the tax office, but I work at the town archive now.",
        )
    ]
    assert ask(lines, "Where does Ana work?").text == "The town archive"
