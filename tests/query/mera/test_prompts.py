"""No rule of the paper is lost from a prompt, and a prompt's words change only with its version."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from evimem.llm.schema import check, check_schema
from evimem.model.chat import ChatRequest
from evimem.model.prompt import Prompt
from evimem.query.mera.prompts import answer, plan, seed, verify

SNAPSHOTS = Path(__file__).parent / "snapshots"
WRITE = os.environ.get("EVIMEM_WRITE_SNAPSHOTS") == "1"  # read before tests clear the settings

FLAT = (plan.FLAT, verify.FLAT, answer.FLAT)
PROMPTS = (seed.PROMPT, plan.PROMPT, verify.PROMPT, answer.PROMPT, *FLAT)

RULES = {
    "mera.seed": {"salient", "only-question", "types", "data"},
    "mera.plan": {
        "compare", "sufficient", "intents", "intent-form", "one-thing", "anchors", "global",
        "no-repeat", "data", "graph", "closed",
    },
    "mera.verify": {
        "every", "useful", "bridge", "enough", "reference", "two-times", "handles", "data",
        "accepted-only", "nodes", "relations", "attributes", "when", "calculate", "invalid",
        "nothing",
    },
    "mera.answer": {
        "evidence-only", "cite", "short", "covered", "abstain", "times", "vague", "reference",
        "current", "combine", "data", "calculations",
    },
}  # fmt: skip
"""What each prompt must say, by the sections 3.3, 3.4, A.2 and A.3 of the paper."""

GRAPH_ONLY = {
    "mera.plan": {"graph", "closed"},
    "mera.verify": {
        "accepted-only", "nodes", "relations", "attributes", "when", "calculate", "invalid",
        "nothing",
    },
    "mera.answer": {"calculations"},
}  # fmt: skip


@pytest.mark.parametrize("prompt", PROMPTS, ids=lambda p: p.name)
def test_every_rule_stands_in_the_prompt_and_none_is_missing(prompt: Prompt) -> None:
    base = prompt.name.removesuffix(".flat")
    wanted = RULES[base] - (GRAPH_ONLY[base] if prompt.name.endswith(".flat") else set())
    assert set(prompt.rules) == wanted
    for sentence in prompt.rules.values():
        assert sentence in prompt.system


@pytest.mark.parametrize("flat", FLAT, ids=lambda p: p.name)
def test_mera_49_the_flat_prompts_speak_of_no_graph(flat: Prompt) -> None:
    assert "graph" not in flat.system.casefold()


def requests() -> dict[str, ChatRequest]:
    return {
        "seed": seed.render("Where did Ines run?"),
        "plan": plan.render("STATE", graph=True),
        "plan_flat": plan.render("STATE", graph=False),
        "verify": verify.render(
            "Where did Ines run?",
            state="STATE",
            candidates="c1: a record",
            reference="2024-05-01",
            graph=True,
        ),
        "verify_flat": verify.render(
            "Where did Ines run?", state="", candidates="c1: a record", reference="", graph=False
        ),
        "answer": answer.render(
            "Where did Ines run?", graph="GRAPH", records="e1: a record", reference="2024-05-01"
        ),
        "answer_flat": answer.render("Where did Ines run?", graph=None, records="", reference=""),
    }


def written(request: ChatRequest) -> str:
    """Everything of a request that a model or a ledger sees."""
    told = [f"{request.prompt}  role {request.role}  max_tokens {request.max_tokens}"]
    told += [f"--- {message.role}\n{message.text}" for message in request.messages]
    told.append("--- schema\n" + json.dumps(request.schema, indent=1, sort_keys=True))
    return "\n".join(told) + "\n"


@pytest.mark.parametrize("name", sorted(requests()))
def test_the_rendered_prompt_is_the_one_on_file(name: str) -> None:
    """A change of words needs a new version: raise it, then write the files anew by running this
    test with EVIMEM_WRITE_SNAPSHOTS=1."""
    request = requests()[name]
    file = SNAPSHOTS / f"{name}.txt"
    if WRITE:
        file.parent.mkdir(exist_ok=True)
        file.write_text(written(request), encoding="utf-8")
    kept = file.read_text(encoding="utf-8")
    assert written(request) == kept


@pytest.mark.parametrize("name", sorted(requests()))
def test_schemas_are_portable_and_their_examples_fit(name: str) -> None:
    request = requests()[name]
    assert request.schema is not None
    check_schema(request.schema)
    checked = check(request.example, request.schema)
    assert (checked.problems, checked.rejected, checked.notes) == ((), (), ())


def test_mera_95_the_reference_date_stands_in_verifier_and_answer_prompts() -> None:
    given = requests()
    for name in ("verify", "answer"):
        assert "Reference date of the question: 2024-05-01" in given[name].messages[-1].text


def test_mera_48_an_answer_without_evidence_may_say_so() -> None:
    request = requests()["answer_flat"]
    assert "Accepted records:\n(none)" in request.messages[-1].text
    assert "Not mentioned" in request.messages[0].text
    schema: Any = request.schema
    assert "none" in schema["properties"]["covered"]["enum"]
