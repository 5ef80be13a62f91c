"""A session in batches, and when a batch must be done again."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from types import ModuleType

import pytest
from episode_world import BEGIN, numbered, talk

from evimem.build.episodes import BATCH_TURNS, batches_of, key_of_batch
from evimem.build.prompts import compare, merge, narrate, predict, segment


@pytest.mark.parametrize(
    ("turns", "sizes"),
    [
        (0, []), (1, [1]), (19, [19]), (20, [20]), (21, [11, 10]), (27, [14, 13]), (28, [20, 8]),
        (40, [20, 20]), (41, [20, 11, 10]), (48, [20, 20, 8]), (60, [20, 20, 20]),
    ],
)  # fmt: skip
def test_qem_4_nemori_a_session_is_cut_into_batches_and_no_rest_is_tiny(
    turns: int, sizes: list[int]
) -> None:
    session = numbered(turns)
    batches = batches_of(session)
    assert [len(batch) for batch in batches] == sizes
    assert [turn for batch in batches for turn in batch] == session
    assert max(sizes, default=0) <= BATCH_TURNS == 20


def test_a_session_that_grows_leaves_all_batches_but_the_last_two_as_they_are() -> None:
    keys: list[str] = []
    for count in range(1, 90):
        new = [key_of_batch(batch, model_id="m") for batch in batches_of(numbered(count))]
        assert new[: len(keys) - 2] == keys[:-2] if len(keys) > 2 else True
        keys = new


def test_blank_turns_are_in_no_batch() -> None:
    turns = talk("One.", " ", "Two.", "", "\n")
    turns[3] = talk("", caption="a red door", first=3)[0]
    assert [turn.body for batch in batches_of(turns) for turn in batch] == [
        "One.", "Two.", "[picture: a red door]",
    ]  # fmt: skip
    assert batches_of(talk(" ", "")) == []


def test_mera_51_nemori_the_key_tells_model_words_speaker_and_day_apart() -> None:
    plain = numbered(5)
    later = [*plain[:-1], talk("Message 5 of the day.", first=4, said_at=BEGIN + timedelta(1))[0]]
    long = [*plain[:-1], talk("word " * 1000 + "end", first=4)[0]]
    longer = [*plain[:-1], talk("word " * 1001 + "end", first=4)[0]]
    keys = {
        key_of_batch(batch, model_id=model)
        for batch, model in (
            (plain, "m1"), (plain, "m2"), (plain[:-1], "m1"), (later, "m1"), (long, "m1"),
            (longer, "m1"), ([*plain[:-1], talk("Message 5 of the day.", first=4, speaker="Cy")[0]],
            "m1"), (numbered(5, session=2), "m1"),
        )
    }  # fmt: skip
    assert len(keys) == 8
    assert key_of_batch(numbered(5), model_id="m1") == key_of_batch(plain, model_id="m1")


@pytest.mark.parametrize(
    ("module", "name"),
    [
        (segment, "PROMPT"), (narrate, "PROMPT"), (merge, "DECIDE"), (merge, "JOIN"),
        (predict, "PROMPT"), (compare, "COMPARE"), (compare, "COLD"),
    ],
    ids=lambda one: getattr(one, "__name__", one),
)  # fmt: skip
def test_mera_51_nemori_another_wording_of_any_prompt_is_another_key(
    module: ModuleType, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = key_of_batch(numbered(5), model_id="m")
    prompt = getattr(module, name)
    monkeypatch.setattr(module, name, replace(prompt, system=f"{prompt.system}\n- Be kind."))
    assert key_of_batch(numbered(5), model_id="m") != before
