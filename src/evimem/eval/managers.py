"""Managers that a benchmark can run: the one without a model, and any chat model (UNI-63)."""

from __future__ import annotations

from collections.abc import Mapping

from evimem.eval.manager_eval import Manager, Running
from evimem.manager.agent import ModelPolicy
from evimem.manager.lite import LitePolicy
from evimem.manager.prompts.system import system_text
from evimem.manager.protocol import ToolProtocol
from evimem.ports import Models

__all__ = ["lite_manager", "model_manager"]


def lite_manager() -> Manager:
    """The manager without a model."""
    policy = LitePolicy()
    return Manager(name=policy.name, start=lambda: Running(policy=policy))


def model_manager(
    models: Models, protocol: ToolProtocol, *, templates: Mapping[str, str] | None = None
) -> Manager:
    """The model of the role `manage`; each event has a session of its own, and so its own budget.

    Args:
        models: endpoints.
        protocol: how calls are written.
        templates: prompts from files, by name.

    Raises:
        SettingsError: no endpoint is set for the role.
    """
    given = templates or {}
    _, tag = system_text(protocol.told, templates=given)

    def start() -> Running:
        session = models.session()
        policy = ModelPolicy(model=session.model("manage"), protocol=protocol, templates=given)
        return Running(policy=policy, calls=lambda: session.calls)

    model_id = models.session().model("manage").model_id
    return Manager(name=f"{model_id} {tag} {protocol.name}", start=start)
