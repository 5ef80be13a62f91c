"""How a model writes calls and reads what came of them: as text in tags, or as its provider's own.

The text protocol is what the paper trains: each call is JSON between <tool_call> tags, and all
results of a response come back in one user message (UNI-9). Both feed the same environment.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from evimem.manager.events import Event
from evimem.manager.tools import NAMES, TOOLS, tools_for, unwrapped
from evimem.model.chat import ChatMessage, ChatReply, ToolCall, ToolSpec
from evimem.model.tools import Observed, Said, ToolStep
from evimem.model.turn import JsonValue
from evimem.scoring.tokens import estimate_tokens

__all__ = [
    "NativeProtocol",
    "ProtocolName",
    "TextProtocol",
    "ToolProtocol",
    "parse_calls",
    "protocol_of",
    "shortened",
]

ProtocolName = Literal["text", "native"]
"""text: JSON in tags; native: the provider's tool calls."""

_SILENT = "(empty)"
"""A response without words in a history; servers refuse messages that are empty."""


class ToolProtocol(Protocol):
    """One way to carry calls."""

    @property
    def name(self) -> ProtocolName:
        """Which one it is."""
        ...

    @property
    def told(self) -> tuple[ToolSpec, ...]:
        """Tools that the system message must tell of; none where requests carry them."""
        ...

    def tools(self, event: Event) -> tuple[ToolSpec, ...]:
        """Tools that requests of an event carry."""
        ...

    def messages(self, observation: str, steps: Sequence[ToolStep]) -> tuple[ChatMessage, ...]:
        """The event so far, after the system message."""
        ...

    def read(self, reply: ChatReply) -> Said:
        """The calls of a reply."""
        ...


_EXAMPLE = (
    "A call looks like this, and nothing else is carried out:\n"
    '<tool_call>\n{"name": "memory_search", "arguments": {"query": "names and words"}}\n'
    "</tool_call>"
)
"""What follows a response without a call that could be read: small models forget the form."""


@dataclass(frozen=True, slots=True)
class TextProtocol:
    """Calls as JSON in <tool_call> tags; results in <tool_response> tags of one user message."""

    @property
    def name(self) -> ProtocolName:
        """Which one it is."""
        return "text"

    @property
    def told(self) -> tuple[ToolSpec, ...]:
        """All five, for one system message serves both kinds of event (UNI-1)."""
        return TOOLS

    def tools(self, event: Event) -> tuple[ToolSpec, ...]:
        """None: the provider sees plain words."""
        return ()

    def messages(self, observation: str, steps: Sequence[ToolStep]) -> tuple[ChatMessage, ...]:
        """The event so far, by turns of user and assistant."""
        made = [ChatMessage(role="user", text=observation)]
        for step in steps:
            said = step.said.text
            if not said.strip():
                said = "\n".join(_written(call) for call in step.said.calls) or _SILENT
            made.append(ChatMessage(role="assistant", text=said))
            results = "\n".join(
                f"<tool_response>\n{_inside(one.text)}\n</tool_response>" for one in step.observed
            )
            if any(one.reason in ("no_call", "unparsed") for one in step.observed):
                results += f"\n{_EXAMPLE}"
            made.append(ChatMessage(role="user", text=results))
        return tuple(made)

    def read(self, reply: ChatReply) -> Said:
        """The calls between tags."""
        return _told_if_cut(parse_calls(reply.text), reply)


@dataclass(frozen=True, slots=True)
class NativeProtocol:
    """Calls as the provider parsed them; each result is a message of its own."""

    @property
    def name(self) -> ProtocolName:
        """Which one it is."""
        return "native"

    @property
    def told(self) -> tuple[ToolSpec, ...]:
        """None: requests carry them."""
        return ()

    def tools(self, event: Event) -> tuple[ToolSpec, ...]:
        """Those that the event permits."""
        return tools_for(event)

    def messages(self, observation: str, steps: Sequence[ToolStep]) -> tuple[ChatMessage, ...]:
        """The event so far; calls without ids of their own get some."""
        made = [ChatMessage(role="user", text=observation)]
        for number, step in enumerate(steps, start=1):
            calls = _with_ids(step.said.calls, number)
            text = step.said.text
            if not calls and not text.strip():
                text = _SILENT
            made.append(ChatMessage(role="assistant", text=text, calls=calls))
            made += [
                ChatMessage(role="tool", text=one.text, call_id=call.call_id)
                for call, one in zip(calls, step.observed, strict=False)
            ]
            rest = step.observed[len(calls) :]
            if rest:
                words = "\n".join(one.text for one in rest)
                made.append(ChatMessage(role="user", text=words))
        return tuple(made)

    def read(self, reply: ChatReply) -> Said:
        """The calls of the reply; what could not be read as arguments is the environment's to
        refuse. Where the provider saw none, those that the words hold: servers of small models
        often miss a call that was written as plain JSON."""
        if not reply.calls:
            return _told_if_cut(_in_words(reply.text), reply)
        calls = tuple(replace(one, arguments=unwrapped(one.arguments)) for one in reply.calls)
        return _told_if_cut(Said(text=reply.text, calls=calls), reply)


def protocol_of(name: ProtocolName) -> ToolProtocol:
    """The protocol of a name."""
    return TextProtocol() if name == "text" else NativeProtocol()


def _in_words(text: str) -> Said:
    """Calls in tags, or a whole response that is nothing but calls of tools that exist."""
    said = parse_calls(text)
    if said.calls or said.problems:
        return said
    bare = parse_calls(f"<tool_call>{text.strip()}</tool_call>")
    if bare.problems or not all(one.name in NAMES for one in bare.calls):
        return Said(text=text)
    return Said(text=text, calls=bare.calls)


def _told_if_cut(said: Said, reply: ChatReply) -> Said:
    """A reply that ended at the token ceiling before any call says so to the policy."""
    if reply.finish != "length" or said.calls or said.problems:
        return said
    return replace(said, problems=("the response was cut off before any call; be brief",))


def _with_ids(calls: Sequence[ToolCall], step: int) -> tuple[ToolCall, ...]:
    ids = {one.call_id for one in calls}
    if len(ids) == len(calls) and "" not in ids:
        return tuple(calls)
    return tuple(replace(one, call_id=f"call_{step}_{n}") for n, one in enumerate(calls, start=1))


def _written(call: ToolCall) -> str:
    body = json.dumps({"name": call.name, "arguments": call.arguments}, ensure_ascii=False)
    return f"<tool_call>{_inside(body)}</tool_call>"


def _inside(text: str) -> str:
    """JSON whose strings can be taken for no tag of ours: there "<" is written as its escape."""
    return _TAG_BEGIN.sub(r"\\u003c", text)


# Reading calls in text

_TAG_BEGIN = re.compile(r"<(?=\s{0,3}/?\s{0,3}tool_(?:call|response))", re.IGNORECASE)
_TAG = re.compile(
    r"<\s{0,3}(?P<end>/?)\s{0,3}(?P<name>think|thinking|tool_call)\s{0,3}>", re.IGNORECASE
)
_LEAD = re.compile(r"\s*(?:```[ \t]*\w{0,12}\s*)?")
_BETWEEN = re.compile(r"[\s,;]*")
_SHOWN = 80
"""Characters of a broken call that its error quotes."""


def _no_constant(name: str) -> JsonValue:
    raise ValueError(f"{name} is no JSON")


_DECODER = json.JSONDecoder(strict=False, parse_constant=_no_constant)
"""Line breaks inside strings are forgiven: they leave no doubt about what was meant."""


def parse_calls(text: str) -> Said:
    """The calls between <tool_call> tags of a response, in order; the words around are let be.

    A call ends where its JSON ends, so tags and braces inside of strings are part of the string,
    and a closing tag may be missing. Several calls in one pair of tags, a list of calls, code
    fences inside or outside of the tags, and arguments written as a JSON string are read. What
    stands in <think> tags is no call. JSON that is broken or cut, or that is no call, becomes a
    problem: nothing is guessed, for a guessed write could be a wrong one.
    """
    found = _Found(text=text)
    at = 0
    while (tag := _TAG.search(text, at)) is not None:
        closes, name = bool(tag["end"]), tag["name"].lower()
        before, at = text[at : tag.start()], tag.end()
        if name == "tool_call" and not closes:
            at = found.block(at)
        elif name == "tool_call":
            if "{" in before:
                found.problem("a call has no opening <tool_call> tag", before)
        elif closes:  # its opening tag was part of the prompt: all so far was thinking
            found.forget()
        else:
            end = _end_of(text, at, name)
            at = len(text) if end is None else end
    return Said(text=text, calls=tuple(found.calls), problems=tuple(found.problems))


def _end_of(text: str, at: int, name: str) -> int | None:
    """Where the closing tag of a name ends; None if there is none."""
    for tag in _TAG.finditer(text, at):
        if tag["end"] and tag["name"].lower() == name:
            return tag.end()
    return None


class _Found:
    """Calls and problems of one text so far."""

    def __init__(self, *, text: str) -> None:
        self.text = text
        self.calls: list[ToolCall] = []
        self.problems: list[str] = []

    def forget(self) -> None:
        self.calls.clear()
        self.problems.clear()

    def problem(self, why: str, quoted: str) -> None:
        told = " ".join(quoted.split())
        told = told if len(told) <= _SHOWN else told[:_SHOWN] + "..."
        self.problems.append(f"{why}: {told!r}")

    def block(self, start: int) -> int:
        """Reads what follows an opening tag; gives the place to go on from."""
        lead = _LEAD.match(self.text, start)
        at = lead.end() if lead is not None else start
        some = False
        while self.text[at : at + 1] in ("{", "["):
            try:
                value, end = _DECODER.raw_decode(self.text, at)
            except (ValueError, RecursionError) as error:
                return self._broken(at, str(error) or "nested too deeply")
            self._take(value, self.text[at:end])
            some = True
            between = _BETWEEN.match(self.text, end)
            at = between.end() if between is not None else end
        if not some:
            return self._broken(at, "there is no JSON object")
        tag = _TAG.search(self.text, at)
        closes = tag is not None and tag["end"] and tag["name"].lower() == "tool_call"
        return tag.end() if tag is not None and closes else at

    def _broken(self, at: int, why: str) -> int:
        """Notes a call that cannot be read; its block ends with the next tag of a call."""
        end, following = len(self.text), len(self.text)
        for tag in _TAG.finditer(self.text, at):
            if tag["name"].lower() == "tool_call":
                end = tag.start()
                following = tag.end() if tag["end"] else tag.start()
                break
        self.problem(f"a call could not be read ({why})", self.text[at:end])
        return following

    def _take(self, value: JsonValue, written: str) -> None:
        """One value between tags: a call, or a list of them."""
        for one in value if isinstance(value, list) else [value]:
            name = one.get("name") if isinstance(one, Mapping) else None
            if not isinstance(one, Mapping) or not isinstance(name, str):
                self.problem('a call must be JSON with "name" and "arguments"', written)
                continue
            stray = sorted(set(one) - {"name", "arguments", "id"})
            if stray:
                self.problem(f'a call has "name" and "arguments" only, not {stray[0]!r}', written)
                continue
            arguments = one.get("arguments")
            read = unwrapped({} if arguments is None else arguments)
            self.calls.append(ToolCall(name=name.strip(), arguments=read))


# Making a history shorter

_BRIEF = 60
"""Characters of a memory in a result that was made brief."""


def shortened(steps: Sequence[ToolStep], tokens: int) -> tuple[ToolStep, ...]:
    """The steps with results made shorter until `tokens` are saved, or all are as short as can be.

    Earlier results give way first: their memories are cut to their beginnings, then left out; only
    then those of the last step. Words of the policy and errors stay. What is left out says so.
    """
    made = list(steps)
    saved = 0
    for at, form in _order(len(made)):
        if saved >= tokens:
            break
        old = made[at].observed
        new = tuple(form(one) for one in old)
        saved += sum(
            estimate_tokens(one.text) - estimate_tokens(other.text)
            for one, other in zip(old, new, strict=True)
        )
        made[at] = replace(made[at], observed=new)
    return tuple(made)


def _order(count: int) -> Iterator[tuple[int, _Form]]:
    forms: tuple[_Form, ...] = (_brief, _left_out)
    for places in (range(count - 1), range(max(0, count - 1), count)):
        yield from ((at, form) for form in forms for at in places)


class _Form(Protocol):
    def __call__(self, one: Observed, /) -> Observed: ...


def _memories(one: Observed) -> list[dict[str, str]]:
    """The memories of a search result; none for any other result."""
    shown = json.loads(one.text)
    memories = shown.get("memories", []) if isinstance(shown, dict) else []
    return [row for row in memories if isinstance(row, dict)]


def _brief(one: Observed) -> Observed:
    rows = _memories(one)
    if not rows:
        return one
    cut = [
        {**row, "memory": row["memory"][:_BRIEF] + "..."} if len(row["memory"]) > _BRIEF else row
        for row in rows
    ]
    return replace(one, text=json.dumps({"memories": cut}, ensure_ascii=False))


def _left_out(one: Observed) -> Observed:
    rows = _memories(one)
    if not rows:
        return one
    note = f"{len(rows)} memories were shown here and are left out for want of room"
    text = json.dumps({"memories": [], "note": note})
    return replace(one, text=text) if len(text) < len(one.text) else one
