"""NEMORI: episodes and semantic facts by a model, ten and twenty of them by cosine, one answer
(QEMem; baselines 1.10). The store is the one that QEMem reads (QEM-4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import cast

from evimem.build.merging import ALIKE, MOST_ALIKE
from evimem.build.segments import BATCH_TURNS
from evimem.build.statements import RELATED
from evimem.eval.baselines.nemori_store import model_episodes
from evimem.eval.harness.system import Asked, Deviation, Shown, Step, Tools
from evimem.model.evidence import Candidate, Question
from evimem.model.item import Item
from evimem.model.turn import History, Turn
from evimem.query.loop import RunInput, replay, run
from evimem.query.memory_view import MemoryView
from evimem.query.nemori.answerer import WITH_MESSAGES, EpisodeAnswerer
from evimem.recipes.nemori import FOUND, NEMORI, TOKENS, nemori

__all__ = ["Nemori"]

UNUSABLE = "answer_unusable: "
"""What a note of the recipe begins with where the reply was no answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Nemori:
    """The system: our recipe of that name over a store in memory. Its parameters are those of the
    recipe and of the builder."""

    name: str = NEMORI
    """Its name."""
    traces_turns: bool = True
    """Episodes know their turns."""

    @property
    def params(self) -> Mapping[str, str]:
        """Sizes of batches and budgets."""
        return {
            "batch": f"{BATCH_TURNS} turns",
            "merge": f"{MOST_ALIKE} episodes above cosine {ALIKE}",
            "related": f"{RELATED} facts",
            "episodes": str(FOUND.episode),
            "facts": str(FOUND.semantic),
            "with messages": f"{WITH_MESSAGES} episodes",
            "tokens": f"{TOKENS} of memories, {TOKENS} of messages",
        }

    @property
    def deviations(self) -> tuple[Deviation, ...]:
        """What differs."""
        return (
            Deviation(
                what="batches end with a session",
                why="a day's rest would else be told as part of the next day",
            ),
            Deviation(
                what="facts of a merged episode are linked to the one that takes its place",
                why="in the original they point at an episode that is deleted",
            ),
            Deviation(
                what="facts are shown with the day of the session that they were learned in",
                why="statements have no dates by design, and then nothing tells when they held",
            ),
            Deviation(
                what="what a model sorts wrongly is mended, and what it cannot tell stays in the"
                " turns' own words",
                why="exceptions are swallowed in the original and the turns are lost",
            ),
            Deviation(
                what="episodes are dated by their first turn, not by the model",
                why="a date that a model writes may be that of what is told",
            ),
            Deviation(
                what="an answer is declined where it has no memory to stand on",
                why="a rule of every recipe of ours",
            ),
        )

    def build(self, history: History, tools: Tools) -> _Memory:
        """Build the store and index it."""
        stored = model_episodes(history, tools)
        view = MemoryView(history, embedder=tools.embedder, items=stored.items)
        return _Memory(view=view, items=stored.items, unusable=stored.unusable)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Memory:
    """The store."""

    view: MemoryView
    items: tuple[Item, ...]
    unusable: int

    @property
    def sizes(self) -> Mapping[str, int]:
        episodes = sum(item.kind == "episode" for item in self.items)
        return {
            "episodes": episodes,
            "facts": len(self.items) - episodes,
            "unusable": self.unusable,
        }

    def stored(self) -> tuple[Shown, ...]:
        return tuple(_item_shown(item) for item in self.items)

    def ask(self, question: Question, tools: Tools) -> Asked:
        """Run the recipe."""
        view = self.view.for_question(embedder=tools.embedder)
        recipe = nemori(tools.session)
        given = RunInput(question=question, bank="bench", trace_id="bench", created_at="")
        trace = run(recipe, view, given, seconds=lambda: 0.0, session=tools.session)
        answer = trace.answer
        if answer is None:
            raise RuntimeError("the recipe ended without an answer")
        problem = "".join(one for one in trace.degraded if one.startswith(UNUSABLE))
        state = list(replay(recipe.updater, trace))[-1]
        prompt = cast("EpisodeAnswerer", recipe.answerer).prompt
        found, messages = prompt.shown(state, trace.context)
        return Asked(
            answer="" if problem else answer.text,
            abstained=not problem and answer.status == "not_in_memory",
            shown=tuple(_shown(one, view) for one in (*found, *messages)),
            steps=(_step(question, found, view),),
            stop="finished",
            problem=problem,
            trace=trace,
        )


def _step(question: Question, found: Iterable[Candidate], view: MemoryView) -> Step:
    """The turns of the episodes found, best episode first."""
    best = sorted(found, key=lambda one: one.rank)
    turns = (turn for one in best for turn in _shown(one, view).turn_ids)
    return Step(queries=(question.text,), turn_ids=tuple(dict.fromkeys(turns)))


def _shown(one: Candidate, view: MemoryView) -> Shown:
    (entry,) = view.get([one.item_id])
    if isinstance(entry, Item):
        return _item_shown(entry)
    return _turn_shown(entry)


def _turn_shown(turn: Turn) -> Shown:
    return Shown(
        text=turn.body, said_at=turn.said_at, speaker=turn.speaker, turn_ids=(turn.turn_id,)
    )


def _item_shown(item: Item) -> Shown:
    """A fact stands for no turn: what a model concluded from an episode is not said in any
    (QEM-37)."""
    members = tuple(link.target for link in item.links if link.role == "member")
    return Shown(text=item.text, said_at=item.said_at, turn_ids=members)
