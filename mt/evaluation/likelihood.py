"""The log-probability of pairs of source and target under a model or an ensemble."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from mt.data.fields import Raw, as_list, require_texts
from mt.decoding.forced import forced_rows
from mt.decoding.modes import decodes_hard
from mt.decoding.translator import Translator
from mt.errors import UserError
from mt.search.config import waits
from mt.search.hypothesis import penalty


@dataclass(frozen=True)
class Likelihood:
    """The probability of a target given its source. T tokens, EOS included."""

    tokens: tuple[str, ...]
    token_log_probs: tuple[float, ...]
    """The log-probability of each token given those before, natural logarithms."""
    score: float
    """`log_prob` over the length penalty: what a beam ranks by."""

    @property
    def log_prob(self) -> float:
        """Returns the log-probability of the whole target."""
        return sum(self.token_log_probs)


def likelihoods(
    translator: Translator,
    sources: Iterable[Raw],
    targets: Iterable[str | Sequence[int]],
    *,
    length_penalty: float | None = None,
) -> list[Likelihood]:
    """Returns the likelihood of each pair, in order. The attention reads as the run decodes, softly or hard, and as far
    as wait-k lets it.

    targets: texts, cut as the tokenizer cuts them, EOS added; or ids as they are, such as `Translation.ids`: a search
        may find other pieces of the same text.
    length_penalty: exponent a of the score, log P(Y) / ((5 + |Y|) / 6)^a (Wu et al. 2016, equation 14), |Y| tokens, EOS
        included; by default that of the run's search, 0 where that has none.

    Raises UserError for a text that is too long.
    """
    search = translator.config.search
    tokenizer = translator.tokenizers.target
    exponent = getattr(search, "length_penalty", 0.0) if length_penalty is None else length_penalty
    sources, targets = as_list(sources)[0], list[Any](as_list(cast(Iterable[Any], targets))[0])
    if len(sources) != len(targets):
        raise UserError(f"each source has a target: {len(sources)} sources and {len(targets)} targets were given")
    if translator.field.written:
        require_texts(sources, "source")
    require_texts((target for target in targets if not isinstance(target, list | tuple | np.ndarray)), "target")
    texts = [*(sources if translator.field.written else []), *targets]
    translator.refuse_long(text for text in texts if isinstance(text, str))
    rows = translator.field.encode(sources, translator.tokenizers.source)
    ids = [tokenizer.encode([text])[0] if isinstance(text, str) else list(text) for text in targets]
    hard = decodes_hard(search, translator.model)
    likelihood_of: dict[int, Likelihood] = {}
    network = translator.network.in_torch()
    batches = forced_rows(network, rows, ids, hard=hard, wait_k=waits(search), max_tokens=search.batch_tokens)
    for indices, loss in batches:
        for i, row in zip(indices, (-loss.token_losses).cpu().double().tolist(), strict=True):
            log_probs = tuple(row[: len(ids[i])])
            score = sum(log_probs) / penalty(len(log_probs), exponent)
            likelihood_of[i] = Likelihood(tuple(tokenizer.pieces(ids[i])), log_probs, score)
    return [likelihood_of[i] for i in range(len(ids))]
