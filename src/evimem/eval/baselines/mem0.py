"""Mem0 as published: facts from small batches, then ADD, UPDATE, DELETE or NONE (baselines 1.8).

This is the algorithm of the paper and of the library up to 1.0.11; later ones only add and are
another system.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from evimem.eval.baselines.common import say_data
from evimem.eval.baselines.fact_bank import (
    OPERATIONS,
    OPERATIONS_EXAMPLE,
    FactBank,
    FactMemory,
    Source,
    apply,
    batches_of,
    fitted,
    labelled,
    operations_of,
    related,
    room_for,
    source_of,
    store_turns,
    texts_of,
)
from evimem.eval.baselines.mem0_prompts import (
    ANSWER,
    EXTRACT,
    EXTRACT_EVERYBODY,
    FACTS,
    FACTS_EXAMPLE,
    UPDATE,
)
from evimem.eval.harness.system import Deviation, Tools
from evimem.model.prompt import Prompt
from evimem.model.turn import History, Turn

__all__ = ["Mem0", "Stores", "keep_facts"]

Stores = Literal["auto", "speaker", "single"]
"""speaker: a store for each speaker; single: one for all; auto: single in a chat with an assistant,
else by speaker."""

EXTRACT_TOKENS = 600
UPDATE_TOKENS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Mem0:
    """The system: two calls for each batch and store, one where it holds no fact; one for each
    question."""

    name: str = "mem0-v1"
    """Its name."""
    stores: Stores = "auto"
    """How many stores there are; the published LoCoMo protocol has one for each speaker."""
    batch: int = 2
    """Turns that are read at once."""
    similar: int = 5
    """Memories shown to the manager for each fact."""
    top_k: int = 30
    """Memories of each store shown to the answer model."""
    tokens: int = 8000
    """Ceiling of what any prompt shows, where the model's window is unknown or larger."""
    traces_turns: bool = True
    """A memory knows the batches that it came from."""

    @property
    def params(self) -> Mapping[str, str]:
        """Stores, batches and numbers of memories; prompts by hash."""
        return {
            "stores": self.stores,
            "batch": str(self.batch),
            "similar": str(self.similar),
            "top_k": str(self.top_k),
            "tokens": str(self.tokens),
            "abstention": "not asked for, as published",
            "prompts": " ".join(p.tag for p in (EXTRACT, EXTRACT_EVERYBODY, UPDATE, ANSWER)),
        }

    @property
    def deviations(self) -> tuple[Deviation, ...]:
        """What differs."""
        return (
            Deviation(
                what="each memory keeps the turns of the batches that made or changed it",
                why="the original keeps none, so recall by turn could not be measured",
            ),
            Deviation(
                what="messages are shown with the time they were said; memories keep that time",
                why="the original tells the model the wall clock and stamps memories with it",
            ),
            Deviation(
                what="a number that was not shown is refused and counted",
                why="the original swallows the error, and nobody sees the change that was lost",
            ),
            Deviation(
                what="where facts cannot be read, the turns are kept word by word; where the "
                "decisions cannot be read, all facts are added",
                why="the original loses the batch",
            ),
            Deviation(
                what="in a single store, facts of an assistant's messages are kept too",
                why="the original drops them, and questions about them cannot be answered",
            ),
            Deviation(
                what="memories of both stores stand in one list, best first",
                why="the list is cut at its end where the window is small",
            ),
            Deviation(
                what="batches end with their session and leave out blank turns; a turn that does "
                "not fit a prompt is cut there and counted",
                why="a batch has one time, and a conversation must not fail for one long turn",
            ),
        )

    def build(self, history: History, tools: Tools) -> FactMemory:
        """Every batch goes to every store.

        Raises:
            ModelError: a model could not be reached.
            BudgetExceeded: the ceiling of calls or tokens is reached.
        """
        counts: Counter[str] = Counter()
        banks = {owner: FactBank() for owner in self._owners(history)}
        for turns in batches_of(history.turns, self.batch):
            for owner, bank in banks.items():
                self._take_in(bank, owner, turns, tools, counts)
        return FactMemory(
            banks=tuple(banks.values()),
            counts=counts,
            prompt=ANSWER,
            top_k=self.top_k,
            tokens=self.tokens,
        )

    def _owners(self, history: History) -> Sequence[str]:
        """Whose stores there are; "" owns the single one."""
        chat = any(turn.role in ("user", "assistant") for turn in history.turns)
        single = self.stores == "single" or (self.stores == "auto" and chat)
        return [""] if single else history.speakers

    def _take_in(
        self,
        bank: FactBank,
        owner: str,
        turns: Sequence[Turn],
        tools: Tools,
        counts: Counter[str],
    ) -> None:
        prompt = EXTRACT if owner else EXTRACT_EVERYBODY
        room = room_for(
            tools, "extract", prompt, schema=FACTS, reply=EXTRACT_TOKENS, most=self.tokens
        )
        whose = f"Owner of the memory: {owner}\n\n" if owner else ""
        said = say_data(
            tools,
            prompt,
            f"{whose}Messages:\n" + "\n".join(fitted(turns, room, counts)),
            schema=FACTS,
            example=FACTS_EXAMPLE,
            role="extract",
            phase="summary",
            max_tokens=EXTRACT_TOKENS,
        )
        counts["dropped"] += len(said.dropped)
        if said.problem:
            own = [turn for turn in turns if owner in ("", turn.speaker)]
            store_turns(bank, own, tools=tools, counts=counts, keep_speaker=bool(owner))
            return
        keep_facts(
            bank,
            texts_of(said.data.get("facts")),
            source=source_of(turns, speaker=owner),
            similar=self.similar,
            tokens=self.tokens,
            tools=tools,
            counts=counts,
        )


def keep_facts(
    bank: FactBank,
    facts: Sequence[str],
    *,
    source: Source,
    prompt: Prompt = UPDATE,
    similar: int,
    tokens: int,
    tools: Tools,
    counts: Counter[str],
) -> None:
    """One call decides what becomes of some facts, and it is done; no call where there are none.

    Args:
        bank: what they are compared with and kept in.
        facts: new ones.
        source: the turns that they came from.
        prompt: of the manager; replies follow `OPERATIONS`.
        similar: memories shown for each fact.
        tokens: ceiling of the memories shown.
        tools: the models; the role is `manage`.
        counts: grows, see `apply`; "unusable" where the decisions could not be read.

    Raises:
        ModelError, BudgetExceeded: no reply could be had.
    """
    if not facts:
        return
    new = "\n".join(f"- {one}" for one in facts)
    room = room_for(
        tools, "manage", prompt, schema=OPERATIONS, reply=UPDATE_TOKENS, most=tokens, more=new
    )
    labels, told = labelled(related(bank, facts, k=similar, tools=tools), room)
    said = say_data(
        tools,
        prompt,
        f"Memories:\n{told}\n\nNew facts:\n{new}",
        schema=OPERATIONS,
        example=OPERATIONS_EXAMPLE,
        role="manage",
        phase="update",
        max_tokens=UPDATE_TOKENS,
    )
    counts["dropped"] += len(said.dropped)
    if said.problem:
        counts["unusable"] += 1
        for one in facts:
            bank.add(one, source, tools)
        counts["added"] += len(facts)
        return
    for operation in operations_of(said):
        apply(bank, operation, labels=labels, source=source, tools=tools, counts=counts)
