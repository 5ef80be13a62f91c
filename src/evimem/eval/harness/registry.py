"""Every system that a benchmark can run, by name."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

from evimem.errors import UsageError
from evimem.eval.baselines.a_mem import AMem
from evimem.eval.baselines.full_text import FullText
from evimem.eval.baselines.graph_reader import GraphReader
from evimem.eval.baselines.ircot import IrCot
from evimem.eval.baselines.lang_mem import LangMem
from evimem.eval.baselines.light_mem import LightMem
from evimem.eval.baselines.mem0 import Mem0
from evimem.eval.baselines.mem1 import Mem1
from evimem.eval.baselines.mem_agent import MemAgent
from evimem.eval.baselines.mem_gas import MemGas
from evimem.eval.baselines.mem_r3 import MemR3
from evimem.eval.baselines.mem_t import MemT
from evimem.eval.baselines.memory_os import MEMORY_OS, MEMORY_OS_LOCOMO
from evimem.eval.baselines.memory_r import MemoryR1, MemoryR2
from evimem.eval.baselines.naive_rag import NAIVE_RAG, NAIVE_RAG_TURNS, NaiveRag
from evimem.eval.baselines.nemori import Nemori
from evimem.eval.baselines.nemori_store import model_episodes
from evimem.eval.baselines.simple_mem import SimpleMem
from evimem.eval.harness.recipe_system import RecipeSystem
from evimem.eval.harness.search_system import SearchSystem
from evimem.eval.harness.stores import (
    Store,
    lite_episodes,
    lite_facts,
    lite_records,
    model_facts,
    model_records,
    turns_only,
)
from evimem.eval.harness.system import System
from evimem.ports import ModelSession
from evimem.query.parts import Recipe
from evimem.recipes import MODEL_RECIPES, RECIPES
from evimem.recipes.mera import MERA_RECIPES, MeraConfig, mera
from evimem.recipes.qemem import QEM_RECIPES

__all__ = [
    "ON_TURNS",
    "OURS",
    "at_depth",
    "limited",
    "mera_system",
    "system_names",
    "systems_named",
]


def _of(name: str) -> Callable[[ModelSession], Recipe]:
    if name in RECIPES:
        return lambda session: RECIPES[name]()
    return lambda session: MODEL_RECIPES[name](session, {})


def _recipe(
    name: str, store: Store, store_name: str, *, retriever: str, as_name: str = ""
) -> RecipeSystem:
    return RecipeSystem(
        name=as_name or name,
        recipe=_of(name),
        store=store,
        store_name=store_name,
        retriever=retriever,
    )


ON_TURNS = "-on-turns"
"""Ends the name of a system that has turns in place of facts by the model."""


def mera_system(config: MeraConfig, *, on_turns: bool) -> RecipeSystem:
    """A recipe of MERA over facts by the model, or over turns as facts; named like its config where
    that is none of the registered ones.

    Args:
        config: the recipe.
        on_turns: build no facts; every turn is one, in its own words.
    """
    plain = config.name in MERA_RECIPES and on_turns
    return RecipeSystem(
        name=config.name + ON_TURNS if plain else config.name,
        recipe=lambda session: mera(config, session),
        store=lite_facts if on_turns else model_facts,
        store_name="turns as facts" if on_turns else "facts by the model",
        retriever=config.ranker,
    )


def _qemem(name: str) -> tuple[RecipeSystem, RecipeSystem]:
    """A recipe of QEMem over episodes by the model, and over those by rules."""
    return (
        _recipe(name, model_episodes, "episodes by the model", retriever=_FUSED),
        _recipe(
            name, lite_episodes, "episodes by rules", retriever=_FUSED, as_name=f"{name}-on-lite"
        ),
    )


_FUSED = "dense and bm25, RRF"

OURS: tuple[System, ...] = (
    SearchSystem(name="search"),
    SearchSystem(name="search-bm25", ranker="bm25"),
    SearchSystem(name="search-dense", ranker="dense"),
    SearchSystem(
        name="search-facts",
        ranker="mmr",
        kind="fact",
        store=lite_facts,
        store_name="turns as facts",
    ),
    SearchSystem(
        name="search-records",
        ranker="dense",
        kind="record",
        store=lite_records,
        store_name="records by rules",
    ),
    _recipe("lite", turns_only, "turns", retriever="fusion"),
    *(
        mera_system(config, on_turns=on_turns)
        for config in MERA_RECIPES.values()
        for on_turns in (False, True)
    ),
    *(one for name in QEM_RECIPES for one in _qemem(name)),
    _recipe("unimem", model_records("text"), "records by the model", retriever="dense"),
    _recipe(
        "unimem", lite_records, "records by rules", retriever="dense", as_name="unimem-on-lite"
    ),
)
"""Our index with one search, and our recipes."""

_SYSTEMS: tuple[System, ...] = (
    FullText(),
    NAIVE_RAG,
    NAIVE_RAG_TURNS,
    IrCot(),
    GraphReader(),
    MemR3(),
    MemAgent(),
    Mem1(),
    AMem(),
    Mem0(),
    LangMem(),
    MEMORY_OS_LOCOMO,
    MEMORY_OS,
    LightMem(),
    SimpleMem(),
    MemGas(),
    Nemori(),
    MemoryR1(),
    MemoryR2(),
    MemT(),
    *OURS,
)
_ALL: Mapping[str, System] = {one.name: one for one in _SYSTEMS}


def system_names() -> tuple[str, ...]:
    """Names of all systems, baselines first."""
    return tuple(_ALL)


def systems_named(names: tuple[str, ...]) -> tuple[System, ...]:
    """The systems of these names, in this order; all of them where none is named.

    Raises:
        UsageError: a name is unknown or comes twice.
    """
    if not names:
        return _SYSTEMS
    for name in names:
        if name not in _ALL:
            raise UsageError(f"there is no system {name!r}; there are {', '.join(_ALL)}")
    if len(set(names)) != len(names):
        raise UsageError(f"a system is named twice in {', '.join(names)}")
    return tuple(_ALL[name] for name in names)


def limited(system: System, rounds: int | None) -> System:
    """The system with a lower ceiling of rounds, where it has one; its `params` say so."""
    if rounds is None:
        return system
    if isinstance(system, RecipeSystem):
        return dataclasses.replace(system, max_rounds=rounds)
    if isinstance(system, IrCot):
        return dataclasses.replace(system, max_sentences=min(rounds, system.max_sentences))
    return system


def at_depth(system: System, k: int) -> System:
    """The system with k hits, where one search over turns is all that it does; for rows of
    retrieval alone, where no prompt has to hold them."""
    if isinstance(system, SearchSystem):
        return dataclasses.replace(system, k=k)
    if isinstance(system, NaiveRag) and system.chunk_tokens is None:
        return dataclasses.replace(system, k=k)
    return system
