"""Queries that a selector may choose from, made of a question and what was found so far.

The words come from the question (its subject, parts of it, what is unexplained), from tables of
kinds, and from accepted and viewed evidence (names, terms, its sentences). Training shows that
free words earn nothing from a small policy and that pointing at few words is no better than the
question; a choice among whole queries has the head-room.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from evimem.model.evidence import EvidenceState
from evimem.model.search import Exclusion, Filters, Origin, Ranker, SearchRequest
from evimem.query.kinds import examples_of, other_names_of
from evimem.query.lite.packager import entry_id
from evimem.query.lite.proposer import bridging_names, feedback_words
from evimem.query.parts import BankView
from evimem.query.question import Analysis, analyse, normalised
from evimem.query.words import WORD, keys, word_set

__all__ = ["KINDS", "Option", "OptionKind", "Space", "options"]

OptionKind = Literal[
    "question", "subject", "synonyms", "examples", "things", "doings", "told", "meaning", "own",
    "unexplained", "focus", "part", "speaker", "alike", "sentence", "name", "term", "terms",
]  # fmt: skip
"""What a query is made of. question: as asked; subject: its names and content words; synonyms:
other names of the kinds it names; examples: members of these kinds; things: members of the kinds
that are asked for; doings: those of its other words; told: words by which people tell what
happened to them; meaning: as asked, by meaning alone; own: how whom it is about would say it, with
examples, by meaning alone; unexplained: words that no evidence explains; focus: who and what is
asked for; part: one side of "and" or "or"; speaker: as asked, only what one named speaker said;
alike: as asked, moved towards the evidence; sentence: one accepted sentence; name: who is asked
about with one name of the evidence; term: the subject with one word of the evidence; terms:
several such names and words. Lists of loose words are searched by words alone; they and what goes
by meaning alone, only in what whom it is about said."""

KINDS: tuple[OptionKind, ...] = get_args(OptionKind)
"""All kinds, in the order of the features."""

Space = Literal["turns", "facts"]
"""What is searched: what was said, as `lite` does, or facts made of it, as `mera` does."""

MAX_EXAMPLES = 32
"""Words of a query of examples at most."""
SEEDS = 8
"""Turns that names and terms are taken from: accepted ones first, then those viewed first."""
LIKE = 5
"""Turns whose vectors are mixed into a query of kind "alike"."""
SENTENCES = 3
"""Accepted sentences that become queries, the latest ones."""
NAMES = 3
"""Names of the evidence that become queries."""
TERMS = 4
"""Words of the evidence that become queries."""
PARTS = 3
"""Parts of a question that become queries."""
OTHER_NAMES = 16
"""Near-synonyms in one query at most."""
OWN_EXAMPLES = 6
"""Examples in a query of kind "own": more would drown the question's words."""
TOLD = "yesterday today last week weekend month year ago next just recently"
"""Words by which people tell what happened to them; small talk and opinions rarely hold any."""

_ORIGINS: dict[OptionKind, Origin] = {"question": "question", "terms": "gap"}

_WHOSE = word_set("i me my mine we us our you your")
_MINE = word_set("i me my mine")
_JOINS = word_set("and or")


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One query that may be chosen."""

    kind: OptionKind
    """What it is made of."""
    text: str
    """Its words."""
    ranker: Ranker = "fusion"
    """How hits are ranked: lists of loose words by words alone, whole queries by fusion."""
    filters: Filters = field(default_factory=Filters)
    """What may come back."""
    like: tuple[str, ...] = ()
    """Turns that its vector is moved towards."""
    place: int = 0
    """Its place among the options of its kind, from 0."""

    def request(self, *, k: int, seen: Iterable[str], space: Space) -> SearchRequest:
        """The search of this option.

        Args:
            k: hits at most.
            seen: ids of what was viewed; excluded before top-k (MERA-17).
            space: what is searched.
        """
        viewed = frozenset(seen)
        if space == "facts":
            filters = Filters(
                kinds=frozenset({"fact"}), speakers=self.filters.speakers,
                since=self.filters.since, until=self.filters.until,
            )  # fmt: skip
            exclusion = Exclusion(parents=viewed)
        else:
            filters, exclusion = self.filters, Exclusion(items=viewed)
        return SearchRequest(
            text=self.text,
            k=k,
            ranker=self.ranker,
            filters=filters,
            exclusion=exclusion,
            origin=_ORIGINS.get(self.kind, "plan"),
            like=self.like,
        )


def options(state: EvidenceState, view: BankView) -> tuple[Option, ...]:
    """The queries to choose from, the question itself first; no two of them search for the same.

    Args:
        state: what is known; its question, evidence and views are read.
        view: the bank; entries are read, nothing is searched.
    """
    analysis = analyse(state.question.text, speakers=view.speakers)
    found = _found(state, view)
    made: list[Option] = []
    seen: set[tuple[str, Ranker, Filters, tuple[str, ...]]] = set()
    counts: dict[OptionKind, int] = {}
    for one in (*_asked(analysis, state, view), *_evident(analysis, state, view, found)):
        name = (normalised(one.text), one.ranker, one.filters, one.like)
        if name in seen or not (name[0] or one.kind == "question"):
            continue
        seen.add(name)
        place = counts.get(one.kind, 0)
        counts[one.kind] = place + 1
        made.append(replace(one, place=place))
    return tuple(made)


_SAID = Filters(underived=True)


def _option(
    kind: OptionKind,
    words: str | Iterable[str],
    *,
    ranker: Ranker = "fusion",
    filters: Filters = _SAID,
    like: tuple[str, ...] = (),
) -> Option:
    text = words if isinstance(words, str) else " ".join(words)
    return Option(kind=kind, text=text, ranker=ranker, filters=filters, like=like)


def _asked(analysis: Analysis, state: EvidenceState, view: BankView) -> Iterator[Option]:
    """Options that the question alone gives."""
    words = tuple(dict.fromkeys((*analysis.focus, *analysis.words)))
    theirs = Filters(underived=True, speakers=_whose(analysis, view))
    examples = examples_of(words)[:MAX_EXAMPLES]
    yield _option("question", analysis.text)
    yield _option("subject", _subject(analysis))
    lists: tuple[tuple[OptionKind, Sequence[str]], ...] = (
        ("synonyms", other_names_of(words)[:OTHER_NAMES]),
        ("examples", examples),
        ("things", examples_of(analysis.focus)[:MAX_EXAMPLES]),
        ("doings", examples_of(w for w in words if w not in analysis.focus)[:MAX_EXAMPLES]),
        ("told", TOLD.split() if words else ()),
    )
    for kind, loose in lists:
        if loose:
            yield _option(kind, loose, ranker="bm25", filters=theirs)
    yield _option("meaning", analysis.text, ranker="dense", filters=theirs)
    if words:
        own = ["I", *words, *examples[:OWN_EXAMPLES]]
        yield _option("own", own, ranker="dense", filters=theirs)
    missing = frozenset(state.missing.split("; "))
    unexplained = [word for word in words if word in missing]
    if unexplained:
        yield _option("unexplained", [*analysis.speakers, *unexplained])
    if analysis.focus:
        yield _option("focus", [*analysis.speakers, *analysis.focus])
    for part in _parts(analysis)[:PARTS]:
        yield _option("part", part)
    for name in analysis.speakers[:PARTS]:
        yield _option(
            "speaker", analysis.text, filters=Filters(underived=True, speakers=frozenset({name}))
        )


def _whose(analysis: Analysis, view: BankView) -> frozenset[str]:
    """Whose words a question is about: those it names, or the user's own in a chat with a model."""
    if analysis.speakers:
        return frozenset(analysis.speakers)
    mine = any(word.casefold() in _MINE for word in WORD.findall(analysis.text))
    return frozenset(one for one in view.speakers if mine and one.casefold() == "user")


def _subject(analysis: Analysis) -> list[str]:
    """Names, dates and content words; "my" and "you" too, which say whose words are asked for."""
    whose = [word for word in WORD.findall(analysis.text) if word.casefold() in _WHOSE]
    dates = [date.text for date in analysis.dates]
    return [*analysis.speakers, *analysis.names, *dict.fromkeys(whose), *analysis.words, *dates]


def _parts(analysis: Analysis) -> list[list[str]]:
    """The question's content on either side of a joining word, each with whom it is about.

    "Where did Ana and Tom meet" gives nothing: no side but the last holds a content word.
    """
    runs: list[list[str]] = [[]]
    content = frozenset(analysis.words) | {w for n in analysis.names for w in WORD.findall(n)}
    for word in WORD.findall(analysis.text):
        if word.casefold() in _JOINS:
            runs.append([])
        elif word in content:
            runs[-1].append(word)
    kept = [run for run in runs if run]
    return [[*analysis.speakers, *run] for run in kept] if len(kept) > 1 else []


def _found(state: EvidenceState, view: BankView) -> dict[str, str]:
    """What names and terms are taken from, by id: accepted sentences, then turns viewed first."""
    quotes: dict[str, str] = {}
    for item in state.evidence:
        for one in item.refs or (item.item_id,):
            quotes.setdefault(one, item.quote or item.claim)
    ids = tuple(dict.fromkeys([*quotes, *state.viewed[:SEEDS]]))[:SEEDS]
    return {entry_id(e): quotes.get(entry_id(e)) or e.body for e in view.get(ids)}


def _evident(
    analysis: Analysis, state: EvidenceState, view: BankView, found: Mapping[str, str]
) -> Iterator[Option]:
    """Options that need evidence."""
    if not found:
        return
    subject = _subject(analysis)
    asked = frozenset(keys(analysis.text))
    accepted = tuple(dict.fromkeys(i for e in state.evidence for i in (e.refs or (e.item_id,))))
    yield _option("alike", analysis.text, like=tuple(found)[:LIKE])
    if accepted:
        yield _option("alike", subject, like=accepted[:LIKE])
    for quote in _sentences(state):
        yield _option("sentence", quote)
    texts = tuple(found.values())
    names = bridging_names(texts, known=asked, speakers=view.speakers)
    rare = feedback_words(texts, known=asked, speakers=view.speakers)
    for name in names[:NAMES]:
        yield _option("name", [*analysis.speakers, name])
    for word in rare[:TERMS]:
        yield _option("term", [*subject, word])
    if names or rare:
        yield _option("terms", [*names, *rare], ranker="bm25")


def _sentences(state: EvidenceState) -> Sequence[str]:
    """Accepted sentences: those of the latest round first, the best of a round before others."""
    latest = sorted(state.evidence, key=lambda one: -one.round)
    return [said for one in latest if (said := one.quote or one.claim)][:SENTENCES]
