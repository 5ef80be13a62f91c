"""A-MEM: a note for every turn, with links and a description that later notes change (baselines
1.6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from evimem.eval.baselines.a_mem_prompts import (
    ANALYSIS,
    ANALYSIS_EXAMPLE,
    ANALYZE,
    ANSWER,
    EVOLUTION,
    EVOLUTION_EXAMPLE,
    EVOLVE,
    KEYWORDS,
    KEYWORDS_EXAMPLE,
    QUERY,
)
from evimem.eval.baselines.answering import answered
from evimem.eval.baselines.common import VectorList, say_data
from evimem.eval.baselines.fact_bank import fitted, label_of, room_for, rows_of, texts_of
from evimem.eval.harness.system import Asked, Deviation, Shown, Step, Tools
from evimem.model.chat import JsonSchema, Role
from evimem.model.evidence import Question
from evimem.model.prompt import Prompt
from evimem.model.turn import History, JsonValue, Turn
from evimem.query.calls import Said, one_line
from evimem.scoring.tokens import estimate_tokens

__all__ = ["AMem"]

ANALYSIS_TOKENS = 300
EVOLUTION_TOKENS = 800
QUERY_TOKENS = 150
MAX_CONTEXT = 400
"""Characters of a context sentence that are kept."""
_HEARD = 2000
"""Ceiling in tokens of the new note's words in the prompt of an evolution."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AMem:
    """The system: two calls for each turn (one for the first), two for each question."""

    name: str = "a-mem"
    """Its name."""
    neighbors: int = 5
    """Nearest notes that a new note is compared with."""
    k: int = 10
    """Notes that a question finds; each brings up to as many linked ones. The paper tunes it from
    10 to 50."""
    temperature: float = 0.7
    """Of every call."""
    tokens: int = 8000
    """Ceiling of what any prompt shows, where the model's window is unknown or larger."""
    traces_turns: bool = True
    """A note is a turn."""

    @property
    def params(self) -> Mapping[str, str]:
        """Numbers of notes and the temperature; prompts by hash."""
        return {
            "neighbors": str(self.neighbors),
            "k": str(self.k),
            "temperature": str(self.temperature),
            "tokens": str(self.tokens),
            "prompts": " ".join(p.tag for p in (ANALYZE, EVOLVE, QUERY, ANSWER)),
        }

    @property
    def deviations(self) -> tuple[Deviation, ...]:
        """What differs."""
        return (
            Deviation(
                what="links and changed neighbours go by the note's id, from numbers that are "
                "shown; a number that was not shown is refused and counted",
                why="places in a list point at other notes as soon as the order differs",
            ),
            Deviation(
                what="a changed note is encoded anew at once, and there is no consolidation",
                why="the original searches by the old words until every hundredth change",
            ),
            Deviation(
                what="one answer prompt for every question, which may say that nothing is told",
                why="the original chooses it by the gold category and shows the gold answer of "
                "adversarial questions as an option",
            ),
            Deviation(
                what="a turn whose description cannot be read is a note without one; an "
                "unreadable evolution changes nothing; both are counted",
                why="the original stops with an undefined variable",
            ),
            Deviation(
                what="a note is found once, although it may be linked from several",
                why="repeated words would only fill the prompt",
            ),
            Deviation(
                what="the embedder of the run; times are moments and not the source's words",
                why="all systems of a run search with the same vectors and are read alike",
            ),
            Deviation(
                what="blank turns make no note; where notes do not fit the prompt of an evolution, "
                "each is cut to its share there and counted",
                why="a conversation must not fail for long turns",
            ),
        )

    def build(self, history: History, tools: Tools) -> _Notes:
        """A note for each turn, in order.

        Raises:
            ModelError: a model could not be reached.
            BudgetExceeded: the ceiling of calls or tokens is reached.
        """
        growing = _Growing(self, tools)
        for turn in history.turns:
            if turn.body.strip():
                growing.add(turn)
        return _Notes(
            system=self, notes=growing.notes, vectors=growing.vectors, counts=growing.counts
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Note:
    """One turn and its description."""

    turn: Turn
    keywords: tuple[str, ...] = ()
    context: str = ""
    tags: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    """Ids of notes, which are those of their turns."""

    @property
    def said(self) -> str:
        """The words as neighbours are searched with."""
        return f"{self.turn.speaker} says: {self.turn.body}"

    @property
    def searched(self) -> str:
        """The text that is encoded."""
        return (
            f"content: {self.said} context: {self.context} keywords: {', '.join(self.keywords)} "
            f"tags: {', '.join(self.tags)}"
        )

    @property
    def shown(self) -> Shown:
        """The words with their description, as the answer prompt shows them."""
        parts = (
            ("context", self.context),
            ("keywords", ", ".join(self.keywords)),
            ("tags", ", ".join(self.tags)),
        )
        about = "; ".join(f"{name}: {value}" for name, value in parts if value)
        return Shown(
            text=f"{self.turn.body} ({about})" if about else self.turn.body,
            said_at=self.turn.said_at,
            speaker=self.turn.speaker,
            turn_ids=(self.turn.turn_id,),
        )


class _Growing:
    """The notes while they are made."""

    def __init__(self, system: AMem, tools: Tools) -> None:
        self._system = system
        self._tools = tools
        self.notes: dict[str, _Note] = {}
        self.vectors = VectorList()
        self.counts: Counter[str] = Counter()

    def add(self, turn: Turn) -> None:
        """Describe a turn, relate it to what is there, and keep it."""
        note = self._described(turn)
        near = self.vectors.search(note.said, self._system.neighbors, self._tools)
        if near:
            note = self._evolved(note, [self.notes[one] for one, _ in near])
        self._keep(note)

    def _described(self, turn: Turn) -> _Note:
        room = self._room("extract", ANALYZE, ANALYSIS, ANALYSIS_TOKENS)
        said = say_data(
            self._tools,
            ANALYZE,
            "Message:\n" + "\n".join(fitted([turn], room, self.counts)),
            schema=ANALYSIS,
            example=ANALYSIS_EXAMPLE,
            role="extract",
            phase="summary",
            max_tokens=ANALYSIS_TOKENS,
            temperature=self._system.temperature,
        )
        if said.problem:
            self.counts["unusable"] += 1
        return _Note(
            turn=turn,
            keywords=tuple(texts_of(said.data.get("keywords"))),
            context=one_line(said.data.get("context"), MAX_CONTEXT),
            tags=tuple(texts_of(said.data.get("tags"))),
        )

    def _evolved(self, note: _Note, near: Sequence[_Note]) -> _Note:
        """The note with its links and tags, after its neighbours were changed."""
        room = self._room("manage", EVOLVE, EVOLUTION, EVOLUTION_TOKENS)
        own = min(_HEARD, room // 2)  # of the prompt; the near notes share the rest
        each = max(40, (room - own) // len(near))
        told = "\n\n".join(f"number: {n}\n{self._card(one, each)}" for n, one in enumerate(near))
        said = say_data(
            self._tools,
            EVOLVE,
            f"New note:\n{self._card(note, own)}\n\nNearest notes:\n{told}",
            schema=EVOLUTION,
            example=EVOLUTION_EXAMPLE,
            role="manage",
            phase="update",
            max_tokens=EVOLUTION_TOKENS,
            temperature=self._system.temperature,
        )
        if said.problem:
            self.counts["unusable"] += 1
        if said.data.get("should_evolve") is not True:
            return note
        self.counts["evolved"] += 1
        return self._changed(note, said, {str(n): one for n, one in enumerate(near)})

    def _room(self, role: Role, prompt: Prompt, schema: JsonSchema, reply: int) -> int:
        most = self._system.tokens
        return room_for(self._tools, role, prompt, schema=schema, reply=reply, most=most)

    def _card(self, note: _Note, tokens: int) -> str:
        """A note in a prompt; its description is shown whole, and its words as far as they fit."""
        about = (
            f"context: {note.context}\nkeywords: {', '.join(note.keywords)}\n"
            f"tags: {', '.join(note.tags)}"
        )
        room = max(20, tokens - estimate_tokens(about) - 30)
        words = "\n".join(fitted([note.turn], room, self.counts))
        return f"message: {words}\n{about}"

    def _changed(self, note: _Note, said: Said, near: Mapping[str, _Note]) -> _Note:
        """What the reply wants, done to the neighbours and to the note that is given back."""
        actions = texts_of(said.data.get("actions"))
        if "update_neighbor" in actions:
            for row in rows_of(said, "neighbors"):
                self._change(near.get(label_of(row.get("id"))), row)
        if "strengthen" not in actions:
            return note
        wanted = [label_of(one) for one in texts_of(said.data.get("connections"))]
        links = tuple(near[one].turn.turn_id for one in wanted if one in near)
        self.counts["refused"] += len(wanted) - len(links)
        self.counts["links"] += len(links)
        tags = tuple(texts_of(said.data.get("tags")))
        return replace(note, links=links, tags=tags or note.tags)

    def _change(self, old: _Note | None, row: Mapping[str, JsonValue]) -> None:
        """Describe a neighbour anew; blank parts leave the old ones."""
        if old is None:
            self.counts["refused"] += 1
            return
        present = self.notes[old.turn.turn_id]
        new = replace(
            present,
            context=one_line(row.get("context"), MAX_CONTEXT) or present.context,
            tags=tuple(texts_of(row.get("tags"))) or present.tags,
        )
        if new != present:
            self.counts["changed"] += 1
            self._keep(new)

    def _keep(self, note: _Note) -> None:
        self.notes[note.turn.turn_id] = note
        self.vectors.put(note.turn.turn_id, note.searched, self._tools)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Notes:
    """A conversation taken in; read-only."""

    system: AMem
    notes: Mapping[str, _Note]
    vectors: VectorList
    counts: Mapping[str, int]

    @property
    def sizes(self) -> Mapping[str, int]:
        happened = {what: count for what, count in self.counts.items() if count}
        return {"notes": len(self.notes), **happened}

    def stored(self) -> tuple[Shown, ...]:
        return tuple(note.shown for note in self.notes.values())

    def ask(self, question: Question, tools: Tools) -> Asked:
        """Search words by a call, their notes with what is linked to them, then the answer."""
        said = say_data(
            tools,
            QUERY,
            f"Question: {question.text}",
            schema=KEYWORDS,
            example=KEYWORDS_EXAMPLE,
            role="plan",
            max_tokens=QUERY_TOKENS,
            temperature=self.system.temperature,
        )
        query = ", ".join(texts_of(said.data.get("keywords"))) or question.text
        found = self._found(query, tools)
        asked = answered(
            question,
            tools,
            prompt=ANSWER,
            shown=[note.shown for note in found],
            steps=(Step(queries=(query,), turn_ids=tuple(one.turn.turn_id for one in found)),),
            tokens=self.system.tokens,
            temperature=self.system.temperature,
        )
        problems = [one for one in (said.problem, asked.problem) if one]
        return replace(asked, problem="; ".join(problems))

    def _found(self, query: str, tools: Tools) -> list[_Note]:
        """Notes by cosine, each followed by the notes that it links to."""
        found: dict[str, _Note] = {}
        for note_id, _ in self.vectors.search(query, self.system.k, tools):
            for one in (note_id, *self.notes[note_id].links[: self.system.k]):
                found.setdefault(one, self.notes[one])
        return list(found.values())
