"""Replies kept in a file and played again."""

from __future__ import annotations

import json
import stat
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evimem.errors import (
    BadModelRequest,
    ModelError,
    ModelServerError,
    PromptTooLong,
    ProviderError,
    SettingsError,
)
from evimem.llm.pool import Endpoint, ModelPool
from evimem.llm.saved import SavedReplies
from evimem.llm.scripted import ScriptedModel
from evimem.model.chat import ChatMessage, ChatReply, ChatRequest, ModelCall
from evimem.model.cost import totals

YES: dict[str, Any] = {
    "type": "object",
    "properties": {"yes": {"type": "boolean"}},
    "required": ["yes"],
    "additionalProperties": False,
}


def request(text: str = "hi", **fields: Any) -> ChatRequest:
    return ChatRequest(
        messages=(ChatMessage(role="user", text=text),), role="plan", prompt="p@1#0", **fields
    )


def run(model: ScriptedModel, saved: SavedReplies) -> tuple[list[ChatReply], list[ModelCall]]:
    """Three questions of one benchmark run; the third asks what the first asked."""
    models = ModelPool(
        [Endpoint(name="a", model=model)],
        slots={"default": "a"},
        saved=saved,
        sleep=lambda seconds: None,
    )
    replies, calls = [], []
    for text in ("one", "two", "one"):
        session = models.session()
        replies.append(session.model("plan").chat(request(text, schema=YES)))
        calls += session.calls
    return replies, calls


def test_ben_11_a_second_run_makes_no_call_and_reports_the_same(tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl"
    script = ["no json", '{"yes": true}', ChatReply(text='{"yes": false}', tokens_in=40)]
    first = run(live := ScriptedModel(script), SavedReplies(path))
    for mode in ("replay", "auto"):
        silent = ScriptedModel([])
        second = run(silent, SavedReplies(path, mode=mode))
        assert silent.requests == ()
        assert second[0] == first[0]
        assert totals(second[1]).online == totals(first[1]).online
        assert {call.outcome for call in second[1]} == {"replayed"}
    assert len(live.requests) == 3  # the third question was played from the first


def test_ben_11_the_key_is_the_model_and_everything_that_is_sent(tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl"
    SavedReplies(path).keep("m", request(), ChatReply(text="a", tokens_in=3, notes=("n",)))
    saved = SavedReplies(path, mode="replay")
    assert saved.find("m", request()) == ChatReply(text="a", tokens_in=3, notes=("n",))
    assert saved.find("m", replace(request(), role="seed")) is not None
    changed: list[ChatRequest] = [request("other"), request(seed=1), request(max_tokens=9)]
    for other in changed:
        with pytest.raises(ProviderError, match=r"role 'plan', prompt 'p@1#0'"):
            saved.find("m", other)
    with pytest.raises(ProviderError, match="'m2'"):
        saved.find("m2", request())


def test_replies_to_the_same_request_are_played_in_the_order_recorded(tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl"
    recorder = SavedReplies(path, mode="record")
    for text in "ab":
        assert recorder.find("m", request()) is None
        recorder.keep("m", request(), ChatReply(text=text))
    saved = SavedReplies(path, mode="replay")
    found = [saved.find("m", request()) for _ in range(3)]
    assert [reply.text for reply in found if isinstance(reply, ChatReply)] == ["a", "b", "b"]


def test_ben_11_errors_that_would_come_again_are_played_and_passing_ones_are_not_kept(
    tmp_path: Path,
) -> None:
    path = tmp_path / "replies.jsonl"
    script = [
        PromptTooLong("cut", tokens_in=30, tokens_out=2),
        BadModelRequest("no such model"),
        ModelServerError("503"),
        "fine",
    ]

    def ask(model: ScriptedModel, saved: SavedReplies) -> tuple[list[str], list[ModelCall]]:
        models = ModelPool(
            [Endpoint(name="a", model=model)],
            slots={"default": "a"},
            saved=saved,
            sleep=lambda seconds: None,
        )
        told, session = [], models.session()
        for text in ("one", "two", "three"):
            try:
                told.append(session.model("plan").chat(request(text)).text)
            except ModelError as error:
                told.append(f"{type(error).__name__} {str(error).splitlines()[0]}")
        return told, list(session.calls)

    first, calls = ask(ScriptedModel(script), SavedReplies(path))
    again, replayed = ask(silent := ScriptedModel([]), SavedReplies(path, mode="replay"))
    assert first == again == ["PromptTooLong cut", "BadModelRequest no such model", "fine"]
    assert silent.requests == ()
    assert [c.outcome for c in calls] == ["discarded", "failed", "failed", "ok"]
    assert [c.outcome for c in replayed] == ["replayed", "failed", "replayed"]
    assert totals(calls).online == totals(replayed).online
    assert totals(calls).online.tokens_in == 31  # 30 of the reply that was thrown away


def test_a_broken_last_line_is_passed_over_with_a_note_and_not_joined(tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl"
    saved = SavedReplies(path)
    saved.keep("m", request("one"), ChatReply(text="1"))
    saved.keep("m", request("two"), ChatReply(text="2"))
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    again = SavedReplies(path)
    assert len(again.notes) == 1 and again.notes[0].startswith("line 2 is no saved reply")
    assert again.find("m", request("two")) is None
    again.keep("m", request("two"), ChatReply(text="2"))
    assert SavedReplies(path, mode="replay").find("m", request("two")) == ChatReply(text="2")


@pytest.mark.parametrize("line", [b"[]", b"{}", b"null", b'{"model": 1}', b"\xff\xfe", b"[" * 5000])
def test_a_line_of_any_kind_does_no_harm(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "replies.jsonl"
    path.write_bytes(line + b"\n")
    assert len(SavedReplies(path).notes) == 1


def test_the_file_is_for_its_owner_only_and_made_at_the_first_reply(tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl"
    saved = SavedReplies(path)
    assert not path.exists()
    saved.keep("m", request("größe \ud800"), ChatReply(text="ü"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert SavedReplies(path).find("m", request("größe \ud800")) == ChatReply(text="ü")


def test_replay_without_a_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"no file of saved replies at .*none\.jsonl"):
        SavedReplies(tmp_path / "none.jsonl", mode="replay")
    with pytest.raises(SettingsError, match="cannot be read"):
        SavedReplies(tmp_path)


def test_lines_of_several_writers_do_not_mix(tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl"
    writers = [SavedReplies(path) for _ in range(4)]
    long = "x" * 20_000

    def work(n: int) -> None:
        writers[n % 4].keep("m", request(str(n)), ChatReply(text=f"{n} {long}"))

    with ThreadPoolExecutor(8) as workers:
        list(workers.map(work, range(80)))
    lines = path.read_text(encoding="utf-8").splitlines()
    assert len(lines) == 80
    assert {json.loads(line)["reply"]["text"].split()[0] for line in lines} == set(
        map(str, range(80))
    )


def test_case_p074_forgetting_drops_replies_that_may_quote_a_turn(tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl"
    saved = SavedReplies(path)
    asked = {
        "first": request("a", sources=("t1", "t2")),
        "second": request("b", sources=("t2",)),
        "unnamed": request("c"),
    }
    for name, one in asked.items():
        saved.keep("m", one, ChatReply(text=f"the {name} reply"))
    with path.open("a", encoding="ascii") as file:
        file.write('{"broken')
    assert request("a").digest == asked["first"].digest, "sources are not sent"
    assert saved.forget(["t9"]) == 2, "the one that names none, and what cannot be read"
    assert saved.forget(["t1"]) == 1
    for reader in (saved, SavedReplies(path)):
        found = {name: reader.find("m", one) for name, one in asked.items()}
        assert [name for name, reply in found.items() if reply is not None] == ["second"]
    assert "the first reply" not in path.read_text(encoding="ascii")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [one.name for one in tmp_path.iterdir()] == [path.name]
    saved.keep("m", asked["first"], ChatReply(text="anew"))
    assert saved.forget(["t2"]) == 2 and path.read_bytes() == b""
    assert SavedReplies(tmp_path / "absent").forget(["t1"]) == 0
