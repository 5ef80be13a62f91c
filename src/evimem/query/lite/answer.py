"""The answerer of `lite`: takes the answer out of the stored words, and never invents one.

It ranks the sentences of what was viewed (`answer_rank`), asks whether they answer at all
(`abstain`), and then takes out what the kind of question asks for: a time (`answer_when`), a
part of a sentence (`answer_span`), several parts (`answer_list`), the newest value of a changed
fact (`answer_change`), or the sentence as it stands. No model is involved.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time

from evimem.model.answer import NOT_IN_MEMORY
from evimem.model.evidence import EvidenceItem, EvidenceState
from evimem.query.lite.abstain import Judgement, asks_advice, judge
from evimem.query.lite.answer_attribute import asks_code, asks_name, given_name
from evimem.query.lite.answer_change import (
    Value,
    cite_correction,
    contradicted,
    correction_of,
    is_retold,
    newest,
)
from evimem.query.lite.answer_list import listed
from evimem.query.lite.answer_polar import decide, is_polar, pick_option
from evimem.query.lite.answer_rank import Piece, Reading, cite, read
from evimem.query.lite.answer_span import shown, with_unit
from evimem.query.lite.answer_value import asks_current, follow_up, teller, value_finder
from evimem.query.lite.answer_when import When, asks_untold, day_words, resolve_when
from evimem.query.lite.packager import entry_id
from evimem.query.parts import BankView, Draft
from evimem.query.words import key, keys

__all__ = ["LiteAnswerer"]

CHANGING = ("what", "how_many", "where", "who", "how_often")
"""Kinds of questions whose answer has one value that may change."""
LOOKED_FOR = {
    "how_many": "the number",
    "how_long": "the length of time",
    "how_often": "how often",
    "where": "the place",
    "who": "the name",
    "why": "the reason",
}
"""What a sentence lacks that answers such a question without naming it: the answer is partial."""
COUNTED = ("what", "how_many", "how_often")
"""Of these, the kinds where another value in the same words replaces the older one."""
CLOSE = 0.4
"""A sentence this much below the best may still bring the value asked for."""
FRONT = 8
"""Sentences at most that are tried for the value."""


_AMOUNT = re.compile(r"\bhow (?:much|old|tall|far|big|large)\b", re.IGNORECASE)
_CLOCK_TIME = re.compile(r"\b(?:what|which) time\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class LiteAnswerer:
    """Extracts the answer. Stateless, without settings."""

    def answer(self, state: EvidenceState, view: BankView) -> Draft:
        """The draft answer: every quote in its support is the body's text at that place."""
        reading = read(state, view)
        if not reading.pieces:
            return Draft(
                text=NOT_IN_MEMORY,
                status="not_in_memory",
                support=(),
                missing="nothing stored has a word of the question in it",
            )
        judgement = judge(reading)
        if not judgement.supported:
            return _absent(judgement)
        return _by_kind(reading, view)


def _absent(judgement: Judgement) -> Draft:
    return Draft(
        text=NOT_IN_MEMORY,
        status="not_in_memory",
        support=_distinct([cite(p) for p in judgement.nearest]),
        missing=judgement.missing,
    )


def _by_kind(reading: Reading, view: BankView) -> Draft:
    kind = reading.analysis.kind
    if asks_advice(reading):
        return _bearing(reading)
    if kind == "when" and not _CLOCK_TIME.search(reading.analysis.text):
        return _when(reading)
    if is_polar(reading):
        polar = decide(reading, view)
        return _draft(polar.text, polar.support, reading)
    if " or " in reading.analysis.text and (option := pick_option(reading)) is not None:
        return _draft(option.text, option.support, reading)
    if _asks_several(reading):
        several = listed(reading)
        return _draft(several.text, several.support, reading)
    return _single(reading, view)


def _bearing(reading: Reading) -> Draft:
    """What bears on a request, said as such."""
    best = best_piece(reading)
    return Draft(
        text=shown(best.sentence.text),
        status="partial",
        support=(cite(best),),
        missing="advice: this is what memory holds that bears on it",
    )


def _asks_several(reading: Reading) -> bool:
    """True if several members are asked for. Two names in a question are no sign of that."""
    analysis = reading.analysis
    if analysis.kind == "list":
        return True
    return analysis.several and analysis.kind in ("what", "who", "where") and bool(reading.person)


def _when(reading: Reading) -> Draft:
    found = resolve_when(reading)
    if found is None:
        best = best_piece(reading)
        missing = "when it was: the evidence has no time"
        if asks_untold(reading):
            return _absent(Judgement(supported=False, missing=missing, nearest=(best,)))
        return Draft(
            text=shown(best.sentence.text),
            status="partial",
            support=(cite(best),),
            missing=missing,
        )
    said = found.span is None
    return Draft(
        text=found.text,
        status="partial" if said else "supported",
        support=_distinct(_when_support(found)),
        missing="a time of the event: this is when it was told" if said else "",
    )


def _when_support(found: When) -> list[EvidenceItem]:
    """The sentence that tells of the event, then the expression if it stands in another one."""
    support = [cite(found.piece)]
    span, sentence = found.span, found.piece.sentence
    if span is None:
        return support
    same = found.entry is found.piece.entry
    if not same or not sentence.start <= span.text_start < sentence.end:
        support.append(
            EvidenceItem(
                item_id=entry_id(found.entry),
                quote=found.entry.body[span.text_start : span.text_end],
                start=span.text_start,
                end=span.text_end,
                round=max(found.piece.round, 1),
            )
        )
    return support


def _single(reading: Reading, view: BankView) -> Draft:
    """One value, the newest where the fact changed; the best sentence where no rule finds one."""
    find = value_finder(reading)
    best = _naming(best_piece(reading), reading)
    if (back := correction_of(best, view)) is not None:
        text = f"{shown(best.sentence.text)} Taken back later: {shown(back.sentence.text)}"
        return _draft(text, [cite_correction(back, best), cite(best)], reading)
    for piece in _front(reading, best):
        if reading.analysis.kind == "who" and (who := teller(piece, reading)):
            return _draft(who, [cite(piece)], reading)
        span = find(piece)
        if span is not None:
            value = Value(piece=piece, span=span)
            if reading.analysis.kind not in CHANGING:
                return _value_draft(value, None, reading)
            again = reading.analysis.kind in COUNTED or asks_current(reading.analysis.text)
            last, before = newest(
                value, reading, find, again=again, now=_now(reading), named=asks_code(reading)
            )
            return _value_draft(last, before, reading)
    if (followed := follow_up(best, reading, find)) is not None:
        piece, span = followed
        draft = _value_draft(Value(piece=piece, span=span), None, reading)
        return dataclasses.replace(draft, support=_distinct([*draft.support, cite(best)]))
    later = contradicted(best, reading)
    support = [cite(later), cite(best)] if later is not None else [cite(best)]
    sentence = _draft(shown((later or best).sentence.text), support, reading)
    lacking = _looked_for(reading)
    if not lacking:
        return sentence
    missing = "; ".join(m for m in (lacking, sentence.missing) if m)
    if _exact(reading):
        return _absent(Judgement(supported=False, missing=missing, nearest=(best,)))
    return dataclasses.replace(sentence, status="partial", missing=missing)


def _exact(reading: Reading) -> bool:
    """True for questions whose answer has a form that is easy to see: without a number no sentence
    says how many. A place or a reason may be told in words that no rule knows."""
    amount = _AMOUNT.search(reading.analysis.text) is not None
    return amount or asks_code(reading) or asks_name(reading)


def _looked_for(reading: Reading) -> str:
    """What a sentence without a value lacks; empty where the sentence itself may answer."""
    if asks_code(reading):
        return f"the {' '.join(reading.analysis.focus)}"
    if asks_name(reading):
        return "the name"
    return LOOKED_FOR.get(reading.analysis.kind, "")


def _naming(best: Piece, reading: Reading) -> Piece:
    """The best sentence, or one hardly worse that speaks of the very thing asked for ("which
    hospital") where the best one does not."""
    focus = reading.analysis.focus
    head = key(focus[-1]) if reading.analysis.kind == "what" and focus else ""
    if head not in reading.weights or head in best.heard:
        return best
    near = (p for p in reading.own if p.score >= best.score - CLOSE and not is_retold(p))
    return next((p for p in near if head in p.heard), best)


def _front(reading: Reading, best: Piece) -> list[Piece]:
    """The sentences that are about as good as the best, best first."""
    if asks_code(reading):
        return list(reading.own)  # what is looked for is too special to be met by chance
    if asks_name(reading):
        return sorted(reading.own, key=lambda p: given_name(p, reading) is None)
    near = [p for p in reading.own if p.score >= best.score - CLOSE][:FRONT]
    same = [p for p in reading.own if p.entry_id == best.entry_id and not p.asks]
    after = sorted(same, key=lambda p: p.sentence.start)
    after = [p for p in after if p.sentence.start > best.sentence.start]
    tried = {(p.entry_id, p.sentence.start): p for p in (best, *near, *after)}
    return list(tried.values())


def best_piece(reading: Reading) -> Piece:
    """The best sentence that tells, quotations last."""
    mine = reading.own
    return next((p for p in mine if not is_retold(p)), mine[0])


def _value_draft(last: Value, before: Value | None, reading: Reading) -> Draft:
    text = _plain(last)
    support = [cite(last.piece)]
    if before is not None:
        said = last.piece.entry.said_at
        until = f", until {day_words(said.date())}" if said is not None else ""
        text = f"{text} (earlier: {_plain(before)}{until})"
        support.append(cite(before.piece))
    if not asks_code(reading):  # a code is shown letter by letter
        text = text[:1].upper() + text[1:]
    return _draft(text, support, reading)


def _plain(value: Value) -> str:
    """A value in words: on one line, without "now" at its end, a number with its unit."""
    span = with_unit(value.span, value.piece.entry.body)
    return re.sub(r" (?:now|currently|at the moment|these days)$", "", " ".join(span.text.split()))


def _draft(text: str, support: Sequence[EvidenceItem], reading: Reading) -> Draft:
    """An answer; partial where a name of the question stands in nothing that was viewed."""
    unseen = _unseen_names(reading)
    return Draft(
        text=text,
        status="partial" if unseen else "supported",
        support=_distinct(support),
        missing=f"anything that names {', '.join(unseen)}" if unseen else "",
    )


def _unseen_names(reading: Reading) -> list[str]:
    seen = {k for p in reading.pieces for k in p.matched}
    unseen = []
    for name in reading.analysis.names:
        if reading.analysis.text.startswith(name):
            continue  # capital because it is the first word
        wanted = set(keys(name)) & reading.weights.keys()
        if wanted and not wanted & seen:
            unseen.append(name)
    return unseen


def _now(reading: Reading) -> datetime | None:
    """When the answer must have held at the latest: the end of the times that the question names,
    else when it is asked."""
    ends = [t.end for t in reading.targets if t.end is not None]
    if ends:
        return datetime.combine(date.fromordinal(max(ends)), time.max, UTC)
    asked = reading.question.asked_at
    return datetime.fromisoformat(asked) if asked is not None else None


def _distinct(support: Sequence[EvidenceItem]) -> tuple[EvidenceItem, ...]:
    return tuple({(e.item_id, e.start, e.end): e for e in support}.values())
