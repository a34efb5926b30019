"""All losses of training, in one list: the cross entropy of the targets, and what is added to it.

`Pass` is what teacher forcing leaves behind, and each loss is a function of it. `LOSSES` says which options ask for
which loss. Two of them have layers of their own, `CTC` and `Aligner`. `loss_of` adds all up. The sums over
positions and steps are operations of `mt.ops.losses`.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import ctc_loss, pad

from mt.batch import Batch
from mt.device import autocast
from mt.kernels.cross_entropy import token_losses
from mt.kernels.linear import Linear
from mt.kernels.sequences import masked_softmax
from mt.models.attention.base import AttentionOutput, Memory
from mt.models.config import ModelConfig
from mt.models.decoders.base import Decoder
from mt.models.decoders.mixture import mixed_losses
from mt.models.encoders import Encoded
from mt.ops.losses import (
    coverage_loss,
    doubly_stochastic_loss,
    expected_lagging,
    guided_alignment_loss,
    quantity_loss,
)

if TYPE_CHECKING:
    from mt.models.seq2seq import Seq2Seq


class Objective(NamedTuple):
    """What the options of training ask of the loss. Evaluation asks for nothing."""

    label_smoothing: float = 0.0
    """The share of probability spread over all tokens alike."""
    r_drop: float = 0.0
    """The weight of the divergence between the halves of the batch, which then repeat each other; 0: they do not."""
    guided_alignment_weight: float = 0.0
    """The weight of the cross entropy of word links."""


NOTHING_ADDED = Objective()


class Pass(NamedTuple):
    """A pass under teacher forcing. B pairs, S encoded positions, T target positions."""

    batch: Batch
    vectors: Tensor
    """[B, S, D], of the front-end."""
    encoded: Encoded
    memory: Memory
    readouts: Tensor
    """[B, T, F], of the decoder."""
    attended: AttentionOutput


class Loss(NamedTuple):
    """The loss of a batch. Training minimises (sum + auxiliary) over a count of tokens or sentences."""

    sum: Tensor
    """Cross entropy of all target tokens, in nats, label smoothing included; float32, differentiable."""
    auxiliary: Tensor
    """All other losses with their weights, in nats; float32, differentiable where it is not 0."""
    tokens: Tensor
    """int64: real target tokens, EOS included."""
    token_losses: Tensor
    """[B, T] float32: the cross entropy of each token without smoothing, 0 on padding; no gradient."""
    source_mask: Tensor
    """[B, S] bool: the real ones of the encoder's S positions."""
    attention: AttentionOutput
    aligned: Tensor | None = None
    """[B, T, S] float32: the weights of the `Aligner`; None in a model without."""
    links: Tensor | None = None
    """The cross entropy of `Batch.linked` in nats, summed, without its weight; None where nothing is linked."""


def cross_entropy(decoder: Decoder, passed: Pass, objective: Objective) -> tuple[Tensor, Tensor]:
    """Returns the cross entropy of the targets, summed, and of each token; see `token_losses`. With `r_drop` the sum
    includes the divergence of the two predictions."""
    target = passed.batch.target_out  # [B, T]
    if passed.attended.log_weights is not None:
        return mixed_losses(passed.attended, passed.batch.target_mask, objective.label_smoothing)
    # With copying, the probability of a target is that of a mixture.
    mixture = None
    if decoder.copying is not None:
        mixture = decoder.copying.mixture(passed.readouts, passed.attended, passed.memory, target)
    return token_losses(
        passed.readouts,
        decoder.output.weight,
        decoder.output.bias,
        target,
        passed.batch.target_mask,
        smoothing=objective.label_smoothing,
        mixture=mixture,
        r_drop_weight=objective.r_drop,
    )


# The other losses, in nats, summed over the batch. token_losses: see `Loss`.


def latency(model: "Seq2Seq", passed: Pass, token_losses: Tensor) -> Float[Tensor, ""]:
    """The expected lagging of a monotonic attention (Arivazhagan et al. 2019, equations 10 to 14)."""
    assert passed.attended.alpha is not None
    return expected_lagging(passed.attended.alpha, passed.memory.mask, passed.batch.target_mask).sum()


def quantity(model: "Seq2Seq", passed: Pass, token_losses: Tensor) -> Float[Tensor, ""]:
    """The target tokens for which a monotonic attention selected no position (Inaguma et al. 2020)."""
    assert passed.attended.alpha is not None
    return quantity_loss(passed.attended.alpha, passed.batch.target_mask).sum()


def reinforce(model: "Seq2Seq", passed: Pass, token_losses: Tensor) -> Float[Tensor, ""]:
    """REINFORCE for sampled positions, and the entropy of their distribution; see `mt.models.attention.stochastic`."""
    options = model.config.attention
    attention: Any = model.decoder.attention
    target_mask = passed.batch.target_mask
    assert passed.attended.alpha is not None
    alpha = passed.attended.alpha.masked_fill(~target_mask[..., None], 0.0)
    # Of a probability that has underflowed, 0 log 0 is 0 and not NaN.
    log_alpha = alpha.clamp(min=torch.finfo(alpha.dtype).tiny).log()
    # log p(s_t | x) of sampled positions; for the expectation its gradient is zero, the sum of d alpha.
    log_p = (passed.attended.weights.detach() * log_alpha).sum(-1)
    # The return of a step: how much better than the baseline its token and all later ones were predicted.
    baseline = attention.baseline.nan_to_num(0.0)
    advantages = (-token_losses - baseline).masked_fill(~target_mask, 0.0)
    returns = advantages.flip(1).cumsum(1).flip(1)
    entropy = -(alpha * log_alpha).sum()
    return -options.reinforce_weight * (returns * log_p).sum() - options.entropy_weight * entropy


def doubly_stochastic(model: "Seq2Seq", passed: Pass, token_losses: Tensor) -> Float[Tensor, ""]:
    """Attention is spread over the whole source (Xu et al. 2015, section 4.2.1)."""
    return doubly_stochastic_loss(_expected(model, passed), passed.memory.mask, passed.batch.target_mask).sum()


def coverage(model: "Seq2Seq", passed: Pass, token_losses: Tensor) -> Float[Tensor, ""]:
    """Attention does not come back to where it has been (See et al. 2017, equation 12)."""
    return coverage_loss(_expected(model, passed), passed.memory.mask, passed.batch.target_mask).sum()


def _expected(model: "Seq2Seq", passed: Pass) -> Float[Tensor, "B T S"]:
    """Returns the weights of the contexts. Sampled ones have no gradient, and their probabilities stand for them."""
    if model.config.attention.name != "stochastic":
        return passed.attended.weights
    assert passed.attended.alpha is not None
    return passed.attended.alpha


class CTC(nn.Linear):
    """Connectionist temporal classification (Graves et al. 2006) of the targets or, where these have a vocabulary, of
    transcripts. The last class is the blank."""

    def __init__(self, value_size: int, target_vocab_size: int, transcript_vocab_size: int | None) -> None:
        super().__init__(value_size, (transcript_vocab_size or target_vocab_size) + 1)
        self._transcribes = transcript_vocab_size is not None

    def loss(self, encoded: Encoded, batch: Batch) -> Float[Tensor, ""]:
        """Returns the loss of a batch in nats, summed (equation 8), without EOS, which has no sound of its own.

        An example without the transcript that is learnt counts 0, without a gradient. So does one that has fewer
        positions than labels, with a blank between equal neighbours."""
        # The labels: transcripts where the corpus has them, else targets.
        labels = batch.target_out
        mask = batch.target_mask
        if self._transcribes:
            if batch.transcript is None or batch.transcript_mask is None:
                return encoded.values.new_zeros((), dtype=torch.float32)
            labels = batch.transcript
            mask = batch.transcript_mask
        # One less than the real tokens, and 0, not -1, of an example that has none.
        lengths = (encoded.mask.sum(1), mask[:, 1:].sum(1))  # of inputs and of labels without EOS
        # Autocast is off here (`loss_of`), while the encoder's values may be in bfloat16.
        log_probs = self(encoded.values.to(self.weight.dtype)).log_softmax(-1).transpose(0, 1)  # [S, B, V]
        blank = log_probs.shape[2] - 1
        losses = ctc_loss(log_probs, labels[:, :-1], *lengths, blank=blank, reduction="none", zero_infinity=True)
        # An example without a transcript would teach the encoder to predict blanks alone.
        return (losses.masked_fill(lengths[1] == 0, 0) if self._transcribes else losses).sum()


def ctc(model: "Seq2Seq", passed: Pass, token_losses: Tensor) -> Float[Tensor, ""]:
    """The encoder predicts the target or a transcript (Kim et al. 2017)."""
    layer: Any = model.ctc
    return layer.loss(passed.encoded, passed.batch)


class Aligner(nn.Module):
    """A small attention that, unlike the decoder's, knows the target word that it aligns.

        q_t = f(r_t, r_{t+1}, y_t);  k_j = g(h_j, x_j);  weights of step t = softmax over j of q_t . k_j / sqrt(d)

    The readout r_t predicts y_t, and the step of r_{t+1} has read it (Chen et al. 2020, "Accurate word alignment
    induction from neural machine translation", Shift-AET). The target word y_t itself joins them (Peter et al. 2017,
    "Generating alignments using target foresight in attention-based neural machine translation"). The encoder's value
    is h_j, and the word vector x_j. The networks f and g have one hidden layer each.

    It learns word links (`training.guided_alignment`) on a frozen model, and has no part in translations.
    """

    def __init__(self, size: int, query_size: int, key_size: int) -> None:
        """size: of the layers. query_size, key_size: of the inputs of f and g."""
        super().__init__()
        self.queries = nn.Sequential(Linear(query_size, size), nn.Tanh(), Linear(size, size))
        self.keys = nn.Sequential(Linear(key_size, size), nn.Tanh(), Linear(size, size))
        self.scale = size**-0.5

    def forward(
        self,
        readouts: Float[Tensor, "B T F"],
        targets: Float[Tensor, "B T E"],
        encoded: Encoded,
        sources: Float[Tensor, "B S D"],
    ) -> Float[Tensor, "B T S"]:
        """Returns the weights of the source positions for each target position, float32.

        readouts: of the steps that predict the targets. targets, sources: vectors of the words.
        """
        # The readout of the next step, which has read the word itself.
        later = pad(readouts[:, 1:], (0, 0, 0, 1))
        queries = self.queries(torch.cat((readouts, later, targets), -1).float())  # [B, T, A]
        keys = self.keys(torch.cat((encoded.values, sources), -1).float())  # [B, S, A]
        return masked_softmax(self.scale * queries @ keys.transpose(1, 2), encoded.mask[:, None])


Term = Callable[["Seq2Seq", Pass, Tensor], Float[Tensor, ""]]
LOSSES: Mapping[Term, Callable[[ModelConfig], float]] = {
    # Most attentions do not have these options.
    latency: lambda config: getattr(config.attention, "latency_weight", 0.0),
    quantity: lambda config: getattr(config.attention, "quantity_weight", 0.0),
    reinforce: lambda config: float(config.attention.name == "stochastic"),
    doubly_stochastic: lambda config: config.doubly_stochastic_weight,
    coverage: lambda config: config.coverage_weight,
    ctc: lambda config: config.ctc_weight,
}
"""Each loss with the weight that the options of a model give it; 0: it is not asked for."""


def loss_layers(
    config: ModelConfig, value_size: int, aligned_sizes: tuple[int, int], vocab_sizes: tuple[int, int | None]
) -> dict[str, nn.Module | None]:
    """Returns the layers of losses by the names that checkpoints have for them; None where they are not asked for.

    value_size: of the encoder. aligned_sizes: of the two inputs of an `Aligner`. vocab_sizes: of targets and
    transcripts."""
    return {
        "ctc": CTC(value_size, *vocab_sizes) if config.ctc_weight else None,
        "aligner": Aligner(config.aligner_size, *aligned_sizes) if config.aligner_size else None,
    }


def loss_of(model: "Seq2Seq", passed: Pass, objective: Objective) -> Loss:
    """Returns the loss of a pass: the cross entropy, and all that the options add to it."""
    batch = passed.batch
    total, each = cross_entropy(model.decoder, passed, objective)
    # The auxiliary losses are sums over many positions: in float32, whatever the precision of the rest.
    with autocast(total.device, "fp32"):
        auxiliary = total.new_zeros(())
        for term, weight in model.losses.items():
            auxiliary = auxiliary + weight * term(model, passed, each)
        # Links teach the weights of the aligner, or of the attention: alpha of mechanisms that select a position.
        aligned = links = None
        aligner: Any = model.aligner
        if aligner is not None:
            targets = model.decoder.embedding(batch.target_out)
            aligned = aligner(passed.readouts, targets, passed.encoded, passed.vectors)
        if batch.linked is not None:
            attended = passed.attended
            attending = attended.weights if attended.alpha is None else attended.alpha
            links = guided_alignment_loss(attending if aligned is None else aligned, batch.linked).sum()
            auxiliary = auxiliary + objective.guided_alignment_weight * links
    tokens = batch.target_mask.sum()
    return Loss(total, auxiliary, tokens, each, passed.memory.mask, passed.attended, aligned, links)
