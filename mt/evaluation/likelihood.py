"""The log-probability of pairs of source and target under a model or an ensemble: of pairs of texts, then of the lines
of two files, and how it is printed."""

import json
import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from mt.common.terminal import output, say
from mt.data.fields import Raw, as_list, require_texts
from mt.decoding.translator import Translator
from mt.errors import UserError, counted
from mt.search.hypothesis import penalty
from mt.text_io import is_blank


@dataclass(frozen=True)
class Likelihood:
    """The probability of a target given its source. T tokens, EOS included."""

    tokens: tuple[str, ...]
    token_log_probs: tuple[float, ...]
    """The natural logarithm of the probability of each token, given those before it."""
    score: float
    """`log_prob` divided by the length penalty, by which a beam ranks hypotheses."""

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
    """Returns the likelihood of each pair, in order. The attention is soft or hard as in the run's search, and a wait-k
    model sees as much of the source as in its search.

    targets: texts, which are tokenized and get EOS; or ids, such as `Translation.ids`, which are taken as they are,
        since a search may find other pieces of the same text.
    length_penalty: exponent a of the score, log P(Y) / ((5 + |Y|) / 6)^a (Wu et al. 2016, equation 14), |Y| tokens, EOS
        included. By default that of the run's search, or 0 if the search has none.

    Raises UserError for a text that is too long.
    """
    search = translator.config.search
    exponent = getattr(search, "length_penalty", 0.0) if length_penalty is None else length_penalty
    sources, targets = as_list(sources)[0], list[Any](as_list(cast(Iterable[Any], targets))[0])
    # Mistakes are found before anything is computed. Ids have no text whose length could be checked.
    if len(sources) != len(targets):
        raise UserError(f"each source has a target, and {len(targets)} for {len(sources)} were given")
    if translator.field.written:
        require_texts(sources, "source")
    require_texts((target for target in targets if not isinstance(target, list | tuple | np.ndarray)), "target")
    translator.refuse_long((target for target in targets if isinstance(target, str)), "target")
    network = translator.network.in_torch()  # First, since what was exported is refused without torch, too.
    from mt.decoding.forced import forced_rows  # Not above: it needs torch.

    encoded = translator.encoded(sources)
    target = translator.tokenizers.target
    ids = [target.encode([text])[0] if isinstance(text, str) else list(text) for text in targets]
    # Batches are sorted by length and padded, so that results are put back into the order of the pairs.
    likelihood_of: dict[int, Likelihood] = {}
    for indices, loss in forced_rows(network, encoded, ids, search):
        for i, of_tokens in zip(indices, (-loss.token_losses).cpu().double().tolist(), strict=True):
            log_probs = tuple(of_tokens[: len(ids[i])])
            score = sum(log_probs) / penalty(len(log_probs), exponent)
            likelihood_of[i] = Likelihood(tuple(target.pieces(ids[i])), log_probs, score)
    return [likelihood_of[i] for i in range(len(ids))]


def likelihoods_of_lines(
    translator: Translator, paths: Sequence[Path], texts: Sequence[Sequence[str]], *, length_penalty: float | None
) -> list[Likelihood]:
    """Returns the likelihoods of the lines of two files.

    paths, texts: of sources and of targets. Raises UserError for a line that is blank or too long, with its number.
    """
    sources, targets = texts
    # Mistakes are told with the line of the file.
    for path, lines in zip(paths, texts, strict=True):
        for number, line in enumerate(lines, start=1):
            if is_blank(line):
                raise UserError(
                    f"{path}, line {number} is blank, and a pair has two sides: remove that line from both files"
                )
        if lines is targets or translator.field.written:
            translator.refuse_long(lines, f"{path}, line")
    return likelihoods(translator, sources, targets, length_penalty=length_penalty)


def print_likelihoods(likelihoods: Sequence[Likelihood], *, as_json: bool) -> None:
    """Prints a line for each pair, and to standard error the mean over all pieces and the perplexity."""
    for pair in likelihoods:
        if as_json:
            print(output(json.dumps(asdict(pair) | {"log_prob": pair.log_prob}, ensure_ascii=False)))
        else:
            each = " ".join(f"{log_prob:.6f}" for log_prob in pair.token_log_probs)
            print(output(f"{pair.score:.6f} ||| {pair.log_prob:.6f} ||| {' '.join(pair.tokens)} ||| {each}"))
    sys.stdout.flush()
    # The mean is over all pieces, so that long targets weigh more.
    count = sum(len(pair.tokens) for pair in likelihoods)
    mean = sum(pair.log_prob for pair in likelihoods) / count
    # Beyond exp(700) there are no floats.
    perplexity = math.exp(min(-mean, 700.0))
    sizes = f"{counted(len(likelihoods), 'pair')}, {counted(count, 'piece')}"
    say(f"{sizes}: {mean:.4f} a piece, perplexity {perplexity:.4f}", sys.stderr)
