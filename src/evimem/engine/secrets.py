"""Keys, passwords and account numbers in a text: found by shape, replaced by `[REDACTED:kind]`.

Three sorts of rules, every one precise rather than wide, for a wrong hit destroys words that
somebody wanted to keep:

- tokens that carry their issuer's mark (`sk-`, `ghp_`, `AKIA`, `eyJ`, a PEM header);
- values that the words before them call a secret ("my password is ...", `API_KEY=...`); a value
  that is a plain word counts only where no ordinary sentence reads like that;
- numbers with a check digit: payment cards (Luhn and the issuer's range) and IBANs (mod 97).

A rule's pattern runs only where one of its literal hints occurs, and no pattern can backtrack
further than a fixed length, so the time is linear in the text. What a marker already stands for is
never found again: redacting twice changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from evimem.engine.secret_words import secrets_named_in_words

__all__ = ["Secret", "find_secrets", "redact"]


@dataclass(frozen=True, slots=True, order=True)
class Secret:
    """One secret in a text."""

    start: int
    """First character."""
    end: int
    """One past the last."""
    kind: str
    """What it is, such as "github_token"; the marker names it."""


def redact(text: str) -> tuple[str, tuple[str, ...]]:
    """The text with a marker for each secret, and the kinds found, in the order of the text."""
    found = find_secrets(text)
    if not found:
        return text, ()
    parts: list[str] = []
    at = 0
    for secret in found:
        parts += (text[at : secret.start], f"[REDACTED:{secret.kind}]")
        at = secret.end
    parts.append(text[at:])
    return "".join(parts), tuple(secret.kind for secret in found)


def find_secrets(text: str) -> tuple[Secret, ...]:
    """The secrets of a text, in order and without overlap.

    Where two rules find the same place, their spans are joined and the first rule's kind stands.
    """
    if len(text) < _SHORTEST:
        return ()
    lowered = text.lower()
    found: list[tuple[int, int, str]] = []
    for rule in _MARKED + _TIED if _LONG.search(text) else _TIED:
        for hint in rule.hints:
            if hint in lowered:
                found += ((*m.span(rule.group), rule.kind) for m in _matches(rule, text))
                break
    for start, end in _private_keys(text):
        found.append((start, end, "private_key"))
    found += secrets_named_in_words(text, lowered)
    found += _numbers(text)
    return tuple(_joined(found)) if found else ()


_SHORTEST = 6  # characters of the shortest secret with its keyword
_LONG = re.compile(r"\S{15}")  # what every marked token holds


def _joined(found: list[tuple[int, int, str]]) -> Iterator[Secret]:
    """Overlapping spans as one; the kind of the earliest rule, as `found` is in their order."""
    order = sorted(range(len(found)), key=lambda n: (found[n][0], -found[n][1]))
    first, end = order[0], found[order[0]][1]
    start = found[first][0]
    for n in order[1:]:
        if found[n][0] < end:
            first, end = min(first, n), max(end, found[n][1])
            continue
        yield Secret(start, end, found[first][2])
        first, (start, end, _) = n, found[n]
    yield Secret(start, end, found[first][2])


# -- tokens with a mark -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Rule:
    """One kind of token."""

    kind: str
    """Its name."""
    hints: tuple[str, ...]
    """Literals in lower case, one of which every match holds."""
    pattern: re.Pattern[str]
    """Its shape."""
    group: int = 0
    """The part of the match that is secret."""
    check: Callable[[str], bool] | None = None
    """What else that part must be."""


def _matches(rule: _Rule, text: str) -> Iterator[re.Match[str]]:
    for match in rule.pattern.finditer(text):
        if rule.check is None or rule.check(match.group(rule.group)):
            yield match


_LONG_RUN = re.compile(r"[A-Za-z0-9]{20}")


def _random(value: str) -> bool:
    """False for words with hyphens, which share a prefix with some tokens."""
    return sum(map(str.isdigit, value)) >= 3 or _LONG_RUN.search(value) is not None


def _has_digit(value: str) -> bool:
    return any(map(str.isdigit, value))


def _no_marker(value: str) -> bool:
    return not value.startswith("[REDACTED:")


def _no_ids(value: str) -> bool:
    return _no_marker(value) and not value.isdigit()


def _rule(
    kind: str,
    hints: str,
    pattern: str,
    *,
    group: int = 0,
    check: Callable[[str], bool] | None = None,
    ignore_case: bool = False,
) -> _Rule:
    """A rule; `hints` are separated by blanks. Possessive repeats (`++`) never backtrack."""
    flags = re.ASCII | (re.IGNORECASE if ignore_case else re.ASCII)
    return _Rule(kind, tuple(hints.split()), re.compile(pattern, flags), group, check)


_B = r"(?<![A-Za-z0-9])"  # begins here, or after a mark such as = _ -
_E = r"(?![A-Za-z0-9])"

_MARKED: tuple[_Rule, ...] = (
    _rule("anthropic_key", "sk-ant-", _B + r"sk-ant-[\w-]{16,}+"),
    _rule("openai_key", "sk-", _B + r"sk-[\w-]{16,}+", check=_random),
    _rule(
        "stripe_key", "sk_ rk_ whsec_",
        _B + r"(?:[sr]k_(?:live|test)_\w{10,}+|whsec_[\w+/=]{20,}+)",
    ),
    _rule("aws_access_key", "akia asia abia acca", _B + r"A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{16}" + _E),
    _rule(
        "github_token", "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
        _B + r"(?:gh[pousr]_\w{20,}+|github_pat_\w{20,}+)",
    ),
    _rule(
        "gitlab_token", "glpat- gldt- glrt- glcbt- glptt- gloas- glsoat-",
        _B + r"gl(?:pat|dt|rt|cbt|ptt|oas|soat)-[\w.-]{16,}+",
    ),
    _rule(
        "slack_token", "xox xapp-",
        _B + r"(?:xox[a-z](?:\.xox[a-z])?-|xapp-)[\w-]{10,}+", check=_has_digit,
    ),
    _rule(
        "webhook_url", "hooks.slack.com /webhooks/",
        r"(?:hooks\.slack\.com/(?:services|workflows)/|discord(?:app)?\.com/api/webhooks/)"
        r"([\w/-]{20,}+)", group=1,
    ),
    _rule(
        "google_key", "aiza gocspx- ya29.",
        _B + r"(?:AIza[\w-]{35}|GOCSPX-[\w-]{20,}+|ya29\.[\w-]{20,}+)",
    ),
    _rule("npm_token", "npm_", _B + r"npm_[A-Za-z0-9]{30,}+"),
    _rule("pypi_token", "pypi-", _B + r"pypi-[\w-]{40,}+"),
    _rule("huggingface_token", "hf_", _B + r"hf_[A-Za-z0-9]{30,}+"),
    _rule("telegram_token", ":", _B + r"\d{8,10}:[\w-]{35}(?![\w-])"),
    _rule("discord_token", ".", r"(?<![\w.-])[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,}+"),
    _rule("sendgrid_key", "sg.", _B + r"SG\.[\w-]{16,32}\.[\w-]{16,64}"),
    _rule("twilio_key", "sk", _B + r"SK[0-9a-f]{32}" + _E),
    _rule("shopify_token", "shp", _B + r"shp(?:at|ca|pa|ss|tka)_[0-9A-Fa-f]{32}" + _E),
    _rule("digitalocean_token", "_v1_", _B + r"do[opr]_v1_[0-9a-f]{64}" + _E),
    _rule("databricks_token", "dapi", _B + r"dapi[0-9a-f]{32}(?:-\d)?" + _E),
    _rule("vault_token", "hvs. hvb. hvr.", _B + r"hv[sbr]\.[\w-]{24,}+"),
    _rule("docker_token", "dckr_", _B + r"dckr_(?:pat|oat)_[\w-]{20,}+"),
    _rule(
        "api_key",
        "gsk_ xai- pplx- r8_ tvly- glsa_ sntry lin_api_ pmak- nvapi- ops_ age-secret-key-",
        _B + r"(?:gsk_|xai-|pplx-|r8_|tvly-|glsa_|sntry[su]_|lin_api_|PMAK-|nvapi-|ops_"
        r"|AGE-SECRET-KEY-)[\w-]{20,}+", check=_has_digit,
    ),
    _rule("jwt", "eyj", r"(?<![\w-])eyJ[\w-]{10,}+\.[\w-]{6,}+(?:\.{1,2}[\w-]++){0,3}+"),
)  # fmt: skip
"""Tokens that stand for themselves, long and without a blank."""

_TIED: tuple[_Rule, ...] = (
    _rule(
        "aws_secret_key", "aws",
        r"aws.{0,40}?[\"']?\s{0,4}(?:[:=]|is)\s{0,4}[\"']?([A-Za-z0-9/+]{40})(?![\w/+=])",
        group=1, check=_has_digit, ignore_case=True,
    ),
    _rule(
        "url_password", "://", r"(?<=://)[^\s:@/?#\"'<>]{0,128}+:([^\s/\"'<>]{1,256})@",
        group=1, check=_no_marker,
    ),
    _rule(
        "url_password", "curl",
        r"\s(?:-u|--user)[ =][\"']?[^\s:\"']{1,64}+:([^\s\"']{3,128}+)", group=1, check=_no_ids,
    ),
    _rule(
        "bearer_token", "bearer", r"(?<![a-z])bearer[ \t]{1,4}([\w.~+/=-]{16,}+)",
        group=1, check=_has_digit, ignore_case=True,
    ),
    _rule(
        "us_ssn", "ssn social",
        r"\b(?:ssn|social security(?: (?:number|no\.?))?)\b.{0,16}?\b"
        r"(\d{3}[- ]?\d\d[- ]?\d{4})(?![\w-])",
        group=1, ignore_case=True,
    ),
    _rule(
        "authorization", "authorization",
        r"authorization[\"']?[ \t]{0,4}[:=][ \t]{0,4}[\"']?"
        r"(?:(?:basic|bearer|token|apikey|key)[ \t]{1,4})?([\w.~+/=:-]{8,}+)",
        group=1, check=_has_digit, ignore_case=True,
    ),
)  # fmt: skip
"""Values that need the words before them."""

# -- private keys -------------------------------------------------------------------------------

_KEY_BEGINS = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_KEY_ENDS = re.compile(r"-----END (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_KEY_BODY = re.compile(  # headers, then lines of base64; line ends may be written as \n
    r"(?:\\[rn]|\s|[A-Z][A-Za-z-]{1,30}: [^\n]{0,200}+\n)*+"
    r"(?:(?:\\[rn]|[\s>])*+[A-Za-z0-9+/]{16,}+=*+)++"
    r"(?:(?:\\[rn]|\s)*+[A-Za-z0-9+/]{1,15}=*+(?=[ \t\r]*(?:\n|$|\\[rn]|\")))?"
)
_PUTTY = re.compile(r"Private-Lines: \d{1,4}\s{1,2}((?:[A-Za-z0-9+/=]{4,}+\s{1,2})++)")
_KEY_LENGTH = 65_536


def _private_keys(text: str) -> Iterator[tuple[int, int]]:
    """Spans of private keys with their lines; where the end is cut off, as far as base64 goes."""
    if "PRIVATE KEY" not in text and "Private-Lines" not in text:
        return
    ends = [match.end() for match in _KEY_ENDS.finditer(text)]
    begins = list(_KEY_BEGINS.finditer(text))
    n = 0
    for number, begin in enumerate(begins):
        following = begins[number + 1].start() if number + 1 < len(begins) else len(text)
        while n < len(ends) and ends[n] < begin.end():
            n += 1
        if n < len(ends) and ends[n] <= following and ends[n] - begin.start() <= _KEY_LENGTH:
            yield begin.start(), ends[n]
        elif body := _KEY_BODY.match(text, begin.end()):
            yield begin.start(), body.end()
    for match in _PUTTY.finditer(text):
        yield match.span(1)


# -- numbers with a check digit -----------------------------------------------------------------

_DIGITS = re.compile(r"\d\d(?:[ -]?\w){10}")  # what every card and IBAN holds
_CARD = re.compile(
    r"(?<![A-Za-z0-9])(?<!\d[.,:-])(?:"
    r"(?:4\d{3}|5[1-5]\d\d|2[2-7]\d\d|6\d{3}|35\d\d)([ -]?)\d{4}\1\d{4}\1\d{4}(?!\1\d{4}(?!\d))"
    r"|3[47]\d\d([ -]?)\d{6}\2\d{5}"
    r"|3(?:0[0-5]|[689]\d)\d([ -]?)\d{6}\3\d{4}"
    r")(?![A-Za-z0-9])(?![.,:-]\d)"
)
_CARD_RANGE = re.compile(
    r"4|5[1-5]|2(?:22[1-9]|2[3-9]|[3-6]|7[01]|720)|6(?:011|4[4-9]|5)|35(?:2[89]|[3-8])"
    r"|3[47]|3(?:0[0-5]|[689])"
)
_OTHER_NUMBER = re.compile(
    r"(?:order|tracking|invoice|isbn|imei|ean|upc|serial|ticket|case|reference|ref|parcel|shipment"
    r"|transaction|request|booking|timestamp|id)\W{0,3}(?:no|nr|number|num|code|id)?\W{0,4}"
    r"(?:is\s|was\s)?$",
    re.IGNORECASE,
)
_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?=[ -]?[A-Z0-9])")
_IBAN_LENGTHS = {
    code: length
    for length, codes in {
        15: "NO", 16: "BE", 18: "DK FI FO GL NL", 19: "MK SI SK", 20: "AT BA EE KZ LT LU XK",
        21: "CH HR LI LV", 22: "AE BG BH CR DE GB GE IE ME RS VA", 23: "GI IL IQ TL",
        24: "AD CZ ES MD PK RO SA SE TN VG", 25: "LY PT ST", 26: "IS TR",
        27: "FR GR IT MC MR SM", 28: "AL AZ BY CY DO GT HU LB PL SV", 29: "BR EG PS QA UA",
        30: "JO KW MU", 31: "MT SC", 32: "LC",
    }.items()
    for code in codes.split()
}  # fmt: skip


def _numbers(text: str) -> Iterator[tuple[int, int, str]]:
    if not _DIGITS.search(text):
        return
    for match in _CARD.finditer(text):
        digits = re.sub(r"\D", "", match.group())
        before = text[max(0, match.start() - 32) : match.start()]
        if (
            _CARD_RANGE.match(digits)
            and _luhn(digits)
            and len(set(digits)) > 1
            and not _OTHER_NUMBER.search(before)
        ):
            yield (*match.span(), "credit_card")
    for match in _IBAN.finditer(text):
        end = _iban_end(text, match.start())
        if end:
            yield match.start(), end, "iban"


def _luhn(digits: str) -> bool:
    """ISO/IEC 7812-1: every second digit from the right doubled, its digits summed."""
    doubled = sum(sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2])
    return (doubled + sum(map(int, digits[-1::-2]))) % 10 == 0


def _iban_end(text: str, start: int) -> int:
    """Where the IBAN that begins at `start` ends; 0 if there is none (ISO 13616, mod 97)."""
    length = _IBAN_LENGTHS.get(text[start : start + 2], 0)
    signs: list[str] = []
    at = start
    while at < len(text) and len(signs) < length:
        char = text[at]
        if char in " -" and text[at - 1] not in " -":
            at += 1
            continue
        if not (char.isascii() and (char.isdigit() or char.isupper())):
            return 0
        signs.append(char)
        at += 1
    if (
        not length
        or len(signs) < length
        or (text[at : at + 1].isascii() and text[at : at + 1].isalnum())
    ):
        return 0
    moved = "".join(signs[4:] + signs[:4])
    return at if int("".join(str(int(char, 36)) for char in moved)) % 97 == 1 else 0
