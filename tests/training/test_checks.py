from collections.abc import Callable
from pathlib import Path

import pytest

from mt.config import Config
from mt.data.corpus import Corpus
from mt.errors import UserError
from mt.models.seq2seq import Seq2Seq
from mt.training.run import chosen_metric, require_fit, require_measured, require_short


@pytest.mark.parametrize(
    ("metrics", "metric", "expected"),
    [
        (["bleu"], None, "bleu"),
        (["chrf", "bleu"], None, "chrf"),
        (["rouge"], None, "rougeL"),
        (["bleu"], "loss", "loss"),
    ],
)
def test_what_chooses_the_best(
    metrics: list[str], metric: str | None, expected: str, configure: Callable[..., Config], texts: Path
) -> None:
    dataset = {"source": "en", "target": "de", "folder": str(texts), "metrics": metrics}
    config = configure({"dataset": dataset, "training": {"metric": metric}})
    assert chosen_metric(config) == expected
    require_measured(config, Seq2Seq(config, 9, 9))


def test_an_unknown_metric_is_refused_with_the_nearest(configure: Callable[..., Config]) -> None:
    config = configure({"training": {"metric": "belu"}})
    with pytest.raises(UserError) as caught:
        require_measured(config, Seq2Seq(config, 9, 9))
    assert str(caught.value) == ("training.metric=belu is not measured: did you mean bleu? choices: bleu, chrf, loss")
    mocha = configure({"training": {"metric": "bleu_hard"}, "attention": {"name": "mocha"}})
    require_measured(mocha, Seq2Seq(mocha, 9, 9))


def test_a_corpus_with_longer_sources_than_the_model_reads_is_refused(
    configure: Callable[..., Config], corpus: Corpus
) -> None:
    lengths = {name: corpus.split(name).lengths()[0].tolist() for name in ("train", "dev", "test")}
    longest = max(lengths["train"])
    assert longest == max(max(of_split) for of_split in lengths.values())

    def fit(limit: int) -> None:
        config = configure({"attention": {"name": "location", "max_source_length": limit}})
        require_fit(config, corpus, Seq2Seq(config, *(len(side) for side in corpus.tokenizers)))

    fit(longest)
    with pytest.raises(UserError) as caught:
        fit(longest - 1)
    assert str(caught.value) == (
        f"source {lengths['train'].index(longest) + 1} of train has {longest} tokens, and this model reads at most "
        f"{longest - 1}: raise max_source_length of the attention, its energy or the encoder, whichever limits, or "
        "lower dataset.cleaning.max_length"
    )


def test_a_model_without_a_limit_reads_any_corpus(configure: Callable[..., Config], corpus: Corpus) -> None:
    require_short(corpus, Seq2Seq(configure(), *(len(side) for side in corpus.tokenizers)))
