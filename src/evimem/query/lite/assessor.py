"""Keeps or rejects every candidate of a round, with a reason code and a calibrated confidence.

The confidence is a logistic function of a few features, its rounded constants fitted on the tuning
conversations with `dev/fit_lite.py` (labels: is the turn gold evidence). Accepted evidence is the
sentence of the turn that fits best, as a verbatim span. What no accepted evidence explains of the
question is named as missing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from evimem.model.evidence import Assessment, Candidate, Decision, EvidenceItem, EvidenceState
from evimem.model.item import Item
from evimem.model.time import TimeSpan
from evimem.model.turn import Turn
from evimem.query.kinds import examples_of, other_names_of
from evimem.query.lite.packager import entry_id
from evimem.query.parts import BankView
from evimem.query.question import Analysis, DateWords, analyse
from evimem.query.sentences import (
    CAPTION_MARK,
    Sentence,
    SentenceMatch,
    match_sentences,
    rarity,
)
from evimem.query.words import key, keys
from evimem.temporal import event_span

__all__ = ["ACCEPT", "SURE", "WEIGHTS", "Features", "LiteAssessor", "confidence", "features"]

ACCEPT = 0.2
"""Confidence from which a candidate is kept: the best F1 on the tuning conversations."""
SURE = 0.5
"""Confidence of the best evidence from which a question can count as answered."""

WEIGHTS: Mapping[str, float] = {
    "bias": 0.0,
    "depth": -1.1,
    "words": 0.9,
    "own": 0.3,
    "gap": -0.1,
    "asks": -1.0,
    "example": 0.2,
}
"""Constants of the confidence, by feature."""

EXAMPLE_WEIGHT = 0.3
"""What an example of a kind counts beside the question's own words when sentences are matched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """What the confidence reads of one candidate."""

    depth: float
    """log2(1 + place): the place counts all candidates of the question so far, from 1."""
    words: float
    """Share of the question's word weight in the best sentence, 0..1."""
    own: float
    """1 if a person whom the question names said it, -1 if another, 0 if it names nobody."""
    gap: float
    """How far the score lies below the best one of its round, in the unit of the fusion."""
    asks: float
    """1 if the best sentence asks a question."""
    example: float
    """1 if the best sentence holds an example of a kind that the question names."""


def confidence(given: Features) -> float:
    """Probability that the candidate is evidence, 0..1."""
    z = WEIGHTS["bias"] + sum(
        WEIGHTS[name] * getattr(given, name) for name in WEIGHTS if name != "bias"
    )
    return 1.0 / (1.0 + math.exp(-z))


@dataclass(frozen=True, slots=True)
class _Reading:
    """One candidate, read."""

    entry: Turn | Item
    """The entry."""
    best: SentenceMatch
    """Its best sentence."""
    given: Features
    """Its features."""


@dataclass(frozen=True, slots=True)
class LiteAssessor:
    """The deterministic assessor."""

    def assess(
        self, state: EvidenceState, candidates: Sequence[Candidate], view: BankView
    ) -> Assessment:
        """A decision for every candidate, in order; the new evidence; whether it is enough."""
        analysis = analyse(state.question.text, speakers=view.speakers)
        entries = {entry_id(e): e for e in view.get([c.item_id for c in candidates])}
        readings = _read(analysis, candidates, entries, seen=len(state.viewed))
        decisions: list[Decision] = []
        evidence: list[EvidenceItem] = []
        quoted = {item.quote.casefold() for item in state.evidence}
        for candidate in candidates:
            reading = readings.get(candidate.item_id)
            decision = _decision(candidate, reading, quoted)
            decisions.append(decision)
            if decision.verdict == "accept" and reading is not None:
                quoted.add(reading.best.sentence.text.casefold())
                evidence.append(_evidence(reading, round_no=state.round + 1))
        everything = (*state.evidence, *evidence)
        missing = _missing(analysis, everything, view)
        best = max((d.confidence for d in decisions if d.verdict == "accept"), default=0.0)
        enough = len(everything) > 1 or not analysis.several
        return Assessment(
            decisions=tuple(decisions),
            evidence=tuple(evidence),
            sufficient=not missing and enough and (best >= SURE or bool(state.evidence)),
            missing="; ".join(missing),
        )


def features(
    analysis: Analysis, best: SentenceMatch, entry: Turn | Item, *, place: int, gap: float
) -> Features:
    """Features of one candidate.

    Args:
        analysis: the question.
        best: the candidate's best sentence.
        entry: the candidate's entry.
        place: its place among all candidates of the question, from 1.
        gap: how far its score lies below the best one of its round.
    """
    text = best.sentence.text
    own = 0.0
    if analysis.speakers:
        own = 1.0 if entry.speaker in analysis.speakers else -1.0
    asked = frozenset(analysis.keys)
    return Features(
        depth=math.log2(1 + place),
        words=best.score,
        gap=gap,
        own=own,
        asks=float(text.rstrip("\"'”’)").endswith(("?", "？"))),
        example=float(any(k not in asked for k in best.matched)),
    )


def _read(
    analysis: Analysis,
    candidates: Sequence[Candidate],
    entries: Mapping[str, Turn | Item],
    *,
    seen: int,
) -> dict[str, _Reading]:
    """Best sentence and features per candidate; blank entries have none."""
    weights = rarity(analysis.keys, [entry.body for entry in entries.values()])
    examples = {key(e) for e in examples_of((*analysis.focus, *analysis.words))}
    readings: dict[str, _Reading] = {}
    top = max((candidate.score for candidate in candidates), default=0.0)
    for number, candidate in enumerate(candidates, start=1):
        entry = entries.get(candidate.item_id)
        if entry is None or not candidate.payload:
            continue
        best = _best(entry, weights, examples)
        if best is not None:
            given = features(analysis, best, entry, place=seen + number, gap=top - candidate.score)
            readings[candidate.item_id] = _Reading(entry, best, given)
    return readings


def _best(
    entry: Turn | Item, weights: Mapping[str, float], examples: set[str]
) -> SentenceMatch | None:
    """The sentence with the most of the question's words, then examples; captions last."""
    best: SentenceMatch | None = None
    highest = -1.0
    for match in match_sentences(entry.body, weights, also=examples):
        extra = len(match.matched) - sum(k in weights for k in match.matched)
        fit = match.score + EXAMPLE_WEIGHT * min(extra, 2) / 2
        fit -= 0.01 * match.sentence.text.startswith(CAPTION_MARK) + 0.01 * _asks(match.sentence)
        if fit > highest:
            best, highest = match, fit
    return best


def _asks(sentence: Sentence) -> bool:
    return sentence.text.endswith(("?", "？"))


def _decision(candidate: Candidate, reading: _Reading | None, quoted: set[str]) -> Decision:
    """Accept or reject, with the code of the reason that weighs most."""
    if reading is None:
        reason = "budget" if not candidate.payload else "blank"
        return Decision(item_id=candidate.item_id, verdict="reject", reason=reason)
    sure = round(confidence(reading.given), 3)
    if reading.best.sentence.text.casefold() in quoted:
        verdict, reason = "reject", "same_words"
    elif sure >= ACCEPT:
        verdict, reason = "accept", _why_kept(reading)
    else:
        verdict, reason = "reject", _why_not(reading)
    return Decision(
        item_id=candidate.item_id,
        verdict="accept" if verdict == "accept" else "reject",
        reason=reason,
        confidence=sure,
    )


def _why_kept(reading: _Reading) -> str:
    if reading.given.words > 0:
        return "words_match"
    return "example_of_kind" if reading.given.example else "near_in_meaning"


def _why_not(reading: _Reading) -> str:
    given = reading.given
    if given.own < 0:
        return "other_speaker"
    if given.asks:
        return "only_asks"
    return "below_threshold" if given.words or given.example else "no_word_in_common"


def _evidence(reading: _Reading, *, round_no: int) -> EvidenceItem:
    sentence = reading.best.sentence
    return EvidenceItem(
        item_id=entry_id(reading.entry),
        quote=sentence.text,
        start=sentence.start,
        end=sentence.end,
        round=round_no,
        time=_event_time(reading.entry, sentence),
    )


def _event_time(entry: Turn | Item, sentence: Sentence) -> TimeSpan | None:
    """When the sentence says it happened, its place counted in the body; None if it does not."""
    anchor = entry.said_at.date() if entry.said_at is not None else None
    span = event_span(sentence.text, anchor)
    if span.kind == "none":
        return None
    return replace(
        span,
        text_start=span.text_start + sentence.start,
        text_end=span.text_end + sentence.start,
    )


def _missing(
    analysis: Analysis, evidence: Sequence[EvidenceItem], view: BankView
) -> tuple[str, ...]:
    """Names, dates and content words of the question that no accepted evidence explains."""
    sources = view.get(list(dict.fromkeys(item.item_id for item in evidence)))
    held = {k for item in evidence for k in keys(item.quote)}
    held |= {k for source in sources for k in keys(source.speaker)}
    names = [n for n in (*analysis.speakers, *analysis.names) if not _explained([n], held)]
    dates = [d.text for d in analysis.dates if not _dated(d, sources, held)]
    words = [w for w in analysis.words if not _explained([w, *_stands_for(w)], held)]
    return (*names, *dates, *words)


def _explained(any_of: Iterable[str], held: set[str]) -> bool:
    return any(not held.isdisjoint(keys(one)) for one in any_of)


def _stands_for(word: str) -> tuple[str, ...]:
    """What explains a kind's name as well: its other names and its examples."""
    return (*other_names_of([word]), *examples_of([word]))


def _dated(date: DateWords, sources: Sequence[Turn | Item], held: set[str]) -> bool:
    """True if something accepted was said in that year and month, or names the date."""
    if held.issuperset(keys(date.text)):
        return True
    return any(
        source.said_at is not None
        and date.year in (None, source.said_at.year)
        and date.month in (None, source.said_at.month)
        for source in sources
    )
