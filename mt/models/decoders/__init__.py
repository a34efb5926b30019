"""The closed table of decoders."""

from mt.models.decoders.base import Decoder, DecoderMemory, Prediction
from mt.models.decoders.luong import Luong, LuongConfig

DECODERS: dict[str, type[Decoder]] = {"luong": Luong}
DecoderConfig = LuongConfig

__all__ = ["DECODERS", "Decoder", "DecoderConfig", "DecoderMemory", "Prediction"]
