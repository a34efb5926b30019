"""The laws, which run over the tables, run over all subclasses."""

import inspect
from collections.abc import Iterator

import pytest

from mt.models.attention import ATTENTIONS
from mt.models.attention.base import Attention
from mt.models.attention.energy import ENERGIES, Energy
from mt.models.decoders import DECODERS, Decoder
from mt.models.encoders import ENCODERS, Encoder
from mt.models.frontends import FRONTENDS
from mt.models.frontends.base import Frontend


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
