"""Do derived memories say what their source turns hold? A check of words on writes (E5).

Of every derived item three things are looked up in the turns that its links lead to: words that it
quotes, numbers, and names. What does not stand there is reported. It is fidelity of words and never
truth: a faithful item may still say that the wrong person did it, an unfaithful one may have
reckoned a number rightly or taken a name from the turns before. Words that other turns of the same
sessions hold are told apart as "nearby", for a builder may resolve references from there.

Words are looked up one by one: a number or name passes that the sources, their speakers or their
dates hold anywhere. A capital letter at the start of a sentence makes no name; such a word counts
as one where it is a speaker's name or the bank never uses it in lower case. English.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from typing import Literal

from evimem.eval.evidence_index import standing_on
from evimem.model.item import DerivedKind, Item
from evimem.model.turn import Turn
from evimem.query.qemem.quotes import verify
from evimem.query.support import unsupported
from evimem.query.words import STOP_WORDS, WORD, key, word_set

__all__ = [
    "BuilderFidelity",
    "Finding",
    "FindingKind",
    "ItemFidelity",
    "WriteAudit",
    "audit_writes",
    "quotes_in",
]

FindingKind = Literal["quote", "number", "name"]

_QUOTED = re.compile(
    r"“([^“”]+)”|„([^„“”]+)[“”]|«([^«»]+)»|(?<![\w\"])\"([^\"\n]+)\"(?!\w)"
    r"|(?<!\w)‘((?:[^‘’]|’(?=\w))+)’(?!\w)"
    r"|(?<!\w)'(?!(?:em|cause|til|tis|twas|n|round|bout|\d+s)\b)((?:[^'\n]|(?<=\w)'(?=\w))+)'(?!\w)"
)
_SENTENCE_START = re.compile(r"(?:^|[.!?:;\n\"“(]\s*)([^\W\d_]+(?:['’][^\W\d_]+)?)")
_NO_NAMES = STOP_WORDS | word_set(
    "oh ah aw hello hi hey wow haha yay ooh thanks congrats sorry okay ok yeah yep nope hmm"
)
"""Words that begin a sentence and are no name, whatever the bank says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Words of an item that its source turns do not hold."""

    kind: FindingKind
    """What they are; a month is a number."""
    words: str
    """The words as the item has them."""
    nearby: bool = False
    """Other turns of the same sessions, or their speakers' names, hold them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemFidelity:
    """One derived item against its source turns."""

    item_id: str
    """The item."""
    kind: DerivedKind
    """Its space."""
    builder: str
    """Who wrote it; empty for what came from outside."""
    sources: int
    """Turns that its links lead to; without any nothing can be checked, and nothing is said."""
    quotes: int = 0
    """Quotes in it."""
    findings: tuple[Finding, ...] = ()
    """What its source turns do not hold."""

    @property
    def faithful(self) -> bool | None:
        """Whether its source turns hold all that was looked up, nearby turns not counted; None
        without source turns."""
        return not self.findings if self.sources else None


@dataclass(frozen=True, slots=True, kw_only=True)
class BuilderFidelity:
    """All items of one kind by one builder."""

    builder: str
    """The builder; empty for what came from outside."""
    kind: DerivedKind
    """The space."""
    items: int
    """Live items."""
    checked: int
    """Items with source turns; the others are masked."""
    faithful: int
    """Checked items without a finding."""
    nearby: int
    """Checked items whose findings all stand nearby."""
    quotes: int
    """Quotes in checked items."""
    findings: Mapping[FindingKind, int] = field(default_factory=dict)
    """Findings by kind that do not stand nearby either."""

    @property
    def altered(self) -> int:
        """Checked items with a finding that does not stand nearby."""
        return self.checked - self.faithful - self.nearby


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteAudit:
    """The audit of a bank."""

    bank: str
    """The bank."""
    builders: tuple[BuilderFidelity, ...]
    """Per builder and kind, in order of first appearance."""
    items: tuple[ItemFidelity, ...]
    """Items with findings, and those without source turns."""

    @property
    def altered(self) -> int:
        """Items with a finding that does not stand nearby."""
        return sum(one.altered for one in self.builders)


def quotes_in(text: str) -> tuple[str, ...]:
    """The words that a text puts in quotation marks, in order; nested ones stay inside.

    Marks are typographic (“…”, „…“, «…», ‘…’) or straight ones; apostrophes are none.
    """
    found = (match.group(match.lastindex or 0) for match in _QUOTED.finditer(text))
    return tuple(quote.strip() for quote in found if WORD.search(quote))


def audit_writes(
    entries: Iterable[Turn | Item], *, bank: str = "", builder: str | None = None
) -> WriteAudit:
    """Checks every derived item against the turns that it stands on.

    Args:
        entries: all live turns and items of a bank.
        bank: its name, for the report.
        builder: only items of this builder; None: all.
    """
    held = list(entries)
    turns = {one.turn_id: one for one in held if isinstance(one, Turn)}
    items = [one for one in held if isinstance(one, Item)]
    standing = standing_on(items, turns, rule="episode_ok")
    place = {turn_id: number for number, turn_id in enumerate(turns)}
    bank_words = _Bank(turns, items)
    checked = [
        _checked(item, sorted(standing[item.item_id], key=place.__getitem__), bank_words)
        for item in items
        if builder is None or _builder(item) == builder
    ]
    groups: dict[tuple[str, DerivedKind], list[ItemFidelity]] = {}
    for one in checked:
        groups.setdefault((one.builder, one.kind), []).append(one)
    return WriteAudit(
        bank=bank,
        builders=tuple(_counted(name, kind, group) for (name, kind), group in groups.items()),
        items=tuple(one for one in checked if not one.faithful),
    )


def _builder(item: Item) -> str:
    name = item.attrs.get("builder")
    return name if isinstance(name, str) else ""


def _counted(builder: str, kind: DerivedKind, items: Sequence[ItemFidelity]) -> BuilderFidelity:
    checked = [one for one in items if one.sources]
    far = Counter(finding.kind for one in checked for finding in one.findings if not finding.nearby)
    return BuilderFidelity(
        builder=builder,
        kind=kind,
        items=len(items),
        checked=len(checked),
        faithful=sum(not one.findings for one in checked),
        nearby=sum(
            bool(one.findings) and all(finding.nearby for finding in one.findings)
            for one in checked
        ),
        quotes=sum(one.quotes for one in checked),
        findings=dict(far),
    )


class _Bank:
    """How the words of a bank are used, and which turns were said around which."""

    def __init__(self, turns: Mapping[str, Turn], items: Sequence[Item]) -> None:
        self.turns = turns
        self._texts = [*(turn.body for turn in turns.values()), *(item.text for item in items)]
        self._sessions: dict[str, list[Turn]] = {}
        for turn in turns.values():
            self._sessions.setdefault(turn.session_id, []).append(turn)

    def around(self, sources: Sequence[Turn]) -> list[Turn]:
        """All turns of the sessions of some turns."""
        sessions = dict.fromkeys(turn.session_id for turn in sources)
        return [turn for one in sessions for turn in self._sessions[one]]

    def name_like(self, word: str) -> bool:
        """Whether a word at the start of a sentence is a name, by how the bank uses it."""
        folded = _folded(word)
        if folded in _NO_NAMES or folded.split("'")[0] in _NO_NAMES:
            return False
        return folded in self._names or key(folded) not in self._plain

    @cached_property
    def _plain(self) -> frozenset[str]:
        """Keys of the words that stand in lower case somewhere."""
        words = {one for text in self._texts for one in WORD.findall(text) if one[0].islower()}
        return frozenset(map(key, words))

    @cached_property
    def _names(self) -> frozenset[str]:
        """The speakers, word by word."""
        spoken = {turn.speaker for turn in self.turns.values()}
        return frozenset(_folded(one) for name in spoken for one in WORD.findall(name))


def _folded(word: str) -> str:
    return word.casefold().replace("’", "'").removesuffix("'s")


def _checked(item: Item, source_ids: Sequence[str], bank: _Bank) -> ItemFidelity:
    sources = [bank.turns[one] for one in source_ids]
    quotes = quotes_in(item.text)
    findings: tuple[Finding, ...] = ()
    if sources:
        findings = (*_quotes_lost(quotes, sources, bank), *_words_lost(item, sources, bank))
    return ItemFidelity(
        item_id=item.item_id,
        kind=item.kind,
        builder=_builder(item),
        sources=len(sources),
        quotes=len(quotes),
        findings=findings,
    )


def _quotes_lost(quotes: Sequence[str], sources: Sequence[Turn], bank: _Bank) -> Iterable[Finding]:
    for quote in quotes:
        if not _stands_in(quote, sources):
            nearby = _stands_in(quote, bank.around(sources))
            yield Finding(kind="quote", words=quote, nearby=nearby)


def _stands_in(quote: str, turns: Sequence[Turn]) -> bool:
    return verify(quote, [(turn.turn_id, turn.body) for turn in turns]).quote_verified


def _words_lost(item: Item, sources: Sequence[Turn], bank: _Bank) -> Iterable[Finding]:
    lost = _missing(item.text, sources, bank)
    if not lost:
        return
    still = set(_missing(item.text, bank.around(sources), bank))
    for word in lost:
        # Alone and in lower case only a number is asked for.
        number = unsupported(word.casefold(), question="", sources=(), said=())
        yield Finding(kind="number" if number else "name", words=word, nearby=word not in still)


def _missing(text: str, turns: Sequence[Turn], bank: _Bank) -> tuple[str, ...]:
    """Numbers and names of a text that turns do not hold, in their words, speakers and dates."""
    told = [f"{turn.speaker}: {turn.body}" for turn in turns]
    days = [turn.said_at.date() for turn in turns if turn.said_at is not None]
    told += [one.isoformat() for one in dict.fromkeys(days)]
    said: list[tuple[str, date | None]] = [
        (turn.body, turn.said_at.date() if turn.said_at is not None else None) for turn in turns
    ]
    lost = unsupported(text, question="", sources=told, said=said)
    first = dict.fromkeys(
        match.group(1) for match in _SENTENCE_START.finditer(text) if match.group(1)[0].isupper()
    )
    # Amid a sentence a capital makes a name.
    asked = " ".join(f"x {word}" for word in first if bank.name_like(word))
    more = unsupported(asked, question="", sources=told, said=said) if asked else ()
    return tuple(dict.fromkeys((*lost, *more)))
