"""The words of a card's relation, read as one of the roles a card can have (QEM-14). English.

The relation itself is kept as the model wrote it; the role is for counting, filtering and order.
"""

from __future__ import annotations

import re
from typing import Final

from evimem.model.cards import CardRole

__all__ = ["normalise_role"]

MAX_RELATION = 400
"""Characters of a relation that are read; a relation is a few words."""

_Cues = tuple[tuple[CardRole, "re.Pattern[str]"], ...]


def _cues(**rows: str) -> _Cues:
    """Compiled cues per role; a cue begins at the beginning of a word."""
    roles: dict[str, CardRole] = {
        "answer": "answer_candidate",
        "intermediate": "intermediate_fact",
        "temporal": "temporal_constraint",
        "inference": "inference_support",
    }
    return tuple((roles[row], re.compile(rf"\b(?:{cues})")) for row, cues in rows.items())


_DENIED: Final = re.compile(
    r"\b(?:no|not|without(?: any)?|never|nor|(?:does|do|did|is)n't) (?:\w+ )?"
    r"(?:contradict|conflict|inconsisten|disagree|disput|refut)\w*"
)
"""A contradiction that is said not to be one ("does not contradict card 2")."""

_CONTRADICTION: Final = re.compile(
    r"\b(?:contradict|contrary|conflict|inconsisten|disagree|refut|rebut|disprov|disput"
    r"|at odds|incompatible|counter-?evidence|counterexample|opposes\b|opposing\b)"
)

_NAMES: Final = _cues(
    inference=r"inference[\s_-]+support|supports?\s+(?:an?\s+|the\s+)?inference"
    r"|supporting\s+(?:inference|evidence)|inferential",
    temporal=r"(?:temporal|time)[\s_-]+(?:constraint|bound|anchor|reference|order|marker|fact)",
    intermediate=r"intermediate|bridg(?:e|ing)\s+(?:fact|entity)|bridge\b|linking\s+fact",
    answer=r"answer[\s_-]+candidate|candidate[\s_-]+answer|(?:possible|partial|direct|full|likely"
    r"|potential)\s+answer|directly\s+answers|one\s+of\s+the\s+(?:answers|items|instances)",
)
"""Full names of the roles, as the prompt gives them, and close variants."""

_WORDS: Final = _cues(
    inference=r"support|suggest|impl(?:y|ies|ied)\b|indicat|infer|hint|corroborat|confirm"
    r"|consistent\s+with|evidence\s+(?:of|for|that)|reason\s+(?:to|for)|shows?\s+that|trait\b"
    r"|preference\b",
    temporal=r"tempor|when\b|dates?\b|dated\b|dating\b|timing\b|timeline|time\b|before\b|after\b"
    r"|during\b|duration|deadline|chronolog|sequence\b|year\b|month\b",
    intermediate=r"bridg|link|background|context|identif|hop\b|step\b|needed\s+(?:to|for)|disambigu"
    r"|defines?\b|establish|who\b|entity\b",
    answer=r"answer|candidate|instance|(?:list\s+)?item\b|example\b|response\b|count(?:s|ed)?\b",
)
"""Single words that give a role away."""


def normalise_role(relation: str) -> CardRole:
    """The role that a relation names (QEM-14); "other" where it names none.

    Order of precedence: (1) a contradiction, wherever it is said, since a conflict must not be
    lost (QEM-13), unless it is denied ("does not contradict"); (2) the full name of a role
    ("intermediate fact: date of the trip" is no temporal constraint); (3) a single word that gives
    a role away ("suggests", "when", "background", "answers"). Within (2) and (3) the one that
    comes first in the text decides; where two begin at one place, the order is inference support,
    temporal constraint, intermediate fact, answer candidate.

    Args:
        relation: free text of a card. Case, line breaks, underscores and curly quotes are alike.
    """
    text = " ".join(relation[:MAX_RELATION].casefold().replace("’", "'").replace("_", " ").split())
    if _CONTRADICTION.search(_DENIED.sub(" ", text)):
        return "contradiction"
    return _first(_NAMES, text) or _first(_WORDS, _DENIED.sub(" ", text)) or "other"


def _first(table: _Cues, text: str) -> CardRole | None:
    """The role whose cue comes first in the text."""
    best: tuple[int, CardRole] | None = None
    for role, cues in table:
        found = cues.search(text)
        if found and (best is None or found.start() < best[0]):
            best = found.start(), role
    return best[1] if best else None
