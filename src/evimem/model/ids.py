"""Stable ids: the same source message always gets the same id, on every machine.

Importing twice therefore stores nothing twice. Ids never carry text of the message.
"""

from __future__ import annotations

import base64
import hashlib

__all__ = ["content_hash", "stable_id"]

_ID_BYTES = 15  # 120 bits: 24 base32 characters, no padding


def stable_id(prefix: str, *parts: str | int) -> str:
    """An id like ``t_3k5m...`` from ordered parts.

    Parts are length-prefixed before hashing, so ("a", "bc") and ("ab", "c") differ.
    """
    digest = hashlib.blake2b(digest_size=_ID_BYTES)
    for part in parts:
        raw = str(part).encode("utf-8", "surrogatepass")
        digest.update(len(raw).to_bytes(8, "big"))
        digest.update(raw)
    return f"{prefix}_{base64.b32encode(digest.digest()).decode('ascii').lower()}"


def content_hash(text: str) -> str:
    """A short hash of a text, for comparing versions of the same message."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
