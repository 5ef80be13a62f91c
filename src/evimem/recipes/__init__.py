"""Recipes: named compositions of the parts in `query`, and nothing else."""

from collections.abc import Callable, Mapping

from evimem.query.parts import Recipe
from evimem.recipes.lite import lite

__all__ = ["RECIPES"]

RECIPES: Mapping[str, Callable[[], Recipe]] = {"lite": lite}
"""Every recipe by name, as a function that makes it."""
