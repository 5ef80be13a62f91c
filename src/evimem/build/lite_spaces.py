"""Episodes and semantic facts without a model: the `lite` forms of the two derived spaces (QEM-4).

Episodes are stretches of a session between changes of subject; their narrative is what was said.
Semantic facts are sentences in which people speak of themselves, told in the third person. Both
are plain: nothing is summarised, merged or concluded, so nothing can be invented, and the same
turns always give the same items. English; sentences in other languages give episodes and no facts.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import groupby, pairwise

from evimem.build.lite_words import told_of
from evimem.model.ids import stable_id
from evimem.model.item import Item, Link
from evimem.model.turn import Turn
from evimem.retrieval.analyzer import STOP_IDS, token_id, words_of

__all__ = ["BUILDER", "Borders", "lite_spaces"]

BUILDER = "lite_spaces/1"
"""The name of this builder on its items."""

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_TITLE_WORDS = 5
_SENTENCE = re.compile(r"[^.!?…\n]+[.!?…]*[\"'”’)]*")
_CAPTION_MARK = "[picture: "
_LEAST_WORDS = 4
_MOST_CHARS = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Borders:
    """Where an episode ends. A new session always ends it."""

    gap: timedelta = timedelta(hours=1)
    """Silence that ends an episode, where turns have times of their own."""
    least: int = 4
    """Turns of an episode at least, where only the subject changes."""
    most: int = 12
    """Turns of an episode at most: as many as an episode citation expands to (QEM-26)."""
    window: int = 4
    """Turns on each side whose words are compared for a change of subject."""
    depth: float = 0.5
    """How far a valley of likeness must lie below the hills beside it, in deviations above the
    mean of the session's valleys (TextTiling, Hearst 1997)."""


def lite_spaces(turns: Sequence[Turn], *, borders: Borders = Borders()) -> list[Item]:
    """Episodes and semantic facts of a conversation; pure.

    Ids follow from the turns' ids, so that building again gives the same items. An episode links
    its turns as `member` in order. A fact links its episode as `source` and the turn that it was
    said in as `parent`: leaving out a turn then leaves out what was told of it, and a fact can be
    traced to the words.

    Args:
        turns: all turns, grouped by session, each session in order.
        borders: where episodes end.

    Returns:
        Episodes in the order of the turns, then facts.
    """
    groups = [
        part
        for _, session in groupby(turns, key=lambda turn: turn.session_id)
        for part in _episodes([turn for turn in session if turn.body.strip()], borders)
    ]
    rare = _rarity([_keys(turn.body) for group in groups for turn in group])
    episodes = [_episode(group, rare) for group in groups]
    facts = [
        fact
        for episode, group in zip(episodes, groups, strict=True)
        for turn in group
        for fact in _facts(turn, episode.item_id)
    ]
    return [*episodes, *facts]


def _keys(text: str) -> list[str]:
    """Stemmed content words in order."""
    return [word for word in words_of(text) if token_id(word) not in STOP_IDS]


def _rarity(bodies: Sequence[Iterable[str]]) -> dict[str, float]:
    """Inverse document frequency of every key over the turns."""
    held = Counter(key for body in bodies for key in set(body))
    return {key: math.log(1 + len(bodies) / count) for key, count in held.items()}


def _episodes(turns: Sequence[Turn], borders: Borders) -> Iterable[list[Turn]]:
    """A session cut at silences, then where the subject changes."""
    stretch: list[Turn] = []
    for turn in turns:
        if stretch and _silent(stretch[-1], turn, borders.gap):
            yield from _by_subject(stretch, borders)
            stretch = []
        stretch.append(turn)
    if stretch:
        yield from _by_subject(stretch, borders)


def _silent(before: Turn, after: Turn, gap: timedelta) -> bool:
    if before.said_at is None or after.said_at is None:
        return False
    return after.said_at - before.said_at >= gap


def _by_subject(turns: list[Turn], borders: Borders) -> Iterable[list[Turn]]:
    depths = _depths([Counter(_keys(turn.body)) for turn in turns], borders.window)
    mean = sum(depths) / len(depths) if depths else 0.0
    spread = math.sqrt(sum((d - mean) ** 2 for d in depths) / len(depths)) if depths else 0.0
    limit = mean + borders.depth * spread
    yield from _cut(turns, 0, depths, limit, borders)


def _depths(words: Sequence[Counter[str]], window: int) -> list[float]:
    """How deep likeness falls between turn n and n + 1: the hills on both sides less the valley."""
    alike = [
        _cosine(
            sum(words[max(0, n + 1 - window) : n + 1], Counter()),
            sum(words[n + 1 : n + 1 + window], Counter()),
        )
        for n in range(len(words) - 1)
    ]
    return [
        _hill(alike[: n + 1][::-1]) + _hill(alike[n:]) - 2 * here for n, here in enumerate(alike)
    ]


def _hill(values: Sequence[float]) -> float:
    """The height climbed from the first value on, until it goes down."""
    top = values[0]
    for before, after in pairwise(values):
        if after < before:
            break
        top = after
    return top


def _cosine(one: Counter[str], other: Counter[str]) -> float:
    shared = sum(count * other[key] for key, count in one.items() if key in other)
    norms = sum(c * c for c in one.values()) * sum(c * c for c in other.values())
    return shared / math.sqrt(norms) if norms else 0.0


def _cut(
    turns: list[Turn], at: int, depths: Sequence[float], limit: float, borders: Borders
) -> Iterable[list[Turn]]:
    """Cuts at the deepest valley that leaves both sides long enough, over and over.

    A stretch that is too long is cut even where no valley is deep.
    """
    pending = [(turns, at)]
    while pending:
        part, first = pending.pop()
        places = range(borders.least, len(part) - borders.least + 1)
        best = max(places, key=lambda n: (depths[first + n - 1], -n), default=0)
        too_long = len(part) > borders.most
        if best and (too_long or depths[first + best - 1] >= limit):
            pending += [(part[best:], first + best), (part[:best], first)]
        elif too_long:  # `least` leaves no room: cut at the ceiling
            pending += [(part[borders.most :], first + borders.most), (part[: borders.most], first)]
        else:
            yield part


def _episode(turns: Sequence[Turn], rare: dict[str, float]) -> Item:
    title = _title(turns, rare)
    lines = (f"{turn.speaker}: {turn.body}" for turn in turns)
    return Item(
        item_id=stable_id("e", BUILDER, *(turn.turn_id for turn in turns)),
        kind="episode",
        text="\n".join((title, *lines)),
        links=tuple(Link(role="member", target=turn.turn_id) for turn in turns),
        session_id=turns[0].session_id,
        said_at=turns[0].said_at,
        attrs={"title": title, "builder": BUILDER},
    )


def _title(turns: Sequence[Turn], rare: dict[str, float]) -> str:
    """Who talks and of what: the most telling words, spelled as they were said first."""
    names = {key for turn in turns for key in words_of(turn.speaker)}
    counts: Counter[str] = Counter()
    spelled: dict[str, str] = {}
    for turn in turns:
        for word in _WORD.findall(turn.body):
            for key in _keys(word)[:1]:
                if len(key) > 2 and key not in names:
                    counts[key] += 1
                    spelled.setdefault(key, word.lower() if word.istitle() else word)
    weight = {key: count * rare.get(key, 0.0) for key, count in counts.items()}
    telling = sorted(weight, key=lambda key: -weight[key])[:_TITLE_WORDS]
    who = " and ".join(dict.fromkeys(turn.speaker for turn in turns if turn.speaker))
    return ": ".join(part for part in (who, ", ".join(spelled[key] for key in telling)) if part)


def _facts(turn: Turn, episode: str) -> Iterable[Item]:
    if turn.role not in ("person", "user") or not turn.speaker:
        return  # a model speaks of nobody's life
    for n, sentence in enumerate(_sentences(turn.text)):
        told = told_of(sentence, turn.speaker if turn.role == "person" else "the user")
        if told:
            yield Item(
                item_id=stable_id("s", BUILDER, turn.turn_id, n),
                kind="semantic",
                text=told,
                links=(
                    Link(role="source", target=episode),
                    Link(role="parent", target=turn.turn_id),
                ),
                session_id=turn.session_id,
                speaker=turn.speaker,
                said_at=turn.said_at,
                attrs={"n": n, "builder": BUILDER},
            )


def _sentences(text: str) -> Iterable[str]:
    for found in _SENTENCE.finditer(text):
        sentence = found.group().strip()
        if len(sentence.split()) >= _LEAST_WORDS and len(sentence) <= _MOST_CHARS:
            yield sentence
