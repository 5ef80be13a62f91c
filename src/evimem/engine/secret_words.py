"""Secrets that the words around them give away: "my password is ...", `API_KEY=...`, "PIN: ...".

A keyword is looked for first; only then is the little that follows it (or stands before it, as in
"... is my password") read. How much a value must look like a secret depends on the keyword and on
how it is tied to it: behind `password=` nearly everything counts, behind "the password is" an
ordinary word does not, behind "token" only what nobody would write as a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["is_secret_name", "secrets_named_in_words"]

Found = tuple[int, int, str]

_PASSWORD = (
    r"passwords?|passwd|passcode|password|pgpassword|sshpass|pwd|pswd|passwort|kennwort"
    r"|contraseña|contrasena|mot\sde\spasse|senha|wachtwoord|hasło|пароль|密码|密碼|口令"
    r"|パスワード|비밀번호"
)
_PHRASE = r"pass[ _-]?phrase|(?:seed|recovery|mnemonic|secret|backup)\sphrase|mnemonic"
_KEY = (
    r"api[ _-]?(?:key|token|secret)|secret[ _-]?(?:access[ _-]?)?(?:key|token)|client[ _-]?secret"
    r"|(?:access|auth|refresh|session|bearer|bot|deploy|personal[ _-]access|id)[ _-]?token"
    r"|(?:access|private|signing|encryption|account|shared[ _-]access|master|license)[ _-]?key"
    r"|_authtoken|webhook[ _-]?secret|app[ _-]?secret|signing[ _-]?secret"
)
_LOOSE = r"secret|token|credentials?|auth|passkey"
_PIN = r"pin(?:[ -]?(?:code|number|no\.?))?|puk|cvv2?|cvc2?|card\ssecurity\scode"
_SHORT = r"pass|pw|psw"  # keywords only right before a sign or "is": "pw: ..."

_EDGE = r"(?:(?<![^\W_])|(?<=[a-z])(?=[A-Z]))"  # a word's beginning, also dbPassword, DB_PASSWORD
_KEYWORD = re.compile(
    f"{_EDGE}(?i:(?P<password>{_PASSWORD})|(?P<phrase>{_PHRASE})|(?P<key>{_KEY})"
    rf"|(?P<loose>{_LOOSE})|(?P<pin>{_PIN})"
    rf"|(?P<short>{_SHORT})(?=[\"'*]{{0,3}}[ \t]?[:=]|[ \t](?:is|was)[ \t]))(?:\d{{1,2}})?"
    r"(?:(?![^\W_]|_[^\W_])|(?=[は는은是为為]))"
)
_HINTS = (
    "pass", "pwd", "pswd", "pw", "psw", "kennwort", "contrase", "senha", "wachtwoord", "hasło",
    "пароль", "密", "口令", "パスワード", "비밀번호", "phrase", "mnemonic", "key", "token",
    "secret", "credential", "auth", "pin", "puk", "cvv", "cvc", "security code",
)  # fmt: skip

_IS = (
    r"is|are|was|were|will\sbe|should\sbe|must\sbe|equals|reads|ist|war|lautet|est|es|era|é|è|"
    r"será|это"
)
_GAP = (  # "for the old laptop"
    r"(?:[ \t]{1,3}(?:for|to|of|on|at|in|with|from|für|de|del|para|pour|do|da)"
    r"(?:[ \t]{1,3}[\w'’.@/-]{1,30}+){1,6}?|[ \t]?\([^()\n]{1,40}\))?"
)
_SIGN = re.compile(
    rf"[\"'*`\])]{{0,3}}{_GAP}[\"'*`\])]{{0,3}}[ \t]{{0,8}}"
    r"(?P<sign>=>|:=|={1,2}|[:：＝|]|(?<=[ \t])[-–—](?=[ \t]))"
    r"[*`]{0,3}[ \t]{0,8}(?:\r?\n[ \t]{0,8})?"
)
_VERB = re.compile(
    rf"[\"'*`]{{0,2}}{_GAP}(?:,?[ \t]{{1,3}}(?:still|now|just|simply|currently|also))?[ \t]{{1,3}}"
    rf"(?i:{_IS})(?:[ \t]{{1,3}}(?:still|now|just|simply|currently|also|actually|called"
    r"|(?:set|changed|reset|updated)\sto))?[ \t]{0,3}:?[ \t]{1,3}"
    r"|['’]s[ \t]{1,3}|[ \t]{0,2}(?:是|は|는|은|为|為)[ \t:：]{0,3}"
)
_DIRECT = re.compile(r",?[ \t]{1,3}(?:(?P<to>(?:back\s)?to)[ \t]{1,3}|as[ \t]{1,3}|of[ \t]{1,3})?")
_WHOSE = r"(?:my|the|our|your|his|her|their)[ \t]{1,3}(?:[\w'’-]{1,20}[ \t]{1,3}){0,3}$"
_CHANGED = re.compile(
    rf"(?:set|change|changed|changing|reset|update|updated)[ \t]{{1,3}}{_WHOSE}",
    re.IGNORECASE,
)
_OWNED = re.compile(
    r"\b(?:my|our|your|his|her|their)[ \t](?:[\w'’-]{1,20}[ \t]){0,2}$", re.IGNORECASE
)
_NO_WORD = re.compile(  # "Boarding pass: ..."
    r"(?:boarding|season|day|daily|weekly|monthly|annual|bus|train|rail|travel|museum|ski|hall|press"
    r"|mountain|first|second|guest|forward|backward|by)[ _-]$",
    re.IGNORECASE,
)
_MORE = re.compile(
    r"[\"'`”]?(?:[ \t]{0,3},[ \t]{1,3}(?:(?:and|or)[ \t])?|[ \t]{1,3}(?:and|or)[ \t]{1,3})"
)
_BEFORE = re.compile(
    rf"(?<!\S)(\S{{4,64}})[ \t]{{1,3}}(?:is|was|as|for)[ \t]{{1,3}}{_WHOSE}", re.IGNORECASE
)

_QUOTED = re.compile(r"([\"'`“„«‘「])([^\"'`”“»’」\n]{1,256})[\"'`”“»’」]")
_BARE = re.compile(r"[^\s\"'`“”„«»「」，。、；]{1,256}+")
_PIN_VALUE = re.compile(r"[\"'*]{0,2}(\d{3,8})(?![\w%€$]|[.,:/-]\d)")
_PHRASE_VALUE = re.compile(r"[\"'“]?([^\W\d_]{2,12}(?:[ ,]{1,2}[^\W\d_]{2,12}){3,23})(?![\w'’])")

_REDACTED = "[REDACTED:"
_PLACEHOLDER = re.compile(
    r"[<{%\[(-]|\$(?!\d)|//|\*+$|[xX]{3,}+$|[.…_-]+$|(?:none|null|nil|true|false|undefined|n/a|tbd|todo|empty"
    r"|changeme|your[_-].*|my[_-]?(?:password|secret|token|key)|example.*|redacted|hidden"
    r"|process\.env.*|os\.(?:environ|getenv).*|getenv.*|env\(.*|getpass.*|input\(.*|secrets\..*"
    r"|string|str|optional.*|required|password|passwd|token|secret|key)$",
    re.IGNORECASE,
)
_CODE = re.compile(
    r"[A-Za-z_]\w{0,40}(?:(?:\.|->|::)[A-Za-z_]\w{0,40}){0,4}[(\[]|[A-Za-z_]\w{0,40}(?:(?:\.|->|::)[a-z_]{1,40}){1,4}$"
    r"|[a-z_]{1,40}=$|(?:[A-Za-z]{1,20}_){1,4}(?i:key|password|passwd|secret|token)$"
)
_DATE = re.compile(r"\d{1,4}[./:-]\d{1,2}(?:[./:-]\d{1,4})?$")
_COUNT = re.compile(
    r"[£$€¥₹]\d[\d.,]*$|\d{1,4}(?:st|nd|rd|th|[kKmMgGsxh%]|ms|min|hrs?|days?|px|kb|mb|gb)?$"
)
_URL = re.compile(r"(?:https?|ftp|ssh|file)://|www\.", re.IGNORECASE)
_CLAUSE_END = re.compile(
    r"[*\"'`”)\]}]{0,3}(?:[.,;!?|…)]|[ \t]{0,8}(?:$|\r?\n)"
    r"|[ \t]{1,3}(?:and|or|but|for|if|on|at|in|so|then|please|pls|thanks|thx|btw|not|user|username"
    r"|login|pin)\b)",
    re.IGNORECASE,
)
_ENDINGS = re.compile(r"(?:ed|ing|ly|able|ible|less|ful|ive|ous|ical|tion|n't|n’t)$")
_ORDINARY = frozenset(  # what stands behind "the password is" in sentences that give none away
    """
    a about above absent actually adequate after again all almost alphanumeric already also
    always an and another any anybody anything as at bad based because been before being below
    best better between big blank both broken but by called can case case-sensitive characters
    chars clean clear close common compact complex compulsory confidential cool correct
    correctly could crap critical current das days dead default definitely der die different
    difficult digits done down due easy eight eighteen ein eine either el encrypted enough even
    ever every everybody everyone everything expired extra fake falsch false fine for forever
    forgotten free fresh from full funny garbage geheim generic gibberish given gone good great
    hard hashed her here hers hidden his hours how human i if ill important importante
    impossible in inadequate incorrect incorrecta insecure inside insufficient invalid
    irrelevant it its just kept key known la last later le leaked least length less letters like
    likely local locked long longer lost lower made mandatory many max maximum maybe me mine
    minimum minutes missing mixed more most much must muy my named necessary needed needs neuf
    never new next nice nicht no nobody none nonsense not nothing now null numbers nécessaire
    obligatoire obligatoria obvious off ok okay old on once one only open optional or other our
    ours out out-of-date outdated over own part pas pending per perfect permanent personal plain
    please poor possible present pretty private probably public purely quite random rather ready
    really recent redundant required reset richtig right safe salted same secret secure
    sensitive sent separate set shared short shorter should shown similar simple simply since
    six sixteen so some somebody someone something somewhat somewhere soon stale static still
    stolen stored strong stronger stupid such sufficient super sure symbols tab taken temporary
    ten terrible than that the their theirs them then there these they things this those three
    thus to today too top totally tough tricky true très twelve twenty two ugly un una unchanged
    under une unique unknown unlikely until unusual up up-to-date upon upper us useless valid
    very via visible vital wait was way we weak weaker weeks well were what whatever when where
    which while who why wichtig wide will with within without words written wrong yes yet you
    your yours zero zu
    """.split()  # noqa: SIM905  # readable as words
)


def is_secret_name(name: str) -> bool:
    """True if a field of that name ("password", "apiKey", "client_secret") holds a secret."""
    match = _KEYWORD.search(name + ":")
    return match is not None and match.end() == len(name) and match.lastgroup != "loose"


def secrets_named_in_words(text: str, lowered: str) -> Iterator[Found]:
    """Spans and kinds of the values that keywords point to.

    Args:
        text: the text.
        lowered: the text in lower case, for the hints.
    """
    if not any(hint in lowered for hint in _HINTS):
        return
    for match in _KEYWORD.finditer(text):
        sort = match.lastgroup or ""
        if sort == "pin":
            found = _pin(text, match)
        elif sort == "phrase" and (phrase := _phrase(text, match.end())):
            found = (*phrase, "passphrase")
        else:
            found = _value(text, match, sort)
        if found is not None:
            yield found
            if match.group().endswith("s"):
                yield from _further(text, *found[1:])


def _value(text: str, match: re.Match[str], sort: str) -> Found | None:
    kind = {"key": "api_key", "loose": "token", "phrase": "passphrase"}.get(sort, "password")
    if sign := _SIGN.match(text, match.end()):
        if sort == "short" and _NO_WORD.search(text, max(0, match.start() - 12), match.start()):
            return None
        tight = sign.group("sign") not in ("|", "：", "-", "–", "—") and "\n" not in sign.group()
        span = _read(text, sign.end())
        if span and _assigned(text, span, sort, tight=tight):
            return (*span[:2], kind)
        return None
    begin = max(0, match.start() - 140)
    if verb := _VERB.match(text, match.end()):
        span = _read(text, verb.end())
        if sort == "short" and not _OWNED.search(text, begin, match.start()):
            return None
        return (*span[:2], kind) if span and _said(text, span, sort) else None
    if found := _direct(text, match, sort):
        return (*found, kind)
    if sort != "loose":
        before = _BEFORE.search(text, begin, match.start())
        if before and _odd(before.group(1), least=4):
            return (*before.span(1), kind)
    return None


def _direct(text: str, match: re.Match[str], sort: str) -> tuple[int, int] | None:
    """A value right behind the keyword, or behind "changed my password to"."""
    direct = _DIRECT.match(text, match.end()) if sort in ("password", "key") else None
    span = _read(text, direct.end()) if direct is not None else None
    if direct is None or span is None:
        return None
    if _odd(text[span[0] : span[1]], least=6 if sort == "password" else 16):
        return span[:2]
    begin = max(0, match.start() - 140)
    changed = direct.group("to") and _CHANGED.search(text, begin, match.start())
    return span[:2] if changed and _said(text, span, sort) else None


def _further(text: str, end: int, kind: str) -> Iterator[Found]:
    """What is listed after the first of several: "... and ...", as long as it is no word."""
    while more := _MORE.match(text, end):
        span = _read(text, more.end())
        if span is None or not _odd(text[span[0] : span[1]], least=5):
            return
        yield (*span[:2], kind)
        end = span[1]


def _read(text: str, at: int) -> tuple[int, int, bool] | None:
    """The value at a place: its span and whether it is in quotes; closing marks are left out."""
    if quoted := _QUOTED.match(text, at):
        return (*quoted.span(2), True)
    bare = _BARE.match(text, at)
    if bare is None:
        return None
    end = bare.end()
    while end > at and text[end - 1] in ".,;:)]}>*|?":
        end -= 1
    return (at, end, False) if end > at else None


def _assigned(text: str, span: tuple[int, int, bool], sort: str, *, tight: bool) -> bool:
    """Whether a value behind a sign is a secret."""
    value, quoted = text[span[0] : span[1]], span[2]
    if _harmless(value) or _URL.match(value):
        return False
    if sort in ("loose", "short") or not tight:
        return _odd(value, least=8 if sort == "loose" else 4)
    if sort == "key":
        return len(value) >= 8 and (not _wordlike(value) or (quoted and len(value) >= 12))
    if len(value) < 3 or (value.isdigit() and len(value) < 4):
        return False
    if _wordlike(value):
        return not _plain_sentence(text, span)
    return " " not in value or quoted


def _said(text: str, span: tuple[int, int, bool], sort: str) -> bool:
    """Whether a value behind "is" is a secret."""
    value, quoted = text[span[0] : span[1]], span[2]
    if _harmless(value) or _URL.match(value):
        return False
    if sort in ("loose", "key", "short"):
        return _odd(value, least=4 if sort == "short" else 8)
    if quoted:
        return len(value) >= 3 and value.count(" ") <= 5 and value.lower() not in _ORDINARY
    if value.isdigit():
        return len(value) >= 4
    return _odd(value, least=4) or (_wordlike(value) and not _plain_sentence(text, span))


def _plain_sentence(text: str, span: tuple[int, int, bool]) -> bool:
    """True if a word reads as a part of the sentence ("is important"), not as a secret."""
    word = text[span[0] : span[1]].lower()
    if word in _ORDINARY or len(word) < 4:
        return True
    if span[2]:
        return False
    return bool(_ENDINGS.search(word)) or not _CLAUSE_END.match(text, span[1])


def _wordlike(value: str) -> bool:
    """Letters, with hyphens or apostrophes inside at most, as words are written."""
    letters = re.sub(r"['’-]", "", value)
    return letters.isalpha() and (letters[1:].islower() or letters.isupper())


def _odd(value: str, *, least: int) -> bool:
    """True for what nobody writes as a word, a number, a date or a file's name."""
    if len(value) < least or _harmless(value) or _URL.match(value) or _wordlike(value):
        return False
    if _DATE.match(value) or _COUNT.match(value) or "/" in value[:2]:
        return False
    letters = any(map(str.isalpha, value))
    digits = sum(map(str.isdigit, value))
    if not letters:
        return digits >= max(least, 6) and value.isdigit()
    mixed = value != value.lower() and not value[1:].islower() and not value.isupper()
    symbols = bool(re.search(r"[!@#$%^&*+=~?]", value.strip("!?")))
    return digits > 0 or symbols or (mixed and len(value) >= 8)


def _harmless(value: str) -> bool:
    """Markers, stand-ins and pieces of a program."""
    return bool(value.startswith(_REDACTED) or _PLACEHOLDER.match(value) or _CODE.match(value))


def _pin(text: str, match: re.Match[str]) -> Found | None:
    word = match.group("pin")
    card = word[0] in "cC"
    tie = _SIGN.match(text, match.end()) or _VERB.match(text, match.end())
    if tie is None and (word.isupper() or " " in word or card):
        tie = _DIRECT.match(text, match.end())
    value = _PIN_VALUE.match(text, tie.end()) if tie is not None else None
    if value is None or (not card and len(value.group(1)) < 4):
        return None
    return (*value.span(1), "card_code" if card else "pin")


def _phrase(text: str, at: int) -> tuple[int, int] | None:
    """A phrase of four to 24 words behind a sign or "is", few of them function words."""
    tie = _SIGN.match(text, at) or _VERB.match(text, at)
    found = _PHRASE_VALUE.match(text, tie.end()) if tie is not None else None
    if found is None:
        return None
    words = re.split(r"[ ,]+", found.group(1).lower())
    ordinary = sum(word in _ORDINARY for word in words)
    return None if ordinary > len(words) // 4 else found.span(1)
