"""The closed table of attention mechanisms. A new one is a file beside these, a line here and a YAML."""

from typing import Any

from mt.models.attention.base import Attention
from mt.models.attention.coverage import Coverage
from mt.models.attention.global_ import (
    BahdanauAttentionConfig,
    DotAttentionConfig,
    GeneralAttentionConfig,
    LocationAttentionConfig,
    with_energy,
)
from mt.models.attention.local import LocalM, LocalP
from mt.models.attention.location_aware import LocationAware
from mt.models.attention.lookback import MAtChA, MILk
from mt.models.attention.marginal import Marginal
from mt.models.attention.mocha import MoChA
from mt.models.attention.monotonic import Monotonic
from mt.models.attention.none import NoAttention
from mt.models.attention.stochastic import Stochastic

ATTENTIONS: dict[str, type[Attention]] = {
    "none": NoAttention,
    "dot": with_energy(DotAttentionConfig),
    "general": with_energy(GeneralAttentionConfig),
    "location": with_energy(LocationAttentionConfig),
    "bahdanau": with_energy(BahdanauAttentionConfig),
    "location_aware": LocationAware,
    "coverage": Coverage,
    "local_m": LocalM,
    "local_p": LocalP,
    "monotonic": Monotonic,
    "mocha": MoChA,
    "matcha": MAtChA,
    "milk": MILk,
    "stochastic": Stochastic,
    "marginal": Marginal,
}


def build_attention(config: Any, query_size: int, value_size: int) -> Attention:
    return ATTENTIONS[config.name](config, query_size, value_size)
