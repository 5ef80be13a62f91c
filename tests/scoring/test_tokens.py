"""The token estimate holds from above against a real tokenizer, script by script."""

from __future__ import annotations

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from evimem.scoring.tokens import estimate_tokens

SENTENCES = {
    "en": "We bought tomatoes, flour and a second-hand bicycle for $45 at the market yesterday.",
    "de": "Gestern ärgerte uns die Geschwindigkeitsbegrenzung auf der neuen Umgehungsstraße.",
    "pl": "Wczoraj poszłam z siostrą na targ i kupiłyśmy pomidory oraz używany rower.",
    "ru": "Вчера мы с сестрой купили на рынке помидоры и подержанный велосипед.",
    "el": "Χθες πήγα στην αγορά με την αδελφή μου και αγοράσαμε ντομάτες.",
    "ja": "昨日は妹と一緒に市場へ行って、トマトと中古の自転車を買いました。",
    "zh": "昨天我和妹妹一起去菜市場，買了番茄和一輛二手腳踏車。",
    "ko": "어제 여동생과 함께 시장에 가서 토마토와 중고 자전거를 샀습니다.",
    "th": "เมื่อวานฉันไปตลาดกับน้องสาวและเราซื้อมะเขือเทศ",
    "hi": "कल मैं अपनी बहन के साथ बाज़ार गई और हमने टमाटर खरीदे।",
    "emoji": "😀🎉👩‍👩‍👧‍👦🏳️‍🌈🚲🥳",
}
# Counts by the worst of four public tokenizers (64k to 200k entries), measured once by us.
MEASURED = {
    "en": 19,
    "de": 27,
    "pl": 35,
    "ru": 38,
    "el": 67,
    "ja": 41,
    "zh": 42,
    "ko": 39,
    "th": 78,
    "hi": 58,
    "emoji": 38,
}


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    """A byte-level BPE trained on sentences that are like the measured ones, and not them."""
    texts = [
        "今日は友達と図書館へ行って、本を二冊借りました。天気がとても良かったです。",
        "週末に家族で海へ行きました。子供たちは砂浜で遊んで、夕方に帰りました。",
        "来月から新しい仕事が始まります。少し緊張していますが、楽しみです。",
    ]
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=1200,
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    bpe.train_from_iterator(texts * 3, trainer)
    return bpe


def test_case_p055_four_thousand_japanese_characters_stay_within_a_budget_of_two_thousand(
    tokenizer: Tokenizer,
) -> None:
    text = "今日は友達と海へ行って、夕方に帰りました。天気が良かったです。" * 130
    text = text[:4000]
    assert len(text) / 4 < 2000 < estimate_tokens(text)  # characters / 4 would have let it all in
    packed = text
    while estimate_tokens(packed) > 2000:
        packed = packed[:-20]
    assert 1000 < len(packed) < 2000
    assert len(tokenizer.encode(packed).ids) <= 2000


@pytest.mark.parametrize(("language", "tokens"), MEASURED.items())
def test_case_p055_estimate_is_not_below_measured_counts(language: str, tokens: int) -> None:
    assert tokens <= estimate_tokens(SENTENCES[language]) <= 1.6 * tokens


@pytest.mark.parametrize("language", SENTENCES)
def test_estimate_never_exceeds_the_bytes_and_is_never_below_a_sixth_of_the_characters(
    language: str,
) -> None:
    text = SENTENCES[language]
    assert len(text) / 6 <= estimate_tokens(text) <= len(text.encode()) + 1


def test_edges() -> None:
    assert estimate_tokens("") == 0
    assert estimate_tokens("a") == 1
    assert estimate_tokens("\ud800") >= 1  # a lone surrogate
    assert estimate_tokens("\x00") >= 1
    assert estimate_tokens("2023-05-08 13:56") >= 9
    assert estimate_tokens("a" * 1_000_000) >= 250_000


def test_estimate_of_a_whole_is_at_most_the_sum_of_its_parts() -> None:
    lines = list(SENTENCES.values())
    assert estimate_tokens("\n".join(lines[:1] * 3)) <= 3 * (estimate_tokens(lines[0]) + 1)
