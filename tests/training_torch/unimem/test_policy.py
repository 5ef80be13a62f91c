"""Contexts by a chat template, SFT's mask, saved policies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs the extra `train`")
pytest.importorskip("trl", reason="needs the extra `train`")

import torch
from unimem_torch_world import TOKENIZER, Scripted

from evimem.errors import UsageError
from evimem.manager.lite import LitePolicy
from evimem.training.configs import SftTraining
from evimem.training.running.metrics import JsonLines, read_metrics
from evimem.training.selection import Checkpoint, PassMatrix, SelectionRule
from evimem.training.stored import words_grader
from evimem.training.unimem.choosing import choose, measured
from evimem.training.unimem.demonstrations import Demonstration, examples, record
from evimem.training.unimem.policy import Sampler, top_logps
from evimem.training.unimem.sft import sft_config, sft_trainer
from evimem.training.unimem.stages import Stage
from evimem.training.unimem.toy import toy_model
from evimem.training.unimem.toy_world import LIMITS, SYSTEM, toy_tasks
from evimem.training.unimem.wording import ChatWording

pytestmark = pytest.mark.filterwarnings("ignore")

WORDING = ChatWording(TOKENIZER, system=SYSTEM)
[TASK] = toy_tasks(1, seed=4)


def shown() -> Demonstration:
    return record(LitePolicy(), TASK, name="lite/1", limits=LIMITS)


def text(ids: Any) -> str:
    return str(TOKENIZER.decode(list(ids), skip_special_tokens=False))


def test_contexts_are_what_the_template_writes_for_the_whole_dialogue() -> None:
    made, _ = examples([shown()], WORDING, max_tokens=500)
    for example, trace in zip(made, shown().traces, strict=True):
        from evimem.manager.prompts.observe import observe
        from evimem.manager.protocol import TextProtocol

        told = TextProtocol().messages(observe(trace.event), trace.steps)[:-1]
        whole = TOKENIZER.apply_chat_template(
            [{"role": "system", "content": SYSTEM},
             *({"role": one.role, "content": one.text} for one in told)],
            tokenize=False,
        )  # fmt: skip
        assert text(example.ids) == whole
        assert TOKENIZER.unk_token_id not in example.ids


def test_a_template_that_drops_the_end_mark_is_refused() -> None:
    class Other:
        eos_token_id = TOKENIZER.eos_token_id
        decode = TOKENIZER.decode

        def apply_chat_template(self, messages: Any, **options: Any) -> str:
            return "".join(one["content"] for one in messages)

    with pytest.raises(UsageError, match="does not end a response"):
        ChatWording(Other())  # type: ignore[arg-type]


def test_a_thinking_template_leaves_sampled_ids_alone() -> None:
    """Such templates take the thinking out of earlier responses; ids stay as they were sampled."""

    class Thinking:
        eos_token_id = TOKENIZER.eos_token_id
        decode = TOKENIZER.decode

        def __call__(self, words: str, *, add_special_tokens: bool) -> Any:
            return TOKENIZER(words, add_special_tokens=add_special_tokens)

        def apply_chat_template(self, messages: Any, **options: Any) -> str:
            assert options.pop("enable_thinking") is False
            whole = TOKENIZER.apply_chat_template(messages, **options)
            return f"{whole}<think>\n\n</think>" if options["add_generation_prompt"] else whole

    made = ChatWording(Thinking(), system=SYSTEM, enable_thinking=False)
    steps = shown().built[0].steps[:1]
    between = made.between("", steps, ended=True)
    assert text(between).endswith("<|assistant|><think>\n\n</think>") or "<|unknown|>" in text(
        between
    )
    assert len(made.between("", steps, ended=False)) == len(between) + 1


def test_uni_53_labels_are_the_teacher_s_tokens_only(tmp_path: Path) -> None:
    made, _ = examples([shown()], WORDING, max_tokens=500)
    args = sft_config(
        SftTraining(batch=4, max_tokens=128), tmp_path, per_device=4, max_steps=1, use_cpu=True,
        bf16=False, disable_tqdm=True, save_strategy="no",
    )  # fmt: skip
    trainer = sft_trainer(toy_model(TOKENIZER, width=16), TOKENIZER, made, args)
    wanted = {one.ids: one.mask for one in made}
    seen = 0
    for batch in trainer.get_train_dataloader():
        for ids, labels in zip(batch["input_ids"].tolist(), batch["labels"].tolist(), strict=True):
            kept = tuple(one for one in ids if one != TOKENIZER.pad_token_id)
            mask = wanted[kept]
            assert labels[: len(kept)] == [
                one if keep else -100 for one, keep in zip(kept, mask, strict=True)
            ]
            assert set(labels[len(kept) :]) <= {-100}
            seen += 1
    assert seen == len(made)


def test_uni_53_the_settings_of_the_supervised_start_reach_trl(tmp_path: Path) -> None:
    args = sft_config(SftTraining(), tmp_path, processes=2, per_device=2, use_cpu=True, bf16=False)
    assert (args.learning_rate, args.warmup_steps, args.num_train_epochs) == (1e-5, 0.1, 3)
    assert (args.gradient_accumulation_steps, args.max_length, args.save_steps) == (2, 16_384, 431)


def test_a_supervised_start_that_is_taken_up_has_the_same_curve(tmp_path: Path) -> None:
    made, _ = examples([shown()], WORDING, max_tokens=500)

    def run(name: str, resume: str | None = None) -> list[dict[str, Any]]:
        args = sft_config(
            SftTraining(batch=2, max_tokens=128, save_every=2, learning_rate=1e-2),
            tmp_path / name, per_device=2, max_steps=4, use_cpu=True, bf16=False,
            disable_tqdm=True,
        )  # fmt: skip
        path = tmp_path / f"{name}.jsonl"
        trainer = sft_trainer(
            toy_model(TOKENIZER, width=16), TOKENIZER, made, args, callbacks=[JsonLines(path)]
        )
        trainer.train(resume_from_checkpoint=resume)
        return read_metrics(path)

    whole = run("a")
    again = run("a", str(tmp_path / "a" / "checkpoint-2"))
    assert [one["step"] for one in again] == [1, 2, 3, 4]
    for left, right in zip(whole, again, strict=True):
        for key in ("loss", "entropy", "mean_token_accuracy", "learning_rate"):
            assert left[key] == pytest.approx(right[key], rel=1e-5), (left["step"], key)


def test_a_saved_policy_samples_up_to_its_end_mark_in_the_order_asked() -> None:
    model = toy_model(TOKENIZER, width=16)
    sampler = Sampler(model=model, tokenizer=TOKENIZER, tokens=5, temperature=0.0, batch=2)
    contexts = [[6, 7, 8, 9], [6], [7, 8]]
    together = sampler(contexts)
    assert [sampler([one])[0] for one in contexts] == together, "padding changes nothing"
    end = TOKENIZER.eos_token_id
    for one in together:
        assert 1 <= len(one.ids) <= 5 and end not in one.ids[:-1]


def test_uni_55_entropies_are_those_before_the_teacher_s_tokens() -> None:
    made, _ = examples([shown()], WORDING, max_tokens=500)
    model = toy_model(TOKENIZER, width=16)
    rows = top_logps(model, made[:2], top=4)
    assert len(rows) == sum(sum(one.mask) for one in made[:2])
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([made[0].ids])).logits[0]
    first = made[0].mask.index(True)
    wanted = torch.log_softmax(logits[first - 1], -1).topk(4).values.tolist()
    assert rows[0] == pytest.approx(wanted, abs=1e-5)


def test_uni_54_57_the_choice_is_made_on_validation_by_the_rule() -> None:
    made, _ = examples([shown()], WORDING, max_tokens=500)
    tasks = toy_tasks(2, seed=8)
    stages = {
        "base": Scripted(share=0.2, seed=1), "checkpoint-1": Scripted(share=0.8, seed=1),
    }  # fmt: skip

    def measure(name: str) -> tuple[Checkpoint, PassMatrix]:
        stage = Stage(wording=WORDING, generate=stages[name], limits=LIMITS)
        model = toy_model(TOKENIZER, width=16)
        return measured(name, model, stage, tasks, grader=words_grader, held_out=made[:1])

    chosen, rows = choose(measure("base"), ["checkpoint-1"], measure, validation=tasks)
    assert chosen.name == "checkpoint-1" and [one.name for one in rows] == ["base", chosen.name]
    assert chosen.tool_format == 100.0 and chosen.pass_k >= chosen.pass_1 > rows[0].pass_1
    with pytest.raises(UsageError, match="not of the validation"):
        choose(measure("base"), ["checkpoint-1"], measure, validation=tasks[:1])
    with pytest.raises(UsageError, match="no checkpoint may be selected"):
        choose(measure("checkpoint-1"), ["base"], measure, validation=tasks,
               rule=SelectionRule(gain=90.0))  # fmt: skip
