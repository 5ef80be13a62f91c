"""QEMem, its variants and what they share: one composition, each recipe differing in the fields it
names (QEM-31).

`qem-full` is the paper's. `qemem` is ours: the same, but turns are ranked by the foundation's
search for the question itself, which measured far better than the two lists of the paper
(dev/notes-qemem.md); a card that names no known source gets the memory that its quote stands in;
and an answer that declines is not asked for again, because a memory that can be trusted says when
evidence is missing (QEM-28 harms questions without an answer).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from evimem.model.chat import ChatRequest
from evimem.model.evidence import EvidenceState
from evimem.model.item import Kind
from evimem.model.search import Ranker
from evimem.ports import ModelSession
from evimem.query.loop import replay
from evimem.query.parts import Assessor, Opener, Packager, Proposer, Recipe
from evimem.query.qemem.answerer import NOTHING, AnswerPrompt, FinalAnswerer
from evimem.query.qemem.constructor import CardConstructor
from evimem.query.qemem.fusion import NARROW, WIDE, Budgets
from evimem.query.qemem.lite_plan import GUIDED, GUIDED_K
from evimem.query.qemem.matched import SingleListPackager, SingleListProposer
from evimem.query.qemem.null import NullAssessor, OneRound
from evimem.query.qemem.planner import Lists, PlanOpener, QuestionOpener, SetProposer
from evimem.query.qemem.pool import SPACES, PoolPackager, shown_tokens
from evimem.query.qemem.reply import final_answer
from evimem.query.qemem.state import with_cards
from evimem.query.qemem.stop import QemStop
from evimem.query.qemem.stored import StoredAssessor, StoredOpener
from evimem.recipes.rebuilt import SILENT, Rebuilt
from evimem.recipes.windows import room_in
from evimem.retrieval.fuse import RRF_K
from evimem.trace import Trace

__all__ = [
    "FULL",
    "QEMEM",
    "QEM_RECIPES",
    "QemConfig",
    "fitted",
    "qemem",
    "rebuilt",
    "unrefined",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class QemConfig:
    """What may differ between the recipes."""

    name: str = "qem-full"
    """The recipe's name."""
    plan: bool = True
    """False: no planner; the question alone is asked and the pool stays narrow (QEM-31)."""
    single_list: bool = False
    """True: the matched single list in place of the pool (QEM-31)."""
    cards: bool = True
    """False: the answer comes straight from the pool (QEM-31)."""
    lead: Ranker | None = None
    """The one list of turns for the question itself; None: dense and BM25 like every query."""
    weights: Mapping[Ranker, float] = field(default_factory=dict)
    """How much the lists of a ranker count; 1 where not named."""
    k: int = RRF_K
    """Damping of the fusion (D: 60)."""
    spaces: Sequence[Kind] = SPACES
    """Spaces searched."""
    narrow: Budgets = NARROW
    """b_g^0."""
    wide: Budgets = WIDE
    """b_g^1."""
    refinements: int = 2
    """T: rounds after the first (QEM-23)."""
    retry: bool = True
    """One retry after an answer that declines (QEM-28)."""
    threshold: float = 0.9
    """delta of Q7."""
    relocate: bool = False
    """Find the source of a quote whose card names none that exists."""
    round_tokens: int = 14_000
    """Ceiling of the memories in a constructor prompt."""
    previous_tokens: int = 1500
    """Ceiling of the earlier cards in it."""
    card_tokens: int = 5000
    """Ceiling of the cards in the answer prompt."""
    source_tokens: int = 6000
    """Ceiling of the cited source context."""
    pool_tokens: int = 14_000
    """Ceiling of the background."""
    reply_tokens: int = 3000
    """Ceiling of any reply; each prompt has a lower one of its own."""


FULL = QemConfig()
QEMEM = dataclasses.replace(
    FULL,
    name="qemem",
    lead="fusion",
    weights=GUIDED,
    k=GUIDED_K,
    retry=False,
    relocate=True,
)

QEM_RECIPES = {
    config.name: config
    for config in (
        QEMEM,
        FULL,
        dataclasses.replace(FULL, name="qem-norefine", refinements=0),
        dataclasses.replace(FULL, name="qem-direct", cards=False, refinements=0),
        dataclasses.replace(
            FULL, name="qem-matched", plan=False, single_list=True, cards=False, refinements=0
        ),
        dataclasses.replace(FULL, name="qem-noplan", plan=False),
        dataclasses.replace(FULL, name="qem-noretry", retry=False),
    )
}
"""The recipes by name."""

FIXED_TOKENS = 1600
"""Tokens of the longest prompt that are not memories or cards, with its schema."""
LONGEST_SHARE = 4
"""One memory fills at most this part of a round; a pasted document must not be all that is read."""


def fitted(config: QemConfig, window: int) -> QemConfig:
    """The config with its ceilings lowered to a window.

    Args:
        config: the recipe's own.
        window: the smallest window of its models, in tokens; 0 if none is known.

    Raises:
        SettingsError: nothing useful fits the window.
    """
    if not window:
        return config
    room = room_in(window, recipe=config.name, fixed=FIXED_TOKENS)
    # Constructor: memories, earlier cards and reply; answer: cards, sources, background and reply.
    return dataclasses.replace(
        config,
        reply_tokens=min(config.reply_tokens, room // 4),
        round_tokens=min(config.round_tokens, room * 5 // 8),
        previous_tokens=min(config.previous_tokens, room // 8),
        card_tokens=min(config.card_tokens, room // 4),
        source_tokens=min(config.source_tokens, room // 4),
        pool_tokens=min(config.pool_tokens, room // 4 if config.cards else room // 2),
    )


def qemem(
    config: QemConfig, session: ModelSession, templates: Mapping[str, str] | None = None
) -> Recipe:
    """The recipe of a config, over the models of a session, its ceilings fitted to their windows.

    Args:
        config: what differs.
        session: the models.
        templates: prompts from files in place of ours, by name.

    Raises:
        SettingsError: no endpoint is set for a role, or its window is too small.
    """
    planner = session.model("plan") if config.plan else None
    constructor = session.model("verify") if config.cards else None
    answerer = session.model("answer")
    used = [model for model in (planner, constructor, answerer) if model is not None]
    window = min((model.window for model in used if model.window), default=0)
    config = fitted(config, window)
    parts = _Parts(config=config, templates=templates or {})
    opener: Opener = QuestionOpener()
    if planner is not None:
        opener = dataclasses.replace(parts.opener(), model=planner)
    assessor: Assessor = NullAssessor()
    if constructor is not None:
        assessor = dataclasses.replace(parts.constructor(), model=constructor)
    return Recipe(
        name=config.name,
        opener=opener,
        proposer=_proposer(config),
        packager=_packager(config),
        assessor=assessor,
        updater=with_cards,
        stop=QemStop() if config.cards else OneRound(),
        answerer=FinalAnswerer(model=answerer, prompt=parts.answer(), retry=config.retry),
        max_rounds=1 + config.refinements,
        cost=shown_tokens,
        round_tokens=config.round_tokens,
        versions=(("window", str(window)),),
        builds=("episodes",),
    )


def unrefined(
    config: QemConfig,
    trace: Trace,
    session: ModelSession,
    templates: Mapping[str, str] | None = None,
) -> Recipe | None:
    """What answers a question again from the first round of its trace (QEM-32).

    Args:
        config: that of the recipe which made the trace.
        trace: a trace of several rounds.
        session: the models; only the answer is asked for anew.
        templates: prompts from files.

    Returns:
        A recipe that repeats plan and cards of the first round without a call and then answers;
        None where no refinement was triggered: the stored answer stands.
    """
    if len(trace.rounds) < 2:
        return None
    made = qemem(config, session, templates)
    return dataclasses.replace(
        made, opener=StoredOpener(trace), assessor=StoredAssessor(trace), max_rounds=1
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    """The parts of a config that make prompts; without models, as a replay needs them."""

    config: QemConfig
    """Fitted to the window."""
    templates: Mapping[str, str]
    """Prompts from files."""

    def opener(self) -> PlanOpener:
        return PlanOpener(
            model=SILENT, templates=self.templates, reply_tokens=self.config.reply_tokens
        )

    def constructor(self) -> CardConstructor:
        return CardConstructor(
            model=SILENT,
            templates=self.templates,
            threshold=self.config.threshold,
            relocate=self.config.relocate,
            previous_tokens=self.config.previous_tokens,
            reply_tokens=self.config.reply_tokens,
        )

    def answer(self) -> AnswerPrompt:
        return AnswerPrompt(
            templates=self.templates,
            cards=self.config.cards,
            card_tokens=self.config.card_tokens,
            source_tokens=self.config.source_tokens,
            pool_tokens=self.config.pool_tokens,
            reply_tokens=self.config.reply_tokens,
        )


def _proposer(config: QemConfig) -> Proposer:
    if config.single_list:
        return SingleListProposer(spaces=config.spaces)
    return SetProposer(lists=Lists(spaces=config.spaces, lead=config.lead))


def _packager(config: QemConfig) -> Packager:
    if config.single_list:
        return SingleListPackager(longest=config.round_tokens // LONGEST_SHARE)
    return PoolPackager(
        narrow=config.narrow,
        wide=config.wide,
        k=config.k,
        weights=config.weights,
        longest=config.round_tokens // LONGEST_SHARE,
    )


def rebuilt(
    config: QemConfig, trace: Trace, templates: Mapping[str, str] | None = None
) -> tuple[Rebuilt, ...]:
    """Every prompt of a trace, without any call (QEM-32).

    A repair or a retry with more room sends more than these; the ledger has its reply.
    """
    config = fitted(config, int(trace.versions.get("window", "0")))
    parts = _Parts(config=config, templates=templates or {})
    states = list(replay(with_cards, trace))
    found: list[Rebuilt] = []
    if config.plan and trace.plan is not None:
        found.append(Rebuilt(round=0, request=parts.opener().request(states[0])))
    for state, done in zip(states, trace.rounds, strict=False):
        if config.cards and done.candidates:
            request = parts.constructor().request(state, done.candidates)
            found.append(Rebuilt(round=done.n, request=request))
    last = len(trace.rounds) + 1
    found.append(Rebuilt(round=last, request=parts.answer().request(states[-1], trace.context)))
    return (*found, *(Rebuilt(round=last, request=one) for one in _retried(parts, trace, states)))


def _retried(parts: _Parts, trace: Trace, states: Sequence[EvidenceState]) -> Iterator[ChatRequest]:
    """The one retry of a declined answer: the prompt with words on the ledger that was sent."""
    sent = {call.request for call in trace.closing}
    for call in trace.closing if parts.config.retry else ():
        declined = final_answer(call.text) or NOTHING
        request = parts.answer().request(states[-1], trace.context, declined=declined)
        if request.digest in sent:
            yield request
            return
