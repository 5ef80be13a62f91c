"""Running the manager over a stored bank: what is done, kept, renewed, forgotten and left alone."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from record_memory import call, everything, manager, opened, recorded, say, seen, texts

from evimem.compose import Memory
from evimem.embed.hashing import HashingEmbedder
from evimem.engine.record_bank import BUILDER
from evimem.errors import (
    EmbedderError,
    ModelAuthError,
    ModelServerError,
    NotFound,
    RefusedReply,
    SettingsError,
    UsageError,
)
from evimem.llm.scripted import ScriptedModels
from evimem.manager.oplog import replay
from evimem.model.chat import ChatRequest
from evimem.ports import BuildRecord

Opened = Callable[..., Memory]
MARKER = "xylophonic-marker-4417"
LINES = ("I adopted a parrot.", "What is it called?", "Kiwi. It hates rain.", "Lovely.", "I paint.")


@pytest.fixture
def on(tmp_path: Path) -> Iterator[Opened]:
    """Opens memories on one file; all are sound at the end."""
    made: list[Memory] = []

    def open_one(models: Any = None, **more: Any) -> Memory:
        made.append(opened(tmp_path, models, **more))
        return made[-1]

    yield open_one
    for memory in made:
        assert memory.doctor().healthy, memory.doctor().problems
        memory.close()


def builds(memory: Memory) -> dict[str, BuildRecord]:
    with memory._store.read("default") as reader:
        return reader.builds(BUILDER)


def numbers(memory: Memory, *turn_ids: str) -> list[int]:
    """The event of each turn."""
    held = builds(memory)
    return [held[one].items for one in turn_ids]


def events(models: ScriptedModels) -> list[list[str]]:
    """New turns of every event that was begun, in order."""
    return [
        [turn["text"] for turn in seen(one)["new_turns"]]
        for one in models.requests
        if len(one.messages) == 2
    ]


def on_disk(folder: Path, text: str) -> list[str]:
    """Names of files that hold the text, seen from another process."""
    code = (
        "import sys, pathlib\n"
        "for p in sorted(pathlib.Path(sys.argv[1]).iterdir()):\n"
        "    if p.is_file() and sys.argv[2].encode() in p.read_bytes(): print(p.name)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder), text],
        capture_output=True, text=True, encoding="utf-8", check=True,
    )  # fmt: skip
    return done.stdout.split()


# -- what is done -----------------------------------------------------------------------------


def test_uni_12_events_bring_two_turns_in_order_of_time_and_are_kept_with_their_number(
    on: Opened,
) -> None:
    models = manager(everything)
    memory = on(models)
    late = say(memory, "Later.", "Much.", session="s2", day=9)
    ids = say(memory, *LINES)
    report = memory.manage()
    assert events(models) == [list(LINES[:2]), list(LINES[2:4]), [LINES[4]], ["Later.", "Much."]]
    assert (report.events, report.turns, report.pending, report.records) == (4, 7, 0, 7)
    assert (report.ops, report.stopped, report.failures) == ({"create": 7}, "", {})
    assert (report.responses, report.well_formed, report.format_rate) == (12, 12, 1.0)
    assert report.calls == 12 and report.usage[0].tokens_in > 0
    assert numbers(memory, *ids, *late) == [1, 1, 2, 2, 3, 4, 4]
    assert [one.chunks for one in recorded(memory)] == [(1,), (1,), (2,), (2,), (3,), (4,), (4,)]
    assert texts(memory)[0] == f"Ana said: {LINES[0]}"
    assert memory.stats().pending == 0 and memory.stats().items == {"record": 7}
    assert [turn.text for turn in memory.session("s1")] == list(LINES), "turns stay as they are"


def test_a_second_run_does_nothing_and_new_turns_go_on_with_stable_numbers(on: Opened) -> None:
    models = manager(everything)
    memory = on(models)
    ids = say(memory, *LINES)
    memory.manage()
    before, hashed = len(models.requests), memory.content_hash()
    again = memory.manage()
    assert (again.events, again.pending, again.ops, again.calls) == (0, 0, {}, 0)
    assert len(models.requests) == before and memory.content_hash() == hashed
    more = say(memory, *LINES, "Oils.", "Good.", "Bye.")
    assert more[:5] == ids
    report = memory.manage()
    assert report.events == 2, "a pair that was begun with one turn stays so"
    assert events(models)[3:] == [["Oils.", "Good."], ["Bye."]]
    assert numbers(memory, *more) == [1, 1, 2, 2, 3, 4, 4, 5]
    shown = seen(models.requests[-1])["context_turns"]
    assert [turn["text"] for turn in shown] == [*LINES, "Oils.", "Good."]


def test_the_log_of_a_bank_replays_to_the_bank(on: Opened) -> None:
    def telling(event: dict[str, Any], memories: list[dict[str, str]]) -> Any:
        new = event["new_turns"][0]["text"]
        calls: list[Any] = [("create_memory", {"content": new})]
        if len(memories) > 1:
            calls.append(("update_memory", {"memory_id": memories[0]["id"], "content": new * 2}))
        if len(memories) > 2:
            calls.append(("delete_memory", {"memory_id": memories[1]["id"]}))
        return calls

    memory = on(manager(telling))
    say(memory, *(f"I like number {n}." for n in range(20)))
    report = memory.manage()
    assert set(report.ops) == {"create", "update", "delete"}
    found = recorded(memory)
    ops = {
        op.n: op for one in memory.records() for op in memory.record_history(one.record.record_id)
    }
    assert len(found) == report.records == report.ops["create"] - report.ops["delete"]
    with memory._store.read("default") as reader:
        from evimem.engine.record_bank import log_of

        log = log_of(reader)
    assert list(replay(log).records()) == found
    assert {op.n for op in log} >= set(ops) and [op.n for op in log] == list(range(1, len(log) + 1))


def test_limit_sessions_and_budget_bound_a_run_and_the_rest_is_done_later(on: Opened) -> None:
    models = manager(everything)
    memory = on(models)
    say(memory, *LINES)
    say(memory, "Later.", session="s2", day=9)
    first = memory.manage(limit=1)
    assert (first.events, first.pending, first.stopped) == (1, 3, "")
    only = memory.manage(sessions=["s2"])
    assert (only.events, only.pending) == (1, 0)
    stopped = memory.manage(max_calls=4)
    assert (stopped.events, stopped.pending) == (1, 1) and "calls" in stopped.stopped
    assert memory.manage(max_tokens=0).events == 0
    assert memory.manage().events == 1
    assert len(texts(memory)) == 6
    assert numbers(memory, *(turn.turn_id for turn in memory.session("s2"))) == [2]
    with pytest.raises(NotFound):
        memory.manage(sessions=["s9"])
    with pytest.raises(UsageError, match="limit"):
        memory.manage(limit=0)


def test_without_a_model_the_error_names_the_form_that_needs_none(on: Opened) -> None:
    memory = on()
    say(memory, *LINES)
    with pytest.raises(SettingsError, match="manage --lite"):
        memory.manage()
    with pytest.raises(SettingsError, match="manage --lite"):
        memory.add("I row.", infer="records")
    assert len(memory.session("s1")) == len(LINES), "nothing was stored"


def test_lite_keeps_records_without_a_model(on: Opened) -> None:
    memory = on()
    say(memory, "I adopted a parrot in May 2023.", "Nice.", "I work at the library in Leeds.", "ok")
    report = memory.manage(lite=True)
    assert (report.events, report.calls, report.rejected_writes) == (2, 0, 0)
    assert len(texts(memory)) == 2 and all(text.startswith("Ana ") for text in texts(memory))
    assert memory.manage(lite=True).events == 0


def test_refusals_bundles_and_forced_closures_are_counted(on: Opened) -> None:
    def script(request: ChatRequest) -> Any:
        answered = sum(message.role == "assistant" for message in request.messages)
        new = seen(request)["new_turns"][0]["text"]
        if new == "loop":
            return "I am not sure."
        if answered == 0:
            return call("create_memory", content="too early")
        if answered == 1:
            return call("memory_search", query="x") + call("finish_event")
        return call("finish_event")

    memory = on(ScriptedModels(script))
    say(memory, "first", "turn", "loop", "on")
    report = memory.manage()
    assert (report.events, report.forced, report.bundled, report.rejected_writes) == (2, 1, 1, 1)
    assert report.rejected == {"write_gate": 1, "finish_bundled": 1, "no_call": 24}
    assert (report.responses, report.well_formed) == (27, 3)
    assert texts(memory) == []


# -- failures and stops -----------------------------------------------------------------------


def test_a_failed_event_is_tried_again_and_others_go_on(on: Opened) -> None:
    down = True

    def failing(request: ChatRequest) -> Exception | None:
        first = seen(request)["new_turns"][0]["text"]
        return ModelServerError("the server answered 500") if down and first == LINES[2] else None

    memory = on(manager(everything, failing=failing))
    ids = say(memory, *LINES)
    report = memory.manage()
    assert (report.events, report.failed, report.pending) == (2, 1, 1)
    assert report.failures[ids[2]].startswith("failed: provider: ")
    assert memory.manage(retry_failed=False).events == 0
    down = False
    again = memory.manage()
    assert (again.events, again.pending) == (1, 0)
    assert sorted(texts(memory)) == sorted(
        f"{('Ana', 'Bo')[n % 2]} said: {text}" for n, text in enumerate(LINES)
    )
    assert numbers(memory, *ids) == [1, 1, 2, 2, 3]


def test_a_refusal_is_final_and_a_bad_key_ends_the_run(on: Opened) -> None:
    refusing = manager(everything, failing=lambda request: RefusedReply("declined", raw="No."))
    memory = on(refusing)
    say(memory, *LINES[:2])
    report = memory.manage()
    assert (report.events, report.pending, report.failed) == (0, 0, 0)
    assert next(iter(report.failures.values())).startswith("refused: ")
    before = len(refusing.requests)
    assert memory.manage().events == 0 and len(refusing.requests) == before
    say(memory, "more", session="s2")
    memory = on(manager(everything, failing=lambda request: ModelAuthError("no such key")))
    with pytest.raises(ModelAuthError, match="0 of"):
        memory.manage()


def test_a_kill_in_the_middle_of_an_event_leaves_it_not_begun(on: Opened) -> None:
    killed = True

    def failing(request: ChatRequest) -> Exception | None:
        answered = sum(message.role == "assistant" for message in request.messages)
        if killed and answered == 2 and seen(request)["new_turns"][0]["text"] == LINES[2]:
            raise KeyboardInterrupt  # its writes are staged, the finish is still to come
        return None

    memory = on(manager(everything, failing=failing))
    ids = say(memory, *LINES)
    with pytest.raises(KeyboardInterrupt):
        memory.manage()
    assert texts(memory) == [f"Ana said: {LINES[0]}", f"Bo said: {LINES[1]}"]
    assert {one for one, record in builds(memory).items() if record.key} == set(ids[:2])
    assert numbers(memory, *ids) == [1, 1, 2, 2, 3], "numbers are given before"
    killed = False
    memory.manage()
    assert len(texts(memory)) == len(set(texts(memory))) == 5, "nothing twice"


@pytest.mark.parametrize("other", ["s1", "s2"])
def test_two_runs_at_once_do_no_event_twice_and_share_no_number(on: Opened, other: str) -> None:
    second: Memory
    inside = False

    def failing(request: ChatRequest) -> Exception | None:
        nonlocal inside
        answered = sum(message.role == "assistant" for message in request.messages)
        if answered == 2 and not inside:
            inside = True  # another process runs from begin to end meanwhile
            second.manage(sessions=[other])
        return None

    memory, second = on(manager(everything, failing=failing)), on(manager(everything))
    ids = say(memory, *LINES)
    late = say(memory, *LINES[:2], session="s2", day=9)
    report = memory.manage(sessions=["s1"])
    assert report.changed == (3 if other == "s1" else 0)
    memory.manage()
    assert len(texts(memory)) == 7, "each turn once"
    assert sorted(numbers(memory, *ids, *late)) == [1, 1, 2, 2, 3, 4, 4]


def test_a_turn_edited_while_it_is_read_leaves_nothing_and_is_read_anew(on: Opened) -> None:
    memory: Memory
    edited = False

    def failing(request: ChatRequest) -> Exception | None:
        nonlocal edited
        if not edited:
            edited = True
            say(memory, "I adopted a cat.", LINES[1])
        return None

    memory = on(manager(everything, failing=failing))
    say(memory, *LINES[:2])
    report = memory.manage()
    assert (report.events, report.changed, report.pending, report.records) == (0, 1, 1, 0)
    assert memory.manage().events == 1
    assert texts(memory)[0] == "Ana said: I adopted a cat."


class Broken(HashingEmbedder):
    """Fails on demand."""

    down = False

    def embed(self, texts: Any) -> Any:
        if self.down:
            raise EmbedderError("out of memory")
        return super().embed(texts)


def test_with_the_embedder_down_records_are_kept_and_it_is_told(on: Opened) -> None:
    embedder = Broken()
    memory = on(manager(everything), embedder=embedder)
    say(memory, *LINES)
    embedder.down = True
    report = memory.manage()
    assert (report.events, report.records) == (3, 5)
    assert any(why.startswith("embedder_unavailable") for why in report.degraded)
    embedder.down = False
    assert memory.embed() == 5


# -- what outdates an event -------------------------------------------------------------------


def test_an_edited_turn_outdates_its_event_and_what_that_alone_wrote_goes(on: Opened) -> None:
    models = manager(everything)
    memory = on(models)
    ids = say(memory, *LINES[:4])
    memory.manage()
    first = recorded(memory)
    memory.update_record(first[1].record_id, "Bo asked for the parrot's name.")
    say(memory, "I adopted a cat.", *LINES[1:4])
    report = memory.manage()
    assert report.events == 2, "its own, and the one that showed it before its turns"
    assert report.withdrawn == 3, "what a person wrote stays"
    assert f"Ana said: {LINES[0]}" not in texts(memory)
    assert "Ana said: I adopted a cat." in texts(memory)
    assert "Bo asked for the parrot's name." in texts(memory)
    assert numbers(memory, *ids) == [1, 1, 2, 2]
    last = memory.record_history(first[0].record_id)[-1]
    assert (last.kind, last.event) == ("delete", 1)
    assert "done anew" in _reason(memory, first[0].record_id)


def _reason(memory: Memory, record_id: str) -> str:
    with memory._store.read("default") as reader:
        return reader.history(record_id)[-1].reason


def test_another_policy_reads_everything_anew_and_takes_the_place_of_the_first(on: Opened) -> None:
    memory = on(manager(everything))
    say(memory, "I adopted a parrot in May 2023.", "Nice.")
    memory.manage(lite=True)
    (lite,) = texts(memory)
    report = memory.manage()
    assert (report.events, report.withdrawn) == (1, 1)
    assert lite not in texts(memory) and len(texts(memory)) == 2


# -- forgetting -------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["turn", "session", "speaker", "deleted", "undone"])
def test_case_p071_no_byte_of_a_forgotten_turn_stays_in_records_or_their_log(
    on: Opened, tmp_path: Path, how: str
) -> None:
    memory = on(manager(everything))
    ids = say(memory, "I hide the key.", f"I keep it under {MARKER}.", "Good.", "Hush.")
    other = say(memory, "I have a parrot.", "Nice.", session="s2", day=7)
    memory.manage()
    holding = next(one for one in recorded(memory) if MARKER in one.content)
    memory.update_record(holding.record_id, "Bo has a hiding place.", reason=f"not {MARKER}")
    if how in ("deleted", "undone"):
        memory.delete_record(holding.record_id)
    if how == "undone":
        memory.undo_record(holding.record_id)
    assert on_disk(tmp_path, MARKER)
    if how == "session":
        receipt = memory.forget(session="s1")
    elif how == "speaker":
        receipt = memory.forget(speaker="Bo")
    else:
        receipt = memory.forget(turn=ids[1])
    assert receipt.scrubbed and holding.record_id in receipt.items
    assert on_disk(tmp_path, MARKER) == []
    assert all(MARKER not in str(one) for one in memory.records())
    with pytest.raises(NotFound):
        memory.record_history(holding.record_id)
    again = memory.manage()
    assert again.pending == 0
    left = {turn for one in recorded(memory) for turn in one.refs}
    assert other[0] in left and ids[1] not in left


def test_case_p071_other_turns_of_an_event_are_read_anew_and_what_stands_apart_stays(
    on: Opened,
) -> None:
    models = manager(everything)
    memory = on(models)
    ids = say(memory, "My locker code is 4417.", "I row on Mondays.", "I paint.", "I sing.")
    far = say(memory, "I have a parrot.", session="s2", day=7)
    memory.manage()
    apart = recorded(memory)[-1]
    memory.forget(turn=ids[0])
    assert recorded(memory) == [apart], "the second event was shown the turn before its own"
    report = memory.manage()
    assert events(models)[3:] == [["I row on Mondays."], ["I paint.", "I sing."]]
    assert (report.events, report.pending) == (2, 0)
    assert texts(memory) == [
        apart.content, "Bo said: I row on Mondays.", "Ana said: I paint.", "Bo said: I sing.",
    ]  # fmt: skip
    assert numbers(memory, *ids[1:], *far) == [1, 2, 2, 3], "numbers stay"
    assert "4417" not in str(memory.ask("What is the locker code?"))


def test_a_record_that_two_events_wrote_goes_with_either_and_both_are_done_anew(
    on: Opened,
) -> None:
    def moved(event: dict[str, Any], memories: list[dict[str, str]]) -> Any:
        text = event["new_turns"][0]["text"]
        if memories:
            return [("update_memory", {"memory_id": memories[0]["id"], "content": text})]
        return [("create_memory", {"content": text})]

    memory = on(manager(moved))
    first = say(memory, "I live in Leeds.")
    second = say(memory, "I live in York.", session="s2", day=9)
    memory.manage()
    (made,) = recorded(memory)
    assert made.refs == (first[0], second[0])
    memory.forget(turn=second[0])
    assert recorded(memory) == []
    assert memory.manage().events == 1
    (again,) = recorded(memory)
    assert (again.content, again.refs) == ("I live in Leeds.", (first[0],))
    assert again.record_id != made.record_id


def test_case_p071_a_turn_forgotten_while_it_is_read_leaves_nothing(
    on: Opened, tmp_path: Path
) -> None:
    memory: Memory
    gone = False

    def failing(request: ChatRequest) -> Exception | None:
        nonlocal gone
        answered = sum(message.role == "assistant" for message in request.messages)
        if answered == 2 and not gone:
            gone = True
            memory.forget(turn=ids[0])
        return None

    memory = on(manager(everything, failing=failing))
    ids = say(memory, f"It is {MARKER}.", "I row.")
    report = memory.manage()
    assert (report.changed, report.records) == (1, 0)
    assert on_disk(tmp_path, MARKER) == []
    memory.manage()
    assert texts(memory) == ["Bo said: I row."]


# -- add --------------------------------------------------------------------------------------


def test_add_keeps_records_up_to_date_and_tells_how_many(on: Opened) -> None:
    models = manager(everything)
    memory = on(models)
    say(memory, "An old turn.", session="s0", day=-3)
    receipt = memory.add("I adopted a parrot.", speaker="Ana", session_id="s", infer="records")
    assert (receipt.records, receipt.facts, receipt.failed) == (1, 0, {})
    assert texts(memory) == ["Ana said: I adopted a parrot."]
    again = memory.add("I adopted a parrot.", speaker="Ana", session_id="s", infer="records")
    assert again.unchanged and again.records == 1
    assert events(models) == [["I adopted a parrot."]], "no other turn, and none twice"
    with pytest.raises(UsageError, match="infer"):
        memory.add("x", infer="facts")  # type: ignore[arg-type]


def test_add_loses_nothing_when_the_model_fails(on: Opened) -> None:
    memory = on(manager(everything, failing=lambda request: ModelAuthError("no such key")))
    receipt = memory.add("I adopted a parrot.", session_id="s", infer="records")
    assert receipt.stored and "no such key" in receipt.failed[receipt.stored[0]]
    assert memory.search("parrot").hits
    memory = on(manager(everything))
    assert memory.manage().events == 1
