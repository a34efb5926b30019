"""Energies: how well a source position fits a query (Luong et al. 2015, section 3.1; Bahdanau et al. 2015, A.1.2)."""

from abc import abstractmethod
from typing import Annotated, Literal

import torch
from pydantic import BaseModel, Field
from torch import Tensor, nn

from mt.errors import UserError
from mt.ops import additive_energy


class DotConfig(BaseModel, frozen=True, extra="forbid", strict=True):
    name: Literal["dot"] = "dot"


class GeneralConfig(BaseModel, frozen=True, extra="forbid", strict=True):
    name: Literal["general"] = "general"


class ConcatConfig(BaseModel, frozen=True, extra="forbid", strict=True):
    name: Literal["concat"] = "concat"
    size: int = Field(256, gt=0)
    """Hidden units (Bahdanau et al. 2015: 1000; Raffel et al. 2017, appendix D: 512 for translation)."""


class LocationConfig(BaseModel, frozen=True, extra="forbid", strict=True):
    name: Literal["location"] = "location"
    longest: int = Field(128, gt=0)
    """Source tokens, EOS included, that there are scores for; a longer source is refused."""


class Energy(nn.Module):
    """Constructed as `Class(config, query_size, value_size, normalized=...)`.

    `normalized` asks for the form that monotonic attention needs, whose size does not depend on the direction vector's
    length (Raffel et al. 2017, equation 16); energies without such a vector are the same either way.
    """

    size: int
    """The number of terms that one energy sums, d in the initial gain 1 / sqrt(d)."""
    longest: int | None = None
    """Most source tokens that there are energies for; None for any number."""

    @abstractmethod
    def keys(self, values: Tensor) -> Tensor:
        """What of the source can be computed before any query is known. values: [B, S, V]; returns [B, S, K]."""

    @abstractmethod
    def forward(self, queries: Tensor, keys: Tensor) -> Tensor:
        """queries: [B, T, Q]; keys: [B, S, K]; returns [B, T, S]."""


class Dot(Energy):
    """h . s: query and values have one size and no parameters."""

    def __init__(self, config: DotConfig, query_size: int, value_size: int, *, normalized: bool = False) -> None:
        super().__init__()
        if query_size != value_size:
            raise UserError(
                f"dot attention compares decoder states of size {query_size} with encoder states of size {value_size}, "
                "which must be equal: set decoder.hidden to the encoder's size (twice encoder.hidden for a "
                "bidirectional one), or choose attention=general"
            )
        self.size = query_size

    def keys(self, values: Tensor) -> Tensor:
        return values

    def forward(self, queries: Tensor, keys: Tensor) -> Tensor:
        return queries @ keys.transpose(1, 2)


class General(Energy):
    """h . W s."""

    def __init__(self, config: GeneralConfig, query_size: int, value_size: int, *, normalized: bool = False) -> None:
        super().__init__()
        self.size = query_size
        self.project = nn.Linear(value_size, query_size, bias=False)

    def keys(self, values: Tensor) -> Tensor:
        return self.project(values)

    def forward(self, queries: Tensor, keys: Tensor) -> Tensor:
        return queries @ keys.transpose(1, 2)


class Concat(Energy):
    """v . tanh(W [h; s]), Luong's `concat`, which is Bahdanau's additive energy v . tanh(W h + U s).

    Normalized: v / |v| . tanh(W h + U s + b) (Raffel et al. 2017, equation 16, whose gain and offset are `Scaled`'s).
    """

    def __init__(self, config: ConcatConfig, query_size: int, value_size: int, *, normalized: bool = False) -> None:
        super().__init__()
        self.size = config.size
        self.normalized = normalized
        self.project_query = nn.Linear(query_size, config.size, bias=False)
        self.project_value = nn.Linear(value_size, config.size, bias=normalized)
        self.direction = nn.Parameter(torch.empty(config.size).uniform_(-1, 1) / config.size**0.5)

    def keys(self, values: Tensor) -> Tensor:
        return self.project_value(values)

    def forward(self, queries: Tensor, keys: Tensor) -> Tensor:
        direction = self.direction / self.direction.norm() if self.normalized else self.direction
        return additive_energy(self.project_query(queries), keys, direction)


class Location(Energy):
    """W s, whose row j scores position j whatever stands there (Luong et al. 2015, section 3.1, `location`)."""

    longest: int

    def __init__(self, config: LocationConfig, query_size: int, value_size: int, *, normalized: bool = False) -> None:
        super().__init__()
        self.size = query_size
        self.longest = config.longest
        self.positions = nn.Parameter(torch.empty(config.longest, query_size).uniform_(-1, 1) / query_size**0.5)

    def keys(self, values: Tensor) -> Tensor:
        """Rows of W, the same for all sentences."""
        if values.shape[1] > self.longest:
            raise UserError(
                f"a source of {values.shape[1]} tokens is longer than the {self.longest} that location attention has "
                "scores for: raise attention.energy.longest, or choose another energy"
            )
        return self.positions[: values.shape[1]].expand(len(values), -1, -1)

    def forward(self, queries: Tensor, keys: Tensor) -> Tensor:
        return queries @ keys.transpose(1, 2)


class Scaled(Energy):
    """g * energy + r, with learned gain g and, where one is given, offset r (Raffel et al. 2017, equations 16 and 17).

    g starts at 1 / sqrt(d). Energies are returned in float32.
    """

    def __init__(self, energy: Energy, offset: float | None = None) -> None:
        super().__init__()
        self.energy = energy
        self.size, self.longest = energy.size, energy.longest
        self.gain = nn.Parameter(torch.tensor(energy.size**-0.5))
        self.offset = None if offset is None else nn.Parameter(torch.tensor(offset))

    def keys(self, values: Tensor) -> Tensor:
        return self.energy.keys(values)

    def forward(self, queries: Tensor, keys: Tensor) -> Tensor:
        scaled = self.gain * self.energy(queries, keys).float()
        return scaled if self.offset is None else scaled + self.offset


ENERGIES: dict[str, type[Energy]] = {"dot": Dot, "general": General, "concat": Concat, "location": Location}
EnergyConfig = Annotated[DotConfig | GeneralConfig | ConcatConfig | LocationConfig, Field(discriminator="name")]


def build_energy(config: EnergyConfig, query_size: int, value_size: int, *, normalized: bool = False) -> Energy:
    return ENERGIES[config.name](config, query_size, value_size, normalized=normalized)
