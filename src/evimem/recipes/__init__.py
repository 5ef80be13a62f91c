"""Recipes: named compositions of the parts in `query`, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from evimem.ports import ModelSession
from evimem.query.parts import Recipe
from evimem.recipes.complements import (
    GAP_PLAN,
    MERA_CARDS,
    MERA_SELECTOR,
    RECORDS,
    gap_plan,
    gap_plan_rebuilt,
    mera_cards,
    mera_cards_rebuilt,
    mera_selector,
    mera_selector_rebuilt,
)
from evimem.recipes.lite import lite
from evimem.recipes.lite_trained import lite_trained
from evimem.recipes.mera import MERA_RECIPES, MeraConfig, mera
from evimem.recipes.mera import rebuilt as mera_rebuilt
from evimem.recipes.nemori import NEMORI, nemori
from evimem.recipes.nemori import rebuilt as nemori_rebuilt
from evimem.recipes.qemem import QEM_RECIPES, QemConfig, qemem
from evimem.recipes.qemem import rebuilt as qemem_rebuilt
from evimem.recipes.rebuilt import Rebuilt
from evimem.recipes.unimem import UNIMEM_RECIPES, UnimemConfig, unimem
from evimem.recipes.unimem import rebuilt as unimem_rebuilt
from evimem.trace import Trace

__all__ = ["MODEL_RECIPES", "REBUILT", "RECIPES", "Rebuilt"]

Templates: TypeAlias = Mapping[str, str]
"""Prompts from files, by the name of the prompt whose place they take."""

RECIPES: Mapping[str, Callable[[], Recipe]] = {"lite": lite, "lite-trained": lite_trained}
"""Recipes that need no model, by name, as functions that make them."""


def _mera(config: MeraConfig) -> Callable[[ModelSession, Templates], Recipe]:
    return lambda session, templates: mera(config, session)


def _qemem(config: QemConfig) -> Callable[[ModelSession, Templates], Recipe]:
    return lambda session, templates: qemem(config, session, templates)


def _mera_again(config: MeraConfig) -> Callable[[Trace, Templates], tuple[Rebuilt, ...]]:
    return lambda trace, templates: mera_rebuilt(config, trace)


def _qemem_again(config: QemConfig) -> Callable[[Trace, Templates], tuple[Rebuilt, ...]]:
    return lambda trace, templates: qemem_rebuilt(config, trace, templates)


def _unimem(config: UnimemConfig) -> Callable[[ModelSession, Templates], Recipe]:
    return lambda session, templates: unimem(config, session, templates)


def _unimem_again(config: UnimemConfig) -> Callable[[Trace, Templates], tuple[Rebuilt, ...]]:
    return lambda trace, templates: unimem_rebuilt(config, trace, templates)


MODEL_RECIPES: Mapping[str, Callable[[ModelSession, Templates], Recipe]] = {
    **{name: _mera(config) for name, config in MERA_RECIPES.items()},
    **{name: _qemem(config) for name, config in QEM_RECIPES.items()},
    RECORDS.name: _qemem(RECORDS),
    MERA_CARDS.name: mera_cards,
    MERA_SELECTOR.name: mera_selector,
    GAP_PLAN.name: gap_plan,
    NEMORI: nemori,
    **{name: _unimem(config) for name, config in UNIMEM_RECIPES.items()},
}
"""Recipes that call models, by name, as functions of the session whose models they call and of
prompts from files. Those of MERA search what `build facts` makes, those of QEMem what `build
episodes` makes, beside the turns, those of Uni-Mem the records that `manage` keeps."""

REBUILT: Mapping[str, Callable[[Trace, Templates], tuple[Rebuilt, ...]]] = {
    **{name: _mera_again(config) for name, config in MERA_RECIPES.items()},
    **{name: _qemem_again(config) for name, config in QEM_RECIPES.items()},
    RECORDS.name: _qemem_again(RECORDS),
    MERA_CARDS.name: mera_cards_rebuilt,
    MERA_SELECTOR.name: mera_selector_rebuilt,
    GAP_PLAN.name: gap_plan_rebuilt,
    NEMORI: nemori_rebuilt,
    **{name: _unimem_again(config) for name, config in UNIMEM_RECIPES.items()},
}
"""Every prompt of a stored trace of these recipes, made again without any call."""
