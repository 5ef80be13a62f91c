"""Complements of the three systems, each a recipe for an experiment and none a default.

`mera-cards` (E1): QEMem's constructor as MERA's verifier. `qem-gapplan` (E2): MERA's planner asks
for what QEMem misses. `qem-records` (E3): the manager's records as a fourth space of QEMem's pool.
`mera-selector`: the trained selector in the place of MERA's planner, which then calls no model.
E4, evidence-indexed scoring of any store, and E5, the check of what was written, are commands
(`bench stored`, `audit writes`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from evimem.ports import ModelSession
from evimem.query.complements.card_gate import CardGate, TurnsBehindFacts, with_cards_and_graph
from evimem.query.complements.gap import GapPlanner
from evimem.query.loop import replay
from evimem.query.parts import Recipe
from evimem.query.qemem.constructor import CardConstructor
from evimem.query.qemem.fusion import NARROW, WIDE
from evimem.query.qemem.planner import Lists, SetProposer
from evimem.query.qemem.pool import SPACES
from evimem.query.qemem.state import with_cards
from evimem.query.qemem.stop import QemStop
from evimem.query.selector.packager import WeighedFacts
from evimem.query.selector.proposer import SelectorProposer
from evimem.recipes import mera as mera_recipe
from evimem.recipes import qemem as qemem_recipe
from evimem.recipes.lite_trained import shipped_policy
from evimem.recipes.mera import MERA, MeraConfig, mera
from evimem.recipes.qemem import FULL, QemConfig, qemem
from evimem.recipes.rebuilt import SILENT, Rebuilt
from evimem.trace import Trace

__all__ = [
    "GAP_PLAN",
    "MERA_CARDS",
    "MERA_SELECTOR",
    "RECORDS",
    "gap_plan",
    "gap_plan_rebuilt",
    "mera_cards",
    "mera_cards_rebuilt",
    "mera_selector",
    "mera_selector_rebuilt",
]

MERA_CARDS = dataclasses.replace(MERA, name="mera-cards")
MERA_SELECTOR = dataclasses.replace(MERA, name="mera-selector", planner="verify")
"""Its planner asks no model; `verify` only names one that is there anyway."""
GAP_PLAN = dataclasses.replace(FULL, name="qem-gapplan")
RECORDS = dataclasses.replace(
    FULL,
    name="qem-records",
    spaces=(*SPACES, "record"),
    narrow=dataclasses.replace(NARROW, record=20),
    wide=dataclasses.replace(WIDE, record=30),
)
"""A recipe of QEMem's own composition."""

THRESHOLD = FULL.threshold
STATE_TOKENS = MERA.state_tokens


def _constructor(config: MeraConfig, templates: Mapping[str, str]) -> CardConstructor:
    return CardConstructor(
        model=SILENT,
        templates=templates,
        threshold=THRESHOLD,
        previous_tokens=config.state_tokens,
        reply_tokens=config.reply_tokens,
    )


def mera_cards(session: ModelSession, templates: Mapping[str, str] | None = None) -> Recipe:
    """E1 over the models of a session.

    Raises:
        SettingsError: no endpoint is set for a role, or its window is too small.
    """
    base = mera(MERA_CARDS, session)
    config = mera_recipe.fitted(MERA_CARDS, int(dict(base.versions)["window"]))
    made = _constructor(config, templates or {})
    gate = CardGate(constructor=dataclasses.replace(made, model=session.model("verify")))
    return dataclasses.replace(
        base, packager=TurnsBehindFacts(), assessor=gate, updater=with_cards_and_graph
    )


def mera_cards_rebuilt(trace: Trace, templates: Mapping[str, str]) -> tuple[Rebuilt, ...]:
    """Every prompt of a trace of E1."""
    config = mera_recipe.fitted(MERA_CARDS, int(trace.versions.get("window", "0")))
    made = _constructor(config, templates)
    states = list(replay(with_cards_and_graph, trace))
    found: list[Rebuilt] = []
    candidates = {done.n: done.candidates for done in trace.rounds}
    for one in mera_recipe.rebuilt(MERA_CARDS, trace, updater=with_cards_and_graph):
        if one.request.role == "verify":
            request = made.request(states[one.round - 1], candidates[one.round])
            found.append(dataclasses.replace(one, request=request))
        else:
            found.append(one)
    return tuple(found)


def mera_selector(session: ModelSession, templates: Mapping[str, str] | None = None) -> Recipe:
    """MERA with the shipped selector as its planner, over the models of a session.

    Raises:
        SettingsError: no endpoint is set for a role, or its window is too small.
        UsageError: the shipped weights do not fit this version of the package.
    """
    proposer = SelectorProposer(policy=shipped_policy(), space="facts")
    return dataclasses.replace(
        mera(MERA_SELECTOR, session), proposer=proposer, packager=WeighedFacts()
    )


def mera_selector_rebuilt(trace: Trace, templates: Mapping[str, str]) -> tuple[Rebuilt, ...]:
    """Every prompt of a trace of it: those of MERA but for the planner's."""
    made = mera_recipe.rebuilt(MERA_SELECTOR, trace)
    return tuple(one for one in made if one.request.role != "plan")


def _gap_planner(config: QemConfig) -> GapPlanner:
    return GapPlanner(
        first=SetProposer(lists=Lists(spaces=config.spaces, lead=config.lead)),
        model=SILENT,
        state_tokens=min(STATE_TOKENS, config.card_tokens),
        reply_tokens=config.reply_tokens,
    )


def gap_plan(session: ModelSession, templates: Mapping[str, str] | None = None) -> Recipe:
    """E2 over the models of a session.

    Raises:
        SettingsError: no endpoint is set for a role, or its window is too small.
    """
    base = qemem(GAP_PLAN, session, templates)
    config = qemem_recipe.fitted(GAP_PLAN, int(dict(base.versions)["window"]))
    planner = dataclasses.replace(_gap_planner(config), model=session.model("plan"))
    return dataclasses.replace(base, proposer=planner, stop=QemStop(own_queries=False))


def gap_plan_rebuilt(trace: Trace, templates: Mapping[str, str]) -> tuple[Rebuilt, ...]:
    """Every prompt of a trace of E2."""
    config = qemem_recipe.fitted(GAP_PLAN, int(trace.versions.get("window", "0")))
    planner = _gap_planner(config)
    states = list(replay(with_cards, trace))
    own = [
        Rebuilt(round=done.n, request=planner.request(state))
        for state, done in zip(states, trace.rounds, strict=False)
        if state.round
    ]
    others = qemem_recipe.rebuilt(GAP_PLAN, trace, templates)
    order = {"plan": 0, "verify": 1, "answer": 2}
    return tuple(
        sorted((*others, *own), key=lambda one: (one.round, order.get(one.request.role, 3)))
    )
