"""A sentence in the first person told in the third: "I love my dog." -> "Ana loves Ana's dog.".

Words, not understanding: pronouns are exchanged and the verb after "I" is bent by rules and lists.
English; what the rules cannot tell safely is left out.
"""

from __future__ import annotations

import re

__all__ = ["told_of"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SELF = re.compile(r"\b(?:I|[Mm]y|[Mm]e|[Mm]yself|[Mm]ine)\b")
_UNSAFE = re.compile(r"[\"“”]|\b(?:you|your|yours|yourself|said|says|told|tells|asked)\b", re.I)
_ASKS = re.compile(r"\?[\"'”’)]*$")
_LEAD = re.compile(
    r"^(?:(?:yeah|yes|yep|no|nope|wow|hey|hi|hello|oh|well|so|and|but|also|thanks|thank you|sure|"
    r"definitely|absolutely|totally|actually|honestly|lately|haha|aw|aww|ok|okay|great|cool|nice)"
    r"\b[,!. ]*)+",
    re.I,
)
_PARTS = re.compile(r"\w+(?:['’]\w+)*|[^\w]+")

_BENT = {
    "am": "is",
    "have": "has",
    "do": "does",
    "go": "goes",
    "haven't": "hasn't",
    "wanna": "wants to",
    "don't": "doesn't",
    "were": "was",
}
_SHORT = {"i'm": "is", "i've": "has", "i'd": "would", "i'll": "will"}
_UNBENT = _words(
    "can could will would shall should may might must cannot can't couldn't won't wouldn't "
    "shouldn't was wasn't had hadn't did didn't used "
    "began became bent bit blew bought broke brought built came caught chose cut dealt drank drew "
    "drove ate fell fed felt fought flew forgot found froze gave got grew had heard held hid hit "
    "hung hurt kept knew laid learnt led left lent let lost made meant met overcame paid put quit "
    "ran read rode rose said sang sank sat saw sold sent set shook shot shut slept spent spoke "
    "spun stole stood struck stuck swam swept taught thought threw told took tore understood went "
    "woke wore won wound wrote"
)
_BETWEEN = _words(
    "really just also always never still often usually sometimes definitely totally actually "
    "finally recently even only truly already probably absolutely literally both currently now "
    "honestly once ever simply no longer"
)
_NO_VERB = _words("and or too as than but if who that which in on at for with to of")


def told_of(sentence: str, name: str) -> str:
    """The sentence told of `name`, or "" where it is no statement about its speaker.

    Left out are questions, and sentences with "you" or with reported words, in which "I" may be
    somebody else.

    Args:
        sentence: one sentence as it was said.
        name: the speaker as others call them.
    """
    if _ASKS.search(sentence) or _UNSAFE.search(sentence):
        return ""
    said = _LEAD.sub("", sentence.replace("’", "'")).strip()
    if not _SELF.search(said):
        return ""
    out: list[str] = []
    bending = False
    for part in _PARTS.findall(said):
        low = part.lower()
        if low == "i" or low in _SHORT:
            out.append(name if low == "i" else f"{name} {_SHORT[low]}")
            bending = low == "i"
            continue
        if low in ("my", "mine"):
            part = f"{name}'s"
        elif low in ("me", "myself"):
            part = name
        elif bending and part.strip():
            if not part[0].isalpha():
                bending = False
            elif low not in _BETWEEN:
                part = _bend(part)
                bending = False
        out.append(part)
    told = "".join(out).strip()
    return told[:1].upper() + told[1:]


def _bend(verb: str) -> str:
    """The form of a verb after a name: "love" -> "loves", "went" stays."""
    low = verb.lower()
    if low in _BENT:
        return _BENT[low]
    if low in _UNBENT or low in _NO_VERB or low.endswith(("ed", "'t")):
        return verb
    if low.endswith(("s", "x", "z", "ch", "sh")):
        return f"{verb}es"
    if low.endswith("y") and low[-2:-1] not in "aeiou":
        return f"{verb[:-1]}ies"
    return f"{verb}s"
