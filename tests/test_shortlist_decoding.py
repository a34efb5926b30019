"""Searches over the pieces of a shortlist: those of the whole model, had it no other words."""

from collections.abc import Callable
from pathlib import Path
from typing import cast

import numpy as np
import pytest
import torch

import mt
from mt.config import Config
from mt.data.tokenizer import EOS
from mt.decoding import decode_ids
from mt.errors import UserError
from mt.inference import Translator
from mt.models.ensemble import Ensemble
from mt.models.seq2seq import Seq2Seq
from mt.search.config import BeamConfig, GreedyConfig, OnlineConfig, Precision, SearchConfig, WaitKConfig
from mt.search.hypothesis import Hypothesis
from mt.search.shortlist import Shortlist

SIZE, SOURCE = 40, 30
WHOLE = Shortlist(np.zeros((SOURCE, 1), np.int32), np.arange(SIZE, dtype=np.int32), SIZE)
SEARCHES: list[SearchConfig] = [
    GreedyConfig(),
    GreedyConfig(no_repeat_ngram_size=1, min_length=4),
    BeamConfig(beam_size=4, n_best=4),
    BeamConfig(beam_size=4, n_best=3, no_repeat_ngram_size=2, min_length=4),
]
DECODERS = {
    "luong": {"decoder": {"name": "luong", "input_feeding": True}},
    "bahdanau": {"decoder": {"name": "bahdanau", "gate": True}, "attention": {"name": "bahdanau"}},
    "gnmt": {"decoder": {"name": "gnmt", "num_layers": 2}},
    "tied": {"embedding": {"embedding_dim": 32, "tie_output": True}},
    "mocha": {"encoder": {"name": "lstm"}, "attention": {"name": "mocha", "chunk_size": 2}},
}


@pytest.fixture(scope="module")
def models(configure: Callable[..., Config]) -> dict[str, Seq2Seq]:
    """Models that say more than one thing, and an ensemble of two."""
    found: dict[str, Seq2Seq] = {}
    for name, parts in DECODERS.items():
        torch.manual_seed(len(found))
        sized = {
            group: ({"hidden_size": 32, "readout_size": 32} if group == "decoder" else {}) | own
            for group, own in parts.items()
        }
        found[name] = Seq2Seq(configure(sized), SOURCE, SIZE).eval()
        with torch.no_grad():
            for parameter in found[name].parameters():
                parameter.mul_(3)
    return found | {"ensemble": cast(Seq2Seq, Ensemble([found["luong"], found["gnmt"]]).eval())}


@pytest.fixture(scope="module")
def sources() -> list[np.ndarray]:
    draw = np.random.default_rng(4)
    return [np.array([*draw.integers(4, SOURCE, length), EOS]) for length in (5, 2, 9, 5, 1, 7)]


@pytest.fixture(scope="module")
def shortlist() -> Shortlist:
    """Of other pieces for each source piece, and few enough that most sentences miss some."""
    draw = np.random.default_rng(5)
    lists = np.stack([draw.choice(np.arange(4, SIZE), 2, replace=False) for _ in range(SOURCE)])
    return Shortlist(lists.astype(np.int32), np.array([7, 30], np.int32), SIZE)


def found(
    model: Seq2Seq,
    sources: list[np.ndarray],
    search: SearchConfig,
    shortlist: Shortlist | None,
    precision: Precision = "fp32",
) -> list[list[Hypothesis]]:
    decoded = decode_ids(model, sources, search, vocab_size=SIZE, precision=precision, shortlist=shortlist)
    return [list(hypotheses) for hypotheses in decoded]


def told(hypotheses: list[list[Hypothesis]]) -> list[list[tuple]]:
    return [[(one.tokens, one.log_prob, one.score, one.weights.tolist()) for one in row] for row in hypotheses]


@pytest.mark.parametrize("name", [*DECODERS, "ensemble"])
@pytest.mark.parametrize("search", SEARCHES, ids=range(4))
def test_a_list_of_all_pieces_changes_nothing(
    name: str, search: SearchConfig, models: dict[str, Seq2Seq], sources: list[np.ndarray]
) -> None:
    """To the last bit, in a batch as one by one, and in each precision."""
    model, said = models[name], set[int]()
    turns: list[tuple[list[np.ndarray], Precision]] = [(sources, "fp32"), (sources, "bf16"), (sources, "int8")]
    for group, precision in (*turns, (sources[:1], "fp32"), (sources[2:3], "fp32")):
        expected = found(model, group, search, None, precision)
        assert told(found(model, group, search, WHOLE, precision)) == told(expected)
        said.update(*(one.tokens for row in expected for one in row))
    assert len(said) > 3


@pytest.mark.parametrize("name", [*DECODERS, "ensemble"])
@pytest.mark.parametrize("search", SEARCHES, ids=range(4))
def test_a_search_is_that_of_a_model_without_the_other_pieces(
    name: str, search: SearchConfig, models: dict[str, Seq2Seq], sources: list[np.ndarray], shortlist: Shortlist
) -> None:
    """One that gives them no probability: with its constraints and alignments, and probabilities that sum to 1."""
    model, other = models[name], 0
    for group in (sources, sources[:1], sources[2:3], sources[4:5]):
        pieces = shortlist.of(group)
        ours = found(model, group, search, shortlist)
        with Without(model, pieces):
            expected = found(model, group, search, None)
        for mine, theirs in zip(ours, expected, strict=True):
            assert [one.tokens for one in mine] == [one.tokens for one in theirs]
            for one, two in zip(mine, theirs, strict=True):
                assert one.log_prob == pytest.approx(two.log_prob, abs=1e-4)
                assert one.score == pytest.approx(two.score, abs=1e-4)
                np.testing.assert_allclose(one.weights, two.weights, atol=1e-5)
                assert set(one.tokens) <= set(pieces.tolist())
        other += [one.tokens for one in ours[0]] != [one.tokens for one in found(model, group, search, None)[0]]
    assert other


class Without:
    """In the block, pieces that are not among these have no probability: of a model, or of those of an ensemble."""

    def __init__(self, model: Seq2Seq, pieces: np.ndarray) -> None:
        self.biases = [one.decoder.output.bias for one in getattr(model, "models", [model])]
        self.others = torch.from_numpy(np.setdiff1d(np.arange(SIZE), pieces))

    def __enter__(self) -> None:
        self.before = [bias.data.clone() for bias in self.biases]
        for bias in self.biases:
            bias.data[self.others] = -1e9

    def __exit__(self, *error: object) -> None:
        for bias, before in zip(self.biases, self.before, strict=True):
            bias.data.copy_(before)


@pytest.mark.parametrize("precision", ["fp32", "bf16", "int8"])
def test_a_hypothesis_has_pieces_of_its_batch_alone(
    precision: Precision, models: dict[str, Seq2Seq], sources: list[np.ndarray], shortlist: Shortlist
) -> None:
    said = set[int]()
    for batch_tokens, groups in ((1 << 20, [sources]), (1, [[source] for source in sources])):
        for search in (GreedyConfig(batch_tokens=batch_tokens), BeamConfig(n_best=5, batch_tokens=batch_tokens)):
            hypotheses = iter(found(models["luong"], sources, search, shortlist, precision))
            for group in groups:
                allowed = set(shortlist.of(group).tolist())
                tokens = {token for _ in group for one in next(hypotheses) for token in one.tokens}
                assert tokens <= allowed
                said |= tokens
    assert len(said) > 5


def test_a_beam_wider_than_the_list(models: dict[str, Seq2Seq], sources: list[np.ndarray]) -> None:
    few = Shortlist(np.zeros((SOURCE, 1), np.int32), np.array([9], np.int32), SIZE)
    for row in found(models["luong"], sources, BeamConfig(beam_size=20, n_best=3, max_length=3), few):
        assert {token for one in row for token in one.tokens} <= {1, 3, 9}
        assert len({one.tokens for one in row}) == 3


@pytest.mark.parametrize("search", [OnlineConfig(), WaitKConfig()])
def test_what_writes_while_it_reads_has_no_shortlist(
    search: SearchConfig, configure: Callable[..., Config], sources: list[np.ndarray], trained_hard: Path
) -> None:
    attention = {"name": "mocha"} if isinstance(search, OnlineConfig) else {"name": "general"}
    decoder = {"readout_size": 32, "init_hidden": "zeros"}
    model = Seq2Seq(configure({"encoder": {"name": "lstm"}, "decoder": decoder, "attention": attention}), SOURCE, SIZE)
    assert found(model.eval(), sources, search, None)
    with pytest.raises(UserError, match="made of the whole source, and this search writes while it reads"):
        found(model, sources, search, WHOLE)


def test_a_stream_has_no_shortlist(trained_hard: Path) -> None:
    loaded = mt.load(trained_hard, device="cpu")
    size = len(loaded.tokenizers.target)
    whole = Shortlist(np.zeros((size, 1), np.int32), np.zeros(1, np.int32), size)
    with pytest.raises(UserError, match="leave the shortlist out"):
        Translator(loaded.model, loaded.tokenizers, loaded.config, shortlist=whole).stream()
