"""How MemoryOS takes in a conversation: page by page, through three memories (baselines 1.7)."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from evimem.eval.baselines import memory_os_prompts as prompts
from evimem.eval.baselines.common import VectorList
from evimem.eval.baselines.memory_os_store import (
    Knowledge,
    MidTerm,
    Page,
    Segment,
    Settings,
    folded,
    opener_of,
    pages_of,
)
from evimem.eval.baselines.rooms import built_data, built_words
from evimem.eval.harness.system import Tools
from evimem.model.turn import History, JsonValue
from evimem.query.calls import Said

__all__ = ["Builder", "KnowledgeList", "keywords_of", "sides_of", "words_in"]

MIN_PROFILE = 30
"""Characters below which a profile is taken for "none" and the old one stays."""
MAX_TOPICS = 2
"""Topics that one batch of pages is filed under."""
_NOTHING = {"", "none", "none.", "n/a"}


def sides_of(history: History) -> tuple[str, str]:
    """Who opens the pages and who replies; a third speaker counts as a replier."""
    opener = opener_of(history)
    others = [name for name in history.speakers if name != opener]
    return opener, others[0] if others else "assistant"


def words_in(value: JsonValue) -> list[str]:
    """The texts in a list of a reply, tidied; blank ones and those that say "none" are left out."""
    listed = value if isinstance(value, list) else []
    tidy = [" ".join(one.split()).removeprefix("- ") for one in listed if isinstance(one, str)]
    return [one for one in tidy if one.casefold() not in _NOTHING]


def keywords_of(said: Said) -> frozenset[str]:
    """The first three keywords of a reply; none if it is unusable."""
    return folded(words_in(said.data.get("keywords"))[:3])


class KnowledgeList:
    """Facts about one side, the newest ones where their number is bounded."""

    def __init__(self, most: int) -> None:
        """Args:
        most: facts kept; 0: all.
        """
        self._most = most
        self._facts: dict[str, Knowledge] = {}
        self._vectors = VectorList()
        self._added = 0

    def __len__(self) -> int:
        return len(self._facts)

    @property
    def facts(self) -> tuple[Knowledge, ...]:
        """All of them, oldest first."""
        return tuple(self._facts.values())

    def add(self, fact: Knowledge, tools: Tools) -> None:
        """Keep a fact; the oldest one leaves if there are too many."""
        fact_id = f"k{self._added}"
        self._added += 1
        self._facts[fact_id] = fact
        self._vectors.put(fact_id, fact.text, tools)
        if self._most and len(self._facts) > self._most:
            oldest = next(iter(self._facts))
            del self._facts[oldest]
            self._vectors.drop(oldest)

    def search(self, text: str, k: int, least: float, tools: Tools) -> list[Knowledge]:
        """The k nearest facts whose cosine is at least so much, best first."""
        found = self._vectors.search(text, k, tools)
        return [self._facts[fact_id] for fact_id, cosine in found if cosine >= least]


class Builder:
    """One conversation being taken in."""

    def __init__(self, history: History, tools: Tools, settings: Settings) -> None:
        """Empty memories."""
        self.settings = settings
        self.recent: deque[Page] = deque()
        """Short-term memory."""
        self.middle = MidTerm(settings)
        """Mid-term memory."""
        self.profile = ""
        """Long-term memory: the opener's profile."""
        self.first = KnowledgeList(settings.knowledge)
        """Long-term memory: facts about the opener."""
        self.second = KnowledgeList(settings.knowledge)
        """Long-term memory: facts about the other side."""
        self.unusable = 0
        """Replies that could not be used."""
        self.sides = sides_of(history)
        """Who opens pages, who replies."""
        self._history = history
        self._tools = tools
        self._last: Page | None = None

    def run(self) -> None:
        """Take in every page, in order."""
        for page in pages_of(self._history):
            if not self.settings.leave_when_full:
                self._file(self._leaving())
            self.recent.append(page)
            if self.settings.leave_when_full:
                self._file(self._leaving())
            self._study(page)

    def _leaving(self) -> list[Page]:
        """The pages that a full queue gives up, oldest first."""
        gone = []
        while len(self.recent) >= max(1, self.settings.short_term):
            gone.append(self.recent.popleft())
        return gone

    def _file(self, batch: Sequence[Page]) -> None:
        """Pages into mid-term memory: chained, then under their topics."""
        if not batch:
            return
        for page in batch:
            self._chain(page)
        for summary, keywords in self._topics(batch):
            found = self.middle.like(summary, keywords, self._tools)
            if found is not None:
                self.middle.join(found, batch)
            else:
                self._open(summary, keywords, batch)

    def _chain(self, page: Page) -> None:
        """Add a page to the chain of the one before it, or start a chain with it."""
        last = self._last
        after = last if last is not None and self._continues(last, page) else None
        so_far = after.overview if after is not None else ""
        said = built_words(
            self._tools,
            prompts.OVERVIEW,
            f"Overview so far: {so_far or '(none)'}\n\nNew page:\n{page.dated}",
            role="extract",
            phase="summary",
            max_tokens=100,
            temperature=self.settings.overview_temperature,
        )
        page.overview = " ".join(self._words(said).split()) or so_far
        self.middle.add(page, self._tools)
        if after is not None:
            self.middle.link(page, after)
        self._last = page

    def _continues(self, last: Page, page: Page) -> bool:
        said = built_data(
            self._tools,
            prompts.CONTINUES,
            f"First page:\n{last.dated}\n\nSecond page:\n{page.dated}",
            schema=prompts.CONTINUES_SCHEMA,
            example=prompts.CONTINUES_EXAMPLE,
            role="extract",
            phase="summary",
            max_tokens=40,
            temperature=self.settings.continues_temperature,
        )
        return self._counted(said).data.get("continues") is True

    def _topics(self, batch: Sequence[Page]) -> list[tuple[str, frozenset[str]]]:
        """Summaries with keywords; the words of the pages where the reply has none, so that no page
        is lost."""
        words = "\n".join(page.dated for page in batch)
        said = built_data(
            self._tools,
            prompts.TOPICS,
            f"Conversation:\n{words}",
            schema=prompts.TOPICS_SCHEMA,
            example=prompts.TOPICS_EXAMPLE,
            role="extract",
            phase="summary",
            max_tokens=400,
            temperature=self.settings.temperature,
        )
        listed = self._counted(said).data.get("topics")
        found = []
        for topic in listed if isinstance(listed, list) else []:
            if isinstance(topic, dict):
                told = words_in([topic.get("summary")]) or words_in([topic.get("theme")])
                if told:
                    found.append((told[0], folded(words_in(topic.get("keywords")))))
        return found[:MAX_TOPICS] or [(words, frozenset())]

    def _open(self, summary: str, keywords: frozenset[str], batch: Sequence[Page]) -> None:
        """A new segment, with calls for the keywords of its summary and pages where the form has
        them."""
        if self.settings.keyword_calls:
            keywords = self._keywords(summary)
            for page in batch:
                page.keywords = self._keywords(page.text)
        self.middle.open(summary, keywords, batch, self._tools)

    def _keywords(self, text: str) -> frozenset[str]:
        said = built_data(
            self._tools,
            prompts.KEYWORDS,
            f"Text:\n{text}",
            schema=prompts.KEYWORDS_SCHEMA,
            example=prompts.KEYWORDS_EXAMPLE,
            role="extract",
            phase="summary",
            max_tokens=80,
            temperature=self.settings.temperature,
        )
        return keywords_of(self._counted(said))

    def _study(self, newest: Page) -> None:
        """Profile and knowledge from the hottest segment, if it is hot enough."""
        segment = self.middle.hottest(newest.said_at)
        if segment is None:
            return
        fresh = [page for page in segment.pages if not page.analysed]
        words = "\n".join(page.dated for page in fresh)
        self._update_profile(words)
        self._find_knowledge(words, fresh)
        self._cool(segment, newest)

    def _cool(self, segment: Segment, newest: Page) -> None:
        """Mark a segment as analysed."""
        for page in segment.pages:
            page.analysed = True
        segment.visits = segment.gained = 0
        if newest.said_at is not None:
            segment.changed_at = newest.said_at

    def _update_profile(self, words: str) -> None:
        said = built_words(
            self._tools,
            prompts.PROFILE,
            f"Person: {self.sides[0]}\n\nProfile so far:\n{self.profile or '(none)'}\n\n"
            f"New conversation:\n{words}",
            role="manage",
            phase="update",
            max_tokens=2000,
            temperature=self.settings.temperature,
        )
        text = self._words(said)
        if len(text) >= MIN_PROFILE:
            self.profile = text

    def _find_knowledge(self, words: str, pages: Sequence[Page]) -> None:
        said = built_data(
            self._tools,
            prompts.KNOWLEDGE,
            f"First side: {self.sides[0]}\nSecond side: {self.sides[1]}\n\nConversation:\n{words}",
            schema=prompts.KNOWLEDGE_SCHEMA,
            example=prompts.KNOWLEDGE_EXAMPLE,
            role="extract",
            phase="summary",
            max_tokens=1000,
            temperature=self.settings.temperature,
        )
        data = self._counted(said).data
        times = [page.said_at for page in pages if page.said_at is not None]
        newest = max(times, default=None)
        for kept, field in ((self.first, "first"), (self.second, "second")):
            for text in words_in(data.get(field)):
                kept.add(Knowledge(text=text, said_at=newest), self._tools)

    def _words(self, said: Said) -> str:
        """The words of a reply; "" and counted if there are none to use."""
        text = "" if said.problem else said.raw.strip()
        self.unusable += not text
        return text

    def _counted(self, said: Said) -> Said:
        """The reply as it is, after counting it if it is of no use."""
        self.unusable += bool(said.problem)
        return said
