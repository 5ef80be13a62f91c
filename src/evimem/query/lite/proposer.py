"""What `lite` searches for next, without a model.

Round 1 asks the question itself and, where it names kinds of things, for common examples of them.
Later rounds ask by its names and content words, by what was accepted and seen (rare words, names:
pseudo-relevance feedback), and by what is still unexplained. Seen turns are excluded before top-k
(MERA-17), and no query is ever asked twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from evimem.model.evidence import EvidenceState
from evimem.model.search import Exclusion, Filters, Origin, Ranker, SearchRequest
from evimem.query.kinds import examples_of, other_names_of
from evimem.query.lite.packager import entry_id
from evimem.query.parts import BankView, Proposal, Proposed
from evimem.query.question import Analysis, analyse, normalised
from evimem.query.words import WORD, key, keys, word_set

__all__ = ["LiteProposer", "bridging_names", "feedback_words"]

DEPTH = 150
"""Hits per search."""
LIKE = 5
"""Turns whose vectors are mixed into the query's in later rounds."""
OTHER_NAMES = 6
"""Near-synonyms of the question's words in one query at most."""
SEEDS = 8
"""Turns that feedback is taken from: accepted ones first, then those viewed first."""
FEEDBACK_WORDS = 5
"""Words that feedback adds at most."""
MAX_EXAMPLES = 32
"""Examples of kinds in one query at most; the bank's analyzer takes the rarest 64 words."""

_WHOSE = word_set("i me my mine we us our you your")


@dataclass(frozen=True, slots=True)
class LiteProposer:
    """The deterministic proposer."""

    def propose(self, state: EvidenceState, view: BankView) -> Proposed:
        """The next searches, none of them asked before; empty if there is nothing new to ask."""
        analysis = analyse(state.question.text, speakers=view.speakers)
        seen = {normalised(request.text) for request in state.requests}
        wanted = _first(analysis) if state.round == 0 else _later(analysis, state, view)
        proposals: list[Proposal] = []
        for one in wanted:
            name = normalised(one.request.text)
            # Only the question itself may lack words: the bank then answers with what it can.
            if name in seen or not (name or state.round == 0):
                continue
            seen.add(name)
            proposals.append(one)
        return Proposed(searches=tuple(proposals))


def _proposal(
    text: str,
    why: str,
    state: EvidenceState | None = None,
    *,
    origin: Origin,
    ranker: Ranker = "fusion",
    like: tuple[str, ...] = (),
) -> Proposal:
    viewed = frozenset(state.viewed) if state is not None else frozenset()
    request = SearchRequest(
        text=text,
        k=DEPTH,
        ranker=ranker,
        filters=Filters(underived=True),
        exclusion=Exclusion(items=viewed),
        origin=origin,
        like=like,
    )
    return Proposal(request=request, why=why)


def _first(analysis: Analysis) -> Iterator[Proposal]:
    yield _proposal(analysis.text, "the question itself", origin="question")
    examples = examples_of((*analysis.focus, *analysis.words))[:MAX_EXAMPLES]
    if examples:
        named = _kinds_named(analysis)
        yield _proposal(
            " ".join(examples),
            f"common examples of {', '.join(map(repr, named))}: they may share no word with it",
            origin="plan",
            ranker="bm25",
        )


def _kinds_named(analysis: Analysis) -> list[str]:
    words = dict.fromkeys((*analysis.focus, *analysis.words))
    return [word for word in words if examples_of([word])]


def _later(analysis: Analysis, state: EvidenceState, view: BankView) -> Iterator[Proposal]:
    found = _found(state, view)
    asked = frozenset(keys(analysis.text))
    like = tuple(found)[:LIKE]
    words = tuple(dict.fromkeys((*analysis.focus, *analysis.words)))
    bridges = bridging_names(tuple(found.values()), known=asked, speakers=view.speakers)
    rare = feedback_words(tuple(found.values()), known=asked, speakers=view.speakers)
    subject = _subject(analysis)
    if state.round == 1:
        text, why = subject, "the question's names and content words"
    elif state.round == 2:
        text, why = [*subject, *other_names_of(words)[:OTHER_NAMES]], "the same in other words"
    else:
        text, why = [*subject, *bridges[:1], *rare[:1]], "with names and words of what was found"
    yield _proposal(" ".join(text), why, state, origin="plan", like=like)
    yield from _by_words(analysis, [*bridges, *rare], state)


def _subject(analysis: Analysis) -> list[str]:
    """Names, dates and content words; "my" and "you" too, which say whose words are asked for."""
    whose = [word for word in WORD.findall(analysis.text) if word.casefold() in _WHOSE]
    dates = [date.text for date in analysis.dates]
    return [*analysis.speakers, *analysis.names, *dict.fromkeys(whose), *analysis.words, *dates]


def _by_words(analysis: Analysis, found: Sequence[str], state: EvidenceState) -> Iterator[Proposal]:
    """The search by single words of a later round: what is unexplained, and what was found."""
    words = tuple(dict.fromkeys((*analysis.focus, *analysis.words)))
    missing = state.missing.split("; ")
    unexplained = [word for word in words if word in missing]
    # A list may always have further members; one thing that is found needs no more examples.
    kinds = words if analysis.several or not unexplained else unexplained
    examples = examples_of(kinds)[:MAX_EXAMPLES]
    more = found[: FEEDBACK_WORDS * state.round]
    if not (unexplained or examples or more):
        return
    parts = {
        f"what is unexplained ({', '.join(unexplained)})": unexplained,
        "examples of the kinds named": examples,
        "words and names of what was found": more,
    }
    yield _proposal(
        " ".join([*unexplained, *examples, *more]),
        ", ".join(name for name, held in parts.items() if held),
        state,
        origin="gap",
        ranker="bm25",
    )


def _found(state: EvidenceState, view: BankView) -> dict[str, str]:
    """What feedback is taken from, by id: accepted quotes first, then turns viewed first."""
    quotes: dict[str, str] = {}
    for item in state.evidence:
        quotes.setdefault(item.item_id, item.quote)
    ids = tuple(dict.fromkeys([*quotes, *state.viewed[:SEEDS]]))[:SEEDS]
    return {entry_id(e): quotes.get(entry_id(e), e.body) for e in view.get(ids)}


def feedback_words(
    seeds: Sequence[str], *, known: Iterable[str], speakers: Sequence[str]
) -> tuple[str, ...]:
    """Content words of the seeds, those in most seeds first, then longer ones.

    Args:
        seeds: sentences or turns.
        known: keys that are asked already.
        speakers: the bank's speakers; their names say nothing about the subject.
    """
    taken = {*known, *(k for name in speakers for k in keys(name))}
    counts: Counter[str] = Counter()
    spelled: dict[str, str] = {}
    for seed in seeds:
        here = {k: word for word in WORD.findall(seed) if (k := key(word))}
        for k, word in here.items():
            if k not in taken:
                counts[k] += 1
                spelled.setdefault(k, word)
    best = sorted(counts, key=lambda k: (-counts[k], -len(k), k))
    return tuple(spelled[k] for k in best[:FEEDBACK_WORDS])


def bridging_names(
    seeds: Sequence[str], *, known: Iterable[str], speakers: Sequence[str]
) -> tuple[str, ...]:
    """Names in the seeds that the question does not hold: what a second hop may go through."""
    taken = {*known, *(k for name in speakers for k in keys(name))}
    names: dict[str, None] = {}
    for seed in seeds:
        for name in analyse(seed).names:
            if not taken.issuperset(keys(name)):
                names[name] = None
    return tuple(names)[:FEEDBACK_WORDS]
