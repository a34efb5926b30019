"""Models of somebody else's."""

import io
from collections.abc import Callable
from typing import Any

import pytest
import sentencepiece

from mt.data.tokenizer import Tokenizer, TokenizerConfig, train

Foreign = Callable[..., tuple[Tokenizer, sentencepiece.SentencePieceProcessor]]


@pytest.fixture(scope="session")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Foreign:
    """Has SentencePiece itself learn a model of texts: returns it as `model_file` takes it, and as it is."""

    def made(texts: list[str], **options: Any) -> tuple[Tokenizer, sentencepiece.SentencePieceProcessor]:
        path = tmp_path_factory.mktemp("foreign") / "own.model"
        model = io.BytesIO()
        options = {"hard_vocab_limit": False, "minloglevel": 2, **options}
        sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(texts), model_writer=model, **options)
        path.write_bytes(model.getvalue())
        ours = train(TokenizerConfig(model_file=str(path)), [])
        return ours, sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())

    return made
