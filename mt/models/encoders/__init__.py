"""The closed table of encoders."""

from mt.models.encoders.base import Encoded, Encoder, EncoderState
from mt.models.encoders.none import NoEncoder
from mt.models.encoders.recurrent import GRU, LSTM, BiGRU, BiLSTM
from mt.models.encoders.ssru import SSRU, BiSSRU

ENCODERS: dict[str, type[Encoder]] = {
    "bilstm": BiLSTM,
    "lstm": LSTM,
    "bigru": BiGRU,
    "gru": GRU,
    "ssru": SSRU,
    "bissru": BiSSRU,
    "none": NoEncoder,
}

__all__ = ["ENCODERS", "Encoded", "Encoder", "EncoderState"]
