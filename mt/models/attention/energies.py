"""The closed table of energies."""

from typing import Annotated

from pydantic import Field

from mt.models.attention.energy import Concat, ConcatConfig, Dot, DotConfig, Energy, General, GeneralConfig
from mt.models.attention.location import Location, LocationConfig

ENERGIES: dict[str, type[Energy]] = {"dot": Dot, "general": General, "concat": Concat, "location": Location}
EnergyConfig = Annotated[DotConfig | GeneralConfig | ConcatConfig | LocationConfig, Field(discriminator="name")]


def build_energy(config: EnergyConfig, query_size: int, value_size: int, *, normalized: bool = False) -> Energy:
    return ENERGIES[config.name](config, query_size, value_size, normalized=normalized)
