"""The fewest tokens that a prompt can have, and when a count tells of a silent cut."""

from __future__ import annotations

import pytest

from evimem.llm.window import fewest_tokens, was_cut

# Texts of ours, and the tokens that Qwen2.5's tokenizer (152k entries, among the terser ones) has
# for six repeats of each: `usage.prompt_tokens` of llama.cpp less those of the chat template.
COUNTED = [
    ("The boat left early, and nobody on the quay waved at us. ", 91),
    ("Er wohnt seit dem Frühjahr in einem Haus am Waldrand und geht oft schwimmen. ", 145),
    ("船は朝早く港を出て、誰も手を振らなかった。", 96),
    ("他去年春天搬到了森林边上的一座房子里，现在每天早上都去游泳。", 114),
    ("그는 지난봄부터 숲 가장자리에 있는 집에서 산다. ", 109),
    ("वह पिछले वसंत से जंगल के किनारे एक घर में रहता है। ", 276),
    ("เขาอาศัยอยู่ในบ้านริมป่าตั้งแต่ฤดูใบไม้ผลิ", 156),
    ("هو يعيش في بيت على حافة الغابة منذ الربيع. ", 91),
    ("Он живёт в доме на опушке леса с прошлой весны. ", 128),
    ('{"id": "e1", "when": "2023-05-08", "n": 1234567} ', 205),
    ("def f(x): return x.value_of[camelCase] + 12\n", 102),
    ("internationalization counterrevolutionary the of and in to ", 61),
]


@pytest.mark.parametrize(("text", "counted"), COUNTED)
def test_the_bound_stays_below_what_a_real_tokenizer_counts(text: str, counted: int) -> None:
    assert 0 < fewest_tokens([text * 6]) <= counted * 0.8
    assert not was_cut(fewest=fewest_tokens([text * 600]), counted=counted * 100)
    assert was_cut(fewest=fewest_tokens([text * 600]), counted=counted * 10)


def test_the_bound_is_worked_out_by_hand() -> None:
    assert fewest_tokens(["one two, three-four"]) == 4
    assert fewest_tokens(["a" * 25 + " " + "1" * 10]) == 4
    assert fewest_tokens(["森" * 10]) == 4
    assert fewest_tokens(["ab森森森森森"]) == 3
    assert fewest_tokens(["", " \n", "--"]) == 0


@pytest.mark.parametrize("script", ["word ", "слово ", "שלום ", "森林", "のはら", "숲속 "])
def test_case_p016_a_cut_to_a_quarter_is_seen_in_every_script(script: str) -> None:
    fewest = fewest_tokens([script * 4000])
    assert was_cut(fewest=fewest, counted=fewest // 4)
    assert not was_cut(fewest=fewest, counted=fewest)


def test_a_server_that_counts_nothing_and_a_short_prompt_are_never_judged() -> None:
    assert not was_cut(fewest=9000, counted=0)
    assert not was_cut(fewest=70, counted=3)
