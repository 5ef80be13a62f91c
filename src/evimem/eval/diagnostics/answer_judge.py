"""One answer, claim by claim, against the words of the conversation (QEM-58, 59).

The judge sees question, answer and pack. It does not see whose answer it is, what the right answer
is, or whether this one was marked right. A claim that the pack does not support is looked up in the
whole conversation once, and only then keeps its label.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from evimem.eval.diagnostics.answer_pack import Pack, Packs, lines_of
from evimem.model.chat import ChatMessage, ChatRequest, JsonSchema, ModelCall
from evimem.model.evidence import Question
from evimem.model.prompt import compose
from evimem.model.turn import JsonValue, Turn
from evimem.ports import Models, ModelSession
from evimem.query.calls import ask, one_line
from evimem.query.qemem.pool import as_data, session_date

__all__ = [
    "AGAIN",
    "CLAIMS",
    "AnswerVerdict",
    "Claim",
    "ClaimLabel",
    "again_request",
    "claims_request",
    "judge_answer",
]

ClaimLabel = Literal["supported", "unsupported", "contradicted", "unverifiable"]
"""What the conversation says of a claim."""

AnswerClass = Literal["grounded", "not grounded", "contradicted", "abstained", "unread"]
"""What comes of an answer as a whole."""

_LABELS: tuple[ClaimLabel, ...] = get_args(ClaimLabel)
_CLAIM_CHARS = 600
_MAX_CLAIMS = 40

_LABEL_RULES = {
    "supported": "`supported`: the passages state it, or it follows from them and their dates.",
    "unsupported": "`unsupported`: the passages do not give it, though a conversation could.",
    "contradicted": "`contradicted`: the passages say something that it cannot be true beside.",
    "unverifiable": (
        "`unverifiable`: no passage of any conversation could settle it, such as an opinion or a "
        "guess that is marked as one."
    ),
    "passages-only": (
        "Use nothing but the passages and their dates; resolve words such as yesterday from the "
        "date of the passage they stand in."
    ),
}

CLAIMS = compose(
    "qem.answer-audit",
    1,
    task=(
        "You check an answer against passages of the conversation that it is about. You are given "
        "the question, the answer and dated passages. You do not judge whether the answer is the "
        "best one, only what of it the passages bear out. Reply with JSON only."
    ),
    rules={
        "split": (
            "Split the answer into its factual claims: short sentences that stand alone, each with "
            "one fact; the same fact said twice is one claim."
        ),
        "core": (
            "A claim is `core` if it is part of what the question asks for, and `auxiliary` if it "
            "only explains or adds to that."
        ),
        "abstains": (
            "Set `abstains` if the answer only says that it is not known or not mentioned; then "
            "there are no claims."
        ),
        **_LABEL_RULES,
    },
)

AGAIN = compose(
    "qem.claim-audit",
    1,
    task=(
        "You check one claim against further passages of a conversation; those read before did not "
        "bear it out. You are given the question that it answers, the claim and dated passages. "
        "Reply with JSON only."
    ),
    rules={
        **_LABEL_RULES,
        "reason": "Give the reason first, in one short sentence, then the label.",
    },
)

_LABEL_SCHEMA: JsonValue = {"type": "string", "enum": list(_LABELS)}

_CLAIMS_SCHEMA: JsonSchema = {
    "type": "object",
    "properties": {
        "abstains": {"type": "boolean"},
        "claims": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "claim": {"type": "string"},
                    "part": {"type": "string", "enum": ["core", "auxiliary"]},
                    "label": _LABEL_SCHEMA,
                },
                "required": ["claim", "part", "label"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["abstains", "claims"],
    "additionalProperties": False,
}
_CLAIMS_EXAMPLE: JsonValue = {
    "abstains": False,
    "claims": [{"claim": "Ines ran in Porto.", "part": "core", "label": "supported"}],
}
_AGAIN_SCHEMA: JsonSchema = {
    "type": "object",
    "properties": {"reason": {"type": "string"}, "label": _LABEL_SCHEMA},
    "required": ["reason", "label"],
    "additionalProperties": False,
}
_AGAIN_EXAMPLE: JsonValue = {"reason": "Passage 2 names the town.", "label": "supported"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One factual claim of an answer."""

    text: str
    """The claim, in the judge's words."""
    core: bool
    """True if it is part of what was asked for; False if it only explains or adds."""
    first: ClaimLabel
    """The label from the pack."""
    label: ClaimLabel
    """The final label; another than `first` only after a second pass."""
    again: bool = False
    """True if the whole conversation was searched for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerVerdict:
    """One answer, judged."""

    question_id: str
    """The question."""
    system: str
    """Whose answer; the judge never saw it."""
    pack: str
    """Digest of what it was checked against."""
    claims: tuple[Claim, ...] = ()
    """Its claims; empty for an abstention."""
    abstained: bool = False
    """True if it only says that it does not know, or there is no answer."""
    problem: str = ""
    """Why the judge's reply could not be used; the answer is then left out."""
    calls: tuple[ModelCall, ...] = ()
    """The judge's calls."""

    @property
    def grounded(self) -> bool:
        """True if it has claims and all of them are supported."""
        return bool(self.claims) and all(one.label == "supported" for one in self.claims)

    @property
    def core_grounded(self) -> bool:
        """True if it has core claims and all of them are supported."""
        core = [one for one in self.claims if one.core]
        return bool(core) and all(one.label == "supported" for one in core)

    @property
    def contradicted(self) -> bool:
        """True if a claim of it is contradicted."""
        return any(one.label == "contradicted" for one in self.claims)

    @property
    def outcome(self) -> AnswerClass:
        """The answer as a whole."""
        if self.problem:
            return "unread"
        if self.abstained:
            return "abstained"
        if self.contradicted:
            return "contradicted"
        return "grounded" if self.grounded else "not grounded"


def claims_request(question: Question, answer: str, pack: Pack) -> ChatRequest:
    """What the judge is asked about one answer."""
    return _request(
        CLAIMS.system,
        f"{_asked(question)}\n\nAnswer: {as_data(answer)}\n\nPassages:\n{pack.text}",
        prompt=CLAIMS.tag,
        schema=_CLAIMS_SCHEMA,
        name="answer_audit",
        example=_CLAIMS_EXAMPLE,
        max_tokens=2000,
    )


def again_request(question: Question, claim: str, turns: tuple[Turn, ...]) -> ChatRequest:
    """What the judge is asked about one claim in the second pass."""
    return _request(
        AGAIN.system,
        f"{_asked(question)}\n\nClaim: {as_data(claim)}\n\nPassages:\n{lines_of(turns)}",
        prompt=AGAIN.tag,
        schema=_AGAIN_SCHEMA,
        name="claim_audit",
        example=_AGAIN_EXAMPLE,
        max_tokens=400,
    )


def _asked(question: Question) -> str:
    when = f" (asked on {session_date(question.asked_at)})" if question.asked_at else ""
    return f"Question{when}: {as_data(question.text)}"


def _request(
    system: str,
    user: str,
    *,
    prompt: str,
    schema: JsonSchema,
    name: str,
    example: JsonValue,
    max_tokens: int,
) -> ChatRequest:
    return ChatRequest(
        messages=(
            ChatMessage(role="system", text=system),
            ChatMessage(role="user", text=user),
        ),
        role="judge",
        phase="judge",
        prompt=prompt,
        schema=schema,
        schema_name=name,
        example=example,
        max_tokens=max_tokens,
    )


def judge_answer(
    question: Question,
    answer: str,
    pack: Pack,
    packs: Packs,
    models: Models,
    *,
    system: str,
    abstained: bool = False,
) -> AnswerVerdict:
    """Judge one answer; an abstention or an empty answer takes no call.

    Args:
        question: the question.
        answer: the answer.
        pack: what it is checked against.
        packs: finds more for claims that the pack does not support.
        models: the endpoints; the role is `judge`.
        system: whose answer it is, for the result alone.
        abstained: the system said that it does not know.

    Raises:
        ModelError: the judge could not be reached.
    """
    blank = AnswerVerdict(question_id=question.question_id, system=system, pack=pack.digest)
    if abstained or not answer.strip():
        return dataclasses.replace(blank, abstained=True)
    session = models.session()
    said = ask(session.model("judge"), claims_request(question, answer, pack))
    if said.problem:
        return dataclasses.replace(blank, problem=said.problem, calls=tuple(session.calls))
    listed = said.data.get("claims")
    claims = [
        claim
        for one in (listed if isinstance(listed, list) else [])[:_MAX_CLAIMS]
        if isinstance(one, dict) and (claim := _claim(one)) is not None
    ]
    abstains = said.data.get("abstains") is True and not claims
    if not claims and not abstains:
        problem = "the reply has no claim and no abstention"
        return dataclasses.replace(blank, problem=problem, calls=tuple(session.calls))
    final = tuple(_looked_up(one, question, pack, packs, session) for one in claims)
    return dataclasses.replace(blank, claims=final, abstained=abstains, calls=tuple(session.calls))


def _label(value: JsonValue) -> ClaimLabel | None:
    return next((one for one in _LABELS if value == one), None)


def _claim(said: Mapping[str, JsonValue]) -> Claim | None:
    text, label = one_line(said.get("claim"), _CLAIM_CHARS), _label(said.get("label"))
    if not text or label is None:
        return None
    return Claim(text=text, core=said.get("part") == "core", first=label, label=label)


def _looked_up(
    claim: Claim, question: Question, pack: Pack, packs: Packs, session: ModelSession
) -> Claim:
    """The claim after the second pass, where it needs one and there is more to read. A reply that
    cannot be used leaves the label as it is."""
    if claim.first != "unsupported":
        return claim
    turns = packs.more(pack, claim.text)
    if not turns:
        return claim
    said = ask(session.model("judge"), again_request(question, claim.text, turns))
    return dataclasses.replace(
        claim, label=_label(said.data.get("label")) or claim.label, again=True
    )
