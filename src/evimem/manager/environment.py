"""What the manager's calls do, and which are refused: the same for every policy and protocol.

An event is begun, gets one response after another, and is closed by FINISH or because its responses
are used up. Refusals are observations like results are; they tell what to do instead. Nothing that
a policy reads holds an id of the bank, a chunk, a turn or a date of provenance (UNI-2, 11).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from evimem.errors import NotFound, UsageError
from evimem.manager.bank import RecordBank
from evimem.manager.events import Construction, Event, Retrieval
from evimem.manager.prompts.observe import observe
from evimem.manager.tools import (
    CREATE,
    FINISH,
    NAMES,
    SEARCH,
    UPDATE,
    WRITES,
    Arguments,
    BadArguments,
    read_arguments,
    tools_for,
)
from evimem.model.chat import ToolCall
from evimem.model.records import MemoryOp
from evimem.model.tools import Observed, Said
from evimem.model.turn import JsonValue

__all__ = ["Closed", "Environment", "Limits"]

Closed = Literal["finished", "forced"]
"""How an event ended: by FINISH, or because its responses were used up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Ceilings per event (B.2)."""

    searches: int = 8
    """Searches carried out (UNI-18)."""
    responses: int = 24
    """Responses of the policy; after the last the event is closed (UNI-18)."""
    construction_k: int = 10
    """Records of a search while dialogue is written down; smaller requests get as many (UNI-19)."""
    retrieval_k: int = 20
    """Records of a search for a question, likewise."""
    cap: int = 200
    """Records of a search at most."""

    def __post_init__(self) -> None:
        low = [name for name in self.__slots__ if getattr(self, name) < 1]
        if low:
            raise UsageError(f"limit {low[0]!r} is {getattr(self, low[0])!r}: it must be 1 or more")

    def shown(self, event: Event, asked: int | None) -> int:
        """Records that a search of an event gives at most, for the limit that was asked for."""
        least = self.construction_k if isinstance(event, Construction) else self.retrieval_k
        return min(self.cap, max(least, asked or 0))


class Environment:
    """A bank behind the five tools. One per bank and run of a policy: aliases last as long."""

    def __init__(self, bank: RecordBank, *, limits: Limits = Limits()) -> None:
        """An environment with no event begun.

        Args:
            bank: where records are kept.
            limits: ceilings per event.
        """
        self._bank = bank
        self._limits = limits
        self._ids: dict[str, str] = {}
        self._aliases: dict[str, str] = {}
        self._event: Event | None = None
        self._reset()
        self.refused: Counter[str] = Counter()
        """Calls not carried out so far, over all events, by reason ("finish_bundled": UNI-10)."""

    def _reset(self) -> None:
        self._closed: Closed | None = None
        self._responses = 0
        self._searches = 0
        self._gate_open = False
        self._writes = 0
        self._shown: set[str] = set()
        self._evidence: dict[str, None] = {}

    @property
    def closed(self) -> Closed | None:
        """How the event ended; None while it is open."""
        return self._closed

    @property
    def searches(self) -> int:
        """Searches carried out in this event."""
        return self._searches

    @property
    def evidence(self) -> tuple[str, ...]:
        """Ids of the records that the searches of this retrieval event showed, in the order first
        shown, each once (UNI-16); none for a construction event."""
        return tuple(self._evidence)

    @property
    def ops(self) -> tuple[MemoryOp, ...]:
        """What this event changed, in order."""
        return tuple(self._bank.ops[-self._writes :]) if self._writes else ()

    def begin(self, event: Event) -> str:
        """Begins an event and gives its observation. One that was left open is left as it is: what
        it wrote stays written, and nothing of it counts for the new one (UNI-17)."""
        self._event = event
        self._reset()
        return observe(event)

    def step(self, said: Said) -> tuple[tuple[Observed, ...], bool]:
        """Carries out one response: its calls in order, each before the next.

        Returns:
            One result per call and per problem, in order, and whether the event is closed now.

        Raises:
            UsageError: no event is open.
            EvimemError: the bank or its embedder failed; that is no observation of the policy's.
        """
        event = self._event
        if event is None or self._closed is not None:
            raise UsageError("no event is open: begin the next one first")
        self._responses += 1
        alone = len(said.calls) + len(said.problems) == 1
        gate_open = self._gate_open
        observed = [
            self._carry_out(event, call, alone=alone, gate_open=gate_open) for call in said.calls
        ]
        observed += [_error(None, "unparsed", f"{one}. {_HOW}") for one in said.problems]
        if not observed:
            observed.append(_error(None, "no_call", f"there was no tool call. {_HOW}"))
        self.refused.update(one.reason for one in observed if not one.ok)
        if self._closed is None and self._responses >= self._limits.responses:
            self._closed = "forced"
        return tuple(observed), self._closed is not None

    def _carry_out(self, event: Event, call: ToolCall, *, alone: bool, gate_open: bool) -> Observed:
        """One call: what it does, or why it is refused. Its order of checks is that of what a
        policy should mend first: the tool, its place, its arguments, then the state."""
        refusal = self._refusal(event, call, alone=alone, gate_open=gate_open)
        if refusal is not None:
            return refusal
        try:
            arguments = read_arguments(call)
        except BadArguments as error:
            return _error(call, "bad_arguments", f"{error}. Call {call.name} again, corrected.")
        if call.name == SEARCH:
            return self._search(event, call, arguments)
        if call.name == FINISH:
            self._closed = "finished"
            return _result(call, {"event": "FINISH"})
        assert isinstance(event, Construction)  # writes are not permitted for questions
        if call.name == CREATE:
            return self._create(event, call, arguments)
        return self._change(event, call, arguments)

    def _refusal(
        self, event: Event, call: ToolCall, *, alone: bool, gate_open: bool
    ) -> Observed | None:
        """Why a call is not permitted here, whatever its arguments are; None if it is."""
        permitted = ", ".join(tool.name for tool in tools_for(event))
        if call.name not in NAMES:
            told = call.name if len(call.name) <= 40 else call.name[:37] + "..."
            return _error(
                call, "unknown_tool", f"there is no tool {told!r}. The tools are {permitted}."
            )
        if call.name in WRITES and isinstance(event, Retrieval):
            return _error(call, "not_permitted", f"a question changes no memory. Use {permitted}.")
        if call.name in WRITES and not gate_open:
            return _error(
                call,
                "write_gate",
                f"{call.name} needs results of {SEARCH} that you have seen in an earlier response "
                "of this event. Search first, read the results, then write.",
            )
        if call.name == FINISH and not alone:
            return _error(
                call,
                "finish_bundled",
                f"{FINISH} was ignored: it must be the only call of a response. The event is still "
                f"open; call {FINISH} alone when everything is done.",
            )
        if call.name == FINISH and isinstance(event, Retrieval) and not self._gate_open:
            return _error(
                call, "finish_early", f"nothing was searched yet. Call {SEARCH} first, then finish."
            )
        return None

    def _search(self, event: Event, call: ToolCall, arguments: Arguments) -> Observed:
        if self._searches >= self._limits.searches:
            return _error(
                call,
                "search_budget",
                f"the {self._limits.searches} searches of this event are used up. Go on with what "
                f"was found, or call {FINISH}.",
            )
        found = self._bank.search(arguments.query, self._limits.shown(event, arguments.limit))
        self._searches += 1
        self._gate_open = True
        ids = tuple(one.record_id for one in found)
        if isinstance(event, Retrieval):
            self._evidence.update(dict.fromkeys(ids))
        rows: list[JsonValue] = [
            {"id": self._alias(one.record_id), "memory": one.content} for one in found
        ]
        return _result(call, {"memories": rows}, ids)

    def _create(self, event: Construction, call: ToolCall, arguments: Arguments) -> Observed:
        record = self._bank.create(arguments.content, event)
        self._writes += 1
        shown: dict[str, JsonValue] = {
            "id": self._alias(record.record_id),
            "memory": record.content,
            "event": "ADD",
        }
        return _result(call, shown, (record.record_id,))

    def _change(self, event: Construction, call: ToolCall, arguments: Arguments) -> Observed:
        """An update or a delete, of a record that this event has shown."""
        alias = arguments.memory_id
        record_id = self._ids.get(alias, "")
        if record_id not in self._shown:
            return _unknown(call, alias)
        try:
            if call.name == UPDATE:
                self._bank.update(record_id, arguments.content, event)
            else:
                self._bank.delete(record_id, event)
        except NotFound:
            return _unknown(call, alias)
        self._writes += 1
        done = "UPDATE" if call.name == UPDATE else "DELETE"
        return _result(call, {"id": alias, "event": done}, (record_id,))

    def _alias(self, record_id: str) -> str:
        """The alias of a record; a new one if it is shown for the first time."""
        self._shown.add(record_id)
        if record_id not in self._aliases:
            alias = f"m{len(self._aliases) + 1}"
            self._aliases[record_id] = alias
            self._ids[alias] = record_id
        return self._aliases[record_id]


_HOW = "Answer with a call of one of the tools."


def _result(call: ToolCall, shown: dict[str, JsonValue], records: Sequence[str] = ()) -> Observed:
    return Observed(call=call, text=_json(shown), ok=True, records=tuple(records))


def _error(call: ToolCall | None, reason: str, message: str) -> Observed:
    return Observed(call=call, text=_json({"error": message}), ok=False, reason=reason)


def _unknown(call: ToolCall, alias: str) -> Observed:
    told = alias if len(alias) <= 40 else alias[:37] + "..."
    return _error(
        call,
        "unknown_alias",
        f"no memory {told!r} is shown in this event. Use an id from its search results.",
    )


def _json(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False)
