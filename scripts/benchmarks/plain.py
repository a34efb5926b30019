"""The model of the benchmarks as a textbook writes it in plain PyTorch: what `mt` is measured against.

It has word vectors, a packed bidirectional nn.LSTM, and an nn.LSTMCell with input feeding (Luong et al. 2015, section
3.3). Attention is `general`, and the cross entropy is over all logits. Greedy and beam search take a log-softmax over
the vocabulary and a top-k. The whole batch goes on until its last sentence has ended. All in float32. It computes what
`mt` computes (tests load one's weights into the other), without any trick, and without being made slow.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from mt.data.batches import Batch
from mt.models.seq2seq import Seq2Seq
from mt.step import BOS, EOS, PAD

State = tuple[Tensor, Tensor, Tensor]
"""Hidden, cell and readout of the step before, each [B, H]."""


class Hypothesis(NamedTuple):
    score: float
    tokens: list[int]


class Plain(nn.Module):
    def __init__(self, source_words: int, target_words: int, embedding: int, hidden: int, drop: float) -> None:
        super().__init__()
        self.source = nn.Embedding(source_words, embedding, padding_idx=PAD)
        self.target = nn.Embedding(target_words, embedding, padding_idx=PAD)
        self.encoder = nn.LSTM(embedding, hidden // 2, bidirectional=True, batch_first=True)
        self.bridge = nn.Linear(hidden, 2 * hidden)
        self.cell = nn.LSTMCell(embedding + hidden, hidden)
        self.keys = nn.Linear(hidden, hidden, bias=False)
        self.gain = nn.Parameter(torch.tensor(hidden**-0.5))
        self.combine = nn.Linear(2 * hidden, hidden, bias=False)
        self.output = nn.Linear(hidden, target_words)
        self.drop = nn.Dropout(drop)
        self.scale = embedding**0.5

    def encode(self, source: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor, State]:
        """Returns values, keys and mask of a batch of sources, and the first state."""
        packed = pack_padded_sequence(
            self.drop(self.scale * self.source(source)), mask.sum(1).cpu(), batch_first=True, enforce_sorted=False
        )
        outputs, (last, _) = self.encoder(packed)
        values, _ = pad_packed_sequence(outputs, batch_first=True, total_length=mask.shape[1])
        hidden, cell = torch.tanh(self.bridge(torch.cat((last[0], last[1]), -1))).chunk(2, -1)
        return values, self.keys(values), mask, (hidden, cell, torch.zeros_like(hidden))

    def step(self, vectors: Tensor, state: State, values: Tensor, keys: Tensor, mask: Tensor) -> State:
        hidden, cell, fed = state
        hidden, cell = self.cell(torch.cat((vectors, fed), -1), (hidden, cell))
        energies = self.gain * (keys @ hidden[:, :, None])[:, :, 0]
        weights = energies.masked_fill(~mask, -torch.inf).softmax(-1)
        context = (weights[:, None] @ values)[:, 0]
        return hidden, cell, self.drop(torch.tanh(self.combine(torch.cat((context, hidden), -1))))

    def forward(self, batch: Batch) -> Tensor:
        """Returns the sum of the cross entropy of a batch."""
        *source, state = self.encode(batch.source, batch.source_mask)
        readouts = []
        for vectors in self.drop(self.scale * self.target(batch.target_in)).unbind(1):
            state = self.step(vectors, state, *source)
            readouts.append(state[2])
        logits = self.output(torch.stack(readouts, 1))
        return cross_entropy(logits.flatten(0, 1), batch.target_out.flatten(), ignore_index=PAD, reduction="sum")

    def log_probs(self, tokens: Tensor, state: State, *source: Tensor) -> tuple[Tensor, State]:
        """Returns the log-probabilities of all next tokens, [N, V], and the state after the step. PAD and BOS never
        follow."""
        state = self.step(self.scale * self.target(tokens), state, *source)
        log_probs = self.output(state[2]).log_softmax(-1)
        log_probs[:, [PAD, BOS]] = -torch.inf
        return log_probs, state

    @torch.no_grad()
    def greedy(self, source: Tensor, mask: Tensor, limits: Tensor) -> list[Hypothesis]:
        """Takes the best token at each step. limits: [B], the most tokens of each sentence, EOS included."""
        *memory, state = self.encode(source, mask)
        tokens = torch.full_like(limits, BOS)
        score = torch.zeros(len(limits), device=limits.device)
        done = torch.zeros_like(mask[:, 0])
        written: list[Tensor] = []
        while not done.all():
            log_probs, state = self.log_probs(tokens, state, *memory)
            best, tokens = log_probs.max(-1)
            score += best.masked_fill(done, 0)
            written.append(tokens.masked_fill(done, PAD))
            done = done | (tokens == EOS) | (len(written) >= limits)
        return [
            Hypothesis(total, [token for token in row if token != PAD])
            for total, row in zip(score.tolist(), torch.stack(written, 1).tolist(), strict=True)
        ]

    @torch.no_grad()
    def beam(self, source: Tensor, mask: Tensor, limits: Tensor, size: int, penalty: float) -> list[Hypothesis]:
        """Returns the best hypothesis of each sentence. An ended one keeps its slot in the beam; a sentence is over
        when none is open. Scores are divided by ((5 + length) / 6) ** penalty (Wu et al. 2016)."""
        *memory, state = self.encode(source, mask)
        memory = [part.repeat_interleave(size, 0) for part in memory]
        state = _rows(state, torch.arange(len(limits), device=limits.device).repeat_interleave(size))
        tokens = limits.new_full((len(state[0]),), BOS)
        written = tokens.new_empty(len(tokens), 0)
        score = torch.full((len(limits), size), -torch.inf, device=source.device)
        score[:, 0] = 0
        offsets = size * torch.arange(len(limits), device=limits.device)[:, None]
        open_slots = torch.full_like(limits, size)
        ended: list[list[Hypothesis]] = [[] for _ in range(len(limits))]
        while (score > -torch.inf).any():
            log_probs, state = self.log_probs(tokens, state, *memory)
            totals = (score[:, :, None] + log_probs.view(*score.shape, -1)).flatten(1)
            score, choice = totals.topk(size)
            chosen = choice % log_probs.shape[1]
            rows = (choice // log_probs.shape[1] + offsets).flatten()
            tokens = chosen.flatten()
            written = torch.cat((written[rows], tokens[:, None]), 1)
            state = _rows(state, rows)
            score = score.masked_fill(torch.arange(size, device=score.device) >= open_slots[:, None], -torch.inf)
            length = written.shape[1]
            ends = ((chosen == EOS) | (length >= limits)[:, None]) & (score > -torch.inf)
            for sentence, slot in ends.nonzero().tolist():
                total = float(score[sentence, slot]) / ((5 + length) / 6) ** penalty
                ended[sentence].append(Hypothesis(total, written[sentence * size + slot].tolist()))
            open_slots = open_slots - ends.sum(1)
            score = score.masked_fill(ends, -torch.inf)
        return [max(hypotheses) for hypotheses in ended]


def _rows(state: Sequence[Tensor], index: Tensor) -> Any:
    return tuple(part[index] for part in state)


NAMES = {
    "source.": "frontend.table.",
    "target.": "decoder.embedding.table.",
    "encoder.": "encoder.cells.",
    "bridge.": "decoder.recurrence.bridge.",
    "cell.": "decoder.recurrence.cells.",
    "keys.": "decoder.attention.energy.energy.project.",
    "gain": "decoder.attention.energy.gain",
    "combine.": "decoder.combine.",
    "output.": "decoder.output.",
}
"""The prefixes of the names of parameters, of the plain model and of `mt`'s."""


def plain_of(model: Seq2Seq) -> Plain:
    """Returns the same model with the same weights, on the same device. model: of the benchmarks' sizes, with input
    feeding."""
    weights: dict[str, Tensor] = {}
    for plain_prefix, prefix in NAMES.items():
        for name, weight in model.state_dict().items():
            if name.startswith(prefix):
                rest = name.removeprefix(prefix)
                # The layers of an LSTM are numbered, and a cell is not.
                weights[plain_prefix + (rest.removesuffix("_l0") if plain_prefix == "cell." else rest)] = weight
    source_words, embedding = weights["source.weight"].shape
    target_words, hidden = weights["output.weight"].shape
    plain = Plain(source_words, target_words, embedding, hidden, model.decoder.dropout.p)
    plain.load_state_dict(weights)
    return plain.to(weights["gain"].device)
