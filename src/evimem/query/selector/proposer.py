"""The selector as a proposer: the policy says how much each query counts beside the question.

The question itself is searched first and always counts; a bad choice can displace its hits and
never lose them. Its hits are part of the choice, so the searches are handed on as carried out
already; options that were not chosen are not searched, and are named in the plan.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field

from evimem.model.evidence import EvidenceState, Plan
from evimem.model.search import SearchRequest
from evimem.query.parts import BankView, Proposed
from evimem.query.question import analyse
from evimem.query.selector.features import feature_rows
from evimem.query.selector.options import Option, OptionKind, Space, options
from evimem.query.selector.policy import STRENGTHS, Choice, SelectorPolicy
from evimem.query.selector.tensors import FloatArray
from evimem.trace import SearchStep

__all__ = ["DEPTH", "Looked", "SelectorProposer", "chosen", "look"]

DEPTH = 150
"""Hits per search of turns, as in `lite`."""

_WHY: Mapping[OptionKind, str] = {
    "question": "the question itself",
    "subject": "the question's names and content words",
    "synonyms": "other names of the kinds that it names",
    "examples": "common examples of the kinds that it names",
    "things": "common examples of what is asked for",
    "doings": "common examples of its other words",
    "told": "words by which people tell what happened to them",
    "meaning": "the question, by meaning alone",
    "own": "as whom it is about would say it",
    "unexplained": "words that no evidence explains",
    "focus": "who and what is asked for",
    "part": "one side of the question",
    "speaker": "the question, in what one person said",
    "alike": "the question, moved towards the evidence",
    "sentence": "a sentence of the evidence",
    "name": "a name in the evidence",
    "term": "a word of the evidence",
    "terms": "names and words of the evidence",
}
"""Why an option is searched, as traces say it."""


@dataclass(slots=True, kw_only=True)
class Looked:
    """A state's options, ready to be chosen among. A search is carried out once, when needed."""

    question: SearchStep
    """The question itself, searched."""
    options: tuple[Option, ...]
    """The options that a choice is made among."""
    requests: tuple[SearchRequest, ...]
    """Their searches."""
    rows: FloatArray
    """Their features, shape (options, F)."""
    view: BankView
    """The bank that they search."""
    _steps: dict[int, SearchStep] = field(default_factory=dict)

    def step(self, one: int) -> SearchStep:
        """The search of an option, with its hits.

        Args:
            one: its number.
        """
        found = self._steps.get(one)
        if found is None:
            found = _searched(self.options[one], self.requests[one], self.view)
            self._steps[one] = found
        return found


def _searched(option: Option, request: SearchRequest, view: BankView) -> SearchStep:
    return SearchStep(request=request, why=_WHY[option.kind], hits=view.search(request))


def look(state: EvidenceState, view: BankView, *, space: Space = "turns", k: int = DEPTH) -> Looked:
    """Searches the question of a state and makes its options.

    Args:
        state: what is known.
        view: the bank.
        space: what is searched.
        k: hits per search.
    """
    question, *others = options(state, view)
    asked = _searched(question, question.request(k=k, seen=state.viewed, space=space), view)
    analysis = analyse(state.question.text, speakers=view.speakers)
    return Looked(
        question=asked,
        options=tuple(others),
        requests=tuple(one.request(k=k, seen=state.viewed, space=space) for one in others),
        rows=feature_rows(others, asked.hits, state, analysis),
        view=view,
    )


def chosen(looked: Looked, choice: Choice) -> Proposed:
    """What a choice proposes: the question, then the chosen options, strongest first.

    Args:
        looked: the options.
        choice: a level for each of `looked.options`.
    """
    picked = (
        dataclasses.replace(looked.step(one), weight=STRENGTHS[choice.levels[one]])
        for one in choice.picked
    )
    steps = (looked.question, *picked)
    left = (n for n, level in enumerate(choice.levels) if not level)
    plan = Plan(
        queries=tuple(step.request.text for step in steps),
        dropped=tuple(f"not chosen: {looked.options[n].kind}" for n in left),
    )
    return Proposed(plan=plan, done=steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectorProposer:
    """Weighs queries by a policy, each by its likeliest level."""

    policy: SelectorPolicy
    """The policy."""
    space: Space = "turns"
    """What is searched."""
    k: int = DEPTH
    """Hits per search."""

    def propose(self, state: EvidenceState, view: BankView) -> Proposed:
        """The question and the options that count, with their hits."""
        looked = look(state, view, space=self.space, k=self.k)
        return chosen(looked, self.policy.greedy(self.policy.scores(looked.rows)))
