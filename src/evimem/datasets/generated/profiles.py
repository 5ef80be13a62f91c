"""Sizes of generated data sets: MERA's table 3, Uni-Mem's table 5, and a small one for tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from evimem.errors import UsageError

__all__ = ["PROFILES", "HistoryPlan", "Profile", "plans", "profile_named"]

Format = Literal["locomo", "longmemeval"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryPlan:
    """How large one conversation is."""

    sessions: int
    """Sittings."""
    turns: int
    """Turns over all sessions."""
    days: int
    """From the first to about the last session."""
    questions: Mapping[str, int]
    """Questions by category."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A data set to generate."""

    name: str
    """Name, such as "mera-locomo"."""
    format: Format
    """Whose form the conversations and questions have."""
    histories: int
    """Conversations."""
    questions: int
    """Questions over all conversations."""
    shares: Mapping[str, float]
    """Category -> its share of the questions, as measured in the benchmark."""
    sessions: tuple[int, int] = (19, 32)
    """Fewest and most sessions."""
    turns: tuple[int, int] = (369, 689)
    """Fewest and most turns of a conversation."""
    days: tuple[int, int] = (150, 250)
    """Shortest and longest conversation."""
    fixed: tuple[HistoryPlan, ...] = ()
    """Conversations given one by one; the ranges above are not used then."""


_LOCOMO_SHARES = {
    "multi-hop": 282 / 1986,
    "temporal": 321 / 1986,
    "open-domain": 96 / 1986,
    "single-hop": 841 / 1986,
    "adversarial": 446 / 1986,
}
_LME_SHARES = {
    "multi-session": 133 / 500,
    "temporal-reasoning": 133 / 500,
    "knowledge-update": 78 / 500,
    "single-session-user": 70 / 500,
    "single-session-assistant": 56 / 500,
    "single-session-preference": 30 / 500,
}
_LME_SESSIONS, _LME_TURNS = (28, 44), (280, 440)


def _task(sessions: int, turns: int, days: int, counts: tuple[int, int, int, int]) -> HistoryPlan:
    names = ("single-hop", "multi-hop", "temporal", "open-domain")
    return HistoryPlan(
        sessions=sessions,
        turns=turns,
        days=days,
        questions=dict(zip(names, counts, strict=True)),
    )


_UNI_TASKS = (
    _task(10, 162, 90, (66, 21, 16, 11)),
    _task(20, 371, 150, (68, 23, 25, 12)),
    _task(35, 703, 220, (57, 13, 34, 12)),
    _task(52, 1054, 330, (198, 74, 113, 30)),
)

PROFILES: Mapping[str, Profile] = MappingProxyType(
    {
        one.name: one
        for one in (
            Profile(
                name="mera-locomo",
                format="locomo",
                histories=170,
                questions=24_787,
                shares=_LOCOMO_SHARES,
            ),
            Profile(
                name="mera-longmemeval",
                format="longmemeval",
                histories=277,
                questions=11_017,
                shares=_LME_SHARES,
                sessions=_LME_SESSIONS,
                turns=_LME_TURNS,
                days=(60, 150),
            ),
            Profile(
                name="uni-sft",
                format="locomo",
                histories=4,
                questions=773,
                shares={},
                fixed=_UNI_TASKS,
            ),
            Profile(
                name="tiny",
                format="locomo",
                histories=2,
                questions=60,
                shares=_LOCOMO_SHARES,
                sessions=(6, 7),
                turns=(90, 110),
                days=(40, 60),
            ),
            Profile(
                name="tiny-longmemeval",
                format="longmemeval",
                histories=2,
                questions=24,
                shares=_LME_SHARES,
                sessions=(10, 12),
                turns=(90, 110),
                days=(40, 60),
            ),
        )
    }
)
"""Profiles by name."""


def profile_named(name: str) -> Profile:
    """The profile of a name.

    Raises:
        UsageError: there is none of that name.
    """
    try:
        return PROFILES[name]
    except KeyError:
        known = ", ".join(PROFILES)
        raise UsageError(f"no profile {name!r} of generated data; there are {known}") from None


def plans(profile: Profile, sizes: tuple[tuple[float, float, float], ...]) -> list[HistoryPlan]:
    """The size of every conversation of a profile.

    Args:
        profile: the profile.
        sizes: per conversation three numbers from 0 to 1: where in their ranges the number of
            sessions and turns, and the length in days, lie.
    """
    if profile.fixed:
        return list(profile.fixed)
    made = []
    asked = 0
    for number, (large, dense, long) in enumerate(sizes, start=1):
        until = profile.questions * number // len(sizes)
        made.append(
            HistoryPlan(
                sessions=_within(profile.sessions, large),
                # conversations with more sessions have more turns, not exactly in proportion
                turns=_within(profile.turns, 0.8 * large + 0.2 * dense),
                days=_within(profile.days, long),
                questions=_counts(profile.shares, until - asked),
            )
        )
        asked = until
    return made


def _within(bounds: tuple[int, int], share: float) -> int:
    return bounds[0] + round(share * (bounds[1] - bounds[0]))


def _counts(shares: Mapping[str, float], total: int) -> dict[str, int]:
    """Whole numbers in the proportion of the shares that sum to `total` (largest remainder)."""
    whole = {name: int(share * total) for name, share in shares.items()}
    order = sorted(shares, key=lambda name: whole[name] - shares[name] * total)
    for name in order[: total - sum(whole.values())]:
        whole[name] += 1
    return whole
