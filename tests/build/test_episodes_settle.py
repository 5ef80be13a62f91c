"""Drafted episodes as items among those known: ids, merging, members (second stage)."""

from __future__ import annotations

from typing import Any

import pytest
from episode_world import (
    BEGIN,
    MERGE,
    Bank,
    Scored,
    groups,
    made,
    numbered,
    statements,
    talk,
    talker,
    targets,
    violins,
)

from evimem.build.episodes import BUILDER, Settled
from evimem.build.merging import MOST_MEMBERS
from evimem.build.prompts import merge, narrate
from evimem.errors import (
    PromptTooLong,
)
from evimem.model.chat import ChatReply
from evimem.model.item import Link

# -- items ------------------------------------------------------------------------------------


def test_qem_4_nemori_an_episode_has_title_narrative_members_and_the_time_of_its_first() -> None:
    turns = talk("A parrot!", "What parrot?", "Rain.", "Yes.", "The green one.")
    settled = made(Bank(), turns, ana := talker(segment=groups([1, 2, 5], [3, 4])))
    first, second = settled.episodes
    assert (first.kind, first.session_id, first.said_at) == ("episode", "s1", BEGIN)
    assert first.text.splitlines() == [
        "Talk of matter 0",
        "Ana said: A parrot! Bo said: What parrot? Ana said: The green one.",
    ]
    assert first.links == tuple(Link(role="member", target=f"t1.{n}") for n in (0, 1, 4))
    assert targets(second, "member") == ["t1.2", "t1.3"]
    assert first.attrs == {
        "title": "Talk of matter 0", "builder": BUILDER, "model": ana.model.model_id,
        "prompt": narrate.PROMPT.tag,
    }  # fmt: skip
    assert first.built and (settled.status, settled.merged, settled.rejected) == ("done", {}, {})


def test_flags_are_told_on_the_item_and_own_words_name_no_prompt() -> None:
    settled = made(Bank(), numbered(20), talker(segment="no", narrate="no"))
    for item in settled.episodes:
        assert item.attrs["flags"] == ["lite_borders", "fallback"] and item.attrs["prompt"] == ""
    assert (settled.status, settled.rejected["segmentation"]) == ("fallback", 1)
    assert settled.rejected["narrative"] == len(settled.episodes)


def test_qem_4_nemori_building_again_with_the_same_replies_gives_the_same_items() -> None:
    def build() -> tuple[list[Settled], Bank]:
        bank = Bank()
        ana = talker(
            segment=lambda seen: groups([1, 2, 5], [3, 4]),
            merge=MERGE,
            learn=lambda seen: statements(f"Ana said {seen['messages'][0]['text']}"),
            compare=lambda seen: statements(f"Ana also said {seen['messages'][0]['text']}"),
        )
        return [made(bank, numbered(5, session=n), ana) for n in (1, 2, 3)], bank

    (settled, bank), (again, other) = build(), build()
    assert settled == again and bank == other
    ids = [item.item_id for one in settled for item in (*one.episodes, *one.facts)]
    assert len(settled[0].facts) == 2 and any(one.merged for one in settled)
    assert all(one.startswith(("e_", "s_")) for one in ids)


def test_ids_follow_from_the_turns_and_not_from_model_or_wording() -> None:
    one = made(Bank(), numbered(4), talker(narrate={"title": "A", "narrative": "Ana spoke."}))
    two = made(Bank(), numbered(4), talker(narrate={"title": "B", "narrative": "Bo spoke."}))
    three = made(Bank(), numbered(4, session=2), talker())
    assert one.episodes[0].item_id == two.episodes[0].item_id != three.episodes[0].item_id


# -- merging ----------------------------------------------------------------------------------


def test_nemori_an_episode_like_a_stored_one_is_merged_and_keeps_every_member() -> None:
    bank = Bank()
    first = made(bank, violins(session=1), talker(learn=statements("Ana has a brother Paul")))
    ana = talker(merge=MERGE)
    second = made(bank, violins(session=2), ana)
    (old,), (new,) = first.episodes, second.episodes
    assert ana.steps == ["narrate", "merge", "join", "predict", "compare"]
    assert second.merged == {old.item_id: new.item_id}
    assert targets(new, "member") == ["t1.0", "t1.1", "t2.0", "t2.1"]
    assert (new.said_at, new.session_id) == (BEGIN, "")
    assert new.attrs["prompt"] == merge.JOIN.tag
    assert list(bank.episodes) == [new.item_id]
    (fact,) = bank.facts.values()
    assert targets(fact, "source") == [new.item_id], "facts go over to the merged episode"
    (seen,) = ana.sent("merge")
    assert [(one["n"], one["date"]) for one in seen["stored"]] == [(1, "2031-03-12 (Wednesday)")]
    assert seen["new"]["date"] == "2031-03-19 (Wednesday)"
    (both,) = ana.sent("join")
    assert (both["earlier"]["date"], both["later"]["date"]) == (
        "2031-03-12 (Wednesday)", "2031-03-19 (Wednesday)",
    )  # fmt: skip


def test_nemori_three_episodes_become_one_with_the_members_of_all_in_the_order_of_time() -> None:
    bank = Bank()
    for session in (1, 3, 2):  # the second is imported late
        made(bank, violins(session=session), talker(merge=MERGE))
    (item,) = bank.episodes.values()
    assert targets(item, "member") == ["t1.0", "t1.1", "t2.0", "t2.1", "t3.0", "t3.1"]
    assert len(bank.retired) == 2 and item.said_at == BEGIN
    made(bank, violins(session=0), ana := talker(merge=MERGE))
    (both,) = ana.sent("join")
    assert (both["earlier"]["date"], both["later"]["date"]) == (
        "2031-03-05 (Wednesday)", "2031-03-12 (Wednesday)",
    )  # fmt: skip


def test_two_groups_of_a_batch_merge_with_one_stored_episode_one_after_the_other() -> None:
    bank = Bank()
    (old,) = made(bank, violins(session=1), talker()).episodes
    twice = [*violins(session=2), *talk(*(turn.text for turn in violins(session=2)), session=2,
                                        first=2)]  # fmt: skip
    ana = talker(
        segment=groups([1, 2], [3, 4]),
        narrate=lambda seen: {"title": "A", "narrative": " ".join(
            f"{one['speaker']} said: {one['text']}" for one in seen["messages"])},
        merge=MERGE,
        learn=statements("Ana looks for a violin"),
        compare=statements("Bo likes violins"),
    )  # fmt: skip
    settled = made(bank, twice, ana)
    (new,) = settled.episodes
    assert settled.merged == {old.item_id: new.item_id}
    assert targets(new, "member") == ["t1.0", "t1.1", "t2.0", "t2.1", "t2.2", "t2.3"]
    assert len(ana.sent("join")) == 2
    assert len(settled.facts) == 2
    assert {one for fact in settled.facts for one in targets(fact, "source")} == {new.item_id}


def test_an_edited_batch_goes_before_what_followed_it_in_its_session() -> None:
    bank = Bank()
    late = talk(*(turn.text for turn in violins(session=1)), first=20)
    made(bank, late, talker())
    made(bank, violins(session=1), talker(merge=MERGE))
    (item,) = bank.episodes.values()
    assert targets(item, "member") == ["t1.0", "t1.1", "t1.20", "t1.21"]


def test_sessions_without_a_time_are_merged_in_the_order_built() -> None:
    bank = Bank()
    texts = [turn.text for turn in violins(session=1)]
    for session in (2, 1):
        made(bank, talk(*texts, session=session, said_at=None), talker(merge=MERGE))
    (item,) = bank.episodes.values()
    assert targets(item, "member") == ["t2.0", "t2.1", "t1.0", "t1.1"] and item.said_at is None


@pytest.mark.parametrize(
    ("cosine", "asked"), [(1.0, True), (0.8501, True), (0.85, False), (0.2, False)]
)
def test_nemori_only_episodes_above_a_cosine_of_085_are_compared(
    cosine: float, asked: bool
) -> None:
    bank = Scored()
    made(bank, violins(session=1), talker())
    bank.cosines = (cosine,)
    ana = talker()
    made(bank, violins(session=2), ana)
    assert ("merge" in ana.steps) == asked


def test_nemori_at_most_five_are_compared_and_none_that_would_grow_too_large() -> None:
    bank = Scored()
    for session in range(1, 8):
        made(bank, violins(session=session), talker())
    bank.cosines = (0.99,) * 7
    ana = talker()
    made(bank, violins(session=8), ana)
    assert len(ana.sent("merge")[0]["stored"]) == 5
    big = Scored()
    for session in (1, 2, 3):
        made(
            big,
            numbered(15, session=session),
            talker(merge=MERGE, join={"title": "Days", "narrative": "Ana and Bo spoke."}),
        )
        big.cosines = (0.99,)
    (item,) = big.episodes.values()
    assert len(targets(item, "member")) == MOST_MEMBERS
    ana = talker(merge=MERGE)
    settled = made(big, violins(session=4), ana)
    assert "merge" not in ana.steps and settled.rejected["merge_too_large"] == 1


@pytest.mark.parametrize(
    "decision",
    [
        {"decision": "merge", "number": 2}, {"decision": "merge", "number": 0},
        {"decision": "merge", "number": -1}, {"decision": "maybe", "number": 1}, "They differ.",
        {"decision": "merge"}, ChatReply(text='{"decision": "mer', finish="length"),
        PromptTooLong("4096"),
    ],
    ids=str,
)  # fmt: skip
def test_a_choice_that_cannot_be_used_leaves_two_episodes_and_is_told(decision: Any) -> None:
    bank = Bank()
    made(bank, violins(session=1), talker())
    settled = made(bank, violins(session=2), talker(merge=decision))
    assert len(bank.episodes) == 2 and settled.merged == {}
    assert (settled.status, settled.rejected["merge"]) == ("fallback", 1)
    assert ": merge: " in settled.detail


@pytest.mark.parametrize("told", ["no", {"title": "A", "narrative": " "}, PromptTooLong("4096")])
def test_a_joint_telling_that_cannot_be_used_leaves_two_episodes(told: Any) -> None:
    bank = Bank()
    made(bank, violins(session=1), talker())
    settled = made(bank, violins(session=2), talker(merge=MERGE, join=told))
    assert len(bank.episodes) == 2 and settled.merged == {} and len(settled.episodes) == 1
    assert (settled.status, settled.rejected["merge"]) == ("fallback", 1)


def test_a_new_one_is_new_whatever_number_comes_with_it() -> None:
    bank = Bank()
    made(bank, violins(session=1), talker())
    settled = made(bank, violins(session=2), talker(merge={"decision": "new", "number": 1}))
    assert len(bank.episodes) == 2 and (settled.status, settled.rejected) == ("done", {})


def test_the_turns_own_words_are_merged_with_nothing() -> None:
    bank = Scored()
    made(bank, violins(session=1), talker())
    bank.cosines = (0.99,)
    ana = talker(narrate="no")
    made(bank, violins(session=2), ana)
    assert "merge" not in ana.steps


def test_what_an_earlier_build_left_of_the_same_turns_is_not_merged_with() -> None:
    bank = Bank()
    made(bank, violins(session=1), talker())
    ana = talker(merge=MERGE)
    assert made(bank, violins(session=1), ana).merged == {} and "merge" not in ana.steps


def test_members_forgotten_meanwhile_do_not_come_back() -> None:
    bank = Bank()
    made(bank, violins(session=1), talker())
    del bank.stored["t1.0"]
    made(bank, violins(session=2), talker(merge=MERGE))
    (item,) = bank.episodes.values()
    assert targets(item, "member") == ["t1.1", "t2.0", "t2.1"]


def test_a_stored_episode_with_no_turn_left_is_not_merged_with() -> None:
    bank = Bank()
    made(bank, violins(session=1), talker())
    bank.stored.clear()
    ana = talker(merge=MERGE)
    assert made(bank, violins(session=2), ana).merged == {} and "merge" not in ana.steps
