"""A prompt as a versioned resource: its rules, its text, and the name that goes on every trace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from evimem.model.ids import content_hash

__all__ = ["Prompt", "compose"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """The fixed part of a prompt. What varies (question, turn, state) goes into a user message."""

    name: str
    """Name, as in "mera.plan"."""
    version: int
    """Grows with every change of the wording."""
    system: str
    """The system message."""
    rules: Mapping[str, str]
    """Requirement id or short rule name -> the sentence of `system` that carries it, verbatim; a
    test asserts that each sentence stands in `system`, so no rule is lost."""

    @property
    def tag(self) -> str:
        """Name, version and hash of the wording, as in "mera.plan@1#0f3a9c21"."""
        return f"{self.name}@{self.version}#{content_hash(self.system)[:8]}"


def compose(name: str, version: int, *, task: str, rules: Mapping[str, str]) -> Prompt:
    """A prompt whose system message is the task and its rules, one a line, in order."""
    lines = "\n".join(f"- {sentence}" for sentence in rules.values())
    system = f"{task}\n\nRules:\n{lines}"
    return Prompt(name=name, version=version, system=system, rules=dict(rules))
