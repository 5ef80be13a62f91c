"""A language model of a few thousand parameters whose words may be whole plans.

Importing this module imports torch and transformers.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from typing import Any

from mera_world import intents

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import tokenizers
    import torch
    import transformers
    import trl  # noqa: F401 - its warnings at import are not ours

PLANS = tuple(
    json.dumps(intents(*facts), separators=(",", ":")).replace(" ", "_")
    for facts in (("Porto",), ("cello",), ("Graz",), ("runs", "Porto"))
)
"""Plans that are one token each: the first and the last bring back the gold turn."""


def tokenizer(texts: Sequence[str], whole: Sequence[str] = PLANS) -> Any:
    """Words by spaces; `whole` are one token each."""
    words = dict.fromkeys(word for text in texts for word in text.split())
    names = ["<pad>", "<eos>", "<unk>", *words]
    model = tokenizers.models.WordLevel(
        {name: n for n, name in enumerate(names)}, unk_token="<unk>"
    )
    made = tokenizers.Tokenizer(model)
    made.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=made,
        pad_token="<pad>",
        eos_token="<eos>",
        unk_token="<unk>",
        padding_side="left",
    )
    fast.add_tokens(list(whole))
    fast.chat_template = (
        "{% for one in messages %}{{ one['content'] }}"
        "{% if one['role'] == 'assistant' %} <eos>{% else %} {% endif %}{% endfor %}"
    )
    return fast


def toy(vocabulary: int, *, seed: int = 0) -> Any:
    """A Llama of one layer."""
    torch.manual_seed(seed)
    config = transformers.LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=4096,
        tie_word_embeddings=False,
        pad_token_id=0,
        eos_token_id=1,
        bos_token_id=None,
    )
    return transformers.LlamaForCausalLM(config)


def only_plans(model: Any, words: Any) -> None:
    """Keeps a toy from sampling anything but plans."""
    allowed = words.convert_tokens_to_ids(list(PLANS))
    head = torch.nn.Linear(16, model.config.vocab_size, bias=True)
    with torch.no_grad():
        head.weight.zero_()
        head.bias.fill_(-1e4)
        head.bias[allowed] = 0.0
    model.lm_head = head
