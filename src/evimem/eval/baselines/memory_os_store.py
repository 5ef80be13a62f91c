"""What MemoryOS keeps: pages, mid-term segments with their heat, long-term knowledge.

No model is asked here; `memory_os_build` fills the store. Every time is a time said, never the
wall clock.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from evimem.eval.baselines.common import VectorList, day_of, encoded, line_of
from evimem.eval.harness.system import Shown, Tools
from evimem.model.turn import History, Turn

__all__ = [
    "Knowledge",
    "MidTerm",
    "Page",
    "Segment",
    "Settings",
    "folded",
    "heat",
    "opener_of",
    "overlap",
    "pages_of",
]

Overlap = Literal["coverage", "jaccard"]
"""How two sets of keywords are compared, see `overlap`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Every parameter of MemoryOS. The defaults are those of the package (`memoryos-pypi`)."""

    short_term: int = 10
    """Pages that the short-term queue holds."""
    leave_when_full: bool = False
    """True: the page that fills the queue drives the oldest out at once, so that a queue of one is
    always empty; False: the oldest leaves when there is no room for the next page."""
    keyword_calls: bool = False
    """True: a new segment's summary, its pages and the question each get a call for keywords;
    False: a segment has those of the topic call, pages and questions have none."""
    keyword_overlap: Overlap = "jaccard"
    """How keywords are compared."""
    keyword_weight: float = 1.0
    """Weight of that beside the cosine of summaries."""
    merge_threshold: float = 0.6
    """Score from which pages join a segment that exists."""
    segments: int = 2000
    """Segments that mid-term memory holds; the least visited leaves, the oldest of equals."""
    heat_visits: float = 1.0
    """Weight of a segment's visits in its heat."""
    heat_pages: float = 1.0
    """Weight of the pages that it gained since it was last analysed."""
    heat_recency: float = 1.0
    """Weight of its recency, exp(-hours since it last changed / tau)."""
    recency_hours: float = 24.0
    """tau, in hours."""
    heat_threshold: float = 5.0
    """Heat from which a segment is analysed for profile and knowledge."""
    knowledge: int = 100
    """Facts kept about each side, the newest; 0: all."""
    dated_pages: bool = False
    """True: a page's vector is of its words with their date."""
    top_segments: int = 5
    """Segments that a question looks into."""
    segment_threshold: float = 0.1
    """Score that such a segment needs."""
    page_threshold: float = 0.1
    """Cosine that a page needs."""
    queue: int = 7
    """Pages that a question gets, the best of all its segments."""
    top_knowledge: int = 20
    """Facts about the first side that a question gets."""
    top_partner: int = 20
    """Facts about the second side that a question gets; 0: all."""
    knowledge_threshold: float = 0.01
    """Cosine that a fact needs."""
    brief: bool = False
    """True: the answer prompt of the LoCoMo script; False: that of the package."""
    temperature: float = 0.7
    """Of all calls but the next two."""
    overview_temperature: float = 0.3
    """Of the running overview."""
    continues_temperature: float = 0.0
    """Of the judgement whether two pages belong together."""
    reply_tokens: int = 120
    """Ceiling of an answer."""
    memory_tokens: int = 8000
    """Ceiling of the memories in the answer prompt."""


@dataclass(slots=True, kw_only=True)
class Page:
    """What one side said and what the other replied; one of them may be missing."""

    page_id: str
    """Its id."""
    turns: tuple[Turn, ...]
    """One turn, or two of one session."""
    previous: str = ""
    """The page before it in its chain; empty if it starts one."""
    following: str = ""
    """The page after it in its chain."""
    overview: str = ""
    """What its chain is about, up to its newest page."""
    keywords: frozenset[str] = frozenset()
    """Its keywords, where it has any; nothing reads them, as in the original."""
    analysed: bool = False
    """True once profile and knowledge took it in."""

    @property
    def said_at(self) -> datetime | None:
        """The time of its first turn."""
        return self.turns[0].said_at

    @property
    def text(self) -> str:
        """Its turns as lines without dates."""
        return "\n".join(f"{turn.speaker}: {turn.body}" for turn in self.turns)

    @property
    def dated(self) -> str:
        """Its turns as dated lines."""
        return "\n".join(map(line_of, self.turns))

    def shown(self, *, overview: bool) -> Shown:
        """The page for an answer prompt, with or without the overview of its chain."""
        told = f"\n(What this was about: {self.overview})" if overview and self.overview else ""
        return Shown(
            text=self.text + told,
            said_at=self.said_at,
            turn_ids=tuple(turn.turn_id for turn in self.turns),
        )


@dataclass(slots=True, kw_only=True)
class Segment:
    """Pages about one topic."""

    segment_id: str
    """Its id."""
    summary: str
    """What it is about; set when it is opened."""
    keywords: frozenset[str]
    """Folded keywords."""
    pages: list[Page] = field(default_factory=list)
    """In the order that they came."""
    visits: int = 0
    """Questions that found it: 0 while a conversation is taken in, and no question changes it."""
    gained: int = 0
    """Pages that came since it was last analysed."""
    changed_at: datetime | None = None
    """The time said when it last changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """One long-term fact. It does not know its turns: the call that finds it reads many pages."""

    text: str
    """The fact."""
    said_at: datetime | None
    """The newest time among the pages that it was found in."""

    @property
    def shown(self) -> Shown:
        """The fact for an answer prompt."""
        return Shown(text=self.text, said_at=self.said_at)


def opener_of(history: History) -> str:
    """Who opens a page: the user of a chat, else whoever spoke first; "" if nothing was said."""
    users = (turn.speaker for turn in history.turns if turn.role == "user")
    return next(users, next(iter(history.speakers), ""))


def pages_of(history: History) -> list[Page]:
    """The conversation as pages, in order; every turn with words is in exactly one.

    A page opens with a turn of the opener and takes the next turn if someone else says it in the
    same session. Any other turn is half a page of its own, and is kept.
    """
    opener = opener_of(history)
    made: list[tuple[Turn, ...]] = []
    for turn in history.turns:
        if not turn.body.strip():
            continue
        held = made[-1] if made else ()
        replies = (
            len(held) == 1
            and held[0].speaker == opener != turn.speaker
            and held[0].session_id == turn.session_id
        )
        if replies:
            made[-1] = (*held, turn)
        else:
            made.append((turn,))
    return [Page(page_id=f"p{number}", turns=turns) for number, turns in enumerate(made)]


def folded(words: Collection[str]) -> frozenset[str]:
    """Keywords without regard to case and space; blank ones are left out."""
    return frozenset(" ".join(word.casefold().split()) for word in words) - {""}


def overlap(one: frozenset[str], other: frozenset[str], kind: Overlap) -> float:
    """How much two sets of keywords share, from 0 to 1; 0 if either is empty.

    "coverage" is the mean of the shares of each set that the other holds, "jaccard" the shared
    keywords over all.
    """
    if not one or not other:
        return 0.0
    both = len(one & other)
    if kind == "jaccard":
        return both / len(one | other)
    return 0.5 * (both / len(one) + both / len(other))


def heat(segment: Segment, settings: Settings, now: datetime | None) -> float:
    """A segment's heat: visits, pages gained and recency, weighted (baselines 1.7).

    Args:
        segment: the segment.
        settings: the weights and tau.
        now: the time said of the newest page; recency is 1 where a time is unknown or not past.
    """
    hours = 0.0
    if now is not None and segment.changed_at is not None:
        hours = max(0.0, (now - segment.changed_at).total_seconds() / 3600)
    recency = math.exp(-hours / settings.recency_hours)
    return (
        settings.heat_visits * segment.visits
        + settings.heat_pages * segment.gained
        + settings.heat_recency * recency
    )


class MidTerm:
    """Segments and the pages in them. A page may stand in two segments, in each once."""

    def __init__(self, settings: Settings) -> None:
        """Empty memory with these settings."""
        self.settings = settings
        self.pages: dict[str, Page] = {}
        """Every page that is kept, by id."""
        self.segments: dict[str, Segment] = {}
        """Every segment, by id, in the order opened."""
        self.forgotten = 0
        """Pages that left with their last segment."""
        self._opened = 0
        self._summaries = VectorList()
        self._vectors = VectorList()

    def add(self, page: Page, tools: Tools) -> None:
        """Keep a page; it belongs into a segment next."""
        self.pages[page.page_id] = page
        dated = self.settings.dated_pages and page.said_at is not None
        text = f"{page.text}\n{day_of(page.said_at)}" if dated else page.text
        self._vectors.put(page.page_id, text, tools)

    def link(self, page: Page, after: Page) -> None:
        """Put a page behind another one in its chain, whose pages all get its overview."""
        page.previous, after.following = after.page_id, page.page_id
        for other in self._chain(page):
            other.overview = page.overview

    def _chain(self, page: Page) -> Iterator[Page]:
        """The kept pages before a page in its chain, nearest first."""
        before = self.pages.get(page.previous)
        while before is not None:
            yield before
            before = self.pages.get(before.previous)

    def like(self, summary: str, keywords: frozenset[str], tools: Tools) -> Segment | None:
        """The segment that a summary with its keywords fits best, if it reaches the threshold."""
        best = self.rank(summary, keywords, len(self.segments), tools)[:1]
        if best and best[0][1] >= self.settings.merge_threshold:
            return best[0][0]
        return None

    def rank(
        self, text: str, keywords: frozenset[str], k: int, tools: Tools
    ) -> list[tuple[Segment, float]]:
        """The k segments nearest by the cosine of their summaries, with cosine plus weighted
        overlap of keywords, best first; of equals the one opened first."""
        found = [
            (self.segments[segment_id], cosine)
            for segment_id, cosine in self._summaries.search(text, k, tools)
        ]
        kind, weight = self.settings.keyword_overlap, self.settings.keyword_weight
        scored = [
            (segment, cosine + weight * overlap(segment.keywords, keywords, kind))
            for segment, cosine in found
        ]
        return sorted(scored, key=lambda pair: -pair[1])

    def open(
        self,
        summary: str,
        keywords: frozenset[str],
        pages: Sequence[Page],
        tools: Tools,
    ) -> Segment:
        """A new segment with these pages; the least visited one leaves if there are too many."""
        segment = Segment(segment_id=f"m{self._opened}", summary=summary, keywords=keywords)
        self._opened += 1
        self.segments[segment.segment_id] = segment
        self._summaries.put(segment.segment_id, summary, tools)
        self.join(segment, pages)
        if len(self.segments) > self.settings.segments:
            self._forget(min(self.segments.values(), key=lambda one: one.visits))
        return segment

    def join(self, segment: Segment, pages: Sequence[Page]) -> None:
        """Pages into a segment; those that are in it already stay as they are."""
        known = {page.page_id for page in segment.pages}
        fresh = [page for page in pages if page.page_id not in known]
        segment.pages.extend(fresh)
        segment.gained += len(fresh)
        if pages[-1].said_at is not None:
            segment.changed_at = pages[-1].said_at

    def _forget(self, segment: Segment) -> None:
        """Drop a segment and the pages that stand in no other."""
        del self.segments[segment.segment_id]
        self._summaries.drop(segment.segment_id)
        elsewhere = {page.page_id for one in self.segments.values() for page in one.pages}
        for page in segment.pages:
            if page.page_id in elsewhere:
                continue
            self._unlink(page)
            self._vectors.drop(page.page_id)
            del self.pages[page.page_id]
            self.forgotten += 1

    def _unlink(self, page: Page) -> None:
        """Close the gap that a page leaves in its chain."""
        before, after = self.pages.get(page.previous), self.pages.get(page.following)
        if before is not None:
            before.following = page.following
        if after is not None:
            after.previous = page.previous

    def hottest(self, now: datetime | None) -> Segment | None:
        """The hottest segment with pages not analysed, if its heat reaches the threshold."""
        open_ones = [
            segment
            for segment in self.segments.values()
            if any(not page.analysed for page in segment.pages)
        ]
        if not open_ones:
            return None
        best = max(open_ones, key=lambda one: heat(one, self.settings, now))
        return best if heat(best, self.settings, now) >= self.settings.heat_threshold else None

    def search(self, text: str, keywords: frozenset[str], tools: Tools) -> list[Page]:
        """The best pages of the best segments, best first, each once."""
        settings = self.settings
        segments = [
            segment
            for segment, score in self.rank(text, keywords, settings.top_segments, tools)
            if score >= settings.segment_threshold
        ]
        inside = {page.page_id for segment in segments for page in segment.pages}
        found = self._vectors.nearest(encoded(text, tools), settings.queue, among=inside)
        return [self.pages[one] for one, cosine in found if cosine >= settings.page_threshold]
