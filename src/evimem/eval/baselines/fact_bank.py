"""A bank of short facts, as Mem0, LangMem and Memory-R1/R2 keep it, and what a manager does to it.

Every fact knows the turns that it came from: those of the batch that made it and of every batch
that changed it. Ids are the bank's own, never places in a list and never made up by a model.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from evimem.eval.baselines.answering import REPLY_TOKENS, answered
from evimem.eval.baselines.common import VectorList, encoded, line_of, room_of, within
from evimem.eval.harness.system import Asked, Shown, Step, Tools
from evimem.model.chat import JsonSchema, Role
from evimem.model.evidence import Question
from evimem.model.prompt import Prompt
from evimem.model.turn import JsonValue, Turn
from evimem.ports import FloatArray
from evimem.query.calls import Said, one_line
from evimem.scoring.tokens import estimate_tokens

__all__ = [
    "OPERATIONS",
    "OPERATIONS_EXAMPLE",
    "Fact",
    "FactBank",
    "FactMemory",
    "Operation",
    "Source",
    "apply",
    "batches_of",
    "fitted",
    "label_of",
    "labelled",
    "operations_of",
    "related",
    "room_for",
    "rows_of",
    "source_of",
    "store_turns",
    "texts_of",
]

MAX_FACT = 1000
"""Characters of a fact that are kept; prompts ask for one sentence."""

OPERATIONS: JsonSchema = {
    "type": "object",
    "properties": {
        "operations": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "op": {"type": "string", "enum": ["ADD", "UPDATE", "DELETE", "NONE"]},
                    "id": {"type": "string"},
                    "text": {"type": "string"},
                },
                "required": ["op", "id", "text"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["operations"],
    "additionalProperties": False,
}
"""What a manager replies: `id` names a memory that it was shown, and is empty for ADD."""

OPERATIONS_EXAMPLE: JsonValue = {
    "operations": [
        {"op": "UPDATE", "id": "0", "text": "Anna has two cats, Miro and Luna."},
        {"op": "ADD", "id": "", "text": "Anna moved to Lyon in May 2023."},
    ]
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where the words of a fact come from."""

    turn_ids: tuple[str, ...]
    """The turns of the batch."""
    said_at: datetime | None = None
    """When they were said."""
    speaker: str = ""
    """Whom the fact is about, where the system keeps that."""


def source_of(turns: Sequence[Turn], *, speaker: str = "") -> Source:
    """The source that a batch of turns is; its time is that of the last one that has one."""
    times = [turn.said_at for turn in turns if turn.said_at is not None]
    return Source(
        turn_ids=tuple(turn.turn_id for turn in turns),
        said_at=times[-1] if times else None,
        speaker=speaker,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One memory."""

    fact_id: str
    """Its id in the bank, never given twice."""
    text: str
    """Its words."""
    source: Source
    """Its turns: of every batch that made or changed it; time and speaker of the last."""

    @property
    def shown(self) -> Shown:
        """As an answer prompt shows it."""
        return Shown(
            text=self.text,
            said_at=self.source.said_at,
            speaker=self.source.speaker,
            turn_ids=self.source.turn_ids,
        )


class FactBank:
    """Facts in the order added, with cosine search. Not to be changed by several threads."""

    def __init__(self) -> None:
        self._facts: dict[str, Fact] = {}
        self._vectors = VectorList()
        self._made = 0

    def __len__(self) -> int:
        return len(self._facts)

    def __iter__(self) -> Iterator[Fact]:
        return iter(self._facts.values())

    def __contains__(self, fact_id: str) -> bool:
        return fact_id in self._facts

    def __getitem__(self, fact_id: str) -> Fact:
        return self._facts[fact_id]

    def add(self, text: str, source: Source, tools: Tools) -> Fact:
        """A new fact under a new id."""
        fact = Fact(fact_id=f"f{self._made}", text=text, source=source)
        self._made += 1
        self._put(fact, tools)
        return fact

    def update(self, fact_id: str, text: str, source: Source, tools: Tools) -> Fact:
        """Other words under the same id, encoded anew; turns are joined to those it had.

        Raises:
            KeyError: there is no such fact.
        """
        old = self._facts[fact_id]
        joined = tuple(dict.fromkeys((*old.source.turn_ids, *source.turn_ids)))
        new = replace(
            source,
            turn_ids=joined,
            said_at=source.said_at or old.source.said_at,
            speaker=source.speaker or old.source.speaker,
        )
        fact = Fact(fact_id=fact_id, text=text, source=new)
        self._put(fact, tools)
        return fact

    def drop(self, fact_id: str) -> None:
        """Take a fact out.

        Raises:
            KeyError: there is no such fact.
        """
        del self._facts[fact_id]
        self._vectors.drop(fact_id)

    def nearest(
        self, vector: FloatArray, k: int, *, speaker: str = "", at_least: float = -1.0
    ) -> list[tuple[Fact, float]]:
        """Facts with their cosines, best first.

        Args:
            vector: the query, a unit vector of shape (dim,).
            k: how many at most.
            speaker: only facts about them or about nobody that is known; "": all.
            at_least: the lowest cosine that counts.
        """
        wanted = ("", speaker)
        among = [one.fact_id for one in self if not speaker or one.source.speaker in wanted]
        found = self._vectors.nearest(vector, k, among=among)
        return [(self._facts[one], score) for one, score in found if score >= at_least]

    def _put(self, fact: Fact, tools: Tools) -> None:
        self._facts[fact.fact_id] = fact
        self._vectors.put(fact.fact_id, fact.text, tools)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One thing that a manager wants done."""

    op: str
    """ADD, UPDATE, DELETE or NONE."""
    label: str = ""
    """The label of a memory that it was shown."""
    text: str = ""
    """The new words."""


def rows_of(said: Said, key: str) -> list[Mapping[str, JsonValue]]:
    """The objects in a list of a reply."""
    value = said.data.get(key)
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def label_of(value: JsonValue) -> str:
    """A number or name as a reply gives it, without the brackets that prompts set around it."""
    return one_line(value, 40).strip("[]()# ")


def texts_of(value: JsonValue) -> list[str]:
    """The distinct texts of a list that are not blank, each on one line."""
    found = [one_line(one, MAX_FACT) for one in value] if isinstance(value, list) else []
    return list(dict.fromkeys(one for one in found if one))


def operations_of(said: Said) -> list[Operation]:
    """The operations of a reply by the schema `OPERATIONS`."""
    return [
        Operation(
            op=str(row.get("op", "")),
            label=label_of(row.get("id")),
            text=one_line(row.get("text"), MAX_FACT),
        )
        for row in rows_of(said, "operations")
    ]


def apply(
    bank: FactBank,
    operation: Operation,
    *,
    labels: Mapping[str, str],
    source: Source,
    tools: Tools,
    counts: Counter[str],
) -> None:
    """Does one operation. What cannot be done is refused and counted: a label that was not shown
    or whose fact is gone, new words that are blank.

    Args:
        bank: what is changed.
        operation: what is wanted.
        labels: label shown to the model -> id of the fact.
        source: the turns behind it.
        tools: encodes new words.
        counts: "added", "updated", "deleted" or "refused" grows by one; nothing for NONE.
    """
    if operation.op == "NONE":
        return
    fact_id = labels.get(operation.label, "")
    known = fact_id in bank
    if operation.op == "ADD" and operation.text:
        bank.add(operation.text, source, tools)
        counts["added"] += 1
    elif operation.op == "UPDATE" and operation.text and known:
        bank.update(fact_id, operation.text, source, tools)
        counts["updated"] += 1
    elif operation.op == "DELETE" and known:
        bank.drop(fact_id)
        counts["deleted"] += 1
    else:
        counts["refused"] += 1


def store_turns(
    bank: FactBank,
    turns: Sequence[Turn],
    *,
    tools: Tools,
    counts: Counter[str],
    keep_speaker: bool = False,
) -> None:
    """What is left where no fact could be read from a batch: its turns, word by word.

    Args:
        bank: where they go.
        turns: the batch.
        tools: encodes them.
        counts: "unusable" grows by one and "verbatim" by the number of turns.
        keep_speaker: keep the speaker beside the words and not in them.
    """
    counts["unusable"] += 1
    for turn in turns:
        text = turn.body if keep_speaker else f"{turn.speaker}: {turn.body}"
        bank.add(text, source_of([turn], speaker=turn.speaker if keep_speaker else ""), tools)
        counts["verbatim"] += 1


def related(
    bank: FactBank,
    texts: Sequence[str],
    *,
    k: int,
    tools: Tools,
    speakers: Sequence[str] = (),
    at_least: float = -1.0,
) -> list[Fact]:
    """The facts that any of some texts finds, each once, those with the highest cosine first.

    Args:
        bank: where to look.
        texts: the queries.
        k: how many for each.
        tools: encodes the queries.
        speakers: whom the facts must be about, one for each query; none: anybody.
        at_least: the lowest cosine that counts.
    """
    if not len(bank):
        return []
    best: dict[str, float] = {}
    for place, text in enumerate(texts):
        who = speakers[place] if speakers else ""
        for fact, score in bank.nearest(encoded(text, tools), k, speaker=who, at_least=at_least):
            best[fact.fact_id] = max(score, best.get(fact.fact_id, -1.0))
    return [bank[one] for one in sorted(best, key=lambda one: -best[one])]


def labelled(
    facts: Sequence[Fact], tokens: int, *, with_speaker: bool = False
) -> tuple[dict[str, str], str]:
    """Facts for a manager's prompt: label -> id, and their lines; small numbers as labels, since a
    model copies long ids wrongly.

    Args:
        facts: best first; those past the ceiling are left out.
        tokens: ceiling of the lines, estimated.
        with_speaker: tell whom each is about.
    """
    kept = facts[: len(within([fact.shown for fact in facts], tokens))]
    labels = {str(place): fact.fact_id for place, fact in enumerate(kept)}
    who = [f"(about {one.source.speaker or 'nobody'}) " if with_speaker else "" for one in kept]
    told = [f"[{place}] {who[place]}{fact.text}" for place, fact in enumerate(kept)]
    return labels, "\n".join(told) or "(none)"


def batches_of(turns: Sequence[Turn], size: int) -> list[tuple[Turn, ...]]:
    """So many turns each, never of two sessions; blank turns are left out."""
    made: list[list[Turn]] = []
    for turn in turns:
        if not turn.body.strip():
            continue
        if made and len(made[-1]) < size and made[-1][-1].session_id == turn.session_id:
            made[-1].append(turn)
        else:
            made.append([turn])
    return [tuple(batch) for batch in made]


def room_for(
    tools: Tools,
    role: Role,
    prompt: Prompt,
    *,
    schema: JsonSchema,
    reply: int,
    most: int,
    more: str = "",
) -> int:
    """Estimated tokens that a call for JSON has left for what varies most.

    Args:
        tools: the models.
        role: whose window it must fit; an unknown window leaves `most`.
        prompt: the system message.
        schema: of the reply, which some servers need in the prompt.
        reply: ceiling of the reply.
        most: the system's own ceiling.
        more: what else is shown, whole.
    """
    fixed = estimate_tokens(prompt.system + json.dumps(schema) + more) + 60
    return room_of(tools.session.model(role), fixed=fixed, reply=reply, most=most)


def fitted(turns: Collection[Turn], tokens: int, counts: Counter[str]) -> list[str]:
    """Turns as dated lines, one each; where they pass a ceiling of estimated tokens together, each
    is cut to its share. `counts["cut"]` grows by the turns cut, in every prompt anew."""
    told = [line_of(turn) for turn in turns]
    if estimate_tokens("\n".join(told)) <= tokens:
        return told
    share = max(20, tokens // max(1, len(told)))
    for place, text in enumerate(told):
        cost = estimate_tokens(text)
        if cost <= share:
            continue
        counts["cut"] += 1
        while cost > share:
            text = text[: max(1, int(0.95 * len(text) * share / cost))]
            cost = estimate_tokens(text)
        told[place] = text
    return told


@dataclass(frozen=True, slots=True, kw_only=True)
class FactMemory:
    """A conversation taken in as facts; read by similarity and one answer call."""

    banks: tuple[FactBank, ...]
    """The banks; none changes any more."""
    counts: Mapping[str, int]
    """What happened while they were built, such as "updated", "refused", "unusable"."""
    prompt: Prompt
    """Of the answer."""
    top_k: int
    """Facts of each bank that are shown."""
    at_least: float = -1.0
    """The lowest cosine that counts."""
    tokens: int = 8000
    """Ceiling of the facts shown."""
    reply_tokens: int = REPLY_TOKENS
    """Ceiling of the reply."""

    @property
    def sizes(self) -> Mapping[str, int]:
        """Facts kept, and the counts of the build."""
        happened = {what: count for what, count in self.counts.items() if count}
        return {"facts": sum(len(bank) for bank in self.banks), **happened}

    def stored(self) -> tuple[Shown, ...]:
        """Every fact."""
        return tuple(fact.shown for bank in self.banks for fact in bank)

    def ask(self, question: Question, tools: Tools) -> Asked:
        """The facts most like the question, best first over all banks, then the answer.

        Raises:
            ModelError: a model could not be reached.
            BudgetExceeded: the ceiling of calls or tokens is reached.
        """
        vector = encoded(question.text, tools)
        found = [
            hit
            for bank in self.banks
            for hit in bank.nearest(vector, self.top_k, at_least=self.at_least)
        ]
        found.sort(key=lambda hit: -hit[1])
        shown = [fact.shown for fact, _ in found]
        seen = tuple(dict.fromkeys(one for hit in shown for one in hit.turn_ids))
        return answered(
            question,
            tools,
            prompt=self.prompt,
            shown=shown,
            steps=(Step(queries=(question.text,), turn_ids=seen),),
            tokens=self.tokens,
            reply_tokens=self.reply_tokens,
        )
