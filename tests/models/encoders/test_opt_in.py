"""A subclass of an encoder or a front-end that overrides a piece encodes with it in every way, and claims nothing."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from mt.models.encoders import ENCODERS, Encoded
from mt.models.frontends import FRONTENDS

SIZE = 6


def derived(kind: type, **pieces: Any) -> Any:
    """A subclass with these pieces."""
    return type(f"Other{kind.__name__}", (kind,), pieces)


def small(kind: Any, **options: Any) -> Any:
    return kind.Config(hidden_size=SIZE, **options)


def shifted(parent: Any) -> Callable[..., Encoded]:
    """A `forward` that gives other values."""

    def other(self: Any, *arguments: Any) -> Encoded:
        encoded = parent.forward(self, *arguments)
        return encoded._replace(values=encoded.values.sin())

    return other


@pytest.mark.parametrize("name", ENCODERS)
def test_encoders_that_compute_something_else_claim_nothing(name: str, shake) -> None:
    kind = ENCODERS[name]
    options = {"causal": True} if "causal" in kind.Config.model_fields else {}
    encoder = derived(kind, forward=shifted(kind))(small(kind, **options), SIZE)
    assert not (encoder.causal or encoder.incremental)
    with pytest.raises(NotImplementedError, match="needs the whole source"):
        encoder.extend(torch.zeros(1, 1, SIZE), torch.ones(1, 1, dtype=torch.bool), None, torch.tensor([True]))


@pytest.mark.parametrize("name", ["bilstm", "bigru", "lstm", "gru"])
def test_recurrent_encoders_encode_a_source_alone_as_in_a_batch(name: str, batch, shake) -> None:
    """With a piece that the ways to encode a batch could go around."""
    kind = ENCODERS[name]

    def encoded(self: Any, values: Tensor, state: Any, mask: Tensor) -> Encoded:
        return kind._encoded(self, values.sin(), state, mask)

    encoder = shake(derived(kind, _encoded=encoded)(small(kind), SIZE))
    values = batch.values.masked_fill(~batch.mask[..., None], 0.0)
    with torch.no_grad():
        together = encoder(values, batch.mask)
        for row, length in enumerate(batch.mask.sum(1).tolist()):
            alone = encoder(values[row : row + 1, :length], batch.mask[row : row + 1, :length])
            torch.testing.assert_close(together.values[row, :length], alone.values[0], atol=1e-5, rtol=1e-5)


def test_frontends_that_compute_something_else_claim_nothing() -> None:
    for kind in FRONTENDS.values():
        assert not derived(kind, forward=lambda self, source, mask: (source, mask)).incremental
