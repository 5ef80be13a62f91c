"""The selector as a proposer: every option is searched, the policy chooses which ones count.

The question itself always counts, and so do examples of the kinds that it names, as in `lite`; a
bad choice can displace their hits and never lose them. The searches chosen are handed on as carried
out already, since what they brought decided the choice; options not chosen are named in the plan.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from evimem.model.evidence import EvidenceState, Plan
from evimem.model.item import Item
from evimem.model.turn import Turn
from evimem.query.lite.packager import entry_id
from evimem.query.parts import BankView, Proposed
from evimem.query.question import analyse
from evimem.query.selector.features import TOP, Tried, Where, feature_rows
from evimem.query.selector.options import Option, OptionKind, Space, options
from evimem.query.selector.policy import Choice, SelectorPolicy
from evimem.query.selector.tensors import FloatArray
from evimem.trace import SearchStep

__all__ = ["BASE", "DEPTH", "MOST", "Looked", "SelectorProposer", "chosen", "look"]

DEPTH = 150
"""Hits per search of turns, as in `lite`."""
MOST = 4
"""Queries that are chosen in one round at most."""
BASE: tuple[OptionKind, ...] = ("question", "examples")
"""Kinds that always count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """The options of a state, searched."""

    base: tuple[SearchStep, ...]
    """What always counts, the question itself first."""
    steps: tuple[SearchStep, ...]
    """One per option."""
    options: tuple[Option, ...]
    """The options that a choice is made among."""
    rows: FloatArray
    """Their features, shape (options, F)."""


def look(
    state: EvidenceState,
    view: BankView,
    *,
    space: Space = "turns",
    k: int = DEPTH,
    base: Collection[OptionKind] = BASE,
) -> Looked:
    """Searches every option of a state.

    Args:
        state: what is known.
        view: the bank.
        space: what is searched.
        k: hits per search.
        base: kinds that always count; the question does in any case.
    """
    made = options(state, view)
    requests = [one.request(k=k, seen=state.viewed, space=space) for one in made]
    tried = [
        Tried(option=one, hits=view.search(request))
        for one, request in zip(made, requests, strict=True)
    ]
    analysis = analyse(state.question.text, speakers=view.speakers)
    top = (hit.item_id for one in tried for hit in one.hits[:TOP])
    rows = feature_rows(tried, state, analysis, _where(view, (*top, *state.viewed)))
    steps = [
        SearchStep(request=request, why=_why(one.option), hits=one.hits)
        for one, request in zip(tried, requests, strict=True)
    ]
    always = [n for n, one in enumerate(made) if n == 0 or one.kind in base]
    open_ = [n for n in range(len(made)) if n not in always]
    return Looked(
        base=tuple(steps[n] for n in always),
        steps=tuple(steps[n] for n in open_),
        options=tuple(made[n] for n in open_),
        rows=rows[open_],
    )


def _why(option: Option) -> str:
    return "the question itself" if option.kind == "question" else f"by its {option.kind}"


def _where(view: BankView, ids: Iterable[str]) -> Mapping[str, Where]:
    return {entry_id(one): _place(one) for one in view.get(tuple(dict.fromkeys(ids)))}


def _place(entry: Turn | Item) -> Where:
    index = entry.index if isinstance(entry, Turn) else 0
    return Where(session_id=entry.session_id, index=index, speaker=entry.speaker)


def chosen(looked: Looked, choice: Choice) -> Proposed:
    """What a choice proposes: what always counts, then the chosen options, in order.

    Args:
        looked: the options with their hits.
        choice: numbers of `looked.options`.
    """
    steps = (*looked.base, *(looked.steps[one] for one in choice.picked))
    left = (n for n in range(len(looked.options)) if n not in choice.picked)
    plan = Plan(
        queries=tuple(step.request.text for step in steps),
        dropped=tuple(f"not chosen: {looked.options[n].kind}" for n in left),
    )
    return Proposed(plan=plan, done=steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectorProposer:
    """Chooses the likeliest queries by a policy."""

    policy: SelectorPolicy
    """The policy."""
    space: Space = "turns"
    """What is searched."""
    k: int = DEPTH
    """Hits per search."""
    most: int = MOST
    """Queries that are chosen in one round at most."""
    base: tuple[OptionKind, ...] = BASE
    """Kinds that always count."""

    def propose(self, state: EvidenceState, view: BankView) -> Proposed:
        """What always counts and the options chosen, with their hits."""
        looked = look(state, view, space=self.space, k=self.k, base=self.base)
        choice = self.policy.greedy(self.policy.scores(looked.rows), most=self.most)
        return chosen(looked, choice)
