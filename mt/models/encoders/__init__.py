"""The closed table of encoders."""

from typing import TYPE_CHECKING, Annotated, Any, Union

from pydantic import Field

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

if TYPE_CHECKING:
    # A union that is made from the table is beyond a type checker; pydantic checks it.
    EncoderConfig = Any
else:
    _configs = tuple(encoder.Config for encoder in ENCODERS.values())
    EncoderConfig = Annotated[Union[_configs], Field(discriminator="name")]  # noqa: UP007 - a tuple has no `|`

__all__ = ["ENCODERS", "Encoded", "Encoder", "EncoderConfig", "EncoderState"]
