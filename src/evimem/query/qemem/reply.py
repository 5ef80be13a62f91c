"""The final answer in a reply, and whether it declines to answer (QEM-27, 28)."""

from __future__ import annotations

import re

from evimem.query.qemem.prompts.answer import MARK

__all__ = ["MAX_ANSWER", "declines", "final_answer"]

MAX_ANSWER = 1000
"""Characters of a final answer that are kept; the prompt asks for some fifteen words."""

_MARK = re.compile(rf"[*_#>\s]{{0,8}}{re.escape(MARK.rstrip(':'))}[*_]*\s*:[*_]*", re.IGNORECASE)
_REASONING = re.compile(r"^[*_#>\s]*REASONING[*_]*\s*:[*_]*\s*", re.IGNORECASE)
_THOUGHT = re.compile(
    r"<think(?:ing)?>.*?(?:</think(?:ing)?>|$)|^.*</think(?:ing)?>", re.DOTALL | re.IGNORECASE
)
_BULLET = re.compile(r"^(?:[-*•–]|\d{1,2}[.)])\s+")

_TELLERS = (
    "memor(?:y|ies)|evidence|conversations?|cards?|context|sources?|transcripts?|dialogues?"
    "|chats?|texts?|turns?|sessions?|records"
)
_STORE = rf"(?:the |my |any |our )?(?:\w+ )?(?:{_TELLERS})"
_NOUNS = "information|evidence|mention|records?|memory|memories|details?|data|indication"
_TOLD = "mentioned|specified|stated|discussed|recorded|indicated|documented"
_GIVEN = "provided|given|known|available|found"
_BY = f"of|on|in|about|for|that|to|which|who|whether|as|from|regarding|is|was|are|were|{_GIVEN}"
_TELL = "mention|say|specify|state|provide|contain|indicate|include|tell|reveal|show|give"
_FIND_OUT = "determined?|answer(?:ed)?|inferr?(?:ed)?|confirm(?:ed)?|established|told|known"
_NOT = r"(?:n['’]t| not)"
_CAN = r"(?:cannot|can not|can['’]t|could(?:n['’]t| not))"
_UNABLE = rf"(?:{_CAN}|(?:am |are )?unable to)"
_DECLINES = re.compile(
    "|".join(
        (
            r"^(?:i['’]m |i am )?(?:very )?sorry,? (?:but )?(?:i|we|this|that|there|the)\b",
            rf"^(?:i|we) (?:{_UNABLE}|won['’]t) (?:help|assist|provide|comply)\b",
            r"^(?:unknown|unclear|unspecified|undetermined|unanswerable|n/?a|not sure|no idea)$",
            r"^(?:unknown|unclear|unspecified|not (?:clear|certain|sure)) (?:from|based|whether)\b",
            r"^(?:it|this|that)(?: is|['’]s) (?:unknown|unclear|unspecified|not clear)\b",
            r"^none (?:found|mentioned|given|known|stated|recorded)$",
            rf"^(?:i|we) do{_NOT} (?:\w+ )?(?:know|have|find|see|recall)\b|^do{_NOT} know$",
            rf"^(?:there (?:is|was|are|were) )?no (?:\w+ ){{0,2}}(?:{_NOUNS})"
            rf"(?:$|[,.;:]| (?:{_BY})\b)",
            rf"\b(?:{_TELLERS})\b[^.]{{0,40}}\bno (?:\w+ ){{0,2}}(?:{_NOUNS})\b",
            rf"^no (?:\w+ ){{1,6}}(?:is|are|was|were|has been|have been) (?:{_TOLD}|found)\b",
            rf"(?:\bnot|n['’]t|\bnever) (?:\w+ )?(?:{_TOLD})\b"
            r"(?! (?:to|by|with|it|him|her|them)\b)",
            rf"^not (?:\w+ )?(?:{_GIVEN})$",
            rf"\bnot (?:\w+ )?(?:(?:{_GIVEN}) )?(?:in|from) {_STORE}\b",
            rf"^(?:the|this|that|its?|her|his|their)\b[^.]{{0,40}}"
            rf"\b(?:is|was|are|were){_NOT} (?:\w+ )?(?:provided|given|known)$",
            r"\b(?:information|details?|answer|date|name|reason|time|it)\b[^.]{0,30}"
            rf"\b(?:is|was|are|were){_NOT} (?:\w+ )?(?:{_GIVEN})$",
            rf"\b{_CAN} be (?:\w+ )?(?:{_FIND_OUT})\b",
            rf"^(?:i|we) {_UNABLE} (?:\w+ )?(?:determine|answer|tell|say|infer|find|know)\b",
            rf"^{_UNABLE} (?:\w+ )?(?:determine|infer|answer(?=$| th(?:e question|is|at)\b))",
            r"\b(?:impossible|not possible) to (?:determine|answer|tell|say|know|infer|confirm)\b",
            rf"\b(?:{_TELLERS}|which) (?:\w+ )?(?:do|does|did){_NOT} (?:\w+ )?(?:{_TELL})\b",
            rf"\b(?:it|they) (?:do|does){_NOT} (?:mention|say|specify|state)\b",
            rf"\b(?:do|does|did){_NOT} (?:explicitly |actually )?(?:mention|specify)\b",
            r"\b(?:insufficient|not enough) (?:information|evidence|context|data|details?)\b",
        )
    ),
    re.IGNORECASE,
)
_DECIDES = re.compile(r"^(?:yes|no)\s*[,;:.–—-]", re.IGNORECASE)
_GOES_ON = re.compile(r"\b(?:but|however|although|likely|probably)\b", re.IGNORECASE)
MAX_DECLINING = 30
"""Words up to which an answer can be nothing but a refusal; a longer one says something."""


def final_answer(reply: str) -> str:
    """What follows the last mark "FINAL ANSWER:", to the end of its paragraph (QEM-27).

    Without the mark: the last line with words that is not thinking aloud. Bold marks, quotes and
    thinking tags around it are left out; empty if the reply has no words.
    """
    text = _THOUGHT.sub(" ", reply)
    marks = list(_MARK.finditer(text))
    if marks:
        after = text[marks[-1].end() :]
        said = _paragraph(after)
        if said:
            return said
        text = text[: marks[-1].start()]  # a mark with nothing behind it: what stands before
    lines = [_tidy(_REASONING.sub("", _MARK.sub("", line))) for line in text.splitlines()]
    told = [line for line in lines if line]
    return told[-1] if told else ""


def _paragraph(text: str) -> str:
    """The first lines of a text up to a blank one; the items of a list between commas."""
    kept: list[str] = []
    for line in text.splitlines():
        if _tidy(line):
            kept.append(line.strip())
        elif kept:
            break
    items = [_BULLET.sub("", line) for line in kept]
    # One number with a point is no list ("3. May").
    if sum(item != line for item, line in zip(items, kept, strict=True)) > 1:
        return ", ".join(_tidy(item) for item in items)[:MAX_ANSWER]
    return _tidy(" ".join(_tidy(line.removeprefix("- ")) for line in kept))


def _tidy(line: str) -> str:
    text = " ".join(line.split()).strip("*_` ").strip()
    for opened, closed in (('"', '"'), ("“", "”"), ("<", ">")):
        if len(text) > 2 and text.startswith(opened) and text.endswith(closed):
            inner = text[1:-1]
            text = inner if opened not in inner and closed not in inner else text
    return text[:MAX_ANSWER]


def declines(answer: str) -> bool:
    """Whether a final answer only says that there is none (QEM-28). English.

    "Probably no" and "No, ..." are answers; an answer of more than thirty words says something; so
    does one that goes on to say it ("not stated, but probably Lisbon"). What people did not say or
    could not find ("she never mentioned it to him") is told by the memory and no refusal.
    """
    text = answer.strip().rstrip(".!").strip()
    if not text:
        return True
    if len(text.split()) > MAX_DECLINING or _DECIDES.match(text):
        return False
    found = _DECLINES.search(text)
    return found is not None and _GOES_ON.search(text, found.end()) is None
