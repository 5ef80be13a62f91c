"""SimpleMem: entries clear on their own, a planned search in three ways, and reflection on what is
missing (QEMem; baselines 1.11)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from evimem.eval.baselines import simple_mem_prompts as prompts
from evimem.eval.baselines.answering import asked_words
from evimem.eval.baselines.common import lines, room_of, say_data, within
from evimem.eval.baselines.simple_mem_store import Entries, Marks, texts_of, write
from evimem.eval.harness.system import Asked, Deviation, Shown, Step, Tools
from evimem.model.chat import JsonSchema, Role
from evimem.model.evidence import Question
from evimem.model.prompt import Prompt
from evimem.model.turn import History, JsonValue
from evimem.query.calls import Said, one_line
from evimem.query.qemem.reply import declines, final_answer
from evimem.scoring.tokens import estimate_tokens

__all__ = ["SimpleMem"]

PLAN_TOKENS = 300
ANSWER_TOKENS = 400
MOST_QUERIES = 4
"""Targeted queries beside the question itself."""
MOST_MISSING = 3
"""Queries for what is missing, per round of reflection."""
FIELD_CHARS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class SimpleMem:
    """The system."""

    name: str = "simplemem"
    """Its name."""
    window: int = 40
    """Turns that one call writes entries of."""
    overlap: int = 2
    """Turns that windows share."""
    written: int = 3
    """Entries of the window before that a call is shown."""
    dense: int = 25
    """Entries per query by likeness."""
    by_words: int = 5
    """Entries by keywords."""
    by_marks: int = 5
    """Entries by persons, time, place and entities."""
    rounds: int = 2
    """Rounds of reflection at most."""
    temperature: float = 0.1
    """Of every call."""
    tokens: int = 8000
    """Ceiling of the entries in a prompt."""
    traces_turns: bool = True
    """Entries name their messages."""

    @property
    def params(self) -> Mapping[str, str]:
        """All of the above."""
        return {
            "window": f"{self.window} turns, {self.overlap} shared",
            "written": f"{self.written} entries of the window before",
            "dense": f"{self.dense} per query",
            "by words": str(self.by_words),
            "by marks": str(self.by_marks),
            "reflection": f"{self.rounds} rounds",
            "temperature": str(self.temperature),
            "tokens": str(self.tokens),
        }

    @property
    def deviations(self) -> tuple[Deviation, ...]:
        """What differs."""
        return (
            Deviation(
                what="entries name the messages that they are from",
                why="the original keeps no sources, and recall by turn would be undefined",
            ),
            Deviation(
                what="a window whose reply cannot be used after the harness's own repair, or the"
                " end of one whose reply is cut, is stored as said",
                why="the original drops a window of 40 turns after three tries",
            ),
            Deviation(
                what="the last window shares turns with the one before, and windows are written"
                " one after the other",
                why="the original's last window has no overlap, and parallel windows do not see"
                " each other's entries",
            ),
            Deviation(
                what="an entry without a time has that of its message",
                why="nothing would tell when it was so",
            ),
            Deviation(
                what="entries that have the marks of the question are ordered by likeness",
                why="the first five of a table are the oldest, not the best",
            ),
            Deviation(
                what="texts are embedded by the run's embedder, words ranked by BM25",
                why="all systems of a run have the same ones",
            ),
            Deviation(
                what="reflection is on for every question",
                why="switching it off for some would need their category",
            ),
        )

    def build(self, history: History, tools: Tools) -> _Memory:
        """Write the entries, window by window."""
        entries, counts = write(
            [turn for turn in history.turns if turn.body.strip()],
            tools,
            size=self.window,
            overlap=self.overlap,
            shown=self.written,
            temperature=self.temperature,
        )
        return _Memory(system=self, entries=Entries(entries).index(tools), counts=counts)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Memory:
    """The entries."""

    system: SimpleMem
    entries: Entries
    counts: Mapping[str, int]

    @property
    def sizes(self) -> Mapping[str, int]:
        return {"entries": len(self.entries.entries), **self.counts}

    def stored(self) -> tuple[Shown, ...]:
        return tuple(one.shown() for one in self.entries.entries)

    def ask(self, question: Question, tools: Tools) -> Asked:
        """Plan, search, reflect, answer."""
        search = _Search(system=self.system, entries=self.entries, question=question, tools=tools)
        search.first()
        stop = search.reflect()
        return search.answer(stop)


class _Form(NamedTuple):
    """A prompt with the form of its reply."""

    prompt: Prompt
    schema: JsonSchema
    example: JsonValue


NEEDS = _Form(prompts.NEEDS, prompts.NEEDS_SCHEMA, prompts.NEEDS_EXAMPLE)
QUERIES = _Form(prompts.QUERIES, prompts.QUERIES_SCHEMA, prompts.QUERIES_EXAMPLE)
ANALYSE = _Form(prompts.ANALYSE, prompts.ANALYSE_SCHEMA, prompts.ANALYSE_EXAMPLE)
ENOUGH = _Form(prompts.ENOUGH, prompts.ENOUGH_SCHEMA, prompts.ENOUGH_EXAMPLE)
MISSING = _Form(prompts.MISSING, prompts.QUERIES_SCHEMA, prompts.QUERIES_EXAMPLE)
ANSWER = _Form(prompts.ANSWER, prompts.ANSWER_SCHEMA, prompts.ANSWER_EXAMPLE)


@dataclass(slots=True, kw_only=True)
class _Search:
    """The search for one question."""

    system: SimpleMem
    entries: Entries
    question: Question
    tools: Tools
    found: dict[int, None] = field(default_factory=dict)  # places in the order found
    asked: dict[str, None] = field(default_factory=dict)  # queries so far
    steps: list[Step] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def _say(self, form: _Form, user: str, role: Role, max_tokens: int = PLAN_TOKENS) -> Said:
        said = say_data(
            self.tools,
            form.prompt,
            user,
            schema=form.schema,
            example=form.example,
            role=role,
            max_tokens=max_tokens,
            temperature=self.system.temperature,
        )
        if said.problem:
            self.problems.append(f"{form.prompt.name}: {said.problem}")
        return said

    def first(self) -> None:
        """Three planning calls and the searches they give; what was asked is searched for too."""
        words = asked_words(self.question, self.tools)
        needs = texts_of(self._say(NEEDS, words, "plan").data.get("needs"))
        wanted = "".join(f"\n- {one}" for one in needs)
        planned = self._say(QUERIES, f"{words}\n\nInformation needed:{wanted or ' -'}", "plan")
        queries = texts_of(planned.data.get("queries"))[:MOST_QUERIES]
        marked = self._say(ANALYSE, words, "plan").data
        system, text = self.system, self.question.text
        new = self._like([text, *queries])
        new += self.entries.with_words(texts_of(marked.get("keywords")), system.by_words)
        marks = Marks(
            persons=texts_of(marked.get("persons")),
            entities=texts_of(marked.get("entities")),
            place=one_line(marked.get("place"), FIELD_CHARS),
            time=one_line(marked.get("time"), FIELD_CHARS),
        )
        today = None if self.tools.now is None else self.tools.now.date()
        new += self.entries.with_marks(
            marks, system.by_marks, query=text, today=today, tools=self.tools
        )
        self._take([text, *queries], new)

    def _like(self, queries: Iterable[str]) -> list[int]:
        fresh = [one for one in dict.fromkeys(queries) if one not in self.asked]
        self.asked.update(dict.fromkeys(fresh))
        return [at for one in fresh for at in self.entries.like(one, self.system.dense, self.tools)]

    def _take(self, queries: Sequence[str], places: Iterable[int]) -> int:
        """Adds what was found to what there is; how many entries are new."""
        new = [at for at in dict.fromkeys(places) if at not in self.found]
        self.found.update(dict.fromkeys(new))
        ids = dict.fromkeys(one for at in new for one in self.entries.entries[at].turn_ids)
        self.steps.append(Step(queries=tuple(dict.fromkeys(queries)), turn_ids=tuple(ids)))
        return len(new)

    def reflect(self) -> str:
        """Ask whether it is enough and search for what is missing; why that ended."""
        for _ in range(self.system.rounds):
            said = self._say(ENOUGH, self._prompt(prompts.ENOUGH, PLAN_TOKENS, "verify"), "verify")
            if said.problem:
                return "finished"
            if said.data.get("enough") is True:
                return "converged"
            said = self._say(MISSING, self._prompt(prompts.MISSING, PLAN_TOKENS, "plan"), "plan")
            queries = texts_of(said.data.get("queries"))[:MOST_MISSING]
            if not self._take(queries, self._like(queries)):
                return "exhausted"
        return "max_iterations" if self.system.rounds else "finished"

    def _kept(self, prompt: Prompt, reply: int, role: Role) -> tuple[Shown, ...]:
        """Entries found, as many as fit a prompt."""
        fixed = estimate_tokens(prompt.system + self.question.text) + 100
        model = self.tools.session.model(role)
        room = room_of(model, fixed=fixed, reply=reply, most=self.system.tokens)
        return within([self.entries.entries[at].shown() for at in self.found], room)

    def _prompt(self, prompt: Prompt, reply: int, role: Role) -> str:
        told = lines(self._kept(prompt, reply, role)) or "(none)"
        return f"Memories:\n{told}\n\n{asked_words(self.question, self.tools)}"

    def answer(self, stop: str) -> Asked:
        """The last call."""
        shown = self._kept(prompts.ANSWER, ANSWER_TOKENS, "answer")
        user = self._prompt(prompts.ANSWER, ANSWER_TOKENS, "answer")
        said = self._say(ANSWER, user, "answer", ANSWER_TOKENS)
        answer = final_answer(one_line(said.data.get("answer"), 2000))
        return Asked(
            answer=answer,
            abstained=bool(answer) and declines(answer),
            shown=shown,
            steps=tuple(self.steps),
            stop=stop,
            problem="; ".join(self.problems),
        )
