"""Quote verification (QEM-12, 15, 16; Q7): do the words stand in the source, and where.

It tells whether a quote is faithful to its source, never whether the source supports a claim.

Quote and source are read as rows of tokens: words and numbers after folding, single characters in
scripts written without spaces. Folding evens out case, compatibility forms (full width, ligatures),
composed and decomposed accents, kinds of quotes and dashes, invisible characters, HTML entities and
markdown emphasis; blanks, punctuation and emoji part tokens and do not count. A decimal point, a
minus, a currency sign and a per cent sign do count: they are part of a number.

- A quote whose tokens stand in the source side by side scores 1. So does one with an ellipsis
  inside whose parts all stand there in order, if what it leaves out takes no negation out of a
  sentence that it quotes.
- Else the score is that of the best window: the stretch of the source that needs the fewest edits
  (a token changed, put in or taken out; among equals the one with more tokens kept, then the
  earlier) to become the quote. Score = tokens kept, in order, over the longer of quote and window.
- Such a quote is verified if its score reaches the threshold and no edit is of a kind that changes
  what is said (see `_altered`). At 0.9 one harmless edit passes from 10 tokens on (one left out
  from 9), two from 20, three from 30; below that every change fails. A number, a negation, a name,
  a pronoun or a time word changed, put in or taken out never passes, nor do two words swapped, nor
  any character of a script without spaces, where none of these can be told from the rest.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from evimem.query.qemem.folding import Folded, fold, is_unspaced, number_like
from evimem.query.words import MONTHS, WEEKDAYS, word_set

__all__ = ["MAX_QUOTE_WORDS", "Match", "Verified", "match", "too_long", "verify"]

MAX_QUOTE_WORDS = 30
"""Words of a quote from which on it is too long to be one (QEM-12)."""
MAX_WINDOW_TOKENS = 120
"""Tokens of a quote up to which windows are tried; a longer one is found as it stands or not."""
MAX_PLACES = 6
"""Places of a source that are aligned: those that hold most words of the quote."""
_EDIT = 1 << 16
"""Weight of an edit beside one kept token, so that fewer edits always win."""

_NEGATIONS = word_set(
    "no not never none nobody nothing nowhere neither nor without cannot cant dont didnt doesnt "
    "isnt wasnt arent werent wont wouldnt couldnt shouldnt havent hasnt hadnt aint hardly barely "
    "scarcely rarely nicht kein keine keinen keiner nie niemals nunca nada ni pas jamais rien ne "
    "non mai não nem jamás"
)
"""Negations: English, and the commonest of German, Spanish, Portuguese, French and Italian."""
_NUMBER_WORDS = word_set(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety "
    "hundred hundreds thousand thousands million millions billion billions dozen dozens half "
    "quarter double twice thrice once both first second third fourth fifth sixth seventh eighth "
    "ninth tenth"
)
_WHO = word_set(
    "i you he she we they me him us them my your his her our their mine yours hers ours theirs"
)
"""Pronouns: who did it, though under another word."""
_WHEN = (
    word_set("yesterday today tomorrow tonight ago before after last next until since")
    | WEEKDAYS
    | frozenset(name for name in MONTHS if name != "may")
)
_PROTECTED = frozenset(fold(word).text for word in _NEGATIONS | _NUMBER_WORDS | _WHO | _WHEN)
_FOLDED_NEGATIONS = frozenset(fold(word).text for word in _NEGATIONS)
_UN = re.compile(r"un|in|im|il|ir|dis|non")
"""Beginnings that turn a word into its opposite."""
_UN_STEM = 3
"""Letters of a word at least that such a beginning may stand before."""
_SENTENCE_END = re.compile(r"[.!?。！？\n]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """How a quote stands in one body."""

    score: float
    """1 for a normalised substring, else kept tokens over the longer of quote and window."""
    start: int
    """Offset of the matched words in the body as given."""
    end: int
    """Offset one past them; equal to `start` where nothing matched."""
    verified: bool
    """True if the score reaches the threshold and nothing that matters was altered."""


_NOTHING = Match(score=0.0, start=0, end=0, verified=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """How a quote stands in the sources that a card cites (Q7). Fidelity, not entailment."""

    quote_verified: bool
    """nu: it stands in at least one of them."""
    match: float
    """Score in the best one, in [0, 1]."""
    quoted_from: str
    """Id of the best source; empty where no word matched."""
    start: int
    """Offset of the matched words in that source's body."""
    end: int
    """Offset one past them."""


def too_long(quote: str) -> bool:
    """Whether a quote has more than MAX_QUOTE_WORDS words (QEM-12).

    Words are parted by blanks; in scripts without spaces two characters count as one.
    """
    words = 0
    for piece in quote.split():
        tokens = fold(piece).tokens()
        unspaced = sum(map(is_unspaced, tokens))
        words += (unspaced + 1) // 2 + (len(tokens) > unspaced)
    return words > MAX_QUOTE_WORDS


def match(quote: str, body: str, *, threshold: float = 0.9) -> Match:
    """How well a quote stands in a body, and where (Q7; the rules are those of this module).

    Time is linear in the body; what is aligned beyond it is bounded.

    Args:
        quote: the words as a model copied them.
        body: the text they are said to come from.
        threshold: delta, the lowest score of a verified quote, in (0, 1].

    Returns:
        The match; `body[start:end]` are the words that were matched, in the body's own form. A
        quote without any word (empty, an ellipsis, emoji only) scores 0 and is never verified.
    """
    asked = fold(quote)
    tokens = asked.tokens()
    if not tokens:
        return _NOTHING
    source = fold(body)
    held = source.tokens()
    row = f" {' '.join(held)} "
    span = _in_order([tokens], row) or _in_order(asked.parts(), row)
    if span and not _negation_left_out(asked.parts(), source, held, span):
        start, end = source.span(*span)
        return Match(score=1.0, start=start, end=end, verified=True)
    if len(tokens) > MAX_WINDOW_TOKENS:
        return _NOTHING
    return _best_window(asked, tokens, source, held, threshold)


def verify(quote: str, sources: Sequence[tuple[str, str]], *, threshold: float = 0.9) -> Verified:
    """The best match of a quote over the sources that a card cites (QEM-15, Q7).

    Args:
        quote: the words as a model copied them.
        sources: pairs of (item id, body), in the order cited; the first of equals is taken.
        threshold: delta.

    Returns:
        The verdict. A verified source is preferred over one with a higher score that is not.
    """
    best, best_id = _NOTHING, ""
    for item_id, body in sources:
        found = match(quote, body, threshold=threshold)
        if (found.verified, found.score) > (best.verified, best.score):
            best, best_id = found, item_id
        if best.verified and best.score == 1.0:
            break
    return Verified(
        quote_verified=best.verified,
        match=best.score,
        quoted_from=best_id,
        start=best.start,
        end=best.end,
    )


# --- as it stands -----------------------------------------------------------------------------


def _in_order(parts: Sequence[Sequence[str]], row: str) -> tuple[int, int] | None:
    """Tokens [first, last] in a row of tokens that hold all parts in order, as tight as can be."""
    needles = [f" {' '.join(part)} " for part in parts]
    at = 0
    for needle in needles:
        at = row.find(needle, at)
        if at < 0:
            return None
        at += len(needle) - 1  # the blank after a part may be the one before the next
    end = at
    # The last part ends as early as it can; the others are now moved up to it.
    for needle in reversed(needles):
        at = row.rfind(needle, 0, at + 1)
    return row.count(" ", 0, at), row.count(" ", 0, end) - 1


def _negation_left_out(
    parts: Sequence[Sequence[str]], source: Folded, held: Sequence[str], span: tuple[int, int]
) -> bool:
    """Whether an ellipsis of the quote hides a negation of a sentence that is quoted.

    "I do ... like him" is no quote of "I do not like him". A sentence left out whole may say what
    it will.
    """
    first = span[0]
    row = f" {' '.join(held[first : span[1] + 1])} "
    at = 0
    for number, part in enumerate(parts):
        needle = f" {' '.join(part)} "
        begin = row.find(needle, at)
        if number and begin > at and begin >= 0:
            gap = range(first + row.count(" ", 0, at), first + row.count(" ", 0, begin))
            if _negates(source, held, gap):
                return True
        at = begin + len(needle) - 1
    return False


def _negates(source: Folded, held: Sequence[str], gap: range) -> bool:
    """Whether a left-out stretch holds a negation that shares a sentence with what is around."""
    negations = [at for at in gap if _is_negation(held[at])]
    if not negations:
        return False
    before = source.span(gap[0] - 1, gap[0] - 1)[1]
    after = source.span(gap[-1] + 1, gap[-1] + 1)[0]
    ends = [found.start() for found in _SENTENCE_END.finditer(source.original, before, after)]
    for at in negations:
        place = source.span(at, at)[0]
        if not ends or place < ends[0] or place > ends[-1]:
            return True
    return False


# --- nearly as it stands ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Aligned:
    """A quote laid beside a stretch of a source."""

    first: int
    """First token of the window."""
    last: int
    """Its last token; before `first` for an empty window."""
    kept: int
    """Tokens kept, in order."""
    lost: tuple[int, ...]
    """Tokens of the quote that the window does not have there."""
    added: tuple[int, ...]
    """Tokens of the window that the quote does not have there."""


def _best_window(
    asked: Folded, tokens: Sequence[str], source: Folded, held: Sequence[str], threshold: float
) -> Match:
    slack = len(tokens) // 9 + 1
    width = len(tokens) + slack
    best, window = (False, 0.0), None
    for place in _places(tokens, held, width, threshold):
        begin = max(0, place - slack)
        aligned = _align(tokens, held[begin : place + width + slack], begin)
        score = aligned.kept / max(len(tokens), aligned.last - aligned.first + 1)
        verified = score >= threshold and not _altered(aligned, asked, tokens, source, held)
        if (verified, score) > best:
            best, window = (verified, score), aligned
    if window is None:
        return _NOTHING
    start, end = source.span(window.first, window.last)
    return Match(score=best[1], start=start, end=end, verified=best[0])


def _places(tokens: Sequence[str], held: Sequence[str], width: int, threshold: float) -> list[int]:
    """Where to lay the quote: tokens of the source from which on most of its words follow.

    All places that could reach the threshold, or else the fullest one; MAX_PLACES at most.
    """
    words = frozenset(tokens)
    hits = [at for at, token in enumerate(held) if token in words]
    counts: list[int] = []
    ahead = 0
    for number, at in enumerate(hits):
        while ahead < len(hits) and hits[ahead] < at + width:
            ahead += 1
        counts.append(ahead - number)
    if not counts:
        return []
    top = max(counts)
    floor = min(top, max(1, int(threshold * len(tokens))))
    chosen: list[int] = []
    full = [number for number, count in enumerate(counts) if count >= floor]
    for number in sorted(full, key=lambda number: -counts[number]):
        if all(abs(hits[number] - other) > width // 4 for other in chosen):
            chosen.append(hits[number])
            if len(chosen) == (MAX_PLACES if top >= threshold * len(tokens) else 1):
                break
    return chosen


def _align(tokens: Sequence[str], near: Sequence[str], offset: int) -> _Aligned:
    """The stretch of `near` that becomes the quote with the fewest edits, and the edits.

    Costs are integers: an edit weighs _EDIT, a kept token -1. Ends of `near` are free.
    """
    rows = [[0] * (len(near) + 1)]
    for token in tokens:
        above = rows[-1]
        row = [above[0] + _EDIT]
        left = row[0]
        for at, other in enumerate(near):
            diagonal = above[at] + (-1 if token == other else _EDIT)
            up = above[at + 1] + _EDIT
            left = min(diagonal, up, left + _EDIT)
            row.append(left)
        rows.append(row)
    return _walk_back(rows, tokens, near, offset)


def _walk_back(
    rows: Sequence[Sequence[int]], tokens: Sequence[str], near: Sequence[str], offset: int
) -> _Aligned:
    """Reads the edits off a filled table, from the cheapest end back."""
    at = min(range(len(near) + 1), key=rows[-1].__getitem__)
    # A last token that differs was changed rather than put in: what it replaced must be seen.
    while at < len(near) and rows[-1][at + 1] == rows[-1][at]:
        at += 1
    end, number, kept = at, len(tokens), 0
    lost: list[int] = []
    added: list[int] = []
    while number:
        cost = rows[number][at]
        same = at > 0 and tokens[number - 1] == near[at - 1]
        if at and cost == rows[number - 1][at - 1] + (-1 if same else _EDIT):
            number, at = number - 1, at - 1
            if same:
                kept += 1
            else:
                lost.append(number)
                added.append(offset + at)
        elif cost == rows[number - 1][at] + _EDIT:
            number -= 1
            lost.append(number)
        else:
            at -= 1
            added.append(offset + at)
    return _Aligned(offset + at, offset + end - 1, kept, tuple(lost), tuple(added))


def _altered(
    aligned: _Aligned, asked: Folded, tokens: Sequence[str], source: Folded, held: Sequence[str]
) -> bool:
    """Whether an edit changes what is said, however long the quote.

    That is a number, negation, pronoun or time word; a name, which is a word with a capital on
    either side; a word that is only somewhere else (swapped); a word for its opposite by a
    beginning ("unhappy"); a character of a script without spaces.
    """
    lost = [tokens[at] for at in aligned.lost]
    added = [held[at] for at in aligned.added]
    # A word swapped at an end of the quote stands just outside the window.
    reach = len(tokens) // 9 + 1
    beside = [*held[max(0, aligned.first - reach) : aligned.first]]
    beside += held[aligned.last + 1 : aligned.last + 1 + reach]
    if not frozenset(lost).isdisjoint([*added, *beside]):
        return True
    if any(map(_is_protected, lost)) or any(map(_is_protected, added)):
        return True
    if any(asked.capital(at) for at in aligned.lost):
        return True
    if any(source.capital(at) for at in aligned.added):
        return True
    return any(_opposite(one, other) for one in lost for other in added)


def _is_negation(token: str) -> bool:
    return token in _FOLDED_NEGATIONS or token.endswith("n't")


def _is_protected(token: str) -> bool:
    return (
        token in _PROTECTED
        or token.endswith("n't")
        or token.partition("'")[0] in _PROTECTED  # "she's", "I've"
        or number_like(token)
        or is_unspaced(token)
    )


def _opposite(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    beginning = long.removesuffix(short)
    return len(short) >= _UN_STEM and beginning != long and bool(_UN.fullmatch(beginning))
