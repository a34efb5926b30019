"""Luong's decoder: the current state is the query, and the context joins it in the readout (Luong et al. 2015, section
3).

    h_t = LSTM(y_{t-1}, h_{t-1});  c_t = attention(h_t);  h~_t = tanh(W_c [c_t; h_t]);  p(y_t) = softmax(W_s h~_t)

With input feeding (section 3.3) h~_{t-1} joins y_{t-1} at the LSTM's input, and target steps must be taken in turn.
Without it, all steps are taken at once under teacher forcing.
"""

from typing import Any, ClassVar, Literal

import torch
from jaxtyping import Float, Int
from pydantic import BaseModel
from torch import Tensor
from torch.nn.functional import dropout1d, linear

from mt.kernels.input_feeding import DotProductAttention, Weights, input_feeding
from mt.kernels.linear import Linear
from mt.kernels.lstm import LSTM
from mt.models.attention import ATTENTIONS
from mt.models.attention.base import Attention, AttentionOutput, Memory
from mt.models.attention.energy import Scaled
from mt.models.decoders.base import Decoder, DecoderParts, DecoderQuery, RecurrenceConfig, Tree
from mt.models.decoders.mixture import next_tokens, target_likelihoods


class LuongConfig(RecurrenceConfig):
    name: Literal["luong"] = "luong"
    input_feeding: bool = False
    """Whether h~ joins the next input (Luong et al. 2015, section 3.3): better alignments, but one step after
    another."""

    @property
    def step_by_step(self) -> bool:
        return self.input_feeding

    @property
    def mixes_predictions(self) -> bool:
        return not self.input_feeding


class Luong(Decoder):
    Config: ClassVar[type[BaseModel]] = LuongConfig

    def __init__(self, config: LuongConfig, parts: DecoderParts) -> None:
        super().__init__(config, parts, fed_size=config.readout_size if config.input_feeding else 0)
        self.readout_size = config.readout_size
        self.input_feeding = config.input_feeding
        self.combine = Linear(parts.value_size + config.hidden_size, config.readout_size, bias=False, int8=True)

    def _first_state(self, final_state: Float[Tensor, "B U"]) -> tuple[Tensor, ...]:
        """Returns the recurrence's state, each [B, layers, H], and h~ of the step before, [B, F], zero at first."""
        feed = final_state.new_zeros(len(final_state), self.readout_size)
        return *self.recurrence.init_state(final_state), feed

    def forward(
        self,
        tokens: Int[Tensor, "B T"],
        memory: Memory,
        *,
        hard: bool = False,
        targets: Int[Tensor, "B T"] | None = None,
    ) -> tuple[Float[Tensor, "B T F"], AttentionOutput]:
        # Without input feeding, all queries are known before the attention.
        if not self.input_feeding:
            queries, _ = self.recurrence(self.embedding(tokens), self.init_state(memory, hard=hard).recurrent[:-1])
            if self.attention.mixes_predictions:
                output = self._mixing(queries, memory, next_tokens(tokens) if targets is None else targets)
            else:
                output = self.attention(queries, memory, hard=hard)
            return self._combine(output.contexts, queries), output
        # With it, one LSTM layer and a softmax over dot products have a fast form; all others go step by step.
        dot_product = as_dot_products(self.attention, memory, tokens.shape[1])
        # It reads the weights of an LSTM and computes it by itself: a GRU or a subclass would be computed wrongly.
        plain = type(self.recurrence) is Decoder.recurrence_type and type(self.recurrence.cells) is LSTM
        if dot_product is None or not plain or self.recurrence.cells.num_layers > 1:
            return super().forward(tokens, memory, hard=hard)
        hidden, cell, _ = self.init_state(memory).recurrent
        return self._forward_at_once(self.embedding(tokens), (hidden[:, 0], cell[:, 0]), dot_product)

    def _forward_at_once(
        self, inputs: Float[Tensor, "B T E"], state: tuple[Tensor, Tensor], dot_product: DotProductAttention
    ) -> tuple[Float[Tensor, "B T F"], AttentionOutput]:
        """Takes all steps by one function with a backward pass of its own."""
        # The LSTM's two biases are one; the mask of dropout is drawn for all steps, [B, T, F].
        w_input, w_hidden, *biases = self.recurrence.cells.all_weights[0]
        weights = Weights(w_input, w_hidden, biases[0] + biases[1], self.combine.weight)
        drop = None
        if self.training and self.dropout.p:
            # Dropout of ones gives its factors, 0 and 1 / (1 - p).
            drop = self.dropout(inputs.new_ones(*inputs.shape[:2], self.readout_size))
        readouts, contexts, alpha = input_feeding(inputs, state, dot_product, weights, drop)
        return readouts, AttentionOutput(contexts, alpha)

    def _make_query(self, vectors: Float[Tensor, "B E"], state: Tree) -> tuple[Float[Tensor, "B H"], Tree]:
        *recurrent, feed = state
        if self.input_feeding:
            vectors = torch.cat((vectors, feed), -1)  # [B, E + F]
        query, after = self.recurrence(vectors, tuple(recurrent))
        return query, (*after, feed)

    def _read_out(self, query: DecoderQuery, context: Float[Tensor, "B V"]) -> tuple[Float[Tensor, "B F"], Tree]:
        """Returns the readout h~, and the state after the step."""
        *recurrent, feed = query.decoder_state
        readout = self._combine(context, query.vector)
        # Without input feeding nothing reads h~ again, and the state keeps its zeros.
        return readout, (*recurrent, readout if self.input_feeding else feed)

    def _combine(
        self, context: Float[Tensor, "*steps V"], query: Float[Tensor, "*steps H"]
    ) -> Float[Tensor, "*steps F"]:
        """Returns h~ = tanh(W_c [c; h])  (Luong et al. 2015, equation 5)."""
        return self.dropout(torch.tanh(self.combine(torch.cat((context, query), -1))))

    def readouts_of(self, sums: Float[Tensor, "N S F"]) -> Float[Tensor, "N S F"]:
        """Returns h~ of N steps at each position, from the sums of `summands`. All positions of a step have one mask of
        dropout, since one network compares them; and to draw a mask for each would take a quarter of an update."""
        return dropout1d(torch.tanh(sums).transpose(1, 2), self.dropout.p, self.training).transpose(1, 2)

    def summands(
        self, queries: Float[Tensor, "*steps H"], contexts: Float[Tensor, "B S V"]
    ) -> tuple[Float[Tensor, "*steps F"], Float[Tensor, "B S F"]]:
        """Returns the two summands of the argument of h~'s tanh: that of each query, and that of each context."""
        weights = self.combine.weight.split((contexts.shape[-1], queries.shape[-1]), 1)
        return linear(queries, weights[1]), linear(contexts, weights[0])

    def _mixing(self, queries: Float[Tensor, "B T H"], memory: Memory, targets: Int[Tensor, "B T"]) -> AttentionOutput:
        """Returns the attention of all steps where predictions are mixed, with the likelihoods of the targets."""
        summands = self.summands(queries, memory.values)
        likelihoods, means = target_likelihoods(summands, self.readouts_of, self.output, targets)
        output = self.attention(queries, memory, log_likelihoods=likelihoods)
        return output._replace(log_likelihoods=likelihoods, mean_log_probs=means)


_DOT_PRODUCTS = [ATTENTIONS[name] for name in ("dot", "general", "location")]


def as_dot_products(attention: Attention, memory: Memory, steps: int) -> DotProductAttention | None:
    """Returns the tensors of an attention that is a softmax over dot products, for `input_feeding`; None for all other
    attentions. Subclasses are others, since they may compute something else."""
    if type(attention) not in _DOT_PRODUCTS:
        return None
    energy: Any = attention.energy
    gain = energy.gain if isinstance(energy, Scaled) else memory.values.new_ones(())
    numbers = torch.arange(steps, device=memory.mask.device).expand(len(memory.mask), -1)  # [B, T]
    return DotProductAttention(memory.keys[0], gain, memory.values, memory.visible(numbers))
