"""What a hypothesis may not say next, whatever the model thinks of it."""

from typing import NamedTuple

import torch
from torch import Tensor

from mt.search.hypothesis import EOS


class Constraints(NamedTuple):
    min_length: int = 0
    """Fewest tokens before EOS."""
    no_repeat_ngram_size: int = 0
    """n: no n tokens in a row may occur twice in a hypothesis (Paulus et al. 2018, section 2.5: 3); 0: any may."""

    def forbidden(self, logits: Tensor, prefix: Tensor) -> Tensor | None:
        """[N, V] bool: the tokens that may not follow; None where all may.

        logits: [N, V]; prefix: [N, L] int64, what the hypotheses say so far, without BOS.
        """
        early, repeats = prefix.shape[1] < self.min_length, 0 < self.no_repeat_ngram_size <= prefix.shape[1]
        if not early and not repeats:
            return None
        mask = torch.zeros_like(logits, dtype=torch.bool)
        if repeats:
            # Each n-gram so far, beside the n - 1 tokens that the next token would make one with.
            ngrams = prefix.unfold(1, self.no_repeat_ngram_size, 1)
            recent = prefix[:, prefix.shape[1] - self.no_repeat_ngram_size + 1 :]
            row, place = (ngrams[..., :-1] == recent[:, None]).all(-1).nonzero(as_tuple=True)
            mask[row, ngrams[row, place, -1]] = True
            # It can always stop.
            mask[:, EOS] = False
        if early:
            mask[:, EOS] = True
        return mask


FREE = Constraints()
