"""Mem-T forms memories per batch, lets each item evolve, and searches in steps."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

import pytest

from evimem.errors import BudgetExceeded, ModelAuthError, PromptTooLong
from evimem.eval.baselines import mem_t_prompts
from evimem.eval.baselines.common import VectorList
from evimem.eval.baselines.mem_t import MemT
from evimem.eval.baselines.mem_t_build import Memory, batches_of
from evimem.eval.harness.system import Tools
from evimem.llm.scripted import ScriptedModels, ScriptedReply
from evimem.model.chat import ChatRequest
from evimem.model.evidence import Question
from evimem.model.prompt import Prompt
from evimem.model.turn import History, JsonValue

ASKED = Question(text="What is Rita's bakery called?")
ALL = tuple(f"t{n}" for n in range(8))
Formed = Mapping[str, JsonValue]


def kind(request: ChatRequest) -> str:
    """The prompt's own name, such as "form"."""
    return request.prompt.split("@")[0].removeprefix("mem-t.")


def formed(
    *facts: str,
    summary: str = "",
    personas: Mapping[str, str] | None = None,
    experiences: Sequence[str] = (),
) -> Formed:
    def dated(texts: Sequence[str]) -> list[JsonValue]:
        return [{"text": text, "start": "", "end": ""} for text in texts]

    return {
        "summary": summary,
        "personas": [{"name": n, "profile": p} for n, p in (personas or {}).items()],
        "facts": dated(facts),
        "experiences": dated(experiences),
    }


def operation(action: str, *, item: str = "", text: str = "", start: str = "") -> JsonValue:
    return {"action": action, "id": item, "text": text, "start": start, "end": ""}


def call(tool: str, query: str = "", **more: JsonValue) -> Formed:
    usual: dict[str, JsonValue] = {"name": "", "top_k": 0, "answer": "", "thought": "hm"}
    return {**usual, "tool": tool, "query": query, **more}


class Scripts:
    """Replies in order for each kind of prompt; the last one of a kind is used again."""

    def __init__(self, **replies: Sequence[ScriptedReply]) -> None:
        self._replies: dict[str, list[ScriptedReply]] = {
            "form": [formed()],
            "evolve": [{"operations": [operation("add")]}],
            "search": [call("finish", answer="Amber")],
            "answer": ["Amber"],
        } | {name: list(listed) for name, listed in replies.items()}
        self.models = ScriptedModels(self._reply)

    def _reply(self, request: ChatRequest) -> ScriptedReply:
        left = self._replies[kind(request)]
        return left.pop(0) if len(left) > 1 else left[0]

    def of(self, name: str) -> list[ChatRequest]:
        return [one for one in self.models.requests if kind(one) == name]

    def counts(self) -> Counter[str]:
        return Counter(map(kind, self.models.requests))


def facts_of(memory: object) -> list[Memory]:
    return list(memory.bank.memories["fact"].values())  # type: ignore[attr-defined]


def test_batches_hold_four_turns_of_one_session_and_no_turn_twice(history: History) -> None:
    batches = [tuple(turn.turn_id for turn in one.turns) for one in batches_of(history, 4)]
    assert batches == [("t0", "t1", "t2"), ("t3", "t4", "t5"), ("t6", "t7")]
    twos = [tuple(turn.turn_id for turn in one.turns) for one in batches_of(history, 2)]
    assert twos == [("t0", "t1"), ("t2",), ("t3", "t4"), ("t5",), ("t6", "t7")]


def test_ben_14_one_formation_call_per_batch_and_one_evolution_call_per_item(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    first = formed("Ines runs.", "Rita bakes.", experiences=["Rest heals a knee."], summary="s")
    scripts = Scripts(form=[first, formed("Bruno is a dog."), formed()])
    memory = MemT().build(history, tools_of(scripts.models))

    assert scripts.counts() == {"form": 3, "evolve": 4}
    assert {(one.role, one.phase) for one in scripts.of("form")} == {("extract", "summary")}
    assert {(one.role, one.phase) for one in scripts.of("evolve")} == {("manage", "update")}
    assert {one.temperature for one in scripts.models.requests} == {0.0}
    assert memory.sizes == {
        "turns": 8,
        "batches": 3,
        "facts": 3,
        "experiences": 1,
        "personas": 0,
        "summaries": 1,
        "unusable": 0,
    }
    facts = facts_of(memory)
    assert [one.shown.turn_ids for one in facts] == [ALL[:3], ALL[:3], ALL[3:6]]
    assert facts[2].said_at == datetime(2024, 10, 5, 18, tzinfo=UTC)


def test_formation_sees_the_profiles_of_all_and_the_summary_of_its_session_alone(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    form = [
        formed(summary="early September", personas={"Ines": "a runner"}),
        formed(summary="late September", personas={"ines": "a runner with a sister"}),
        formed(summary="October"),
    ]
    scripts = Scripts(form=form)
    memory = MemT(batch=2).build(history, tools_of(scripts.models))

    shown = [one.messages[1].text for one in scripts.of("form")]
    assert "Summary so far: (none)" in shown[0] and "(none)\n\nNew messages" in shown[0]
    assert "Summary so far: early September" in shown[1] and "Ines: a runner\n" in shown[1]
    assert "Summary so far: (none)" in shown[2], "a new session"
    assert "Ines: a runner with a sister" in shown[2]
    [persona] = memory.bank.memories["persona"].values()
    assert persona.name == "Ines", "one person, however the name is written"
    assert [turn.turn_id for turn in persona.turns] == ["t0", "t1", "t2"]
    assert [one.text for one in memory.bank.memories["summary"].values()] == [
        "late September",
        "October",
        "October",
    ]


def test_an_update_changes_the_item_in_place_and_keeps_all_its_sources(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    scripts = Scripts(
        form=[formed("Ines has one medal."), formed("Ines won a second medal."), formed()],
        evolve=[
            {"operations": [operation("add", start="1 September, 2024")]},
            {"operations": [operation("update", item="m1", text="Ines has two medals.")]},
        ],
    )
    memory = MemT().build(history, tools_of(scripts.models))

    [fact] = facts_of(memory)
    assert fact.text == "Ines has two medals."
    assert [turn.turn_id for turn in fact.turns] == list(ALL[:6])
    assert fact.said_at == datetime(2024, 10, 5, 18, tzinfo=UTC)
    assert fact.start == "1 September, 2024", "kept where the update gives none"
    seen = scripts.of("evolve")[1].messages[1].text
    assert "m1: Ines has one medal. (time: 1 September, 2024) (said 10:00 am on 1 Sept" in seen


def test_an_updated_item_is_found_by_its_new_words(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    scripts = Scripts(
        form=[formed("zebra zebra zebra", "Marek likes tea."), formed("orchid orchid"), formed()],
        evolve=[
            {"operations": [operation("add")]},
            {"operations": [operation("add")]},
            {"operations": [operation("update", item="m1", text="orchid orchid orchid")]},
        ],
    )
    tools = tools_of(scripts.models)
    memory = MemT().build(history, tools)
    changed = next(one for one in facts_of(memory) if one.text.startswith("orchid"))
    fresh = VectorList()
    for one in facts_of(memory):
        lines = [f"{turn.speaker}: {turn.body}" for turn in one.turns]
        text = "\n".join([one.text, *lines, "10:00 am on 1 September 2024"])
        fresh.put(one.memory_id, text, tools)
    scores = dict(fresh.search("orchid", 2, tools))
    found = memory.bank._vectors["fact"].search("orchid", 2, tools)
    assert dict(found) == pytest.approx(scores)
    assert len(changed.turns) == 6


def test_an_item_updated_many_times_costs_no_more_to_encode(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    many = dataclasses.replace(
        history,
        turns=tuple(
            dataclasses.replace(history.turns[0], turn_id=f"u{n}", index=n) for n in range(80)
        ),
    )
    update = {"operations": [operation("update", item="m1", text="Ines runs.")]}
    scripts = Scripts(form=[formed("Ines runs.")], evolve=[update])
    memory = MemT().build(many, tools_of(scripts.models))
    [fact] = facts_of(memory)
    assert len(fact.turns) == 80
    assert len(memory.bank.document(fact)) < 2 * len(memory.bank.batches["b0"].text) + 20


def test_the_policy_chooses_how_many_batches_up_to_a_ceiling(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    search = [call("search_turns", "bakery", top_k=900), call("finish", answer="Amber")]
    for most, turns in ((1, 3), (50, 8)):
        scripts = Scripts(search=search)
        tools = tools_of(scripts.models)
        asked = MemT(most_turns=most).build(history, tools).ask(ASKED, tools)
        assert len(asked.steps[0].turn_ids) == turns


def test_a_prompt_that_fits_no_window_keeps_turns_and_items(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    form: list[ScriptedReply] = [formed("Ines runs."), PromptTooLong("no room")]
    scripts = Scripts(form=form, evolve=[PromptTooLong("no room")])
    memory = MemT().build(history, tools_of(scripts.models))
    assert memory.sizes["turns"] == 8 and memory.sizes["unusable"] == 3
    assert [one.text for one in facts_of(memory)] == ["Ines runs."]


def test_delete_ignore_and_add_do_what_they_say(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    scripts = Scripts(
        form=[formed("Marek is in Gdansk."), formed("Marek is in Sopot.", "Bruno is a dog.")],
        evolve=[
            {"operations": [operation("add")]},
            {"operations": [operation("delete", item="m1"), operation("add")]},
            {"operations": [operation("ignore")]},
        ],
    )
    memory = MemT().build(history, tools_of(scripts.models))
    assert [one.text for one in facts_of(memory)] == ["Marek is in Sopot."]
    assert memory.sizes["unusable"] == 0


def test_evolution_sees_three_similar_items_of_its_own_kind(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    facts = [f"Rita bakes bread number {n}." for n in range(5)]
    scripts = Scripts(form=[formed(*facts, experiences=["Rita bakes bread early."]), formed()])
    MemT().build(history, tools_of(scripts.models))
    listed = [one.messages[1].text.split("Kept memories:\n")[1] for one in scripts.of("evolve")]
    counts = [sum(line.startswith("m") for line in one.splitlines()) for one in listed]
    assert counts == [0, 1, 2, 3, 3, 0]
    assert listed[-1] == "(none)", "an experience is not compared with facts"


@pytest.mark.parametrize(
    "reply",
    [
        "no JSON at all",
        {"operations": []},
        {"operations": [operation("update", item="m9", text="Ines runs.")]},
    ],
)
def test_an_item_without_a_usable_operation_is_added_and_counted(
    history: History, tools_of: Callable[..., Tools], reply: ScriptedReply
) -> None:
    scripts = Scripts(form=[formed("Ines runs."), formed()], evolve=[reply])
    memory = MemT().build(history, tools_of(scripts.models))
    assert [one.text for one in facts_of(memory)] == ["Ines runs."]
    assert memory.sizes["unusable"] == 1


def test_a_batch_whose_formation_is_unusable_keeps_its_turns(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    scripts = Scripts(form=["??"], search=[call("search_turns", "bakery called Amber")])
    tools = tools_of(scripts.models)
    memory = MemT().build(history, tools)
    assert memory.sizes["unusable"] == 3 and memory.sizes["turns"] == 8
    assert [one.turn_ids[0] for one in memory.stored()] == list(ALL)
    assert "t3" in memory.ask(ASKED, tools).steps[0].turn_ids


def test_the_search_finishes_with_an_answer_in_the_plan_role(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    search = [
        call("search_turns", "bakery near the port", top_k=1),
        call("search_facts", "name of Rita's bakery"),
        call("finish", answer="Amber"),
    ]
    scripts = Scripts(form=[formed(), formed("Rita's bakery is Amber."), formed()], search=search)
    tools = tools_of(scripts.models)
    asked = MemT().build(history, tools).ask(ASKED, tools)

    calls = scripts.of("search")
    assert {(one.role, one.phase) for one in calls} == {("plan", "online")}
    assert len(calls) == 3 and not scripts.of("answer")
    assert (asked.answer, asked.stop, asked.problem) == ("Amber", "converged", "")
    assert [one.queries for one in asked.steps] == [
        ("bakery near the port",),
        ("name of Rita's bakery",),
    ]
    assert [one.turn_ids for one in asked.steps] == [ALL[:3], ALL[3:6]]
    told = calls[2].messages[1].text
    assert told.startswith("The question is asked at") and "Rita's bakery is Amber." in told
    assert "her bakery is called Amber" in told, "a fact brings its turns"
    assert told.endswith("Steps left: 4.")
    assert [one.text for one in asked.shown if one.turn_ids == ALL[3:6]] == [
        "Rita's bakery is Amber."
    ]


def test_turns_seen_are_not_shown_again(history: History, tools_of: Callable[..., Tools]) -> None:
    search = [
        call("search_turns", "bakery", top_k=9),
        call("search_facts", "bakery"),
        call("search_turns", "knee"),
        call("finish", answer="Amber"),
    ]
    scripts = Scripts(form=[formed("Rita bakes."), formed()], search=search)
    tools = tools_of(scripts.models)
    asked = MemT().build(history, tools).ask(ASKED, tools)

    assert [len(one.turn_ids) for one in asked.steps] == [8, 0, 0]
    assert len(asked.shown) == 9
    told = scripts.of("search")[3].messages[1].text
    assert all(told.count(turn.text) == 1 for turn in history.turns)
    assert told.count("Nothing that was not shown before.") == 1


def test_summary_and_personas_are_found_by_name_by_words_or_as_the_newest(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    form = [
        formed(summary="moving to Gdansk", personas={"Ines": "runs", "Marek": "has a dog"}),
        formed(summary="a bakery and a knee"),
        formed(summary="moving on to Krakow"),
    ]
    search = [
        call("search_personas", name="marek"),
        call("search_summary"),
        call("search_summary", "a bakery and a knee"),
        call("search_personas", "who runs"),
        call("finish", answer="Amber"),
    ]
    scripts = Scripts(form=form, search=search)
    tools = tools_of(scripts.models)
    asked = MemT().build(history, tools).ask(ASKED, tools)

    written = [one.text for one in asked.shown if not one.speaker]
    assert written == [
        "About Marek: has a dog",
        "moving on to Krakow",
        "a bakery and a knee",
        "About Ines: runs",
    ]
    assert [one.turn_ids for one in asked.steps] == [ALL[:3], ALL[6:], ALL[3:6], ()]


def test_after_six_steps_one_call_answers_from_everything_seen(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    search = [call("search_turns", f"bakery {n}", top_k=1) for n in range(9)]
    scripts = Scripts(search=search)
    tools = tools_of(scripts.models)
    asked = MemT().build(history, tools).ask(ASKED, tools)

    assert len(scripts.of("search")) == 6
    assert scripts.of("search")[5].messages[1].text.endswith("This is the last step: finish.")
    [answer] = scripts.of("answer")
    assert answer.role == "answer" and "called Amber" in answer.messages[1].text
    assert (asked.answer, asked.stop) == ("Amber", "max_iterations")


def test_no_step_sends_the_same_prompt_again(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    # The original's fault: an empty result, and the same call until the steps run out.
    scripts = Scripts(search=[call("search_experiences", "anything")])
    tools = tools_of(scripts.models)
    asked = MemT().build(history, tools).ask(ASKED, tools)

    digests = [one.digest for one in scripts.of("search")]
    assert len(set(digests)) == len(digests) == 6
    assert len(asked.steps) == 1, "a repeated call searches nothing"
    assert scripts.of("search")[3].messages[1].text.count("was made before") == 2


def test_unreadable_steps_are_told_and_named_and_the_search_goes_on(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    search: list[ScriptedReply] = [
        "I would rather chat.",
        "I would rather chat.",  # the one repair of the same step
        call("finish"),
        call("search_turns", "bakery"),
        call("finish", answer="Amber"),
    ]
    scripts = Scripts(search=search)
    tools = tools_of(scripts.models)
    asked = MemT().build(history, tools).ask(ASKED, tools)
    assert asked.answer == "Amber" and asked.stop == "converged"
    assert asked.problem.startswith("step 1: ")
    told = scripts.of("search")[-1].messages[1].text
    assert "The reply was no call of a tool." in told and "There was no answer in it." in told


def test_without_room_the_search_ends_and_says_so(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    scripts = Scripts(search=[call("search_turns", f"bakery {n}") for n in range(9)])
    tools = tools_of(scripts.models)
    asked = MemT(memory_tokens=120).build(history, tools).ask(ASKED, tools)
    assert asked.stop == "budget" and asked.answer == "Amber"
    assert len(scripts.of("search")) == 1
    assert 0 < len(asked.steps[0].turn_ids) < 8, "what did not fit was not seen"
    assert len(asked.shown) == len(asked.steps[0].turn_ids)


def test_questions_change_nothing(history: History, tools_of: Callable[..., Tools]) -> None:
    scripts = Scripts(form=[formed("Rita bakes.")], search=[call("search_facts", "bakery")])
    tools = tools_of(scripts.models)
    memory = MemT().build(history, tools)
    stored, sizes = memory.stored(), dict(memory.sizes)
    assert memory.ask(ASKED, tools) == memory.ask(ASKED, tools)
    assert (memory.stored(), dict(memory.sizes)) == (stored, sizes)


def test_an_answer_that_declines_is_an_abstention(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    scripts = Scripts(search=[call("finish", answer="It is not mentioned.")])
    tools = tools_of(scripts.models)
    assert MemT().build(history, tools).ask(ASKED, tools).abstained


def test_an_unreachable_model_and_a_spent_budget_pass_through(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    with pytest.raises(ModelAuthError):
        MemT().build(history, tools_of([ModelAuthError("down")]))
    scripts = Scripts(form=[formed("Rita bakes.")])
    session = scripts.models.session(max_calls=3)
    with pytest.raises(BudgetExceeded):
        MemT().build(history, dataclasses.replace(tools_of(scripts.models), session=session))


def test_the_published_parameters_are_the_defaults_and_all_are_listed() -> None:
    fields = {one.name for one in dataclasses.fields(MemT)} - {"name", "traces_turns"}
    params = dict(MemT().params)
    assert set(params) == fields | {"policy"}
    published = {"batch": "4", "similar": "3", "top_k": "5", "steps": "6", "policy": "untrained"}
    assert published.items() <= params.items()


def test_no_prompt_knows_categories_and_every_prompt_carries_its_rules() -> None:
    prompts = [one for one in vars(mem_t_prompts).values() if isinstance(one, Prompt)]
    assert len(prompts) == 4
    for prompt in prompts:
        assert all(rule in prompt.system for rule in prompt.rules.values())
        assert "category" not in prompt.system.casefold()
