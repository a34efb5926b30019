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
    Finished sentences leave the batch as soon as they are an eighth of it, so that a step costs little more than what
    its unfinished sentences cost; dropping rows copies the memories of the rest.
    Raises UserError where the model's scores are not finite.
    """
    rows = parents = sentences = torch.arange(batch_size, device=max_lengths.device)
    tokens = torch.full_like(sentences, BOS)
    prefix = tokens.new_empty(batch_size, 0)
    log_probs = torch.zeros(batch_size, device=max_lengths.device)
    state = decoder.init_state(memory)
    history = History()
    limits, over = max_lengths.tolist(), [False] * batch_size
    finished: list[tuple[Tensor, Ends]] = []
    while len(sentences):
        prediction = decoder.step(tokens, memory, state)
        history.append(tokens, parents, prediction)
        gains, choices = top_k(prediction.logits, 1, constraints.forbidden(prediction.logits, prefix, len(history) - 1))
        log_probs, tokens, state = log_probs + gains[:, 0], choices[:, 0], prediction.state
        prefix = constraints.extended(prefix, tokens)
        parents = rows[: len(tokens)]
        # Looked at on the host, where a few numbers take less time than a call of torch.
        ends_now = [token == EOS or limit <= len(history) for token, limit in zip(tokens.tolist(), limits, strict=True)]
        done = [row for row, ends in enumerate(ends_now) if ends and not over[row]]
        if done:
            end = Ends(log_probs, log_probs, torch.full_like(tokens, len(history)), parents, tokens)
            finished.append(select((sentences, end), torch.tensor(done, device=rows.device)))
            for row in done:
                over[row] = True
            if 8 * sum(over) >= len(over):
                alive = [row for row, ended in enumerate(over) if not ended]
                kept = (sentences, log_probs, tokens, prefix, parents, memory, state)
                kept = select(kept, torch.tensor(alive, dtype=torch.int64, device=rows.device))
                sentences, log_probs, tokens, prefix, parents, memory, state = kept
                limits, over = [limits[row] for row in alive], [False] * len(alive)
    order = torch.cat([sentence for sentence, _ in finished]).argsort()
    all_ends = Ends(*map(torch.cat, zip(*(end for _, end in finished), strict=True)))
    return history.backtrack(select(all_ends, order))
