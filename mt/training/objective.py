"""The training objectives: the module that computes the loss of a batch.

Two of the three objectives stand here, R-Drop (Liang et al. 2021) and minimum risk (Shen et al. 2016); the third is
the cross entropy of the model itself. `objective` chooses."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from mt.config import Config
from mt.data.batches import Batch, collate_targets
from mt.data.tokenizer import Tokenizer
from mt.decoding.minimum_bayes_risk import metric_settings
from mt.device import autocast
from mt.metrics.sentence import SENTENCE_SCORES
from mt.models.seq2seq import Seq2Seq
from mt.search.sampling import sample
from mt.search.torch_stepper import TorchStepper
from mt.training.loop import BatchLoss, choose
from mt.training.optimizer import train_mode

# R-Drop (Liang et al. 2021): two passes of a batch, each with a dropout of its own, are to predict the same.
#
#     L = -log p(y | x) - log q(y | x) + alpha / 2 (KL(p || q) + KL(q || p))        (equations 3 and 4)
#
# p and q are the distributions of each target token in the two passes. With `decoder.copy` they are over the tokens
# that may be generated and the positions that may be copied. Half of L is minimised, which without dropout is the usual
# cross entropy. Both passes are one of a batch of twice the size, with twice its activations.


class RDrop(BatchLoss):
    """The model with the loss of two passes, in the place of `BatchLoss`."""

    def forward(self, batch: Batch | None, seed: int | None) -> tuple[Tensor, Tensor]:
        """Returns half of L summed over the batch, and the sums of `BatchLoss`, averaged over both passes.

        batch, seed: see `BatchLoss`.
        """
        twice = None if batch is None else batch.twice(self.config.training.r_drop)
        total, sums = super().forward(twice, seed)
        return total / 2, sums / 2


# Minimum risk training (Shen et al. 2016): the expected cost of the translations of a model that has been trained.
#
#     R = sum over y in S(x) of Q(y) cost(y, target),  Q(y) = P(y | x)^alpha / sum over y' in S(x) of P(y' | x)^alpha
#
# with S(x) the target and translations that are drawn from the model, each once (equations 9 to 13). Its gradient is
# that of a cross entropy of these translations with the weights alpha Q(y) (R - cost(y)). A translation that costs less
# than R becomes more probable, and others less. So P is computed twice, at first for these weights, with the same
# dropout and noise. No tensor of the size of the vocabulary is kept for either.
#
# The sample depends on the generators' state, or on the seed of the batch, and on the places of sentence and
# translation. So it is the same in a resumed run, and in any number of processes.

Tokens = tuple[int, ...]


class MinimumRisk(BatchLoss):
    """The model with its risk, in the place of `BatchLoss`."""

    def __init__(self, model: Seq2Seq, config: Config, target: Tokenizer) -> None:
        """Raises UserError where the cost cannot be computed here: its tokenizer is not installed."""
        super().__init__(model, config)
        self._target = target
        self._options = config.training.risk
        settings = metric_settings(config.dataset, lowercase=target.lowercases)
        self._score = SENTENCE_SCORES[self._options.cost](settings)

    def forward(self, batch: Batch | None, seed: int | None) -> tuple[Tensor, Tensor]:
        """Returns the risk summed over the batch, and without a gradient [4] float32. These are sums of the targets'
        cross entropy, of the risk, of the auxiliary losses (their mean over the translations), and 0 for links.

        batch, seed: see `BatchLoss`.
        """
        if batch is None:
            return super().forward(batch, seed)
        if seed is not None:
            torch.manual_seed(seed)
        wait_k = choose(self.config.training.wait_k)
        drawing, noise = torch.randint(1 << 62, (2,)).tolist()
        device = next(self.parameters()).device
        targets = [tuple(ids[real].tolist()) for ids, real in zip(batch.target_out, batch.target_mask, strict=True)]
        batch = batch.to(device)
        translations = self.draw_translations(batch, targets, drawing, wait_k)
        together = with_translations(batch, translations)
        # Not in one context of autocast, which would keep the weights that it has cast without a gradient.
        with torch.no_grad(), autocast(device, self.config.precision):
            torch.manual_seed(noise)
            token_losses = self.model(together, wait_k=wait_k).token_losses
        log_probs = -token_losses.double().sum(1).cpu()
        weights, risk = self._weights(translations, log_probs)
        with autocast(device, self.config.precision):
            torch.manual_seed(noise)
            loss = self.model(together._replace(weights=weights.to(token_losses)), wait_k=wait_k)
        auxiliary = loss.auxiliary * (len(targets) / len(log_probs))
        # The weighted cross entropy has the gradient of the risk, and another value.
        total = loss.sum + (risk.to(loss.sum) - loss.sum).detach()
        firsts = np.cumsum([0, *map(len, translations[:-1])])
        sums = [token_losses[firsts].sum(), total.detach(), auxiliary.detach(), total.new_zeros(())]
        return total + auxiliary, torch.stack(sums)

    def draw_translations(
        self, batch: Batch, targets: Sequence[Tokens], drawing: int, wait_k: int | None
    ) -> list[list[Tokens]]:
        """Returns different translations of each source: the target first, then samples, drawn as in decoding, without
        dropout and noise. drawing: the seed."""
        # Limits of length as in decoding; each translation has a generator of its own, in any process.
        model = self.model
        model.eval()
        device = batch.source.device
        options = self._options
        lengths = model.frontend.output_lengths(batch.source_mask.sum(1))
        limits = [self.config.search.longest(length) for length in lengths.tolist()]
        generators = [
            [np.random.default_rng((drawing, place, number)) for number in range(options.samples)]
            for place in range(len(targets))
        ]
        # One search over all sources; with wait-k its steps see a prefix of these.
        with torch.no_grad(), autocast(device, self.config.precision):
            copying = model.decoder.copying
            unknown = 0 if copying is None else max(0, int(batch.source.max()) + 1 - copying.vocab_size)
            memory = model.encode(batch.source, batch.source_mask, unknown)
            memory = memory if wait_k is None else model.wait(memory, wait_k, lengths)
            stepper = TorchStepper(model.step, memory, model.init_state(memory), len(targets), device)
            drawn = sample(stepper, limits, generators, temperature=options.temperature)
        train_mode(model, self.config.training.freeze)
        # The target and the samples, each translation once.
        pairs = zip(targets, drawn, strict=True)
        return [
            [*dict.fromkeys((target, *(hypothesis.tokens for hypothesis in hypotheses)))]
            for target, hypotheses in pairs
        ]

    def _weights(self, translations: Sequence[Sequence[Tokens]], log_probs: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the weight of each translation, [N] float64, and the sum of the risks of all sources.

        log_probs: [N] float64, of the translations of all sources, grouped by source, its target first.
        """
        weights = []
        risk = log_probs.new_zeros(())
        for of_source, their_log_probs in zip(translations, log_probs.split([*map(len, translations)]), strict=True):
            texts = [self._target.decode(tokens) for tokens in of_source]
            costs = 1 - torch.from_numpy(self._score.matrix(texts, texts[:1])[:, 0]) / 100  # [n], of the source's
            shares = (self._options.sharpness * their_log_probs).softmax(0)  # [n]
            expected = shares @ costs
            weights.append(self._options.sharpness * shares * (expected - costs))
            risk = risk + expected
        return torch.cat(weights), risk


def with_translations(batch: Batch, translations: Sequence[Sequence[Tokens]]) -> Batch:
    """Returns a batch with the translations of each source as its targets, grouped by source."""
    source_of_target = torch.arange(len(translations)).repeat_interleave(torch.tensor([*map(len, translations)]))
    targets = collate_targets([np.array(tokens) for of_source in translations for tokens in of_source])
    device = batch.source.device
    target_in, target_out, target_mask = (tensor.to(device) for tensor in targets)
    return batch._replace(
        target_in=target_in,
        target_out=target_out,
        target_mask=target_mask,
        source_of_target=source_of_target.to(device),
    )


# The choice among the three.


def objective_of(config: Config, target: Tokenizer) -> Callable[[Seq2Seq, Config], nn.Module]:
    """Returns the objective; see `mt.training.loop.updates`. target: decodes the texts whose cost is computed."""
    if config.training.objective == "minimum_risk":
        return partial(MinimumRisk, target=target)
    return RDrop if config.training.r_drop else BatchLoss
