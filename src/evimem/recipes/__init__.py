"""Recipes: named compositions of the parts in `query`, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from evimem.ports import ModelSession
from evimem.query.parts import Recipe
from evimem.recipes.lite import lite
from evimem.recipes.mera import MERA_RECIPES, Rebuilt, mera, rebuilt
from evimem.trace import Trace

__all__ = ["MODEL_RECIPES", "REBUILT", "RECIPES"]

RECIPES: Mapping[str, Callable[[], Recipe]] = {"lite": lite}
"""Recipes that need no model, by name, as functions that make them."""

MODEL_RECIPES: Mapping[str, Callable[[ModelSession], Recipe]] = {
    name: partial(mera, config) for name, config in MERA_RECIPES.items()
}
"""Recipes that call models, by name, as functions of the session whose models they call. They
search the facts that `build facts` makes."""

REBUILT: Mapping[str, Callable[[Trace], tuple[Rebuilt, ...]]] = {
    name: partial(rebuilt, config) for name, config in MERA_RECIPES.items()
}
"""Every prompt of a stored trace of these recipes, made again without any call."""
