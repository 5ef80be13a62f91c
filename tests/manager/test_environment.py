"""What calls do and which are refused: UNI-1 to 19 at the executor."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import pytest
from manager_world import (
    act,
    call,
    change,
    chunk,
    done,
    drop,
    look,
    question,
    says,
    store,
    told,
    write,
)

from evimem.embed.hashing import HashingEmbedder
from evimem.errors import EmbedderError, UsageError
from evimem.manager.environment import Environment, Limits
from evimem.manager.events import Construction
from evimem.manager.memory_bank import MemoryBank
from evimem.model.chat import ToolCall
from evimem.model.records import Record


def _env(**limits: int) -> Environment:
    return Environment(MemoryBank(), limits=Limits(**limits))


def _at_work(*contents: str) -> tuple[Environment, MemoryBank]:
    """An environment in an open construction event 2 that has searched, with these records."""
    bank = MemoryBank(embedder=HashingEmbedder())
    env = Environment(bank)
    if contents:
        store(env, 1, *contents)
    env.begin(chunk(2))
    act(env, look(" ".join(contents) or "x"))
    return env, bank


def test_uni_2_no_result_tells_a_chunk_a_turn_a_date_or_an_id_of_the_bank() -> None:
    bank = MemoryBank()
    env = Environment(bank)
    texts: list[str] = []
    for index in (701, 702, 703):
        texts.append(env.begin(chunk(index, "We got a cat.")))
        results = act(env, look("cat"))
        results += act(env, write(f"Ana got a cat named K{index}."))
        if index == 703:
            results += act(env, change("m1", "Ana got two cats."), drop("m2"), drop("m2"))
        results += act(env, done())
        texts += [one.text for one in results]
    texts.append(env.begin(question("Which cats?")))
    texts += [one.text for one in (*act(env, look("cats")), *act(env, done()))]
    all_told = "\n".join(texts).replace("K701", "").replace("K702", "").replace("K703", "")
    for hidden in ("701", "702", "703", "t_s1", *(op.record_id for op in bank.ops)):
        assert not re.search(rf"\b{hidden}", all_told), hidden
    results_only = [json.loads(one) for one in texts if one.startswith('{"')]
    assert {key for one in results_only for key in one} <= {
        "memories", "id", "memory", "event", "error",
    }  # fmt: skip
    assert bank.records()[0].chunks == (701, 703), "while the list grew"


def test_uni_4_a_search_gives_ids_and_texts_and_changes_nothing() -> None:
    env, bank = _at_work("Ana has a cat.", "Ben cycles.")
    before = bank.hash
    (found,) = act(env, look("cat of Ana"))
    assert found.ok
    assert told(found)["memories"][0] == {"id": "m1", "memory": "Ana has a cat."}
    assert found.records[0] == bank.records()[0].record_id
    assert bank.hash == before
    empty = Environment(MemoryBank())
    empty.begin(chunk(1))
    (none,) = act(empty, look("anything"))
    assert none.ok
    assert told(none) == {"memories": []}


def test_uni_5_a_create_stores_the_argument_byte_for_byte_and_tells_it() -> None:
    env, bank = _at_work()
    text = '  He said: "{é}" \n <tool_call>  '
    (made,) = act(env, write(text))
    assert told(made) == {"id": "m1", "memory": text, "event": "ADD"}
    assert bank.records()[0].content == text


def test_uni_6_an_update_replaces_text_and_vector_under_the_same_id() -> None:
    env, bank = _at_work("Ana has a cat.")
    record_id = bank.records()[0].record_id
    (changed,) = act(env, change("m1", "Ana keeps pigeons."))
    assert told(changed) == {"id": "m1", "event": "UPDATE"}
    assert changed.records == (record_id,)
    assert [(one.record_id, one.content) for one in bank.records()] == [
        (record_id, "Ana keeps pigeons.")
    ]
    (found,) = act(env, look("pigeons"))
    assert told(found)["memories"] == [{"id": "m1", "memory": "Ana keeps pigeons."}]


def test_uni_7_a_delete_removes_the_record_and_the_log_keeps_it() -> None:
    env, bank = _at_work("Ana has a cat.")
    (gone,) = act(env, drop("m1"))
    assert told(gone) == {"id": "m1", "event": "DELETE"}
    assert bank.records() == []
    assert bank.ops[-1].before == "Ana has a cat."
    for again in (drop("m1"), change("m1", "text")):
        (refused,) = act(env, again)
        assert (refused.ok, refused.reason) == (False, "unknown_alias")


def test_uni_8_finish_closes_an_event_and_a_rejected_one_is_an_error_observation() -> None:
    env = _env()
    env.begin(chunk(1))
    observed, closed = env.step(says(done(summary="nothing to do")))
    assert (closed, observed[0].ok, env.closed) == (True, True, "finished")
    with pytest.raises(UsageError, match="begin"):
        env.step(says(done()))
    # The next observation comes with the next event.
    assert "What did Ana plant?" in env.begin(question())
    observed, closed = env.step(says(done()))
    assert (closed, observed[0].reason) == (False, "finish_early")
    assert set(told(observed[0])) == {"error"}
    act(env, look())
    assert env.step(says(done()))[1], "with the evidence handed over"
    with pytest.raises(UsageError, match="begin"):
        env.step(says(look()))


def test_uni_9_calls_of_a_response_run_in_order_and_errors_stop_nothing() -> None:
    env, bank = _at_work()
    observed = act(
        env,
        write("first"),
        call("no_such_tool"),
        change("m1", "second"),
        look("second"),
        drop("m77"),
        write("third"),
    )
    assert [one.reason for one in observed] == ["", "unknown_tool", "", "", "unknown_alias", ""]
    assert told(observed[3])["memories"] == [{"id": "m1", "memory": "second"}]
    assert [one.content for one in bank.records()] == ["second", "third"]
    assert [one.call for one in observed][1] == call("no_such_tool")


def test_uni_9_a_response_without_a_call_or_with_a_broken_one_is_told_so() -> None:
    env = _env()
    env.begin(chunk(1))
    observed, closed = env.step(says())
    assert [(one.call, one.reason) for one in observed] == [(None, "no_call")]
    observed, _ = env.step(says(look(), problems=("a call could not be read",)))
    assert [one.reason for one in observed] == ["", "unparsed"]
    assert "could not be read" in told(observed[1])["error"]
    assert env.refused == {"no_call": 1, "unparsed": 1}
    assert not closed


def test_uni_10_a_bundled_finish_is_ignored_counted_and_the_others_run() -> None:
    env, bank = _at_work()
    for before, calls in enumerate(
        ([write("a"), done()], [done(), write("b")], [done(), done()]), start=0
    ):
        observed, closed = env.step(says(*calls))
        assert not closed
        assert [one.ok for one in observed] == [one.name != "finish_event" for one in calls]
        assert env.refused["finish_bundled"] == before + 1 + (before == 2)
    assert [one.content for one in bank.records()] == ["a", "b"]
    observed, closed = env.step(says(done(), problems=("a call could not be read: '{'",)))
    assert not closed, "what could not be read may have been a write"
    assert env.step(says(done()))[1]


def test_uni_11_aliases_count_up_and_stay_with_their_records() -> None:
    env, _ = _at_work("Ana has a cat.", "Ben cycles.")
    (found,) = act(env, look("cat"))
    assert {row["id"] for row in told(found)["memories"]} == {"m1", "m2"}
    (made,) = act(env, write("Chloe sings."))
    assert told(made)["id"] == "m3"
    act(env, drop("m2"))
    (again,) = act(env, write("Ben cycles."))
    assert told(again)["id"] == "m4", "an alias is never given again"
    act(env, done())
    env.begin(question("cat Chloe Ben"))
    (later,) = act(env, look("cat Chloe Ben"))
    by_alias = {row["id"]: row["memory"] for row in told(later)["memories"]}
    assert by_alias == {"m1": "Ana has a cat.", "m3": "Chloe sings.", "m4": "Ben cycles."}


def test_uni_11_an_id_that_this_event_did_not_show_is_an_error_observation() -> None:
    env, bank = _at_work("Ana has a cat.")
    before = bank.hash
    for alias in ("m9", "", "r1", bank.records()[0].record_id, "M1", "1", "m1 m2", "m" * 500):
        for one in (change(alias or " ", "text"), drop(alias or " ")):
            (refused,) = act(env, one)
            assert refused.reason in ("unknown_alias", "bad_arguments")
            assert len(refused.text) < 200
    act(env, done())
    # A policy sees one event only: an alias of an earlier one is a guess.
    env.begin(chunk(3))
    act(env, call("memory_search", query="zzz"))
    bank_of_words = Environment(MemoryBank())
    store(bank_of_words, 1, "Ana has a cat.")
    bank_of_words.begin(chunk(2))
    act(bank_of_words, look("zebra"))
    (guess,) = act(bank_of_words, drop("m1"))
    assert guess.reason == "unknown_alias"
    assert bank.hash == before


def test_uni_13_a_write_needs_a_search_seen_in_an_earlier_response() -> None:
    env = _env()
    env.begin(chunk(1))
    # No search at all.
    assert [one.reason for one in act(env, write("a"))] == ["write_gate"]
    # With the first search in the same response, before or after it.
    observed = act(env, write("a"), look(), write("b"), change("m1", "c"), drop("m1"))
    assert [one.reason for one in observed] == [
        "write_gate", "", "write_gate", "write_gate", "write_gate",
    ]  # fmt: skip
    # After it: an empty result is valid.
    assert [one.ok for one in act(env, write("a"))] == [True]
    act(env, done())
    # Of the same event.
    env.begin(chunk(2))
    assert [one.reason for one in act(env, write("b"))] == ["write_gate"]


def test_uni_13_a_search_that_was_refused_opens_no_gate() -> None:
    env = _env()
    env.begin(chunk(1))
    act(env, call("memory_search"))
    act(env, call("memory_search", query=""))
    act(env, call("search", query="x"))
    assert [one.reason for one in act(env, write("a"))] == ["write_gate"]
    assert env.searches == 0


def test_uni_14_a_construction_event_may_be_finished_without_search_or_change() -> None:
    env = _env()
    env.begin(chunk(1))
    assert env.step(says(done()))[1]
    assert (env.closed, env.ops, env.searches) == ("finished", (), 0)
    env.begin(chunk(2))
    act(env, look())
    assert env.step(says(done()))[1]


def test_uni_15_a_question_permits_searching_and_finishing_only() -> None:
    bank = MemoryBank()
    env = Environment(bank)
    store(env, 1, "Ana has a cat.")
    before = bank.hash
    assert "2032" in env.begin(question()), "the reference date is shown"
    act(env, look("cat"))
    observed = act(env, write("x"), change("m1", "x"), drop("m1"), call("answer", text="x"))
    assert [one.reason for one in observed] == [*["not_permitted"] * 3, "unknown_tool"]
    assert all("memory_search, finish_event" in told(one)["error"] for one in observed)
    assert bank.hash == before


def test_uni_16_found_records_accumulate_each_once() -> None:
    bank = MemoryBank()
    env = Environment(bank)
    store(env, 1, "Ana has a cat.", "Ben cycles.", "The cat of Ana is red.")
    cat, ben, red = (one.record_id for one in bank.records())
    env.begin(question())
    assert [one.reason for one in act(env, done())] == ["finish_early"]
    assert [one.reason for one in act(env, call("memory_search"))] == ["bad_arguments"]
    assert [one.reason for one in act(env, done())] == ["finish_early"]
    first = [row["id"] for row in told(act(env, look("cat"))[0])["memories"]]
    assert sorted(first) == ["m1", "m3"]
    act(env, look("cat cycles"), look("red"))
    assert sorted(env.evidence) == sorted([cat, ben, red])
    assert env.evidence[-1] == ben, "in the order first shown"
    assert env.step(says(done()))[1]
    assert len(env.evidence) == 3


def test_uni_17_the_next_question_starts_with_no_evidence() -> None:
    bank = MemoryBank()
    env = Environment(bank)
    store(env, 1, "Ana has a cat.", "Ben cycles.")
    env.begin(question("cat"))
    act(env, look("cat"))
    act(env, done())
    assert len(env.evidence) == 1
    env.begin(question("cycles"))
    assert env.evidence == ()
    assert [one.reason for one in act(env, done())] == ["finish_early"], "nor a search"
    act(env, look("cycles"))
    assert env.evidence == (bank.records()[1].record_id,)


def test_uni_18_the_ninth_search_is_an_error_and_others_still_run() -> None:
    env = _env()
    env.begin(chunk(1))
    reasons = [act(env, look(f"query {n}"))[0].reason for n in range(9)]
    assert reasons == [*[""] * 8, "search_budget"]
    assert env.searches == 8
    assert [one.ok for one in act(env, write("a"), look())] == [True, False]
    act(env, done())
    env.begin(chunk(2))
    assert [one.reason for one in act(env, *[look()] * 9)] == [*[""] * 8, "search_budget"]


def test_uni_18_after_24_responses_the_event_is_closed_and_its_evidence_kept() -> None:
    bank = MemoryBank()
    env = Environment(bank)
    store(env, 1, "Ana has a cat.")
    env.begin(question())
    act(env, look("cat"))
    closed = [env.step(says())[1] for _ in range(23)]
    assert closed == [False] * 22 + [True]
    assert (env.closed, len(env.evidence)) == ("forced", 1)
    with pytest.raises(UsageError):
        env.step(says(done()))
    env.begin(chunk(2))
    act(env, look())
    for n in range(22):
        assert not env.step(says(write(f"fact {n}")))[1]
    assert env.step(says(write("the last response still runs")))[1]
    assert len(bank.records()) == 24
    assert len(env.ops) == 23


def test_uni_18_a_finish_in_the_last_response_counts_as_finished() -> None:
    env = _env(responses=2)
    env.begin(chunk(1))
    act(env, look())
    assert env.step(says(done()))[1]
    assert env.closed == "finished"
    env.begin(question())
    env.step(says())
    assert env.step(says(done()))[1]
    assert env.closed == "forced", "it was refused"


class _Asked(MemoryBank):
    """Notes the limits it is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.limits: list[int] = []

    def search(self, query: str, limit: int) -> Sequence[Record]:
        self.limits.append(limit)
        return super().search(query, limit)


def test_uni_19_search_limits_are_raised_to_the_event_s_and_capped() -> None:
    bank = _Asked()
    env = Environment(bank)
    calls = [
        look(),
        look(limit=3),
        look(limit=15),
        look(limit=500),
        look(limit=-1),
        look(limit="25"),
    ]
    env.begin(chunk(1))
    act(env, *calls)
    assert bank.limits == [10, 10, 15, 200, 10, 25]
    bank.limits.clear()
    env.begin(question())
    act(env, *calls)
    assert bank.limits == [20, 20, 20, 200, 20, 25]


def test_uni_19_as_many_records_as_the_limit_says_come_back() -> None:
    bank = MemoryBank(embedder=HashingEmbedder())
    env = Environment(bank)
    for index in range(1, 16):
        store(env, index, *(f"garden fact {index} {n}" for n in range(15)))
    env.begin(chunk(90))
    counts = [
        len(told(one)["memories"]) for one in act(env, look(), look(limit=3), look(limit=999))
    ]
    assert counts == [10, 10, 200]


def test_limits_below_one_are_refused() -> None:
    with pytest.raises(UsageError, match="'responses' is 0"):
        Limits(responses=0)


def test_a_step_before_any_event_is_refused() -> None:
    with pytest.raises(UsageError, match="begin"):
        _env().step(says(done()))


def test_an_event_left_open_leaves_nothing_to_the_next() -> None:
    env = _env()
    env.begin(chunk(1))
    act(env, look())
    act(env, write("kept"))
    env.begin(chunk(2))
    assert (env.closed, env.ops, env.searches) == (None, (), 0)
    assert [one.reason for one in act(env, write("x"))] == ["write_gate"]


def test_a_failing_embedder_is_no_observation() -> None:
    class Broken(HashingEmbedder):
        def embed(self, texts: Sequence[str]) -> object:  # type: ignore[override]
            raise EmbedderError("down")

    env = Environment(MemoryBank(embedder=Broken()))
    env.begin(chunk(1))
    with pytest.raises(EmbedderError, match="down"):
        env.step(says(look()))


@pytest.mark.parametrize("name", ["", "memory_search ", "x" * 300, "Finish_Event", "noop"])
def test_a_tool_that_does_not_exist_is_told_the_ones_that_do(name: str) -> None:
    env = _env()
    env.begin(chunk(1))
    (refused,) = act(env, ToolCall(name=name, arguments={}))
    assert refused.reason == "unknown_tool"
    assert "memory_search, create_memory" in told(refused)["error"]
    assert len(refused.text) < 200


def test_bad_arguments_are_told_and_change_nothing() -> None:
    env, bank = _at_work("Ana has a cat.")
    before = bank.hash
    for one in (
        ToolCall(name="create_memory", arguments="{broken"),
        ToolCall(name="create_memory", arguments={"text": "x"}),
        ToolCall(name="update_memory", arguments={"memory_id": "m1"}),
        ToolCall(name="delete_memory", arguments=None),
    ):
        (refused,) = act(env, one)
        assert refused.reason == "bad_arguments"
        assert f"Call {one.name} again" in told(refused)["error"]
    assert bank.hash == before


def test_the_record_shown_after_a_create_is_the_one_that_was_stored() -> None:
    class Redacting(MemoryBank):
        def create(self, content: str, event: Construction) -> Record:
            return super().create(content.replace("hunter2", "[secret]"), event)

    env = Environment(Redacting())
    env.begin(chunk(1))
    act(env, look())
    (made,) = act(env, write("The password is hunter2."))
    assert told(made)["memory"] == "The password is [secret]."
