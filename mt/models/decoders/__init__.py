"""The closed table of decoders."""

from typing import Annotated

from pydantic import Field

from mt.models.decoders.bahdanau import Bahdanau, BahdanauConfig
from mt.models.decoders.base import Decoder, DecoderMemory, DecoderParts, DecoderQuery
from mt.models.decoders.gnmt import GNMT, GNMTConfig
from mt.models.decoders.luong import Luong, LuongConfig
from mt.models.decoders.ssru import SSRU, SSRUConfig

DECODERS: dict[str, type[Decoder]] = {"luong": Luong, "bahdanau": Bahdanau, "gnmt": GNMT, "ssru": SSRU}
DecoderConfig = Annotated[LuongConfig | BahdanauConfig | GNMTConfig | SSRUConfig, Field(discriminator="name")]

__all__ = ["DECODERS", "Decoder", "DecoderConfig", "DecoderMemory", "DecoderParts", "DecoderQuery"]
