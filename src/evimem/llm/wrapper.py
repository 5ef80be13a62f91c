"""What wrappers of a chat model have in common: they are the model they wrap, but for `chat`."""

from __future__ import annotations

from evimem.ports import ChatModel

__all__ = ["Wrapped"]


class Wrapped:
    """Passes on who the wrapped model is."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    @property
    def model_id(self) -> str:
        """The wrapped model's."""
        return self._model.model_id

    @property
    def window(self) -> int:
        """The wrapped model's."""
        return self._model.window
