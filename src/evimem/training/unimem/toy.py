"""A Llama of a few ten thousand weights with a vocabulary of its own, for the toy world.

Needs the extra `train` (torch, transformers, tokenizers). It serves the tests, and the settings for
a computer without a GPU, where the whole recipe runs in a minute or two.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from evimem.manager.prompts.observe import observe
from evimem.training.unimem.tasks import Task, asked
from evimem.training.unimem.toy_world import COLOURS, NAMES, PEOPLE, SYSTEM, THINGS, toy_tasks

__all__ = ["toy_model", "toy_tokenizer"]

_CALLS = (
    '<tool_call>{"name": "memory_search", "arguments": {"query": "',
    '<tool_call>{"name": "create_memory", "arguments": {"content": "',
    '<tool_call>{"name": "finish_event", "arguments": {}}</tool_call>',
    '"}}</tool_call>',
    '<tool_response>\n{"memories": []}\n</tool_response>',
    '<tool_response>\n{"memories": [{"id": "',
    '", "memory": "',
    '"}]}\n</tool_response>',
    '<tool_response>\n{"id": "',
    '", "event": "ADD"}\n</tool_response>',
)
"""What stands around the words of calls and results: one token each, so that a call has as many
tokens as it says something."""
_UPDATES = (
    '<tool_call>{"name": "update_memory", "arguments": {"memory_id": "',
    '", "content": "',
    '", "event": "UPDATE"}\n</tool_response>',
)
"""The same for updates, where facts change."""
_PIECE = r" ?\w+|[^\w\s]|\s"
_TEMPLATE = (
    "{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
_SPECIAL = ("<|pad|>", "<|end|>", "<|unknown|>", "<|system|>", "<|user|>", "<|assistant|>")


def toy_tokenizer(*, changing: bool = False) -> Any:
    """A tokenizer whose tokens are whole words and whole forms of calls; decoding gives back the
    text that was encoded.

    Args:
        changing: True for the world whose facts change; it has more words, so models of one are
            none of the other.
    """
    tasks = toy_tasks(60, seed=0, facts=8, changes=4) if changing else toy_tasks(60, seed=0)
    calls = (*_CALLS, *_UPDATES) if changing else _CALLS
    forms = sorted({*calls, *_frames(tasks)}, key=len, reverse=True)
    pattern = "|".join([*(re.escape(one) for one in forms), _PIECE])
    words = " ".join([SYSTEM, *PEOPLE, *THINGS, *NAMES])
    texts = [words, *(f"{word}" for word in (*PEOPLE, *THINGS, *NAMES)), _WORDS]
    texts += [one.text for task in tasks for one in task.questions]
    texts += [turn.text for task in tasks for event in task.events for turn in event.turns]
    texts += [*COLOURS, "the"] if changing else []
    texts += [f"m{n}" for n in range(1, 25 if changing else 13)]
    pieces = dict.fromkeys(piece for text in texts for piece in re.findall(_PIECE, text))
    vocabulary = {one: n for n, one in enumerate([*_SPECIAL, *forms, *pieces])}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="<|unknown|>"))
    made.pre_tokenizer = pre_tokenizers.Split(Regex(pattern), behavior="isolated")
    made.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(
        tokenizer_object=made,
        pad_token="<|pad|>",
        eos_token="<|end|>",
        unk_token="<|unknown|>",
        additional_special_tokens=["<|system|>", "<|user|>", "<|assistant|>"],
        chat_template=_TEMPLATE,
        padding_side="left",
        clean_up_tokenization_spaces=False,
    )


_WORDS = "weather Ana's Bo's. now, not! \" { } [ ] : ' ? \n event FINISH error"


def _frames(tasks: Iterable[Task]) -> list[str]:
    """What the observations of either kind of event have in common before and after their words."""
    tasks = list(tasks)
    built = [observe(event) for task in tasks for event in task.events]
    searched = [observe(asked(one)) for task in tasks for one in task.questions]
    frames: list[str] = []
    for texts in (built, searched):
        frames += [_common(texts), _common([text[::-1] for text in texts])[::-1]]
    inner = re.search(r'", "[a-z_]+": "', built[0][len(frames[0]) :])
    return [*frames, *([inner.group()] if inner else [])]


def _common(texts: Sequence[str]) -> str:
    """What all texts begin with."""
    same = itertools.takewhile(lambda signs: len(set(signs)) == 1, zip(*texts, strict=False))
    return "".join(signs[0] for signs in same)


def toy_model(tokenizer: Any, *, seed: int = 0, width: int = 48, layers: int = 2) -> Any:
    """An untrained Llama for the tokenizer.

    Args:
        tokenizer: of `toy_tokenizer`.
        seed: of its weights.
        width: of its hidden states.
        layers: how many.
    """
    torch.manual_seed(seed)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=width,
            intermediate_size=2 * width,
            num_hidden_layers=layers,
            num_attention_heads=4,
            num_key_value_heads=4,
            max_position_embeddings=256,
            tie_word_embeddings=False,
            initializer_range=0.1,  # small ones learn to copy in tens of steps with large weights
            bos_token_id=None,
            pad_token_id=tokenizer.pad_token_id,
            eos_token_id=tokenizer.eos_token_id,
        )
    )
