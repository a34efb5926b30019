"""Energies: how well a source position fits a query (Luong et al. 2015, section 3.1; Bahdanau et al. 2015, A.1.2)."""

from abc import abstractmethod
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from mt.errors import UserError
from mt.ops import additive_energy
from mt.parsing import MAX_SIZE, Options


class DotConfig(Options):
    name: Literal["dot"] = "dot"


class GeneralConfig(Options):
    name: Literal["general"] = "general"


class ConcatConfig(Options):
    name: Literal["concat"] = "concat"
    attention_dim: int = Field(256, gt=0, le=MAX_SIZE)
    """Hidden units (Bahdanau et al. 2015: 1000; Raffel et al. 2017, appendix D: 512 for translation)."""


class LocationConfig(Options):
    name: Literal["location"] = "location"
    max_source_length: int = Field(128, gt=0, le=MAX_SIZE)
    """Source positions, EOS included, that there are scores for; a longer source is refused."""


class Energy(nn.Module):
    """Constructed as `Class(config, query_size, value_size, normalized=...)`.

    `normalized` asks for the form that monotonic attention needs, whose size does not depend on the direction vector's
    length (Raffel et al. 2017, equation 16); energies without such a vector are the same either way.
    """

    size: int
    """The number of terms that one energy sums, d in the initial gain 1 / sqrt(d)."""
    max_source_length: int | None = None
    """Most source positions that there are energies for; None for any number."""

    @abstractmethod
    def keys(self, values: Tensor, start: Tensor | None = None) -> Tensor:
        """What of the source can be computed before any query is known. values: [B, S, V]; returns [B, S, K].

        start: [B] int64, the number of source positions before the first one; None: 0."""

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
                "which must be equal: set decoder.hidden_size to encoder.hidden_size, or choose another energy "
                "(attention=general)"
            )
        self.size = query_size

    def keys(self, values: Tensor, start: Tensor | None = None) -> Tensor:
        return values

    def forward(self, queries: Tensor, keys: Tensor) -> Tensor:
        return queries @ keys.transpose(1, 2)


class General(Energy):
    """h . W s."""

    def __init__(self, config: GeneralConfig, query_size: int, value_size: int, *, normalized: bool = False) -> None:
        super().__init__()
        self.size = query_size
        self.project = nn.Linear(value_size, query_size, bias=False)

    def keys(self, values: Tensor, start: Tensor | None = None) -> Tensor:
        return self.project(values)

    def forward(self, queries: Tensor, keys: Tensor) -> Tensor:
        return queries @ keys.transpose(1, 2)


class Concat(Energy):
    """v . tanh(W [h; s]), Luong's `concat`, which is Bahdanau's additive energy v . tanh(W h + U s).

    Normalized: v / |v| . tanh(W h + U s + b) (Raffel et al. 2017, equation 16, whose gain and bias are `Scaled`'s).
    """

    def __init__(self, config: ConcatConfig, query_size: int, value_size: int, *, normalized: bool = False) -> None:
        super().__init__()
        self.size = config.attention_dim
        self.normalized = normalized
        self.project_query = nn.Linear(query_size, config.attention_dim, bias=False)
        self.project_value = nn.Linear(value_size, config.attention_dim, bias=normalized)
        self.direction = nn.Parameter(torch.empty(config.attention_dim).uniform_(-1, 1) / config.attention_dim**0.5)

    def keys(self, values: Tensor, start: Tensor | None = None) -> Tensor:
        return self.project_value(values)

    def forward(self, queries: Tensor, keys: Tensor) -> Tensor:
        direction = self.direction / self.direction.norm() if self.normalized else self.direction
        return additive_energy(self.project_query(queries), keys, direction)


class Location(Energy):
    """W s, whose row j scores position j whatever its value (Luong et al. 2015, section 3.1, `location`)."""

    max_source_length: int

    def __init__(self, config: LocationConfig, query_size: int, value_size: int, *, normalized: bool = False) -> None:
        super().__init__()
        self.size = query_size
        self.max_source_length = config.max_source_length
        initial = torch.empty(config.max_source_length, query_size).uniform_(-1, 1)
        self.positions = nn.Parameter(initial / query_size**0.5)

    def keys(self, values: Tensor, start: Tensor | None = None) -> Tensor:
        """Rows of W, the same for all sources."""
        length = values.shape[1] + (0 if start is None else int(start.max()))
        if length > self.max_source_length:
            raise UserError(
                f"a source of {length} tokens is longer than the {self.max_source_length} that location attention has "
                "scores for: raise attention.energy.max_source_length (attention.max_source_length for "
                "attention=location), or choose another energy"
            )
        if start is None:
            return self.positions[:length].expand(len(values), -1, -1)
        return self.positions[start[:, None] + torch.arange(values.shape[1], device=start.device)]

    def forward(self, queries: Tensor, keys: Tensor) -> Tensor:
        return queries @ keys.transpose(1, 2)


class Scaled(Energy):
    """g * energy + r, with learned gain g and, where one is given, bias r (Raffel et al. 2017, equations 16 and 17).

    g starts at 1 / sqrt(d). Energies are returned in float32.
    """

    def __init__(self, energy: Energy, bias: float | None = None) -> None:
        super().__init__()
        self.energy = energy
        self.size, self.max_source_length = energy.size, energy.max_source_length
        self.gain = nn.Parameter(torch.tensor(energy.size**-0.5))
        self.bias = None if bias is None else nn.Parameter(torch.tensor(bias))

    def keys(self, values: Tensor, start: Tensor | None = None) -> Tensor:
        return self.energy.keys(values, start)

    def forward(self, queries: Tensor, keys: Tensor) -> Tensor:
        scaled = self.gain * self.energy(queries, keys).float()
        return scaled if self.bias is None else scaled + self.bias


ENERGIES: dict[str, tuple[type[Options], type[Energy]]] = {
    "dot": (DotConfig, Dot),
    "general": (GeneralConfig, General),
    "concat": (ConcatConfig, Concat),
    "location": (LocationConfig, Location),
}
EnergyConfig = Annotated[DotConfig | GeneralConfig | ConcatConfig | LocationConfig, Field(discriminator="name")]


def build_energy(config: EnergyConfig, query_size: int, value_size: int, *, normalized: bool = False) -> Energy:
    """The energy that a configuration, or one derived from it, describes."""
    kind = next(energy for options, energy in ENERGIES.values() if isinstance(config, options))
    return kind(config, query_size, value_size, normalized=normalized)
