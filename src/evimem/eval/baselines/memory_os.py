"""MemoryOS: short-term, mid-term and long-term memory with heat (MERA, Uni-Mem; baselines 1.7).

Two published forms of one system: the script of its LoCoMo evaluation (`MEMORY_OS_LOCOMO`) and the
package for regular use (`MEMORY_OS`). Pages of two turns leave a short queue for segments by
topic; a segment that gains many pages grows hot and is analysed for a profile and facts; an answer
is given in the role of the other speaker.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field

from evimem.eval.baselines import memory_os_prompts as prompts
from evimem.eval.baselines.answering import REPLY_TOKENS, asked_words
from evimem.eval.baselines.common import lines, read_answer, room_of, say, say_data, within
from evimem.eval.baselines.memory_os_build import Builder, keywords_of
from evimem.eval.baselines.memory_os_store import Knowledge, Page, Settings
from evimem.eval.harness.system import Asked, Deviation, Shown, Step, Tools
from evimem.model.evidence import Question
from evimem.model.turn import History
from evimem.scoring.tokens import estimate_tokens

__all__ = ["MEMORY_OS", "MEMORY_OS_LOCOMO", "MemoryOS"]

_BOTH = (
    Deviation(
        what="a page never overwrites a turn and never spans two sessions; half pages are kept",
        why="fault: on LoCoMo 61 turns are overwritten and 93 half pages dropped, and 5 questions "
        "lose their evidence",
    ),
    Deviation(
        what="whoever speaks first opens the pages, in a chat the user",
        why="which speaker a data set names first is not part of a history",
    ),
    Deviation(
        what="recency is measured in the time said, and heat is computed when it is compared",
        why="fault: the wall clock makes every segment as old as the run; heat went stale",
    ),
    Deviation(
        what="a question is not written into memory and does not raise heat or visits",
        why="fault: the package stores the question and its own answer; what is built is read-only "
        "here, so that no question depends on those before it",
    ),
    Deviation(
        what="the hottest segment that has pages not analysed is looked at",
        why="fault: a hot segment with nothing new blocks the analysis of all others for good",
    ),
    Deviation(
        what="a page stands in a segment once, and in what a question gets once; its chain's "
        "overview and its analysis are the same in both of its segments",
        why="fault: filed under two topics it took two places, in copies that differed",
    ),
    Deviation(
        what="pages are filed under their own words where the topic call gives nothing",
        why="a page must not be lost, nor all such pages meet under one fixed sentence",
    ),
    Deviation(
        what="replies are asked for as JSON with a schema, and keywords compared without case",
        why="the parsers of the original lose what a model writes a little differently",
    ),
    Deviation(
        what=f"an answer has {REPLY_TOKENS} tokens at most instead of 1500 or 2000",
        why="a short answer is asked for, and room for it is taken from small windows",
    ),
    Deviation(
        what="vectors are those of the run's embedder; prompts are in words of our own",
        why="one embedder for all systems of a run; nothing is copied",
    ),
    Deviation(
        what="a segment that leaves closes the gap in the chains of its pages",
        why="fault: the original leaves links to pages that are gone",
    ),
)
_LOCOMO = (
    Deviation(
        what="one call writes the profile anew from the old one and one finds facts about both",
        why="the form of the package: the script takes three calls for the same",
    ),
    Deviation(
        what="the topic call sees both sides of a page",
        why="fault: what the second speaker said was in no topic's summary",
    ),
    Deviation(
        what="only the segment that pages join gains heat, and the best one is chosen by cosine "
        "and keywords together",
        why="fault: the nearest segment was heated by pages that opened a new one",
    ),
    Deviation(
        what="category and evidence are not handed to the answer step",
        why="no system of this harness can reach them",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryOS:
    """The system."""

    name: str = "memoryos"
    """Its name."""
    settings: Settings = field(default_factory=Settings)
    """Its parameters."""
    more_deviations: tuple[Deviation, ...] = ()
    """How this form differs beyond what both forms have in common."""
    traces_turns: bool = True
    """Pages know their turns. Profile and facts do not: they are read from many pages at once."""

    @property
    def params(self) -> Mapping[str, str]:
        """Every field of `Settings`."""
        return {one.name: str(getattr(self.settings, one.name)) for one in _FIELDS}

    @property
    def deviations(self) -> tuple[Deviation, ...]:
        """What differs from the published form."""
        return _BOTH + self.more_deviations

    def build(self, history: History, tools: Tools) -> _Memory:
        """Take in the conversation page by page: three calls per page that leaves the queue (two
        for the first), more for keywords, two per analysis.

        Raises:
            ModelError: a model could not be reached.
            BudgetExceeded: the ceiling of calls or tokens is reached.
        """
        builder = Builder(history, tools, self.settings)
        builder.run()
        return _Memory(built=builder, recent=tuple(builder.recent))


_FIELDS = dataclasses.fields(Settings)

MEMORY_OS = MemoryOS()
"""The package: a queue of ten pages, ..."""

MEMORY_OS_LOCOMO = MemoryOS(
    name="memoryos-locomo",
    settings=Settings(
        short_term=1,
        leave_when_full=True,
        keyword_calls=True,
        keyword_overlap="coverage",
        heat_visits=0.8,
        heat_pages=0.8,
        heat_recency=0.0001,
        knowledge=0,
        dated_pages=True,
        queue=10,
        top_knowledge=10,
        top_partner=0,
        knowledge_threshold=0.1,
        brief=True,
    ),
    more_deviations=_LOCOMO,
)
"""The evaluation script: a queue of one page, which leaves it always empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """What one question gets, by kind."""

    recent: tuple[Page, ...]
    pages: list[Page]
    profile: str
    first: list[Knowledge]
    second: list[Knowledge]

    @property
    def turn_ids(self) -> tuple[str, ...]:
        """Turns of the pages, each once: the best pages first, then the recent ones."""
        pages = [*self.pages, *self.recent]
        return tuple(dict.fromkeys(turn.turn_id for page in pages for turn in page.turns))

    def parts(self) -> list[tuple[str, Shown]]:
        """Pieces with their kind, in the order to show."""
        listed = [("recent", page.shown(overview=False)) for page in self.recent]
        listed += [("page", page.shown(overview=True)) for page in self.pages]
        if self.profile:
            listed.append(("profile", Shown(text=self.profile)))
        listed += [("first", fact.shown) for fact in self.first]
        listed += [("second", fact.shown) for fact in self.second]
        return listed


@dataclass(frozen=True, slots=True, kw_only=True)
class _Memory:
    """A conversation taken in."""

    built: Builder
    recent: tuple[Page, ...]

    @property
    def sizes(self) -> Mapping[str, int]:
        middle = self.built.middle
        return {
            "pages": len(middle.pages) + len(self.recent),
            "recent_pages": len(self.recent),
            "segments": len(middle.segments),
            "forgotten_pages": middle.forgotten,
            "profiles": int(bool(self.built.profile)),
            "facts": len(self.built.first),
            "partner_facts": len(self.built.second),
            "unusable": self.built.unusable,
        }

    def stored(self) -> tuple[Shown, ...]:
        everything = _Found(
            recent=self.recent,
            pages=list(self.built.middle.pages.values()),
            profile=self.built.profile,
            first=list(self.built.first.facts),
            second=list(self.built.second.facts),
        )
        return tuple(shown for _, shown in everything.parts())

    def ask(self, question: Question, tools: Tools) -> Asked:
        """Keywords of the question where the form has them, then one answer."""
        settings = self.built.settings
        keywords: frozenset[str] = frozenset()
        problem = ""
        if settings.keyword_calls:
            said = say_data(
                tools,
                prompts.KEYWORDS,
                f"Text:\n{question.text}",
                schema=prompts.KEYWORDS_SCHEMA,
                example=prompts.KEYWORDS_EXAMPLE,
                role="plan",
                max_tokens=80,
                temperature=settings.temperature,
            )
            keywords = keywords_of(said)
            problem = f"no keywords: {said.problem}" if said.problem else ""
        found = self._found(question.text, keywords, tools)
        return self._answered(question, tools, found, problem)

    def _found(self, text: str, keywords: frozenset[str], tools: Tools) -> _Found:
        built, settings = self.built, self.built.settings
        least = settings.knowledge_threshold
        second = (
            built.second.search(text, settings.top_partner, least, tools)
            if settings.top_partner
            else list(built.second.facts)
        )
        return _Found(
            recent=self.recent,
            pages=built.middle.search(text, keywords, tools),
            profile=built.profile,
            first=built.first.search(text, settings.top_knowledge, least, tools),
            second=second,
        )

    def _answered(self, question: Question, tools: Tools, found: _Found, problem: str) -> Asked:
        settings = self.built.settings
        prompt = prompts.ANSWER_BRIEF if settings.brief else prompts.ANSWER_IN_ROLE
        parts = found.parts()
        room = room_of(
            tools.session.model("answer"),
            fixed=estimate_tokens(prompt.system + question.text) + 150,
            reply=settings.reply_tokens,
            most=settings.memory_tokens,
        )
        kept = within([shown for _, shown in parts], room)
        user = self._prompt(parts[: len(kept)], asked_words(question, tools))
        said = say(
            tools,
            prompt,
            user,
            role="answer",
            max_tokens=settings.reply_tokens,
            temperature=settings.temperature,
        )
        answer, abstained = read_answer(said)
        return Asked(
            answer=answer,
            abstained=abstained,
            shown=kept,
            steps=(Step(queries=(question.text,), turn_ids=found.turn_ids),),
            problem="; ".join(filter(None, (problem, said.problem))),
        )

    def _prompt(self, parts: list[tuple[str, Shown]], asked: str) -> str:
        """The user message: who is who, the memories under their headings, the question."""
        first, second = self.built.sides
        headings = {
            "second": f"Your own traits and knowledge, as {second}",
            "recent": f"Recent conversation with {first}",
            "page": "Remembered from past conversations",
            "profile": f"What {first} is like",
            "first": f"Known about {first}",
        }
        told = [f"You are {second}; you talk with {first}."]
        for kind, heading in headings.items():
            listed = lines(shown for part, shown in parts if part == kind)
            if listed:
                told.append(f"{heading}:\n{listed}")
        return "\n\n".join([*told, asked])
