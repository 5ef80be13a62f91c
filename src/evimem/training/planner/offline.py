"""MERA's loop with no model but the planner's: for states to train on, and to measure a planner.

Everything that the recipe asks of other models is done by rules here: the words of a turn are its
one fact (what extraction falls back to, MERA-10), names and content words of the question are the
seeds of the graph, and the assessor of `lite` is the gate. Prompts, searches, exclusion, packaging
and update of the state are those of the recipe.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from evimem.build.accept import ExtractedFact
from evimem.build.facts import Extraction, items_of
from evimem.model.evidence import (
    Assessment,
    Candidate,
    EvidenceItem,
    EvidenceState,
    Question,
    StopReason,
)
from evimem.model.item import Item
from evimem.model.turn import History
from evimem.query.graph import seed_graph
from evimem.query.lite.assessor import LiteAssessor
from evimem.query.loop import grown
from evimem.query.mera.opener import DatedOpener
from evimem.query.mera.records import ParentTurnFacts, record
from evimem.query.mera.state import with_graph
from evimem.query.parts import BankView, Opened, Proposed, Proposer, Recipe, Updater
from evimem.query.question import analyse
from evimem.recipes.mera import MeraConfig, planner_of
from evimem.recipes.rebuilt import SILENT
from evimem.trace import Round
from evimem.training.execution import Reading, said_by
from evimem.training.planner.rows import heuristic_plan
from evimem.training.searching import Unanswered
from evimem.training.states import PlannerState

__all__ = [
    "Heuristic",
    "RuleGate",
    "RuleOpener",
    "offline_recipe",
    "turn_facts",
    "updater_of",
]

ROUNDS = 3
"""Rounds of a trajectory; deeper states hold little that is still missing."""


def turn_facts(history: History) -> list[Item]:
    """One fact per turn that has words: the words themselves, as where extraction falls back."""
    made: list[Item] = []
    for turn in history.turns:
        text = " ".join(turn.body.split())
        if text:
            told = (ExtractedFact(text=text, flags=("fallback",)),)
            extraction = Extraction(facts=told, status="fallback", attempts=0)
            made += items_of(turn, extraction, model_id="none")
    return made


@dataclass(frozen=True, slots=True)
class RuleOpener:
    """The dated question with a graph of the people and things that it names."""

    def open(self, question: Question, view: BankView) -> Opened:
        """The state before the first round."""
        dated = DatedOpener().open(question, view).state
        said = analyse(question.text, speakers=view.speakers)
        seeds = [*((one, "person") for one in said.speakers), *((o, "concept") for o in said.names)]
        if said.focus:
            seeds.append((" ".join(said.focus), "concept"))
        graph = seed_graph(seeds, question.text).graph
        return Opened(state=dataclasses.replace(dated, graph=graph))


@dataclass(frozen=True, slots=True)
class RuleGate:
    """The assessor of `lite` where a verifier would be: what it accepts is shown as one record."""

    lite: LiteAssessor = field(default_factory=LiteAssessor)
    """Decides."""
    most: int = 3
    """Records accepted in one round at most, the surest first; a model's gate is strict."""

    def assess(
        self, state: EvidenceState, candidates: Sequence[Candidate], view: BankView
    ) -> Assessment:
        """A decision for every candidate, and records of the accepted ones."""
        judged = self.lite.assess(state, candidates, view)
        sure = {one.item_id: one.confidence for one in judged.decisions if one.verdict == "accept"}
        kept = set(sorted(sure, key=lambda name: -sure[name])[: self.most])
        decisions = tuple(
            one
            if one.verdict != "accept" or one.item_id in kept
            else dataclasses.replace(one, verdict="reject", reason="over_ceiling")
            for one in judged.decisions
        )
        chosen = [one for one in judged.evidence if one.item_id in kept]
        facts = view.facts_of([one.item_id for one in chosen])
        evidence = tuple(
            _shown(one, facts.get(one.item_id, ()), handle=f"e{len(state.evidence) + n}")
            for n, one in enumerate(chosen, start=1)
        )
        return dataclasses.replace(
            judged, decisions=decisions, evidence=evidence, sufficient=False, graph=None
        )


def _shown(item: EvidenceItem, facts: Sequence[Item], *, handle: str) -> EvidenceItem:
    """The evidence as a verifier's: a record of the sentence that was accepted."""
    first = facts[0]
    said = first.said_at
    return dataclasses.replace(
        item,
        quote="",
        start=0,
        end=0,
        time=None,
        claim=record([dataclasses.replace(first, text=item.quote)]),
        handle=handle,
        refs=(item.item_id,),
        said_at=said.isoformat() if said is not None else None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Heuristic:
    """A planner whose words are `heuristic_plan`'s, read and carried out as any planner's.

    Args of a trajectory: with `rng` every call keeps one or two of the intents, so that states of
    all stages of a search come up; without it all of them are used.
    """

    config: MeraConfig
    """The recipe."""
    read: Reading
    """The reading of replies."""
    rng: random.Random | None = None
    """Draws how many intents are used."""

    def propose(self, state: EvidenceState, view: BankView) -> Proposed:
        """The next searches."""
        shown = PlannerState(
            question_id="", history_id="", bank="", recipe=self.config.name, state=state, gold=()
        )
        text = heuristic_plan(shown, view)
        planner = said_by(planner_of(self.config, SILENT), text, read=self.read)
        made = planner.propose(state, view)
        if self.rng is None or made.plan is None:
            return made
        kept = sorted(self.rng.sample(range(len(made.searches)), k=self._many(made)))
        plan = dataclasses.replace(made.plan, intents=tuple(made.plan.intents[n] for n in kept))
        searches = tuple(made.searches[n] for n in kept)
        return dataclasses.replace(made, searches=searches, plan=plan)

    def _many(self, made: Proposed) -> int:
        assert self.rng is not None
        return min(len(made.searches), self.rng.choice((1, 1, 2)))


@dataclass(frozen=True, slots=True)
class _Ceiling:
    """Goes on up to the ceiling of rounds, also after a plan that could not be used."""

    def stop(self, rounds: Sequence[Round], state: EvidenceState) -> StopReason | None:
        return None


def offline_recipe(config: MeraConfig, planner: Proposer, *, rounds: int = ROUNDS) -> Recipe:
    """The recipe of a config with rules for every model but the planner's.

    Args:
        config: the recipe.
        planner: the recipe's own planner over a model (`recipes.mera.planner_of`), or any other
            proposer.
        rounds: rounds that are made, whatever they bring: searches of different planners are then
            compared at the same number of rounds.
    """
    return Recipe(
        name=config.name,
        opener=RuleOpener() if config.graph else DatedOpener(),
        proposer=planner,
        packager=ParentTurnFacts(),
        assessor=RuleGate(),
        updater=updater_of(config),
        stop=_Ceiling(),
        answerer=Unanswered(),
        max_rounds=rounds,
        round_tokens=config.round_tokens,
    )


def updater_of(config: MeraConfig) -> Updater:
    """How a round changes the state of a config's searches."""
    return with_graph if config.graph else grown
