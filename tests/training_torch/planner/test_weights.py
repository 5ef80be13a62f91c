"""Weights from a file of another form, adapters, and a planner in the process."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the extra `train` is not installed")
pytest.importorskip("peft", reason="the extra `train` is not installed")

import torch
from peft import LoraConfig, get_peft_model
from planner_toy import PLANS, tokenizer, toy
from training_world import state

from evimem.errors import UsageError
from evimem.llm.structured import Structured
from evimem.recipes.mera import planner_of
from evimem.training.execution import Trials
from evimem.training.planner.local import LocalPlanner
from evimem.training.planner.rows import messages
from evimem.training.planner.weights import from_gguf, loaded, merged, tokenizer_of
from evimem.training.planner.wording import worded
from evimem.training.unimem.policy import Sampler

pytestmark = pytest.mark.filterwarnings("ignore")


def test_an_adapter_is_added_to_the_weights_and_a_bare_model_stays_as_it_is() -> None:
    bare = toy(20)
    ids = torch.tensor([[3, 4, 5]])
    wrapped = get_peft_model(
        toy(20), LoraConfig(r=2, target_modules=["q_proj"], init_lora_weights=False)
    )
    said = wrapped(input_ids=ids).logits
    whole = merged(wrapped)
    assert torch.allclose(whole(input_ids=ids).logits, said, atol=1e-6)
    assert not torch.allclose(said, bare(input_ids=ids).logits)
    assert not any("lora" in name for name, _ in whole.named_parameters())
    assert merged(bare) is bare


def test_a_saved_model_comes_back_with_a_tokenizer_that_pads_on_the_left(tmp_path: Path) -> None:
    words = tokenizer(["a b c"])
    words.padding_side = "right"
    words.save_pretrained(tmp_path)
    toy(len(words)).save_pretrained(tmp_path)
    assert tokenizer_of(tmp_path).padding_side == "left"
    assert loaded(tmp_path).config.vocab_size == len(words)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no weight file 'm\.gguf'"):
        from_gguf(tmp_path / "m.gguf", tmp_path / "out")


def test_a_planner_in_the_process_is_asked_as_in_training_and_cut_as_the_request_says(
    trials: Trials,
) -> None:
    one = state("t3")
    words = tokenizer([m["content"] for m in messages(trials, one)])
    model = toy(len(words))
    with torch.no_grad():  # always says the first plan
        model.lm_head.weight.zero_()
        model.model.norm.weight.zero_()
    asked: list[list[int]] = []

    class Recording(Sampler):
        def __call__(self, contexts):  # type: ignore[no-untyped-def]
            asked.extend(contexts)
            return super().__call__(contexts)

    sampler = Recording(model=model, tokenizer=words, tokens=1, temperature=0.0, batch=1)
    planner = LocalPlanner(sampler=sampler, wording="brief", model_id="toy")
    request = dataclasses.replace(trials.prompt(one), max_tokens=3)
    reply = planner.chat(request)
    assert reply.finish == "length"
    shown = [{"role": m.role, "content": m.text} for m in worded(request, "brief").messages]
    assert asked == [
        words.apply_chat_template(shown, add_generation_prompt=True, return_dict=False)
    ]

    class Says(LocalPlanner):
        def chat(self, request):  # type: ignore[no-untyped-def]
            return dataclasses.replace(reply, text=PLANS[0], finish="stop")

    speaking = Says(sampler=sampler, wording="brief", model_id="toy")
    made = planner_of(trials.config, Structured(speaking)).propose(one.state, trials.banks["b1"])
    assert [s.request.text for s in made.searches] == ["Porto"]
