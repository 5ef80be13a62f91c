"""Gold is exact: answers stand in their gold turns, and time phrases mean what they say."""

from __future__ import annotations

import re
from collections import Counter
from datetime import date, timedelta

import pytest

from evimem.datasets.generated import Generated, refuse_test_histories
from evimem.datasets.generated.asking import Candidate
from evimem.datasets.generated.choose import aligned, choose
from evimem.datasets.generated.draw import Draw
from evimem.datasets.generated.tables import lists, topics
from evimem.datasets.generated.when import MIX, pick_day, said_of, window, years_ago
from evimem.errors import UsageError
from evimem.model.evidence import Question
from evimem.temporal import find, render, same_days

_EXTRACTED = {
    "event",
    "contact",
    "set",
    "state",
    "latest",
    "detail",
    "join",
    "bridge",
    "cause",
    "before",
}


def _turns(data: Generated, question: Question) -> list[str]:
    gold = data.dataset.gold[question.question_id]
    history = data.dataset.histories[gold.history_id]
    by_id = {turn.source_id: turn.text for turn in history.turns}
    return [by_id[one] for one in gold.evidence]


def _clean(text: str) -> str:
    return re.sub(r"\b(an?) ", "a ", re.sub(r"\W+", " ", text.lower())).strip()


def test_mera_52_evidence_ids_exist_in_the_history(uni_sft: Generated, tiny: Generated) -> None:
    for made in (uni_sft, tiny):
        for gold in made.dataset.gold.values():
            ids = {turn.source_id for turn in made.dataset.histories[gold.history_id].turns}
            assert set(gold.evidence) <= ids
            assert gold.evidence or made.kinds[gold.question_id] == "unstated"


def test_extracted_answers_stand_in_a_gold_turn(uni_sft: Generated) -> None:
    checked = 0
    for question in uni_sft.dataset.questions:
        if uni_sft.kinds[question.question_id] not in _EXTRACTED:
            continue
        answer = _clean(uni_sft.dataset.gold[question.question_id].answer)
        shown = _clean(" ".join(_turns(uni_sft, question)))
        assert answer.removesuffix(" minutes") in shown, question
        checked += 1
    assert checked > 300


def test_a_count_is_the_number_of_its_gold_turns(uni_sft: Generated) -> None:
    counts = [uni_sft.dataset.gold[one] for one, kind in uni_sft.kinds.items() if kind == "count"]
    assert len(counts) > 5
    assert all(int(gold.answer) == len(gold.evidence) for gold in counts)


def test_a_list_of_books_has_every_title_in_a_gold_turn_of_its_own(uni_sft: Generated) -> None:
    checked = 0
    for question in uni_sft.dataset.questions:
        if question.text.startswith("Which books has"):
            members = uni_sft.dataset.gold[question.question_id].answer.split(", ")
            turns = _turns(uni_sft, question)
            assert len(members) == len(turns)
            for member, turn in zip(members, turns, strict=True):
                assert member.lower() in turn.lower()
            checked += 1
    assert checked


def test_when_answers_are_the_days_of_the_phrase_by_an_independent_resolver(
    uni_sft: Generated,
) -> None:
    checked = same = 0
    for question in uni_sft.dataset.questions:
        if uni_sft.kinds[question.question_id] not in ("when", "when-plan", "change"):
            continue
        gold = uni_sft.dataset.gold[question.question_id]
        turn = next(
            turn
            for turn in uni_sft.dataset.histories[gold.history_id].turns
            if turn.source_id == gold.evidence[0]
        )
        assert turn.said_at is not None
        spans = find(turn.text, turn.said_at.date())
        checked += 1
        same += any(same_days(render(span, "qemem"), gold.answer) for span in spans)
    assert checked > 100
    assert same >= 0.98 * checked


@pytest.mark.parametrize("kind", list(MIX))
def test_every_phrase_covers_the_day_it_was_chosen_for(kind: str) -> None:
    draw = Draw("days", kind)
    for number in range(60):
        said = date(2023, 1, 5) + timedelta(days=17 * number)
        day = pick_day(kind, said, draw, after=None)
        if day is None:  # the last weekend or week may lie outside for some days: never here
            raise AssertionError((kind, said))
        when = said_of(kind, day, said)
        assert when.first <= day <= when.last
        span = find(f"I did it {when.phrase}.", said)[0]
        assert span.text == when.phrase
        assert span.start is not None and span.end is not None
        assert span.start <= day <= span.end


def test_years_ago_means_the_year() -> None:
    when = years_ago(3, date(2023, 5, 25))
    assert (when.phrase, when.gold) == ("three years ago", "2020")


def test_hand_computed_golds() -> None:
    said = date(2023, 5, 25)  # a Thursday
    assert said_of("last weekday", date(2023, 5, 19), said).gold == "the Friday before 25 May 2023"
    assert said_of("last week", date(2023, 5, 16), said).gold == "the week before 25 May 2023"
    assert said_of("last weekend", date(2023, 5, 20), said).gold == "the weekend before 25 May 2023"
    assert said_of("yesterday", date(2023, 5, 24), said).gold == "24 May 2023"
    assert said_of("next month", date(2023, 6, 9), said).gold == "June 2023"
    assert said_of("last summer", date(2022, 7, 1), said).gold == "the summer of 2022"
    assert window("last month", date(2023, 1, 3)) == (date(2022, 12, 1), date(2022, 12, 31))
    with pytest.raises(ValueError, match="cannot mean"):
        said_of("yesterday", date(2023, 5, 20), said)


def test_the_time_phrases_follow_the_measured_mix(uni_sft: Generated) -> None:
    said, total = sum(uni_sft.phrases.values()), sum(MIX.values())
    apart = sum(abs(uni_sft.phrases.get(kind, 0) / said - n / total) for kind, n in MIX.items()) / 2
    assert said > 300
    assert apart < 0.2


def test_a_cause_is_never_told_to_be_later_than_its_effect(uni_sft: Generated) -> None:
    checked = 0
    for question in uni_sft.dataset.questions:
        if uni_sft.kinds[question.question_id] == "cause":
            gold = uni_sft.dataset.gold[question.question_id]
            first, second = (int(re.findall(r"\d+", one)[0]) for one in gold.evidence)
            assert first <= second
            checked += 1
    assert checked


def test_adversarial_questions_ask_the_wrong_speaker_and_have_a_trap(tiny: Generated) -> None:
    for question in tiny.dataset.questions:
        gold = tiny.dataset.gold[question.question_id]
        if tiny.kinds[question.question_id] != "swapped":
            continue
        history = tiny.dataset.histories[gold.history_id]
        speaker = next(t.speaker for t in history.turns if t.source_id == gold.evidence[0])
        other = next(name for name in history.speakers if name != speaker)
        assert not gold.answerable
        assert other in question.text
        assert speaker not in question.text
        assert gold.trap
        assert not gold.answer


def test_what_was_never_stated_has_no_gold_turn_and_is_not_answerable(
    tiny: Generated, tiny_chats: Generated
) -> None:
    found = [
        one
        for made in (tiny, tiny_chats)
        for one in made.dataset.gold.values()
        if made.kinds[one.question_id] == "unstated"
    ]
    assert found
    for gold in found:
        assert not gold.answerable
        assert not gold.evidence


def test_longmemeval_types_and_abstention_ids_are_the_benchmark_s(tiny_chats: Generated) -> None:
    types = {gold.category for gold in tiny_chats.dataset.gold.values()}
    assert types == {
        "single-session-user",
        "single-session-assistant",
        "single-session-preference",
        "multi-session",
        "temporal-reasoning",
        "knowledge-update",
    }
    for gold in tiny_chats.dataset.gold.values():
        assert gold.question_id.endswith("_abs") is not gold.answerable
        if gold.category == "multi-session":
            assert len(gold.evidence_sessions) > 1
        if gold.category == "knowledge-update":
            assert len(gold.evidence) > 1


def test_assistant_questions_point_at_an_assistant_turn(tiny_chats: Generated) -> None:
    for question in tiny_chats.dataset.questions:
        gold = tiny_chats.dataset.gold[question.question_id]
        if gold.category == "single-session-assistant":
            history = tiny_chats.dataset.histories[gold.history_id]
            turn = next(t for t in history.turns if t.source_id == gold.evidence[0])
            assert turn.role == "assistant"
            assert gold.answer in turn.text


def _candidate(text: str, answer: str, *facts: int, category: str = "single-hop") -> Candidate:
    return Candidate(
        category=category, kind="event", text=text, answer=answer, facts=facts, target=text
    )


def test_mera_53_questions_with_unaligned_evidence_are_dropped_and_counted() -> None:
    counts: Counter[str] = Counter()
    kept = aligned(
        [_candidate("a?", "x", 1), _candidate("b?", "y", 1, 2), _candidate("c?", "z", 9)],
        {1: (0, 0), 2: (0, 1)},
        counts,
    )
    assert [one.text for one in kept] == ["a?", "b?"]
    assert counts["question with evidence that no turn says"] == 1


def test_mera_53_a_question_with_two_answers_is_dropped_and_counted() -> None:
    counts: Counter[str] = Counter()
    kept = aligned([_candidate("a?", "x", 1), _candidate("a?", "y", 2)], {1: 0, 2: 0}, counts)
    assert kept == []
    assert counts["question with two possible answers"] == 2


def test_mera_53_the_report_counts_what_was_dropped(tiny: Generated) -> None:
    assert tiny.counts["question with evidence that no turn says"] > 0


def test_a_category_that_runs_short_is_filled_from_the_others_and_counted() -> None:
    counts: Counter[str] = Counter()
    pool = [_candidate(f"{n}?", "x", n) for n in range(5)]
    got = choose(pool, {"single-hop": 2, "temporal": 2}, Draw("c"), counts)
    assert len({one.text for one in got}) == 4
    assert counts["question short of temporal"] == 2


def test_mera_54_x9_test_histories_are_refused_by_history_and_by_question() -> None:
    refuse_test_histories(["gen-1", "conv-30#4"], ["conv-26", "conv-41#2"])
    with pytest.raises(UsageError, match="conv-26"):
        refuse_test_histories(["gen-1", "conv-26"], ["conv-26#7"])
    with pytest.raises(UsageError, match="conv-26#3"):
        refuse_test_histories(["conv-26#3"], ["conv-26"])


def test_every_template_names_only_slots_that_its_topic_has() -> None:
    voice = {"o", "o's", "he", "his", "him", "does", "has", "is", "was", "know", "t", "me", "my"}
    extra = {"c", "c's", "via", "old", "old_at", "value_new", "a", "b"}
    known = lists("slots")
    for topic in topics().values():
        slots = set(topic.slots) | set(topic.more_slots)
        texts = [text for texts in topic.phrases.values() for text in texts]
        texts += [ask.text for asks in topic.asks.values() for ask in asks]
        for text in texts:
            for token in re.findall(r"\{([^}]+)\}", text):
                assert token in slots | voice | extra or token.startswith("c."), (topic.name, text)
        for source in (*topic.slots.values(), *topic.more_slots.values()):
            assert source in known or source in ("relation", "#") or source[0] == "@", source
        assert topic.say("say"), topic.name
        assert all(lead.to in topics() for lead in topic.leads)
