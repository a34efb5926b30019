"""The whole model keeps the laws of its parts, which run over all subclasses."""

import inspect
from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from mt.data.batches import Batch
from mt.models.attention import ATTENTIONS
from mt.models.attention.base import Attention
from mt.models.attention.energy import ENERGIES, Energy
from mt.models.decoders import DECODERS, Decoder
from mt.models.encoders import ENCODERS, Encoder
from mt.models.frontends import FRONTENDS
from mt.models.frontends.base import Frontend
from mt.models.losses import Objective
from mt.step import BOS
from tests.components import CASES, FIRST, Case, loss_beside
from tests.models.small import small


@pytest.fixture(
    params=[pytest.param(case, marks=() if case in FIRST else pytest.mark.exhaustive) for case in CASES], ids=str
)
def case(request: pytest.FixtureRequest) -> Case:
    return request.param


@pytest.fixture
def source(batch) -> Tensor:
    """No word twice in a sentence: of two equal ones, either may be the most probable."""
    order = torch.rand(8, 19, generator=torch.Generator().manual_seed(0)).argsort(1)
    return (order[:, : batch.mask.shape[1]] + 1).masked_fill(~batch.mask, 0)


@pytest.fixture
def pairs(batch, source) -> Batch:
    """Targets of 1 to 6 tokens, and garbage after them."""
    target_out = torch.randint(1, 14, (8, 6), generator=torch.Generator().manual_seed(1))
    target_in = torch.nn.functional.pad(target_out[:, :-1], (1, 0), value=BOS)
    return Batch(source, batch.mask, target_in, target_out, torch.arange(6) < torch.arange(8)[:, None] % 6 + 1)


def test_the_loss_is_the_sum_over_real_tokens(case, pairs, shake):
    model = shake(small(attention=case.config), scale=0.5)
    loss = model(pairs, hard=case.hard)
    smoothed = model(pairs, hard=case.hard, objective=Objective(label_smoothing=0.1))
    assert loss.tokens == pairs.target_mask.sum()
    assert not loss.token_losses[~pairs.target_mask].any() and not loss.token_losses.requires_grad
    torch.testing.assert_close(loss.sum, loss.token_losses.sum())
    assert torch.equal(smoothed.token_losses, loss.token_losses) and smoothed.sum != loss.sum
    given = loss.attention, loss.token_losses, pairs.source_mask, pairs.target_mask
    auxiliary = loss_beside(case.config, model.decoder.attention, *given)
    assert loss.auxiliary.shape == ()
    torch.testing.assert_close(loss.auxiliary, torch.zeros(()) if auxiliary is None else auxiliary)
    assert loss.sum.requires_grad
    padded = pairs._replace(target_out=pairs.target_out.masked_fill(~pairs.target_mask, 0))
    assert torch.equal(model(padded, hard=case.hard).sum, loss.sum)


def test_a_model_uses_its_source_unless_only_the_first_state_is_of_it():
    assert not small(attention={"name": "none", "context": "zeros"}).uses_source
    assert small(attention={"name": "none", "context": "last"}, decoder={"init_hidden": "zeros"}).uses_source


def concrete(kind: type) -> Iterator[type]:
    """Yields all subclasses in mt that can be constructed."""
    for child in kind.__subclasses__():
        if child.__module__.startswith("mt.") and not inspect.isabstract(child) and "Config" in vars(child):
            yield child
        yield from concrete(child)


@pytest.mark.parametrize(
    ("base", "table"),
    [(Attention, ATTENTIONS), (Encoder, ENCODERS), (Decoder, DECODERS), (Frontend, FRONTENDS), (Energy, ENERGIES)],
)
def test_the_laws_run_over_all_subclasses(base: type, table: dict[str, type]) -> None:
    assert {*concrete(base)} == {*table.values()}
