"""Atomic facts of one turn, from a chat model (MERA 3.3, A.1): turn and model in, facts out.

Nothing is stored here. A turn that is too long for one reply is read in pieces; a reply that cannot
be used leaves the turn's own words as one flagged fact, so that no turn is lost to retrieval; what
the provider fails at is reported as worth a retry. Nothing that did not validate becomes a fact.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from evimem.build.accept import ExtractedFact, Gathered, content_of
from evimem.build.pieces import MIN_PIECE, Sizes, piece_of
from evimem.build.prompts.dialogue import readable
from evimem.build.prompts.extract import MOST_TOKENS, PROMPT, render
from evimem.errors import (
    EmptyReply,
    InvalidReply,
    ModelError,
    ModelServerError,
    ModelTimeout,
    PromptTooLong,
    RateLimited,
    RefusedReply,
    ReplyError,
    SchemaEcho,
    TruncatedReply,
)
from evimem.model.chat import ChatReply, ChatRequest
from evimem.model.ids import content_hash, stable_id
from evimem.model.item import Item, Link
from evimem.model.turn import JsonValue, Turn
from evimem.ports import BuildStatus, ChatModel

__all__ = [
    "BUILDER",
    "CONTEXT_TURNS",
    "Extraction",
    "cause_of",
    "context_of",
    "extract",
    "items_of",
    "key_of",
]

BUILDER = "facts"
"""The name of this builder on its records and facts."""
CONTEXT_TURNS = 2
"""Earlier turns of the session that the prompt shows, to resolve references only."""
LEAST_CONTENT = 3
"""Content words from which a turn is kept as it is where all that a model wrote was made up."""
RAW_KEPT = 2000
"""Characters kept of a reply that could not be used."""
PIECE_TAIL = 200
"""Characters of a piece that are shown with the next one."""

_CAUSES: tuple[tuple[type[ModelError], str], ...] = (
    (EmptyReply, "empty_reply"),
    (RefusedReply, "refused"),
    (TruncatedReply, "truncated"),
    (SchemaEcho, "schema_echo"),
    (InvalidReply, "invalid_reply"),
    (RateLimited, "rate_limited"),
    (ModelTimeout, "timeout"),
    (ModelServerError, "server"),
    (PromptTooLong, "prompt_too_long"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """What came of one turn."""

    facts: tuple[ExtractedFact, ...]
    """The facts in order; none where the status is failed."""
    status: BuildStatus
    """done, fallback, refused or failed; see `ports.BuildStatus`."""
    attempts: int
    """Calls made, those inside the model's own repair not counted."""
    detail: str = ""
    """Why, as "cause: message", for every status but a plain done."""
    raw: str = ""
    """The last reply that could not be used, shortened."""
    rejected: Mapping[str, int] = field(default_factory=dict)
    """Facts left out, and keywords cut away, per reason."""


def context_of(turns: Sequence[Turn], at: int) -> tuple[Turn, ...]:
    """The earlier turns of a session that are shown with the one at a place, oldest first."""
    spoken = [turn for turn in turns[:at] if turn.body.strip()]
    return tuple(spoken[-CONTEXT_TURNS:])


def key_of(request: ChatRequest, *, model_id: str) -> str:
    """Hash of the model and of all that is sent for a whole turn (MERA-51): a build whose key is
    another must be done again."""
    sent = [
        model_id,
        request.prompt,
        [[message.role, message.text] for message in request.messages],
        request.schema,
        request.max_tokens,
        request.temperature,
        request.seed,
    ]
    return content_hash(json.dumps(sent, ensure_ascii=False, sort_keys=True))


def cause_of(error: ModelError) -> str:
    """The sort of a failure, as reports count it."""
    return next((cause for kind, cause in _CAUSES if isinstance(error, kind)), "provider")


def extract(turn: Turn, *, context: Sequence[Turn] = (), model: ChatModel) -> Extraction:
    """The facts of one turn: one call, more only if its reply is cut or its text too long (MERA-2).

    Args:
        turn: the turn; one without words of its own (see `readable`) needs no call.
        context: see `context_of`.
        model: the model for the role "extract".

    Raises:
        ModelAuthError, BadModelRequest: every other call would fail too.
        BudgetExceeded: the operation's ceiling is reached.
    """
    turn, shown = readable(turn), tuple(readable(one) for one in context)
    if not turn.body.strip():
        return Extraction(facts=(), status="done", attempts=0)
    read = " ".join(one.body for one in (turn, *shown))
    gathered = Gathered(read=read, prompt=PROMPT.system)
    reading = _Reading(turn=turn, context=shown, model=model, gathered=gathered)
    try:
        reading.read()
    except (EmptyReply, RateLimited, ModelTimeout, ModelServerError, PromptTooLong) as error:
        return reading.failed(error)
    return reading.extraction()


@dataclass(slots=True, kw_only=True)
class _Reading:
    """One turn while it is read, piece by piece."""

    turn: Turn
    context: tuple[Turn, ...]
    model: ChatModel
    gathered: Gathered
    attempts: int = 0
    status: BuildStatus = "done"
    detail: str = ""
    raw: str = ""
    last: str = ""
    looping: bool = False

    def read(self) -> None:
        """Asks for the whole text, and for pieces of it where that is too much."""
        text = self.turn.body
        sizes = Sizes(len(text))
        at, tail = 0, ""
        while at < len(text):
            left = len(text) - at
            piece = piece_of(text, at, sizes.size, exact=sizes.exact(left))
            if not piece.strip() or self._read_piece(piece, tail, last_resort=False):
                at += len(piece)
                tail = piece[-PIECE_TAIL:]
                sizes.worked(len(piece), left=len(text) - at)
            elif len(piece) > MIN_PIECE and self.attempts < sizes.most_calls:
                sizes.failed(len(piece))
            elif self.looping or self._read_piece(piece, tail, last_resort=True):
                at += len(piece)
                tail = piece[-PIECE_TAIL:]
                sizes.worked(len(piece), left=len(text) - at)
            else:  # no smaller piece and no longer reply can help: the rest stays as it is
                self.fall_back(text[at:])
                return

    def _read_piece(self, piece: str, tail: str, *, last_resort: bool) -> bool:
        """One call for one piece; False if it or its reply was too long.

        With `last_resort` the reply may be as long as any and nothing is shown before the piece.
        """
        whole = len(piece) == len(self.turn.body)
        context = self.context if not tail and not last_resort else ()
        request = render(
            self.turn,
            context=context,
            text=None if whole else piece,
            tail="" if last_resort else tail,
        )
        if last_resort:
            request = replace(request, max_tokens=MOST_TOKENS)
        self.attempts += 1
        self.looping = False
        try:
            reply = self.model.chat(request)
        except TruncatedReply as error:
            self._keep(error)
            self._take_cut(error)
            return False
        except PromptTooLong as error:
            if last_resort:
                raise
            self.detail = f"{cause_of(error)}: {error}"
            return False
        except RefusedReply as error:
            self._keep(error)
            self.status = "refused"
        except (InvalidReply, SchemaEcho) as error:
            self._keep(error)
            self.fall_back(piece)
        else:
            self._take(reply)
        return True

    def _take(self, reply: ChatReply) -> None:
        self.gathered.add(reply.data)
        self.gathered.rejected["schema"] += len(reply.rejected)
        self.last = reply.text

    def _take_cut(self, error: TruncatedReply) -> None:
        """The complete facts of a cut reply. One that mostly repeats itself was cut in a loop:
        a longer reply would only go round more often."""
        facts, repeated = len(self.gathered.facts), self.gathered.rejected["duplicate"]
        self.gathered.add(error.data, flags=("partial",))
        gained = len(self.gathered.facts) - facts
        self.looping = 0 < gained < self.gathered.rejected["duplicate"] - repeated

    def _keep(self, error: ReplyError) -> None:
        self.detail = f"{cause_of(error)}: {error}"
        self.raw = error.raw[:RAW_KEPT]

    def fall_back(self, text: str) -> None:
        """The words themselves as one fact (MERA-10)."""
        self.gathered.add_words(text)
        if self.status == "done":
            self.status = "fallback"

    def failed(self, error: ModelError) -> Extraction:
        """The turn is to be tried again; nothing of it is kept."""
        raw = error.raw if isinstance(error, ReplyError) else self.raw
        return Extraction(
            facts=(),
            status="failed",
            attempts=self.attempts,
            detail=f"{cause_of(error)}: {error}",
            raw=raw[:RAW_KEPT],
        )

    def extraction(self) -> Extraction:
        """The facts gathered; the turn's words where all that came was rejected."""
        unusable = {
            reason: n
            for reason, n in self.gathered.rejected.items()
            if n and reason not in self._harmless()
        }
        if unusable and not self.gathered.facts and self.status == "done":
            self.detail = f"rejected: {', '.join(f'{n} {why}' for why, n in unusable.items())}"
            self.raw = self.last[:RAW_KEPT]
            self.fall_back(self.turn.body)
        facts = tuple(self.gathered.facts)
        plain = self.status == "done" and not any(fact.flags for fact in facts)
        return Extraction(
            facts=facts,
            status=self.status,
            attempts=self.attempts,
            detail="" if plain else self.detail,
            raw="" if plain else self.raw,
            rejected=dict(+Counter(self.gathered.rejected)),
        )

    def _harmless(self) -> tuple[str, ...]:
        """Reasons that say nothing against the reply: of a turn that is only "ok" or "thanks", a
        model that must write something writes what was never said (case P083)."""
        if len(content_of(self.turn.body)) < LEAST_CONTENT:
            return ("duplicate", "tag", "ungrounded", "prompt")
        return ("duplicate", "tag")


def items_of(
    turn: Turn, extraction: Extraction, *, context: Sequence[Turn] = (), model_id: str
) -> list[Item]:
    """The facts as items of the turn, with its speaker, time and source (MERA-3).

    A hidden link to every turn that the prompt showed makes a fact go with the words it may hold.
    """
    links = (
        Link(role="parent", target=turn.turn_id),
        *(Link(role="source", target=one.turn_id, hidden=True) for one in context),
    )
    items = []
    for n, fact in enumerate(extraction.facts):
        attrs: dict[str, JsonValue] = {
            "keywords": list(fact.keywords),
            "topics": list(fact.topics),
            "n": n,
            "builder": BUILDER,
            "model": model_id,
            "prompt": PROMPT.tag,
        }
        if fact.flags:
            attrs["flags"] = list(fact.flags)
        items.append(
            Item(
                item_id=stable_id("f", BUILDER, turn.turn_id, n),
                kind="fact",
                text=fact.text,
                links=links,
                session_id=turn.session_id,
                speaker=turn.speaker,
                said_at=turn.said_at,
                source_id=turn.source_id,
                attrs=attrs,
            )
        )
    return items
