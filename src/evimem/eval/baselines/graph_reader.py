"""GraphReader: an agent that walks a graph of key elements and atomic facts, and reads the chunks
behind them (MERA's table; baselines 1.4).

From every initial node one reader sets out with a notebook of its own. It reads the facts of its
node, the chunks that it chooses, their neighbours in the conversation, and then a neighbouring node
of the graph. The answer is made from all notebooks.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from evimem.eval.baselines import graph_reader_prompts as prompts
from evimem.eval.baselines.answering import asked_words
from evimem.eval.baselines.common import (
    WordList,
    day_of,
    lines,
    read_answer,
    room_of,
    say,
    say_data,
    within,
)
from evimem.eval.baselines.graph_reader_graph import Graph, graph_of, raw_facts
from evimem.eval.baselines.reading import sections_of, told
from evimem.eval.harness.system import Asked, Deviation, Shown, Step, Tools
from evimem.model.chat import JsonSchema, Role
from evimem.model.evidence import Question
from evimem.model.prompt import Prompt
from evimem.model.turn import History, JsonValue
from evimem.query.calls import Said, one_line
from evimem.scoring.tokens import estimate_tokens

__all__ = ["GraphReader"]

NOTE_TOKENS = 400
"""Ceiling of a reply with notes and an action."""
NODES_TOKENS = 600
"""Ceiling of the choice of initial nodes."""
PLAN_TOKENS = 250
"""Ceiling of the rational plan."""
ANSWER_TOKENS = 400
"""Ceiling of the last reply: reasoning over the notebooks, and a phrase."""
NOTEBOOK_TOKENS = 6000
"""Ceiling of all notebooks before the answer model."""
MAX_NOTE = 500
"""Characters of a note that are kept."""

_End = Literal["terminated", "limit", "exhausted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphReader:
    """The system, with the parameters of MERA's adaptation for LoCoMo; its chunks have 4,000
    characters for LongMemEval."""

    name: str = "graph-reader"
    """Its name."""
    chunk_characters: int = 1000
    """Ceiling of a chunk."""
    initial_nodes: int = 5
    """Nodes kept of those that the model chose, one reader each."""
    node_pool: int = 50
    """Nodes offered to a choice; of more than these, the nearest to the question by cosine."""
    fact_calls: int = 12
    """Fact explorations of a question at most."""
    chunk_calls: int = 16
    """Chunk readings of a question at most."""
    temperature: float = 0.4
    """Of exploring: facts, chunks and neighbours; all else is at 0."""
    merge_cosine: float = 0.92
    """Similarity from which two key elements are one (ours: none is published)."""
    fact_tokens: int = 4000
    """Ceiling of the facts of one node in a prompt (ours)."""
    traces_turns: bool = True
    """Chunks know their turns."""

    @property
    def params(self) -> Mapping[str, str]:
        """Everything above."""
        return {
            "chunk_characters": str(self.chunk_characters),
            "initial_nodes": str(self.initial_nodes),
            "node_pool": str(self.node_pool),
            "fact_calls": str(self.fact_calls),
            "chunk_calls": str(self.chunk_calls),
            "temperature": str(self.temperature),
            "merge_cosine": str(self.merge_cosine),
            "fact_tokens": str(self.fact_tokens),
        }

    @property
    def deviations(self) -> tuple[Deviation, ...]:
        """What differs."""
        return (
            Deviation(
                what="new notes are appended to a notebook, not the notebook written anew",
                why="every rewrite loses details",
            ),
            Deviation(
                what="the chunk before or after is the one beside the chunk just read, and is read "
                "next",
                why="a public form never says which chunk is meant, and fails",
            ),
            Deviation(
                what="search_more reads the waiting chunks first, and then neighbours",
                why="the original leaves it open; its authors said so",
            ),
            Deviation(
                what="each of the readers has an equal share of the calls that are left",
                why="the published totals do not say how readers share them; the first one could "
                "take all",
            ),
            Deviation(
                what="a node is chosen from the 50 nearest to the question",
                why="all nodes of a conversation in one prompt do not scale",
            ),
            Deviation(
                what="of a node with more facts than fit, those that share words with question and "
                "plan are shown",
                why="a speaker's name has hundreds of facts",
            ),
            Deviation(
                what="only chunks that were read count as viewed turns; facts do not, and notes "
                "made from facts name no turns",
                why="a fact knows its chunk, not its turn, and a node shows facts of many chunks",
            ),
            Deviation(
                what="the messages of a chunk stand as facts where its extraction is unusable",
                why="no turn is lost",
            ),
        )

    def build(self, history: History, tools: Tools) -> _Built:
        """One call per chunk, and the graph."""
        chunks = sections_of(history.turns, most=self.chunk_characters, price=len, by_session=True)
        raw = raw_facts(chunks, tools, max_tokens=max(800, self.chunk_characters * 4 // 5))
        graph = graph_of(chunks, raw.facts, tools, merge=self.merge_cosine)
        return _Built(config=self, graph=graph, unusable=raw.unusable, dropped=raw.dropped)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Built:
    """A conversation as a graph."""

    config: GraphReader
    graph: Graph
    unusable: int
    dropped: int

    @property
    def sizes(self) -> Mapping[str, int]:
        graph = self.graph
        return {
            "chunks": len(graph.chunks),
            "facts": len(graph.facts),
            "nodes": len(graph.names),
            "without_facts": len(graph.chunks) - len({fact.chunk for fact in graph.facts}),
            "unusable": self.unusable,
            "dropped": self.dropped,
        }

    def stored(self) -> tuple[Shown, ...]:
        chunks = self.graph.chunks
        facts = (
            Shown(
                text=fact.text,
                said_at=chunks[fact.chunk].said_at,
                turn_ids=chunks[fact.chunk].turn_ids,
            )
            for fact in self.graph.facts
        )
        return (*facts, *(Shown(text=one.text, turn_ids=one.turn_ids) for one in chunks))

    def ask(self, question: Question, tools: Tools) -> Asked:
        """Plan, initial nodes, one reader for each, and the answer over their notebooks."""
        search = _Search(config=self.config, graph=self.graph, question=question, tools=tools)
        return search.run()


@dataclass(slots=True, kw_only=True)
class _Reader:
    """One reader: its notebook, what it did, and its queues."""

    start: int
    """The node that it set out from."""
    fact_calls: int
    """Fact explorations left to it."""
    chunk_calls: int
    """Chunk readings left to it."""
    notes: list[Shown] = field(default_factory=list)
    """The notebook."""
    done: list[str] = field(default_factory=list)
    """What it did, in words."""
    nodes: deque[int] = field(default_factory=deque)
    """Nodes whose facts it will read."""
    chunks: deque[int] = field(default_factory=deque)
    """Chunks that it will read."""
    seen_nodes: set[int] = field(default_factory=set)
    """Nodes whose facts it read."""
    seen_chunks: set[int] = field(default_factory=set)
    """Chunks that it read."""
    end: _End = "exhausted"
    """Why it ended."""

    def note(self, said: Said, turn: Shown) -> bool:
        """Append what a reply noted and the notebook does not hold; True if there was any.

        Args:
            said: the reply.
            turn: time and turns that its notes get.
        """
        before = len(self.notes)
        known = {one.text.casefold() for one in self.notes}
        items = said.data.get("notes")
        for item in items if isinstance(items, list) else []:
            text = one_line(item, MAX_NOTE)
            if text and text.casefold() not in known:
                known.add(text.casefold())
                self.notes.append(Shown(text=text, said_at=turn.said_at, turn_ids=turn.turn_ids))
        return len(self.notes) > before


@dataclass(slots=True, kw_only=True)
class _Search:
    """One question."""

    config: GraphReader
    graph: Graph
    question: Question
    tools: Tools
    plan: str = ""
    steps: list[Step] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def run(self) -> Asked:
        """Everything from the plan to the answer."""
        said = say(self.tools, prompts.PLAN, self._asked(), role="plan", max_tokens=PLAN_TOKENS)
        self.problems.append(said.problem)
        self.plan = said.raw.strip() if not said.problem else ""
        starts = self._initial()
        readers: list[_Reader] = []
        facts, chunks = self.config.fact_calls, self.config.chunk_calls
        for number, node in enumerate(starts):
            left = len(starts) - number
            share, reads = math.ceil(facts / left), math.ceil(chunks / left)
            reader = _Reader(start=node, fact_calls=share, chunk_calls=reads)
            self._explore(reader)
            facts -= share - reader.fact_calls
            chunks -= reads - reader.chunk_calls
            readers.append(reader)
        return self._answer(readers)

    def _asked(self) -> str:
        return asked_words(self.question, self.tools)

    def _say(
        self,
        prompt: Prompt,
        user: str,
        *,
        schema: JsonSchema,
        example: JsonValue,
        role: Role,
        max_tokens: int = NOTE_TOKENS,
        temperature: float = 0.0,
    ) -> Said:
        """One call for JSON; problems are noted."""
        said = say_data(
            self.tools,
            prompt,
            user,
            schema=schema,
            example=example,
            role=role,
            max_tokens=max_tokens,
            temperature=temperature,
        )
        self.problems.extend((said.problem, *said.dropped))
        return said

    def _initial(self) -> list[int]:
        """The nodes to set out from, best first; the nearest ones if the choice is unusable."""
        everything = range(len(self.graph.names))
        pool = self.graph.nearest(self.question.text, self.config.node_pool, everything, self.tools)
        if not pool:
            return []
        listed = "\n".join(self.graph.names[node] for node in pool)
        said = self._say(
            prompts.NODES,
            f"{self._asked()}\n\nPlan:\n{self.plan or '(none)'}\n\nNodes:\n{listed}",
            schema=prompts.NODES_SCHEMA,
            example=prompts.NODES_EXAMPLE,
            role="plan",
            max_tokens=NODES_TOKENS,
        )
        scored: dict[int, int] = {}
        items = said.data.get("nodes")
        for item in items if isinstance(items, list) else []:
            if not isinstance(item, dict):
                continue
            node = self.graph.find(one_line(item.get("name"), 200), pool)
            score = item.get("score")
            if node is not None and isinstance(score, int):
                scored[node] = max(score, scored.get(node, score))
        chosen = sorted(scored, key=lambda node: -scored[node])
        if not chosen:
            self.problems.append("no node was chosen: the nearest ones are taken")
            chosen = self.graph.nearest(
                self.question.text, self.config.initial_nodes, pool, self.tools
            )
        return chosen[: self.config.initial_nodes]

    def _explore(self, reader: _Reader) -> None:
        """From its node on, until it ends."""
        reader.nodes.append(reader.start)
        while reader.nodes:
            if reader.fact_calls < 1:
                reader.end = "limit"
                return
            node = reader.nodes.popleft()
            self._read_facts(reader, node)
            if self._read_chunks(reader):
                return
            self._choose_neighbour(reader, node)

    def _before(self, reader: _Reader) -> str:
        """What every prompt of a reader begins with."""
        notes = "\n".join(f"- {one.text}" for one in reader.notes) or "(empty)"
        done = "\n".join(f"- {one}" for one in reader.done) or "(nothing)"
        return (
            f"{self._asked()}\n\nPlan:\n{self.plan or '(none)'}\n\n"
            f"Notebook:\n{notes}\n\nDone so far:\n{done}"
        )

    def _read_facts(self, reader: _Reader, node: int) -> None:
        """One fact exploration: notes, and chunks into the queue."""
        name, before = self.graph.names[node], self._before(reader)
        room = room_of(
            self.tools.session.model("verify"),
            fixed=estimate_tokens(prompts.FACTS.system + before) + 100,
            reply=NOTE_TOKENS,
            most=self.config.fact_tokens,
        )
        groups = self._facts(node, room)
        blocks = [f"{self._title(chunk)}:\n" + "\n".join(told) for chunk, told in groups.items()]
        reader.fact_calls -= 1
        reader.seen_nodes.add(node)
        said = self._say(
            prompts.FACTS,
            f'{before}\n\nFacts of the node "{name}":\n' + "\n".join(blocks),
            schema=prompts.FACTS_SCHEMA,
            example=prompts.FACTS_EXAMPLE,
            role="verify",
            temperature=self.config.temperature,
        )
        reader.note(said, Shown(text=""))
        reader.done.append(f'read the facts of "{name}"')
        self.steps.append(Step(queries=(name,)))
        wanted = said.data.get("chunks") if said.data.get("action") == "read_chunk" else None
        for number in wanted if isinstance(wanted, list) else []:
            place = number - 1 if isinstance(number, int) else -1
            if place in groups and place not in reader.seen_chunks:
                reader.chunks.append(place)

    def _facts(self, node: int, room: int) -> dict[int, list[str]]:
        """The facts of a node by chunk, in order; where they do not fit, those that share most with
        question and plan."""
        facts = list(self.graph.facts_of[node])
        cost = {one: estimate_tokens(self.graph.facts[one].text) + 2 for one in facts}
        if sum(cost.values()) > room:
            texts = WordList([(str(one), self.graph.facts[one].text) for one in facts])
            found = texts.search(f"{self.question.text} {self.plan}", len(facts))
            ranked = dict.fromkeys([*(int(one) for one, _ in found), *facts])
            spent = 0
            kept: list[int] = []
            for one in ranked:
                spent += cost[one]
                if kept and spent > room:
                    break
                kept.append(one)
            facts = sorted(kept)
        groups: dict[int, list[str]] = {}
        for one in facts:
            fact = self.graph.facts[one]
            groups.setdefault(fact.chunk, []).append(f"- {fact.text}")
        return groups

    def _title(self, place: int) -> str:
        """A chunk by its number, and when it was said."""
        day = day_of(self.graph.chunks[place].said_at)
        return f"Chunk {place + 1} ({day})" if day else f"Chunk {place + 1}"

    def _read_chunks(self, reader: _Reader) -> bool:
        """Read what waits; True if that ended the reader."""
        while reader.chunks:
            place = reader.chunks.popleft()
            if place in reader.seen_chunks:
                continue
            if reader.chunk_calls < 1:
                reader.end = "limit"
                return True
            action = self._read_chunk(reader, place)
            if action == "termination":
                reader.end = "terminated"
                return True
            beside = {"read_previous": place - 1, "read_subsequent": place + 1}.get(action, -1)
            if 0 <= beside < len(self.graph.chunks) and beside not in reader.seen_chunks:
                reader.chunks.appendleft(beside)
        return False

    def _read_chunk(self, reader: _Reader, place: int) -> str:
        """One chunk reading: notes, and the action; search_more if the reply is unusable."""
        chunk = self.graph.chunks[place]
        reader.chunk_calls -= 1
        reader.seen_chunks.add(place)
        said = self._say(
            prompts.CHUNK,
            f"{self._before(reader)}\n\n{self._title(place)}:\n{chunk.text}",
            schema=prompts.CHUNK_SCHEMA,
            example=prompts.CHUNK_EXAMPLE,
            role="verify",
            temperature=self.config.temperature,
        )
        noted = reader.note(said, Shown(text="", said_at=chunk.said_at, turn_ids=chunk.turn_ids))
        reader.done.append(f"read chunk {place + 1}")
        accepted = chunk.turn_ids if noted else ()
        self.steps.append(Step(turn_ids=chunk.turn_ids, accepted=accepted))
        return one_line(said.data.get("action"), 40)

    def _choose_neighbour(self, reader: _Reader, node: int) -> None:
        """Where to go on, or nowhere."""
        if reader.fact_calls < 1:
            reader.end = "limit"
            return
        beside = [one for one in self.graph.neighbours(node) if one not in reader.seen_nodes]
        pool = self.graph.nearest(self.question.text, self.config.node_pool, beside, self.tools)
        if not pool:
            return
        listed = "\n".join(self.graph.names[one] for one in pool)
        said = self._say(
            prompts.NEIGHBOUR,
            f'{self._before(reader)}\n\nNeighbours of "{self.graph.names[node]}":\n{listed}',
            schema=prompts.NEIGHBOUR_SCHEMA,
            example=prompts.NEIGHBOUR_EXAMPLE,
            role="plan",
            max_tokens=100,
            temperature=self.config.temperature,
        )
        if said.data.get("action") != "read_neighbor":
            return
        chosen = self.graph.find(one_line(said.data.get("node"), 200), pool)
        if chosen is None:
            self.problems.append("a neighbour was named that is none")
            return
        reader.nodes.append(chosen)

    def _answer(self, readers: list[_Reader]) -> Asked:
        """The answer over all notebooks."""
        model = self.tools.session.model("answer")
        fixed = estimate_tokens(prompts.ANSWER.system + self.question.text) + 150
        room = room_of(model, fixed=fixed, reply=ANSWER_TOKENS, most=NOTEBOOK_TOKENS)
        kept = within([note for reader in readers for note in reader.notes], room)
        books: list[str] = []
        at = 0
        for reader in readers:
            notes, at = kept[at : at + len(reader.notes)], at + len(reader.notes)
            if notes:
                title = f'Notebook {len(books) + 1} (began at "{self.graph.names[reader.start]}")'
                books.append(f"{title}:\n{lines(notes)}")
        said = say(
            self.tools,
            prompts.ANSWER,
            "\n\n".join([*(books or ["(the notebooks are empty)"]), self._asked()]),
            role="answer",
            max_tokens=ANSWER_TOKENS,
        )
        answer, abstained = read_answer(said)
        return Asked(
            answer=answer,
            abstained=abstained,
            shown=kept,
            steps=tuple(self.steps),
            stop=_stop({reader.end for reader in readers}),
            problem=told(*self.problems, said.problem),
        )


def _stop(ends: set[_End]) -> str:
    """Why a question's search ended, from how its readers did."""
    if "terminated" in ends:
        return "converged"
    return "max_iterations" if "limit" in ends else "exhausted"
