"""The plain loop that speeds are compared with computes what `mt` computes."""

import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from mt.config import Config
from mt.data.batches import Batch, collate
from mt.models.seq2seq import Seq2Seq
from mt.search.config import BeamConfig, GreedyConfig, SearchConfig
from tests.decoding.decoded import decode_ids

sys.path.append(str(Path(__file__).parents[2] / "scripts"))
from benchmarks.model import configure
from benchmarks.plain import Plain, plain_of

LENGTHS = [3, 7, 5, 1]


@pytest.fixture
def model() -> Seq2Seq:
    config: Config = configure("input_feeding", "fp32", 8)
    torch.manual_seed(3)
    made = Seq2Seq(config, 20, 20).eval()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.mul_(4)  # sharp enough that hypotheses differ in length
    return made


@pytest.fixture
def sources() -> list[np.ndarray]:
    random = np.random.default_rng(1)
    return [np.append(random.integers(4, 20, length), 3) for length in LENGTHS]


@pytest.fixture
def batch(sources: list[np.ndarray]) -> Batch:
    return collate([(source, [*source[::-1][1:].tolist(), 3]) for source in sources])


def test_the_loss_and_its_gradient(model: Seq2Seq, batch: Batch) -> None:
    plain = plain_of(model)
    plain.eval()
    ours = model(batch).sum
    theirs = plain(batch)
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-4)
    ours.backward(), theirs.backward()
    pairs = [
        (model.decoder.combine.weight, plain.combine.weight),
        (model.encoder.cells.weight_hh_l0_reverse, plain.encoder.weight_hh_l0_reverse),
        (model.decoder.recurrence.cells.weight_ih_l0, plain.cell.weight_ih),
        (model.decoder.embedding.table.weight, plain.target.weight),
    ]
    for own, other in pairs:
        torch.testing.assert_close(own.grad, other.grad, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("search", [GreedyConfig(), BeamConfig(beam_size=3)], ids=["greedy", "beam"])
def test_the_hypotheses_and_their_scores(
    model: Seq2Seq, batch: Batch, sources: list[np.ndarray], search: SearchConfig
) -> None:
    plain: Plain = plain_of(model).eval()
    limits = torch.tensor([search.longest(len(source)) for source in sources])
    if isinstance(search, BeamConfig):
        theirs = plain.beam(batch.source, batch.source_mask, limits, search.beam_size, search.length_penalty)
    else:
        theirs = plain.greedy(batch.source, batch.source_mask, limits)
    ours = [best[0] for best in decode_ids(model, sources, search, vocab_size=20, precision="fp32")]
    assert [list(one.tokens) for one in ours] == [one.tokens for one in theirs]
    assert [one.score for one in ours] == pytest.approx([one.score for one in theirs], rel=1e-5)
