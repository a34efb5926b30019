"""Toy languages whose every probability and alignment can be recomputed from the text of a hypothesis alone."""

import itertools
import math
from typing import NamedTuple

import torch

from mt.step import EOS, Attended, Prediction

CHOICES = 97


class Sources(NamedTuple):
    identity: torch.Tensor
    extra: tuple


class Progress(NamedTuple):
    prefix: torch.Tensor
    rest: tuple


class Toy:
    """A decoder that remembers its whole prefix, as a number, and a source that is a table of logits.

    After a prefix of number c, the logits of sentence b are table[b, c % CHOICES], and the step's attention weights are
    (b, step, c): they name the one hypothesis and step that they can belong to.
    """

    def __init__(self, tables: torch.Tensor, stops: torch.Tensor | None = None) -> None:
        self.tables = tables
        self.stops = stops
        self.calls: list[tuple[int, int]] = []

    def memory(self, rows: list[int] | None = None) -> Sources:
        identity = torch.arange(len(self.tables)) if rows is None else torch.tensor(rows)
        return Sources(identity, ((), None, (self.tables[identity],)))

    def init_state(self, memory: Sources) -> Progress:
        zeros = torch.zeros_like(memory.identity)
        return Progress(zeros, (zeros, (), None))

    def step(self, tokens: torch.Tensor, memory: Sources, state: Progress) -> Prediction:
        assert isinstance(memory, Sources)
        assert isinstance(state, Progress)
        self.calls.append((len(tokens), id(memory)))
        prefix = (state.prefix * 7 + tokens) % 10007
        step = state.rest[0]
        logits = memory.extra[2][0][torch.arange(len(tokens)), prefix % CHOICES]
        # Zero times the logits: the weights of a model depend on its parameters, too.
        weights = torch.stack((memory.identity, step, prefix), 1) + 0 * logits[:, :1]
        stops = None if self.stops is None else self.stops[memory.identity, step]
        return Prediction(logits, Attended(weights, stops), Progress(prefix, (step + 1, (), None)))

    def replay(self, sentence: int, tokens: tuple[int, ...]) -> tuple[float, list[list[float]]]:
        """The log-probability of a sentence, in float64, and the weights of its steps: no batch, no search."""
        prefix = 0
        total = 0.0
        weights = []
        for step, (given, token) in enumerate(itertools.pairwise((2, *tokens))):
            prefix = (prefix * 7 + given) % 10007
            weights.append([float(sentence), float(step), float(prefix)])
            total += self.tables[sentence, prefix % CHOICES].double().log_softmax(0)[token].item()
        return total, weights

    def sentences(self, longest: int) -> list[tuple[int, ...]]:
        """Every sentence of the language: those that end in EOS, and those that are cut at the maximum length."""
        words = [token for token in range(self.tables.shape[2]) if token not in (0, 2, EOS)]
        prefixes = [p for n in range(longest) for p in itertools.product(words, repeat=n)]
        return [(*p, EOS) for p in prefixes] + list(itertools.product(words, repeat=longest))

    def ranked(self, sentence: int, longest: int, exponent: float) -> list[tuple[float, tuple[int, ...]]]:
        """Every sentence with its penalised score, best first."""
        scored = [
            (self.replay(sentence, tokens)[0] / math.pow((5 + len(tokens)) / 6, exponent), tokens)
            for tokens in self.sentences(longest)
        ]
        return sorted(scored, reverse=True)


def make_toy(sentences: int, vocabulary: int, seed: int, sharpness: float = 2.0, ending: float = 0.0) -> Toy:
    """ending: is added to the logit of EOS."""
    generator = torch.Generator().manual_seed(seed)
    tables = sharpness * torch.randn(sentences, CHOICES, vocabulary, generator=generator)
    tables[..., EOS] += ending
    return Toy(tables)


class Markov:
    """A decoder of one sentence whose next token depends on the last one: {given: {next: probability}}, else EOS."""

    def __init__(self, chain: dict[int, dict[int, float]]) -> None:
        self.logits = torch.full((6, 6), -torch.inf)
        self.logits[:, EOS] = 0.0
        for given, following in chain.items():
            self.logits[given, EOS] = -torch.inf
            for token, probability in following.items():
                self.logits[given, token] = math.log(probability)
        self.steps = 0

    def init_state(self, memory: tuple) -> tuple:
        return ()

    def step(self, tokens: torch.Tensor, memory: tuple, state: tuple) -> Prediction:
        self.steps += 1
        return Prediction(self.logits[tokens], Attended(torch.zeros(len(tokens), 1)), ())
