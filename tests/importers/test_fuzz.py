"""No JSON, however odd, ends in anything but events or a clear error."""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path
from typing import Any

import pytest

from evimem.errors import UsageError

ODD: list[Any] = [
    None,
    True,
    0,
    -1,
    1.5,
    1e300,
    "",
    "x",
    "\ud800",
    [],
    {},
    [None],
    [[]],
    {"": None},
    {"type": []},
]
NAMES = (
    "chatgpt_conversations.json",
    "claude_conversations.json",
    "discord_export.json",
    "langchain_messages_to_dict.json",
    "langchain_dumpd.json",
    "langgraph_thread_state.json",
    "locomo_mini.json",
    "longmemeval_mini.json",
    "mem0_get_all.json",
    "openai_messages.json",
    "sharegpt.json",
    "telegram_result.json",
)


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) in a document."""
    found: list[tuple[Any, Any]] = []
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, inner in items:
        found.append((value, key))
        found.extend(places(inner))
    return found


@pytest.mark.parametrize("name", NAMES)
def test_documents_with_odd_values_give_events_or_a_usage_error(
    samples: Path, read: Any, name: str
) -> None:
    whole = json.loads((samples / name).read_text(encoding="utf-8"))
    formats = read(samples / name).formats
    luck = random.Random(name)
    failed = 0
    for _ in range(150):
        value = copy.deepcopy(whole)
        for _ in range(luck.choice((1, 1, 2, 5))):
            holder, key = luck.choice(places(value) or [([0], 0)])
            if luck.random() < 0.2 and isinstance(holder, dict):
                del holder[key]
            else:
                holder[key] = luck.choice(ODD)
        try:
            failed += bool(read(value, format=formats[0]).failed)
        except UsageError:
            failed += 1
    assert failed  # the changes did reach the reader


@pytest.mark.parametrize(
    "name", [*NAMES, "generic.csv", "whatsapp_android_en_GB.txt", "mem0_plugin_export.md"]
)
def test_files_with_flipped_bytes_give_events_or_a_usage_error(
    samples: Path, read: Any, name: str
) -> None:
    whole = (samples / name).read_bytes()
    luck = random.Random(name)
    for _ in range(60):
        raw = bytearray(whole)
        for _ in range(luck.choice((1, 3, 20))):
            raw[luck.randrange(len(raw))] = luck.randrange(256)
        try:
            read(bytes(raw), name=name)
        except UsageError:
            continue
