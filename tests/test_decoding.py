from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import mt
from mt.config import Config
from mt.data.corpus import Corpus
from mt.decoding import decodes_hard, forced_batches
from mt.errors import UserError
from mt.inference import Translator
from mt.models.attention import ATTENTIONS
from mt.models.seq2seq import Seq2Seq
from mt.search.config import BeamConfig, GreedyConfig, OnlineConfig


@pytest.fixture(scope="module")
def translator(trained: Path) -> Translator:
    return mt.load(trained, device="cpu")


def test_a_wide_beam_takes_fewer_sentences_at_once(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["two cats see houses", "three dogs", "the birds find bridges", "two big dogs"]
    expected, rows, encode = translator.translate(texts), [], translator.model.encode
    monkeypatch.setattr("mt.decoding.MAX_LOGITS", 2 * 3 * len(translator.tokenizers.target))
    monkeypatch.setattr(
        translator.model, "encode", lambda source, mask: rows.append(len(source)) or encode(source, mask)
    )
    found = translator.translate(texts, BeamConfig(beam_size=3))
    assert rows == [2, 2]
    assert all(one.tokens == other.tokens for one, other in zip(found, expected, strict=True))


def test_between_batches_the_caller_computes_as_before(translator: Translator, corpus: Corpus) -> None:
    split = corpus.split("test")
    batches = forced_batches(
        translator.model, split.lengths()[0], split.ids, precision="bf16", hard=False, max_tokens=20
    )
    count = 0
    for indices, batch, loss in batches:
        assert torch.is_grad_enabled() and not torch.is_autocast_enabled("cpu")
        assert len(indices) == len(batch.source) and not loss.sum.requires_grad
        count += 1
    assert count > 1


@pytest.mark.parametrize(
    ("changes", "possible"),
    [
        ({"encoder": {"name": "lstm"}, "decoder": {"readout_size": 32, "init_hidden": "zeros"}}, True),
        ({"encoder": {"name": "bilstm"}, "decoder": {"readout_size": 32, "init_hidden": "zeros"}}, False),
        ({"encoder": {"name": "lstm"}, "decoder": {"readout_size": 32, "init_hidden": "final_state"}}, False),
    ],
)
def test_online_decoding_needs_a_model_that_does_not_read_ahead(
    changes: dict, possible: bool, configure: Callable[..., Config]
) -> None:
    model = Seq2Seq(configure(changes | {"attention": {"name": "monotonic"}}), 9, 9)
    if possible:
        assert decodes_hard(OnlineConfig(), model)
    else:
        with pytest.raises(UserError) as caught:
            decodes_hard(OnlineConfig(), model)
        assert str(caught.value) == (
            "search=online writes while it reads: it needs encoder=lstm (causal), decoder.init_hidden=zeros and an "
            "attention that stops (attention=monotonic, mocha, matcha or milk); train such a model, or choose "
            "search=greedy or search=beam"
        )


@pytest.mark.parametrize("decoder", ["luong", "bahdanau"])
@pytest.mark.parametrize("attention", ATTENTIONS)
def test_what_can_be_read_hard_and_online(attention: str, decoder: str, configure: Callable[..., Config]) -> None:
    options = {"name": decoder, "hidden_size": 8, "readout_size": 32, "init_hidden": "zeros"}
    source = {"name": attention, "context": "last"} if attention == "none" else {"name": attention}
    model = Seq2Seq(
        configure({"encoder": {"name": "lstm", "hidden_size": 8}, "decoder": options, "attention": source}), 9, 9
    )
    reads_hard = attention in {"monotonic", "mocha", "matcha", "milk", "stochastic"}
    assert decodes_hard(GreedyConfig(), model) == reads_hard
    assert not decodes_hard(BeamConfig(mode="soft"), model)
    if reads_hard:
        assert decodes_hard(BeamConfig(mode="hard"), model)
    else:
        with pytest.raises(UserError) as caught:
            decodes_hard(BeamConfig(mode="hard"), model)
        assert str(caught.value) == (
            "search.mode=hard needs an attention that can choose one position, and this model's cannot: choose "
            "search.mode=soft, or train with attention=monotonic, mocha, matcha, milk or stochastic"
        )
    if attention in {"monotonic", "mocha", "matcha", "milk"}:
        assert decodes_hard(OnlineConfig(), model)
    else:
        with pytest.raises(UserError, match="search=online writes while it reads"):
            decodes_hard(OnlineConfig(), model)
