"""Did the server read the whole prompt? Some cut it to their window and say nothing.

The server's own count of prompt tokens is compared with the fewest tokens that the words can
have had. It is a bound from below for every script, so a terse tokenizer raises no alarm: in
twelve texts of as many kinds it was 0.2 to 0.8 of what Qwen2.5's tokenizer counts (0.8 in English,
0.2 in Thai), and 0.1 to 0.7 of SmolLM2's. So a cut of an English prompt to two thirds is seen, of
a Thai one to a sixth.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["fewest_tokens", "was_cut"]

# Fewest tokens per character where words are not set apart by blanks: below what the tersest
# public tokenizers need for everyday text of the script.
_UNSPACED = re.compile(
    "([\u3400-\u9fff])"  # Han
    "|([\u3040-\u30ff\uac00-\ud7af])"  # kana, Hangul
    "|([\u0e00-\u0eff])"  # Thai, Lao
)
_HUNDREDTHS = (40, 30, 12)
# Not by \w: vowel signs of Indian scripts are no letters there and would split words.
_RUN = re.compile(r"[^\s\d!-/:-@\[-`{-~]+|\d+")
_DIGITS, _LETTERS = 9, 24  # no tokenizer in use puts more of them into one token
_SHARE = 0.9  # for the odd pair of words that some tokenizer joins
_SLACK = 64  # tokens: short prompts are never judged


def fewest_tokens(texts: Iterable[str]) -> int:
    """The fewest tokens that the texts can have in any tokenizer in use: one per word, parts of a
    token per character in scripts without blanks. Punctuation and white space count nothing."""
    return sum(_hundredths(run) for text in texts for run in _RUN.findall(text)) // 100


def _hundredths(run: str) -> int:
    """The fewest hundredths of a token in a run of digits or of anything else but punctuation."""
    if run[0].isdigit():
        return -(-len(run) // _DIGITS) * 100
    if run.isascii():
        return -(-len(run) // _LETTERS) * 100
    cost, spaced = 0, len(run)
    for groups in _UNSPACED.findall(run):
        spaced -= 1
        cost += next(each for hit, each in zip(groups, _HUNDREDTHS, strict=True) if hit)
    return cost + -(-spaced // _LETTERS) * 100


def was_cut(*, fewest: int, counted: int) -> bool:
    """True if the server counted far fewer prompt tokens than the words can have had.

    Args:
        fewest: `fewest_tokens` of what was sent.
        counted: prompt tokens in the server's usage; 0 where it says nothing, which is no sign.
    """
    return counted > 0 and counted + _SLACK < fewest * _SHARE
