"""Energies, the scores of source positions for a query (Luong et al. 2015, section 3.1; Bahdanau et al. 2015, A.1.2).

First their options, then the base class and one class for each, the learned scale, and their closed table."""

from abc import ABC, abstractmethod
from typing import Annotated, Any, ClassVar, Literal

import torch
from jaxtyping import Float
from pydantic import BaseModel, Field
from torch import Tensor, nn

from mt.common.options import MAX_SIZE, Options
from mt.errors import UserError
from mt.kernels.additive import additive_energy
from mt.kernels.hard_step import PlainEnergy
from mt.kernels.linear import Linear
from mt.models.encoders.base import Encoded

# The options of each energy.


class DotConfig(Options):
    name: Literal["dot"] = "dot"


class GeneralConfig(Options):
    name: Literal["general"] = "general"


class ConcatConfig(Options):
    name: Literal["concat"] = "concat"
    attention_dim: Annotated[int, "units"] = Field(256, gt=0, le=MAX_SIZE)
    """Hidden units (Bahdanau et al. 2015: 1000; Raffel et al. 2017, appendix D: 512 for translation)."""


class LocationConfig(Options):
    name: Literal["location"] = "location"
    max_source_length: Annotated[int, "positions"] = Field(128, gt=0, le=MAX_SIZE)
    """The most source positions, EOS included, that have a score; a longer source is refused."""


# The energies: the keys, which depend on the source alone, and the comparison with queries.


class Energy(nn.Module, ABC):
    """Constructed as `Class(config, query_size, value_size, normalized=...)`. An energy depends on its query and its
    key alone: attentions compute the energies of a few positions, or of all.

    normalized: whether the direction vector of concat is divided by its length (Raffel et al. 2017, equation 16);
    the other energies have none and are the same either way.
    """

    Config: ClassVar[type[BaseModel]]
    size: int
    """The number of terms that one energy sums, d in the initial gain 1 / sqrt(d)."""
    max_source_length: int | None = None
    """The most source positions that have an energy; None for any number."""

    @abstractmethod
    def keys(self, encoded: Encoded) -> Float[Tensor, "B S K"]:
        """Returns the keys, the part of the energy that is computed before any query is known."""

    @abstractmethod
    def forward(self, queries: Float[Tensor, "B T Q"], keys: Float[Tensor, "B S K"]) -> Float[Tensor, "B T S"]:
        """Returns the energy of each query and each position."""

    def as_plain(self, query: Float[Tensor, "*B Q"], keys: Float[Tensor, "B S K"]) -> PlainEnergy | None:
        """Returns the energies in the form that compiled hard steps take, contiguous; None: they have no such form."""
        return None


class DotProduct(Energy):
    """An energy that is the product of a query with a key; a subclass defines the keys."""

    def forward(self, queries: Float[Tensor, "B T Q"], keys: Float[Tensor, "B S K"]) -> Float[Tensor, "B T S"]:
        return queries @ keys.transpose(1, 2)  # [B, T, Q] @ [B, Q, S]

    def as_plain(self, query: Float[Tensor, "*B Q"], keys: Float[Tensor, "B S K"]) -> PlainEnergy | None:
        return PlainEnergy(query.contiguous(), keys.contiguous())


class Dot(DotProduct):
    """h . s: query and values have one size and no parameters."""

    Config = DotConfig

    def __init__(self, config: DotConfig, query_size: int, value_size: int, *, normalized: bool = False) -> None:
        super().__init__()
        if query_size != value_size:
            raise UserError(
                f"dot attention compares decoder states of size {query_size} with encoder states of size {value_size}: "
                f"set encoder.hidden_size={query_size} or decoder.hidden_size={value_size} to make them equal, or "
                "choose attention=general"
            )
        self.size = query_size

    def keys(self, encoded: Encoded) -> Float[Tensor, "B S K"]:
        return encoded.values


class General(DotProduct):
    """h . W s."""

    Config = GeneralConfig

    def __init__(self, config: GeneralConfig, query_size: int, value_size: int, *, normalized: bool = False) -> None:
        super().__init__()
        self.size = query_size
        self.project = Linear(value_size, query_size, bias=False)

    def keys(self, encoded: Encoded) -> Float[Tensor, "B S K"]:
        return self.project(encoded.values)


class Concat(Energy):
    """v . tanh(W [h; s]), Luong's `concat`, which is Bahdanau's additive energy v . tanh(W h + U s).

    Normalized: v / |v| . tanh(W h + U s + b) (Raffel et al. 2017, equation 16, whose gain and bias are `Scaled`'s).
    """

    Config = ConcatConfig

    def __init__(self, config: ConcatConfig, query_size: int, value_size: int, *, normalized: bool = False) -> None:
        super().__init__()
        self.size = config.attention_dim
        self.normalized = normalized
        # Decoding in int8 rounds what each step computes; keys are computed once for a source. The bias b of
        # equation 16 is added there, too.
        self.project_query = Linear(query_size, config.attention_dim, bias=False, int8=True)
        self.project_value = Linear(value_size, config.attention_dim, bias=normalized)
        # Drawn as torch draws the weights of a linear layer with this many inputs.
        self.direction = nn.Parameter(torch.empty(config.attention_dim).uniform_(-1, 1) / config.attention_dim**0.5)

    def keys(self, encoded: Encoded) -> Float[Tensor, "B S K"]:
        return self.project_value(encoded.values)

    def forward(self, queries: Float[Tensor, "B T Q"], keys: Float[Tensor, "B S K"]) -> Float[Tensor, "B T S"]:
        # v / |v|, whose length is then the gain of `Scaled`.
        direction = self.direction / self.direction.norm() if self.normalized else self.direction
        return additive_energy(self.project_query(queries), keys, direction)

    def as_plain(self, query: Float[Tensor, "*B Q"], keys: Float[Tensor, "B S K"]) -> PlainEnergy | None:
        # The product with W is made here, for all steps at once; the loops sum over hidden units alone.
        query = self.project_query(query).contiguous()
        return PlainEnergy(query, keys.contiguous(), self.direction, self.normalized)


class Location(DotProduct):
    """W s, whose row j scores position j whatever its value (Luong et al. 2015, section 3.1, `location`)."""

    Config = LocationConfig
    max_source_length: int

    def __init__(self, config: LocationConfig, query_size: int, value_size: int, *, normalized: bool = False) -> None:
        super().__init__()
        self.size = query_size
        self.max_source_length = config.max_source_length
        initial = torch.empty(config.max_source_length, query_size).uniform_(-1, 1)
        self.positions = nn.Parameter(initial / query_size**0.5)

    def keys(self, encoded: Encoded) -> Float[Tensor, "B S K"]:
        """Returns rows of W, the same for all sources. Raises UserError where a source has more positions than W has
        rows."""
        mask = encoded.mask
        first_position = encoded.first_position
        most = self.max_source_length
        # Real lengths are read only where they can be too large: on a GPU, reading them waits for all work.
        if first_position is not None or mask.shape[1] > most:
            length = int((mask.sum(1) if first_position is None else mask.sum(1) + first_position).max())
            if length > most:
                raise UserError(
                    f"a source of {length} tokens is longer than the {most} that location attention has scores for: "
                    "raise attention.energy.max_source_length (attention.max_source_length for attention=location), or "
                    "choose another energy"
                )
        # Padding beyond the last row has that one's.
        positions = torch.arange(mask.shape[1], device=mask.device)
        if first_position is None:
            return self.positions[positions.clamp(max=most - 1)].expand(len(mask), -1, -1)
        return self.positions[(first_position[:, None] + positions).clamp(max=most - 1)]


# An energy with gain and bias, and the closed table.


class Scaled(Energy):
    """g * energy + r, with learned gain g and, where one is given, bias r (Raffel et al. 2017, equations 16 and 17).

    g starts at 1 / sqrt(d). Energies are returned in float32.
    """

    def __init__(self, energy: Energy, bias: float | None = None) -> None:
        super().__init__()
        self.energy = energy
        self.size = energy.size
        self.max_source_length = energy.max_source_length
        self.gain = nn.Parameter(torch.tensor(energy.size**-0.5))
        self.bias = None if bias is None else nn.Parameter(torch.tensor(bias))

    def keys(self, encoded: Encoded) -> Float[Tensor, "B S K"]:
        return self.energy.keys(encoded)

    def forward(self, queries: Float[Tensor, "B T Q"], keys: Float[Tensor, "B S K"]) -> Float[Tensor, "B T S"]:
        # Products may be in bfloat16, whose 8 bits are too few for sums of exponentials and for alpha.
        scaled = self.gain * self.energy(queries, keys).float()
        return scaled if self.bias is None else scaled + self.bias

    def as_plain(self, query: Float[Tensor, "*B Q"], keys: Float[Tensor, "B S K"]) -> PlainEnergy | None:
        parameters = self._parameters  # as attributes they take longer than a step computes
        energy: Any = self._modules["energy"]
        plain: PlainEnergy | None = energy.as_plain(query, keys)
        # The first four fields are the energy's own, to which gain and bias are added.
        return plain and PlainEnergy(*plain[:4], parameters["gain"], parameters.get("bias"))


ENERGIES: dict[str, type[Energy]] = {"dot": Dot, "general": General, "concat": Concat, "location": Location}
EnergyConfig = Annotated[DotConfig | GeneralConfig | ConcatConfig | LocationConfig, Field(discriminator="name")]


def build_energy(config: Options, query_size: int, value_size: int, *, normalized: bool = False) -> Energy:
    """Returns the energy of these options, or of a subclass of them, as an attention may have."""
    kind = next(energy for energy in ENERGIES.values() if isinstance(config, energy.Config))
    return kind(config, query_size, value_size, normalized=normalized)
