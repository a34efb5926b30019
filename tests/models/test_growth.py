"""A model whose vocabularies grow says of what it knew what it said before."""

import pytest
import torch

from mt.common.options import parse
from mt.config import Config
from mt.models.seq2seq import Seq2Seq
from mt.models.weights import grown

SMALL = {
    "encoder": {"name": "bilstm", "hidden_size": 8},
    "attention": {"name": "general"},
    "ctc_weight": 0.3,
}


def small(**changes: object) -> Config:
    embedding = {"embedding_dim": 8} | changes.pop("embedding", {})  # type: ignore[operator]
    decoder = {"name": "luong", "hidden_size": 8, "readout_size": 8}
    return parse({**SMALL, "embedding": embedding, "decoder": decoder, **changes}, Config)


@pytest.mark.parametrize(
    ("embedding", "before", "after"),
    [
        ({}, (10, 12, None), (13, 19, None)),
        ({"tie_output": False}, (10, 12, None), (10, 13, None)),
        ({"share": True}, (12, 12, None), (15, 15, None)),
        ({}, (10, 12, 7), (13, 19, 7)),
    ],
    ids=str,
)
def test_every_tensor_of_a_vocabulary_grows(embedding: dict, before: tuple, after: tuple) -> None:
    torch.manual_seed(1)
    config = small(embedding=embedding)
    old = Seq2Seq(config, *before)
    new = Seq2Seq(config, *after)
    state = grown(old.state_dict(), before, after)
    assert {name: tensor.shape for name, tensor in state.items()} == {
        name: tensor.shape for name, tensor in new.state_dict().items()
    }
    new.load_state_dict(state)
    source = torch.tensor([[5, 6, 3]])
    mask = torch.ones(1, 3, dtype=torch.bool)
    log_probs = []
    for model in (old, new):
        model.eval()
        with torch.no_grad():
            memory = model.encode(source, mask)
            log_probs.append(model.step(torch.tensor([2]), memory, model.init_state(memory)).logits.log_softmax(-1))
    torch.testing.assert_close(log_probs[1][:, : before[1]], log_probs[0], atol=1e-6, rtol=0)
    assert log_probs[1][:, before[1] :].exp().sum() <= 1.0001e-8 * log_probs[0][:, 1].exp()
    # What is new in a source is read as what is unknown.
    with torch.no_grad():
        known = new.frontend.table.weight[1]
        added = new.frontend.table.weight[before[0] :]
    assert torch.equal(added, known.expand_as(added))


def test_the_blank_of_ctc_stays_last() -> None:
    old = Seq2Seq(small(), 10, 12)
    bias = grown(old.state_dict(), (10, 12, None), (10, 15, None))["ctc.bias"]
    before = old.state_dict()["ctc.bias"]
    assert len(bias) == 16 and bias[-1] == before[-1] and torch.equal(bias[:12], before[:12])
