"""Secrets kept out of the store: applied to every value on its way in.

Ids are made before this, from the source's own ids and words, so that the same message has the
same id whether or not secrets are redacted, and importing it again changes nothing. Ids given by
the caller are never changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from evimem.engine.secret_words import is_secret_name
from evimem.engine.secrets import find_secrets, redact
from evimem.model.item import Item
from evimem.model.turn import Session, Turn

__all__ = ["SecretGuard", "SecretsMode", "hold_secrets"]

SecretsMode = Literal["redact", "warn", "keep"]
"""redact: markers are stored; warn: the words are stored and the receipt counts the secrets;
keep: nobody looks."""

_MARKER = "[REDACTED:"


class SecretGuard:
    """Looks at the values of one call."""

    def __init__(self, mode: SecretsMode) -> None:
        self.mode: SecretsMode = mode
        """What to do with what is found."""
        self.found: Counter[str] = Counter()
        """How many secrets of which kind were found so far."""
        self._names: dict[str, str] = {}

    def text(self, text: str) -> str:
        """The text as it may be stored."""
        if self.mode == "keep":
            return text
        if self.mode == "warn":
            self.found.update(secret.kind for secret in find_secrets(text))
            return text
        cleaned, kinds = redact(text)
        self.found.update(kinds)
        return cleaned

    def value(self, value: Turn | Item) -> Turn | Item:
        """The turn or item as it may be stored."""
        return self.turn(value) if isinstance(value, Turn) else self.item(value)

    def turn(self, turn: Turn) -> Turn:
        """The turn as it may be stored: words, caption, speaker and attributes."""
        if self.mode == "keep":
            return turn
        text, speaker = self.text(turn.text), self._name(turn.speaker)
        caption = self.text(turn.caption) if turn.caption else ""
        attrs = self._json(turn.attrs) if turn.attrs else turn.attrs
        before = (turn.text, turn.speaker, turn.caption, turn.attrs)
        if (text, speaker, caption, attrs) == before:
            return turn
        return replace(turn, text=text, speaker=speaker, caption=caption, attrs=attrs)

    def item(self, item: Item) -> Item:
        """The item as it may be stored: words, speaker and attributes."""
        if self.mode == "keep":
            return item
        text, speaker = self.text(item.text), self._name(item.speaker)
        attrs = self._json(item.attrs) if item.attrs else item.attrs
        if (text, speaker, attrs) == (item.text, item.speaker, item.attrs):
            return item
        return replace(item, text=text, speaker=speaker, attrs=attrs)

    def session(self, session: Session) -> Session:
        """The session as it may be stored: its title."""
        title = self.text(session.title) if session.title else ""
        return session if title == session.title else replace(session, title=title)

    def _name(self, speaker: str) -> str:
        """A speaker's name; each distinct one is looked at once."""
        known = self._names.get(speaker)
        if known is None:
            known = self._names[speaker] = self.text(speaker)
        return known

    def _json(self, value: Any, name: str = "") -> Any:
        """A JSON value with every text in it looked at; a field called "password" is one."""
        if isinstance(value, str):
            if name and value and not value.startswith(_MARKER) and is_secret_name(name):
                self.found["password"] += 1
                return f"{_MARKER}password]" if self.mode == "redact" else value
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.text(key): self._json(entry, key) for key, entry in value.items()}
        if isinstance(value, list | tuple):
            return [self._json(entry, name) for entry in value]
        return value


def hold_secrets(value: Any) -> Counter[str]:
    """The secrets in a text or in any text of a JSON value, counted by kind."""
    guard = SecretGuard("warn")
    guard._json(value)
    return guard.found
