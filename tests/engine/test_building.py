"""Building facts over a bank: what is asked, kept, renewed and left alone."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evimem.build.facts import BUILDER
from evimem.compose import Memory
from evimem.embed.hashing import HashingEmbedder
from evimem.engine import BuildReport
from evimem.engine.redaction import SecretsMode
from evimem.errors import (
    BadModelRequest,
    EmbedderError,
    ModelAuthError,
    ModelServerError,
    NotFound,
    SettingsError,
    UsageError,
)
from evimem.llm.scripted import ScriptedModel, ScriptedModels
from evimem.model.chat import ChatRequest
from evimem.model.item import Item
from evimem.model.turn import Turn
from evimem.ports import Models
from evimem.storage.sqlite import SqliteStore

AT = datetime(2024, 3, 5, 10, tzinfo=UTC)
TALK = (
    ("Ana", "I adopted a parrot in May."),
    ("Bo", "What is it called?"),
    ("Ana", "It is called Kiwi, and it hates the rain."),
    ("Bo", "Hi again!"),
    ("Ana", "Kiwi learned to whistle yesterday."),
)


class FixedClock:
    def now(self) -> datetime:
        return AT


class Embedded(HashingEmbedder):
    """Remembers every text embedded."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def embed(self, texts: Any) -> Any:
        self.texts += texts
        return super().embed(texts)


def said(request: ChatRequest) -> dict[str, str]:
    """Speaker and text of the turn that a call shows."""
    shown: dict[str, str] = json.loads(request.messages[1].text)["turn"]
    return shown


def fact(text: str) -> dict[str, Any]:
    return {"text": text, "keywords": [text.split()[0]], "topics": ["talk"]}


def echo(request: ChatRequest) -> Any:
    """One fact per turn that says what was said; none for a greeting."""
    turn = said(request)
    if turn["text"].startswith("Hi"):
        return {"facts": []}
    return {"facts": [fact(f"{turn['speaker']} said: {turn['text']}")]}


Opened = Callable[..., Memory]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    """Opens memories on one file, with scripted models."""
    made: list[Memory] = []

    def open_one(
        models: Models | None = None,
        *,
        embedder: HashingEmbedder | None = None,
        secrets: SecretsMode = "redact",
        name: str = "m.evimem",
    ) -> Memory:
        clock = FixedClock()
        store = SqliteStore.open(tmp_path / name, clock=clock, synchronous="NORMAL")
        memory = Memory(store, clock=clock, embedder=embedder, models=models, secrets=secrets)
        made.append(memory)
        return memory

    yield open_one
    for memory in made:
        assert memory.doctor().healthy
        memory.close()


def talk(memory: Memory, lines: Any = TALK, session: str = "s1") -> list[str]:
    """Stores a conversation; ids of its turns."""
    messages = [
        {"name": name, "role": "person", "content": text, "id": f"{session}-{n}",
         "timestamp": (AT + timedelta(minutes=n)).isoformat()}
        for n, (name, text) in enumerate(lines)
    ]  # fmt: skip
    receipt = memory.add(messages, session_id=session)
    return [*receipt.stored, *receipt.unchanged, *receipt.updated]


def facts_of(memory: Memory) -> list[Item]:
    """All live facts, by turn and place."""
    with memory._store.read("default") as reader:
        values = [value for _, value in reader.entries() if isinstance(value, Item)]
    return sorted(values, key=lambda item: (item.links[0].target, str(item.attrs.get("n"))))


def calls(models: ScriptedModels) -> int:
    return len(models.requests)


# -- what is built ----------------------------------------------------------------------------


def test_mera_2_mera_3_every_turn_is_asked_once_and_facts_carry_its_metadata(
    opened: Opened,
) -> None:
    models = ScriptedModels(echo)
    memory = opened(models)
    ids = talk(memory, (*TALK, ("Bo", "  ")))
    report = memory.build_facts()
    assert calls(models) == 5, "the blank turn needs no call"
    assert (report.built, report.calls, report.stopped) == (5, 5, "")
    state = report.state
    assert (state.turns, state.done, state.with_facts, state.facts) == (5, 5, 4, 4)
    assert state.complete and report.failure_rate == 0
    turns = {turn_id: memory.get(turn_id) for turn_id in ids}
    found = facts_of(memory)
    assert len(found) == 4
    for item in found:
        turn = turns[item.links[0].target]
        assert isinstance(turn, Turn)
        assert item.text == f"{turn.speaker} said: {turn.text}"
        assert (item.session_id, item.speaker, item.said_at, item.source_id) == (
            turn.session_id, turn.speaker, turn.said_at, turn.source_id,
        )  # fmt: skip
        assert item.attrs["model"] == "scripted" and item.attrs["topics"] == ["talk"]
    assert report.usage[0].tokens_in > 0 and report.usage[0].model == "scripted"


def test_the_prompt_shows_the_turns_before_of_the_same_session_only(opened: Opened) -> None:
    models = ScriptedModels(echo)
    memory = opened(models)
    talk(memory, TALK[:1], session="s0")
    talk(memory)
    memory.build_facts(workers=1)
    shown = [json.loads(request.messages[1].text) for request in models.requests]
    before = [[one["text"] for one in each["before"]] for each in shown]
    texts = [text for _, text in TALK]
    assert before == [[], [], texts[:1], texts[:2], texts[1:3], texts[2:4]]


def test_mera_5_fact_keywords_and_topics_are_embedded_together_and_found(opened: Opened) -> None:
    embedder = Embedded()
    memory = opened(ScriptedModels(echo), embedder=embedder)
    talk(memory)
    embedder.texts.clear()
    report = memory.build_facts()
    assert report.degraded == ()
    assert sorted(embedder.texts) == sorted(item.indexed for item in facts_of(memory))
    assert "Ana said: I adopted a parrot in May. Ana talk" in embedder.texts
    assert memory.stats().pending == 0
    assert memory.stats().embedder == embedder.model_id
    hits = memory.search("topic talk", kinds=["fact"], ranker="bm25").hits
    assert len(hits) == 4, "topics are searched by words too"


def test_mera_6_from_any_fact_all_facts_of_its_turn_come_in_order(opened: Opened) -> None:
    many = {"facts": [fact(f"fact number {n}") for n in (3, 1, 2)]}
    memory = opened(ScriptedModels(lambda request: many))
    ids = talk(memory, (("Ana", "A fact."), ("Bo", "Another fact.")))
    memory.build_facts()
    for item in facts_of(memory):
        siblings = memory.facts(item.item_id)
        assert [one.text for one in siblings] == ["fact number 3", "fact number 1", "fact number 2"]
        assert {one.links[0].target for one in siblings} == {item.links[0].target}
    assert memory.facts("s1-0") == memory.facts(ids[0])
    with pytest.raises(NotFound):
        memory.facts("absent")


def test_mera_7_a_second_build_and_any_number_of_questions_make_no_call(opened: Opened) -> None:
    models = ScriptedModels(echo)
    memory = opened(models)
    talk(memory)
    memory.build_facts()
    first = facts_of(memory)
    for question in ("What is the parrot called?", "Who adopted a parrot?"):
        memory.ask(question)
    again = memory.build_facts()
    assert (calls(models), again.built, again.calls) == (5, 0, 0)
    assert again.state.facts == 4 and again.usage == ()
    assert facts_of(memory) == first


def test_mera_8_questions_leave_the_content_hash_as_it_is(opened: Opened) -> None:
    memory = opened(ScriptedModels(echo), embedder=HashingEmbedder())
    talk(memory)
    empty = memory.content_hash()
    memory.build_facts()
    built = memory.content_hash()
    assert built != empty
    for n in range(100):
        memory.ask(f"What is parrot number {n} called?")
        memory.search("parrot", kinds=["fact"])
    assert memory.content_hash() == built


def test_the_order_in_which_calls_end_changes_nothing(opened: Opened) -> None:
    several = threading.Barrier(3)

    def slowly(request: ChatRequest) -> Any:
        if said(request)["text"] != TALK[4][1]:
            several.wait(timeout=5)  # three at a time, in whatever order
        return echo(request)

    lines = TALK[:3] * 2
    one, many = opened(ScriptedModels(echo), name="one"), opened(ScriptedModels(slowly), name="n")
    for memory in (one, many):
        talk(memory, lines)
    one.build_facts(workers=1)
    many.build_facts(workers=3)
    assert facts_of(one) == facts_of(many)


def test_mera_10_an_unusable_reply_leaves_one_flagged_fact_that_a_build_leaves_alone(
    opened: Opened,
) -> None:
    broken = True

    def script(request: ChatRequest) -> Any:
        return "no JSON" if broken and said(request)["text"] == TALK[0][1] else echo(request)

    models = ScriptedModels(script)
    memory = opened(models)
    ids = talk(memory)
    report = memory.build_facts()
    assert (report.state.fallback, report.state.done, report.state.facts) == (1, 4, 4)
    assert report.state.causes == {"invalid_reply": 1}
    assert report.failures[ids[0]].startswith("fallback: invalid_reply: ")
    (flagged,) = memory.facts(ids[0])
    assert (flagged.text, flagged.attrs["flags"]) == (TALK[0][1], ["fallback"])
    before = calls(models)
    assert memory.build_facts().built == 0 and calls(models) == before
    broken = False
    again = memory.build_facts(only_failed=True)
    assert (again.built, again.state.fallback) == (1, 0)
    (mended,) = memory.facts(ids[0])
    assert mended.text == "Ana said: I adopted a parrot in May." and "flags" not in mended.attrs
    assert mended.item_id == flagged.item_id


def test_mera_51_another_model_builds_anew_and_replaces_the_old_facts(opened: Opened) -> None:
    memory = opened(ScriptedModels({"extract": echo}))
    ids = talk(memory)
    memory.build_facts()

    def three(request: ChatRequest) -> Any:
        return {"facts": [fact(f"thing {n}: {said(request)['text']}") for n in range(3)]}

    other = ScriptedModels({"default": three})
    memory = opened(other)
    assert memory.estimate_build().turns == 5
    report = memory.build_facts(sessions=["s1"])
    assert (report.built, report.state.facts) == (5, 15)
    assert [one.text[:7] for one in memory.facts(ids[0])] == ["thing 0", "thing 1", "thing 2"]
    memory = opened(ScriptedModels({"extract": echo}))
    memory.build_facts()
    assert [one.text for one in memory.facts(ids[0])] == ["Ana said: I adopted a parrot in May."]
    assert memory.facts(ids[3]) == [], "an honest empty list takes the old facts away"
    assert memory.search("thing", kinds=["fact"], ranker="bm25").hits == ()
    assert len(facts_of(memory)) == 4


# -- what changes meanwhile -------------------------------------------------------------------


def test_an_edited_turn_and_those_that_showed_it_are_read_anew(opened: Opened) -> None:
    models = ScriptedModels(echo)
    memory = opened(models)
    talk(memory)
    memory.build_facts()
    edited = (*TALK[:2], ("Ana", "It is called Mango."), *TALK[3:])
    talk(memory, edited)
    state = memory.estimate_build().state
    assert (state.pending, state.done) == (3, 2)
    before = calls(models)
    memory.build_facts()
    assert calls(models) - before == 3
    assert [one.text for one in memory.facts("s1-2")] == ["Ana said: It is called Mango."]
    assert memory.search("Kiwi rain", kinds=["fact"], ranker="bm25").hits[0].text.count("rain") == 0


def test_facts_that_may_hold_words_of_an_erased_turn_go_and_their_turns_are_pending(
    opened: Opened,
) -> None:
    models = ScriptedModels(echo)
    memory = opened(models)
    ids = talk(memory)
    memory.build_facts()
    receipt = memory.forget(turn=ids[1])
    assert receipt.turns == (ids[1],)
    assert len(receipt.items) == 2, "its own, and that of the next turn; the one after has none"
    assert memory.facts(ids[2]) == [] and len(memory.facts(ids[4])) == 1
    state = memory.estimate_build().state
    assert (state.turns, state.pending) == (4, 2)
    memory.build_facts()
    assert [one.text for one in memory.facts(ids[2])] == [f"Ana said: {TALK[2][1]}"]


def test_a_turn_that_is_edited_while_it_is_read_keeps_no_fact_of_the_old_words(
    opened: Opened,
) -> None:
    memory: Memory

    def script(request: ChatRequest) -> Any:
        if said(request)["text"] == TALK[0][1]:
            talk(memory, (("Ana", "I adopted a cat."),))
        return echo(request)

    memory = opened(ScriptedModels(script))
    ids = talk(memory, TALK[:1])
    report = memory.build_facts()
    assert (report.built, report.changed, report.state.pending) == (1, 1, 1)
    assert memory.facts(ids[0]) == []
    assert memory.build_facts().state.complete
    assert [one.text for one in memory.facts(ids[0])] == ["Ana said: I adopted a cat."]


def test_secrets_that_a_model_writes_are_not_stored(opened: Opened) -> None:
    key = "ghp_" + "aB3dE5fG7h" * 3 + "jK1mN2"

    def script(request: ChatRequest) -> Any:
        if said(request)["text"] == TALK[0][1]:
            return {"facts": [{**fact(f"Ana's token is {key}"), "keywords": [key]}]}
        return f"I'm sorry, I can't help with {key}."

    memory = opened(ScriptedModels(script))
    ids = talk(memory, TALK[:2])
    report = memory.build_facts()
    assert sum(report.secrets.values()) >= 2
    assert key not in str(memory.facts(ids[0]))
    with memory._store.read("default") as reader:
        records = reader.builds(BUILDER)
    assert records[ids[1]].status == "refused"
    assert "REDACTED" in records[ids[1]].raw and key not in str(records)


def test_a_scan_finds_secrets_in_kept_replies_and_takes_them_out(opened: Opened) -> None:
    key = "ghp_" + "aB3dE5fG7h" * 3 + "jK1mN2"
    refusal = f"I'm sorry, I can't help with {key}."
    memory = opened(ScriptedModels(lambda request: refusal), secrets="keep")
    ids = talk(memory, TALK[:1])
    memory.build_facts()
    found = memory.scan().findings
    assert {(one.place, one.ref) for one in found} == {("build", ids[0])}
    report = memory.scan(fix=True)
    assert report.fixed and report.scrubbed
    assert memory.scan().findings == ()
    with memory._store.read("default") as reader:
        assert reader.builds(BUILDER)[ids[0]].status == "refused"


# -- failures, budgets, stops -----------------------------------------------------------------


def test_failed_turns_are_retried_and_counted_by_cause(opened: Opened) -> None:
    down = True

    def script(request: ChatRequest) -> Any:
        if down and said(request)["speaker"] == "Bo":
            return ModelServerError("the server answered 500")
        return echo(request)

    models = ScriptedModels(script)
    memory = opened(models)
    talk(memory)
    report = memory.build_facts()
    assert (report.state.failed, report.state.done) == (2, 3)
    assert report.state.causes == {"server": 2} and report.failure_rate == 0.4
    assert memory.build_facts(retry_failed=False).built == 0
    down = False
    again = memory.build_facts()
    assert (again.built, again.state.failed, again.state.complete) == (2, 0, True)


def test_case_p019_failures_are_told_by_cause_and_only_they_are_read_again(opened: Opened) -> None:
    forms = (
        "Sure:\n```json\n{}\n```", "{},", "{}".replace('"', "'"), "[{}]", "{} // done",
        "nothing of the sort",
    )  # fmt: skip
    mended = False

    def script(request: ChatRequest) -> Any:
        number = int(said(request)["text"].split()[-1])
        good = json.dumps(echo(request))
        if mended or number % 10:
            return good
        form = forms[number // 10 % len(forms)]
        if form == "[{}]":
            return json.dumps(echo(request)["facts"])
        return form.replace("{}", good)

    models = ScriptedModels(script)
    memory = opened(models)
    talk(memory, [("Ana", f"I saw bird number {n}") for n in range(200)])
    report = memory.build_facts(workers=8)
    state = report.state
    assert (state.turns, state.done, state.fallback) == (200, 197, 3)
    assert state.causes == {"invalid_reply": 3}
    assert report.failure_rate == pytest.approx(0.015)
    mended = True
    before = calls(models)
    again = memory.build_facts(only_failed=True)
    assert (again.built, calls(models) - before) == (3, 3)
    assert again.state.done == 200


def test_case_p010_a_refused_turn_is_kept_as_it_is_and_never_asked_again(opened: Opened) -> None:
    def script(request: ChatRequest) -> Any:
        if said(request)["text"] == "chunk 7":
            return "I'm sorry, I can't help with that."
        return echo(request)

    models = ScriptedModels(script)
    memory = opened(models)
    ids = talk(memory, [("Ana", f"chunk {n}") for n in range(20)])
    report = memory.build_facts()
    assert (report.state.done, report.state.refused, report.state.complete) == (19, 1, True)
    before = calls(models)
    assert memory.build_facts().built == memory.build_facts(only_failed=True).built == 0
    assert calls(models) == before
    with memory._store.read("default") as reader:
        record = reader.builds(BUILDER)[ids[7]]
    assert (record.status, record.raw) == ("refused", "I'm sorry, I can't help with that.")
    assert memory.search("chunk 7", ranker="bm25").hits[0].turn_id == ids[7]


def test_a_budget_ends_a_build_between_turns_and_the_next_one_goes_on(opened: Opened) -> None:
    models = ScriptedModels(echo)
    memory = opened(models)
    talk(memory)
    report = memory.build_facts(max_calls=2, workers=1)
    assert "no call is left" in report.stopped
    assert (report.built, report.state.done, report.state.pending) == (2, 2, 3)
    assert [(one.session_id, one.done, one.pending) for one in report.state.sessions] == [
        (report.state.sessions[0].session_id, 2, 3)
    ]
    assert memory.build_facts(max_tokens=10).built == 0
    assert memory.build_facts().built == 3
    assert calls(models) == 5


def test_the_operators_ceiling_per_question_does_not_bind_a_build(opened: Opened) -> None:
    models = ScriptedModels({"extract": echo}, max_calls=2, max_tokens=100)
    memory = opened(models)
    talk(memory)
    assert memory.build_facts().state.complete


@pytest.mark.parametrize("error", [ModelAuthError("the key is wrong"), BadModelRequest("no model")])
def test_what_every_call_would_meet_stops_the_build_with_the_error(
    opened: Opened, error: Exception
) -> None:
    models = ScriptedModels(lambda request: error)
    memory = opened(models)
    talk(memory)
    with pytest.raises(type(error), match=r"0 of 5 turns were read before"):
        memory.build_facts(workers=1)
    assert calls(models) == 1
    assert memory.estimate_build().state.pending == 5


def test_what_was_read_before_the_key_failed_is_kept(opened: Opened) -> None:
    models = ScriptedModels(
        {"extract": [json.dumps({"facts": [fact("one parrot")]}), ModelAuthError("no")]}
    )
    memory = opened(models)
    talk(memory)
    with pytest.raises(ModelAuthError, match="1 of 5 turns"):
        memory.build_facts(workers=1)
    assert memory.estimate_build().state.done == 1


def test_one_turn_that_the_server_refuses_fails_alone_once_others_went_through(
    opened: Opened,
) -> None:
    def script(request: ChatRequest) -> Any:
        if said(request)["text"] == TALK[2][1]:
            return BadModelRequest("400: no such character")
        return echo(request)

    memory = opened(ScriptedModels(script))
    talk(memory)
    report = memory.build_facts(workers=1)
    assert (report.state.failed, report.state.done) == (1, 4)
    assert report.state.causes == {"bad_request": 1}


def test_an_endpoint_that_is_gone_ends_the_build_after_some_turns(opened: Opened) -> None:
    models = ScriptedModels(lambda request: ModelServerError("connection refused"))
    memory = opened(models)
    talk(memory, [("Ana", f"line {n}") for n in range(40)])
    report = memory.build_facts(workers=1)
    assert "10 turns failed one after the other" in report.stopped
    assert (report.state.failed, report.state.pending) == (10, 30)


def test_ctrl_c_keeps_what_is_under_way(opened: Opened) -> None:
    def progress(stage: str, done: int, total: int | None) -> None:
        if done == 2:
            raise KeyboardInterrupt

    models = ScriptedModels(echo)
    memory = opened(models)
    talk(memory)
    with pytest.raises(KeyboardInterrupt):
        memory.build_facts(workers=1, progress=progress)
    asked = calls(models)
    assert memory.estimate_build().state.done == asked >= 2
    memory.build_facts()
    assert calls(models) == 5


def test_vectors_that_cannot_be_made_are_told_and_the_facts_stay(opened: Opened) -> None:
    class Broken(HashingEmbedder):
        def embed(self, texts: Any) -> np.ndarray[Any, np.dtype[np.float32]]:
            raise EmbedderError("no weights")

    memory = opened(ScriptedModels(echo), embedder=Broken())
    with memory._store.write("default"):
        talk(memory)
    report = memory.build_facts()
    assert report.state.facts == 4
    assert report.degraded == ("embedder_unavailable: no weights",)
    memory._embedder = None


# -- arguments, estimates ---------------------------------------------------------------------


def test_limit_and_sessions_bound_a_build(opened: Opened) -> None:
    models = ScriptedModels(echo)
    memory = opened(models)
    talk(memory, session="s1")
    talk(memory, TALK[:2], session="s2")
    assert memory.build_facts(limit=2).state.pending == 5
    report: BuildReport = memory.build_facts(sessions=["s2"])
    assert (report.built, report.state.turns, report.state.pending) == (2, 2, 0)
    assert calls(models) == 4
    with pytest.raises(NotFound, match="no session 's9'"):
        memory.build_facts(sessions=["s9"])
    for bad in ({"limit": 0}, {"workers": 0}, {"max_calls": -1}, {"max_tokens": -1}):
        with pytest.raises(UsageError, match=next(iter(bad))):
            memory.build_facts(**bad)  # type: ignore[arg-type]


def test_a_memory_without_a_model_says_how_to_set_one(opened: Opened) -> None:
    memory = opened(None)
    for call in (
        memory.build_facts,
        memory.estimate_build,
        lambda: memory.add("I like tea", infer=True),
    ):
        with pytest.raises(SettingsError, match="no model is configured: set EVIMEM_LLM_URL"):
            call()
    assert memory.stats().turns == 0, "nothing was stored"


def test_an_estimate_sends_nothing_and_counts_what_is_left(opened: Opened) -> None:
    models = ScriptedModels(echo)
    memory = opened(models)
    talk(memory)
    before = memory.estimate_build()
    assert (before.turns, before.calls, before.model) == (5, 5, "scripted")
    assert calls(models) == 0
    assert before.tokens_in > 5 * 300 and before.tokens_out > 5 * 30
    memory.build_facts(limit=3)
    after = memory.estimate_build()
    assert (after.turns, after.calls) == (2, 2)
    assert after.tokens_in < before.tokens_in
    assert memory.estimate_build(limit=1).calls == 1


def test_an_empty_bank_has_nothing_to_build(opened: Opened) -> None:
    models = ScriptedModels(echo)
    report = opened(models).build_facts(bank="empty")
    assert (report.built, report.state.turns, report.failure_rate) == (0, 0, 0.0)


def test_progress_names_the_stage_and_counts_up(opened: Opened) -> None:
    seen: list[tuple[str, int, int | None]] = []
    memory = opened(ScriptedModels(echo))
    talk(memory)
    memory.build_facts(workers=1, progress=lambda *one: seen.append(one))
    assert seen == [("extract", n, 5) for n in range(6)]


# -- the rest stays as it was -----------------------------------------------------------------


@pytest.mark.parametrize("with_vectors", [False, True])
def test_building_facts_changes_neither_search_nor_lite(
    opened: Opened, tmp_path: Path, with_vectors: bool
) -> None:
    memory = opened(ScriptedModels(echo), embedder=HashingEmbedder() if with_vectors else None)
    talk(memory)
    outside = [{"id": str(n), "memory": f"Ana owns parrot {n}", "user_id": "Ana"} for n in range(3)]
    source = tmp_path / "mem0.json"
    source.write_text(json.dumps(outside), encoding="utf-8")
    memory.import_file(source, format="mem0")
    talk(memory, [("Ana", f"Parrot story number {n}") for n in range(30)], session="s2")
    questions = ("What is the parrot called?", "When did Kiwi learn to whistle?", "Bo's cat")

    def answers() -> list[Any]:
        found: list[Any] = []
        for question in questions:
            for ranker in ("fusion", "rrf", "bm25"):
                hits = memory.search(question, ranker=ranker).hits
                found.append([(hit.turn_id, hit.score, dict(hit.ranks)) for hit in hits])
            answer = memory.ask(question)
            found.append((answer.text, answer.status, answer.citations))
            found.append(memory.context(question))
            trace = memory.trace()
            found.append([[s.hits for s in r.searches] for r in trace.rounds])
        return found

    before = answers()
    assert memory.build_facts().state.facts == 34
    assert answers() == before
    kinds = {hit.kind for hit in memory.search("parrot", kinds=["fact"]).hits}
    assert kinds == {"fact"}
    both = memory.search("parrot", kinds=["fact", "turn"], top_k=50).hits
    assert {hit.kind for hit in both} == {"fact", "turn"}


def test_facts_from_outside_are_found_as_before(opened: Opened, tmp_path: Path) -> None:
    memory = opened(ScriptedModels(echo))
    source = tmp_path / "mem0.json"
    outside = [{"id": "7", "memory": "Ana owns a kayak", "user_id": "Ana"}]
    source.write_text(json.dumps(outside), encoding="utf-8")
    memory.import_file(source, format="mem0")
    talk(memory)
    memory.build_facts()
    assert [hit.kind for hit in memory.search("kayak").hits[:1]] == ["fact"]
    assert memory.facts(memory.search("kayak").hits[0].turn_id) == []


def test_a_question_for_facts_alone_is_encoded_as_it_is_written(opened: Opened) -> None:
    embedder = Embedded()
    memory = opened(ScriptedModels(echo), embedder=embedder)
    talk(memory)
    memory.build_facts()
    embedder.texts.clear()
    memory.search("Where did Ana go?", kinds=["fact"])
    assert embedder.texts == ["Where did Ana go?"]
    embedder.texts.clear()
    memory.search("Where did Ana go?")
    assert embedder.texts == ["Where did I go?"]


# -- add(infer=True) --------------------------------------------------------------------------


def test_adding_with_infer_extracts_the_facts_of_what_was_added(opened: Opened) -> None:
    models = ScriptedModels(echo)
    memory = opened(models)
    talk(memory)
    receipt = memory.add("Kiwi bit me", speaker="Ana", session_id="s1", infer=True)
    assert (len(receipt.stored), receipt.facts, receipt.failed) == (1, 1, {})
    assert calls(models) == 1, "turns stored before are a build's business"
    again = memory.add("Kiwi bit me", speaker="Ana", session_id="s1", infer=True)
    assert (again.facts, calls(models)) == (1, 1)
    assert memory.estimate_build().state.pending == 5


def test_case_p001_an_empty_reply_is_told_and_the_turn_is_stored_and_found(opened: Opened) -> None:
    replies: list[Any] = [""]
    models = ScriptedModels({"extract": ScriptedModelScript(replies)})
    memory = opened(models)
    receipt = memory.add("Mira is spending the week in Porto.", infer=True)
    (turn_id,) = receipt.stored
    assert receipt.facts == 0
    assert list(receipt.failed) == [turn_id]
    assert receipt.failed[turn_id].startswith("failed: empty_reply: ")
    assert memory.search("Porto").hits[0].turn_id == turn_id
    with memory._store.read("default") as reader:
        record = reader.builds(BUILDER)[turn_id]
    assert (record.status, record.items, record.attempts) == ("failed", 0, 1)
    replies.append(json.dumps({"facts": [fact("Mira is in Porto")]}))
    assert memory.build_facts().state.facts == 1
    with memory._store.read("default") as reader:
        assert reader.builds(BUILDER)[turn_id].attempts == 2


class ScriptedModelScript:
    """Replies in order, the last one again and again; more may be added later."""

    def __init__(self, replies: list[Any]) -> None:
        self._replies = replies
        self._at = 0

    def __call__(self, request: ChatRequest) -> Any:
        reply = self._replies[min(self._at, len(self._replies) - 1)]
        self._at += 1
        return reply


def test_a_model_that_is_not_let_in_loses_no_turn_of_an_add(opened: Opened) -> None:
    memory = opened(ScriptedModels(lambda request: ModelAuthError("the key is wrong")))
    receipt = memory.add(["I like tea", "I like cake"], infer=True)
    assert len(receipt.stored) == 2 and receipt.facts == 0
    assert set(receipt.failed) == set(receipt.stored)
    assert all(why.startswith("failed: the key is wrong") for why in receipt.failed.values())


def test_scripted_models_are_asked_by_role(opened: Opened) -> None:
    models = ScriptedModels({"extract": echo})
    memory = opened(models)
    talk(memory, TALK[:1])
    memory.build_facts()
    (model,) = models.models.values()
    assert isinstance(model, ScriptedModel)
    assert {request.role for request in model.requests} == {"extract"}
