"""A profile asked through a model: one judgement, or the kept one."""

from __future__ import annotations

from collections.abc import Mapping

from evimem.datasets import Gold
from evimem.eval.answerers import Judge
from evimem.eval.harness.calls import call_rows
from evimem.eval.harness.rows import JudgeRow
from evimem.eval.judges.profiles import Profile, load_profile
from evimem.eval.judges.reference import Reference, answer_digest, reference_of
from evimem.eval.rows import Rows
from evimem.manager.prompts.judge import Label
from evimem.model.evidence import Question
from evimem.ports import Models, ModelSession
from evimem.query.calls import ask_in_words

__all__ = ["ProfileJudge", "judge_key", "judge_row", "profile_judge"]

_NO_TEMPLATES: Mapping[str, str] = {}


def judge_key(gold: Gold, answer: str, *, judge: str) -> tuple[str, str, str]:
    """What the judgement of an answer is found by: question, judge, hash of answer and gold."""
    return (gold.question_id, judge, answer_digest(reference_of(gold), answer))


def judge_row(
    question_text: str, gold: Gold, answer: str, *, profile: Profile, session: ModelSession
) -> JudgeRow:
    """One judgement. A blank answer is wrong without a call.

    Args:
        question_text: the question's words.
        gold: its gold.
        answer: the answer to be marked; nothing tells who wrote it.
        profile: the way of judging.
        session: models; the role is `judge`.

    Raises:
        ModelError: the judge could not be reached; a reply that cannot be used is no error, its
            judgement is None.
        BudgetExceeded: the ceiling of calls or tokens is reached.
    """
    model = session.model("judge")
    reference = reference_of(gold)
    before = len(session.calls)
    correct: bool | None = False
    if answer.strip():
        said = ask_in_words(model, profile.request(question_text, reference, answer))
        correct = None if said.problem else profile.read(said.raw)
    return JudgeRow(
        question_id=gold.question_id,
        judge=f"{model.model_id} {profile.tag}",
        answer=answer_digest(reference, answer),
        correct=correct,
        calls=call_rows(session.calls[before:]),
    )


class ProfileJudge:
    """A profile with the judge model of the settings: what the runner takes as a judge. Each
    judgement has a session of its own."""

    def __init__(self, profile: Profile, models: Models) -> None:
        """A judge.

        Args:
            profile: the way of judging.
            models: endpoints; the role is `judge`.

        Raises:
            SettingsError: no endpoint is set for the role.
        """
        self.profile = profile
        """The way of judging."""
        self._models = models
        self._name = f"{models.session().model('judge').model_id} {profile.tag}"

    @property
    def name(self) -> str:
        """Model, profile and hash of the wording."""
        return self._name

    def key(self, question: Question, gold: Gold, answer: str) -> tuple[str, ...]:
        """What the judgement of this answer is found by among kept rows."""
        return judge_key(gold, answer, judge=self._name)

    def judge(self, question: Question, gold: Gold, answer: str) -> JudgeRow:
        """One judgement, see `judge_row`."""
        session = self._models.session()
        return judge_row(question.text, gold, answer, profile=self.profile, session=session)

    def kept(self, question: Question, gold: Gold, answer: str, rows: Rows[JudgeRow]) -> JudgeRow:
        """The kept judgement, else a new one that is kept.

        Raises:
            ModelError: the judge could not be reached; nothing is kept.
            BudgetExceeded: the ceiling of calls or tokens is reached.
        """
        known = rows.get(self.key(question, gold, answer))
        return known if known is not None else rows.add(self.judge(question, gold, answer))


def profile_judge(
    models: Models, name: str, *, templates: Mapping[str, str] = _NO_TEMPLATES
) -> Judge:
    """A profile as the judge of managers and of judging again (`eval.judging`).

    Args:
        models: endpoints; the role is `judge`.
        name: one of `profile_names`.
        templates: prompts from files, by name.

    Raises:
        UsageError: there is no such profile.
        SettingsError: no endpoint is set for the role.
    """
    judge = ProfileJudge(load_profile(name, templates=templates), models)

    def read(question: str, reference: Reference, answer: str) -> Label | None:
        if not answer.strip():
            return "WRONG"
        request = judge.profile.request(question, reference, answer)
        said = ask_in_words(models.session().model("judge"), request)
        correct = None if said.problem else judge.profile.read(said.raw)
        return None if correct is None else "CORRECT" if correct else "WRONG"

    return Judge(name=judge.name, read=read)
