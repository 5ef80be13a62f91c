"""Builds of episodes that fail, stop, die and go on."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from episode_memory import (
    KAYAK,
    PARROT,
    ana,
    items,
    lasting,
    learn,
    members,
    records,
    said,
    say,
    texts,
)
from episode_world import MERGE, PLAIN, talker

from evimem.compose import Memory
from evimem.embed.hashing import HashingEmbedder
from evimem.errors import (
    BadModelRequest,
    EmbedderError,
    ModelAuthError,
    ModelServerError,
)

Opened = Callable[..., Memory]

# -- failures, budgets, stops -----------------------------------------------------------------


def test_a_batch_at_which_the_provider_fails_keeps_what_it_had_and_is_retried(on: Opened) -> None:
    down = True

    def narrated(seen: dict[str, Any]) -> Any:
        if down and "parrot" in said(seen):
            return ModelServerError("the server answered 500")
        return {"title": "A talk", "narrative": said(seen)}

    memory = on(ana(narrate=narrated))
    ids = say(memory, *PARROT)
    say(memory, *KAYAK, session="s2", day=7)
    report = memory.build_episodes()
    assert (report.state.failed, report.state.done, report.state.episodes) == (1, 1, 1)
    assert report.state.causes == {"server": 1} and report.failure_rate == 0.5
    assert report.failures[ids[0]].startswith("failed: server: ")
    assert [one.failed for one in report.state.sessions] == [4, 0]
    assert memory.build_episodes(retry_failed=False).built == 0
    down = False
    again = memory.build_episodes()
    assert (again.built, again.state.complete, again.state.episodes) == (1, True, 2)
    down = True
    say(memory, *PARROT[:3], "Lovely parrot!")
    failed = memory.build_episodes()
    assert (failed.state.failed, failed.state.episodes) == (1, 2), "the old one stays meanwhile"


def test_an_unusable_reply_leaves_words_and_is_asked_again_only_on_demand(on: Opened) -> None:
    broken = True

    def narrated(seen: dict[str, Any]) -> Any:
        return "no JSON" if broken else {"title": "A talk", "narrative": said(seen)}

    model = ana(narrate=narrated)
    memory = on(model)
    ids = say(memory, *PARROT)
    report = memory.build_episodes()
    assert (report.state.fallback, report.state.complete) == (1, True)
    assert report.rejected["narrative"] == 1
    assert records(memory)[ids[0]].raw == "no JSON"
    (flagged,) = items(memory, "episode")
    assert "fallback" in flagged.attrs["flags"]  # type: ignore[operator]
    assert memory.build_episodes().built == 0
    broken = False
    mended = memory.build_episodes(only_failed=True)
    assert (mended.built, mended.state.fallback, mended.state.done) == (1, 0, 1)
    assert "flags" not in items(memory, "episode")[0].attrs


def test_nothing_on_record_quotes_another_batch(on: Opened) -> None:
    def known(seen: dict[str, Any]) -> str:
        return f"I know that {seen['known'][0]}, that is all."

    memory = on(ana(predict=known))
    say(memory, *PARROT)
    second = say(memory, "A parrot is loud.", "Is it?", session="s2", day=7)
    report = memory.build_episodes()
    assert "prediction" in report.failures[second[0]]
    record = records(memory)[second[0]]
    assert (record.status, record.raw) == ("fallback", "")
    assert record.detail == "invalid_reply: when it was compared with what is known"
    assert report.state.causes == {"invalid_reply": 1}


def test_a_ceiling_of_calls_stops_between_batches_and_every_run_gets_further(on: Opened) -> None:
    model = ana()
    memory = on(model)
    for n in range(6):
        say(memory, *PARROT, session=f"s{n}", day=n)
    done = 0
    for _ in range(8):
        report = memory.build_episodes(max_calls=7, workers=4)
        assert report.calls <= 7
        assert report.state.complete or "no call is left" in report.stopped
        assert report.state.done > done or report.state.complete
        done = report.state.done
        if report.state.complete:
            break
    assert report.state.complete
    small = on(talker(), name="small")
    say(small, *PARROT)
    assert "no batch was finished" in small.build_episodes(max_calls=1).stopped


def test_a_ceiling_of_tokens_stops_a_build(on: Opened) -> None:
    memory = on(ana())
    for n in range(4):
        say(memory, *PARROT, session=f"s{n}", day=n)
    report = memory.build_episodes(max_tokens=3000)
    assert report.stopped and 0 < report.state.done < 4
    assert memory.build_episodes().state.complete


def test_a_model_that_is_not_let_in_ends_the_build_with_its_error(on: Opened) -> None:
    memory = on(talker(segment=ModelAuthError("the key is wrong")))
    say(memory, *PARROT)
    with pytest.raises(ModelAuthError, match="0 of 1 batches were read before, and are kept"):
        memory.build_episodes()
    refused = on(talker(learn=BadModelRequest("no such model")))
    with pytest.raises(BadModelRequest, match="no such model"):
        refused.build_episodes()
    assert items(memory, "episode") == []


def test_an_endpoint_that_is_gone_ends_the_build_after_some_batches(on: Opened) -> None:
    memory = on(talker(segment=ModelServerError("connection refused")))
    for n in range(9):
        say(memory, *PARROT, session=f"s{n}", day=n)
    report = memory.build_episodes(workers=2)
    assert "5 batches failed one after the other" in report.stopped
    assert (report.state.failed, report.state.pending) == (5, 4)


@pytest.mark.parametrize("step", ["segment", "narrate", "learn", "merge", "join", "compare"])
def test_a_build_that_dies_at_any_step_goes_on_and_ends_as_if_nothing_was(
    on: Opened, step: str
) -> None:
    class Died(Exception):
        pass

    alive = False

    def after(reply: Any) -> Callable[[dict[str, Any]], Any]:
        def script(seen: dict[str, Any]) -> Any:
            if not alive:
                raise Died
            return reply(seen) if callable(reply) else reply

        return script

    plain: dict[str, Any] = {"merge": MERGE, "learn": lasting, "compare": lasting}
    reference = on(ana(**plain), name="reference")
    replies = {**plain, step: after({**PLAIN, **plain}[step])}
    dying = ana(**replies)
    for memory in (reference, killed := on(dying)):
        for n in range(3):
            say(memory, *PARROT, session=f"s{n}", day=n)
    reference.build_episodes()
    with pytest.raises(Died):
        killed.build_episodes(workers=2)
    alive = True
    assert killed.build_episodes().state.complete
    for kind in ("episode", "semantic"):
        assert items(killed, kind) == items(reference, kind)


def test_ctrl_c_keeps_what_is_committed(on: Opened) -> None:
    def progress(stage: str, done: int, total: int | None) -> None:
        if stage == "episodes" and done == 2:
            raise KeyboardInterrupt

    memory = on(ana())
    for n in range(5):
        say(memory, *PARROT, session=f"s{n}", day=n)
    with pytest.raises(KeyboardInterrupt):
        memory.build_episodes(workers=2, progress=progress)
    assert memory.estimate_episodes().state.done == 2
    assert memory.build_episodes().built == 3


def test_vectors_that_cannot_be_made_are_told_and_episodes_stay(on: Opened) -> None:
    class Broken(HashingEmbedder):
        def embed(self, texts: Any) -> Any:
            raise EmbedderError("no weights")

    memory = on(ana(merge=MERGE), embedder=Broken())
    for n in range(2):
        say(memory, *PARROT, session=f"s{n}", day=n)
    report = memory.build_episodes()
    assert report.degraded == ("embedder_unavailable: no weights",)
    assert (report.state.episodes, report.state.facts) == (2, 1)
    memory._embedder = None


def test_secrets_that_a_model_writes_are_not_stored(on: Opened) -> None:
    key = "ghp_" + "aB3dE5fG7h" * 3 + "jK1mN2"
    told_key = {"title": "A key", "narrative": f"Ana's token is {key}."}
    memory = on(ana(narrate=told_key, learn={"statements": [learn(f"Ana's token is {key}")]}))
    say(memory, *PARROT)
    report = memory.build_episodes()
    assert sum(report.secrets.values()) == 2
    assert key not in str([*items(memory, "episode"), *items(memory, "semantic")])
    kept = on(ana(narrate=f"Not JSON: {key}"), secrets="keep", name="kept")
    ids = say(kept, *PARROT)
    kept.build_episodes()
    assert {(one.place, one.ref) for one in kept.scan().findings} == {("build", ids[0])}
    assert kept.scan(fix=True).scrubbed and kept.scan().findings == ()


def test_two_builds_at_a_time_leave_a_bank_that_the_next_one_completes(on: Opened) -> None:
    def slowly(seen: dict[str, Any]) -> dict[str, Any]:
        time.sleep(0.001)
        return lasting(seen)

    memories = [on(ana(merge=MERGE, learn=slowly, compare=slowly)) for _ in range(2)]
    for n in range(8):
        say(memories[0], *(PARROT if n % 2 else KAYAK), session=f"s{n}", day=n)
    threads = [threading.Thread(target=one.build_episodes) for one in memories]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    memory = memories[0]
    here = sorted(turn.turn_id for n in range(8) for turn in memory.session(f"s{n}"))
    for _ in range(8):  # what one dropped, for the other changed it, is made by and by
        held = [turn for one in members(memory) for turn in one]
        assert len(held) == len(set(held))
        if memory.build_episodes().built == 0:
            break
    assert sorted(turn for one in members(memory) for turn in one) == here
    # Neither knew what the other was about to learn, so a statement may be there twice.
    assert set(texts(memory, "semantic")) == {"Ana has a kayak", "Ana has a parrot"}
