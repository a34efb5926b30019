"""Searches of a decoder in torch, as the tests ask for them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import pytest
import torch

from mt.search.beam import search
from mt.search.hypothesis import Hypothesis
from mt.search.policies import OnlineConfig, WaitKConfig
from mt.search.processor import Processor
from mt.search.torch_stepper import TorchStepper
from mt.step import EOS


def stepper(decoder: Any, memory: Any, sentences: int) -> TorchStepper:
    return TorchStepper(decoder.step, memory, decoder.init_state(memory), sentences, torch.device("cpu"))


def beam(
    decoder: Any, memory: Any, sentences: int, *, max_lengths: Iterable[int], **options: Any
) -> list[list[Hypothesis]]:
    return search(stepper(decoder, memory, sentences), [*map(int, max_lengths)], **options)


def greedy(
    decoder: Any, memory: Any, sentences: int, *, max_lengths: Iterable[int], processors: Sequence[Processor] = ()
) -> list[Hypothesis]:
    result = beam(decoder, memory, sentences, max_lengths=max_lengths, processors=processors)
    return [best for (best,) in result]


def online(
    decoder: Any, memory: Any, *, source_lengths: Sequence[int], limits: Sequence[int], k: int | None = None
) -> list[Hypothesis]:
    """limits: the most tokens of a hypothesis by the source tokens that were read. k: of wait-k."""

    class Limited(OnlineConfig if k is None else WaitKConfig):  # type: ignore[misc]
        def longest(self, source_length: int) -> int:
            return limits[source_length]

    steps = stepper(decoder, memory, len(source_lengths))
    found = (Limited() if k is None else Limited(k=k)).simulated(steps, source_lengths)
    return [hypothesis for (hypothesis,) in found]


Tokens = tuple[int, ...]


class Level(NamedTuple):
    """The hypotheses of one length that a beam over one sentence looks at."""

    looked_at: list[Tokens]
    ended: list[tuple[float, Tokens]]
    """With their scores."""
    opened: list[Tokens]


def beam_levels(toy: Any, width: int, longest: int, score: Callable[[Tokens, bool], float]) -> Iterator[Level]:
    """Beam search over one sentence as a plain loop, which does not stop early. score: of a hypothesis, and whether it
    has ended."""
    words = [token for token in range(toy.tables.shape[2]) if token not in (0, 2)]
    opened: list[Tokens] = [()]
    for length in range(1, longest + 1):
        looked_at = [(*before, word) for before in opened for word in words]
        kept = sorted(looked_at, key=lambda tokens: score(tokens, False), reverse=True)[:width]
        ends = [tokens for tokens in kept if tokens[-1] == EOS or length == longest]
        opened = [tokens for tokens in kept if tokens not in ends]
        width -= len(ends)
        yield Level(looked_at, [(score(tokens, True), tokens) for tokens in ends], opened)


def literal_beam(
    toy: Any, width: int, longest: int, score: Callable[[Tokens, bool], float]
) -> list[tuple[float, Tokens]]:
    """The hypotheses of `beam_levels` that have ended, best first."""
    return sorted((end for level in beam_levels(toy, width, longest, score) for end in level.ended), reverse=True)


def require_found(hypotheses: Sequence[Hypothesis], expected: Sequence[tuple[float, Tokens]]) -> None:
    """What a search found has these tokens and scores, in this order."""
    assert [h.tokens for h in hypotheses] == [tokens for _, tokens in expected]
    assert [h.score for h in hypotheses] == pytest.approx([score for score, _ in expected], abs=1e-4)
