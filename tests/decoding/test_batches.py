import re
import statistics
from collections.abc import Callable, Iterable

import numpy as np
import pytest
import torch

import mt
from mt.config import Config
from mt.data.corpus import Corpus
from mt.data.fields import ImageConfig, ImageField
from mt.data.tokenizer import EOS
from mt.decoding.forced import forced_batches
from mt.decoding.modes import extends, require_extending, unmet
from mt.decoding.torch_network import MAX_LOGITS, TorchNetwork
from mt.decoding.translator import Translator
from mt.device import has_bfloat16
from mt.errors import UserError
from mt.models.attention import ATTENTIONS
from mt.models.encoders import ENCODERS
from mt.models.seq2seq import Seq2Seq
from mt.search.config import BeamConfig, GreedyConfig, OnlineConfig, WaitKConfig
from tests.decoding.decoded import decode_ids
from tests.models.small import small


def test_a_wide_beam_takes_fewer_sentences_at_once(translator: Translator) -> None:
    rows = [[5, 6, EOS]] * 5_000
    sizes = {}
    for beam_size in (1, 1000):
        batches = translator.network.batches(rows, BeamConfig(beam_size=beam_size, batch_tokens=100_000))
        assert sorted(index for batch in batches for index in batch) == list(range(len(rows)))
        sizes[beam_size] = [len(batch) for batch in batches]
    most = MAX_LOGITS // (1000 * len(translator.tokenizers.target))
    assert sizes[1] == [5_000] and max(sizes[1000]) <= most < 5_000 < 2 * most * len(sizes[1000])


@pytest.mark.parametrize("name", ["general", "marginal"])
def test_no_text_that_shows_anything_makes_no_batch(name: str, translator: Translator) -> None:
    network = TorchNetwork(small(attention={"name": name}), translator.field, vocab_size=20)
    assert network.batches([], BeamConfig()) == []


def test_between_batches_the_caller_computes_as_before(translator: Translator, corpus: Corpus) -> None:
    split = corpus.split("test")
    size = len(translator.tokenizers.target)
    network = TorchNetwork(translator.model, translator.field, vocab_size=size, precision="bf16")
    batches = forced_batches(
        network, *split.lengths(), lambda indices: split.read(indices).pairs, GreedyConfig(mode="soft"), max_tokens=20
    )
    count = 0
    for indices, batch, loss in batches:
        assert torch.is_grad_enabled() and not torch.is_autocast_enabled("cpu")
        assert len(indices) == len(batch.source) and not loss.sum.requires_grad
        count += 1
    assert count > 1


def in_words(names: Iterable[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} or {last}"


READING = in_words(name for name, kind in ENCODERS.items() if kind.incremental)
CAUSAL = f"an encoder that does not read the whole source first (encoder={READING})"
WAITING = in_words(name for name, kind in ATTENTIONS.items() if kind.supports_wait_k)
SOFT = f"a soft attention that knows nothing of the source's length (attention={WAITING})"


@pytest.mark.parametrize(
    ("search", "changes", "lacking"),
    [
        *((OnlineConfig(), {"encoder": {"name": name}}, CAUSAL) for name in ("bilstm", "bigru", "bissru")),
        (OnlineConfig(), {"decoder": {"readout_size": 32}}, "decoder.init_hidden=zeros"),
        *((WaitKConfig(), {"attention": {"name": name}}, SOFT) for name in ("local_p", "milk", "stochastic")),
        (WaitKConfig(), {"encoder": {"name": "bilstm"}}, CAUSAL),
        (WaitKConfig(), {"decoder": {"readout_size": 32}}, "decoder.init_hidden=zeros"),
    ],
)
def test_a_search_that_writes_while_it_reads_says_what_a_model_lacks(search, changes, lacking, configure):
    """And nothing that it has."""
    usual = {"encoder": {"name": "lstm"}, "decoder": {"readout_size": 32, "init_hidden": "zeros"}}
    usual["attention"] = {"name": "monotonic" if isinstance(search, OnlineConfig) else "bahdanau"}
    model = Seq2Seq(configure(usual | changes), 9, 9)
    with pytest.raises(UserError, match=rf"^search={search.name} .*: it needs {re.escape(lacking)}; train such a"):
        require_extending(search, model)
    assert not extends(search, model)


def test_what_a_model_lacks_may_be_a_new_attention(monkeypatch, configure):
    monkeypatch.setitem(ATTENTIONS, "newest", ATTENTIONS["dot"])
    model = Seq2Seq(configure({"attention": {"name": "local_p"}}), 9, 9)
    assert unmet(model, wait_k=True).endswith(" or newest)") and "newest" not in unmet(model, wait_k=False)


SOURCES = [[5, 6, 7, 8, 9, 3], [8, 3], [7, 5, 9, 3], [6, 6, 8, 9, 5, 7, 5, 8, 3]]


def random_model(configure: Callable[..., Config], encoder: dict, attention: dict) -> Seq2Seq:
    decoder = {"readout_size": 32, "hidden_size": 32, "init_hidden": "zeros"}
    torch.manual_seed(3)
    return Seq2Seq(configure({"encoder": encoder, "attention": attention, "decoder": decoder}), 10, 12).eval()


@pytest.mark.parametrize(
    ("search", "attention", "same"),
    [
        (OnlineConfig(), "milk", True),
        (WaitKConfig(), "general", True),
        (GreedyConfig(), "general", not has_bfloat16(torch.device("cpu"))),
    ],
)
def test_online_decoding_is_in_float32_whatever_the_run_is(search, attention, same, configure):
    model = random_model(configure, {"name": "lstm", "hidden_size": 32}, {"name": attention})
    full, half = (decode_ids(model, SOURCES, search, vocab_size=12, precision=kind) for kind in ("fp32", "bf16"))
    assert ([best.log_prob for (best,) in full] == [best.log_prob for (best,) in half]) == same


@pytest.mark.parametrize("run", ["trained", "trained_hard"])
@pytest.mark.parametrize("search", [GreedyConfig(), BeamConfig(beam_size=3)], ids=["greedy", "beam"])
def test_steps_of_search_in_int8(run, search, request, corpus):
    """Nearly the same is found; where targets are given, nothing is rounded."""
    folder = request.getfixturevalue(run)
    sources = corpus.split("test").column("source")
    exact, rough = (mt.load(folder, device="cpu", precision=precision) for precision in ("fp32", "int8"))
    ours, theirs = (translator.translate(sources, search=search) for translator in (rough, exact))
    assert statistics.mean(one.text == other.text for one, other in zip(ours, theirs, strict=True)) > 0.8
    assert any(one.score != other.score for one, other in zip(ours, theirs, strict=True))
    texts = [translation.text for translation in theirs]
    assert rough.align(sources, texts) == exact.align(sources, texts)


@pytest.mark.parametrize("size", [32, 64, 128])
def test_a_caption_may_be_as_long_as_the_places_of_its_picture_allow(size: int) -> None:
    """A field counts a picture in squares of its own size; a search counts the vectors that the front-end makes."""
    model = small(10, 10, frontend={"name": "image", "channels": 8}, encoder={"name": "none"}).eval()
    with torch.no_grad():
        model.decoder.output.bias[EOS] = -1e9  # so that nothing but the limit ends a caption
    pictures = [np.zeros((size, size, 3), np.uint8)] * 2
    search = GreedyConfig(max_ratio=1.0, max_extra=1)
    field = ImageField(ImageConfig(size=size))
    result = decode_ids(model, pictures, search, vocab_size=10, field=field)
    assert [len(best.tokens) for (best,) in result] == [(size // 8) ** 2 + 1] * 2
