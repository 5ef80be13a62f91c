"""MemoryOS files pages under topics, analyses hot segments, and answers in a role."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from evimem.errors import BudgetExceeded, ModelAuthError, PromptTooLong
from evimem.eval.baselines import memory_os_prompts
from evimem.eval.baselines.memory_os import MEMORY_OS, MEMORY_OS_LOCOMO, MemoryOS
from evimem.eval.baselines.memory_os_store import (
    Page,
    Settings,
)
from evimem.eval.harness.system import Tools
from evimem.llm.scripted import ScriptedModels, ScriptedReply
from evimem.model.chat import ChatRequest
from evimem.model.evidence import Question
from evimem.model.prompt import Prompt
from evimem.model.turn import History, JsonValue

ASKED = Question(text="What is Rita's bakery called?")
PROFILE = "Ines loves running (high): she signed up for a marathon in September 2024."
PAGES = [("t0", "t1"), ("t2",), ("t3",), ("t4", "t5"), ("t6", "t7")]


def kind(request: ChatRequest) -> str:
    """The prompt's own name, such as "topics"."""
    return request.prompt.split("@")[0].removeprefix("memory-os.")


def asked_of(models: ScriptedModels) -> Counter[str]:
    return Counter(kind(request) for request in models.requests)


def scripted(**replies: ScriptedReply | Callable[[ChatRequest], ScriptedReply]) -> ScriptedModels:
    """Models that answer by the kind of prompt: one topic for all pages unless said otherwise."""
    usual: dict[str, ScriptedReply | Callable[[ChatRequest], ScriptedReply]] = {
        "continues": {"continues": False},
        "overview": lambda request: request.messages[1].text.splitlines()[-1],
        "topics": {"topics": [{"theme": "life", "keywords": ["life"], "summary": "their lives"}]},
        "keywords": {"keywords": ["life"]},
        "profile": PROFILE,
        "knowledge": {"first": ["Ines has a sister, Rita"], "second": ["Marek has a dog, Bruno"]},
        "answer": "Amber",
        "answer-brief": "Amber",
    }
    usual |= {name.replace("_", "-"): reply for name, reply in replies.items()}

    def reply(request: ChatRequest) -> ScriptedReply:
        chosen = usual[kind(request)]
        return chosen(request) if callable(chosen) else chosen

    return ScriptedModels(reply)


def with_settings(system: MemoryOS, **changes: object) -> MemoryOS:
    return dataclasses.replace(
        system,
        settings=dataclasses.replace(system.settings, **changes),  # type: ignore[arg-type]
    )


def ids(pages: list[Page]) -> list[tuple[str, ...]]:
    return [tuple(turn.turn_id for turn in page.turns) for page in pages]


def test_ben_14_the_locomo_form_makes_the_published_calls_per_page(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    models = scripted()
    memory = MEMORY_OS_LOCOMO.build(history, tools_of(models))

    # One segment for all: keywords of its summary and of the page that opened it. Five pages gain
    # 0.8 each, which is below 5.0: no analysis.
    assert asked_of(models) == {"overview": 5, "continues": 4, "topics": 5, "keywords": 2}
    assert {(one.role, one.phase) for one in models.requests} == {("extract", "summary")}
    temperatures = {kind(one): one.temperature for one in models.requests}
    assert temperatures == {"overview": 0.3, "continues": 0.0, "topics": 0.7, "keywords": 0.7}
    assert memory.sizes == {
        "pages": 5,
        "recent_pages": 0,
        "segments": 1,
        "forgotten_pages": 0,
        "profiles": 0,
        "facts": 0,
        "partner_facts": 0,
        "unusable": 0,
    }


def test_the_regular_form_keeps_its_newest_pages_and_asks_for_no_keywords(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    untouched = ScriptedModels({"default": []})
    memory = MEMORY_OS.build(history, tools_of(untouched))
    assert memory.sizes["recent_pages"] == 5 and not untouched.requests

    models = scripted()
    memory = with_settings(MEMORY_OS, short_term=2).build(history, tools_of(models))
    assert asked_of(models) == {"overview": 3, "continues": 2, "topics": 3}
    assert ids(list(memory.recent)) == PAGES[3:]


def test_pages_that_belong_together_share_the_newest_overview(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    def continues(request: ChatRequest) -> ScriptedReply:
        return {"continues": "bakery near the port" in request.messages[1].text}

    models = scripted(continues=continues)
    memory = MEMORY_OS_LOCOMO.build(history, tools_of(models))

    pages = list(memory.built.middle.pages.values())
    # t2 is on both sides of a judgement: the first three pages are one chain.
    assert [page.previous for page in pages] == ["", "p0", "p1", "", ""]
    assert len({page.overview for page in pages[:3]}) == 1
    assert "called Amber" in pages[0].overview
    assert "Bruno" in pages[3].overview


def test_pages_join_the_segment_they_fit_and_open_one_where_none_fits(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    def topics(request: ChatRequest) -> ScriptedReply:
        if "Rita" in request.messages[1].text:
            return {"topics": [{"theme": "b", "keywords": ["bakery"], "summary": "Rita's bakery"}]}
        return {
            "topics": [{"theme": "o", "keywords": ["sport"], "summary": "running, dogs, moves"}]
        }

    memory = MEMORY_OS_LOCOMO.build(
        history, tools_of(scripted(topics=topics, keywords={"keywords": []}))
    )
    segments = list(memory.built.middle.segments.values())
    assert [ids(one.pages) for one in segments] == [[PAGES[0], *PAGES[3:]], PAGES[1:3]]
    assert [one.gained for one in segments] == [3, 2], "a page heats only what it joins"


def test_a_page_under_two_topics_is_shown_once(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    topics = {
        "topics": [
            {"theme": "a", "keywords": [], "summary": "bakery of Rita"},
            {"theme": "b", "keywords": [], "summary": "running a marathon"},
            {"theme": "c", "keywords": [], "summary": "a third topic is one too many"},
        ]
    }
    tools = tools_of(scripted(topics=topics, keywords={"keywords": []}))
    memory = with_settings(MEMORY_OS_LOCOMO, segment_threshold=-1.0, page_threshold=-1.0).build(
        history, tools
    )
    assert memory.sizes["segments"] == 2
    assert all(len(one.pages) == 5 for one in memory.built.middle.segments.values())

    shown = memory.ask(ASKED, tools).shown
    assert sorted(one.turn_ids for one in shown) == sorted(PAGES)


def test_unusable_replies_lose_no_page_and_are_counted(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    tools = tools_of(
        scripted(topics="no JSON here", continues="?", overview="", keywords="also nothing")
    )
    memory = MEMORY_OS_LOCOMO.build(history, tools)

    assert memory.sizes["pages"] == 5
    summaries = [one.summary for one in memory.built.middle.segments.values()]
    assert any("Rita" in one for one in summaries), "filed under the page's own words"
    assert memory.sizes["unusable"] == 5 + 4 + 5 + 2 * len(summaries)
    found = memory.ask(ASKED, tools)
    assert ("t3",) in [one.turn_ids for one in found.shown]
    assert found.problem.startswith("no keywords")


def test_a_hot_segment_is_analysed_once_in_the_update_and_summary_phases(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    models = scripted()
    system = with_settings(MEMORY_OS_LOCOMO, heat_threshold=3 * 0.8)
    memory = system.build(history, tools_of(models))

    analyses = [one for one in models.requests if kind(one) in {"profile", "knowledge"}]
    assert [(kind(one), one.role, one.phase) for one in analyses] == [
        ("profile", "manage", "update"),
        ("knowledge", "extract", "summary"),
    ]
    words = analyses[0].messages[1].text
    assert "(none)" in words and "called Amber" in words and "ten kilometres" not in words
    assert memory.built.profile == PROFILE
    [segment] = memory.built.middle.segments.values()
    assert segment.gained == 2, "reset at the third page, two came since"
    [fact] = memory.built.first.facts
    assert fact.text == "Ines has a sister, Rita"
    assert fact.said_at == datetime(2024, 10, 5, 18, tzinfo=UTC), "the newest time in its pages"


def test_a_second_analysis_sees_the_old_profile_and_only_new_pages(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    models = scripted()
    with_settings(MEMORY_OS_LOCOMO, heat_threshold=2 * 0.8).build(history, tools_of(models))
    first, second = [one.messages[1].text for one in models.requests if kind(one) == "profile"]
    assert "Porto" in first and PROFILE in second
    assert "Porto" not in second and "called Amber" in second


def test_a_profile_too_short_to_be_one_leaves_the_old_one(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    replies = iter([PROFILE, "None"])
    tools = tools_of(scripted(profile=lambda _: next(replies)))
    memory = with_settings(MEMORY_OS_LOCOMO, heat_threshold=2 * 0.8).build(history, tools)
    assert memory.built.profile == PROFILE


def test_a_hot_segment_with_nothing_new_does_not_block_another(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    def topics(request: ChatRequest) -> ScriptedReply:
        early = "December" not in request.messages[1].text
        summary = "autumn of bakery and knee" if early else "winter moves"
        return {"topics": [{"theme": "t", "keywords": [], "summary": summary}]}

    models = scripted(topics=topics, keywords={"keywords": []})
    # Every segment is equally hot, and stays so after its analysis: the first would win for good.
    system = with_settings(MEMORY_OS_LOCOMO, heat_threshold=0.0, heat_pages=0.0, heat_recency=0.0)
    memory = system.build(history, tools_of(models))
    assert len(memory.built.middle.segments) == 2
    analysed = [one.messages[1].text for one in models.requests if kind(one) == "profile"]
    assert len(analysed) == 5, "one per page: each was new in a hot segment"
    assert "Krakow" in analysed[-1]


def test_a_page_under_two_topics_of_one_segment_stands_in_it_once(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    topic: JsonValue = {"theme": "a", "keywords": ["life"], "summary": "their lives"}
    tools = tools_of(scripted(topics={"topics": [topic, topic]}))
    [segment] = MEMORY_OS_LOCOMO.build(history, tools).built.middle.segments.values()
    assert ids(segment.pages) == PAGES and segment.gained == 5


def test_pages_and_segments_below_their_thresholds_are_left_out(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    tools = tools_of(scripted(keywords={"keywords": []}))
    loose = with_settings(MEMORY_OS_LOCOMO, page_threshold=-1.0, segment_threshold=-1.0)
    assert len(loose.build(history, tools).ask(ASKED, tools).shown) == 5
    for name in ("page_threshold", "segment_threshold"):
        memory = with_settings(loose, **{name: 1.5}).build(history, tools)
        assert memory.ask(ASKED, tools).shown == ()


def test_a_prompt_that_fits_no_window_loses_no_page(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    def too_long(_: ChatRequest) -> ScriptedReply:
        return PromptTooLong("no room")

    tools = tools_of(scripted(topics=too_long, overview=too_long, profile=too_long))
    memory = with_settings(MEMORY_OS_LOCOMO, heat_threshold=2 * 0.8).build(history, tools)
    assert memory.sizes["pages"] == 5 and memory.sizes["unusable"] >= 10
    assert memory.built.profile == "" and len(memory.stored()) >= 5


def test_the_least_visited_segment_leaves_and_its_pages_are_counted_and_unlinked(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    numbers = iter(["apple", "river", "copper", "violin", "winter"])

    def topics(_: ChatRequest) -> ScriptedReply:
        return {"topics": [{"theme": "t", "keywords": [], "summary": next(numbers)}]}

    models = scripted(topics=topics, keywords={"keywords": []}, continues={"continues": True})
    memory = with_settings(MEMORY_OS_LOCOMO, segments=2).build(history, tools_of(models))

    assert memory.sizes["segments"] == 2
    assert memory.sizes["pages"] == 2 and memory.sizes["forgotten_pages"] == 3
    assert [one.turn_ids for one in memory.stored()] == PAGES[3:]
    [kept, newest] = memory.built.middle.pages.values()
    assert newest.previous == kept.page_id
    assert kept.previous not in memory.built.middle.pages


def test_only_the_newest_facts_are_kept_where_their_number_is_bounded(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    facts = {"first": ["one", "- two", "None", "three"], "second": []}
    system = with_settings(MEMORY_OS_LOCOMO, heat_threshold=3 * 0.8, knowledge=2)
    memory = system.build(history, tools_of(scripted(knowledge=facts)))
    assert [fact.text for fact in memory.built.first.facts] == ["two", "three"]
    assert len(memory.built.second) == 0


def test_ben_14_a_question_costs_two_calls_in_the_locomo_form_and_one_in_the_regular(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    models = scripted()
    tools = tools_of(models)
    memory = with_settings(MEMORY_OS_LOCOMO, heat_threshold=3 * 0.8).build(history, tools)
    before = len(models.requests)
    asked = memory.ask(ASKED, tools)

    calls = models.requests[before:]
    assert [(kind(one), one.role, one.phase) for one in calls] == [
        ("keywords", "plan", "online"),
        ("answer-brief", "answer", "online"),
    ]
    assert calls[-1].temperature == 0.7
    assert asked.answer == "Amber" and asked.stop == "finished"
    words = calls[-1].messages[1].text
    assert words.startswith("You are Marek; you talk with Ines.")
    assert words.endswith(ASKED.text)
    assert PROFILE in words and "Marek has a dog, Bruno" in words
    assert words.index("Your own traits") < words.index("Remembered") < words.index("What Ines is")

    tools = tools_of(models)
    memory = MEMORY_OS.build(history, tools)
    before = len(models.requests)
    asked = memory.ask(ASKED, tools)
    assert [kind(one) for one in models.requests[before:]] == ["answer"]
    assert "Recent conversation with Ines" in models.requests[-1].messages[1].text
    assert asked.steps[0].turn_ids == tuple(f"t{n}" for n in range(8))


def test_the_best_page_comes_first_and_the_queue_bounds_them(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    tools = tools_of(scripted())
    memory = with_settings(MEMORY_OS_LOCOMO, queue=2).build(history, tools)
    asked = memory.ask(ASKED, tools)
    assert len(asked.shown) == 2
    assert asked.shown[0].turn_ids == ("t3",), "the page that names the bakery"
    assert asked.steps[0].turn_ids[0] == "t3"


def test_questions_change_nothing(history: History, tools_of: Callable[..., Tools]) -> None:
    models = scripted()
    tools = tools_of(models)
    memory = MEMORY_OS_LOCOMO.build(history, tools)
    stored, sizes = memory.stored(), dict(memory.sizes)
    first = memory.ask(ASKED, tools)
    second = memory.ask(ASKED, tools)
    assert first == second
    assert (memory.stored(), dict(memory.sizes)) == (stored, sizes)
    assert all(one.visits == 0 for one in memory.built.middle.segments.values())


def test_a_small_window_leaves_out_the_last_pieces(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    models = scripted()
    tools = tools_of(models)
    memory = with_settings(MEMORY_OS, memory_tokens=60).build(history, tools)
    shown = memory.ask(ASKED, tools).shown
    assert 0 < len(shown) < 5
    words = models.requests[-1].messages[1].text
    assert shown[-1].text in words and "Krakow" not in words


def test_an_unreachable_model_and_a_spent_budget_pass_through(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    with pytest.raises(ModelAuthError):
        MEMORY_OS_LOCOMO.build(history, tools_of([ModelAuthError("down")]))
    models = scripted()
    tools = dataclasses.replace(tools_of(models), session=models.session(max_calls=3))
    with pytest.raises(BudgetExceeded):
        MEMORY_OS_LOCOMO.build(history, tools)


def test_the_published_parameters_are_the_defaults_and_all_are_listed() -> None:
    names = {field.name for field in dataclasses.fields(Settings)}
    assert set(MEMORY_OS.params) == names == set(MEMORY_OS_LOCOMO.params)
    regular = {
        "short_term": "10",
        "queue": "7",
        "merge_threshold": "0.6",
        "segments": "2000",
        "heat_visits": "1.0",
        "heat_pages": "1.0",
        "heat_recency": "1.0",
        "heat_threshold": "5.0",
        "recency_hours": "24.0",
        "top_knowledge": "20",
        "knowledge": "100",
        "top_segments": "5",
    }
    script = {
        "short_term": "1",
        "queue": "10",
        "merge_threshold": "0.6",
        "segments": "2000",
        "heat_visits": "0.8",
        "heat_pages": "0.8",
        "heat_recency": "0.0001",
        "segment_threshold": "0.1",
        "page_threshold": "0.1",
        "knowledge_threshold": "0.1",
        "temperature": "0.7",
    }
    assert regular.items() <= dict(MEMORY_OS.params).items()
    assert script.items() <= dict(MEMORY_OS_LOCOMO.params).items()
    assert (MEMORY_OS.name, MEMORY_OS_LOCOMO.name) == ("memoryos", "memoryos-locomo")
    assert len(MEMORY_OS_LOCOMO.deviations) > len(MEMORY_OS.deviations) > 0


def test_every_prompt_carries_its_rules() -> None:
    prompts = [one for one in vars(memory_os_prompts).values() if isinstance(one, Prompt)]
    assert len(prompts) == 8
    for prompt in prompts:
        assert all(rule in prompt.system for rule in prompt.rules.values())
