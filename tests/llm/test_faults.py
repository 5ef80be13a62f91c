"""What servers say when a call fails, and whose move it is then."""

from __future__ import annotations

import json
from typing import Any

import pytest

from evimem.errors import (
    BadModelRequest,
    ModelAuthError,
    ModelError,
    ModelServerError,
    PromptTooLong,
    RateLimited,
)
from evimem.llm.faults import Target, detail_of, retry_after, status_error

TARGET = Target(
    model="m-1",
    url="http://h/v1",
    key="sk-1234567890",
    key_from="EVIMEM_LLM_KEY",
    setting="EVIMEM_LLM",
)

# Wordings that servers were seen to use, or document.
TOO_LONG = {
    "openai": (400, "This model's maximum context length is 8192 tokens. However, your messages "
               "resulted in 9000 tokens."),
    "openai code": (400, "Your input is larger than we take. (context_length_exceeded)"),
    "openai new": (400, "Your input exceeds the context window of this model."),
    "openai limit": (400, "Input tokens exceed the configured limit of 272000 tokens."),
    "openai minute": (429, "Request too large for m-1 on tokens per min (TPM): Limit 10, used 0."),
    "vllm": (400, "This model's maximum context length is 4096 tokens and your request has 4200."),
    "vllm new": (400, "The decoder prompt (length 5000) is longer than the maximum model length "
                 "of 4096."),
    "sglang": (400, "The input (5000 tokens) is longer than the model's context length (4096)."),
    "llama.cpp": (400, "request (9000 tokens) exceeds the available context size (4096 tokens), "
                  "try increasing it"),
    "llama.cpp old": (500, "the request exceeds the available context size."),
    "anthropic": (400, "prompt is too long: 210000 tokens > 200000 maximum"),
    "anthropic sum": (400, "input length and `max_tokens` exceed context limit: 190000 + 20000"),
    "anthropic size": (413, "Request exceeds the maximum size"),
    "ollama": (400, "the input length exceeds the context length"),
    "ollama 2": (400, "prompt too long; exceeded max context length by 12 tokens"),
    "proxy": (413, "<html>Request Entity Too Large</html>"),
}  # fmt: skip


@pytest.mark.parametrize("name", TOO_LONG)
def test_a_prompt_that_does_not_fit_is_known_in_every_wording(name: str) -> None:
    status, words = TOO_LONG[name]
    error = status_error(TARGET, status, json.dumps({"error": {"message": words}}), {})
    assert type(error) is PromptTooLong
    assert "send less" in str(error)


@pytest.mark.parametrize(
    ("status", "words", "kind", "told"),
    [
        (401, "Incorrect API key provided", ModelAuthError, "check EVIMEM_LLM_KEY"),
        (403, "Your country is not supported", ModelAuthError, "check EVIMEM_LLM_KEY"),
        (400, "invalid x-api-key", ModelAuthError, "check EVIMEM_LLM_KEY"),
        (429, "Rate limit reached for requests", RateLimited, "EVIMEM_LLM_PARALLEL"),
        (429, "You exceeded your current quota", RateLimited, "billing"),
        (400, "Your credit balance is too low", RateLimited, "billing"),
        (402, "pay first", RateLimited, "billing"),
        (408, "timed out", ModelServerError, "try again"),
        (500, "boom", ModelServerError, "try again"),
        (503, "Loading model", ModelServerError, "try again"),
        (529, "Overloaded", ModelServerError, "try again"),
        (404, "The model `m-1` does not exist", BadModelRequest, "EVIMEM_LLM_MODEL"),
        (400, "m-9 is not a valid model ID. Unknown model", BadModelRequest, "EVIMEM_LLM_MODEL"),
        (404, "Not Found", BadModelRequest, "check EVIMEM_LLM_URL"),
        (405, "Method Not Allowed", BadModelRequest, "check EVIMEM_LLM_URL"),
        (422, "field required", BadModelRequest, "refuses the request"),
        (418, "", BadModelRequest, "refuses"),
        (301, "", BadModelRequest, "redirects to nowhere"),
        (400, "max_tokens must be above 0", BadModelRequest, "refuses the request"),
        (400, "the conversation context is of a bad form", BadModelRequest, "refuses"),
    ],
)
def test_a_status_and_its_words_become_the_error_whose_move_it_is(
    status: int, words: str, kind: type[ModelError], told: str
) -> None:
    error = status_error(TARGET, status, json.dumps({"error": {"message": words}}), {})
    assert type(error) is kind
    assert told in str(error)
    assert "'m-1' at http://h/v1" in str(error)
    assert f"HTTP {status}" in str(error)


def test_no_quota_is_told_apart_from_too_many_calls() -> None:
    body = json.dumps({"error": {"message": "quota", "code": "insufficient_quota"}})
    no_quota = status_error(TARGET, 429, body, {"retry-after": "3"})
    too_many = status_error(TARGET, 429, "slow down", {"retry-after": "3"})
    assert isinstance(no_quota, RateLimited)
    assert isinstance(too_many, RateLimited)
    assert (no_quota.quota, too_many.quota) == (True, False)
    assert too_many.retry_after == 3.0
    overloaded = status_error(TARGET, 529, "busy", {"retry-after": "9"})
    assert isinstance(overloaded, ModelServerError)
    assert overloaded.retry_after == 9.0


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "0.25"}, 0.25),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "-4"}, 0.0),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        (
            {
                "retry-after": "Wed, 21 Oct 2015 07:28:30 GMT",
                "date": "Wed, 21 Oct 2015 07:28:00 GMT",
            },
            30.0,
        ),
        (
            {
                "retry-after": "Wed, 21 Oct 2015 07:27:30 GMT",
                "date": "Wed, 21 Oct 2015 07:28:00 GMT",
            },
            0.0,
        ),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:30 GMT"}, None),
    ],
)
def test_how_long_to_wait_is_read_as_seconds_milliseconds_or_date(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert retry_after(headers) == seconds


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"error": {"message": "m", "code": "c", "type": "t"}}, "m (c, t)"),
        ({"error": "plain"}, "plain"),
        ({"detail": "fast"}, "fast"),
        ({"message": "flat", "code": 400}, "flat"),
        ({"error": {"code": 1}}, '{"error": {"code": 1}}'),
        ({"error": [1]}, '{"error": [1]}'),
        ([1], "[1]"),
    ],
)
def test_the_message_of_an_error_is_found_in_every_form(body: Any, words: str) -> None:
    assert detail_of(json.dumps(body)) == words


def test_a_message_is_one_short_line_without_the_key() -> None:
    error = status_error(TARGET, 500, "a\n\n" + "x" * 9000 + " sk-1234567890", {})
    assert len(str(error)) < 600
    assert "\n" not in str(error)
    assert "sk-1234567890" not in str(status_error(TARGET, 500, "see sk-1234567890", {}))
    assert "sk-1234567890" not in repr(TARGET)
