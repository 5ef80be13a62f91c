"""What a failed HTTP call of a model server means: whose move it is, told with what to do.

Servers tell the same thing in many words. Known ones are recognised by their wording here, in one
place; the rest goes by the status code.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime

from evimem.errors import (
    BadModelRequest,
    ModelAuthError,
    ModelError,
    ModelServerError,
    PromptTooLong,
    RateLimited,
)
from evimem.model.turn import JsonValue

__all__ = [
    "Target",
    "detail_of",
    "error_in_body",
    "no_tools",
    "refuses_tools",
    "retry_after",
    "setting_name",
    "status_error",
]

_SHOWN = 300

# "maximum context length is 4096 tokens" (OpenAI, vLLM), "longer than the model's context length"
# (SGLang), "exceeds the available context size" (llama.cpp), "prompt is too long", "exceed context
# limit" (Anthropic), "input length exceeds the context length" (Ollama), "longer than the maximum
# model length" (vLLM), "exceed the configured limit of 272000 tokens" (OpenAI).
_TOO_LONG = re.compile(
    r"maximum context length|context_length_exceeded|maximum model length"
    r"|exceed\w*[^.]{0,60}context|context (?:length|window|size|limit)[^.]{0,40}exceed"
    r"|(?:longer|larger|greater) than the (?:model'?s |maximum )*context"
    r"|(?:prompt|input|request)(?: is| are)? too (?:long|large)"
    r"|too many (?:input |prompt )?tokens|(?:input|prompt) tokens exceed",
    re.I,
)
_NO_QUOTA = re.compile(
    r"insufficient[_ ](?:quota|balance|credit|fund)|exceeded your current quota"
    r"|credit balance is too low|billing|out of credits",
    re.I,
)
_NO_MODEL = re.compile(
    r"model[^.]{0,200}(?:not found|does not exist|not exist|unknown|no such|not available)"
    r"|model_not_found|(?:unknown|invalid|no such) model|not_found_error[^.]{0,40}model",
    re.I,
)
_BAD_KEY = re.compile(r"(?:invalid|incorrect|missing|no)[_ ](?:x-)?api[-_ ]key", re.I)

# "does not support tools" (Ollama), "tools param requires --jinja flag" (llama.cpp), ""auto" tool
# choice requires --enable-auto-tool-choice" (vLLM), "No endpoints found that support tool use"
# (OpenRouter), "tools: Extra inputs are not permitted" (servers that know no such field).
_TOOLS = re.compile(r"\btools?\b|tool[_ -]?(?:calls?|choice|use|calling)|function[_ -]?call", re.I)
# With a failure of the server (500) it must also say so: "error parsing tool call" is about the
# reply that the model wrote, and another try may bring a better one.
_NOT_TAKEN = re.compile(
    r"not support|unsupported|requires?\b|not (?:enabled|available|permitted|allowed)|--jinja"
    r"|not implemented|disabled",
    re.I,
)


def setting_name(setting: str, field_name: str) -> str:
    """A field of an endpoint as the reader has to set it: "EVIMEM_LLM_URL", or "url of
    [endpoints.NAME]"."""
    if setting.startswith("["):
        return f"{field_name} of {setting}"
    return f"{setting}_{field_name.upper()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Who is called: what an error message may say of it, and the key, which it may not."""

    model: str
    """The model's name at the server."""
    url: str
    """Base URL, without credentials."""
    key: str = field(default="", repr=False)
    """The key; empty for servers that want none."""
    key_from: str = ""
    """Where the key comes from, such as EVIMEM_LLM_KEY: what an error tells to set."""
    setting: str = "EVIMEM_LLM"
    """How the settings call this endpoint: "EVIMEM_LLM" or "[endpoints.NAME]"."""

    def where(self, field_name: str) -> str:
        """The setting to change, by its full name."""
        return setting_name(self.setting, field_name)

    def clean(self, text: str) -> str:
        """`text` without the key, on one line and shortened."""
        line = " ".join(text.split())
        if len(self.key) > 3:  # "x" for a server that wants none is no secret
            line = line.replace(self.key, "[key]")
        return line if len(line) <= _SHOWN else line[:_SHOWN] + "..."

    def __str__(self) -> str:
        return f"model {self.model!r} at {self.url}"


def status_error(target: Target, status: int, text: str, headers: Mapping[str, str]) -> ModelError:
    """The error for a reply with a status of 300 or more.

    Args:
        target: who answered.
        status: the HTTP status.
        text: the body as text.
        headers: HTTP headers, names in lower case.
    """
    detail = detail_of(text)
    told = f"{target}: HTTP {status}: {target.clean(detail) or 'no message'}"
    if status == 402 or (status in (400, 403, 429) and _NO_QUOTA.search(detail)):
        return RateLimited(
            f"{told}. No quota or credit is left: look at the plan and billing of the account; "
            "waiting does not help",
            quota=True,
        )
    if status == 413 or (_TOO_LONG.search(detail) and status in (400, 422, 429, 500)):
        return PromptTooLong(
            f"{told}. The prompt does not fit: send less, or give the server a larger window and "
            f"say so ({target.where('context')})"
        )
    if status in (401, 403) or (status == 400 and _BAD_KEY.search(detail)):
        return ModelAuthError(
            f"{told}. The key is missing, wrong or not allowed to use this model: check "
            f"{target.key_from or target.where('key')}"
        )
    if status == 429:
        wait = retry_after(headers)
        asked = f"; it asks to wait {wait:g} s" if wait is not None else ""
        return RateLimited(
            f"{told}. Too many calls{asked}: lower the calls at a time "
            f"({target.where('parallel')}) if it goes on",
            retry_after=wait,
        )
    if status in (408, 409, 425) or status >= 500:
        return ModelServerError(
            f"{told}. The server failed: try again, or look at its log",
            retry_after=retry_after(headers),
        )
    return _refused(target, status, detail, headers, told)


def _refused(
    target: Target, status: int, detail: str, headers: Mapping[str, str], told: str
) -> BadModelRequest:
    if status < 400:
        to = target.clean(headers.get("location", "nowhere"))
        return BadModelRequest(
            f"{told}. The server redirects to {to}, and redirects are not followed because the "
            f"key would go along: set {target.where('url')} to the real address"
        )
    if _NO_MODEL.search(detail):
        return BadModelRequest(
            f"{told}. The server does not know the model: set one that it serves "
            f"({target.where('model')})"
        )
    if status in (404, 405):
        return BadModelRequest(
            f"{told}. Nothing answers at this address: check {target.where('url')} (kind "
            f"openai wants .../v1) and {target.where('kind')}"
        )
    return BadModelRequest(f"{told}. The server refuses the request as it stands")


def refuses_tools(target: Target, error: ModelError) -> bool:
    """True if a server's refusal or failure is about tools as such."""
    said = str(error).removeprefix(str(target)).replace(target.model, "")
    if not _TOOLS.search(said):
        return False
    if isinstance(error, ModelServerError):
        return bool(_NOT_TAKEN.search(said))
    return isinstance(error, BadModelRequest)


def no_tools(target: Target, error: ModelError) -> BadModelRequest:
    """The error for a server that takes no tools, with what to do."""
    said = str(error).removeprefix(f"{target}: ").partition(". The server")[0]
    return BadModelRequest(
        f"{target} takes no native tool calls as it is set up ({said}): use the text protocol, in "
        "which the model writes its calls as words (recipe unimem in place of unimem-native), or "
        "switch tool calls on in the server (vLLM: --enable-auto-tool-choice with "
        "--tool-call-parser; llama.cpp: --jinja), or take a model that has them"
    )


def error_in_body(target: Target, body: Mapping[str, JsonValue]) -> ModelError:
    """The error for a body that came with status 200 and holds no reply: some servers put their
    errors there."""
    text = json.dumps(body, ensure_ascii=False)
    error = body.get("error")
    if error:
        code = error.get("code") if isinstance(error, dict) else None
        status = code if isinstance(code, int) and 400 <= code <= 599 else 500
        return status_error(target, status, text, {})
    return ModelServerError(
        f"{target}: the reply has no message in it ({target.clean(text)!r}): try again, or check "
        f"{target.where('kind')}"
    )


def detail_of(text: str) -> str:
    """The message in an error body: `error.message` with its code and type, `error`, `message`,
    `detail`, or the body as it is."""
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if not isinstance(body, dict):
        return text
    error = body.get("error", body)
    if isinstance(error, str):
        return error
    if not isinstance(error, dict):
        return text
    words = error.get("message") or error.get("detail") or error.get("error")
    marks = [error[name] for name in ("code", "type", "param") if isinstance(error.get(name), str)]
    if not isinstance(words, str) or not (words or marks):
        return text
    return f"{words} ({', '.join(marks)})" if marks else words


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that the server asks to wait; None if it says nothing readable.

    Takes `retry-after-ms`, and `retry-after` as seconds or as an HTTP date. A date counts from
    the reply's own `date`, so no clock of this machine is needed.
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * unit
        except ValueError:
            continue
        if math.isfinite(seconds):
            return max(0.0, seconds)
    try:
        until = parsedate_to_datetime(headers["retry-after"])
        return max(0.0, (until - parsedate_to_datetime(headers["date"])).total_seconds())
    except (KeyError, ValueError, TypeError, OverflowError):
        return None
