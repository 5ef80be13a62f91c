"""The prompts of the episode builder: no rule lost, the wording on file, schemas that any server
takes."""

from __future__ import annotations

import json
import os
from datetime import timedelta
from pathlib import Path

import pytest
from episode_world import BEGIN, shown, talk

from evimem.build.prompts import compare, merge, narrate, predict, segment
from evimem.build.prompts.dialogue import READING_RULES, day_of, shortened
from evimem.llm.schema import check, check_schema
from evimem.model.chat import ChatRequest
from evimem.model.prompt import Prompt

SNAPSHOTS = Path(__file__).with_name("episode_prompts")
WRITE = os.environ.get("EVIMEM_WRITE_SNAPSHOTS") == "1"  # read before tests clear the settings

PROMPTS = (
    segment.PROMPT, narrate.PROMPT, merge.DECIDE, merge.JOIN, predict.PROMPT, compare.COMPARE,
    compare.COLD,
)  # fmt: skip
MUST_SAY = {
    "episodes.segment": {"when in doubt split", "not contiguous", "size", "every message once"},
    "episodes.narrate": {"third person", "dates in brackets", "title", "nothing invented"},
    "episodes.merge": {"same", "new", "number"},
    "episodes.join": {"both", "third person", "dates"},
    "episodes.predict": {"from what is known", "only known"},
    "episodes.compare": {
        "only new", "persistent", "self-contained", "no dates", "numbers", "prediction is no source"
    },
    "episodes.learn": {"persistent", "self-contained", "no dates", "numbers", "P086 whose"},
}  # fmt: skip
"""What each must say (baselines, NEMORI)."""


def requests() -> dict[str, ChatRequest]:
    """One request of each prompt."""
    turns = [
        *talk("I gave Paul a violin yesterday.", "Nice! [picture: a violin]"),
        *talk("He liked it.", first=2, said_at=BEGIN + timedelta(days=1)),
    ]
    one = {"title": "A violin", "narrative": "Ana looks for one.", "date": "2031-03-05 (Wednesday)"}
    two = {"title": "A gift", "narrative": "Ana gave it.", "date": "2031-03-12 (Wednesday)"}
    return {
        "segment": segment.render(turns),
        "narrate": narrate.render(turns, topic="a violin"),
        "merge": merge.render_decide(two, [one]),
        "join": merge.render_join(one, two),
        "predict": predict.render("A gift", ["Ana has a brother Paul"]),
        "compare": compare.render(turns, prediction="Ana spoke of Paul."),
        "learn": compare.render(turns, prediction=None),
    }


@pytest.mark.parametrize("prompt", PROMPTS, ids=lambda prompt: prompt.name)
def test_nemori_every_rule_stands_in_its_prompt_and_none_is_missing(prompt: Prompt) -> None:
    for name, sentence in prompt.rules.items():
        assert sentence in prompt.system, name
    assert MUST_SAY[prompt.name] <= set(prompt.rules)
    assert READING_RULES["P085 data"] in prompt.system
    assert "Reply with JSON only" in prompt.system.splitlines()[-1]


@pytest.mark.parametrize("name", sorted(requests()))
def test_the_rendered_prompt_is_the_one_on_file(name: str) -> None:
    """A change of words needs a new version: raise it, then write the files anew by running this
    test with EVIMEM_WRITE_SNAPSHOTS=1."""
    request = requests()[name]
    told = [f"{request.prompt}  role {request.role}  max_tokens {request.max_tokens}"]
    told += [f"--- {message.role}\n{message.text}" for message in request.messages]
    told.append("--- schema\n" + json.dumps(request.schema, indent=1))
    written = "\n".join(told) + "\n"
    file = SNAPSHOTS / f"{name}.txt"
    if WRITE:
        file.parent.mkdir(exist_ok=True)
        file.write_text(written, encoding="utf-8")
    assert written == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sorted(requests()))
def test_schemas_are_portable_and_examples_and_stated_forms_fit_them(name: str) -> None:
    request = requests()[name]
    assert request.schema is not None
    check_schema(request.schema)
    form = json.loads(request.messages[0].text.partition("Reply with JSON only: ")[2])
    for reply in (request.example, form):
        checked = check(reply, request.schema)
        assert (checked.problems, checked.rejected, checked.notes) == ((), (), ())


def test_mera_73_the_calls_are_offline_and_what_changes_the_store_counts_as_update() -> None:
    phases = {name: request.phase for name, request in requests().items()}
    assert {name for name, phase in phases.items() if phase == "update"} == {"merge", "join"}
    assert set(phases.values()) == {"summary", "update"}
    assert {request.role for request in requests().values()} == {"extract"}
    assert all(request.temperature == 0 for request in requests().values())


def test_an_example_that_is_copied_names_nothing_of_the_conversation() -> None:
    """The names and days of the examples stand in no rule that a model fills in by habit."""
    for request in requests().values():
        assert "Ines" not in request.messages[0].text + request.messages[1].text


def test_nemori_a_prediction_sees_the_title_and_what_is_known_and_no_message() -> None:
    assert shown(requests()["predict"]) == {
        "title": "A gift", "known": ["Ana has a brother Paul"],
    }  # fmt: skip


def test_messages_are_numbered_from_one_and_only_another_day_is_told_again() -> None:
    seen = shown(requests()["compare"])
    assert [one["n"] for one in seen["messages"]] == [1, 2, 3]
    assert seen["date"] == "2031-03-12 (Wednesday)"
    assert [one.get("date") for one in seen["messages"]] == [None, None, "2031-03-13 (Thursday)"]


@pytest.mark.parametrize("offset", range(7))
def test_days_carry_the_weekday_they_are(offset: int) -> None:
    names = ("Wednesday", "Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday")
    turn = talk("Hi.", said_at=BEGIN + timedelta(days=offset))[0]
    assert day_of(turn) == f"2031-03-{12 + offset} ({names[offset]})"


def test_a_long_text_keeps_begin_and_end() -> None:
    text = "a" * 500 + "b" * 500
    short = shortened(text, 90)
    assert short == "a" * 60 + " ... " + "b" * 30
    assert shortened("a" * 90, 90) == "a" * 90


def test_the_ceilings_grow_with_the_words_between_two_bounds() -> None:
    for render in (
        lambda words: narrate.render(talk(words)),
        lambda words: compare.render(talk(words), prediction=None),
        lambda words: merge.render_join({"narrative": words}, {"narrative": ""}),
    ):
        sizes = [render("word " * count).max_tokens for count in (1, 600, 1200, 100_000)]
        assert sizes == sorted(sizes) and len(set(sizes)) > 2
        assert sizes[-1] == render("word " * 200_000).max_tokens


def test_the_choice_sees_long_narratives_in_short_and_the_joint_telling_whole() -> None:
    long = {"title": "A", "narrative": "begin " + "word " * 2000 + "end", "date": "unknown"}
    seen = shown(merge.render_decide(long, [long]))
    assert max(len(one["narrative"]) for one in (seen["new"], *seen["stored"])) < 1600
    assert shown(merge.render_join(long, long))["later"] == long
