"""The closed table of encoders."""

from mt.models.encoders.base import Encoded, Encoder, State as EncoderState
from mt.models.encoders.conv import Conv
from mt.models.encoders.latency_controlled import LCBiLSTM
from mt.models.encoders.none import NoEncoder
from mt.models.encoders.pyramid import Pyramid
from mt.models.encoders.recurrent import GRU, LSTM, BiGRU, BiLSTM
from mt.models.encoders.ssru import SSRU, BiSSRU

ENCODERS: dict[str, type[Encoder]] = {
    "bilstm": BiLSTM,
    "lstm": LSTM,
    "lc_bilstm": LCBiLSTM,
    "bigru": BiGRU,
    "gru": GRU,
    "ssru": SSRU,
    "bissru": BiSSRU,
    "conv": Conv,
    "none": NoEncoder,
    "pyramid": Pyramid,
}

__all__ = ["ENCODERS", "Encoded", "Encoder", "EncoderState"]
