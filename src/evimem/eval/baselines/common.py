"""What several baselines need: dated lines, chunks of turns, lists of vectors and of words, calls.

Everything here keeps the turns behind a text, so that recall by turn is defined wherever a system
allows it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from evimem.errors import missing_extra
from evimem.eval.harness.system import Shown, Tools
from evimem.model.chat import ChatMessage, ChatRequest, JsonSchema, Phase, Role
from evimem.model.prompt import Prompt
from evimem.model.turn import History, JsonValue, Turn
from evimem.ports import ChatModel, FloatArray
from evimem.query.calls import Said, ask, ask_in_words
from evimem.query.qemem.reply import declines, final_answer
from evimem.retrieval.analyzer import words_of
from evimem.scoring.tokens import estimate_tokens

__all__ = [
    "Chunk",
    "VectorList",
    "WordList",
    "chunks_of",
    "day_of",
    "encoded",
    "latest_of",
    "line_of",
    "lines",
    "read_answer",
    "room_of",
    "say",
    "say_data",
    "within",
]


def day_of(moment: datetime | None) -> str:
    """A time in words that no reader mistakes: "1:56 pm on 8 May 2023"; "" if unknown."""
    if moment is None:
        return ""
    hour = moment.hour % 12 or 12
    half = "am" if moment.hour < 12 else "pm"
    return f"{hour}:{moment.minute:02d} {half} on {moment.day} {moment:%B %Y}"


def latest_of(history: History) -> datetime | None:
    """The newest time said; None if nothing is dated."""
    return max((turn.said_at for turn in history.turns if turn.said_at is not None), default=None)


def line_of(turn: Turn) -> str:
    """A turn as one dated line: "[1:56 pm on 8 May 2023] Caroline: ..."."""
    day = day_of(turn.said_at)
    return f"[{day}] {turn.speaker}: {turn.body}" if day else f"{turn.speaker}: {turn.body}"


def lines(shown: Iterable[Shown]) -> str:
    """Memories as dated lines, for an answer prompt."""
    told = []
    for one in shown:
        day = day_of(one.said_at)
        who = f"{one.speaker}: " if one.speaker else ""
        told.append(f"[{day}] {who}{one.text}" if day else f"{who}{one.text}")
    return "\n".join(told)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A stretch of the conversation as text."""

    text: str
    """Dated lines."""
    turns: tuple[Turn, ...]
    """The turns that it holds in part or whole, in order."""

    @property
    def turn_ids(self) -> tuple[str, ...]:
        """Their ids."""
        return tuple(turn.turn_id for turn in self.turns)

    @property
    def said_at(self) -> datetime | None:
        """The time of its first turn."""
        return self.turns[0].said_at if self.turns else None


def chunks_of(turns: Sequence[Turn], *, tokens: int, by_session: bool = False) -> list[Chunk]:
    """Whole turns gathered until the next one would pass the ceiling; no turn is cut, so that every
    chunk knows its turns. A turn longer than the ceiling is a chunk of its own.

    Args:
        turns: in the order said; blank ones are left out.
        tokens: ceiling of a chunk, estimated.
        by_session: start a new chunk with every session.
    """
    made: list[Chunk] = []
    held: list[Turn] = []
    cost = 0
    for turn in turns:
        if not turn.body.strip():
            continue
        price = estimate_tokens(line_of(turn)) + 1
        new_session = by_session and bool(held) and held[-1].session_id != turn.session_id
        if held and (cost + price > tokens or new_session):
            made.append(Chunk(text="\n".join(map(line_of, held)), turns=tuple(held)))
            held, cost = [], 0
        held.append(turn)
        cost += price
    if held:
        made.append(Chunk(text="\n".join(map(line_of, held)), turns=tuple(held)))
    return made


class VectorList:
    """Texts by id with their vectors, in the order added; cosine search."""

    def __init__(self) -> None:
        self._ids: list[str] = []
        self._vectors: list[FloatArray] = []

    def __len__(self) -> int:
        return len(self._ids)

    def put(self, item_id: str, text: str, tools: Tools) -> None:
        """Add a text, or give a known id a new one, which is encoded anew."""
        vector = encoded(text, tools)
        if item_id in self._ids:
            self._vectors[self._ids.index(item_id)] = vector
        else:
            self._ids.append(item_id)
            self._vectors.append(vector)

    def drop(self, item_id: str) -> None:
        """Take a text out; an unknown id is passed over."""
        if item_id in self._ids:
            place = self._ids.index(item_id)
            del self._ids[place]
            del self._vectors[place]

    def search(
        self, text: str, k: int, tools: Tools, *, among: Iterable[str] | None = None
    ) -> list[tuple[str, float]]:
        """Ids with their cosines, best first, ties in the order added.

        Args:
            text: the query.
            k: how many at most.
            tools: encodes the query.
            among: only these ids; None: all.
        """
        return self.nearest(encoded(text, tools), k, among=among)

    def nearest(
        self, vector: FloatArray, k: int, *, among: Iterable[str] | None = None
    ) -> list[tuple[str, float]]:
        """As `search`, for a unit vector of shape (dim,)."""
        if not self._ids or k < 1:
            return []
        scores = np.array(self._vectors) @ vector
        order = np.argsort(-scores, kind="stable")
        wanted = None if among is None else set(among)
        found = [
            (self._ids[place], float(scores[place]))
            for place in order.tolist()
            if wanted is None or self._ids[place] in wanted
        ]
        return found[:k]

    def vector(self, item_id: str) -> FloatArray:
        """The vector of a known id, shape (dim,)."""
        return self._vectors[self._ids.index(item_id)]


def encoded(text: str, tools: Tools) -> FloatArray:
    """The unit vector of a text, shape (dim,): the mean of its pieces' where it is long."""
    pieces = tools.embedder.chunks(text) or [" "]
    mean = tools.embedder.embed(pieces).mean(axis=0)
    unit: FloatArray = mean / max(float(np.linalg.norm(mean)), 1e-12)
    return unit


class WordList:
    """Texts by id, searched by BM25 (bm25s, its default form of Lucene) over stemmed words."""

    def __init__(self, texts: Sequence[tuple[str, str]]) -> None:
        """An index.

        Args:
            texts: id and text, in order.

        Raises:
            MissingExtra: bm25s is not installed.
        """
        try:
            import bm25s
        except ImportError as error:
            raise missing_extra("BM25 of the baselines", "eval") from error
        self._ids = [item_id for item_id, _ in texts]
        words = [words_of(text) for _, text in texts]
        self._index = bm25s.BM25() if any(words) else None
        if self._index is not None:
            self._index.index(words, show_progress=False)

    def search(self, text: str, k: int) -> list[tuple[str, float]]:
        """Ids with their scores, best first; only those that share a word with the query."""
        words = words_of(text)
        if self._index is None or not words:
            return []
        known = [word for word in dict.fromkeys(words) if word in self._index.vocab_dict]
        if not known:
            return []
        scores = self._index.get_scores(known)
        order = np.argsort(-scores, kind="stable")[:k]
        return [(self._ids[at], float(scores[at])) for at in order.tolist() if scores[at] > 0]


def _request(
    prompt: Prompt,
    user: str,
    role: Role,
    phase: Phase,
    max_tokens: int,
    temperature: float,
) -> ChatRequest:
    return ChatRequest(
        messages=(
            ChatMessage(role="system", text=prompt.system),
            ChatMessage(role="user", text=user),
        ),
        role=role,
        phase=phase,
        prompt=prompt.tag,
        max_tokens=max_tokens,
        temperature=temperature,
    )


def say(
    tools: Tools,
    prompt: Prompt,
    user: str,
    *,
    role: Role,
    phase: Phase = "online",
    max_tokens: int = 300,
    temperature: float = 0.0,
) -> Said:
    """One call for plain words, in `raw`; `problem` says why there are none.

    Args:
        tools: the models.
        prompt: the system message.
        user: the user message.
        role: whose model is asked.
        phase: where its tokens count.
        max_tokens: ceiling of the reply.
        temperature: of sampling.

    Raises:
        ModelError: the model could not be reached or refused the request as it stands.
        BudgetExceeded: the ceiling of calls or tokens is reached.
    """
    request = _request(prompt, user, role, phase, max_tokens, temperature)
    return ask_in_words(tools.session.model(role), request)


def say_data(
    tools: Tools,
    prompt: Prompt,
    user: str,
    *,
    schema: JsonSchema,
    example: JsonValue,
    role: Role,
    phase: Phase = "online",
    max_tokens: int = 500,
    temperature: float = 0.0,
) -> Said:
    """One call for JSON, in `data`; `problem` says why there is none.

    Args:
        tools: the models.
        prompt: the system message.
        user: the user message.
        schema: of the reply, in the portable subset of `model.chat.JsonSchema`.
        example: a reply that fits the schema.
        role: whose model is asked.
        phase: where its tokens count.
        max_tokens: ceiling of the reply.
        temperature: of sampling.

    Raises:
        ModelError: the model could not be reached or refused the request as it stands.
        BudgetExceeded: the ceiling of calls or tokens is reached.
    """
    request = dataclasses.replace(
        _request(prompt, user, role, phase, max_tokens, temperature),
        schema=schema,
        schema_name=prompt.name.replace(".", "_").replace("-", "_"),
        example=example,
    )
    return ask(tools.session.model(role), request)


def read_answer(said: Said) -> tuple[str, bool]:
    """The answer in a reply, and whether it declines; ("", False) for an unusable reply."""
    if said.problem:
        return "", False
    text = final_answer(said.raw)
    return text, bool(text) and declines(text)


def room_of(model: ChatModel, *, fixed: int, reply: int, most: int) -> int:
    """Estimated tokens of memory that a prompt may show.

    Args:
        model: whose window it must fit; an unknown window leaves `most`.
        fixed: tokens of the prompt around the memory.
        reply: ceiling of the reply.
        most: the system's own ceiling.
    """
    if not model.window:
        return most
    return max(100, min(most, model.window - fixed - reply))


def within(shown: Sequence[Shown], tokens: int) -> tuple[Shown, ...]:
    """The first memories that fit a ceiling of estimated tokens together: it stops at the first
    that does not, and keeps one at least."""
    kept: list[Shown] = []
    cost = 0
    for one in shown:
        cost += estimate_tokens(lines([one])) + 1
        if kept and cost > tokens:
            break
        kept.append(one)
    return tuple(kept)
