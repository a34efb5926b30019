"""The closed table of decoders."""

from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, Field

from mt.models.decoders.base import Decoder, DecoderMemory, Prediction
from mt.models.decoders.luong import Luong, LuongConfig

DECODERS: dict[str, type[Decoder]] = {"luong": Luong}

if TYPE_CHECKING:
    DecoderConfig = BaseModel
else:
    DecoderConfig = Annotated[LuongConfig, Field()]

__all__ = ["DECODERS", "Decoder", "DecoderConfig", "DecoderMemory", "Prediction"]
