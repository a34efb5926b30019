"""The closed table of decoders."""

from mt.models.decoders.bahdanau import Bahdanau
from mt.models.decoders.base import Decoder, DecoderParts, DecoderQuery
from mt.models.decoders.gnmt import GNMT
from mt.models.decoders.luong import Luong
from mt.models.decoders.ssru import SSRU

DECODERS: dict[str, type[Decoder]] = {"luong": Luong, "bahdanau": Bahdanau, "gnmt": GNMT, "ssru": SSRU}

__all__ = ["DECODERS", "Decoder", "DecoderParts", "DecoderQuery"]
