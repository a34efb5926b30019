"""A split whose references are another form of what the model writes is scored as if they were that text itself."""

import unicodedata
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from mt.config import Config
from mt.data.corpus import Corpus
from mt.data.split import Examples, Split
from mt.data.tokenizer import Tokenizer, TokenizerConfig, Tokenizers, train
from mt.data.tokenizer.processor import ModelProto
from mt.decoding.load import load
from mt.decoding.runs import torch_translator
from mt.decoding.translation import Translation
from mt.decoding.translator import Translator
from mt.evaluation.score import evaluate, simultaneous
from mt.evaluation.timing import timing_scores
from mt.metrics.latency import score_latency
from mt.models.seq2seq import Seq2Seq
from mt.search.config import GreedyConfig
from mt.search.hypothesis import EMPTY

MEASURED = ("bleu", "chrf", "ter", "wer", "cer", "accuracy", "rouge")
ERRORS = ("ter", "wer", "cer")


class Referenced:
    """A split with other references, or other texts of the targets."""

    def __init__(self, split: Split, references: list[str], times: str = "") -> None:
        self._split = split
        self._references = references
        self._times = times

    def __len__(self) -> int:
        return len(self._references)

    def column(self, name: str) -> list:
        others = {"references": [[text] for text in self._references], "target": self._references}
        return others.get(name) or self._split.column(name)[: len(self)]

    def read(self, indices: np.ndarray) -> Examples:
        return self._split.read(indices)

    def times(self) -> list[str]:
        return [self._times] * len(self)


def measuring(translator: Translator, *, lowercase: bool = False) -> Translator:
    config = translator.config
    dataset = config.dataset.model_copy(update={"metrics": MEASURED})
    translator.config = config.model_copy(update={"dataset": dataset})
    if lowercase:
        source, target = translator.tokenizers
        translator.tokenizers = Tokenizers(source, lowercasing(target))
    return translator


def lowercasing(tokenizer: Tokenizer) -> Tokenizer:
    """The same pieces, of texts in lower case."""
    lower = train(TokenizerConfig(model_type="char", lowercase=True), ["a"])
    proto = ModelProto.FromString(tokenizer.model)
    proto.normalizer_spec.CopyFrom(ModelProto.FromString(lower.model).normalizer_spec)
    return Tokenizer(proto.SerializeToString())


@pytest.mark.parametrize(
    ("form", "lowercase"),
    [
        (lambda text: unicodedata.normalize("NFD", text), False),
        (lambda text: text.replace(" ", "\u00a0"), False),
        (lambda text: text.replace(" ", "\u3000"), False),
        (lambda text: text.replace(" ", "\t"), False),
        (str.title, True),
    ],
    ids=["decomposed", "no-break", "ideographic", "tab", "capitals"],
)
def test_what_a_model_writes_is_right_in_every_form(form, lowercase, trained: Path, corpus: Corpus) -> None:
    translator = measuring(load(trained, device="cpu"), lowercase=lowercase)
    split = corpus.split("dev")
    written = [one.text for one in translator.translate(split.column("source"), GreedyConfig())]
    references = [f"grün {text} {i} spät" for i, text in enumerate(written)]
    plain = evaluate(translator, Referenced(split, references), GreedyConfig()).values()
    assert (
        evaluate(translator, Referenced(split, [form(text) for text in references]), GreedyConfig()).values() == plain
    )
    scores = evaluate(translator, Referenced(split, [form(text) for text in written]), GreedyConfig()).scores
    for name, score in scores.items():
        assert score.score == pytest.approx(0 if name in ERRORS else 100)
        assert not lowercase or "case:lc" in score.signature or "case:lower" in score.signature


def test_a_log_holds_the_reference_that_is_compared() -> None:
    translation = Translation(
        "a b", 0.0, (), (), EMPTY, word_delays=(1, 2), words_read=np.array([1, 2]), source_words=2
    )
    [instance] = simultaneous([translation], ["x y"], [["e\u0301\u00a0f\tg"]], "word")
    assert instance.reference == "é f g\n"
    assert score_latency([instance])["ap"].score == pytest.approx(3 / (2 * 3))


def test_units_of_a_sound_are_right_without_regard_to_case(configure: Callable[..., Config], corpus: Corpus) -> None:
    config = configure({})
    translator = torch_translator(
        Seq2Seq(config, *(len(side) for side in corpus.tokenizers)), corpus.tokenizers, config
    )
    [ids] = corpus.tokenizers.target.encode([corpus.split("dev").column("target")[0].lower()])
    text = corpus.tokenizers.target.decode(ids)
    words = text.split()
    translation = Translation(
        text, 0.0, (), (), EMPTY, words_read=np.full(len(ids), 500), source_words=900, ids=tuple(ids)
    )
    split = Referenced(corpus.split("dev"), [text.title()], " ".join("100-200" for _ in words))
    cased = timing_scores(measuring(translator), [translation], split)
    scores = timing_scores(measuring(translator, lowercase=True), [translation], split)
    assert (
        scores["emission_ms"].signature.startswith(f"n:{len(words)}|")
        and "|case:lc|" in scores["emission_ms"].signature
    )
    # Punctuation and numbers have no case.
    assert int(cased["emission_ms"].signature[2:].partition("|")[0]) < len(words)
