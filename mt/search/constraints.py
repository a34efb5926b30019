"""Constraints on the next token of a hypothesis, whatever its probability."""

from typing import NamedTuple

import torch
from torch import Tensor

from mt.search.hypothesis import BOS, EOS, PAD


class Constraints(NamedTuple):
    min_length: int = 0
    """Fewest tokens before EOS."""
    no_repeat_ngram_size: int = 0
    """n: no n tokens in a row may occur twice in a hypothesis (Paulus et al. 2018, section 2.5: 3); 0: any may."""

    def forbidden(self, logits: Tensor, prefix: Tensor, length: int) -> Tensor | None:
        """[N, V] bool: the tokens that may not follow; None where all may.

        EOS may always follow where nothing else may: a hypothesis whose every word would repeat an n-gram ends, even
        before `min_length`.

        logits: [N, V]; prefix: [N, L] int64, the tokens of the hypotheses without BOS, of which n-grams are looked up;
        length: L, which min_length looks at.
        """
        early, repeats = length < self.min_length, 0 < self.no_repeat_ngram_size <= length
        if not early and not repeats:
            return None
        mask = torch.zeros_like(logits, dtype=torch.bool)
        if repeats:
            # The n-grams so far whose first n - 1 tokens are the last ones, token by token: contiguous comparisons.
            n, count = self.no_repeat_ngram_size, length - self.no_repeat_ngram_size + 1
            begins = torch.ones_like(prefix[:, :count], dtype=torch.bool)
            for i in range(n - 1):
                begins &= prefix[:, i : i + count] == prefix[:, count + i, None]
            row, start = begins.nonzero(as_tuple=True)
            mask[row, prefix[row, start + n - 1]] = True
        mask[:, EOS] = False
        if early:
            # Padding and BOS are never chosen.
            others = mask.clone()
            others[:, [PAD, BOS, EOS]] = True
            mask[:, EOS] = ~others.all(1)
        return mask

    def extended(self, prefix: Tensor, tokens: Tensor) -> Tensor:
        """`prefix` with the next tokens [N]; as it is where no n-gram is looked up, so that no step copies it."""
        return torch.cat((prefix, tokens[:, None]), 1) if self.no_repeat_ngram_size else prefix


FREE = Constraints()
