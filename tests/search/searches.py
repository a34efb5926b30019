"""Searches of a decoder in torch, as the tests ask for them."""

from collections.abc import Sequence
from typing import Any, Protocol

import torch

from mt.search import online as simulations
from mt.search.beam import search
from mt.search.constraints import FREE, Constraints
from mt.search.hypothesis import Hypothesis
from mt.search.online import OnlineHypothesis
from mt.search.torch_stepper import TorchStepper
from mt.step import Prediction


class Decoder(Protocol):
    def init_state(self, memory: Any) -> Any: ...

    def step(self, tokens: torch.Tensor, memory: Any, state: Any) -> Prediction: ...


def stepper(decoder: Decoder, memory: Any, sentences: int) -> TorchStepper:
    return TorchStepper(decoder.step, memory, decoder.init_state(memory), sentences, torch.device("cpu"))


def beam(
    decoder: Decoder, memory: Any, sentences: int, *, max_lengths: torch.Tensor, **options: Any
) -> list[list[Hypothesis]]:
    return search(stepper(decoder, memory, sentences), max_lengths.tolist(), **options)


def greedy(
    decoder: Decoder, memory: Any, sentences: int, *, max_lengths: torch.Tensor, constraints: Constraints = FREE
) -> list[Hypothesis]:
    result = beam(decoder, memory, sentences, max_lengths=max_lengths, constraints=constraints)
    return [best for (best,) in result]


def online(
    decoder: Decoder, memory: Any, *, source_lengths: Sequence[int], limits: Sequence[int]
) -> list[OnlineHypothesis]:
    steps = stepper(decoder, memory, len(source_lengths))
    return simulations.online(steps, source_lengths=source_lengths, limits=limits)


def wait_k(
    decoder: Decoder, memory: Any, k: int, *, source_lengths: Sequence[int], limits: Sequence[int]
) -> list[OnlineHypothesis]:
    steps = stepper(decoder, memory, len(source_lengths))
    return simulations.wait_k(steps, k, source_lengths=source_lengths, limits=limits)
