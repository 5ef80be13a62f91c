"""Do the cited sources of evidence cards carry their claims? Judged on a sample (QEM-40).

A verified quote says that words were copied, not that the claim follows from them. So a judge reads
a claim beside the words and dates of what it cites, and nothing else: no question, no answer, no
gold. Cards are drawn evenly over question type and kind of source, and shares are weighted back to
all cards.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from evimem.datasets import Dataset
from evimem.eval.diagnostics.sampling import Sample, draw, ratio, weights
from evimem.eval.harness.rows import SystemRun
from evimem.eval.harness.tables import Cell, Section, Table
from evimem.model.cards import ViewCard
from evimem.model.chat import ChatMessage, ChatRequest, JsonSchema, ModelCall
from evimem.model.evidence import Candidate
from evimem.model.prompt import compose
from evimem.model.turn import JsonValue
from evimem.ports import Models
from evimem.query.calls import ask
from evimem.query.qemem.pool import as_data, session_date
from evimem.scoring.stats import Interval
from evimem.trace import Trace

__all__ = [
    "PER_BACKBONE",
    "PROMPT",
    "AuditedCard",
    "CardAudit",
    "CardVerdict",
    "Support",
    "audit_cards",
    "card_request",
    "card_section",
    "cards_of",
    "sample_cards",
]

PER_BACKBONE = 144
"""Cards drawn for each answer model; 288 for the two of the paper."""

Support = Literal["full", "partial", "unsupported", "contradicted"]
"""Whether the cited words carry the claim."""

MAX_TOKENS = 400
"""Ceiling of the reply."""

PROMPT = compose(
    "qem.card-audit",
    1,
    task=(
        "You check whether a claim follows from the sources that it cites. You are given the claim "
        "and the sources, each with the date of its conversation. Reply with JSON only."
    ),
    rules={
        "sources-only": (
            "Use nothing but these sources and their dates; what you know from elsewhere does not "
            "count."
        ),
        "dates": (
            "Resolve words such as yesterday or last week from the date of the source they stand "
            "in."
        ),
        "full": "`full`: everything that the claim says is stated by the sources or follows.",
        "partial": (
            "`partial`: the main fact is there, but the claim adds something, such as a time, a "
            "person or a detail, that the sources do not give."
        ),
        "unsupported": "`unsupported`: the sources do not give the main fact.",
        "contradicted": "`contradicted`: the sources say something that the claim cannot be true "
        "beside.",
        "reason": "Give the reason first, in one short sentence, then the label.",
    },
)

SCHEMA: JsonSchema = {
    "type": "object",
    "properties": {
        "reason": {"type": "string"},
        "label": {"type": "string", "enum": ["full", "partial", "unsupported", "contradicted"]},
    },
    "required": ["reason", "label"],
    "additionalProperties": False,
}
_EXAMPLE: JsonValue = {"reason": "The source names the town but no year.", "label": "partial"}


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedCard:
    """A card with what it cites, as the judge may see it."""

    question_id: str
    """The question that it was made for; never shown to the judge."""
    category: str
    """The question's type; never shown."""
    provenance: str
    """Kind of its sources: "turn", "episode", "semantic", "record" or "mixed"."""
    card: ViewCard
    """The card."""
    sources: tuple[Candidate, ...]
    """What it cites, in order."""


_KINDS = {"T": "turn", "E": "episode", "S": "semantic", "R": "record"}


def cards_of(run: SystemRun, dataset: Dataset) -> tuple[tuple[AuditedCard, ...], dict[str, int]]:
    """All cards of a system that cite something, in the order of the data set; and how many were
    left out, by reason."""
    found: list[AuditedCard] = []
    left_out: Counter[str] = Counter()
    for question in dataset.questions:
        trace = run.trace(question.question_id)
        if trace is None:
            left_out["question without a trace"] += 1
            continue
        for card, sources in _cited(trace):
            if not sources:
                left_out["card without a source that exists"] += 1
                continue
            kinds = {_KINDS.get(one.label[:1], "turn") for one in sources}
            found.append(
                AuditedCard(
                    question_id=question.question_id,
                    category=dataset.gold[question.question_id].category,
                    provenance=kinds.pop() if len(kinds) == 1 else "mixed",
                    card=card,
                    sources=sources,
                )
            )
    return tuple(found), dict(left_out)


def _cited(trace: Trace) -> Iterable[tuple[ViewCard, tuple[Candidate, ...]]]:
    shown = {one.label: one for done in trace.rounds for one in done.candidates if one.label}
    for done in trace.rounds:
        for card in done.assessment.cards if done.assessment is not None else ():
            yield card, tuple(shown[one] for one in card.sources if one in shown)


def sample_cards(
    cards: Sequence[AuditedCard], *, n: int = PER_BACKBONE, seed: int = 0
) -> Sample[AuditedCard]:
    """A sample even over question type and kind of source; its weights add up to all cards."""
    return draw(cards, lambda one: (one.category, one.provenance), n=n, seed=seed)


def card_request(one: AuditedCard) -> ChatRequest:
    """What the judge is asked about one card: its claim, the cited words, their dates."""
    told = "\n".join(
        f"[{number}] ({session_date(source.said_at)}) {as_data(source.payload)}"
        for number, source in enumerate(one.sources, start=1)
    )
    return ChatRequest(
        messages=(
            ChatMessage(role="system", text=PROMPT.system),
            ChatMessage(role="user", text=f"Claim: {as_data(one.card.claim)}\n\nSources:\n{told}"),
        ),
        role="judge",
        phase="judge",
        prompt=PROMPT.tag,
        schema=SCHEMA,
        schema_name="card_audit",
        example=_EXAMPLE,
        max_tokens=MAX_TOKENS,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CardVerdict:
    """What the judge says of one card."""

    question_id: str
    """The question that the card was made for."""
    card_id: str
    """The card."""
    stratum: tuple[str, ...]
    """Question type and kind of source."""
    label: Support | None
    """The label; None where the reply had none that could be read."""
    reason: str = ""
    """The judge's reason: words, for a person and no report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CardAudit:
    """The audit of one system's cards."""

    system: str
    """The system, which is one answer model's run."""
    judge: str
    """Model and prompt."""
    verdicts: tuple[CardVerdict, ...]
    """One per card drawn."""
    strata: Mapping[tuple[str, ...], int]
    """Cards of the population by stratum."""
    left_out: Mapping[str, int]
    """What is not in the population, by reason."""
    calls: tuple[ModelCall, ...] = ()
    """The judge's calls; no total of the system holds them."""
    seed: int = 0
    """Of sample and resampling."""

    def share(self, *labels: Support) -> Interval | None:
        """Share of all cards with one of these labels, weighted back to the population of the
        strata that were judged; None without any judged card."""
        read = [one for one in self.verdicts if one.label is not None]
        strata = [one.stratum for one in read]
        return ratio(
            [float(one.label in labels) for one in read],
            [1.0] * len(read),
            weights(self.strata, strata),
            strata,
            seed=self.seed,
        )


def audit_cards(
    run: SystemRun,
    dataset: Dataset,
    models: Models,
    *,
    n: int = PER_BACKBONE,
    seed: int = 0,
) -> CardAudit:
    """Draw cards of a system and have each judged, one call a card.

    Args:
        run: the system's run, with traces.
        dataset: its questions.
        models: the endpoints; the role is `judge`.
        n: how many cards to draw.
        seed: of sample and resampling.

    Raises:
        ModelError: the judge could not be reached.
    """
    cards, left_out = cards_of(run, dataset)
    sample = sample_cards(cards, n=n, seed=seed)
    verdicts: list[CardVerdict] = []
    calls: list[ModelCall] = []
    for drawn in sample.drawn:
        session = models.session()
        said = ask(session.model("judge"), card_request(drawn.unit))
        calls += session.calls
        label = next((one for one in _LABELS if said.data.get("label") == one), None)
        reason = said.data.get("reason")
        verdicts.append(
            CardVerdict(
                question_id=drawn.unit.question_id,
                card_id=drawn.unit.card.card_id,
                stratum=drawn.stratum,
                label=label,
                reason=reason if isinstance(reason, str) else "",
            )
        )
    return CardAudit(
        system=run.name,
        judge=f"{models.session().model('judge').model_id} {PROMPT.tag}",
        verdicts=tuple(verdicts),
        strata=sample.strata,
        left_out=left_out,
        calls=tuple(calls),
        seed=seed,
    )


_LABELS: tuple[Support, ...] = get_args(Support)

_NOTES = (
    "The judge sees a claim, the words that it cites and their dates: no question, answer or gold. "
    "A single model judges, on a sample.",
    "Full: everything in the claim follows. Partial: the main fact is there and something is "
    "added, such as a time or a person. A verified quote is a sign of copying, not of entailment.",
    "A citation of an episode or a fact is judged by their text; whether that is true to what was "
    "said is not looked at.",
)


def card_section(audits: Sequence[CardAudit]) -> Section:
    """Population-weighted shares per system, and what was drawn from where."""
    rows: list[tuple[Cell, ...]] = []
    drawn: list[tuple[Cell, ...]] = []
    for one in audits:
        unread = sum(verdict.label is None for verdict in one.verdicts)
        rows.append(
            (
                one.system,
                len(one.verdicts),
                sum(one.strata.values()),
                one.share("full"),
                one.share("full", "partial"),
                one.share("unsupported", "contradicted"),
                unread,
            )
        )
        counts = Counter(verdict.stratum for verdict in one.verdicts)
        drawn += [
            (one.system, *stratum, size, counts[stratum], size / counts[stratum])
            if counts[stratum]
            else (one.system, *stratum, size, 0, None)
            for stratum, size in one.strata.items()
        ]
    columns = (
        "system",
        "cards judged",
        "all cards",
        "full",
        "full or partial",
        "unsupported or contradicted",
        "unread",
    )
    notes = [f"{one.system}: judge {one.judge}, seed {one.seed}." for one in audits]
    notes += [
        f"{one.system}: left out: {', '.join(f'{n} {why}' for why, n in one.left_out.items())}."
        for one in audits
        if one.left_out
    ]
    return Section(
        name="card-audit",
        title="Claims of evidence cards against their sources",
        tables=(
            Table(
                title="Share of cards by support, weighted to all cards",
                columns=columns,
                rows=tuple(rows),
                percent=columns[3:6],
                notes=tuple(notes),
                ids=("QEM-40",),
            ),
            Table(
                title="The sample",
                columns=("system", "question type", "sources", "cards", "drawn", "weight"),
                rows=tuple(drawn),
                ids=("QEM-40",),
            ),
        ),
        notes=_NOTES,
    )
