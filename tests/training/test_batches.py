"""Training on sampled pieces: which vocabularies can, what an epoch is, and what its tokens are."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mt.config import Config
from mt.data.corpus import Corpus
from mt.data.split import Portion, Split
from mt.data.tokenizer.sampling import UnigramSampling
from mt.errors import UserError
from mt.models.seq2seq import Seq2Seq
from mt.training.batches import PendingBatch, epoch_groups, own_generators, total_updates
from mt.training.run import require_fit
from mt.training.start import begin
from mt.training.transforms import require_same_texts, sampled_pieces
from tests.training.runs import batches, finished

OPTIONS = {"bpe": {"bpe_dropout": 0.3}, "unigram": {"unigram_alpha": 0.02}}


@pytest.fixture
def of_kind(prepared: Callable[..., tuple[Config, Corpus]]) -> Callable[..., tuple[Config, Corpus]]:
    """of_kind(kind, ...): pieces of such a vocabulary are sampled."""
    return lambda kind, **training: prepared(kind, (), {**OPTIONS[kind], "batch_tokens": 300, **training})


def rows_of(corpus: Corpus, config: Config, epoch: int) -> list[list[int]]:
    return [row.tolist() for batch in batches(config, corpus, epoch) for pair in batch.examples().pairs for row in pair]


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_an_epoch_has_pieces_of_its_own_and_the_same_texts(kind: str, of_kind: Callable[..., Any]) -> None:
    config, corpus = of_kind(kind)
    rows = {epoch: rows_of(corpus, config, epoch) for epoch in (1, 2)}
    assert rows[1] == rows_of(corpus, config, 1)
    usual = [row.tolist() for pair in corpus.split("train").read(np.arange(240)).pairs for row in pair]
    spelt = corpus.tokenizers.source.decode  # the vocabulary is joint
    assert sorted(map(spelt, rows[1])) == sorted(map(spelt, rows[2])) == sorted(map(spelt, usual))
    assert sorted(rows[1]) != sorted(rows[2]) and sum(map(len, rows[1])) > 1.05 * sum(map(len, usual))
    # The same batch in another epoch, and of another seed.
    made = sampled_pieces(config.training, corpus)
    keys = ((1, 1), (1, 2), (2, 1), (1, 1))
    drawn = [PendingBatch(corpus.split("train"), np.arange(40), made, (*key, 0)).examples()[:2] for key in keys]
    texts = [[row.tolist() for pair in pairs for row in pair] for pairs in drawn]
    assert texts[0] == texts[3] and texts[1] != texts[0] != texts[2]
    # And another batch of the same.
    draws = []

    def drawing(examples: Any, random: np.random.Generator) -> Any:
        draws.append(random.random())
        return examples

    for place in (0, 1, 0):
        PendingBatch(corpus.split("train"), np.arange(place, 3), drawing, (1, 1, 0)).examples()
    assert draws[0] == draws[2] != draws[1]


def test_pieces_that_spell_another_text_are_refused(of_kind: Callable[..., Any], monkeypatch: pytest.MonkeyPatch):
    config, corpus = of_kind("unigram")
    require_same_texts(config.training, corpus)
    monkeypatch.setattr(UnigramSampling, "sample", lambda self, rows, random: [row[1:] for row in rows])
    model = Seq2Seq(config, *corpus.tokenizers.sizes)
    with pytest.raises(UserError, match=r"^pieces of this vocabulary cannot be sampled: '.*' would become '.*'; leave"):
        require_fit(config, corpus, model)


def test_the_tokens_of_an_update_are_those_that_were_sampled(of_kind: Callable[..., Any], tmp_path: Path) -> None:
    config, corpus = of_kind("bpe", epochs=1)
    run = finished(begin(config, corpus, tmp_path / "run"))
    targets = rows_of(corpus, config, 1)[1::2]
    assert run.progress.tokens == sum(map(len, targets)) != corpus.split("train").lengths()[1].sum()


def test_a_model_for_short_sources_is_refused(of_kind: Callable[..., Any]) -> None:
    config, corpus = of_kind("bpe")
    model = Seq2Seq(config, *corpus.tokenizers.sizes)
    model.max_source_length = 30
    with pytest.raises(UserError, match="makes sources longer, and this model reads at most 30 positions"):
        require_fit(config, corpus, model)


@pytest.mark.parametrize("portions", [[(200, 0.01), (40, 1.0)], [(100, 0.37), (140, 0.4)], [(240, 1.0)]])
@pytest.mark.parametrize("max_updates", [None, 50])
def test_the_updates_of_a_run_are_those_of_all_its_epochs(portions, max_updates, configure, corpus):
    """Those of the first epoch, which rounds shares up, are more."""
    split = corpus.split("train")
    mixed = Split(split._table, portions=[Portion(*portion) for portion in portions])
    config = configure({"training": {"epochs": 10, "batch_sentences": 1, "max_updates": max_updates, "plots": 0}})
    counted = sum(1 for epoch in range(1, 11) for _ in epoch_groups(mixed, config, epoch))
    assert total_updates(mixed, config) == min(counted, max_updates or counted)
    longer = config.model_copy(update={"training": config.training.model_copy(update={"epochs": 40})})
    assert total_updates(mixed, longer) == min(4 * counted, max_updates or 4 * counted)


def test_what_draws_beside_training_leaves_its_generators_as_they_are():
    state = torch.get_rng_state()
    with own_generators(1, 2):
        drawn = torch.rand(3)
    assert torch.equal(state, torch.get_rng_state())
    with own_generators(1, 2):
        assert torch.equal(drawn, torch.rand(3))
