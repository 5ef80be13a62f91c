"""NEMORI as a recipe: the baseline whose memory QEMem reads, over the very same store (QEM-4).

Question only; ten episodes and twenty facts by vectors; the two best episodes with their messages;
one call. Its construction is `build episodes`, which `qemem` shares.
"""

from __future__ import annotations

from collections.abc import Mapping

from evimem.ports import ModelSession
from evimem.query.loop import replay
from evimem.query.nemori.answerer import EpisodeAnswerer, EpisodePrompt
from evimem.query.parts import Recipe
from evimem.query.qemem.fusion import Budgets
from evimem.query.qemem.null import NullAssessor, OneRound
from evimem.query.qemem.planner import Lists, QuestionOpener, SetProposer
from evimem.query.qemem.pool import PoolPackager
from evimem.query.qemem.state import with_cards
from evimem.recipes.rebuilt import Rebuilt
from evimem.trace import Trace

__all__ = ["NEMORI", "nemori", "rebuilt"]

NEMORI = "nemori"
"""The recipe's name."""
FOUND = Budgets(episode=10, semantic=20, turn=0)
"""Memories of the answer prompt."""
TOKENS = 8000
"""Ceiling of them, and again of the messages."""
REPLY_TOKENS = 200
"""Ceiling of the reply."""
FIXED_TOKENS = 700
"""Tokens of the prompt beside, and of the reply."""


def _prompt(window: int) -> EpisodePrompt:
    tokens = min(TOKENS, max(200, (window - FIXED_TOKENS) // 2)) if window else TOKENS
    return EpisodePrompt(tokens=tokens, reply_tokens=REPLY_TOKENS)


def nemori(session: ModelSession, templates: Mapping[str, str] | None = None) -> Recipe:
    """The recipe over the models of a session.

    Raises:
        SettingsError: no endpoint is set for the role `answer`.
    """
    model = session.model("answer")
    return Recipe(
        name=NEMORI,
        opener=QuestionOpener(),
        proposer=SetProposer(lists=Lists(spaces=("episode", "semantic"), rankers=("dense",))),
        packager=PoolPackager(narrow=FOUND, wide=FOUND, mu=0.0, around=0),
        assessor=NullAssessor(),
        updater=with_cards,
        stop=OneRound(),
        answerer=EpisodeAnswerer(model=model, prompt=_prompt(model.window)),
        max_rounds=1,
        versions=(("window", str(model.window)),),
        builds=("episodes",),
    )


def rebuilt(trace: Trace, templates: Mapping[str, str]) -> tuple[Rebuilt, ...]:
    """The one prompt of a trace."""
    state = list(replay(with_cards, trace))[-1]
    prompt = _prompt(int(trace.versions.get("window", "0")))
    request = prompt.request(state, trace.context)
    return (Rebuilt(round=len(trace.rounds) + 1, request=request),)
