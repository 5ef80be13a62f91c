"""Memory-R1 and Memory-R2 without their weights: extractor, single-turn manager, fixed retrieval
(Uni-Mem; baselines 1.16, 1.17). What their training brings is not here: "untrained policy"."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from evimem.eval.baselines.common import chunks_of, say_data
from evimem.eval.baselines.fact_bank import (
    MAX_FACT,
    FactBank,
    FactMemory,
    Operation,
    Source,
    apply,
    batches_of,
    fitted,
    label_of,
    labelled,
    operations_of,
    related,
    room_for,
    rows_of,
    source_of,
    store_turns,
    texts_of,
)
from evimem.eval.baselines.mem0 import keep_facts
from evimem.eval.baselines.mem0_prompts import FACTS, FACTS_EXAMPLE
from evimem.eval.baselines.memory_r_prompts import (
    ANSWER_R1,
    ANSWER_R2,
    EXTRACT_R1,
    EXTRACT_R2,
    FACTS_R2,
    FACTS_R2_EXAMPLE,
    MANAGE_R1,
    MANAGE_R2,
    OPERATIONS_R2,
    OPERATIONS_R2_EXAMPLE,
)
from evimem.eval.harness.system import Deviation, Tools
from evimem.model.turn import History, Turn
from evimem.query.calls import Said, one_line
from evimem.scoring.tokens import estimate_tokens

__all__ = ["MemoryR1", "MemoryR2"]

EXTRACT_TOKENS_R1 = 400
EXTRACT_TOKENS_R2 = 1500
MANAGE_TOKENS_R2 = 1500
ANSWER_TOKENS = 700
"""Room for the memories picked, or for the steps, before the answer."""

_SHARED = (
    Deviation(
        what="untrained policy: the run's models stand for the trained extractor, manager and "
        "answer agent",
        why="the weights cannot be had here, and training is not part of a baseline",
    ),
    Deviation(
        what="a number that was not shown is refused and counted; where facts cannot be read, the "
        "turns are kept word by word; where operations cannot be read, all facts are added",
        why="the originals lose what they cannot read",
    ),
    Deviation(
        what="the answer follows a mark instead of standing in tags or after a heading",
        why="one reader of replies serves every system",
    ),
    Deviation(
        what="blank turns are left out; a turn that does not fit a prompt is cut there and counted",
        why="a conversation must not fail for one long turn",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryR1:
    """The system: two calls for each turn with facts, one for others; one for each question."""

    name: str = "memory-r1"
    """Its name."""
    similar: int = 5
    """Memories shown to the manager for each fact; not published, that of Mem0, whose bank it
    uses."""
    top_k: int = 60
    """Memories shown to the answer agent, which picks from them."""
    tokens: int = 8000
    """Ceiling of what any prompt shows, where the model's window is unknown or larger."""
    traces_turns: bool = True
    """A memory knows the turns that it came from."""

    @property
    def params(self) -> Mapping[str, str]:
        """Numbers of memories; prompts by hash."""
        return {
            "policy": "untrained",
            "similar": str(self.similar),
            "top_k": str(self.top_k),
            "tokens": str(self.tokens),
            "abstention": "not asked for, as published",
            "prompts": " ".join(p.tag for p in (EXTRACT_R1, MANAGE_R1, ANSWER_R1)),
        }

    @property
    def deviations(self) -> tuple[Deviation, ...]:
        """What differs."""
        return (
            *_SHARED,
            Deviation(
                what="each memory keeps the turns that made or changed it, and their time",
                why="the original keeps a time alone, so recall by turn could not be measured",
            ),
        )

    def build(self, history: History, tools: Tools) -> FactMemory:
        """Every turn once: its facts, then what becomes of them.

        Raises:
            ModelError: a model could not be reached.
            BudgetExceeded: the ceiling of calls or tokens is reached.
        """
        counts: Counter[str] = Counter()
        bank = FactBank()
        for turns in batches_of(history.turns, 1):
            self._take_in(bank, turns, tools, counts)
        return FactMemory(
            banks=(bank,),
            counts=counts,
            prompt=ANSWER_R1,
            top_k=self.top_k,
            tokens=self.tokens,
            reply_tokens=ANSWER_TOKENS,
        )

    def _take_in(
        self, bank: FactBank, turns: Sequence[Turn], tools: Tools, counts: Counter[str]
    ) -> None:
        room = room_for(
            tools, "extract", EXTRACT_R1, schema=FACTS, reply=EXTRACT_TOKENS_R1, most=self.tokens
        )
        said = say_data(
            tools,
            EXTRACT_R1,
            "Message:\n" + "\n".join(fitted(turns, room, counts)),
            schema=FACTS,
            example=FACTS_EXAMPLE,
            role="extract",
            phase="summary",
            max_tokens=EXTRACT_TOKENS_R1,
        )
        counts["dropped"] += len(said.dropped)
        if said.problem:
            store_turns(bank, turns, tools=tools, counts=counts)
            return
        keep_facts(
            bank,
            texts_of(said.data.get("facts")),
            source=source_of(turns),
            prompt=MANAGE_R1,
            similar=self.similar,
            tokens=self.tokens,
            tools=tools,
            counts=counts,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """A fact that the extractor of Memory-R2 drew out."""

    text: str
    source: Source

    @property
    def line(self) -> str:
        """In the manager's prompt."""
        return f"(about {self.source.speaker or 'nobody'}) {self.text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryR2:
    """The system: two calls for each chunk with facts, one for others; one for each question."""

    name: str = "memory-r2"
    """Its name."""
    chunk_tokens: int = 4000
    """Ceiling of a chunk, estimated; the published chunk is a session, and a longer one is cut
    between turns."""
    similar: int = 20
    """Memories about the same person shown to the manager for each fact."""
    similar_at_least: float = 0.1
    """The lowest cosine of those."""
    top_k: int = 30
    """Memories shown to the answer agent."""
    tokens: int = 8000
    """Ceiling of what any prompt shows, where the model's window is unknown or larger."""
    traces_turns: bool = True
    """A memory knows the turns that it came from."""

    @property
    def params(self) -> Mapping[str, str]:
        """Chunks and numbers of memories; prompts by hash."""
        return {
            "policy": "untrained",
            "chunk_tokens": str(self.chunk_tokens),
            "similar": str(self.similar),
            "similar_at_least": str(self.similar_at_least),
            "top_k": str(self.top_k),
            "tokens": str(self.tokens),
            "abstention": "not asked for, as published",
            "prompts": " ".join(p.tag for p in (EXTRACT_R2, MANAGE_R2, ANSWER_R2)),
        }

    @property
    def deviations(self) -> tuple[Deviation, ...]:
        """What differs."""
        return (
            *_SHARED,
            Deviation(
                what="facts name the message that tells them, operations the facts that they rest "
                "on; so a memory keeps turns, those of the whole chunk where none is named",
                why="the published entry keeps only its session, so recall by turn could not be "
                "measured",
            ),
            Deviation(
                what="a session longer than a ceiling or the model's window is several chunks, and "
                "facts that fill more than half of the manager's prompt are decided in several "
                "calls; memories shown to it are cut to the window, least alike first",
                why="windows of small models are small",
            ),
        )

    def build(self, history: History, tools: Tools) -> FactMemory:
        """Every chunk once: its facts, then what becomes of them.

        Raises:
            ModelError: a model could not be reached.
            BudgetExceeded: the ceiling of calls or tokens is reached.
        """
        counts: Counter[str] = Counter()
        bank = FactBank()
        room = room_for(
            tools, "extract", EXTRACT_R2, schema=FACTS_R2, reply=EXTRACT_TOKENS_R2, most=self.tokens
        )
        room = room * 9 // 10  # the rest is for the messages' numbers
        ceiling = min(self.chunk_tokens, room)
        for chunk in chunks_of(history.turns, tokens=ceiling, by_session=True):
            facts = self._facts(bank, chunk.turns, room, tools, counts)
            for pack in self._packs(facts, tools):
                self._manage(bank, pack, source_of(chunk.turns), tools, counts)
        return FactMemory(
            banks=(bank,),
            counts=counts,
            prompt=ANSWER_R2,
            top_k=self.top_k,
            tokens=self.tokens,
            reply_tokens=ANSWER_TOKENS,
        )

    def _facts(
        self,
        bank: FactBank,
        turns: Sequence[Turn],
        room: int,
        tools: Tools,
        counts: Counter[str],
    ) -> list[_Found]:
        """The facts of a chunk; none where they cannot be read and the turns were kept instead."""
        told = fitted(turns, room, counts)
        said = say_data(
            tools,
            EXTRACT_R2,
            "Messages:\n" + "\n".join(f"({place}) {one}" for place, one in enumerate(told)),
            schema=FACTS_R2,
            example=FACTS_R2_EXAMPLE,
            role="extract",
            phase="summary",
            max_tokens=EXTRACT_TOKENS_R2,
        )
        counts["dropped"] += len(said.dropped)
        if said.problem:
            store_turns(bank, turns, tools=tools, counts=counts, keep_speaker=True)
        return _found(said, turns)

    def _manager_room(self, tools: Tools, new: str) -> int:
        return room_for(
            tools,
            "manage",
            MANAGE_R2,
            schema=OPERATIONS_R2,
            reply=MANAGE_TOKENS_R2,
            most=self.tokens,
            more=new,
        )

    def _packs(self, facts: Sequence[_Found], tools: Tools) -> list[list[_Found]]:
        """All facts at once, or several times as many as fill half of the manager's prompt."""
        ceiling = self._manager_room(tools, "") // 2
        packs: list[list[_Found]] = []
        cost = 0
        for fact in facts:
            price = estimate_tokens(fact.line) + 6
            if not packs or cost + price > ceiling:
                packs.append([])
                cost = 0
            packs[-1].append(fact)
            cost += price
        return packs

    def _manage(
        self,
        bank: FactBank,
        facts: Sequence[_Found],
        whole: Source,
        tools: Tools,
        counts: Counter[str],
    ) -> None:
        named = {f"n{place}": fact for place, fact in enumerate(facts)}
        new = "\n".join(f"[{name}] {fact.line}" for name, fact in named.items())
        room = self._manager_room(tools, new)
        near = related(
            bank,
            [fact.text for fact in facts],
            k=self.similar,
            tools=tools,
            speakers=[fact.source.speaker for fact in facts],
            at_least=self.similar_at_least,
        )
        labels, told = labelled(near, room, with_speaker=True)
        said = say_data(
            tools,
            MANAGE_R2,
            f"Memories:\n{told}\n\nNew facts:\n{new}",
            schema=OPERATIONS_R2,
            example=OPERATIONS_R2_EXAMPLE,
            role="manage",
            phase="update",
            max_tokens=MANAGE_TOKENS_R2,
        )
        counts["dropped"] += len(said.dropped)
        if said.problem:
            counts["unusable"] += 1
            for fact in facts:
                bank.add(fact.text, fact.source, tools)
            counts["added"] += len(facts)
            return
        for operation, rests_on in _operations(said):
            source = _joined([named[one] for one in rests_on if one in named]) or whole
            apply(bank, operation, labels=labels, source=source, tools=tools, counts=counts)


def _found(said: Said, turns: Sequence[Turn]) -> list[_Found]:
    """The facts in a reply, each with the turn that it names, else with all of the chunk."""
    whole = source_of(turns)
    speakers = {turn.speaker.casefold(): turn.speaker for turn in turns}
    found = []
    for row in rows_of(said, "facts"):
        text = one_line(row.get("fact"), MAX_FACT)
        if not text:
            continue
        place = label_of(row.get("message"))
        known = place.isascii() and place.isdigit() and int(place) < len(turns)
        source = source_of([turns[int(place)]]) if known else whole
        name = one_line(row.get("speaker"), 80)
        who = speakers.get(name.casefold(), name)
        found.append(_Found(text=text, source=replace(source, speaker=who)))
    return found


def _operations(said: Said) -> list[tuple[Operation, list[str]]]:
    """The operations of a reply, each with the names of the facts that it rests on."""
    return [
        (
            replace(operation, op="ADD" if operation.op == "INSERT" else operation.op),
            [label_of(one) for one in texts_of(row.get("facts"))],
        )
        for operation, row in zip(operations_of(said), rows_of(said, "operations"), strict=True)
    ]


def _joined(facts: Sequence[_Found]) -> Source | None:
    """The turns of some facts as one source: the time of the last, the speaker where they agree;
    None for no facts."""
    if not facts:
        return None
    times = [fact.source.said_at for fact in facts if fact.source.said_at is not None]
    speakers = {fact.source.speaker for fact in facts}
    return Source(
        turn_ids=tuple(dict.fromkeys(one for fact in facts for one in fact.source.turn_ids)),
        said_at=times[-1] if times else None,
        speaker=speakers.pop() if len(speakers) == 1 else "",
    )
