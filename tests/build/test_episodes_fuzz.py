"""Whatever a model replies: no turn is lost or doubled, and everything leads back to turns."""

from __future__ import annotations

import random
from typing import Any

import pytest
from episode_world import Bank, groups, made, numbered, talker, targets
from hypothesis import given, settings
from hypothesis import strategies as st

from evimem.build.episodes import draft

WORDS = ["Ana", "Bo", "sings", "rain", "violin", "Paul", "Porto"]
NUMBERS = st.lists(st.lists(st.integers(-2, 23), max_size=22), max_size=8)


@settings(deadline=None)
@given(count=st.integers(1, 20), numbers=NUMBERS)
def test_qem_4_nemori_any_groups_become_episodes_that_share_out_the_turns(
    count: int, numbers: list[list[int]]
) -> None:
    batch = numbered(count)
    found = draft(batch, model=talker(segment=groups(*numbers)).model)
    held = [turn for told in found.groups for turn in told.turns]
    assert sorted(held, key=lambda turn: turn.index) == batch
    for told in found.groups:
        places = [turn.index for turn in told.turns]
        assert places == sorted(places) and 1 <= len(places) <= 15
    firsts = [told.turns[0].index for told in found.groups]
    assert firsts == sorted(firsts)
    assert found.attempts == len(found.groups) + (count >= 4)


class _Dice:
    """Replies of every sort, drawn by a seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def __call__(self, usable: Any) -> Any:
        drawn = self._random.random()
        if drawn < 0.1:
            return self._random.choice(
                ["no JSON", "{", {}, {"title": ""}, "I'm sorry, I can't help with that."]
            )
        return usable

    def groups(self, seen: dict[str, Any]) -> Any:
        count = len(seen["messages"])
        listed = [[self._random.randint(0, count + 1) for _ in range(5)] for _ in range(4)]
        return self(groups(*listed))

    def told(self, seen: dict[str, Any]) -> Any:
        words = " ".join(
            self._random.choices(["Ana", "Bo", "sings", "rain", "violin", "Paul", "Porto"], k=8)
        )
        return self({"title": words[:20], "narrative": words})

    def choice(self, seen: dict[str, Any]) -> Any:
        return self({"decision": "merge", "number": self._random.randint(0, 6)})

    def statements(self, seen: dict[str, Any]) -> Any:
        listed = [
            {
                "text": f"{self._random.choice(('Ana', 'Bo'))} has {self._random.randint(1, 9)}",
                "messages": [
                    self._random.randint(-1, 9) for _ in range(self._random.randint(0, 3))
                ],
            }
            for _ in range(3)
        ]
        return self({"statements": listed})


@pytest.mark.parametrize("seed", range(25))
def test_qem_4_nemori_after_any_replies_every_turn_is_in_one_episode_and_every_link_leads_somewhere(
    seed: int,
) -> None:
    def build() -> Bank:
        dice, bank = _Dice(seed), Bank()
        ana = talker(
            segment=dice.groups, narrate=dice.told, join=dice.told, merge=dice.choice,
            predict=lambda seen: dice({"prediction": "Ana sings."}),
            learn=dice.statements, compare=dice.statements,
        )  # fmt: skip
        for session in range(1, 7):
            settled = made(bank, numbered(9, session=session), ana)
            assert settled.status != "failed"
            assert bool(settled.detail) == (settled.status != "done")
        return bank

    bank = build()
    held = [one for item in bank.episodes.values() for one in targets(item, "member")]
    assert sorted(held) == sorted(bank.stored)
    assert bank.facts and not set(bank.retired) & set(bank.episodes)
    said = [fact.text.casefold() for fact in bank.facts.values()]
    assert len(said) == len(set(said)), "no statement twice"
    for fact in bank.facts.values():
        sources = targets(fact, "source")
        assert sources and set(sources) <= set(bank.episodes)
        members = {one for e in sources for one in targets(bank.episodes[e], "member")}
        assert targets(fact, "parent") and set(targets(fact, "parent")) <= members
        assert len(fact.links) == len(set(fact.links))
    for item in bank.episodes.values():
        assert item.said_at == bank.stored[targets(item, "member")[0]].said_at
    assert build() == bank, "the same replies give the same bank"
