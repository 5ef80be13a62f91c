"""Builds over real HTTP against the scripted server: kills, rate limits, refusals."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evimem.compose import Memory, build_models
from evimem.settings import Settings

WORKER = Path(__file__).with_name("build_worker.py")


def said(body: dict[str, Any]) -> str:
    """The text of the turn that a request shows."""
    shown: str = json.loads(body["messages"][1]["content"])["turn"]["text"]
    return shown


def one_fact(text: str) -> dict[str, Any]:
    return {"facts": [{"text": f"Ana said {text}", "keywords": ["Ana"], "topics": ["talk"]}]}


@pytest.fixture
def memory(tmp_path: Path, chat_server: Any) -> Iterator[Memory]:
    """A memory whose model is the scripted server."""
    environ = {
        "EVIMEM_EMBEDDER": "none", "EVIMEM_LLM_MODEL": "small", "EVIMEM_SYNCHRONOUS": "NORMAL",
        "EVIMEM_LLM_URL": chat_server.openai_url, "EVIMEM_LLM_PARALLEL": "8",
    }  # fmt: skip
    settings = Settings.load(path=tmp_path / "m.evimem", environ=environ)
    with Memory.from_settings(settings, models=build_models(settings)) as opened:
        yield opened


def fill(memory: Memory, turns: int, *, session: str = "s1") -> list[str]:
    lines = [{"name": "Ana", "role": "person", "content": f"{session} line {n}"}
             for n in range(turns)]  # fmt: skip
    return list(memory.add(lines, session_id=session).stored)


class Kill:
    """Kills a worker from within a script of the server, which gives no further reply before the
    worker is gone: on a busy machine it would else be done before the signal came."""

    def __init__(self) -> None:
        self._asked, self._dead = threading.Event(), threading.Event()

    def now(self) -> None:
        """Ask for it, and wait until it is done."""
        self._asked.set()
        assert self._dead.wait(timeout=60)

    def when_asked(self, arguments: list[str]) -> None:
        """Run a worker until then."""
        with subprocess.Popen([sys.executable, str(WORKER), *arguments]) as process:
            try:
                assert self._asked.wait(timeout=60)
            finally:
                process.send_signal(signal.SIGKILL)
                process.wait()
                self._dead.set()
        assert process.returncode == -signal.SIGKILL


def test_mera_7_a_build_killed_at_any_moment_goes_on_and_pays_for_no_turn_twice(
    memory: Memory, chat_server: Any, tmp_path: Path
) -> None:
    turns = fill(memory, 40)
    answered: list[str] = []
    kill = Kill()

    def script(body: dict[str, Any], path: str, headers: dict[str, str]) -> Any:
        answered.append(said(body))
        if len(answered) >= 14:
            kill.now()
        return chat_server.reply(one_fact(said(body)), delay=0.02)

    chat_server.script = script
    kill.when_asked([str(tmp_path / "m.evimem"), chat_server.openai_url])
    kept = memory.estimate_build().state
    assert 0 < kept.done < 40 and kept.facts == kept.done
    paid = len(answered)
    assert paid - kept.done <= 2 * 4, "only what was under way is lost"
    report = memory.build_facts(workers=4)
    assert report.built == len(answered) - paid == 40 - kept.done
    assert (report.state.done, report.state.facts) == (40, 40)
    assert set(answered) == {f"s1 line {n}" for n in range(40)}
    assert [len(memory.facts(turn)) for turn in turns] == [1] * 40


def told(body: dict[str, Any]) -> dict[str, Any]:
    """A plain reply to any prompt of the episode builder, and the text that it is about."""
    seen = json.loads(body["messages"][1]["content"])
    numbers = [one["n"] for one in seen.get("messages", ())]
    words = " ".join(one["text"] for one in seen.get("messages", ()))
    return {
        "episodes": [{"topic": "lines", "messages": numbers}],
        "title": "Lines of Ana", "narrative": words,
        "statements": [{"text": f"Ana said {words[:9]}", "messages": numbers[:1]}],
        "prediction": "Ana said a line.", "decision": "new", "number": 0,
    }  # fmt: skip


def test_qem_4_a_build_of_episodes_killed_at_any_moment_goes_on_from_the_last_batch(
    memory: Memory, chat_server: Any, tmp_path: Path
) -> None:
    for n in range(10):
        fill(memory, 6, session=f"s{n}")
    asked: list[str] = []
    kill = Kill()

    def script(body: dict[str, Any], path: str, headers: dict[str, str]) -> Any:
        asked.append(body["messages"][1]["content"])
        if len(asked) >= 20:
            kill.now()
        wanted = body["response_format"]["json_schema"]["schema"]["properties"]
        reply = {key: value for key, value in told(body).items() if key in wanted}
        return chat_server.reply(reply, delay=0.01)

    chat_server.script = script
    kill.when_asked([str(tmp_path / "m.evimem"), chat_server.openai_url, "episodes"])
    kept = memory.estimate_episodes().state
    assert 0 < kept.done < 10 and kept.episodes == kept.done
    paid = len(asked)
    report = memory.build_episodes(workers=4)
    assert report.built == 10 - kept.done and report.state.complete
    assert (report.state.episodes, report.state.turns) == (10, 60)
    for n in range(10):
        shows = [f'"text": "s{n} line 0"' in one for one in asked]
        assert any(shows)
        assert n >= kept.done or not any(shows[paid:]), "what was kept is not read again"


def test_case_p010_a_refusal_over_http_costs_its_own_turn_only(
    memory: Memory, chat_server: Any
) -> None:
    def script(body: dict[str, Any], path: str, headers: dict[str, str]) -> Any:
        if said(body).endswith(" 7"):
            return "I'm sorry, I can't help with that."
        return one_fact(said(body))

    chat_server.script = script
    turns = fill(memory, 20)
    report = memory.build_facts()
    assert (report.state.done, report.state.refused, report.state.facts) == (19, 1, 19)
    assert report.failures[turns[7]].startswith("refused: ")
    assert memory.build_facts().built == 0
    assert len(chat_server.seen) == 20


def test_case_p023_rate_limits_are_waited_for_and_every_session_is_finished(
    memory: Memory, chat_server: Any
) -> None:
    for n in range(50):
        fill(memory, 1, session=f"s{n}")
    limited: set[str] = set()

    def script(body: dict[str, Any], path: str, headers: dict[str, str]) -> Any:
        text = said(body)
        if int(text.split()[0][1:]) % 3 == 0 and text not in limited:
            limited.add(text)
            return chat_server.reply("slow down", status=429, headers={"Retry-After": "0.2"})
        return one_fact(text)

    chat_server.script = script
    report = memory.build_facts(workers=8)
    assert len(limited) == 17
    assert (report.state.done, report.state.complete) == (50, True)
    assert report.calls == len(chat_server.seen) == 50 + 17
    assert chat_server.peak <= 8
    assert {(one.done, one.failed, one.pending) for one in report.state.sessions} == {(1, 0, 0)}


def test_case_p023_after_a_forced_stop_the_sessions_are_named_and_none_is_paid_twice(
    memory: Memory, chat_server: Any
) -> None:
    for n in range(50):
        fill(memory, 1, session=f"s{n}")
    chat_server.script = lambda body, path, headers: one_fact(said(body))
    report = memory.build_facts(max_calls=20)
    assert report.stopped and (report.state.done, report.state.pending) == (20, 30)
    named = {one.session_id: one.pending for one in report.state.sessions}
    assert len(named) == 50 and sum(named.values()) == 30
    assert memory.estimate_build().state == report.state
    assert memory.build_facts().built == 30
    assert len({said(seen.body) for seen in chat_server.seen}) == len(chat_server.seen) == 50


def test_case_p007_a_cut_reply_over_http_is_known_for_one(memory: Memory, chat_server: Any) -> None:
    text = " ".join(f"Box number {n} came on day {n}." for n in range(40))

    def script(body: dict[str, Any], path: str, headers: dict[str, str]) -> Any:
        facts = [{"text": one.strip(" ."), "keywords": [], "topics": []}
                 for one in said(body).split(". ")]  # fmt: skip
        words = json.dumps({"facts": facts})
        if said(body) == text:
            first = json.dumps({"facts": facts[:7]})[:-2]
            return chat_server.reply(f'{first}, {{"text": "cut', finish="length")
        return words

    chat_server.script = script
    (turn,) = memory.add({"name": "Ana", "content": text}).stored
    assert memory.build_facts().state.done == 1
    found = memory.facts(turn)
    assert sorted(one.text for one in found) == sorted(
        f"Box number {n} came on day {n}" for n in range(40)
    )
    assert ["flags" in one.attrs for one in found] == [True] * 7 + [False] * 33


def managing(body: dict[str, Any]) -> str:
    """A search, then a record per new turn, each in a response of its own, then the finish."""
    turns = json.loads(body["messages"][1]["content"])["new_turns"]
    answered = sum(message["role"] == "assistant" for message in body["messages"])
    steps: list[tuple[str, dict[str, str]]] = [("memory_search", {"query": turns[0]["text"]})]
    steps += [("create_memory", {"content": turn["text"]}) for turn in turns]
    name, arguments = steps[answered] if answered < len(steps) else ("finish_event", {})
    return f"<tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>"


@pytest.mark.parametrize("enough", [9, 10, 11, 12])
def test_uni_12_a_manager_killed_at_any_moment_leaves_no_half_event_and_does_none_twice(
    memory: Memory, chat_server: Any, tmp_path: Path, enough: int
) -> None:
    turns = fill(memory, 12)
    asked: list[int] = []
    kill = Kill()

    def script(body: dict[str, Any], path: str, headers: dict[str, str]) -> Any:
        asked.append(len(body["messages"]))
        if len(asked) >= enough:
            kill.now()
        return chat_server.reply(managing(body), delay=0.05)

    chat_server.script = script
    kill.when_asked([str(tmp_path / "m.evimem"), chat_server.openai_url, "records"])
    held = [one.record for one in memory.records()]
    assert [one.content for one in held] == [f"s1 line {n}" for n in range(len(held))]
    assert len(held) in (2, 4, 6), "whole events only"
    report = memory.manage()
    assert (report.events, report.pending) == (6 - len(held) // 2, 0)
    found = [one.record for one in memory.records()]
    assert [one.content for one in found] == [f"s1 line {n}" for n in range(12)]
    assert [one.chunks for one in found] == [(n // 2 + 1,) for n in range(12)]
    assert [one.refs for one in found] == [
        tuple(turns[n - n % 2 : n - n % 2 + 2]) for n in range(12)
    ]
