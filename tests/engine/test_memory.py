"""Adding, searching, asking, explaining: the calls people make."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from evimem.compose import Memory
from evimem.embed.hashing import HashingEmbedder
from evimem.errors import EmbedderError, NotFound, UsageError
from evimem.model.turn import Turn
from evimem.ports import FloatArray

Opener = Callable[..., Memory]
T0 = datetime(2024, 1, 10, 9, 0, tzinfo=UTC)


def fill(memory: Memory, bank: str | None = None) -> None:
    memory.add(
        [
            {"role": "user", "name": "Nadia", "content": "I signed up for a pottery course."},
            {"role": "user", "name": "Tom", "content": "I quit the bakery last Friday."},
            {"role": "user", "name": "Nadia", "content": "Biscuit is a small brown terrier."},
        ],
        session_id="s1",
        timestamp=T0,
        bank=bank,
    )


def test_an_added_turn_is_found_with_its_place_speaker_and_time(memory: Memory) -> None:
    fill(memory)
    hit = memory.search("pottery course").hits[0]
    assert (hit.speaker, hit.text, hit.said_at) == (
        "Nadia",
        "I signed up for a pottery course.",
        T0,
    )
    assert hit.rank == 1
    assert "bm25" in hit.ranks


def test_adding_the_same_dated_messages_again_stores_nothing_twice(memory: Memory) -> None:
    fill(memory)
    before = memory.stats()
    fill(memory)
    assert memory.stats() == before
    assert before.turns == 3


def test_case_p059_the_same_key_stores_once_and_no_key_deduplicates_dated_turns(
    memory: Memory,
) -> None:
    first = memory.add("hello there", session_id="s", idempotency_key="k1")
    again = memory.add("hello there", session_id="s", idempotency_key="k1")
    assert first.stored == again.unchanged
    assert memory.stats().turns == 1


def test_two_equal_messages_of_one_conversation_are_both_kept(memory: Memory) -> None:
    memory.add([{"role": "user", "content": "ok"}, {"role": "user", "content": "ok"}], timestamp=T0)
    assert memory.stats().turns == 2


def test_later_calls_continue_the_session(memory: Memory) -> None:
    memory.add("one", session_id="s", timestamp=T0)
    memory.add("two", session_id="s", timestamp=T0 + timedelta(minutes=1))
    assert [(t.index, t.text) for t in memory.session("s")] == [(0, "one"), (1, "two")]


@pytest.mark.parametrize(
    "messages",
    [[], [3], [{"role": "user", "content": None}], [{"role": "robot", "content": "x"}]],
)
def test_an_unusable_message_is_refused_and_nothing_is_stored(
    memory: Memory, messages: object
) -> None:
    with pytest.raises(UsageError):
        memory.add(messages)  # type: ignore[arg-type]
    assert memory.stats().turns == 0


def test_case_p034_blank_messages_keep_their_place_and_get_no_vector(memory: Memory) -> None:
    memory.add(
        [{"role": "user", "content": text} for text in ("hi there", "", "   ", "bye now")],
        session_id="s",
        timestamp=T0,
    )
    assert [t.text for t in memory.session("s")] == ["hi there", "", "   ", "bye now"]
    assert (memory.stats().vectors, memory.stats().pending) == (2, 0)
    near = memory.around(memory.session("s")[3].turn_id, before=1, after=0)
    assert [t.index for t in near] == [2, 3]


def test_case_p043_naive_and_aware_times_are_ordered_by_one_rule(memory: Memory) -> None:
    memory.add("first", session_id="s", timestamp="2025-03-01T09:00")
    memory.add("second", session_id="s", timestamp="2025-03-01T09:30+02:00")
    said = {t.text: t.said_at for t in memory.session("s")}
    assert said["first"] == datetime(2025, 3, 1, 9, 0, tzinfo=UTC)
    assert said["second"] == datetime(2025, 3, 1, 9, 30, tzinfo=timezone(timedelta(hours=2)))
    found = memory.search("first second", until=datetime(2025, 3, 1, 8, 0, tzinfo=UTC))
    assert [hit.text for hit in found.hits] == ["second"]


def test_filters_restrict_before_top_k(memory: Memory) -> None:
    fill(memory)
    assert {h.speaker for h in memory.search("the a I", top_k=1, speaker="tom").hits} == {"Tom"}
    assert memory.search("pottery", since=T0 + timedelta(days=1)).hits == ()
    top = memory.search("pottery course", top_k=1).hits[0]
    rest = memory.search("pottery course", top_k=3, exclude=[top.turn_id])
    assert top.turn_id not in [h.turn_id for h in rest.hits]


@pytest.mark.parametrize("top_k", [0, -1, 100_000])
def test_case_p025_top_k_outside_its_ceiling_is_refused(memory: Memory, top_k: int) -> None:
    with pytest.raises(UsageError, match="top_k"):
        memory.search("x", top_k=top_k)


@pytest.mark.parametrize(
    "query",
    [
        "the of and",
        "???",
        "`add_episode`",
        "_",
        '"',
        "a AND (b OR",
        "NEAR/2 *",
        "' OR 1=1 --",
        "\x00",
    ],
)
def test_case_p035_odd_queries_give_hits_or_a_reason_and_never_an_error(
    memory: Memory, query: str
) -> None:
    fill(memory)
    result = memory.search(query)
    assert result.hits or result.reason


def test_a_question_of_ten_thousand_words_is_answered(memory: Memory) -> None:
    fill(memory)
    answer = memory.ask("pottery " + "filler words go on " * 2500)
    assert answer.trace_id


def test_case_p052_lone_surrogates_are_replaced_and_never_fail(memory: Memory) -> None:
    memory.add("broken \udcb4 text about kayaks", timestamp=T0)
    hit = memory.search("kayaks \udcb4").hits[0]
    assert hit.text == "broken \ufffd text about kayaks"
    assert memory.ask("what about \udcb4 kayaks?").trace_id


def test_case_p050_typographic_marks_and_a_byte_order_mark_are_kept(memory: Memory) -> None:
    text = "\ufeffIt\u2019s late \u2014 let\u00a0us go"
    memory.add(text, timestamp=T0)
    assert memory.search("late").hits[0].text == text


def test_an_answer_cites_words_that_stand_in_the_turn(memory: Memory) -> None:
    fill(memory)
    answer = memory.ask("What kind of dog is Biscuit?")
    assert answer.status == "supported"
    cited = answer.citations[0]
    turn = memory.get(cited.turn_id)
    assert turn.body[cited.start : cited.end] == cited.quote
    assert "terrier" in cited.quote


def test_a_question_about_nothing_stored_is_not_in_memory(memory: Memory) -> None:
    fill(memory)
    answer = memory.ask("What is the capital of Mongolia?")
    assert answer.status == "not_in_memory"


def test_an_empty_bank_answers_not_in_memory_and_says_why_there_are_no_hits(
    memory: Memory,
) -> None:
    assert memory.ask("anything?").status == "not_in_memory"
    assert memory.search("anything").reason == "empty_bank"


@pytest.mark.parametrize("question", ["", "  \n"])
def test_an_empty_question_is_refused(memory: Memory, question: str) -> None:
    with pytest.raises(UsageError, match="empty"):
        memory.ask(question)


def test_unknown_recipes_and_bad_ceilings_are_refused(memory: Memory) -> None:
    with pytest.raises(UsageError, match="lite"):
        memory.ask("x?", recipe="magic")
    with pytest.raises(UsageError, match="max_rounds"):
        memory.ask("x?", max_rounds=0)
    with pytest.raises(UsageError, match="budget"):
        memory.ask("x?", budget=0)


def test_as_of_sees_nothing_said_later(memory: Memory) -> None:
    memory.add("The ssh port is 22.", speaker="Ana", timestamp="2024-01-10T09:00:00Z")
    memory.add("The ssh port is 49222 now.", speaker="Ana", timestamp="2026-01-10T09:00:00Z")
    trace = memory.ask_traced("What is the ssh port?", as_of=datetime(2025, 1, 1, tzinfo=UTC))
    texts = memory.texts(trace.viewed)
    assert set(texts.values()) == {"The ssh port is 22."}


def test_the_stored_trace_equals_the_one_returned(memory: Memory) -> None:
    fill(memory)
    trace = memory.ask_traced("What kind of dog is Biscuit?")
    assert memory.trace("LAST") == trace
    assert memory.trace(trace.trace_id) == trace
    with pytest.raises(NotFound):
        memory.trace("q_unknown")


def test_a_round_ceiling_and_a_budget_hold(memory: Memory) -> None:
    fill(memory)
    assert len(memory.ask_traced("Who signed up for pottery?", max_rounds=1).rounds) == 1
    tight = memory.ask_traced("Who signed up for pottery?", budget=3)
    assert tight.stop_reason == "budget"
    assert tight.viewed == ()
    unread = tight.rounds[0].cut
    assert unread
    assert "beyond the budget" in tight.fate(unread[0])[0]


def test_an_answer_says_what_it_cost(memory: Memory) -> None:
    fill(memory)
    trace = memory.ask_traced("Who signed up for the pottery course?")
    assert trace.usage.searches >= sum(len(r.searches) for r in trace.rounds) > 0
    assert trace.usage.embeddings > 0
    assert memory.ask("Who signed up for the pottery course?").usage.embeddings == 0


class Broken(HashingEmbedder):
    """Fails while `down` is set."""

    down = True

    def embed(self, texts):  # type: ignore[no-untyped-def]
        if self.down:
            raise EmbedderError("the endpoint is down")
        return super().embed(texts)


def test_case_p022_with_the_embedder_down_words_are_stored_found_and_marked(
    opener: Opener,
) -> None:
    broken = Broken()
    memory = opener(embedder=broken)
    receipt = memory.add("I keep bees on the roof.", speaker="Ana", timestamp=T0)
    assert receipt.stored and receipt.degraded[0].startswith("embedder_unavailable")
    broken.down = False
    memory.embed()
    broken.down = True
    result = memory.search("bees roof")
    assert result.hits[0].text == "I keep bees on the roof."
    assert result.degraded[0].startswith("embedder_unavailable")
    assert memory.ask("Who keeps bees?").degraded


def test_vectors_added_later_are_used(opener: Opener) -> None:
    broken = Broken()
    memory = opener(embedder=broken)
    memory.add("I keep bees on the roof.", timestamp=T0)
    assert memory.stats().pending == 1
    broken.down = False
    assert memory.embed() == 1
    result = memory.search("bees on the roof")
    assert "dense" in result.hits[0].ranks
    assert result.degraded == ()


def test_case_p103_another_models_vectors_are_never_compared(opener: Opener) -> None:
    fill(opener(embedder=HashingEmbedder(name="a")))
    other = opener(embedder=HashingEmbedder(name="b"))
    result = other.search("pottery course")
    assert "evimem reindex" in result.degraded[0]
    assert "dense" not in result.hits[0].ranks
    added = other.add("a new turn about kites", timestamp=T0)
    assert "reindex" in added.degraded[0]
    assert other.reindex() == 4
    assert other.search("pottery course").degraded == ()
    assert other.stats().embedder == HashingEmbedder(name="b").model_id


class Counting(HashingEmbedder):
    """Records every text it encodes."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def embed(self, texts) -> FloatArray:  # type: ignore[no-untyped-def]
        self.texts += texts
        return super().embed(texts)


def test_case_p143_each_distinct_text_is_encoded_once(opener: Opener) -> None:
    counting = Counting()
    memory = opener(embedder=counting)
    memory.add(
        [{"role": "user", "content": text} for text in ("same", "same", "other")], timestamp=T0
    )
    assert sorted(counting.texts) == ["other", "same"]
    counting.texts.clear()
    memory.ask("Who said the same?")
    assert len(counting.texts) == len(set(counting.texts))


def test_case_p109_one_bank_never_sees_another(memory: Memory) -> None:
    fill(memory, bank="u1")
    turn = memory.search("pottery", bank="u1").hits[0].turn_id
    trace = memory.ask_traced("Who signed up for pottery?", bank="u1").trace_id
    assert memory.search("pottery", bank="u2").hits == ()
    assert memory.ask("Who signed up for pottery?", bank="u2").status == "not_in_memory"
    assert list(memory.export(bank="u2"))[1:] == []
    assert memory.sessions(bank="u2") == []
    assert memory.context("pottery", bank="u2") == ""
    assert memory.texts([turn], bank="u2") == {}
    for call in (
        lambda: memory.get(turn, bank="u2"),
        lambda: memory.history(turn, bank="u2"),
        lambda: memory.around(turn, bank="u2"),
        lambda: memory.session("s1", bank="u2"),
        lambda: memory.trace(trace, bank="u2"),
        lambda: memory.forget(turn=turn, bank="u2"),
    ):
        with pytest.raises(NotFound):
            call()
    assert memory.stats(bank="u1").turns == 3


def test_source_ids_work_wherever_an_id_does(memory: Memory) -> None:
    memory.add([{"role": "user", "content": "hello", "id": "D1:1"}], session_id="s", timestamp=T0)
    value = memory.get("D1:1")
    assert isinstance(value, Turn) and value.text == "hello"


def test_case_p055_a_context_block_stays_in_its_budget(memory: Memory) -> None:
    for n in range(30):
        memory.add(f"猫が好きです。{n} " * 20, speaker="Ana", timestamp=T0 + timedelta(minutes=n))
    block = memory.context("猫が好き", max_tokens=400)
    assert block
    assert len(block) <= 800
    assert memory.context("猫が好き", max_tokens=5) == ""


def test_case_p092_concurrent_adds_deletes_and_searches_leave_a_valid_store(
    memory: Memory,
) -> None:
    fill(memory)
    victim = memory.search("terrier").hits[0].turn_id
    problems: list[Exception] = []

    def guarded(call):  # type: ignore[no-untyped-def]
        try:
            call()
        except Exception as error:  # noqa: BLE001  # whatever it is, the test shows it
            problems.append(error)

    calls = [
        lambda n=n: memory.add(f"note number {n}", session_id=f"c{n}", timestamp=T0)
        for n in range(25)
    ]
    calls += [lambda: memory.search("note number"), lambda: memory.forget(turn=victim)]
    threads = [threading.Thread(target=guarded, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert memory.stats().turns == 2 + 25
    assert memory.doctor().problems == ()
    assert len(memory.search("note number", top_k=100).hits) >= 25


def test_case_p137_calls_work_inside_a_running_event_loop_and_from_two_loops(
    memory: Memory,
) -> None:
    async def use() -> str:
        memory.add("inside a loop", timestamp=T0)
        return memory.search("inside a loop").hits[0].text

    assert asyncio.run(use()) == asyncio.run(use()) == "inside a loop"


def test_read_only_memory_answers_and_says_that_the_trace_was_not_kept(opener: Opener) -> None:
    fill(opener())
    reader = opener(read_only=True)
    assert reader.search("pottery").hits
    answer = reader.ask("What kind of dog is Biscuit?")
    assert answer.status == "supported"
    assert any(reason.startswith("trace_not_stored") for reason in answer.degraded)


def test_doctor_is_happy_with_a_healthy_bank_and_names_what_is_missing(opener: Opener) -> None:
    broken = Broken()
    memory = opener(embedder=broken)
    fill(memory)
    report = memory.doctor()
    assert not report.healthy
    assert any("embed" in problem.todo for problem in report.problems)
    broken.down = False
    memory.embed()
    assert memory.doctor().problems == ()


def test_a_backup_opens_and_answers(opener: Opener, tmp_path: Path) -> None:
    fill(opener())
    opener().backup(tmp_path / "copy.evimem")
    assert opener(name="copy.evimem").search("pottery").hits


def test_export_holds_every_session_turn_and_attribute(memory: Memory) -> None:
    memory.add(
        [{"role": "user", "content": "hi 東京", "mood": "fine"}], session_id="s", timestamp=T0
    )
    records = list(memory.export())
    assert [record["type"] for record in records] == ["evimem-export", "session", "turn"]
    assert records[2]["text"] == "hi 東京"
    assert records[2]["attrs"] == {"mood": "fine"}
