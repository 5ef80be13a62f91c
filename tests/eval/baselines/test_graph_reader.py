"""GraphReader builds a graph of key elements and atomic facts, and walks it with notebooks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from evimem.errors import BudgetExceeded
from evimem.eval.baselines import graph_reader_prompts as prompts
from evimem.eval.baselines.common import Chunk
from evimem.eval.baselines.graph_reader import GraphReader
from evimem.eval.baselines.graph_reader_graph import graph_of
from evimem.eval.harness.system import Asked, Step, Tools
from evimem.llm.schema import check
from evimem.llm.scripted import ScriptedModels, ScriptedReply
from evimem.model.chat import ChatRequest, JsonSchema
from evimem.model.evidence import Question
from evimem.model.prompt import Prompt
from evimem.model.turn import History, JsonValue

ASKED = Question(text="What is Rita's bakery called?")
PER_SESSION = GraphReader()
"""The small conversation has three sessions and so three chunks."""

# Facts of the three chunks.
FACTS: tuple[tuple[tuple[str, tuple[str, ...]], ...], ...] = (
    (
        ("Ines signed up for the Porto marathon.", ("Ines", "sign up", "Porto marathon")),
        ("Rita is the sister of Ines.", ("Rita", "sister", "Ines")),
        ("Rita runs a bakery in Gdansk.", ("Rita", "bakery", "Gdansk")),
    ),
    (
        ("Rita's bakery is called Amber.", ("Rita", "bakery", "Amber")),
        ("Ines hurt her knee.", ("Ines", "knee")),
    ),
    (("Marek moves to Krakow with Bruno.", ("Marek", "move", "Krakow", "Bruno")),),
)


@dataclass
class Play:
    """Replies of one question's readers by prompt; a list is played in order, and its last reply
    over and over."""

    nodes: Sequence[tuple[str, int]] = (("bakery", 90),)
    facts: Sequence[Mapping[str, JsonValue]] = ()
    chunks: Sequence[Mapping[str, JsonValue]] = ()
    neighbours: Sequence[Mapping[str, JsonValue]] = ()
    answer: str = "Both agree.\nFINAL ANSWER: Amber"
    counts: dict[str, int] = field(default_factory=dict)

    def __call__(self, request: ChatRequest) -> ScriptedReply:
        name = request.prompt.split("@")[0].removeprefix("graph-reader.")
        at = self.counts.get(name, 0)
        self.counts[name] = at + 1
        if name == "extract":
            return {
                "facts": [
                    {"fact": fact, "key_elements": list(elements)} for fact, elements in FACTS[at]
                ]
            }
        if name == "plan":
            return "Find Rita, then her bakery."
        if name == "nodes":
            return {"nodes": [{"name": one, "score": score} for one, score in self.nodes]}
        if name == "answer":
            return self.answer
        replies = {"facts": self.facts, "chunk": self.chunks, "neighbour": self.neighbours}[name]
        return replies[min(at, len(replies) - 1)]


def read(*chunks: int, notes: Sequence[str] = ()) -> Mapping[str, JsonValue]:
    return {"notes": list(notes), "action": "read_chunk", "chunks": list(chunks)}


SKIP: Mapping[str, JsonValue] = {"notes": [], "action": "stop_and_read_neighbor", "chunks": []}
STAY: Mapping[str, JsonValue] = {"action": "termination", "node": ""}


def act(action: str, *notes: str) -> Mapping[str, JsonValue]:
    return {"notes": list(notes), "action": action}


def go(node: str) -> Mapping[str, JsonValue]:
    return {"action": "read_neighbor", "node": node}


def of(models: ScriptedModels, name: str) -> list[ChatRequest]:
    """Requests by the short name of their prompt."""
    return [one for one in models.requests if one.prompt.startswith(f"graph-reader.{name}@")]


def chunk_ids(steps: Sequence[Step]) -> list[str]:
    """Chunks read, by their first turn."""
    return [step.turn_ids[0] for step in steps if step.turn_ids]


def test_one_call_per_chunk_builds_the_graph_with_provenance(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    models = ScriptedModels(Play())

    built = PER_SESSION.build(history, tools_of(models))

    assert {(one.role, one.phase) for one in models.requests} == {("extract", "summary")}
    assert len(models.requests) == 3
    assert built.sizes == {
        "chunks": 3,
        "facts": 6,
        "nodes": 13,
        "without_facts": 0,
        "unusable": 0,
        "dropped": 0,
    }
    stored = built.stored()
    assert [one.turn_ids for one in stored if "Amber." in one.text] == [("t3", "t4", "t5")] * 2
    assert "[10:00 am on 1 September 2024] Ines:" in models.requests[0].messages[1].text


def test_chunks_end_between_sentences_at_a_thousand_characters() -> None:
    assert GraphReader().chunk_characters == 1000
    params = GraphReader().params
    assert (params["fact_calls"], params["chunk_calls"]) == ("12", "16")
    assert (params["initial_nodes"], params["node_pool"]) == ("5", "50")
    assert params["temperature"] == "0.4"


def test_nodes_that_share_a_fact_are_neighbours_those_that_share_most_first(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    graph = PER_SESSION.build(history, tools_of(ScriptedModels(Play()))).graph

    rita = graph.find("rita", range(len(graph.names)))
    assert rita is not None
    beside = [graph.names[node] for node in graph.neighbours(rita)]

    assert beside[0] == "bakery"
    assert set(beside) == {"bakery", "sister", "Ines", "Gdansk", "Amber"}


def test_forms_of_a_word_are_one_node_named_by_the_most_frequent(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    chunk = Chunk(text="x", turns=history.turns[:1])
    raw = [
        (0, "one", ["paintings"]),
        (0, "two", ["Painting", "marathon in Porto"]),
        (0, "three", ["Painting", "Porto marathon"]),
        (0, "four", ["5 May"]),
        (0, "five", ["6 May"]),
    ]

    graph = graph_of([chunk], raw, tools_of([]), merge=0.45)

    assert graph.names == ("Painting", "marathon in Porto", "5 May", "6 May")
    assert graph.facts_of == ((0, 1, 2), (1, 2), (3,), (4,))


def test_messages_of_an_unusable_chunk_stand_as_facts_that_can_be_found(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    tools = tools_of(ScriptedModels(lambda request: "no JSON"))

    built = PER_SESSION.build(history, tools)

    assert built.sizes["unusable"] == 3
    assert built.sizes["facts"] == 8
    amber = built.graph.find("Amber", range(len(built.graph.names)))
    assert amber is not None
    [fact] = built.graph.facts_of[amber]
    assert "her bakery is called Amber" in built.graph.facts[fact].text


def test_an_extraction_asks_for_no_more_than_the_window_leaves(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    models = ScriptedModels(Play(), window=1000)

    GraphReader(chunk_characters=4000).build(history, tools_of(models))

    assert all(0 < one.max_tokens < 800 for one in models.requests)


def test_a_fact_without_key_elements_gets_its_content_words(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    tools = tools_of(lambda request: {"facts": [{"fact": "Marek likes tea.", "key_elements": []}]})

    graph = PER_SESSION.build(history, tools).graph

    assert "tea" in graph.names


def asked_with(
    play: Play,
    history: History,
    tools_of: Callable[..., Tools],
    system: GraphReader = PER_SESSION,
) -> tuple[Asked, ScriptedModels]:
    """Build and ask with one play."""
    models = ScriptedModels(play)
    tools = tools_of(models)
    return system.build(history, tools).ask(ASKED, tools), models


def test_a_reader_reads_facts_then_a_chunk_and_ends_with_an_answer_over_notes(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    play = Play(
        facts=[read(2, notes=["Amber is a name."])],
        chunks=[act("termination", "The bakery is called Amber.")],
    )

    asked, models = asked_with(play, history, tools_of)

    online = [one for one in models.requests if one.phase == "online"]
    assert [one.role for one in online] == ["plan", "plan", "verify", "verify", "answer"]
    assert [one.temperature for one in online] == [0.0, 0.0, 0.4, 0.4, 0.0]
    assert [one.text for one in asked.shown] == ["Amber is a name.", "The bakery is called Amber."]
    assert [one.turn_ids for one in asked.shown] == [(), ("t3", "t4", "t5")]
    assert (asked.answer, asked.stop, asked.problem) == ("Amber", "converged", "")
    assert 'Notebook 1 (began at "bakery")' in online[-1].messages[1].text
    assert "[6:00 pm on 5 October 2024] The bakery is called Amber." in online[-1].messages[1].text


def test_only_chunks_read_count_as_viewed_and_those_with_notes_as_accepted(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    play = Play(
        facts=[read(1, 2)],
        chunks=[act("search_more"), act("termination", "Called Amber.")],
    )

    asked, _ = asked_with(play, history, tools_of)

    facts, first, second = asked.steps
    assert (facts.queries, facts.turn_ids) == (("bakery",), ())
    assert (first.turn_ids, first.accepted) == (("t0", "t1", "t2"), ())
    assert second.turn_ids == second.accepted == ("t3", "t4", "t5")


def test_facts_are_shown_by_chunk_with_its_number_and_time(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    play = Play(facts=[SKIP], neighbours=[STAY])

    _, models = asked_with(play, history, tools_of)

    [request] = of(models, "facts")
    shown = request.messages[1].text.split('Facts of the node "bakery":\n')[1]
    assert shown == (
        "Chunk 1 (10:00 am on 1 September 2024):\n- Rita runs a bakery in Gdansk.\n"
        "Chunk 2 (6:00 pm on 5 October 2024):\n- Rita's bakery is called Amber."
    )


def test_the_chunk_beside_is_bound_to_the_one_just_read_and_read_next(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    play = Play(
        facts=[read(2, 1)],
        chunks=[act("read_subsequent"), act("read_previous"), act("search_more")],
        neighbours=[STAY],
    )

    asked, _ = asked_with(play, history, tools_of)

    assert chunk_ids(asked.steps) == ["t3", "t6", "t0"], "the one before was read already"


def test_a_chunk_that_waits_twice_is_read_once(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    play = Play(facts=[read(1, 2)], chunks=[act("read_subsequent")], neighbours=[STAY])

    asked, _ = asked_with(play, history, tools_of)

    assert chunk_ids(asked.steps) == ["t0", "t3", "t6"]


def test_a_chunk_beyond_either_end_is_not_read(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    play = Play(facts=[read(1)], chunks=[act("read_previous")], neighbours=[STAY])

    asked, _ = asked_with(play, history, tools_of)

    assert chunk_ids(asked.steps) == ["t0"]
    assert asked.stop == "exhausted"


def test_chunks_that_were_not_shown_are_not_read(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    play = Play(facts=[read(3, 99, 0, -1)], neighbours=[STAY])

    asked, models = asked_with(play, history, tools_of)

    assert of(models, "chunk") == []
    assert chunk_ids(asked.steps) == []


def test_an_empty_queue_leads_to_one_neighbour_and_its_facts(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    play = Play(
        facts=[SKIP, read(2)],
        chunks=[act("termination", "Called Amber.")],
        neighbours=[go("RITA")],
    )

    asked, models = asked_with(play, history, tools_of)

    assert [step.queries for step in asked.steps[:2]] == [("bakery",), ("Rita",)]
    listed = of(models, "neighbour")[0].messages[1].text.split('Neighbours of "bakery":\n')[1]
    assert listed.splitlines() == ["Rita", "Gdansk", "Amber"]
    assert 'read the facts of "bakery"' in of(models, "facts")[1].messages[1].text


def test_a_neighbour_that_was_looked_at_is_not_offered_again(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    play = Play(facts=[SKIP], neighbours=[go("Rita"), STAY])

    _, models = asked_with(play, history, tools_of)

    listed = of(models, "neighbour")[1].messages[1].text.split('Neighbours of "Rita":\n')[1]
    assert "bakery" not in listed.splitlines()
    assert "sister" in listed.splitlines()


def test_a_neighbour_that_is_none_ends_the_reader_and_is_told(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    play = Play(facts=[SKIP], neighbours=[go("Krakow")])

    asked, models = asked_with(play, history, tools_of)

    assert len(of(models, "facts")) == 1
    assert "a neighbour was named that is none" in asked.problem


def test_five_nodes_with_the_best_scores_have_a_reader_each(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    names = ("knee", "Amber", "Rita", "bakery", "sister", "Gdansk", "nobody", "Amber")
    scores = (1, 95, 80, 90, 50, 60, 99, 10)
    play = Play(nodes=list(zip(names, scores, strict=True)), facts=[SKIP], neighbours=[STAY])

    asked, _ = asked_with(play, history, tools_of)

    starts = [step.queries[0] for step in asked.steps]
    assert starts == ["Amber", "bakery", "Rita", "Gdansk", "sister"]


def test_readers_keep_notebooks_of_their_own(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    play = Play(
        nodes=[("Amber", 90), ("Rita", 80)],
        facts=[read(2), read(2)],
        chunks=[act("termination", "Called Amber."), act("termination", "Called Amber.")],
    )

    asked, models = asked_with(play, history, tools_of)

    second = of(models, "chunk")[1].messages[1].text
    assert "Notebook:\n(empty)" in second
    last = models.requests[-1].messages[1].text
    assert 'Notebook 1 (began at "Amber")' in last
    assert 'Notebook 2 (began at "Rita")' in last
    assert [one.text for one in asked.shown] == ["Called Amber.", "Called Amber."]


def test_notes_are_appended_and_never_lost(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    play = Play(
        facts=[read(1, 2, notes=["One."])],
        chunks=[act("search_more", "Two.", "one."), act("termination")],
    )

    asked, models = asked_with(play, history, tools_of)

    assert [one.text for one in asked.shown] == ["One.", "Two."]
    assert "- One.\n- Two." in of(models, "chunk")[1].messages[1].text


def test_the_limits_hold_over_all_readers_and_each_has_its_share(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    names = ("Amber", "bakery", "Rita", "Gdansk", "sister")

    class Endless(Play):
        def __call__(self, request: ChatRequest) -> ScriptedReply:
            if request.prompt.startswith("graph-reader.neighbour@"):
                return go(request.messages[1].text.splitlines()[-1])
            return super().__call__(request)

    play = Endless(
        nodes=[(one, 90 - n) for n, one in enumerate(names)],
        facts=[read(1, 2, 3)],
        chunks=[act("read_subsequent")],
    )
    system = GraphReader(fact_calls=7, chunk_calls=6)

    asked, models = asked_with(play, history, tools_of, system)

    assert len(of(models, "facts")) <= 7
    assert len(of(models, "chunk")) == 6
    assert asked.stop == "max_iterations"
    assert {step.queries[0] for step in asked.steps if step.queries} >= set(names)


def test_a_reader_that_never_ends_leaves_the_others_their_share(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    play = Play(
        nodes=[("Amber", 90), ("knee", 80)],
        facts=[SKIP],
        neighbours=[go("Rita"), go("Ines")],
    )

    asked, _ = asked_with(play, history, tools_of, GraphReader(fact_calls=4))

    looked_up = [step.queries[0] for step in asked.steps]
    assert looked_up == ["Amber", "Rita", "knee", "Ines"]


def test_calls_that_a_reader_leaves_go_to_the_next(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    play = Play(
        nodes=[("Amber", 90), ("bakery", 80)],
        facts=[SKIP],
        neighbours=[STAY, go("Rita"), go("sister"), STAY],
    )

    asked, models = asked_with(play, history, tools_of, GraphReader(fact_calls=4))

    assert len(of(models, "facts")) == 4, "one of the first reader, three of the second"
    assert asked.stop == "max_iterations"


def test_an_unusable_choice_of_nodes_takes_the_nearest(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    play = Play(nodes=[("nobody", 50)], facts=[SKIP], neighbours=[STAY])

    asked, _ = asked_with(play, history, tools_of)

    assert len(asked.steps) == 5
    assert "no node was chosen" in asked.problem


def test_of_many_facts_those_that_share_words_with_the_question_are_shown(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    play = Play(nodes=[("Rita", 90)], facts=[SKIP], neighbours=[STAY])

    _, models = asked_with(play, history, tools_of, GraphReader(fact_tokens=12))

    shown = of(models, "facts")[0].messages[1].text.split("Facts of the node")[1]
    assert "is called Amber" in shown
    assert "sister" not in shown


def test_nodes_beyond_the_pool_are_not_offered(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    play = Play(nodes=[("Krakow", 90)], facts=[SKIP], neighbours=[STAY])

    _, models = asked_with(play, history, tools_of, GraphReader(node_pool=2))

    listed = of(models, "nodes")[0].messages[1].text.split("Nodes:\n")[1].splitlines()
    assert len(listed) == 2
    assert "bakery" in listed


def test_empty_notebooks_still_get_an_answer_call(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    play = Play(facts=[SKIP], neighbours=[STAY], answer="FINAL ANSWER: It is not mentioned.")

    asked, models = asked_with(play, history, tools_of)

    assert asked.abstained
    assert asked.shown == ()
    assert "(the notebooks are empty)" in models.requests[-1].messages[1].text


def test_an_empty_conversation_gives_an_answer_without_exploring(
    tools_of: Callable[..., Tools],
) -> None:
    empty = History(history_id="empty", sessions=(), turns=())
    play = Play(answer="FINAL ANSWER: It is not mentioned.")

    asked, models = asked_with(play, empty, tools_of)

    assert [one.role for one in models.requests] == ["plan", "answer"]
    assert asked.abstained


def test_a_spent_budget_passes_through(history: History, tools_of: Callable[..., Tools]) -> None:
    models = ScriptedModels(Play(facts=[SKIP], neighbours=[STAY]), max_calls=5)
    tools = tools_of(models)
    built = PER_SESSION.build(history, tools)

    with pytest.raises(BudgetExceeded):
        built.ask(ASKED, tools)


def test_a_question_leaves_the_graph_as_it_was(
    history: History, tools_of: Callable[..., Tools]
) -> None:
    def play() -> Play:
        return Play(facts=[read(2, 1)], chunks=[act("search_more", "A note.")], neighbours=[STAY])

    tools = tools_of(ScriptedModels(play()))
    built = PER_SESSION.build(history, tools)

    first = built.ask(ASKED, tools)
    second = built.ask(ASKED, tools)

    assert first == second


PROMPTS = (
    prompts.EXTRACT,
    prompts.PLAN,
    prompts.NODES,
    prompts.FACTS,
    prompts.CHUNK,
    prompts.NEIGHBOUR,
    prompts.ANSWER,
)
EXAMPLES = (
    (prompts.EXTRACT_SCHEMA, prompts.EXTRACT_EXAMPLE),
    (prompts.NODES_SCHEMA, prompts.NODES_EXAMPLE),
    (prompts.FACTS_SCHEMA, prompts.FACTS_EXAMPLE),
    (prompts.CHUNK_SCHEMA, prompts.CHUNK_EXAMPLE),
    (prompts.NEIGHBOUR_SCHEMA, prompts.NEIGHBOUR_EXAMPLE),
)


@pytest.mark.parametrize("prompt", PROMPTS, ids=lambda one: one.name)
def test_every_rule_stands_in_its_prompt(prompt: Prompt) -> None:
    assert all(sentence in prompt.system for sentence in prompt.rules.values())


@pytest.mark.parametrize(("schema", "example"), EXAMPLES)
def test_every_example_fits_its_schema(schema: JsonSchema, example: JsonValue) -> None:
    assert check(example, schema).fits
