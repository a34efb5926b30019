"""The interface of models that decoding and evaluation use: a trained model, or an ensemble."""

from collections.abc import Iterator
from typing import Any, Protocol, Self

from torch import Tensor, nn

from mt.errors import UserError
from mt.models.batch import Batch
from mt.models.decoders import Prediction
from mt.models.frontends import Frontend
from mt.models.seq2seq import Loss, Seq2Seq


class DecodableModel(Protocol):
    """The verbs and abilities of `Seq2Seq` that every model has. Memory and state are trees of batch-first tensors."""

    supports_hard: bool
    uses_source: bool
    chunk_size: int | None
    max_source_length: int | None

    @property
    def frontend(self) -> Frontend: ...

    @property
    def single(self) -> Seq2Seq | None:
        """The model itself, which may be able to write while it reads; None for an ensemble, which cannot."""

    def encoded_lengths(self, lengths: Tensor) -> Tensor: ...

    def encode(self, source: Tensor, mask: Tensor) -> Any: ...

    def init_state(self, memory: Any, *, hard: bool = False) -> Any: ...

    def step(self, tokens: Tensor, memory: Any, state: Any, *, hard: bool = False) -> Prediction: ...

    def __call__(self, batch: Batch, *, hard: bool = False, wait_k: int | None = None) -> Loss: ...

    def parameters(self) -> Iterator[nn.Parameter]: ...

    def eval(self) -> Self: ...


def single_model(model: DecodableModel) -> Seq2Seq:
    """Returns the model for a search that writes while it reads. Raises UserError where it is an ensemble."""
    if model.single is None:
        raise UserError(
            "an ensemble reads the whole source before it writes, since each of its models would stop elsewhere: give "
            "one run, or choose search=beam or search=greedy"
        )
    return model.single
