"""A tiny adapter under the tests' own Python, a conversation, and the real environments."""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from evimem.eval.peers import known, live, worker
from evimem.eval.peers.known import PEERS, PeerKind
from evimem.model.turn import History, Session, Turn

TOY = '''
"""A package of nothing: keeps texts, asks the model once per slice, ranks by shared letters."""
import json, os, sys, time, urllib.request

class Peer:
    def __init__(self, config, vectors):
        self.version = "0.toy"
        self.config, self.vectors, self.kept = config, vectors, []
        print("a line that is no reply")

    def chat(self, *messages):
        body = {"model": "chat", "messages": [
            {"role": role, "content": text} for role, text in messages]}
        request = urllib.request.Request(
            self.config["url"] + "/chat/completions", data=json.dumps(body).encode(),
            headers={"Authorization": "Bearer " + self.config["key"]})
        with urllib.request.urlopen(request) as reply:
            return json.load(reply)["choices"][0]["message"]["content"]

    def add(self, turns):
        for turn in turns:
            if turn["text"].endswith("crash"):
                os._exit(3)
            if turn["text"].endswith("sleep"):
                time.sleep(60)
            if turn["text"].endswith("raise"):
                raise RuntimeError("the package is unhappy")
        if self.config.get("infer"):
            try:
                words = self.chat(("system", "note"), ("user", turns[0]["text"]))
                self.chat(("user", "decide"))
            except Exception:  # as packages do
                words = ""
            self.kept.append({**turns[0], "turn_ids": [t["turn_id"] for t in turns],
                              "text": words})
        else:
            self.vectors.embed([turn["text"] for turn in turns])
            self.kept += [{**turn, "turn_ids": [turn["turn_id"]]} for turn in turns]
        return {"slices": len(self.kept)}

    def search(self, text, k):
        def near(one):
            return -sum(a * b for a, b in zip(self.vectors.one(one["text"]), asked))
        asked = self.vectors.one(text)
        return sorted(self.kept, key=near)[:k]

    def stored(self):
        return self.kept

    def find(self, text):
        self.chat(("user", "plan " + text))
        return self.kept[:2]

    def answer(self, text):
        return self.chat(("user", "answer " + text))
'''

SAID = (
    ("Ines", "My sister Rita runs a bakery near the port."),
    ("Marek", "I met Rita yesterday, her bakery is called Amber."),
    ("Ines", ""),
    ("Marek", "My dog Bruno keeps me company."),
)


@pytest.fixture
def history() -> History:
    """Four turns of one session, the third one blank."""
    day = datetime(2024, 9, 1, 10, tzinfo=UTC)
    turns = tuple(
        Turn(
            turn_id=f"t{n}",
            session_id="s1",
            index=n,
            speaker=speaker,
            role="person",
            text=words,
            said_at=day,
            source_id=f"1:{n}",
        )
        for n, (speaker, words) in enumerate(SAID)
    )
    session = Session(session_id="s1", source_id="1", started_at=day)
    return History(history_id="h", sessions=(session,), turns=turns)


@pytest.fixture
def toy_file(tmp_path: Path) -> Path:
    """The toy adapter as a file."""
    path = tmp_path / "toy_peer.py"
    path.write_text(TOY, encoding="utf-8")
    return path


@pytest.fixture
def toy(toy_file: Path, monkeypatch: pytest.MonkeyPatch) -> PeerKind:
    """The toy as a kind that stores word for word."""
    monkeypatch.setattr(live, "adapter_path", lambda name: toy_file)
    kind = PEERS["langgraph-store"]
    return dataclasses.replace(kind, name="toy", adapter="toy", config={})


@pytest.fixture
def toy_command(toy_file: Path) -> tuple[str, ...]:
    """How the toy is started."""
    return worker.peer_command(Path(sys.executable), toy_file)


@pytest.fixture
def python_of() -> Callable[[PeerKind], Path]:
    """The Python of a real environment under the folder EVIMEM_PEERS named before the tests; the
    test skips without it."""

    def find(kind: PeerKind) -> Path:
        if not FOLDER:
            pytest.skip("EVIMEM_PEERS names no folder of peers' environments")
        path = known.python_of(kind, Path(FOLDER))
        if not path.is_file():
            pytest.skip(f"no environment {kind.environment!r}: see dev/make_peer_env.py")
        return path

    return find


FOLDER = os.environ.get("EVIMEM_PEERS", "")  # read here: a guard empties the variables per test
