"""A paraphrase is kept only if nothing that a gold rests on is lost."""

from __future__ import annotations

import dataclasses

from evimem.datasets.generated import Generated, paraphrase
from evimem.datasets.generated.paraphrase import survives
from evimem.errors import ModelServerError
from evimem.llm.scripted import ScriptedModel
from evimem.model.chat import ChatRequest


def _message(request: ChatRequest) -> str:
    return request.messages[-1].text.partition("Message:\n")[2]


def test_a_paraphrase_with_all_values_is_kept_and_one_without_is_refused(tiny: Generated) -> None:
    seen: list[str] = []

    def reply(request: ChatRequest) -> str:
        seen.append(_message(request))
        return "Nothing of it." if len(seen) == 1 else f"Right, {seen[-1]}"

    made, counts = paraphrase(tiny.dataset, tiny.musts, ScriptedModel(reply))
    assert counts["refused: a value or time phrase is gone"] == 1
    assert counts["kept"] == len(tiny.musts) - 1 == len(seen) - 1
    before = {t.turn_id: t.text for h in tiny.dataset.histories.values() for t in h.turns}
    for history in made.histories.values():
        for turn in history.turns:
            changed = turn.turn_id in tiny.musts and before[turn.turn_id] != seen[0]
            assert turn.text == ("Right, " if changed else "") + before[turn.turn_id]
    assert dict(made.gold) == dict(tiny.dataset.gold)


def test_a_call_that_fails_leaves_the_turn_and_is_counted(tiny: Generated) -> None:
    one = next(iter(tiny.musts))
    model = ScriptedModel([ModelServerError("down")])
    made, counts = paraphrase(tiny.dataset, {one: tiny.musts[one]}, model)
    assert dict(made.histories) == dict(tiny.dataset.histories)
    assert sum(counts.values()) == 1
    assert "refused: call failed (ModelServerError)" in counts


def test_new_numbers_long_replies_and_parts_of_words_are_refused() -> None:
    assert survives("I own 12 pears.", "12 pears are mine.", ("12", "pears")) == ""
    assert "number" in survives("I own 12 pears.", "12 pears since 2001.", ("12", "pears"))
    assert "long" in survives("I own pears.", "pears " * 30, ("pears",))
    assert "gone" in survives("I saw Ann.", "I saw Annette.", ("Ann",))
    assert "empty" in survives("I saw Ann.", " ", ("Ann",))


def test_every_must_stands_in_its_turn_and_covers_the_extracted_answer(tiny: Generated) -> None:
    turns = {t.turn_id: t.text.lower() for h in tiny.dataset.histories.values() for t in h.turns}
    for turn_id, phrases in tiny.musts.items():
        assert phrases
        assert all(phrase.lower() in turns[turn_id] for phrase in phrases)
    assert dataclasses.is_dataclass(tiny)
