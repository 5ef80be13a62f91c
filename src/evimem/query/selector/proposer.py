"""The selector as a proposer: every option is searched, the policy says how much each counts.

The question itself always counts; a bad choice can displace its hits and never lose them. The
searches chosen are handed on as carried out already, since what they brought decided the choice;
options not chosen are named in the plan.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

from evimem.model.evidence import EvidenceState, Plan
from evimem.query.parts import BankView, Proposed
from evimem.query.question import analyse
from evimem.query.selector.features import Tried, feature_rows
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """The options of a state, searched."""

    question: SearchStep
    """The question itself."""
    steps: tuple[SearchStep, ...]
    """One per option."""
    options: tuple[Option, ...]
    """The options that a choice is made among."""
    rows: FloatArray
    """Their features, shape (options, F)."""


def look(state: EvidenceState, view: BankView, *, space: Space = "turns", k: int = DEPTH) -> Looked:
    """Searches the question and every option of a state.

    Args:
        state: what is known.
        view: the bank.
        space: what is searched.
        k: hits per search.
    """
    made = options(state, view)
    requests = [one.request(k=k, seen=state.viewed, space=space) for one in made]
    tried = [
        Tried(option=one, hits=view.search(request))
        for one, request in zip(made, requests, strict=True)
    ]
    analysis = analyse(state.question.text, speakers=view.speakers)
    rows = feature_rows(tried, state, analysis)
    asked, *steps = [
        SearchStep(request=request, why=_WHY[one.option.kind], hits=one.hits)
        for one, request in zip(tried, requests, strict=True)
    ]
    return Looked(question=asked, steps=tuple(steps), options=made[1:], rows=rows[1:])


def chosen(looked: Looked, choice: Choice) -> Proposed:
    """What a choice proposes: the question, then the chosen options, strongest first.

    Args:
        looked: the options with their hits.
        choice: a level for each of `looked.options`.
    """
    picked = (
        dataclasses.replace(looked.steps[one], weight=STRENGTHS[choice.levels[one]])
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
