"""When two statements are the same but for case, spacing and punctuation."""

from __future__ import annotations

import unicodedata

__all__ = ["folded"]

_PUNCTUATION = ".,;:!?…\"'“”„‘’«»()[]。、，；：！？「」『』।"
"""What may stand before or after a word and changes nothing of what is said. Signs within a word
stay, and so do all others: "C++" is not "C#", and 3.5 is not 35."""


def folded(text: str) -> str:
    """A statement without case, punctuation around words and spacing: equal ones say the same."""
    words = unicodedata.normalize("NFC", text.casefold()).split()
    bare = (word.strip(_PUNCTUATION) for word in words)
    return " ".join(word for word in bare if word)
