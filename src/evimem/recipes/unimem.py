"""Uni-Mem at query time: the manager searches its own records with tools, then one answer.

`unimem` writes calls as text, as the policy is trained to; `unimem-native` uses the provider's own
tool calls. Both search the records that `evimem manage` keeps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from evimem.manager.agent import ModelPolicy
from evimem.manager.environment import Limits
from evimem.manager.loop_parts import (
    RecordAnswerer,
    RecordPackager,
    RecordPrompt,
    ToolAssessor,
    ToolProposer,
    ToolStop,
    event_of,
    with_steps,
)
from evimem.manager.prompts.observe import observe
from evimem.manager.protocol import protocol_of
from evimem.model.search import Ranker
from evimem.ports import ChatModel, ModelSession
from evimem.query.loop import replay
from evimem.query.mera.opener import DatedOpener
from evimem.query.parts import Recipe
from evimem.recipes.rebuilt import Rebuilt, Silent
from evimem.trace import Trace

__all__ = ["UNIMEM_RECIPES", "UnimemConfig", "rebuilt", "unimem"]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnimemConfig:
    """What may differ between the recipes."""

    name: str = "unimem"
    """The recipe's name."""
    protocol: Literal["text", "native"] = "text"
    """How calls are written."""
    limits: Limits = field(default_factory=Limits)
    """Searches and responses of an event (UNI-18, 19)."""
    ranker: Ranker = "dense"
    """How records are ranked; the paper's store ranks by vectors."""
    tokens: int = 8000
    """Ceiling of the records in the answer prompt."""
    reply_tokens: int = 400
    """Ceiling of the answer."""


UNIMEM_RECIPES = {
    config.name: config
    for config in (UnimemConfig(), UnimemConfig(name="unimem-native", protocol="native"))
}
"""The recipes by name."""


def _policy(config: UnimemConfig, model: ChatModel, templates: Mapping[str, str]) -> ModelPolicy:
    return ModelPolicy(model=model, protocol=protocol_of(config.protocol), templates=templates)


def _prompt(config: UnimemConfig, window: int, templates: Mapping[str, str]) -> RecordPrompt:
    room = max(500, window - 900 - config.reply_tokens) if window else config.tokens
    return RecordPrompt(
        templates=templates,
        tokens=min(config.tokens, room),
        reply_tokens=config.reply_tokens,
    )


def unimem(
    config: UnimemConfig, session: ModelSession, templates: Mapping[str, str] | None = None
) -> Recipe:
    """The recipe of a config over the models of a session.

    Raises:
        SettingsError: no endpoint is set for the role `manage` or `answer`.
    """
    model = session.model("answer")
    manager = session.model("manage")
    policy = _policy(config, manager, templates or {})
    return Recipe(
        name=config.name,
        opener=DatedOpener(),
        proposer=ToolProposer(policy=policy, limits=config.limits, ranker=config.ranker),
        packager=RecordPackager(),
        assessor=ToolAssessor(),
        updater=with_steps,
        stop=ToolStop(),
        answerer=RecordAnswerer(model=model, prompt=_prompt(config, model.window, templates or {})),
        max_rounds=config.limits.responses,
        versions=(("window", str(model.window)), ("manager_window", str(manager.window))),
        builds=("records",),
    )


def rebuilt(
    config: UnimemConfig, trace: Trace, templates: Mapping[str, str] | None = None
) -> tuple[Rebuilt, ...]:
    """Every prompt of a trace, without any call."""
    silent = Silent(window=int(trace.versions.get("manager_window", "0")))
    policy = _policy(config, silent, templates or {})
    states = list(replay(with_steps, trace))
    found = [
        Rebuilt(
            round=done.n,
            request=policy.request(event_of(state), observe(event_of(state)), state.steps),
        )
        for state, done in zip(states, trace.rounds, strict=False)
    ]
    window = int(trace.versions.get("window", "0"))
    answer = _prompt(config, window, templates or {}).request(states[-1])
    return (*found, Rebuilt(round=len(trace.rounds) + 1, request=answer))
