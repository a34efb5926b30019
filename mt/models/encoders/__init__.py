"""The closed table of encoders."""

from typing import TYPE_CHECKING, Annotated, Union

from pydantic import BaseModel, Field

from mt.models.encoders.base import Encoded, Encoder
from mt.models.encoders.recurrent import LSTM, BiLSTM

ENCODERS: dict[str, type[Encoder]] = {"bilstm": BiLSTM, "lstm": LSTM}

if TYPE_CHECKING:
    EncoderConfig = BaseModel
else:
    EncoderConfig = Annotated[Union[tuple(e.Config for e in ENCODERS.values())], Field(discriminator="name")]

__all__ = ["ENCODERS", "Encoded", "Encoder", "EncoderConfig"]
