import pytest

from mt.data.tokenizer import TokenizerConfig, train

TEXTS = ["The small House is old.", "We see the old houses.", "Ein Haus, zwei Häuser."] * 3


@pytest.mark.parametrize("lowercase", [False, True])
def test_the_same_text_gives_the_same_model(lowercase: bool) -> None:
    config = TokenizerConfig(vocab_size=60, lowercase=lowercase)
    assert train(config, TEXTS).model == train(config, TEXTS).model
