"""From a profile and a seed to a data set (BEN-6, MERA-52, UNI-51)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import pairwise

from evimem.datasets.base import Dataset, Gold
from evimem.datasets.generated import ask_absent, ask_infer, ask_many, ask_one, ask_when
from evimem.datasets.generated.asking import Asker, Candidate
from evimem.datasets.generated.chat import chat, recalls
from evimem.datasets.generated.choose import SHORT, aligned, choose
from evimem.datasets.generated.draw import Draw
from evimem.datasets.generated.facts import World
from evimem.datasets.generated.lme import lme_candidates
from evimem.datasets.generated.profiles import HistoryPlan, Profile, plans, profile_named
from evimem.datasets.generated.schedule import plan_sessions
from evimem.datasets.generated.talk import Transcript, talk
from evimem.datasets.generated.values import as_gold, as_history
from evimem.datasets.generated.wording import fill, first_person
from evimem.datasets.generated.world import make_world
from evimem.model.evidence import Question
from evimem.model.turn import History

__all__ = ["Generated", "generate", "generate_with_report"]

_FIRST_DAY = date(2022, 1, 10)
_TRIES = 6  # conversations made until one has enough questions of every category
_START_RANGE = 480  # days from the first possible start to the last


@dataclass(frozen=True, slots=True, kw_only=True)
class Generated:
    """A generated data set, and what a report says of it."""

    dataset: Dataset
    """Histories, questions and gold."""
    kinds: Mapping[str, str]
    """Finer type of each question by id, such as "join" or "order"."""
    counts: Mapping[str, int]
    """What was left out while generating: reason -> count."""
    phrases: Mapping[str, int]
    """Time phrases said, by kind."""
    musts: Mapping[str, tuple[str, ...]]
    """Turn id -> values and time phrases that its facts rest on: a paraphrase must keep them."""


def generate(profile: str | Profile, seed: int) -> Dataset:
    """The data set of a profile and a seed, the same on every machine.

    Args:
        profile: a profile, or the name of one (`PROFILES`).
        seed: any whole number; another one gives other conversations.

    Raises:
        UsageError: there is no such profile.
    """
    return generate_with_report(profile, seed).dataset


def generate_with_report(profile: str | Profile, seed: int) -> Generated:
    """Like `generate`, with the finer types of questions and counts of what was left out."""
    found = profile_named(profile) if isinstance(profile, str) else profile
    root = Draw("evimem generated", found.name, seed)
    sizes = tuple(_thirds(root.child("size", number)) for number in range(found.histories))
    histories: dict[str, History] = {}
    questions: list[Question] = []
    golds: dict[str, Gold] = {}
    kinds: dict[str, str] = {}
    counts: Counter[str] = Counter()
    phrases: Counter[str] = Counter()
    musts: dict[str, tuple[str, ...]] = {}
    for number, plan in enumerate(plans(found, sizes)):
        history_id = f"gen-{found.name}-{seed}-{number}"
        one = _complete(found, plan, root.child("history", number))
        history = as_history(history_id, one.transcript, one.times, one.names, found.format)
        histories[history_id] = history
        for candidate, (question, gold) in zip(
            one.chosen, as_gold(history, one.transcript, one.chosen, one.asked_at), strict=True
        ):
            questions.append(question)
            golds[question.question_id] = gold
            kinds[question.question_id] = candidate.kind
        musts.update(one.musts(history))
        counts += one.counts
        phrases += one.phrases
    dataset = Dataset(
        name=found.format,
        histories=histories,
        questions=tuple(questions),
        gold=golds,
        notes=(f"generated: profile {found.name}, seed {seed}; not a benchmark",),
        split=f"generated-{found.name}-{seed}",
    )
    return Generated(
        dataset=dataset, kinds=kinds, counts=dict(+counts), phrases=dict(phrases), musts=musts
    )


def _thirds(draw: Draw) -> tuple[float, float, float]:
    return (draw.below(1001) / 1000, draw.below(1001) / 1000, draw.below(1001) / 1000)


def _complete(profile: Profile, plan: HistoryPlan, draw: Draw) -> _Conversation:
    """A conversation that has enough questions of every category, or the best of a few tries."""
    best: _Conversation | None = None
    for number in range(_TRIES):
        one = _Conversation(profile, plan, draw.child("try", number))
        if best is None or one.short < best.short:
            best = one
        if one.short == 0:
            break
    if best is None:
        raise ValueError("a conversation needs at least one try")
    return best


class _Conversation:
    """One conversation with its questions."""

    def __init__(self, profile: Profile, plan: HistoryPlan, draw: Draw) -> None:
        self.counts: Counter[str] = Counter()
        people = 2 if profile.format == "locomo" else 1
        start = _FIRST_DAY + timedelta(days=draw.below(_START_RANGE))
        world = make_world(
            draw.child("world"),
            owners=people,
            turns=plan.turns if people == 2 else plan.turns // 2,
            first=start,
            last=start + timedelta(days=plan.days),
        )
        self._world = world
        schedule = plan_sessions(world, draw.child("schedule"), sessions=plan.sessions, first=start)
        self.times = schedule.times
        self.asked_at: datetime | None = None
        candidates: list[Candidate]
        if people == 2:
            self.names = tuple(person.name for person in world.people)
            self.transcript = talk(world, _lengths(world, plan, 4), draw.child("talk"))
            candidates = _two_people(Asker(world, self.transcript, self.times), draw)
        else:
            self.names = ("user", "assistant")
            self.asked_at = self.times[-1] + timedelta(days=draw.between(1, 5))
            self.transcript, listed = chat(world, _lengths(world, plan, 4), draw.child("chat"))
            asker = Asker(world, self.transcript, self.times, (first_person(),))
            candidates = lme_candidates(asker, self.asked_at.date(), draw.child("ask"))
            candidates += recalls(listed)
        self.counts += world.counts + self.transcript.counts
        self.phrases = _phrases(world, self.transcript)
        ready = aligned(candidates, self.transcript.places, self.counts)
        self.chosen = choose(ready, plan.questions, draw.child("choose"), self.counts)
        self.short = sum(n for name, n in self.counts.items() if name.startswith(SHORT))

    def musts(self, history: History) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Ids of the turns that say facts, and what of their words must stay."""
        order = {session.session_id: number for number, session in enumerate(history.sessions)}
        said: dict[tuple[int, int], list[str]] = {}
        for fact in self._world.facts:
            if fact.number in self.transcript.places:
                kept = said.setdefault(self.transcript.places[fact.number], [])
                spoken = [fill(value, {}, first_person()) for value in fact.slots.values()]
                kept += spoken + ([fact.when.phrase] if fact.when is not None else [])
        for turn in history.turns:
            kept = said.get((order[turn.session_id], turn.index), [])
            phrases = tuple(dict.fromkeys(one for one in kept if one.lower() in turn.text.lower()))
            if kept:
                yield turn.turn_id, tuple(one for one in phrases if one)


def _two_people(asker: Asker, draw: Draw) -> list[Candidate]:
    return [
        *ask_one.single_facts(asker),
        *ask_one.states(asker),
        *ask_one.threads(asker),
        *ask_many.lists_of(asker),
        *ask_many.counts(asker),
        *ask_many.together(asker),
        *ask_many.joins(asker),
        *ask_many.causes(asker),
        *ask_many.before(asker),
        *ask_many.shared(asker),
        *ask_when.whens(asker),
        *ask_when.changes(asker),
        *ask_when.orders(asker, draw.child("orders")),
        *ask_when.days_between(asker, draw.child("days")),
        *ask_infer.inferences(asker),
        *ask_absent.swapped(asker),
        *ask_absent.unstated(asker, draw.child("absent")),
    ]


def _phrases(world: World, transcript: Transcript) -> Counter[str]:
    return Counter(
        fact.when.kind
        for fact in world.facts
        if fact.when is not None and fact.number in transcript.places
    )


def _lengths(world: World, plan: HistoryPlan, least: int) -> list[int]:
    """Turns of each session: by what there is to say in it, and exactly `plan.turns` in all."""
    needs = [1.0] * plan.sessions
    for fact in world.facts:
        if fact.session is not None:
            needs[fact.session] += 1.0
    average = sum(needs) / plan.sessions
    # between the number of facts and equal lengths
    weights = [0.6 * need + 0.4 * average for need in needs]
    spare = plan.turns - least * plan.sessions
    edges = [0.0]
    for weight in weights:
        edges.append(edges[-1] + weight)
    cuts = [round(spare * edge / edges[-1]) for edge in edges]
    return [least + b - a for a, b in pairwise(cuts)]
