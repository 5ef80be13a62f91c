"""The final answer in a reply, and what counts as a refusal to answer."""

from __future__ import annotations

import time

import pytest

from evimem.query.qemem.reply import MAX_ANSWER, declines, final_answer

REPLIES = {
    "as asked": ("REASONING: Mira says so.\nFINAL ANSWER: Pavel", "Pavel"),
    "one line": ("REASONING: she says so. FINAL ANSWER: Pavel", "Pavel"),
    "lower case": ("final answer: Pavel", "Pavel"),
    "bold mark": ("**FINAL ANSWER:** Pavel", "Pavel"),
    "bold line": ("**FINAL ANSWER: Pavel**", "Pavel"),
    "heading": ("## FINAL ANSWER:\nPavel", "Pavel"),
    "underscores": ("__Final Answer__: _Pavel_", "Pavel"),
    "code": ("FINAL ANSWER: `Pavel`", "Pavel"),
    "quotes": ('FINAL ANSWER: "Pavel"', "Pavel"),
    "two quoted": ('FINAL ANSWER: "Kiln" and "Wheel"', '"Kiln" and "Wheel"'),
    "brackets": ("FINAL ANSWER: <Pavel>", "Pavel"),
    "blank before colon": ("FINAL ANSWER : Pavel", "Pavel"),
    "several marks": ("FINAL ANSWER: Jon\nNo, wait.\nFINAL ANSWER: Pavel", "Pavel"),
    "mark in thought": ("<think>FINAL ANSWER: Jon</think>\nFINAL ANSWER: Pavel", "Pavel"),
    "only in thought": ("<think>FINAL ANSWER: Jon</think>\nPavel", "Pavel"),
    "thought without beginning": ("Jon? FINAL ANSWER: Jon\n</think>\nPavel", "Pavel"),
    "thought without end": ("<think>so the FINAL ANSWER: Jon", ""),
    "thinking tags": ("<thinking>Jon</thinking>FINAL ANSWER: Pavel", "Pavel"),
    "text behind": ("FINAL ANSWER: Pavel\n\nLet me know if you need more.", "Pavel"),
    "next line": ("FINAL ANSWER:\n\nPavel", "Pavel"),
    "list": ("FINAL ANSWER:\n- a kiln\n- a wheel\n- a shed", "a kiln, a wheel, a shed"),
    "starred list": ("FINAL ANSWER:\n* a kiln\n* a wheel", "a kiln, a wheel"),
    "numbered list": ("FINAL ANSWER:\n1. a kiln\n2) a wheel", "a kiln, a wheel"),
    "list of one": ("FINAL ANSWER:\n- a kiln", "a kiln"),
    "a day with a point": ("FINAL ANSWER: 3. May", "3. May"),
    "wrapped": ("FINAL ANSWER: the kiln that\nPavel had", "the kiln that Pavel had"),
    "a number": ("FINAL ANSWER: 3", "3"),
    "a decimal": ("FINAL ANSWER: 3.5 kg", "3.5 kg"),
    "a time": ("FINAL ANSWER: 10:30", "10:30"),
    "no mark": ("REASONING: she says so.\nPavel", "Pavel"),
    "no mark, one line": ("REASONING: it was Pavel", "it was Pavel"),
    "no mark, no label": ("Pavel", "Pavel"),
    "nothing behind the mark": ("It was Pavel.\nFINAL ANSWER:", "It was Pavel."),
    "only a mark": ("FINAL ANSWER:", ""),
    "empty": ("", ""),
    "blank": (" \n\t ", ""),
    "marks only": ("**\n__", ""),
    "endless": ("FINAL ANSWER: " + "word " * 9000, ("word " * 9000)[:MAX_ANSWER]),
}


@pytest.mark.parametrize("name", REPLIES)
def test_qem_27_the_final_answer_is_read_out_of_the_reply(name: str) -> None:
    reply, answer = REPLIES[name]
    assert final_answer(reply).strip() == answer.strip()


DECLINING = (
    "",
    " . ",
    "Unknown",
    "Unclear.",
    "N/A",
    "Not mentioned",
    "Not specified in the conversation.",
    "Not found in memory",
    "Not in memory.",
    "Not stated in the memories",
    "None mentioned",
    "No information",
    "No information available.",
    "No relevant information about this",
    "There is no information about her brother in the conversation.",
    "There is no mention of a wedding",
    "No evidence found",
    "No such event is mentioned",
    "No record of a trip to Oslo",
    "The conversation contains no record of that",
    "The conversation does not mention her brother",
    "The memories don't say when",
    "The provided evidence does not specify the year",
    "It does not say",
    "Mira does not mention a price",
    "Jon never mentioned in the memories",
    "The date is not known",
    "The price was not given",
    "It isn't specified",
    "Her age wasn’t mentioned",
    "This was never discussed",
    "Cannot be determined",
    "It cannot be determined from the evidence",
    "The year can't be determined.",
    "This could not be confirmed",
    "I cannot determine this",
    "I can't tell from this",
    "I don't know",
    "Don't know",
    "I do not have that information",
    "Unable to determine",
    "Cannot answer the question",
    "It is impossible to say",
    "Insufficient information",
    "Not enough information to answer",
    "Unclear from the conversation",
    "It is unclear who bought it",
    "I'm sorry, but I can't help with that.",
    "Sorry, there is nothing about that",
    "I cannot assist with this request",
)

ANSWERING = (
    "No",
    "No.",
    "Yes",
    "None",
    "Nothing",
    "Never",
    "Nobody",
    "Probably no",
    "Probably not",
    "Probably no; she dislikes cold water",
    "Likely not",
    "No longer a vegan",
    "Not yet",
    "Not In Kansas",
    "Not in Kansas, in Nebraska",
    "No Country for Old Men",
    "No Doubt",
    "The Unknown Citizen",
    "Unknown Pleasures",
    "Unclear Skies",
    "Data entry",
    "Information technology",
    "An information session",
    "No sugar",
    "No, she never mentioned it",
    "No, the kiln was not found",
    "Yes, though it is not known when",
    "She did not tell her brother",
    "He did not say goodbye",
    "She never mentioned it to him",
    "He was not given the job",
    "She was not known to him",
    "He could not find his keys",
    "Couldn't find a babysitter",
    "She cannot tell them apart",
    "He couldn't say no to her",
    "She was unable to answer the phone",
    "Because he does not know how to swim",
    "She is not available on Mondays",
    "Not available on Mondays",
    "He lost his memory",
    "A record player",
    "The record shop did not have it",
    "There was no answer at the door",
    "Records by the Beatles",
    "It is not stated directly, but probably Lisbon",
    "The year is not mentioned; most likely 2029",
    "Not specified, however she likes cats",
    "No data plan",
    "A memory of the sea",
    "It did not rain",
    "Sorry, by Madonna",
    "He was sorry that he missed it",
    "They do not get along",
    "The date is not stated, and " + "then she talked of many other things " * 5,
)


@pytest.mark.parametrize("answer", DECLINING)
def test_qem_28_a_refusal_is_known(answer: str) -> None:
    assert declines(answer)
    assert declines(answer.upper())


@pytest.mark.parametrize("answer", ANSWERING)
def test_qem_28_an_answer_with_a_no_in_it_is_no_refusal(answer: str) -> None:
    assert not declines(answer)


@pytest.mark.parametrize(
    "text", ["no " * 20_000, "not in the " * 9000, "n't" * 30_000, "<think>" * 9000, "*_ " * 30_000]
)
def test_hostile_replies_are_read_in_no_time(text: str) -> None:
    begun = time.process_time()
    declines(text)
    final_answer(text)
    final_answer(f"FINAL ANSWER: {text}")
    assert time.process_time() - begun < 1
