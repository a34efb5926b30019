"""An ensemble predicts the mean of several models' probabilities of the next token. It has a model's verbs, so that
search and evaluation know no difference."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Bool, Int
from torch import Tensor, nn

from mt.batch import Batch
from mt.models.attention.base import Memory
from mt.models.frontends.base import Frontend
from mt.models.losses import Loss
from mt.models.seq2seq import Seq2Seq
from mt.step import Prediction


class Ensemble(nn.Module):
    """Models of one vocabulary, whose probabilities of each token it averages: P(y | x) = 1/N sum_n P_n(y | x).

    In hard mode, each model that supports it reads hard. Alignments are the mean over the models, where all of them
    read soft and have equally many positions. Else alignments and stops are the first model's.
    """

    def __init__(self, models: Sequence[Seq2Seq]) -> None:
        """models: at least one, of the same vocabularies and the same kind of source."""
        super().__init__()
        self.models = tuple(models)
        self.members = nn.ModuleList(models)  # so that they move and change mode with it
        self.supports_hard = any(model.supports_hard for model in models)
        self.uses_source = any(model.uses_source for model in models)
        self.mixes_predictions = any(model.mixes_predictions for model in models)
        self.chunk_size = models[0].chunk_size
        self.as_online_model: Seq2Seq | None = None
        """None: an ensemble reads whole sources, since its models would stop at different positions."""
        limits = [model.max_source_length for model in models if model.max_source_length is not None]
        self.max_source_length = min(limits, default=None)

    @property
    def frontend(self) -> Frontend:
        """Returns the front-end of the first model."""
        return self.models[0].frontend

    def encode(self, source: Tensor, mask: Bool[Tensor, "B S"]) -> tuple[Memory, ...]:
        """Returns the memory of each model; see `Seq2Seq.encode`."""
        return tuple(model.encode(source, mask) for model in self.models)

    def init_state(self, memory: tuple[Memory, ...], *, hard: bool = False) -> tuple[Any, ...]:
        """Returns the first state of each model. memory: of each."""
        pairs = zip(self.models, memory, strict=True)
        return tuple(model.init_state(of_model, hard=hard and model.supports_hard) for model, of_model in pairs)

    def step(
        self,
        tokens: Int[Tensor, " B"],
        memory: tuple[Memory, ...],
        state: tuple[Any, ...],
        *,
        hard: bool = False,
    ) -> Prediction:
        """Returns a prediction whose logits are the logarithms of the mean probabilities."""
        # The models' predictions, and the mean of their probabilities, [B, vocabulary].
        predictions = [
            model.step(tokens, model_memory, model_state, hard=hard and model.supports_hard)
            for model, model_memory, model_state in zip(self.models, memory, state, strict=True)
        ]
        logits = _mean([prediction.log_probs() for prediction in predictions])
        # The attention: the mean weights, or the first model's.
        attended = predictions[0].attended
        weights = self._weights([prediction.attended.weights for prediction in predictions], hard)
        attended = attended._replace(weights=weights)
        states = tuple(prediction.state for prediction in predictions)
        return predictions[0]._replace(logits=logits, normalized=True, attended=attended, state=states)

    def forward(self, batch: Batch, *, hard: bool = False, wait_k: int | None = None) -> Loss:
        """Returns the loss under teacher forcing, for evaluation: the cross entropy of the mean probabilities.

        wait_k: always None, since no ensemble decodes by wait-k.
        """
        losses = [model(batch, hard=hard and model.supports_hard) for model in self.models]
        # Losses are negative log-probabilities, so that probabilities are averaged; padding stays 0.
        token_losses = -_mean([-loss.token_losses for loss in losses])
        loss_of_first: Loss = losses[0]
        weights = self._weights([loss.attention.links for loss in losses], hard)
        return loss_of_first._replace(
            sum=token_losses.sum(),
            auxiliary=token_losses.new_zeros(()),
            token_losses=token_losses,
            attention=loss_of_first.attention._replace(weights=weights, posterior=None),
        )

    def _weights(self, weights: Sequence[Tensor], hard: bool) -> Tensor:
        """Returns the mean attention of the models, or the first one's where shapes differ or a model reads hard."""
        if (hard and self.supports_hard) or len({of_model.shape for of_model in weights}) > 1:
            return weights[0]
        return torch.stack(list(weights)).mean(0)


def _mean(log_probs: Sequence[Tensor]) -> Tensor:
    """Returns the logarithm of the mean probabilities."""
    # By logarithms alone, since probabilities of whole vocabularies fall below what float32 holds.
    return torch.stack(list(log_probs)).logsumexp(0) - math.log(len(log_probs))
