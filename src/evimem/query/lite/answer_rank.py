"""Which stored sentences fit a question best, for the answerer of `lite`.

Every viewed turn is cut into sentences; each gets one score from its turn's place in the search
for the question, the question's words it holds, who said it, and whether it asks or tells. The
constants were chosen with `dev/fit_answer.py` on the tuning conversations.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from importlib import resources

import numpy as np

from evimem.model.evidence import EvidenceItem, EvidenceState, Question
from evimem.model.item import Item
from evimem.model.search import Filters, Hit, SearchRequest
from evimem.model.turn import Turn
from evimem.query.lite.answer_span import asks_job
from evimem.query.lite.packager import entry_id
from evimem.query.parts import BankView
from evimem.query.question import Analysis, analyse
from evimem.query.sentences import Sentence, rarity, sentences
from evimem.query.words import key, keys
from evimem.temporal import DateTarget, date_targets, dates_in_question, find, overlap_scores

__all__ = ["Piece", "Reading", "cite", "read", "speaker_is_user"]

DEPTH = 100
"""Hits of the question itself that are looked at; deeper ones count as the last of them."""

MAX_VIEWED = 200
"""Viewed entries that are read at most, first viewed first."""

W_PLACE = 1.0
"""Weight of the turn's place in the search for the question (0..1)."""
W_WORDS = 0.9
"""Weight of the question's words that the sentence holds (0..1)."""
W_ASKS = 0.5
"""Penalty of a sentence that asks."""
W_CONTENT = 0.15
"""Bonus of a sentence with content: full from CONTENT_WORDS content words on."""
CONTENT_WORDS = 4
"""Content words of a full sentence; "Thanks, Ana!" has one."""
W_CAPTION = 0.3
"""Penalty of a picture's caption."""
W_TURN_ASKS = 0.15
"""Penalty of every sentence of a turn that ends by asking: its place owes much to the question."""
W_ACCEPTED = 0.1
"""Bonus of an entry that the assessor accepted."""

W_DATED = 0.4
"""Bonus of an entry that was said in, or tells of, a time that the question names. When-questions
weigh times by themselves."""

W_REPLY = 0.8
"""Weight of the question's words that a sentence holds together with the question it replies to:
the turn before it, where another person asked. Not used for when-questions: who replies with a
time says what happened as well."""

_WORDS_OF_ASKING = """say said tell told describe feel felt think thought mention according long old
often does kind type photo share happen main still name called suggest recommend
advise"""
_ASKING = frozenset(keys(_WORDS_OF_ASKING))
CAPTION_MARK = "[picture: "
ASKED = "asked"
"""Name of the ranking's feature for the person asked about."""
ELLIPTIC = 4
"""Content words, numbers aside, of a reply that is taken together with what it replies to ("Yes, in
October."): it holds the question's words as if it had said them."""
_SHORT_NAME = 3
_FIRST_PERSON = re.compile(r"\b(?:i|me|my|mine|we|our|us)\b", re.IGNORECASE)
_YOU_SAID = re.compile(
    r"\b(?:what|which|where|when|who|why|how)\b.{0,120}?\b(?:did|had) you\b|"
    r"\byou (?:said|told|gave|suggested|recommended|advised|mentioned)\b",
    re.IGNORECASE,
)
_JOB_WORDS = frozenset(keys("living work job profession occupation"))
PHRASED = 2
"""Content words at most of a question that is also met by other words for it."""
_PHRASES = tuple(
    (key(word), re.compile(rf"\b(?:{said})\b", re.IGNORECASE))
    for word, said in (
        ("live", r"moved (?:in )?(?:to|from)|(?:flat|apartment|home|house) (?:in|on)"),
        ("work", r"job at|started at|joined|hired by"),
        ("job", r"works? as|worked as|working as|i['’]m an?|i am an?|became|train as|as an?"),
        ("weigh", r"kg|kilos?|lbs|grams"),
    )
)
"""What people say for the word of a question such as "Where does she live?", by its key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One sentence of a viewed entry, scored."""

    entry: Turn | Item
    """The entry."""
    entry_id: str
    """Its id."""
    sentence: Sentence
    """The sentence: a span of the entry's body."""
    score: float
    """How well it fits; comparable within one question."""
    place: float
    """The turn's place in the search for the question: 1 best, 0 at DEPTH or below."""
    words: float
    """Share of the question's word weight that the sentence holds."""
    matched: frozenset[str]
    """Keys of the question that the sentence holds."""
    reply: float
    """Share of the word weight for the sentence with the question it replies to; 0 where it
    replies to none."""
    own: bool | None
    """True if the one person whom the question names said it, False if another did, None where
    the question names nobody or several."""
    asks: bool
    """True if it is a question."""
    round: int
    """Round that accepted the entry; the state's last round where none did."""
    heard: frozenset[str] = frozenset()
    """`matched` with the question's keys in what the sentence replies to, and for a few words
    ("2 hours and 14 minutes.") in the sentence before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A question with everything viewed for it, ranked."""

    question: Question
    """The question."""
    analysis: Analysis
    """What it asks for."""
    person: str
    """The one speaker whom the question is about; empty if it names none or several."""
    speakers: tuple[str, ...]
    """All speakers of the bank."""
    examples: frozenset[str]
    """Keys of common examples of what is asked for; empty where none are known."""
    pieces: tuple[Piece, ...]
    """All sentences, best first."""
    weights: Mapping[str, float]
    """Weight per key of the question: rare ones near 1."""
    turns: Mapping[tuple[str, int], Turn]
    """Viewed turns by session id and place in the session."""
    targets: tuple[DateTarget, ...] = ()
    """Times that the question names; empty for when-questions, which weigh times themselves."""

    @property
    def own(self) -> tuple[Piece, ...]:
        """Pieces that tell something and may answer, best first: those of the person whom the
        question is about where there are any, else all that tell, else all."""
        telling = self.telling
        return tuple(p for p in telling if p.own is not False) or telling or self.pieces

    @property
    def telling(self) -> tuple[Piece, ...]:
        """Pieces that tell something, best first."""
        return tuple(p for p in self.pieces if not p.asks)


def read(state: EvidenceState, view: BankView) -> Reading:
    """Ranks every sentence of what was viewed.

    Args:
        state: the question with its viewed ids and accepted evidence.
        view: the bank; it is searched once more for the question itself, which the first round
            did too, because places in that search are what the scores rest on.
    """
    question = state.question
    analysis = analyse(question.text, speakers=view.speakers)
    person = about(analysis, view.speakers)
    entries = view.get(state.viewed[:MAX_VIEWED])
    again = SearchRequest(text=question.text, k=DEPTH, filters=Filters(underived=True))
    hits = view.search(again) if entries else ()
    places = _places(hits)
    bodies = [entry.body for entry in entries]
    weights = rarity(_wanted(analysis, person, bodies), bodies)
    accepted = {item.item_id: item.round for item in reversed(state.evidence)}
    turns = {(e.session_id, e.index): e for e in entries if isinstance(e, Turn)}
    asked = _asked_before(turns)
    now = datetime.fromisoformat(question.asked_at) if question.asked_at else view.latest
    spans = dates_in_question(question.text, now.date() if now is not None else None)
    targets = date_targets(spans) if analysis.kind != "when" else ()
    named = {k for span in spans for k in keys(span.text)} & weights.keys()
    met = {entry_id(e) for e in entries if _meets(e, targets)}
    # What was said in a time is a better sign of it than its words, which count from another day.
    strict = bool(targets) and not person and weights.keys() <= named
    known = examples(analysis)
    kind = key(analysis.focus[-1]) if known else ""
    pieces: list[Piece] = []
    for entry in entries:
        ident = entry_id(entry)
        given = _Given(
            ident=ident,
            place=places.get(ident, 0.0),
            own=entry.speaker == person if person else None,
            accepted=ident in accepted,
            round=accepted.get(ident, state.round),
            asked=asked.get(ident, frozenset()),
            kind=kind,
            examples=known,
            dated=frozenset(named) if ident in met else frozenset(),
            undated=frozenset(named) if strict and ident not in met else frozenset(),
            meets=ident in met,
            reply_weight=0.0 if analysis.kind == "when" else W_REPLY,
        )
        pieces.extend(_pieces_of(entry, weights, given))
    pieces.sort(key=lambda p: (-p.score, -p.place, p.entry_id, p.sentence.start))
    return Reading(
        question=question,
        analysis=analysis,
        person=person,
        speakers=tuple(view.speakers),
        examples=examples(analysis),
        pieces=tuple(pieces),
        weights=weights,
        turns=turns,
        targets=targets,
    )


def _wanted(analysis: Analysis, person: str, bodies: Sequence[str]) -> list[str]:
    """The question's keys that evidence should hold: no words of asking, no short name, and of
    "A or B" not the one that nothing speaks of."""
    short = {key(n) for n in analysis.names if person.casefold().startswith(n.casefold())}
    wanted = [k for k in analysis.keys if k not in _ASKING and k not in short]
    if asks_job(analysis.text):
        wanted = [*(k for k in wanted if k not in _JOB_WORDS), "job"]
    if " or " not in analysis.text:
        return wanted
    told = {k for body in bodies for k in keys(body)}
    return [k for k in wanted if k in told] or wanted


def examples(analysis: Analysis) -> frozenset[str]:
    """Keys of things of the kind that is asked for ("pets": "cat", ...), without the question's own
    words; empty where no members of the kind are known."""
    head = analysis.focus[-1:]
    members = _members().get(key(head[0]), frozenset()) if head else frozenset()
    return members - set(keys(analysis.text))


@cache
def _members() -> dict[str, frozenset[str]]:
    """Members' keys by the key of every name of a kind, from `data/members_en.txt`."""
    text = (resources.files("evimem.query.lite") / "data" / "members_en.txt").read_text("utf-8")
    table: dict[str, frozenset[str]] = {}
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            names, members = line.split(":", 1)
            table.update(dict.fromkeys(keys(names), frozenset(keys(members))))
    return table


def about(analysis: Analysis, speakers: Sequence[str]) -> str:
    """The one speaker whom a question is about; empty if there is no such one.

    "I" and "my" mean the user where the bank holds a chat of a user with an assistant; what "you"
    said or did is the assistant's.
    """
    if len(analysis.speakers) == 1:
        return analysis.speakers[0]
    if not analysis.speakers and (short := _by_short_name(analysis.names, speakers)):
        return short
    if not analysis.speakers and _YOU_SAID.search(analysis.text):
        return next((s for s in speakers if _is_assistant(s)), "")
    if not analysis.speakers and _FIRST_PERSON.search(analysis.text):
        return next((s for s in speakers if speaker_is_user(s)), "")
    return ""


def _by_short_name(names: Sequence[str], speakers: Sequence[str]) -> str:
    """The one speaker whose name begins with a name of the question ("Mel" for "Melanie")."""
    low = [n.casefold() for n in names if len(n) >= _SHORT_NAME]
    found = {s for s in speakers for n in low if s.casefold().startswith(n)}
    return found.pop() if len(found) == 1 else ""


def speaker_is_user(speaker: str) -> bool:
    """True for the user's side of a chat with an assistant."""
    return speaker.casefold() in ("user", "human")


def _is_assistant(speaker: str) -> bool:
    return speaker.casefold() in ("assistant", "ai")


def cite(piece: Piece, *, start: int | None = None, end: int | None = None) -> EvidenceItem:
    """The evidence item of a piece, or of the part body[start:end] of its entry."""
    a = piece.sentence.start if start is None else start
    b = piece.sentence.end if end is None else end
    return EvidenceItem(
        item_id=piece.entry_id,
        quote=piece.entry.body[a:b],
        start=a,
        end=b,
        round=max(piece.round, 1),
    )


def _places(hits: Sequence[Hit]) -> dict[str, float]:
    """Hits' scores scaled so that the best is 1 and the worst 0.

    What the ranking gives for being said by the person asked about is taken out, so that both
    sides can be compared; the answer is then looked for on the person's own side.
    """
    neutral = {hit.item_id: hit.score - hit.scores.get(ASKED, 0.0) for hit in hits}
    if not neutral:
        return {}
    top, low = max(neutral.values()), min(neutral.values())
    spread = (top - low) or 1.0
    return {one: (score - low) / spread for one, score in neutral.items()}


def _meets(entry: Turn | Item, targets: Sequence[DateTarget]) -> bool:
    """True if an entry was said in one of the times asked for, or tells of one."""
    if not targets or entry.said_at is None:
        return False
    said = entry.said_at.date()
    days = [(s.start, s.end) for s in find(entry.body, said) if s.start and s.end] or [(said, said)]
    first = np.array([a.toordinal() for a, _ in days])
    last = np.array([b.toordinal() for _, b in days])
    return bool((overlap_scores(targets, first, last) > 0).any())


def _asked_before(turns: Mapping[tuple[str, int], Turn]) -> dict[str, frozenset[str]]:
    """Per turn the keys of what another person asked right before it, as far as that was viewed."""
    asked = {}
    for (session, index), turn in turns.items():
        before = turns.get((session, index - 1))
        if before is not None and before.speaker != turn.speaker:
            found = [s.text for s in sentences(before.body) if _asks(s.text)]
            if found:
                asked[turn.turn_id] = frozenset(keys(" ".join(found)))
    return asked


def _asks(text: str) -> bool:
    return text.rstrip("\"'”’)").endswith("?")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Given:
    """What is the same for all sentences of one entry; fields as in `Piece`."""

    ident: str
    place: float
    own: bool | None
    accepted: bool
    round: int
    asked: frozenset[str]
    reply_weight: float
    kind: str
    examples: frozenset[str]
    dated: frozenset[str]
    undated: frozenset[str]
    meets: bool


def _held(
    text: str,
    told: frozenset[str],
    given: _Given,
    weights: Mapping[str, float],
    *,
    first: bool,
) -> tuple[frozenset[str], frozenset[str]]:
    """Keys that a sentence holds, and these with what it leans on: the question it replies to and,
    for a few words, the sentence before it.

    Args:
        text: the sentence.
        told: keys of the sentence before it in the turn.
        given: about its entry.
        weights: keys looked for.
        first: True for the first sentence of a turn.
    """
    held = frozenset(keys(text))
    short = sum(not k.isdigit() for k in held) <= ELLIPTIC
    leaned = given.asked | told if short else given.asked
    if first and short and not _asks(text):
        held |= given.asked
    held = (held | given.dated) - given.undated
    if len(weights) <= PHRASED:
        held |= {k for k, said in _PHRASES if k in weights and said.search(text)}
    if not given.examples.isdisjoint(held):
        held |= {given.kind}  # "cat" is as good as "pet"
    return held, held | leaned


def _pieces_of(entry: Turn | Item, weights: Mapping[str, float], given: _Given) -> list[Piece]:
    total = sum(weights.values()) or 1.0
    pieces = []
    parts = sentences(entry.body)
    words_said = [p for p in parts if not p.text.startswith(CAPTION_MARK)]
    turn_asks = bool(words_said) and _asks(words_said[-1].text)
    told: frozenset[str] = frozenset()
    for number, part in enumerate(parts):
        held, heard = _held(part.text, told, given, weights, first=number == 0)
        told = held
        words = sum(w for k, w in weights.items() if k in held) / total
        if not weights and given.meets:
            words = 1.0  # "What happened last week?" has nothing but its date
        both = sum(w for k, w in weights.items() if k in held or k in given.asked) / total
        reply = both if given.asked else 0.0
        asks = _asks(part.text)
        score = W_PLACE * given.place + W_WORDS * words + given.reply_weight * reply
        score += W_CONTENT * min(len(held), CONTENT_WORDS) / CONTENT_WORDS
        score -= W_CAPTION * part.text.startswith(CAPTION_MARK)
        score -= W_TURN_ASKS * turn_asks
        score += W_ACCEPTED * given.accepted - W_ASKS * asks + W_DATED * given.meets
        pieces.append(
            Piece(
                entry=entry,
                entry_id=given.ident,
                sentence=part,
                score=score,
                place=given.place,
                words=words,
                matched=held & weights.keys(),
                heard=heard & weights.keys(),
                reply=reply,
                own=given.own,
                asks=asks,
                round=given.round,
            )
        )
    return pieces
