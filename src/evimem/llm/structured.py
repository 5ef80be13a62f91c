"""Replies that fit their schema, or an error that says why not.

The server's promise to keep to a schema is not trusted: every reply is read with `llm.parse` and
checked with `llm.schema`. One bounded repair carries the validator's message and the previous
reply; the same body is never sent twice, because a model at temperature 0 would only say the same
again (P008). A refusal, an empty reply and a reply cut at the token ceiling are not repaired here:
whoever asked must ask for something else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from evimem.errors import (
    BudgetExceeded,
    EmptyReply,
    InvalidReply,
    ModelError,
    RefusedReply,
    ReplyError,
    SchemaEcho,
    TruncatedReply,
)
from evimem.llm.parse import NotJson, find_json, spoken
from evimem.llm.schema import Checked, check, check_schema, list_fields, repeats, skeleton
from evimem.llm.wrapper import Wrapped
from evimem.model.chat import ChatMessage, ChatReply, ChatRequest, JsonSchema, Outcome
from evimem.model.turn import JsonValue
from evimem.ports import ChatModel

__all__ = ["Settle", "Structured"]

Settle = Callable[[ChatReply, Outcome, str], None]
"""Told what became of a reply (see `llm.ledger.Ledger.settle`): outcome and problem or notes."""

_ECHO_KEYS = {"$defs", "$schema", "definitions", "properties", "additionalProperties"}
_SHOWN = 2000
"""Characters of a previous reply that go back to the model."""
_TOLD = 8
"""Problems that go back to the model."""
_WRAPPED = 8
"""Values of an object that are looked at for a reply inside."""

_REFUSAL = re.compile(
    r"\W*(?:"
    r"(?:i['’]m |i am )?(?:very |so |really )?sorry\b.{0,80}\b(?:but|can|cannot|not|unable|decline)"
    r"|i (?:can(?:no|['’])t|can not)\b|i(?:['’]m| am) (?:unable|not able|not allowed)\b"
    r"|i (?:must|have to) decline|i won['’]t|i apologi[sz]e|as an ai\b|my apologies"
    r"|(?:es )?tut mir (?:sehr )?leid|ich kann .{0,60}\bnicht\b"
    r"|(?:je suis )?d[ée]sol[ée]e?\b|je ne (?:peux|suis)"
    r"|lo siento|no puedo\b|lo lamento"
    r"|mi dispiace|non posso\b"
    r"|desculpe|sinto muito|n[ãa]o posso\b"
    r"|извините|простите|к сожалению|я не могу"
    r"|申し訳|すみません|ごめんなさい|抱歉|对不起|對不起|我无法|我無法|我不能|죄송"
    r")",
    re.IGNORECASE,
)
_LONGEST_REFUSAL = 1500


@dataclass(frozen=True, slots=True, kw_only=True)
class _Usable:
    """A reply that can be used, wholly or in part."""

    reply: ChatReply
    """With data, rejected and notes."""
    whole: bool
    """True if nothing was left out."""
    kept: int
    """Items of lists that fit."""
    raw: ChatReply
    """As the model below gave it."""


class Structured(Wrapped):
    """A `ports.ChatModel` whose replies to a schema carry valid `data`.

    Without a schema it takes thinking blocks away and refuses empty replies; a reply that calls
    tools needs no words.
    """

    def __init__(
        self, model: ChatModel, *, attempts: int = 2, settle: Settle | None = None
    ) -> None:
        """Wrap a model.

        Args:
            model: what is asked.
            attempts: replies asked for at most, the first included.
            settle: told the outcome of every reply, which is known here and not where it came in.

        Raises:
            ValueError: less than one attempt is allowed.
        """
        if attempts < 1:
            raise ValueError(f"attempts={attempts!r}: at least one is needed")
        super().__init__(model)
        self._attempts = attempts
        self._settle = settle

    def chat(self, request: ChatRequest) -> ChatReply:
        """The reply; with a schema its `data` fits, `rejected` tells which items were left out.

        Raises:
            EmptyReply, RefusedReply, TruncatedReply: at once, see `errors`.
            SchemaEcho, InvalidReply: after the last attempt.
            ModelError, BudgetExceeded: from the model below.
            ValueError: the schema is outside the portable subset.
        """
        if request.schema is None:
            return self._plain(request)
        check_schema(request.schema)
        return self._with_schema(request, request.schema)

    def _plain(self, request: ChatRequest) -> ChatReply:
        reply = self._model.chat(request)
        said = spoken(reply.text)
        try:
            _check_words(reply, said.text, said.unclosed)
            if repeats(said.text):
                raise InvalidReply(
                    f"the reply repeats the same words over and over: {_short(said.text)}",
                    raw=reply.text,
                )
        except ReplyError as error:
            self._tell(reply, "discarded", str(error))
            raise
        if said.notes:
            self._tell(reply, "ok", "; ".join((*reply.notes, *said.notes)))
        return replace(reply, text=said.text, notes=(*reply.notes, *said.notes))

    def _with_schema(self, request: ChatRequest, schema: JsonSchema) -> ChatReply:
        """Ask, and ask again with the reason, up to the limit; then what could be saved."""
        saved: _Usable | None = None
        error: ReplyError | None = None
        asked = request
        for _ in range(self._attempts):
            try:
                reply = self._model.chat(asked)
            except (ModelError, BudgetExceeded):
                if saved is None:
                    raise
                break
            read = _read_or_error(reply, schema)
            if isinstance(read, _Usable):
                saved = self._better(saved, read)
                if read.whole:
                    break
                error = _rejection(read)
            else:
                error = read
                partial = isinstance(read, TruncatedReply) and read.data is not None
                self._tell(reply, "ok" if partial else "discarded", str(read))
                if partial:
                    self._drop(saved, "a later reply is used")
                    raise read
                if not isinstance(read, SchemaEcho | InvalidReply):
                    break
            before, asked = asked, _repair(request, schema, reply, error)
            if asked == before:  # the same words again: a third time would bring no others
                break
        if saved is None:
            raise error if error is not None else AssertionError("an attempt was made")
        told = (*saved.reply.notes, *(f"left out {item}" for item in saved.reply.rejected))
        self._tell(saved.raw, "ok", "; ".join(told))
        return saved.reply

    def _better(self, saved: _Usable | None, usable: _Usable) -> _Usable:
        """The one of two replies with more items that fit, the later one if equal."""
        if saved is not None and usable.kept < saved.kept:
            self._drop(usable, "an earlier reply had more items that fit")
            return saved
        self._drop(saved, "a later reply is used")
        return usable

    def _drop(self, usable: _Usable | None, why: str) -> None:
        if usable is not None:
            left_out = "; ".join(usable.reply.rejected[:_TOLD])
            self._tell(usable.raw, "discarded", f"{left_out}; {why}" if left_out else why)

    def _tell(self, reply: ChatReply, outcome: Outcome, problem: str) -> None:
        if self._settle is not None:
            self._settle(reply, outcome, problem)


def _check_words(reply: ChatReply, words: str, unclosed: bool) -> None:
    """Refuse a reply that declined, or has neither words nor calls."""
    if reply.finish == "refusal":
        raise RefusedReply(
            f"the model declined: {_short(reply.text) if reply.text.strip() else 'no words'}; "
            "asking again in the same words is of no use",
            raw=reply.text,
        )
    if words or reply.calls:
        return
    if reply.finish == "length":
        what = "the thinking took all tokens" if unclosed else "no words came before the ceiling"
        raise TruncatedReply(
            f"{what} ({reply.tokens_out} generated): raise max_tokens", raw=reply.text
        )
    if unclosed:
        raise InvalidReply("the thinking block has no end and no answer follows", raw=reply.text)
    raise EmptyReply(
        "the reply is empty: the server answered without words (a wrong chat template, a model "
        "that is still loading, or a prompt cut to nothing)",
        raw=reply.text,
    )


def _read_or_error(reply: ChatReply, schema: JsonSchema) -> _Usable | ReplyError:
    """One reply made use of, or why it cannot be used."""
    try:
        return _read(reply, schema)
    except ReplyError as error:
        return error


def _read(reply: ChatReply, schema: JsonSchema) -> _Usable:
    """Make use of one reply.

    Raises:
        ReplyError: it cannot be used; which kind says why.
    """
    said = spoken(reply.text)
    _check_words(reply, said.text, said.unclosed)
    cut = reply.finish == "length"
    try:
        found = find_json(reply.text, lambda value, broke: _fit(value, schema, broke))
    except NotJson as error:
        raise _no_json(reply, said.text, error) from error
    value, notes = _shaped(found.value, schema, found.cut)
    checked = check(value, schema, cut=cut or found.cut)
    if cut:
        raise _truncated(reply, schema, checked)
    if _is_echo(found.value, schema) and not checked.fits:
        raise SchemaEcho("the reply repeats the schema instead of filling it in", raw=reply.text)
    problems = list(checked.problems)
    rejected = list(checked.rejected)
    if found.cut:
        (rejected if checked.kept else problems).append(
            f"the reply broke off after {checked.kept} complete items"
        )
    if problems or (rejected and not checked.kept):
        raise InvalidReply(
            f"the reply does not fit the schema: {_listed([*problems, *rejected])}", raw=reply.text
        )
    return _Usable(
        reply=replace(
            reply,
            data=checked.value,
            rejected=tuple(rejected),
            notes=(*reply.notes, *found.notes, *notes, *checked.notes),
        ),
        whole=not rejected,
        kept=checked.kept,
        raw=reply,
    )


def _fit(value: JsonValue, schema: JsonSchema, cut: bool) -> int:
    """How well a value fits, for the choice among several: 2 in full, 1 in part, 0 not."""
    shaped, _ = _shaped(value, schema, cut)
    checked = check(shaped, schema, cut=cut)
    return 2 if checked.fits and not cut else int(checked.usable)


def _shaped(value: JsonValue, schema: JsonSchema, cut: bool) -> tuple[JsonValue, tuple[str, ...]]:
    """The value in the shape of the schema where the difference is only one of wrapping.

    A bare list where the schema has exactly one list field is that list; an object that has no key
    of the schema and holds one that fits (a tool call, a name around the reply) is that one.
    """
    lists = list_fields(schema)
    if isinstance(value, list) and len(lists) == 1:
        return {lists[0]: value}, ("bare list",)
    known = schema.get("properties")
    if isinstance(value, dict) and isinstance(known, Mapping) and not set(value) & set(known):
        for inner in list(value.values())[:_WRAPPED]:
            if isinstance(inner, dict) and check(inner, schema, cut=cut).fits:
                return inner, ("object within an object",)
    return value, ()


def _is_echo(value: JsonValue, schema: JsonSchema) -> bool:
    """True for a reply whose keys are those of a schema (P004)."""
    if not isinstance(value, dict):
        return False
    known = schema.get("properties")
    foreign = set(value) - set(known if isinstance(known, Mapping) else ())
    return bool(foreign & _ECHO_KEYS) or (value.get("type") == "object" and "type" in foreign)


def _no_json(reply: ChatReply, words: str, error: NotJson) -> ReplyError:
    """The error for a reply without JSON that can be read."""
    if reply.finish == "length":
        if repeats(words[-4000:]):
            return InvalidReply(
                f"the reply repeats the same words up to the ceiling: {_short(words)}",
                raw=reply.text,
            )
        return TruncatedReply(
            f"the reply ended at the token ceiling before any JSON was complete ({error}): shorten "
            "the input or raise max_tokens",
            raw=reply.text,
        )
    if error.cause == "none" and len(words) <= _LONGEST_REFUSAL and _REFUSAL.match(words):
        return RefusedReply(
            f"the model declined: {_short(words)}; asking again in the same words is of no use",
            raw=reply.text,
        )
    if repeats(words):
        return InvalidReply(
            f"the reply repeats the same words over and over: {_short(words)}", raw=reply.text
        )
    return InvalidReply(f"no JSON could be read: {error}; got {_short(words)}", raw=reply.text)


def _truncated(reply: ChatReply, schema: JsonSchema, checked: Checked) -> ReplyError:
    """The error for a reply cut at the ceiling, with what was complete; or for an endless loop."""
    lists = list_fields(schema)
    data = None if checked.problems or (lists and not checked.kept) else checked.value
    if data is None and repeats(reply.text[-4000:]):
        return InvalidReply(
            f"the reply repeats the same words up to the ceiling: {_short(reply.text)}",
            raw=reply.text,
        )
    return TruncatedReply(
        f"the reply ended at the token ceiling ({reply.tokens_out} generated) with "
        f"{checked.kept} complete items: shorten the input or raise max_tokens",
        raw=reply.text,
        data=data,
    )


def _rejection(usable: _Usable) -> InvalidReply:
    return InvalidReply(
        f"some items do not fit the schema: {_listed(usable.reply.rejected)}",
        raw=usable.raw.text,
    )


def _repair(
    request: ChatRequest, schema: JsonSchema, reply: ChatReply, error: ReplyError
) -> ChatRequest:
    """The request that asks once more: it shows what was wrong, so its body is another one."""
    if isinstance(error, SchemaEcho):
        example = request.example if request.example is not None else skeleton(schema)
        words = (
            "Do not write the schema down. Fill it in with what was asked for above. A reply looks "
            f"like this, with your own values:\n{json.dumps(example, ensure_ascii=False)}"
        )
        *before, last = request.messages
        asked = replace(last, text=f"{last.text}\n\n{words}")
        return replace(request, messages=(*before, asked))
    words = (
        f"This reply cannot be used. {error}\nSend the whole reply again, corrected, as one JSON "
        "value and nothing else."
    )
    previous = _middle_out(spoken(reply.text).text)
    back = ChatMessage(role="assistant", text=previous or "(no answer)")
    return replace(
        request, messages=(*request.messages, back, ChatMessage(role="user", text=words))
    )


def _middle_out(text: str) -> str:
    """A long reply without its middle."""
    if len(text) <= _SHOWN:
        return text
    half = _SHOWN // 2
    return f"{text[:half]} ... {text[-half:]}"


def _listed(problems: list[str] | tuple[str, ...]) -> str:
    more = len(problems) - _TOLD
    shown = "; ".join(problems[:_TOLD])
    return f"{shown}; and {more} more" if more > 0 else shown


def _short(text: str) -> str:
    return repr(text if len(text) <= 120 else text[:120] + "...")
