"""QEMem's recipes: what each calls, in what they differ, how they fit a window and replay."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from qemem_window_world import many
from qemem_world import ask, card, cards, label_of, plan, shown, view

from evimem.datasets.base import Gold
from evimem.errors import SettingsError
from evimem.llm.scripted import ScriptedModels
from evimem.model.chat import ChatReply, ChatRequest
from evimem.model.evidence import Question
from evimem.query.loop import RunInput, replay
from evimem.query.memory_view import MemoryView
from evimem.query.qemem.fusion import Budgets
from evimem.query.qemem.matched import SingleListPackager, SingleListProposer
from evimem.query.qemem.state import with_cards
from evimem.query.templates import read_templates
from evimem.recipes import MODEL_RECIPES, REBUILT
from evimem.recipes.qemem import FULL, QEM_RECIPES, QEMEM, QemConfig, fitted, rebuilt
from evimem.scoring.tokens import estimate_tokens
from evimem.trace import Trace

QUESTION = "From whom did Mira buy her kiln?"
BOUGHT = "I bought a new kiln from Pavel yesterday."
NO = "REASONING: hm.\nFINAL ANSWER: No information available."
SMALL = Budgets(episode=1, semantic=1, turn=1)


class Models:
    """A script that notes nothing and answers by role: refining once, then enough."""

    def __init__(
        self,
        *,
        refine: bool = False,
        answers: Sequence[Any] = ("REASONING: x\nFINAL ANSWER: Pavel",),
        planned: Mapping[str, Any] | None = None,
    ) -> None:
        self._refine, self._answers = refine, list(answers)
        self._planned = planned or plan("kiln Pavel", "bought a kiln")

    def __call__(self, request: ChatRequest) -> Any:
        if request.role == "plan":
            return self._planned
        if request.role == "verify":
            label, text = next((k, v) for k, v in shown(request).items() if k[0] == "T")
            made = card("a kiln", label, quote=text.partition(": ")[2])
            first = "earlier rounds" not in request.messages[-1].text
            more = ("the seller", ["pear trees"]) if self._refine and first else ("", [])
            return cards(made, missing=more[0], ask=more[1])
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


def run_of(
    config: QemConfig, *, over: MemoryView | None = None, question: str = QUESTION, **given: Any
) -> tuple[Trace, ScriptedModels]:
    """A run under `Models`; its options are among `given`."""
    options = {k: given.pop(k) for k in ("refine", "answers", "planned") if k in given}
    return ask(question, Models(**options), config, over=over, **given)


# QEM-31: variants


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("qemem", {"lead", "weights", "k", "retry", "relocate"}),
        ("qem-full", set()),
        ("qem-norefine", {"refinements"}),
        ("qem-direct", {"cards", "refinements"}),
        ("qem-matched", {"plan", "single_list", "cards", "refinements"}),
        ("qem-noplan", {"plan"}),
        ("qem-noretry", {"retry"}),
    ],
)
def test_qem_31_each_variant_differs_from_the_full_one_in_the_fields_it_declares(
    name: str, fields: set[str]
) -> None:
    base, config = dataclasses.asdict(FULL), dataclasses.asdict(QEM_RECIPES[name])
    differing = {key for key in base if config[key] != base[key]}
    assert differing - {"name"} == fields
    assert name in MODEL_RECIPES and name in REBUILT


CALLS = {
    "qemem": ["plan", "verify", "verify", "answer"],
    "qem-full": ["plan", "verify", "verify", "answer", "answer"],
    "qem-norefine": ["plan", "verify", "answer", "answer"],
    "qem-direct": ["plan", "answer", "answer"],
    "qem-matched": ["answer", "answer"],
    "qem-noplan": ["verify", "verify", "answer", "answer"],
    "qem-noretry": ["plan", "verify", "verify", "answer"],
}


@pytest.mark.parametrize("name", sorted(QEM_RECIPES))
def test_qem_29_qem_31_which_calls_each_variant_makes_all_at_temperature_zero(
    name: str,
) -> None:
    config = dataclasses.replace(QEM_RECIPES[name], narrow=SMALL, wide=SMALL)
    trace, models = run_of(config, refine=True, answers=(NO,))
    assert [one.role for one in models.requests] == CALLS[name]
    assert {one.temperature for one in models.requests} == {0.0}
    assert {one.phase for one in models.requests} == {"online"}
    assert trace.recipe == name
    assert trace.answer is not None and trace.answer.status == "not_in_memory"


def test_qem_31_the_direct_variant_reads_the_same_first_pool_without_cards() -> None:
    full, full_models = run_of(FULL)
    direct, models = run_of(QEM_RECIPES["qem-direct"])
    assert direct.rounds[0].searches == full.rounds[0].searches
    assert direct.rounds[0].candidates == full.rounds[0].candidates
    assert (direct.stop_reason, len(direct.rounds)) == ("finished", 1)
    told, shown_to_full = models.requests[-1], full_models.requests[-1]
    assert told.prompt.startswith("qem.direct@")
    headings = [x.split(" (")[0] for x in told.messages[-1].text.splitlines() if x[:2] == "# "]
    assert headings == ["# QUESTION", "# RETRIEVED MEMORIES"]
    assert "card" not in (told.messages[0].text + told.messages[1].text).casefold()
    assert "card" in shown_to_full.messages[0].text
    assert direct.context == ()
    assert direct.answer is not None and direct.answer.text == "Pavel"


def test_qem_31_the_matched_variant_is_one_dense_list_of_the_question_within_its_turns() -> None:
    trace, models = run_of(QEM_RECIPES["qem-matched"])
    (step,) = trace.rounds[0].searches
    assert (step.request.text, step.request.ranker) == (QUESTION, "dense")
    assert step.request.filters.kinds == {"episode", "semantic", "turn"}
    places = {hit.item_id: n for n, hit in enumerate(step.hits)}
    order = [places[one.item_id] for one in trace.rounds[0].candidates]
    assert order == sorted(order), "in the order of the list"
    assert not any(one.context for one in trace.rounds[0].candidates)
    assert models.requests[0].prompt.startswith("qem.direct@")
    assert trace.rounds[0].plan is None and trace.plan is None


@pytest.mark.parametrize("turns", [0, 1, 5, 8, 19])
def test_qem_31_the_budget_of_the_matched_list_is_strict(turns: int) -> None:
    trace, _ = run_of(QEM_RECIPES["qem-matched"])
    steps = trace.rounds[0].searches
    (step,) = steps
    members = {"e-s1": 5, "e-s2": 3, "e-s3": 3}
    costs = [1 if hit.kind == "turn" else members.get(hit.item_id, 0) for hit in step.hits]
    wanted, used = [], 0
    for hit, cost in zip(step.hits, costs, strict=True):
        used += cost
        if used > turns:
            break
        wanted.append(hit.item_id)
    over = view()
    state = next(replay(with_cards, trace))
    found = SingleListPackager(turns=turns).package(steps, state, over)
    assert [one.item_id for one in found] == wanted
    *_, after = replay(with_cards, trace)
    assert SingleListProposer().propose(after, over).searches == (), "it asks once"


def test_rule_5_of_recipes_without_planning_every_later_call_is_the_same_to_the_byte() -> None:
    """Where the plan adds nothing to the question, it is only the plan's call that is missing."""
    bare = plan(need=QUESTION)
    _, full = run_of(FULL, planned=bare, refine=True)
    _, without = run_of(QEM_RECIPES["qem-noplan"], refine=True)
    assert full.requests[0].role == "plan"
    assert full.requests[1:] == without.requests


def test_rule_5_of_recipes_without_planning_the_pool_stays_narrow() -> None:
    over = many(100, "kiln")
    wide, _ = run_of(FULL, planned=plan(aggregate=True), over=over)
    narrow, _ = run_of(QEM_RECIPES["qem-noplan"], over=over)

    def hits(trace: Trace) -> int:
        return sum(c.label[0] == "T" and not c.context for c in trace.rounds[0].candidates)

    assert (hits(wide), hits(narrow)) == (60, 40)


@pytest.mark.parametrize("refine", [False, True])
def test_rule_5_of_recipes_without_refinement_the_first_round_is_the_same(refine: bool) -> None:
    one, full = run_of(dataclasses.replace(FULL, narrow=SMALL), refine=refine)
    other, without = run_of(
        dataclasses.replace(QEM_RECIPES["qem-norefine"], narrow=SMALL), refine=refine
    )
    assert full.requests[:2] == without.requests[:2]
    assert one.rounds[0].candidates == other.rounds[0].candidates
    assert one.rounds[0].assessment == other.rounds[0].assessment
    if not refine:  # QEM-32: an untriggered question keeps its answer
        assert full.requests == without.requests
        assert one.answer is not None and other.answer is not None
        assert dataclasses.replace(one.answer, recipe="") == dataclasses.replace(
            other.answer, recipe=""
        )
    else:
        assert len(other.rounds) == 1 and len(one.rounds) == 2
        assert other.answer is not None and other.answer.missing == "the seller"


def test_rule_5_of_recipes_without_the_retry_only_the_retry_is_missing() -> None:
    _, full = run_of(FULL, answers=(NO,))
    _, without = run_of(QEM_RECIPES["qem-noretry"], answers=(NO,))
    assert full.requests[:-1] == without.requests


def test_rule_5_of_recipes_another_search_of_turns_leaves_the_plan_as_it_was() -> None:
    one, full = run_of(FULL)
    other, ours = run_of(QEMEM)
    assert full.requests[0] == ours.requests[0]
    assert one.plan == other.plan
    of_items = [
        [s for s in t.rounds[0].searches if s.request.filters.kinds != {"turn"}]
        for t in (one, other)
    ]
    assert sorted(map(repr, of_items[0])) == sorted(map(repr, of_items[1]))


# QEM-30: gold


def test_qem_30_no_part_of_gold_is_reachable_from_what_a_recipe_is_given() -> None:
    given = {one.name for one in dataclasses.fields(RunInput)} | {
        one.name for one in dataclasses.fields(Question)
    }
    gold = {one.name for one in dataclasses.fields(Gold)} - {"question_id"}
    assert not gold & given
    for name in ("answer", "category", "evidence", "gold"):
        with pytest.raises(AttributeError, match="sealed"):
            getattr(Question(text=QUESTION), name)


# Windows


def longest(request: ChatRequest) -> int:
    """Tokens of a request with its schema and its reply, estimated from above."""
    prompt = sum(estimate_tokens(message.text) for message in request.messages)
    return prompt + estimate_tokens(str(request.schema or "")) + request.max_tokens


WORDS = {
    "long turns": "kiln " + "and the long road to the mill by the river with two dogs " * 4,
    "short turns": "kiln",
    "sentences": "the kiln cracked again and nobody knows why",
    "lines": "kiln\n" * 30,
    "Chinese": "窑又裂了，没有人知道为什么 kiln",
}


@pytest.mark.parametrize("window", [0, 4000, 4096, 8000])
@pytest.mark.parametrize("name", ["qem-full", "qem-direct", "qem-matched"])
@pytest.mark.parametrize("words", WORDS)
def test_case_p032_no_prompt_with_its_reply_exceeds_the_window(
    words: str, name: str, window: int
) -> None:
    """Also where every turn has a session of its own, whose date stands above it."""
    per_session = 1 if words == "short turns" else 20
    over = many(150, WORDS[words], per_session=per_session, extra="kiln " * 9000)

    def script(request: ChatRequest) -> Any:
        if request.role == "plan":
            return plan("kiln", aggregate=True)
        if request.role == "verify":
            labels = list(shown(request).items())
            made = [
                card(f"claim {n}: {'so it was told ' * 8}", one, quote=text.partition(": ")[2][:90])
                for n, (one, text) in enumerate(labels)
            ]
            return cards(*made, missing="more", ask=["kiln", "day", "number"])
        return NO

    trace, models = ask("Which kiln?", script, QEM_RECIPES[name], over=over, window=window)
    assert models.requests
    for request in models.requests:
        if window:
            assert longest(request) <= window, request.role
    assert tuple(one.request for one in rebuilt(QEM_RECIPES[name], trace)) == models.requests
    assert trace.answer is not None
    if window and name == "qem-full" and words == "long turns":
        assert any(one.startswith("context_trimmed: ") for one in trace.answer.degraded)
        assert any(done.cut for done in trace.rounds), "what stays unread is named in the trace"


def test_a_window_that_is_too_small_is_refused_with_what_to_do() -> None:
    with pytest.raises(SettingsError, match=r"set to 2048 tokens .*EVIMEM_LLM_CONTEXT"):
        fitted(FULL, 2048)
    assert fitted(FULL, 0) == FULL == fitted(FULL, 128_000)


def test_what_was_left_unread_can_be_found_again() -> None:
    over = many(60, WORDS["long turns"])
    trace, _ = run_of(FULL, refine=True, over=over, window=4000, planned=plan("kiln"))
    unread = set(trace.rounds[0].cut)
    found = {hit.item_id for step in trace.rounds[1].searches for hit in step.hits}
    assert unread and unread & found


# QEM-32: replay


def templates(folder: Path) -> dict[str, str]:
    texts = {
        "qem.plan": 'PLAN {speakers} {span} {question} {"need": 1}',
        "qem.construct": "CARDS {question} {need} {pool} {previous}",
        "qem.answer": "ANSWER {question} {cards} {sources} {pool} of {speakers}",
        "qem.direct": "DIRECT {question} {pool}",
        "qem.retry": "AGAIN {prev}",
    }
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    return read_templates(folder)


@pytest.mark.parametrize("name", sorted(QEM_RECIPES))
@pytest.mark.parametrize("window", [0, 4096])
@pytest.mark.parametrize("files", [False, True])
@pytest.mark.parametrize("declines", [False, True])
def test_qem_32_every_prompt_of_a_stored_trace_is_made_again_to_the_byte(
    name: str, window: int, files: bool, declines: bool, tmp_path: Path
) -> None:
    config = dataclasses.replace(QEM_RECIPES[name], narrow=SMALL, wide=SMALL)
    given = templates(tmp_path) if files else None
    answers = (NO,) if declines else ("FINAL ANSWER: Pavel",)
    trace, models = run_of(config, refine=True, answers=answers, window=window, templates=given)
    stored = Trace.from_json(trace.to_json())
    assert stored == trace
    again = rebuilt(config, stored, given)
    assert tuple(one.request for one in again) == models.requests
    assert [one.request.digest for one in again] == [call.request for call in stored.calls]
    assert [one.round for one in again] == sorted(one.round for one in again)
    if files:
        assert all("@file#" in request.prompt for request in models.requests)


@pytest.mark.parametrize("calls", [1, 2, 3])
def test_qem_32_a_trace_that_a_budget_ended_replays_to_what_was_sent(calls: int) -> None:
    config = dataclasses.replace(FULL, narrow=SMALL, wide=SMALL)
    trace, models = run_of(config, refine=True, answers=(NO,), max_calls=calls)
    assert tuple(one.request for one in rebuilt(config, trace)) == models.requests
    assert len(models.requests) == calls


@pytest.mark.parametrize("reply", ["hm", ChatReply(text='{"cards": [', finish="length")])
def test_qem_32_a_repair_or_more_room_is_not_made_again_and_the_ledger_has_it(reply: Any) -> None:
    def script(request: ChatRequest) -> Any:
        return plan() if request.role == "plan" else reply if request.role == "verify" else NO

    trace, models = ask(QUESTION, script, FULL)
    again = [one.request for one in rebuilt(FULL, trace)]
    assert [one.role for one in models.requests] == ["plan", "verify", "verify", "answer", "answer"]
    assert again == [one for n, one in enumerate(models.requests) if n != 2]


def test_the_recipes_of_the_registry_are_these() -> None:
    def script(request: ChatRequest) -> Any:
        if request.role == "verify":
            return cards(card("Mira", label_of(request, BOUGHT), quote="a new kiln"))
        return Models()(request)

    trace, models = ask(QUESTION, script, FULL)
    again = REBUILT["qem-full"](trace, {})
    assert tuple(one.request for one in again) == models.requests
    recipe = MODEL_RECIPES["qem-full"](ScriptedModels(script).session(), {})
    assert (recipe.name, recipe.max_rounds, recipe.builds) == ("qem-full", 3, ("episodes",))
