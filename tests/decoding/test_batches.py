from collections.abc import Callable

import numpy as np
import pytest
import torch

from mt.config import Config
from mt.data.batches import fixed_order
from mt.data.corpus import Corpus
from mt.data.tokenizer import EOS
from mt.decoding.forced import forced_batches
from mt.decoding.modes import reads_hard, require_compatible, require_wait_k
from mt.decoding.torch_network import MAX_LOGITS, TorchNetwork
from mt.decoding.translator import Translator
from mt.device import has_bfloat16
from mt.errors import UserError
from mt.models.attention import ATTENTIONS
from mt.models.seq2seq import Seq2Seq
from mt.search.config import BeamConfig, GreedyConfig, OnlineConfig, SearchConfig, WaitKConfig
from tests.decoding.decoded import decode_ids
from tests.marks import combined


def test_a_wide_beam_takes_fewer_sentences_at_once(translator: Translator) -> None:
    rows = [[5, 6, EOS]] * 5_000
    sizes = {}
    for beam_size in (1, 1000):
        batches = translator.network.batches(rows, BeamConfig(beam_size=beam_size, batch_tokens=100_000))
        assert sorted(index for batch in batches for index in batch) == list(range(len(rows)))
        sizes[beam_size] = [len(batch) for batch in batches]
    most = MAX_LOGITS // (1000 * len(translator.tokenizers.target))
    assert sizes[1] == [5_000] and max(sizes[1000]) <= most < 5_000 < 2 * most * len(sizes[1000])


def test_between_batches_the_caller_computes_as_before(translator: Translator, corpus: Corpus) -> None:
    split = corpus.split("test")
    network = TorchNetwork(
        translator.model, translator.field, vocab_size=len(translator.tokenizers.target), precision="bf16"
    )
    batches = forced_batches(network, *split.lengths(), split.ids, hard=False, max_tokens=20)
    count = 0
    for indices, batch, loss in batches:
        assert torch.is_grad_enabled() and not torch.is_autocast_enabled("cpu")
        assert len(indices) == len(batch.source) and not loss.sum.requires_grad
        count += 1
    assert count > 1


def test_batches_of_pairs_hold_so_many_tokens_on_either_side() -> None:
    """Short sources with long targets would be one batch by the lengths of their sources."""
    rng = np.random.default_rng(1)
    sources = np.array([3] * 40 + [*rng.integers(1, 50, 40)])
    targets = np.array([*rng.integers(1, 200, 40), *rng.integers(1, 50, 40)])
    batches = fixed_order(sources, targets, max_tokens=100)
    assert sorted(np.concatenate(batches).tolist()) == [*range(80)]
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(sources[batch].max(), targets[batch].max()) <= 100
    longest = [max(sources[batch].max(), targets[batch].max()) for batch in batches]
    assert longest == sorted(longest) and len(batches) < 60


@pytest.mark.parametrize(
    ("changes", "possible"),
    [
        ({"encoder": {"name": "lstm"}, "decoder": {"readout_size": 32, "init_hidden": "zeros"}}, True),
        ({"encoder": {"name": "gru"}, "decoder": {"readout_size": 32, "init_hidden": "zeros"}}, True),
        ({"encoder": {"name": "lc_bilstm"}, "decoder": {"readout_size": 32, "init_hidden": "zeros"}}, True),
        ({"encoder": {"name": "bilstm"}, "decoder": {"readout_size": 32, "init_hidden": "zeros"}}, False),
        ({"encoder": {"name": "bigru"}, "decoder": {"readout_size": 32, "init_hidden": "zeros"}}, False),
        ({"encoder": {"name": "conv"}, "decoder": {"readout_size": 32, "init_hidden": "zeros"}}, False),
        ({"encoder": {"name": "lstm"}, "decoder": {"readout_size": 32, "init_hidden": "final_state"}}, False),
    ],
)
def test_online_decoding_needs_a_model_that_does_not_read_ahead(
    changes: dict, possible: bool, configure: Callable[..., Config]
) -> None:
    model = Seq2Seq(configure(changes | {"attention": {"name": "monotonic"}}), 9, 9)
    if possible:
        require_compatible(OnlineConfig(), model)
        assert reads_hard(OnlineConfig(), model)
    else:
        with pytest.raises(UserError) as caught:
            require_compatible(OnlineConfig(), model)
        needed = "decoder.init_hidden=zeros"
        if changes["encoder"]["name"] != "lstm":
            needed = "an encoder that does not read the whole source first (encoder=lstm, gru, ssru, none or "
            needed += "lc_bilstm)"
        assert str(caught.value) == (
            f"search=online writes while it reads: it needs {needed}; train such a model, or choose search=greedy or "
            "search=beam"
        ), "and nothing that it has"


@combined(attention=[*ATTENTIONS], decoder=["luong", "bahdanau"])
def test_what_can_be_read_hard_and_online(attention: str, decoder: str, configure: Callable[..., Config]) -> None:
    options = {"name": decoder, "hidden_size": 8, "readout_size": 32, "init_hidden": "zeros"}
    source = {"name": attention, "context": "last"} if attention == "none" else {"name": attention}
    model = Seq2Seq(
        configure({"encoder": {"name": "lstm", "hidden_size": 8}, "decoder": options, "attention": source}), 9, 9
    )
    chooses = attention in {"monotonic", "mocha", "matcha", "milk", "stochastic"}
    assert reads_hard(GreedyConfig(), model) == chooses
    assert not reads_hard(BeamConfig(mode="soft"), model)
    if chooses:
        require_compatible(BeamConfig(mode="hard"), model)
        assert reads_hard(BeamConfig(mode="hard"), model)
    else:
        with pytest.raises(UserError) as caught:
            require_compatible(BeamConfig(mode="hard"), model)
        assert str(caught.value) == (
            "search.mode=hard needs an attention that can choose one position, and this model's cannot: choose "
            "search.mode=soft, or train with attention=monotonic, mocha, matcha, milk or stochastic"
        )
    if attention in {"monotonic", "mocha", "matcha", "milk"}:
        require_compatible(OnlineConfig(), model)
        assert reads_hard(OnlineConfig(), model)
    else:
        with pytest.raises(UserError, match="search=online writes while it reads"):
            require_compatible(OnlineConfig(), model)


SOURCES = [[5, 6, 7, 8, 9, 3], [8, 3], [7, 5, 9, 3], [6, 6, 8, 9, 5, 7, 5, 8, 3]]


def read_in_turn(model: Seq2Seq, source: list[int], search: WaitKConfig) -> list[int]:
    """Wait-k by hand: before each token one more of the source is read, of which the model is given the beginning."""
    tokens = [2]
    state = None
    while tokens[-1] != 3 and len(tokens) <= 2 * len(source) + 10:
        begun = torch.tensor([source[: search.k + len(tokens) - 1]])
        memory = model.encode(begun, torch.ones_like(begun, dtype=torch.bool))
        prediction = model.step(torch.tensor(tokens[-1:]), memory, state or model.init_state(memory))
        state = prediction.state
        logits = prediction.logits[0]
        logits[[0, 2]] = -torch.inf
        tokens.append(int(logits.argmax()))
    return tokens[1:]


@pytest.mark.parametrize("attention", ["general", "local_m"])
def test_wait_k_is_reading_and_writing_in_turn(attention: str, configure: Callable[..., Config]) -> None:
    """In one batch as one by one."""
    parts = {"encoder": {"name": "lstm", "hidden_size": 32}, "attention": {"name": attention}}
    parts["decoder"] = {"readout_size": 32, "hidden_size": 32, "init_hidden": "zeros"}
    torch.manual_seed(3)
    model = Seq2Seq(configure(parts), 10, 12).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(4)
        outputs = set()
        for k in (1, 2, 4):
            search = WaitKConfig(k=k)
            actual = decode_ids(model, SOURCES, search, vocab_size=12, precision="fp32")
            expected = [read_in_turn(model, source, search) for source in SOURCES]
            assert [list(best.tokens) for (best,) in actual] == expected
            for (best,), source in zip(actual, SOURCES, strict=True):
                assert best.delays.tolist() == [min(k + t, len(source)) for t in range(len(best.tokens))]
            outputs.add(str(expected))
    assert len(outputs) == 3


@pytest.mark.parametrize(
    ("search", "attention", "same"),
    [
        (OnlineConfig(), "milk", True),
        (WaitKConfig(), "general", True),
        (GreedyConfig(), "general", not has_bfloat16(torch.device("cpu"))),
    ],
)
def test_online_decoding_is_in_float32_whatever_the_run_is(
    search: SearchConfig, attention: str, same: bool, configure: Callable[..., Config]
) -> None:
    parts = {"encoder": {"name": "lstm", "hidden_size": 32}, "attention": {"name": attention}}
    parts["decoder"] = {"readout_size": 32, "hidden_size": 32, "init_hidden": "zeros"}
    torch.manual_seed(3)
    model = Seq2Seq(configure(parts), 10, 12).eval()
    full, half = (
        [best.log_prob for (best,) in decode_ids(model, SOURCES, search, vocab_size=12, precision=precision)]
        for precision in ("fp32", "bf16")
    )
    assert (full == half) == same


@pytest.mark.parametrize(
    ("changes", "possible"),
    [
        ({}, True),
        ({"attention": {"name": "local_p"}}, False),
        ({"attention": {"name": "milk"}}, False),
        ({"attention": {"name": "stochastic"}}, False),
        ({"encoder": {"name": "bilstm"}}, False),
        ({"decoder": {"readout_size": 32}}, False),
    ],
)
def test_wait_k_needs_a_model_that_can_see_a_prefix(
    changes: dict, possible: bool, configure: Callable[..., Config]
) -> None:
    usual = {"encoder": {"name": "lstm"}, "decoder": {"readout_size": 32, "init_hidden": "zeros"}}
    model = Seq2Seq(configure(usual | {"attention": {"name": "bahdanau"}} | changes), 9, 9)
    if possible:
        require_compatible(WaitKConfig(), model)
        assert not reads_hard(WaitKConfig(), model)
        require_wait_k(model, 1, "training.wait_k")
    else:
        with pytest.raises(UserError) as caught:
            require_compatible(WaitKConfig(), model)
        needed = {
            "attention": "a soft attention that knows nothing of the source's length (attention=dot, general, "
            "location, bahdanau or local_m)",
            "encoder": "an encoder that does not read the whole source first (encoder=lstm, gru, ssru, none or "
            "lc_bilstm)",
            "decoder": "decoder.init_hidden=zeros",
        }[next(iter(changes))]
        assert str(caught.value) == (
            f"search=wait_k shows the model only the source tokens read so far: it needs {needed}; train such a model, "
            "or leave it out"
        )


LOOKING_AHEAD = {"name": "lc_bilstm", "hidden_size": 32, "chunk_size": 2, "look_ahead": 2}


def test_what_the_encoder_looks_ahead_is_waited_for(configure: Callable[..., Config]) -> None:
    parts = {"encoder": LOOKING_AHEAD, "attention": {"name": "monotonic", "energy_bias": -1.0}}
    parts["decoder"] = {"readout_size": 32, "hidden_size": 32, "init_hidden": "zeros"}
    torch.manual_seed(3)
    model = Seq2Seq(configure(parts), 10, 12).eval()
    actual = decode_ids(model, SOURCES, OnlineConfig(max_extra=100), vocab_size=12, precision="fp32")
    stops = set()
    for (best,), source in zip(actual, SOURCES, strict=True):
        expected = [
            len(source) if stop < 0 else min(stop // 2 * 2 + 4, len(source)) for stop in best.windows.stops.tolist()
        ]
        assert best.delays.tolist() == expected
        stops.update(best.windows.stops.tolist())
    assert len(stops) > 1


def test_wait_k_shows_a_position_when_its_value_is_known(configure: Callable[..., Config]) -> None:
    parts = {"encoder": LOOKING_AHEAD, "attention": {"name": "general"}}
    parts["decoder"] = {"readout_size": 32, "hidden_size": 32, "init_hidden": "zeros"}
    model = Seq2Seq(configure(parts), 10, 12).eval()
    (best,), *_ = decode_ids(model, SOURCES, WaitKConfig(k=4, min_length=4), vocab_size=12, precision="fp32")
    assert [int((row > 0).sum()) for row in best.weights[:4]] == [2, 2, 6, 6]
    assert best.delays.tolist()[:4] == [4, 5, 6, 6]
    with pytest.raises(UserError) as caught:
        require_compatible(WaitKConfig(k=3), model)
    assert str(caught.value) == (
        "search=wait_k with k=3 would write before anything is known, since this encoder looks ahead and needs 4 "
        "source tokens for its first value. Choose k=4 or more, or another encoder"
    )
