"""Recorded passes train as passes that are not recorded. On a CPU a call of the pass stands in place of the replay."""

import itertools
from functools import partial
from typing import Any

import pytest
import torch

from mt.training import loop
from mt.training.loop import BatchLoss
from mt.training.recorded import RecordedPasses

SETTINGS: dict[str, dict[str, Any]] = {
    "soft": {},
    "accumulated": {"training": {"gradient_accumulation": 2}},
    "r_drop": {"training": {"r_drop": 1.0}},
    "input_feeding": {"decoder": {"input_feeding": True}},
    "mocha": {"attention": {"name": "mocha"}},
    "stochastic": {"attention": {"name": "stochastic"}},
    "waiting": {"encoder": {"name": "lstm"}},  # which asks whether there is padding
    "wait_k": {"encoder": {"name": "lstm"}, "decoder": {"init_hidden": "zeros"}, "training": {"wait_k": [1, 2]}},
}


def weights_after(trainer, changes, device="cpu") -> dict[str, torch.Tensor]:
    """Returns the weights after some updates: three epochs or so, so that shapes come again."""
    dropout = {part: {"dropout": 0.2, **changes.get(part, {})} for part in ("embedding", "encoder", "decoder")}
    optimizer = {"name": "adam", "lr": 1e-2}
    made = trainer(**{"training": {}, **changes, **dropout, "optimizer": optimizer, "device": device})
    assert len([*itertools.islice(made, 24)]) == 24
    return {name: tensor.cpu() for name, tensor in made.weights().items()}


@pytest.mark.parametrize(
    ("name", "records"), [*((name, True) for name in ("soft", "accumulated", "r_drop", "stochastic")), ("soft", False)]
)
def test_weights(name, records, trainer, monkeypatch):
    """records: whether a pass can be recorded. One that cannot be is computed."""
    made: list[RecordedPasses] = []

    def passes(batch_loss: BatchLoss, *rest: Any) -> RecordedPasses:
        replaying = partial if records else lambda body: body
        made.append(RecordedPasses(batch_loss, torch.device("cpu"), rest[-1], lambda body, _: replaying(body)))
        return made[-1]

    expected = weights_after(trainer, SETTINGS[name])
    monkeypatch.setattr(loop, "backward_pass", passes)
    found = weights_after(trainer, SETTINGS[name])
    assert bool(made[0]._recordings) == records
    for part, tensor in expected.items():
        torch.testing.assert_close(found[part], tensor, rtol=1e-4, atol=1e-5, msg=part)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU is here")
@pytest.mark.parametrize("precision", ["fp32", "bf16", "fp16"])
@pytest.mark.parametrize("name", sorted(SETTINGS))
def test_weights_on_a_gpu(name, precision, trainer, monkeypatch):
    changes = SETTINGS[name] | {"precision": precision}
    found = weights_after(trainer, changes, "cuda")
    # Passes of the same operations, none of them recorded.
    monkeypatch.setattr("mt.training.recorded.MOST", 0)
    expected = weights_after(trainer, changes, "cuda")
    for part, tensor in expected.items():
        assert torch.equal(found[part], tensor), part
