"""MERA and its ablations: one composition, each recipe differing in the fields it names.

k, the ceiling of rounds and the retriever are not stated in the paper's main text; appendix F
gives k = 8 and T = 10 (spec X7). Patience 3 and two rounds at least follow from its round counts
(MERA-46). All are fields here.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from evimem.model.search import Ranker
from evimem.ports import ChatModel, ModelSession
from evimem.query.loop import grown, replay
from evimem.query.mera.answerer import AnswerPrompt, VerifiedAnswerer
from evimem.query.mera.opener import DatedOpener, SeedOpener
from evimem.query.mera.planner import IntentPlanner
from evimem.query.mera.prompts import seed
from evimem.query.mera.records import AtomicFacts, ParentTurnFacts
from evimem.query.mera.state import with_graph
from evimem.query.mera.stop import MeraStop
from evimem.query.mera.verifier import GateVerifier
from evimem.query.parts import Recipe, Updater
from evimem.recipes.rebuilt import SILENT, Rebuilt
from evimem.recipes.windows import room_in
from evimem.trace import Trace

__all__ = ["MERA", "MERA_RECIPES", "MeraConfig", "fitted", "mera", "planner_of", "rebuilt"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MeraConfig:
    """What may differ between the recipes."""

    name: str = "mera"
    """The recipe's name."""
    planner: str = "plan"
    """The key of the settings that names the planner's endpoint (MERA-39)."""
    ranker: Ranker = "dense"
    """How facts are ranked (MERA-19)."""
    aggregate: bool = True
    """True: candidates are parent-turn fact records; False: single facts (MERA-16)."""
    graph: bool = True
    """False: accepted evidence is a flat list (MERA-49)."""
    k: int = 8
    """Facts per intent."""
    max_rounds: int = 10
    """T_max."""
    min_rounds: int = 2
    """r_min."""
    patience: int = 3
    """p."""
    state_tokens: int = 3000
    """Ceiling of the state in a prompt, in estimated tokens."""
    round_tokens: int = 4000
    """Ceiling of the candidates in a verifier prompt."""
    record_tokens: int = 6000
    """Ceiling of the records in the answer prompt."""
    reply_tokens: int = 2000
    """Ceiling of any reply; each prompt has a lower one of its own."""


MERA = MeraConfig()

MERA_RECIPES = {
    config.name: config
    for config in (
        MERA,
        MeraConfig(name="mera-small", planner="plan-small"),
        MeraConfig(name="mera-rl", planner="plan-rl"),
        MeraConfig(name="mera-large", planner="verify"),
        MeraConfig(name="mera-flat", graph=False, ranker="mmr"),
        MeraConfig(name="mera-small-flat", planner="plan-small", graph=False, ranker="mmr"),
        MeraConfig(name="mera-rl-flat", planner="plan-rl", graph=False, ranker="mmr"),
        MeraConfig(name="mera-large-flat", planner="verify", graph=False, ranker="mmr"),
        MeraConfig(name="mera-noagg", aggregate=False),
        MeraConfig(name="mera-bm25", ranker="bm25"),
        MeraConfig(name="mera-mmr", ranker="mmr"),
    )
}
"""The recipes by name. mera-small, -rl and -large differ in the planner's endpoint alone; `verify`
names the evidence model, the paper's backbone as planner."""


FIXED_TOKENS = 1850
"""Tokens of the longest prompt that are not state, candidates or records, with its schema."""


def fitted(config: MeraConfig, window: int) -> MeraConfig:
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
    return dataclasses.replace(
        config,
        reply_tokens=min(config.reply_tokens, room // 3),
        state_tokens=min(config.state_tokens, room // 4),
        round_tokens=min(config.round_tokens, room // 3),
        record_tokens=min(config.record_tokens, room // 3),
    )


def _answer_prompt(config: MeraConfig) -> AnswerPrompt:
    """How a recipe words its answer prompt."""
    return AnswerPrompt(
        graph=config.graph,
        state_tokens=config.state_tokens,
        record_tokens=config.record_tokens,
        reply_tokens=config.reply_tokens,
    )


def mera(config: MeraConfig, session: ModelSession) -> Recipe:
    """The recipe of a config, over the models of a session, its ceilings fitted to their windows.

    Raises:
        SettingsError: no endpoint is set for a role, or its window is too small.
    """
    planner, verifier = _planning(config.planner, session), session.model("verify")
    answerer = session.model("answer")
    window = min((m.window for m in (planner, verifier, answerer) if m.window), default=0)
    config = fitted(config, window)
    return Recipe(
        name=config.name,
        opener=SeedOpener(session.model("seed")) if config.graph else DatedOpener(),
        proposer=planner_of(config, planner),
        packager=ParentTurnFacts() if config.aggregate else AtomicFacts(),
        assessor=_verifier(config, verifier),
        updater=_updater(config),
        stop=MeraStop(min_rounds=config.min_rounds, patience=config.patience),
        answerer=VerifiedAnswerer(model=answerer, prompt=_answer_prompt(config)),
        max_rounds=config.max_rounds,
        round_tokens=config.round_tokens,
        versions=(("window", str(window)),),
        builds=("facts",),
    )


def planner_of(config: MeraConfig, model: ChatModel) -> IntentPlanner:
    """The planner of a config, as the recipe has it: training tries outputs with the same one."""
    return IntentPlanner(
        model=model,
        ranker=config.ranker,
        k=config.k,
        min_rounds=config.min_rounds,
        graph=config.graph,
        state_tokens=config.state_tokens,
        reply_tokens=config.reply_tokens,
    )


def _verifier(config: MeraConfig, model: ChatModel) -> GateVerifier:
    return GateVerifier(
        model=model,
        graph=config.graph,
        state_tokens=config.state_tokens,
        reply_tokens=config.reply_tokens,
    )


def _updater(config: MeraConfig) -> Updater:
    return with_graph if config.graph else grown


def _planning(name: str, session: ModelSession) -> ChatModel:
    """The planner's model: that of a role, or of a slot of its own in the settings."""
    if name == "plan":
        return session.model("plan")
    if name == "verify":
        return session.model("verify")
    return session.model("plan", slot=name)


def rebuilt(
    config: MeraConfig, trace: Trace, *, updater: Updater | None = None
) -> tuple[Rebuilt, ...]:
    """Every prompt of a trace, without any call (MERA-50).

    A repair or a retry with more room sends more than this; the ledger has its reply.

    Args:
        config: that of the recipe which made the trace.
        trace: the trace.
        updater: what the recipe has in place of the config's.
    """
    config = fitted(config, int(trace.versions.get("window", "0")))
    planner, verifier = planner_of(config, SILENT), _verifier(config, SILENT)
    states = list(replay(updater or _updater(config), trace))
    found = [Rebuilt(round=0, request=seed.render(trace.question))] if config.graph else []
    for state, done in zip(states, trace.rounds, strict=False):
        found.append(Rebuilt(round=done.n, request=planner.request(state)))
        if done.candidates:
            request = verifier.request(state, done.candidates)
            found.append(Rebuilt(round=done.n, request=request))
    answer = _answer_prompt(config).request(states[-1])
    return (*found, Rebuilt(round=len(trace.rounds) + 1, request=answer))
