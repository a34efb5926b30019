"""Beam search with a length penalty, its n best hypotheses exact with respect to the beam.

A sentence has `beam_size` slots. Each step keeps the most probable extensions of its open hypotheses, one for each free
slot; a hypothesis that ends, by EOS or at the maximum length, keeps its slot, and the search goes on with the rest. It
is over when none is open, or none can become one of the n best: log-probabilities only fall, so that a hypothesis
scores at most what its present log-probability would score at the maximum length, where the penalty divides by most.
Stopping there changes no result. So a beam with a slot for every possible sentence is exhaustive search, and a beam of
one is greedy search.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from mt.search.constraints import FREE, Constraints
from mt.search.history import Ends, History
from mt.search.hypothesis import BOS, EOS, Decoder, Hypothesis, select, top_k


class _Live(NamedTuple):
    """The A sentences still being searched, with K slots each, of which n are reported."""

    sentence: Tensor  # [A] its index in the batch
    limit: Tensor  # [A] its maximum length
    slots: Tensor  # [A] slots not taken by an ended hypothesis
    log_prob: Tensor  # [A, K] of the open hypotheses, best first; -inf where a slot is not open
    ended: Ends  # [A, n] the best ended hypotheses, best first


def penalty(length: int | Tensor, exponent: float) -> float | Tensor:
    """What a log-probability is divided by: ((5 + |Y|) / 6) ** exponent (Wu et al. 2016, equation 14)."""
    return ((5 + length) / 6) ** exponent


@torch.no_grad()
def beam(
    decoder: Decoder,
    memory: Any,
    batch_size: int,
    *,
    beam_size: int,
    max_lengths: Tensor,
    length_penalty: float = 0.0,
    n_best: int = 1,
    constraints: Constraints = FREE,
) -> list[list[Hypothesis]]:
    """For each sentence its `n_best` hypotheses, best score first; fewer if the beam or the language has no more.

    memory: nested tuples of tensors [B, ...], B = batch_size >= 1; it is repeated for each open hypothesis.
    max_lengths: [B] int64, at least 1 token each, EOS included; on the model's device. Hypotheses that reach it without
        EOS end there and compete with the others.
    length_penalty: exponent a >= 0; the score is log P(Y) / ((5 + |Y|) / 6)^a, where |Y| counts EOS.
    Raises UserError where the model's scores are not finite.
    """
    live = _begin(max_lengths, beam_size, n_best)
    # Rows are the hypotheses that are computed: the open ones, and closed ones while they are too few to be worth
    # dropping. places: of each row, sentence * beam_size + slot.
    places = beam_size * torch.arange(batch_size, device=max_lengths.device)
    parents, tokens = places // beam_size, torch.full_like(places, BOS)
    state = decoder.init_state(memory)
    prefix = tokens.new_empty(len(tokens), 0)
    history, finished, ended = History(), list[_Live](), False
    while True:
        prediction = decoder.step(tokens, memory, state)
        history.append(tokens, parents, prediction)
        forbidden = constraints.forbidden(prediction.logits, prefix, len(history) - 1)
        best = top_k(prediction.logits, min(beam_size, prediction.logits.shape[1]), forbidden)
        live, said, rows, ends = _extend(live, *_spread(best, places, live.log_prob), len(history), length_penalty)
        ended = ended or ends
        done = _done(live, length_penalty) if ended else None
        if done is not None:
            finished.append(select(live, done.nonzero()[:, 0]))
            kept = (~done).nonzero()[:, 0]
            live, said, rows = select((live, said, rows), kept)
            if not len(kept):
                return _report(finished, history)
        tokens, parents = said.flatten(), rows.flatten()
        if ended or len(places) < len(tokens):  # else all of them are open, as before
            before, places = places, _computed(live.log_prob, places if done is None else None)
            tokens, parents = tokens[places], parents[places]
            if done is not None or not torch.equal(places // beam_size, before // beam_size):
                # All rows of a sentence have the same memory.
                memory = select(memory, parents)
        prefix = constraints.extended(select(prefix, parents), tokens)
        state = select(prediction.state, parents)


def _begin(max_lengths: Tensor, beam_size: int, n_best: int) -> _Live:
    """One open hypothesis per sentence, the empty one."""
    sentence = torch.arange(len(max_lengths), device=max_lengths.device)
    log_prob = torch.full((len(sentence), beam_size), -torch.inf, device=sentence.device)
    nothing = log_prob.new_full((len(sentence), n_best), -torch.inf)
    nowhere = torch.zeros_like(nothing, dtype=torch.int64)
    log_prob[:, 0] = 0.0
    slots = torch.full_like(sentence, beam_size)
    return _Live(sentence, max_lengths, slots, log_prob, Ends(nothing, nothing, nowhere, nowhere, nowhere))


def _computed(log_prob: Tensor, before: Tensor | None) -> Tensor:
    """The places [R] of the hypotheses to compute next: those of the open ones; or those of before, where these hold
    all open ones and few others, since dropping rows copies the memories of the rest.

    log_prob: [A, K], -inf where a slot is not open. before: None where places have changed their numbers.
    """
    opened = log_prob.flatten() > -torch.inf
    places = opened.nonzero()[:, 0]
    if before is not None and len(places) <= len(before) and 8 * len(places) > 7 * len(before):
        held = int(opened[before].sum())
        if held == len(places):
            return before
    return places


def _spread(best: tuple[Tensor, Tensor], places: Tensor, log_prob: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Gains and tokens of rows, [R, k], at their places, [A, K, k], and the row of each place, [A, K]; where there is
    none, the gain is -inf and the row another one of the sentence."""
    (gains, tokens), shape, size = best, log_prob.shape, log_prob.numel()
    rows = torch.arange(len(places), device=places.device)
    if len(places) < size:
        gains = gains.new_full((size, gains.shape[1]), -torch.inf).index_copy_(0, places, gains)
        tokens = tokens.new_zeros(size, tokens.shape[1]).index_copy_(0, places, tokens)
        rows = rows.new_full((size,), -1).index_copy_(0, places, rows).view(shape)
        rows = torch.where(rows < 0, rows.amax(1, keepdim=True), rows)
    return gains.view(*shape, -1), tokens.view(*shape, -1), rows.view(shape)


def _done(live: _Live, exponent: float) -> Tensor | None:
    """[A] bool: where no open hypothesis can become one of the n best; None if nowhere."""
    done = live.log_prob.amax(1) / penalty(live.limit, exponent) <= live.ended.score[:, -1]
    return done if done.any() else None


def _extend(
    live: _Live, gains: Tensor, tokens: Tensor, rows: Tensor, length: int, exponent: float
) -> tuple[_Live, Tensor, Tensor, bool]:
    """The beam after one more token, those tokens [A, K], the rows that they continue [A, K], and whether one ended.

    gains, tokens: [A, K, .], the most probable extensions of each hypothesis: the K best of a sentence are among the
    K best of each. rows: [A, K], that of each hypothesis. length: tokens of a hypothesis with the new one.
    """
    K, each = live.log_prob.shape[1], gains.shape[2]
    candidates = live.log_prob[:, :, None] + gains
    log_prob, choice = candidates.flatten(1).topk(K)
    tokens = tokens.flatten(1).gather(1, choice)
    parents = rows.gather(1, choice // each)

    taken = torch.arange(K, device=choice.device) >= live.slots[:, None]
    log_prob = log_prob.masked_fill(taken, -torch.inf)
    ends = ((tokens == EOS) | (live.limit <= length)[:, None]) & (log_prob > -torch.inf)
    if not ends.any():  # as in most steps of one sentence, whose time is that of calls
        return live._replace(log_prob=log_prob), tokens, parents, False
    score = (log_prob / penalty(length, exponent)).masked_fill(~ends, -torch.inf)
    ended = _merge(live.ended, Ends(score, log_prob, torch.full_like(tokens, length), parents, tokens))
    live = live._replace(slots=live.slots - ends.sum(1), log_prob=log_prob.masked_fill(ends, -torch.inf), ended=ended)
    return live, tokens, parents, True


def _merge(best: Ends, new: Ends) -> Ends:
    """The best of both along the last dimension, as many as `best` has."""
    both = Ends(*(torch.cat(pair, 1) for pair in zip(best, new, strict=True)))
    order = both.score.topk(best.score.shape[1]).indices
    return Ends(*(field.gather(1, order) for field in both))


def _report(finished: list[_Live], history: History) -> list[list[Hypothesis]]:
    """The hypotheses of all sentences, in the order of the batch."""
    order = torch.cat([live.sentence for live in finished]).argsort()
    ended = select(Ends(*map(torch.cat, zip(*(live.ended for live in finished), strict=True))), order)
    exists = ended.score > -torch.inf
    hypotheses = iter(history.backtrack(Ends(*(field[exists] for field in ended))))
    return [[next(hypotheses) for _ in range(count)] for count in exists.sum(1).tolist()]
