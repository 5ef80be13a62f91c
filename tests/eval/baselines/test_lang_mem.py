"""LangMem's store manager makes, changes and drops memories in one call for each batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pytest

from evimem.embed.hashing import HashingEmbedder
from evimem.eval.baselines.lang_mem import MANAGE, LangMem
from evimem.eval.harness.system import Tools
from evimem.llm.scripted import ScriptedModels
from evimem.model.chat import ChatRequest
from evimem.model.evidence import Question
from evimem.model.turn import History, JsonValue
from evimem.ports import FloatArray

ASKED = Question(text="What is Rita's bakery called?")
MakeTools = Callable[..., Tools]
Reply = str | Mapping[str, JsonValue]
_INES = "1"
"""The number of what Ines does, after Marek's second turn was searched for."""


def _changes(
    insert: Sequence[str] = (),
    update: Sequence[tuple[str, str]] = (),
    delete: Sequence[str] = (),
) -> Reply:
    changed: list[JsonValue] = [{"id": one, "text": text} for one, text in update]
    return {"insert": list(insert), "update": changed, "delete": list(delete)}


def _scripted(replies: Sequence[Reply]) -> ScriptedModels:
    """Replies of the manager in order, and nothing to do after their end."""
    left = list(replies)

    def reply(request: ChatRequest) -> Reply:
        if request.role == "answer":
            return "Amber"
        return left.pop(0) if left else _changes()

    return ScriptedModels(reply)


class _Recording(HashingEmbedder):
    """Notes what it encodes."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> FloatArray:
        """As the hashing embedder."""
        self.texts.extend(texts)
        return super().embed(texts)


def test_there_is_one_call_for_each_turn_and_one_for_a_question(
    history: History, tools_of: MakeTools
) -> None:
    models = _scripted([_changes(["Ines runs."]), _changes(["Marek moved to Gdansk."])])
    tools = tools_of(models)

    built = LangMem().build(history, tools)
    asked = built.ask(ASKED, tools)

    assert Counter((one.role, one.phase) for one in models.requests) == {
        ("manage", "update"): 8,
        ("answer", "online"): 1,
    }
    assert asked.answer == "Amber"
    assert built.sizes == {"facts": 2, "added": 2}
    assert [one.turn_ids for one in built.stored()] == [("t0",), ("t1",)]
    assert built.stored()[0].said_at == history.turns[0].said_at


def test_memories_are_changed_and_dropped_by_the_numbers_shown(
    history: History, tools_of: MakeTools
) -> None:
    models = _scripted(
        [
            _changes(["Ines will run the Porto marathon.", "Marek moved to Gdansk."]),
            _changes(update=[("1", "Marek lives in Gdansk.")], delete=["0", "5"]),
        ]
    )

    built = LangMem().build(history, tools_of(models))

    told = models.requests[1].messages[1].text
    # The second turn is nearest to what it tells itself, so that is number 0.
    assert "Memories:\n[0] Marek moved to Gdansk.\n[1] Ines will run" in told
    [kept] = built.stored()
    assert kept.text == "Marek lives in Gdansk."
    assert kept.turn_ids == ("t0", "t1")
    assert built.sizes == {"facts": 1, "added": 2, "updated": 1, "deleted": 1, "refused": 1}


@pytest.mark.parametrize(
    ("system", "sizes"),
    [
        (LangMem(), (1,)),  # 5 // 4 is one search
        (LangMem(batch=3), (1,)),
        (LangMem(batch=3, query_limit=12), (1, 2, 3)),
        (LangMem(query_limit=40), (1,)),  # equal texts once
    ],
)
def test_it_searches_once_for_every_four_of_the_limit_by_ever_longer_windows(
    system: LangMem, sizes: tuple[int, ...], history: History, tools_of: MakeTools
) -> None:
    encoded = _Recording()
    tools = replace(tools_of(_scripted([_changes(["Ines runs."])])), embedder=encoded)
    short = replace(history, turns=history.turns[: 2 * system.batch])

    system.build(short, tools)

    told = [f"{one.speaker}: {one.body}" for one in short.turns[system.batch :]]
    # The first batch has nothing to search in; its memory is encoded, then the second searches.
    assert encoded.texts == ["Ines runs.", *("\n".join(told[-size:]) for size in sizes)]


def test_batches_hold_as_many_turns_as_asked_for(history: History, tools_of: MakeTools) -> None:
    models = _scripted([_changes(["Rita has a bakery."])])

    built = LangMem(batch=3).build(history, tools_of(models))

    assert len(models.requests) == 3
    assert built.stored()[0].turn_ids == ("t0", "t1", "t2")


@pytest.mark.parametrize(
    ("system", "what", "left"),
    [
        (LangMem(inserts=False), "insert", []),
        (LangMem(updates=False), "update", ["Marek moved."]),
        (LangMem(deletes=False), "delete", ["Ines ran.", "Marek moved."]),
    ],
)
def test_what_is_switched_off_is_refused_and_counted(
    system: LangMem, what: str, left: list[str], history: History, tools_of: MakeTools
) -> None:
    models = _scripted(
        [
            _changes(["Ines runs.", "Marek moved."]),
            _changes(update=[(_INES, "Ines ran.")], delete=[_INES]),
        ]
    )

    built = system.build(history, tools_of(models))

    assert [one.text for one in built.stored()] == left
    assert built.sizes["refused"] >= 1
    told = models.requests[0].messages[1].text
    assert told.startswith(f"Switched off, leave empty: `{what}`.")


def test_an_unreadable_reply_leaves_the_turn_word_by_word(
    history: History, tools_of: MakeTools
) -> None:
    models = _scripted(["no json", "still none"])

    built = LangMem().build(history, tools_of(models))

    [kept] = built.stored()
    assert kept.text == f"Ines: {history.turns[0].body}"
    assert kept.turn_ids == ("t0",)
    assert built.sizes == {"facts": 1, "unusable": 1, "verbatim": 1}


def test_ben_13_every_published_parameter_is_in_the_manifest() -> None:
    params = LangMem().params

    assert (params["query_limit"], params["top_k"]) == ("5", "10")
    assert (params["inserts"], params["updates"], params["deletes"]) == ("True",) * 3


def test_every_rule_stands_in_its_prompt() -> None:
    assert all(sentence in MANAGE.system for sentence in MANAGE.rules.values())
