"""Greedy search: the most probable token at each step."""

from typing import Any

import torch
from torch import Tensor

from mt.search.constraints import FREE, Constraints
from mt.search.history import Ends, History
from mt.search.hypothesis import BOS, EOS, Decoder, Hypothesis, select, top_k


@torch.no_grad()
def greedy(
    decoder: Decoder, memory: Any, batch_size: int, *, max_lengths: Tensor, constraints: Constraints = FREE
) -> list[Hypothesis]:
    """One hypothesis per sentence, in the order of the batch; its score is its log-probability.

    memory: nested tuples of tensors [B, ...], B = batch_size >= 1.
    max_lengths: [B] int64, at least 1 token each, EOS included; on the model's device. A sentence that reaches its
        maximum without EOS ends there.
    A finished sentence leaves the batch, so that a step costs what its unfinished sentences cost.
    Raises UserError where the model's scores are not finite.
    """
    rows = parents = sentences = torch.arange(batch_size, device=max_lengths.device)
    tokens = torch.full_like(sentences, BOS)
    prefix = tokens.new_empty(batch_size, 0)
    log_probs = torch.zeros(batch_size, device=max_lengths.device)
    state = decoder.init_state(memory)
    history = History()
    limits = max_lengths.tolist()
    finished: list[tuple[Tensor, Ends]] = []
    while len(sentences):
        prediction = decoder.step(tokens, memory, state)
        history.append(tokens, parents, prediction)
        gains, choices = top_k(prediction.logits, 1, constraints.forbidden(prediction.logits, prefix, len(history) - 1))
        log_probs, tokens, state = log_probs + gains[:, 0], choices[:, 0], prediction.state
        prefix = constraints.extended(prefix, tokens)
        parents = rows[: len(tokens)]
        # Looked at on the host, where a few numbers take less time than a call of torch.
        done = [token == EOS or limit <= len(history) for token, limit in zip(tokens.tolist(), limits, strict=True)]
        if any(done):
            over = torch.tensor(done, device=rows.device)
            ends = Ends(log_probs, log_probs, torch.full_like(tokens, len(history)), parents, tokens)
            finished.append(select((sentences, ends), over.nonzero()[:, 0]))
            alive = (sentences, log_probs, tokens, prefix, parents, memory, state)
            alive = select(alive, (~over).nonzero()[:, 0])
            sentences, log_probs, tokens, prefix, parents, memory, state = alive
            limits = [limit for limit, ended in zip(limits, done, strict=True) if not ended]
    order = torch.cat([sentence for sentence, _ in finished]).argsort()
    ends = Ends(*map(torch.cat, zip(*(ends for _, ends in finished), strict=True)))
    return history.backtrack(select(ends, order))
