"""Judge profiles as data: a wording per kind of question, a parser, a hash (BEN-7).

The files are under `profiles/`, in our own words; each carries every rule of the published judge
that it stands for. Whoever has a published prompt may put it in place of ours from a file, see
`query.templates`: `judge.mem0.txt`, `judge.longmemeval.temporal.txt`, `judge.nemori.system.txt`.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

from evimem.errors import UsageError
from evimem.eval.judges.parsers import PARSERS
from evimem.eval.judges.reference import Reference
from evimem.model.chat import ChatMessage, ChatRequest
from evimem.model.ids import content_hash
from evimem.query.templates import filled

__all__ = ["Profile", "Wording", "load_profile", "profile_names"]

_NO_TEMPLATES: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """What a judge is told of one kind of question."""

    text: str
    """The message, with the places {question}, {answer} (the reference) and {response}."""
    rules: Mapping[str, str] = field(default_factory=dict)
    """Rule name -> the sentence of `text` that carries it; empty where a file replaced ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """One way of judging."""

    name: str
    """Its name, such as "mem0"."""
    version: int
    """Grows with every change of the wording."""
    about: str
    """What it is, in a line."""
    parser: str
    """How replies are read: a key of `PARSERS`."""
    max_tokens: int
    """Ceiling of a reply."""
    wordings: Mapping[str, Wording]
    """Kind -> wording; "base" and "abstention" are always there."""
    kinds: Mapping[str, str] = field(default_factory=dict)
    """Category of a question -> kind; other categories have "base"."""
    system: str = ""
    """System message; empty: none."""
    replaced: tuple[str, ...] = ()
    """Prompts that came from files."""

    @property
    def tag(self) -> str:
        """Name, version and hash of everything that changes a judgement."""
        texts = {kind: one.text for kind, one in self.wordings.items()}
        whole = [self.system, texts, dict(self.kinds), self.parser, self.max_tokens]
        digest = content_hash(json.dumps(whole, ensure_ascii=True, sort_keys=True))[:8]
        version = "file" if self.replaced else str(self.version)
        return f"judge.{self.name}@{version}#{digest}"

    def kind_of(self, reference: Reference) -> str:
        """Which wording a question gets: by its type, but "abstention" wherever the right answer is
        that memory does not hold it."""
        if not reference.answerable:
            return "abstention"
        return self.kinds.get(reference.category, "base")

    def request(self, question: str, reference: Reference, answer: str) -> ChatRequest:
        """The call that judges one answer. It names no system.

        Args:
            question: the question's words.
            reference: the right answer.
            answer: the answer to be marked.
        """
        wording = self.wordings[self.kind_of(reference)]
        places = {"question": question, "answer": reference.answer, "response": answer}
        user = ChatMessage(role="user", text=filled(wording.text, places))
        system = (ChatMessage(role="system", text=self.system),) if self.system else ()
        return ChatRequest(
            messages=(*system, user),
            role="judge",
            phase="judge",
            prompt=self.tag,
            max_tokens=self.max_tokens,
        )

    def read(self, reply: str) -> bool | None:
        """What a reply says; None if it has no label that can be read."""
        return PARSERS[self.parser](reply)


def profile_names() -> tuple[str, ...]:
    """The profiles at hand."""
    folder = resources.files("evimem.eval.judges") / "profiles"
    names = (one.name for one in folder.iterdir())
    return tuple(sorted(one.removesuffix(".toml") for one in names if one.endswith(".toml")))


def load_profile(name: str, *, templates: Mapping[str, str] = _NO_TEMPLATES) -> Profile:
    """A profile by name.

    Args:
        name: one of `profile_names`.
        templates: prompts from files that take the place of ours, by name
            (`query.templates.read_templates`); others are passed over.

    Raises:
        UsageError: there is no such profile.
    """
    data = _data(name)
    base = {**_data(data["wording"]), **data} if "wording" in data else data
    wordings = {kind: _wording(one) for kind, one in base["templates"].items()}
    replaced: list[str] = []
    for kind in wordings:
        key = f"judge.{name}" if kind == "base" else f"judge.{name}.{kind}"
        if key in templates:
            wordings[kind] = Wording(text=templates[key])
            replaced.append(key)
    system = base.get("system", "")
    if f"judge.{name}.system" in templates:
        system = templates[f"judge.{name}.system"]
        replaced.append(f"judge.{name}.system")
    return Profile(
        name=name,
        version=base["version"],
        about=base["about"],
        parser=base["parser"],
        max_tokens=base["max_tokens"],
        wordings=wordings,
        kinds=base.get("kinds", {}),
        system=system,
        replaced=tuple(replaced),
    )


def _data(name: str) -> dict[str, Any]:
    if name not in profile_names():
        raise UsageError(f"no judge profile {name!r}; there are {', '.join(profile_names())}")
    entry = resources.files("evimem.eval.judges") / "profiles" / f"{name}.toml"
    return tomllib.loads(entry.read_text(encoding="utf-8"))


def _wording(data: Mapping[str, Any]) -> Wording:
    rules: Mapping[str, str] = data["rules"]
    lines = "\n".join(f"- {sentence}" for sentence in rules.values())
    return Wording(text=f"{data['task']}\n\nRules:\n{lines}\n\n{data['layout']}", rules=rules)
