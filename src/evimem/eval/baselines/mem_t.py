"""Mem-T: memories of four kinds beside the turns, searched in steps (Uni-Mem, baselines 1.18).

Write and search form with an untrained policy: the trained weights and the training are not part
of it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from evimem.eval.baselines import mem_t_prompts as prompts
from evimem.eval.baselines.answering import REPLY_TOKENS, answered, asked_words
from evimem.eval.baselines.common import lines, read_answer, room_of, say_data, within
from evimem.eval.baselines.mem_t_build import Bank, Batch, Builder, Kind, Memory, batches_of
from evimem.eval.harness.system import Asked, Deviation, Shown, Step, Tools
from evimem.model.evidence import Question
from evimem.model.turn import History, JsonValue, Turn
from evimem.query.calls import Said, one_line
from evimem.scoring.tokens import estimate_tokens

__all__ = ["MemT"]

_STEP_TOKENS = 400
"""Ceiling of the reply in a step."""
_LEAST = 80
"""Estimated tokens of room below which no further search is made."""
_KINDS: Mapping[str, Kind] = {
    "search_facts": "fact",
    "search_experiences": "experience",
    "search_summary": "summary",
    "search_personas": "persona",
}
_DEVIATIONS = (
    Deviation(
        what="the policy is the run's model, untrained",
        why="neither the weights nor the training code can be had",
    ),
    Deviation(
        what="tools are fields of a JSON reply, and the steps so far are one message",
        why="works with every model alike; the original reads tool calls out of plain text",
    ),
    Deviation(
        what="one form of answers for all questions",
        why="fault: the question's category chose the form; it cannot be reached here",
    ),
    Deviation(
        what="a step that finds nothing new, repeats a call or cannot be read says so in the next "
        "prompt; a repeated call is not made, and a search without words takes the question's",
        why="fault: an empty result left the prompt as it was, so that at temperature 0 the same "
        "call came until the steps ran out, and an unreadable one was replaced by an error text",
    ),
    Deviation(
        what="turns seen are told apart one by one, whichever tool showed them, and no memory is "
        "shown twice either",
        why="fault: batches and single turns were compared with each other as texts",
    ),
    Deviation(
        what="an item without a usable operation is added, an update of an unknown id too",
        why="fault: what a model did not write in the right form was lost",
    ),
    Deviation(
        what="the system keeps the times of what is changed; sources stay in the order said",
        why="fault: the model had to repeat the time of the turn, and sources went through a set",
    ),
    Deviation(
        what="memories shown have a ceiling that fits the window; what does not fit is not shown, "
        "and without room the search ends",
        why="a persona brings every turn that it was ever changed in, up to the whole conversation",
    ),
    Deviation(
        what="vectors of summaries and personas are of their words without the sources, those of "
        "facts and experiences with the first eight source turns; all are of the run's embedder",
        why="the original's embedder reads the beginning alone; one embedder for all systems",
    ),
    Deviation(
        what="a vector of turns is of their words with the time once, at the end",
        why="in every line it drowned the words: five batches brought 0.28 instead of 0.43 of the "
        "evidence of 60 questions of the tuning conversation conv-26",
    ),
    Deviation(
        what="prompts are in words of our own",
        why="nothing is copied",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemT:
    """The system."""

    name: str = "mem-t"
    """Its name."""
    batch: int = 4
    """Turns per formation call."""
    similar: int = 3
    """Kept items that an evolution call sees."""
    top_k: int = 5
    """Results of a search for turns, facts or experiences."""
    most_turns: int = 50
    """Batches of turns that the policy may ask for in one step."""
    steps: int = 6
    """Steps at most, the one that finishes among them."""
    temperature: float = 0.0
    """Of all calls."""
    memory_tokens: int = 16_000
    """Ceiling of what all steps together show."""
    traces_turns: bool = True
    """Every memory knows the batches that it came from."""

    @property
    def params(self) -> Mapping[str, str]:
        """Every parameter."""
        return {
            "batch": str(self.batch),
            "similar": str(self.similar),
            "top_k": str(self.top_k),
            "most_turns": str(self.most_turns),
            "steps": str(self.steps),
            "temperature": str(self.temperature),
            "memory_tokens": str(self.memory_tokens),
            "policy": "untrained",
        }

    @property
    def deviations(self) -> tuple[Deviation, ...]:
        """What differs from the published form."""
        return _DEVIATIONS

    def build(self, history: History, tools: Tools) -> _Written:
        """One formation call per batch and one evolution call per fact and experience.

        Raises:
            ModelError: a model could not be reached.
            BudgetExceeded: the ceiling of calls or tokens is reached.
        """
        builder = Builder(tools, similar=self.similar, temperature=self.temperature)
        for batch in batches_of(history, self.batch):
            builder.take(batch)
        builder.bank.seal(tools)
        return _Written(bank=builder.bank, system=self)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Written:
    """A conversation taken in."""

    bank: Bank
    system: MemT

    @property
    def sizes(self) -> Mapping[str, int]:
        memories = self.bank.memories
        return {
            "turns": sum(len(batch.turns) for batch in self.bank.batches.values()),
            "batches": len(self.bank.batches),
            "facts": len(memories["fact"]),
            "experiences": len(memories["experience"]),
            "personas": len(memories["persona"]),
            "summaries": len(memories["summary"]),
            "unusable": self.bank.unusable,
        }

    def stored(self) -> tuple[Shown, ...]:
        turns = [_shown(turn) for batch in self.bank.batches.values() for turn in batch.turns]
        memories = self.bank.memories.values()
        return (*turns, *(memory.shown for kind in memories for memory in kind.values()))

    def ask(self, question: Question, tools: Tools) -> Asked:
        """Search step by step until the policy finishes; else one answer over all that was seen."""
        search = _Search(question=question, tools=tools, bank=self.bank, system=self.system)
        finished = search.run()
        if finished is not None:
            return finished
        asked = answered(
            question,
            tools,
            prompt=prompts.ANSWER,
            shown=search.shown,
            steps=tuple(search.steps),
            stop=search.stop,
            tokens=self.system.memory_tokens,
            temperature=self.system.temperature,
        )
        return search.with_problems(asked)


@dataclass(slots=True, kw_only=True)
class _Search:
    """The search for one question."""

    question: Question
    tools: Tools
    bank: Bank
    system: MemT
    steps: list[Step] = field(default_factory=list)
    """Steps that searched."""
    shown: list[Shown] = field(default_factory=list)
    """All that was seen, in order, each once."""
    stop: str = "max_iterations"
    """Why it ended without an answer."""
    _told: list[str] = field(default_factory=list)
    """The steps so far, as the next prompt tells them."""
    _seen: set[str] = field(default_factory=set)
    _calls: set[tuple[str, str, str, int]] = field(default_factory=set)
    _problems: list[str] = field(default_factory=list)
    _cost: int = 0

    def run(self) -> Asked | None:
        """Steps until one finishes; None if none did."""
        for number in range(self.system.steps):
            if self._room() < _LEAST:
                self.stop = "budget"
                return None
            said = self._step(number)
            if said.problem:
                self._problems.append(f"step {number + 1}: {said.problem}")
                self._tell(number, "(unreadable)", "The reply was no call of a tool. Call one.")
                continue
            answer = one_line(said.data.get("answer"), 1000)
            if said.data.get("tool") == "finish":
                if answer:
                    return self._finished(answer)
                self._tell(number, "finish", "There was no answer in it. Give one, or search.")
                continue
            self._look(number, said.data)
        return None

    def with_problems(self, asked: Asked) -> Asked:
        """The answer with what went wrong on the way."""
        told = [*self._problems, *filter(None, (asked.problem,))]
        return dataclasses.replace(asked, problem="; ".join(told))

    def _finished(self, answer: str) -> Asked:
        text, abstained = read_answer(Said(raw=answer))
        return self.with_problems(
            Asked(
                answer=text,
                abstained=abstained,
                shown=tuple(self.shown),
                steps=tuple(self.steps),
                stop="converged",
            )
        )

    def _room(self) -> int:
        """Estimated tokens that may still be shown to the policy and to the answer model."""
        fixed = estimate_tokens(prompts.SEARCH.system + self.question.text) + 150
        reply = max(_STEP_TOKENS, REPLY_TOKENS)
        session, most = self.tools.session, self.system.memory_tokens
        rooms = [
            room_of(session.model(role), fixed=fixed, reply=reply, most=most)
            for role in ("plan", "answer")
        ]
        return min(rooms) - self._cost

    def _step(self, number: int) -> Said:
        left = self.system.steps - number
        ending = "This is the last step: finish." if left == 1 else f"Steps left: {left}."
        told = "\n\n".join([asked_words(self.question, self.tools), *self._told, ending])
        return say_data(
            self.tools,
            prompts.SEARCH,
            told,
            schema=prompts.SEARCH_SCHEMA,
            example=prompts.SEARCH_EXAMPLE,
            role="plan",
            max_tokens=_STEP_TOKENS,
            temperature=self.system.temperature,
        )

    def _look(self, number: int, data: Mapping[str, JsonValue]) -> None:
        """One search, told to the next prompt, whatever it finds."""
        tool = str(data.get("tool"))
        query, name = one_line(data.get("query"), 400), one_line(data.get("name"), 100)
        asked_for = data.get("top_k")
        top_k = asked_for if isinstance(asked_for, int) and asked_for > 0 else self.system.top_k
        top_k = min(top_k, self.system.most_turns)
        thought = one_line(data.get("thought"), 400)
        call = " ".join(filter(None, (tool, name, query)))
        wanted = (tool, query.casefold(), name.casefold(), top_k if tool == "search_turns" else 0)
        if wanted in self._calls:
            self._tell(number, call, "This call was made before. Ask for something else.")
            return
        self._calls.add(wanted)
        memories, turns = self._found(tool, query, name, top_k)
        fresh, turn_ids = self._fresh(memories, turns)
        words = query or name or self.question.text
        self.steps.append(Step(queries=(words,), turn_ids=turn_ids))
        found = lines(fresh) or "Nothing that was not shown before."
        self._tell(number, f"{call}\nThought: {thought}" if thought else call, found)

    def _found(
        self, tool: str, query: str, name: str, top_k: int
    ) -> tuple[list[Memory], list[Turn]]:
        """What a tool brings: memories, and the turns behind them or in batches."""
        if tool == "search_turns":
            found: Sequence[Batch] = self.bank.search_turns(
                query or self.question.text, top_k, self.tools
            )
            return [], [turn for batch in found for turn in batch.turns]
        kind = _KINDS[tool]
        memories = self._memories(kind, query, name)
        return memories, [turn for memory in memories for turn in memory.turns]

    def _memories(self, kind: Kind, query: str, name: str) -> list[Memory]:
        kept = self.bank.memories[kind]
        if kind == "persona" and name.casefold() in kept:
            return [kept[name.casefold()]]
        if kind == "summary" and not query:
            return list(kept.values())[-1:]
        k = 1 if kind in ("persona", "summary") else self.system.top_k
        words = (query or name) if kind == "persona" else query
        return self.bank.search(kind, words or self.question.text, k, self.tools)

    def _fresh(
        self, memories: Sequence[Memory], turns: Sequence[Turn]
    ) -> tuple[tuple[Shown, ...], tuple[str, ...]]:
        """Memories and turns not seen before, as many as fit, with the ids of those turns; they
        count as seen from now on."""
        pieces = {f"{one.kind} {one.memory_id}": one.shown for one in memories}
        said = {turn.turn_id: _shown(turn) for turn in turns}
        fresh = {key: one for key, one in (pieces | said).items() if key not in self._seen}
        if not fresh:
            return (), ()
        kept = within(tuple(fresh.values()), self._room())
        keys = tuple(fresh)[: len(kept)]
        self._seen.update(keys)
        self.shown.extend(kept)
        return kept, tuple(key for key in keys if key in said)

    def _tell(self, number: int, call: str, found: str) -> None:
        told = f"Step {number + 1}: {call}\nFound:\n{found}"
        self._told.append(told)
        self._cost += estimate_tokens(told) + 2


def _shown(turn: Turn) -> Shown:
    return Shown(
        text=turn.body, said_at=turn.said_at, speaker=turn.speaker, turn_ids=(turn.turn_id,)
    )
