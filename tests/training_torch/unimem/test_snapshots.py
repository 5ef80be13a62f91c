"""Whose rollouts an iteration has, and whose weights it moves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs the extra `train`")
pytest.importorskip("trl", reason="needs the extra `train`")

import torch
from transformers import TrainerCallback
from unimem_torch_world import TOKENIZER, Scripted, plan, trainer

from evimem.llm.scripted import ScriptedModel
from evimem.manager.lite import LitePolicy
from evimem.model.chat import ChatRequest
from evimem.training.schedules import Schedule
from evimem.training.selection import Checkpoint, ToolForm, partial_entropy
from evimem.training.stored import CountedGrader, Grader, words_grader
from evimem.training.unimem import choosing
from evimem.training.unimem.demonstrations import examples, record
from evimem.training.unimem.graders import ModelGrader
from evimem.training.unimem.measuring import Outcome
from evimem.training.unimem.policy import top_logps
from evimem.training.unimem.stages import Stage
from evimem.training.unimem.toy import toy_model
from evimem.training.unimem.toy_world import LIMITS, SYSTEM, toy_tasks
from evimem.training.unimem.trainer import EventGRPOTrainer
from evimem.training.unimem.wording import ChatWording

pytestmark = pytest.mark.filterwarnings("ignore")


class Priced(EventGRPOTrainer):
    """Returns that depend on what was sampled, whatever it says; keeps weights and batches."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.begun: list[tuple[str, list[torch.Tensor]]] = []
        self.sampled: list[list[torch.Tensor]] = []
        self.batches: list[dict[str, Any]] = []

    def weights(self) -> list[torch.Tensor]:
        return [one.detach().clone() for one in self.model.parameters()]

    def _sample(self, contexts: Any) -> Any:
        self.sampled.append(self.weights())
        return super()._sample(contexts)

    def _returns(self, places: Any, rollouts: Any, phase: Any) -> Any:
        self.begun.append((phase, self.weights()))
        return [
            {part.key: float(sum(part.completion_ids) % 7) for part in one.segments}
            for one in rollouts
        ]

    def _generate_and_score_completions(self, inputs: Any) -> Any:
        self.sampled = []
        batch = super()._generate_and_score_completions(inputs)
        own = self.begun[-1][1]
        assert self.sampled and all(same(one, own) for one in self.sampled), "one snapshot"
        self.batches.append(batch)
        return batch


class Ends(TrainerCallback):  # type: ignore[misc]
    """The weights after every update."""

    def __init__(self) -> None:
        self.seen: list[list[torch.Tensor]] = []

    def on_step_end(self, *args: Any, model: Any = None, **more: Any) -> None:
        self.seen.append([one.detach().clone() for one in model.parameters()])


def same(left: list[torch.Tensor], right: list[torch.Tensor]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(left, right, strict=True))


def test_uni_41_both_stages_move_the_same_weights_one_after_the_other(tmp_path: Path) -> None:
    ends = Ends()
    made = trainer(plan(group=4), tmp_path, kind=Priced, steps=3, callbacks=[ends])
    assert isinstance(made, Priced)
    first = [id(one) for one in made.model.parameters()]
    start = made.weights()
    made.train()
    assert [phase for phase, _ in made.begun] == ["construction", "retrieval", "construction"]
    assert [id(one) for one in made.model.parameters()] == first
    held = {id(one) for group in made.optimizer.param_groups for one in group["params"]}
    assert held == set(first), "one optimiser over all of them"
    before = [start, *ends.seen[:-1]]
    for (phase, begun), was, now in zip(made.begun, before, ends.seen, strict=True):
        assert same(begun, was), "sampled with what the stage before left behind"
        assert not same(was, now), phase


def test_uni_41_all_updates_of_an_iteration_compare_with_the_policy_that_sampled(
    tmp_path: Path,
) -> None:
    made = trainer(plan(mini_batch=1, group=4), tmp_path, kind=Priced, steps=2, callbacks=[])
    assert isinstance(made, Priced)
    made.train()
    assert made.state.global_step == 4 and len(made.batches) == 2, "two updates, one sampling"
    model = made.model
    for (_, begun), batch in zip(made.begun, made.batches, strict=True):
        with torch.no_grad():
            for value, then in zip(model.parameters(), begun, strict=True):
                value.copy_(then)
        checked = 0
        for row in range(len(batch["prompt_ids"])):
            keep = batch["tool_mask"][row] * batch["completion_mask"][row] > 0
            if not keep.any():
                continue
            prompt = batch["prompt_ids"][row][batch["prompt_mask"][row] > 0]
            said = batch["completion_ids"][row][batch["completion_mask"][row] > 0]
            with torch.no_grad():
                ids = torch.cat([prompt, said])[None]
                logits = model(input_ids=ids).logits[0, len(prompt) - 1 : -1]
            logp = torch.log_softmax(logits, -1).gather(1, said[:, None])[:, 0]
            old = batch["old_per_token_logps"][row][: len(said)]
            mask = keep[: len(said)]
            torch.testing.assert_close(old[mask], logp[mask], atol=1e-5, rtol=1e-4)
            checked += 1
        assert checked > 4


def test_uni_40_one_bank_per_task_is_built_in_each_retrieval_iteration(tmp_path: Path) -> None:
    made = plan(schedule=Schedule.parse("0:1"), task_batch=2, group=3)
    one = trainer(made, tmp_path, steps=3)
    scripted = Scripted(seed=2)
    one._sample = scripted  # type: ignore[method-assign]
    seen: list[tuple[int, dict[int, set[str]]]] = []
    real = one._rollouts

    def watched(places: Any, phase: Any) -> Any:
        begun = scripted.events
        found = real(places, phase)
        banks: dict[int, set[str]] = {}
        for place, rollout in zip(places, found, strict=True):
            banks.setdefault(place, set()).add(rollout.bank.hash)
        seen.append((scripted.events - begun, banks))
        return found

    one._rollouts = watched  # type: ignore[method-assign]
    one.train()
    events = sum(len(task.events) + 3 * len(task.questions) for task in made.tasks)
    assert [count for count, _ in seen] == [events] * 3, "built once, searched by every sibling"
    assert all(len(hashes) == 1 for _, banks in seen for hashes in banks.values())
    contents = {tuple(sorted((at, *one) for at, one in banks.items())) for _, banks in seen}
    assert len(contents) > 1, "what was built before is not taken again"


def test_uni_55_form_and_bundled_finishes_are_those_of_the_first_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = ((1, 0, 0, 1), (1, 0, 1, 0), (1, 0, 0, 0))
    near = ((1.0, 0.5, 0.0, 0.0), (1.0, 1.0, 0.0, 0.0), (0.5, 0.0, 0.0, 0.0))
    runs = iter(
        Outcome(
            right=dict(zip("abcd", map(bool, row), strict=True)),
            form=ToolForm(well_formed=19 - n, responses=20, bundled=7 * n + 2),
            records=0,
            f1=dict(zip("abcd", near[n], strict=True)),
        )
        for n, row in enumerate(rows)
    )
    monkeypatch.setattr(choosing, "evaluate", lambda *args, **more: next(runs))
    wording = ChatWording(TOKENIZER, system=SYSTEM)
    tasks = toy_tasks(1, seed=4)
    shown = record(LitePolicy(), tasks[0], name="lite/1", limits=LIMITS)
    held_out = examples([shown], wording, max_tokens=500)[0][:1]
    model = toy_model(TOKENIZER, width=16)
    found, answers = choosing.measured(
        "431", model, Stage(wording=wording, generate=Scripted()), tasks,
        grader=words_grader, held_out=held_out,
    )  # fmt: skip
    assert answers.runs == tuple(tuple(map(bool, row)) for row in rows)
    assert (found.tool_format, found.bundled) == (95.0, 2)
    assert found.pass_1 == pytest.approx(100 * 5 / 12) and found.pass_k == 75.0
    assert found.gap == pytest.approx(75 - 100 * 5 / 12)
    assert found.f1 == pytest.approx(100 * (1.5 + 2 + 0.5) / 12)
    assert found.entropy == pytest.approx(partial_entropy(top_logps(model, held_out)))


def test_uni_55_f1_is_of_the_answers_in_words_of_all_runs_and_costs_no_call() -> None:
    [task] = toy_tasks(1, seed=4, facts=2)
    first, second = task.questions
    wording = ChatWording(TOKENIZER, system=SYSTEM)
    shown = record(LitePolicy(), task, name="lite/1", limits=LIMITS)
    held_out = examples([shown], wording, max_tokens=500)[0][:1]

    def checkpoint(grader: Grader) -> Checkpoint:
        stage = Stage(wording=wording, generate=Scripted(share=1.0), limits=LIMITS)
        found, _ = choosing.measured(
            "1", toy_model(TOKENIZER, width=16), stage, [task], grader=grader, held_out=held_out
        )
        return found

    def answer(request: ChatRequest) -> str:
        asked = request.messages[-1].text
        return f"ANSWER: {first.answer} of old" if first.text in asked else "ANSWER: nobody"

    answers, judge = ScriptedModel(answer), ScriptedModel(lambda _: "CORRECT")
    counted = CountedGrader(ModelGrader(answer=answers, judge=judge))
    worded = checkpoint(counted)
    # One of three words is the one of the gold answer: 2 * (1/3) * 1 / (1/3 + 1) = 1/2; then 0.
    assert worded.f1 == pytest.approx(100 * (0.5 + 0.0) / 2)
    assert worded.pass_1 == 100.0, "the judge's word is another matter"
    assert (counted.asked, counted.calls, len(answers.requests)) == (6, 2, 2), "three runs alike"
    assert second.text not in first.text
    assert checkpoint(CountedGrader(words_grader)).f1 is None
    assert checkpoint(words_grader).f1 is None
