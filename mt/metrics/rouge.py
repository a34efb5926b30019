"""ROUGE (Lin 2004), as Google's rouge-score computes it, and the lead baseline. The one door to rouge-score. The metric
comes first, then the tokenizers, and the baseline."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from statistics import fmean
from typing import Any

import numpy as np

from mt.errors import require_choice
from mt.metrics.advice import count_letters, is_unspaced, nearly_all, share_in_tokens
from mt.metrics.base import DEFAULT, PLAIN, Paired, RatioMetric, References, RougeProtocol, Settings, Systems
from mt.metrics.bleu import TOKENIZERS, tokenizing, unsuited_tokenizer

ROUGE_TOKENIZERS = (PLAIN.tokenizer, *TOKENIZERS)
"""rouge-score's own, and those of BLEU for other languages: intl where words stand between blanks."""
_FEW = 0.5
"""The share of letters and digits in its tokens below which a tokenizer leaves out too much to judge by the rest."""
_DIGIT = re.compile("[0-9]")
_UNK = re.compile(r"(?<!\S)(<unk>|unk|UNK)(?!\S)")


class Rouge(RatioMetric):
    """ROUGE-1, -2, -L and -Lsum in percent, averaged over the examples. For ROUGE-Lsum a summary is a list of sentences
    that are separated by newlines.

    rouge-score's tokenizer and its stemmer are for English: every character but a-z and 0-9 separates words. For other
    languages BLEU's tokenizers are used: words are the tokens, in lower case, that have a letter or digit; they are not
    stemmed. Raises UserError if the settings name an unknown tokenizer, or one that cannot be used here."""

    name = "rouge"
    higher_is_better = True
    heading = "ROUGE"
    library = "rouge-score"
    reads_lines = True

    def __init__(self, settings: Settings = DEFAULT) -> None:
        super().__init__(settings)
        require_choice("rouge_tokenizer", settings.rouge.tokenizer, ROUGE_TOKENIZERS)
        self._tokenize = _tokenizer_of_bleu(settings.rouge.tokenizer, "ROUGE")

    @classmethod
    def headings(cls) -> Mapping[str, str]:
        return {"rouge1": "ROUGE-1", "rouge2": "ROUGE-2", "rougeL": "ROUGE-L", "rougeLsum": "ROUGE-Lsum"}

    @classmethod
    def main(cls) -> str:
        return "rougeL"

    def tokenize(self, text: str) -> list[str]:
        """Returns the words of a text; rouge-score calls this, too."""
        # Only rouge-score's own tokenizer stems words.
        if self._tokenize is None:
            return self._default.tokenize(text)
        return [token for token in self._tokenize(text.lower()).split() if count_letters(token)]

    @cached_property
    def _default(self) -> Any:
        """Makes rouge-score's tokenizer here, since rouge-score writes a line to absl's log where it makes one."""
        from rouge_score.tokenizers import DefaultTokenizer  # imported late: it takes half a second

        return DefaultTokenizer(self.settings.rouge.stem)

    def counts(self, hypotheses: Sequence[str], references: References) -> dict[str, np.ndarray]:
        from rouge_score.rouge_scorer import RougeScorer  # imported late: it takes half a second

        protocol = self.settings.rouge
        scorer = RougeScorer(list(self.headings()), tokenizer=self)
        choose = max if protocol.multi == "max" else fmean
        measure = "fmeasure" if protocol.measure == "f1" else "recall"
        # For each example and score, the best or mean value over the references.
        values: dict[str, list[float]] = {name: [] for name in self.headings()}
        for hypothesis, group in zip(hypotheses, references, strict=True):
            # The limit counts bytes, and a character that it splits is dropped.
            cut = hypothesis.encode()[: protocol.limit_bytes].decode(errors="ignore")
            summary = _normalized(cut, protocol)
            scores = [scorer.score(_normalized(reference, protocol), summary) for reference in group]
            for name, column in values.items():
                column.append(choose(getattr(score[name], measure) for score in scores))
        return {name: np.column_stack([column, np.ones(len(column))]) for name, column in values.items()}

    @property
    def signature_fields(self) -> str:  # type: ignore[override]
        protocol = self.settings.rouge
        stems = protocol.stem and self._tokenize is None
        return (
            f"measure:{protocol.measure}|multi:{protocol.multi}"
            f"|case:lower|tok:{protocol.tokenizer}|stem:{'yes' if stems else 'no'}|lsum:newline"
            f"|bytes:{protocol.limit_bytes or 'all'}|digits:{'#' if protocol.mask_digits else 'kept'}"
            f"|unk:{'kept' if protocol.keep_unk else 'removed'}"
        )

    def _comparison(self, systems: Systems, references: References) -> dict[str, dict[str, Paired]]:
        comparison = super()._comparison(systems, references)
        if not any("\n" in text for texts in (*systems.values(), *references) for text in texts):
            del comparison["rougeLsum"]  # it equals rougeL
        return comparison

    def _objection(self, texts: Sequence[str]) -> str | None:
        # A tokenizer may see too few letters, or no blanks between words.
        name = self.settings.rouge.tokenizer
        share = share_in_tokens(texts, self.tokenize)
        reason = unsuited_tokenizer(lambda text: " ".join(self.tokenize(text)), texts)
        if share < _FEW:
            reason = f"sees {share:.0%} of the letters and digits of the references"
        if reason is None:
            return None
        return (
            f"ROUGE's tokenizer {name} {reason}: choose another one (rouge_tokenizer: intl; zh, ja-mecab, ko-mecab or "
            "char where words are not set apart by blanks), or choose chrf or bleu"
        )


class Lead:
    """The lead baseline of summarization: the first words of a source, between blanks or by a tokenizer."""

    def __init__(self, words: int, tokenizer: str = PLAIN.tokenizer) -> None:
        self._words = words
        self._tokenize = _tokenizer_of_bleu(tokenizer, "--lead")

    def beginning(self, text: str) -> str:
        if self._tokenize is None:
            return " ".join(text.split()[: self._words])
        # Tokens are found in the text again, since its beginning is wanted as it is written.
        end = 0
        words = 0
        for token in self._tokenize(text).split():
            start = text.find(token, end)
            if start < 0:  # the tokenizer changed the token's spelling
                continue
            end = start + len(token)
            words += count_letters(token) > 0
            if words == self._words:
                break
        return text[:end]

    def unsuited(self, sources: Sequence[str]) -> str | None:
        if self._tokenize is None and nearly_all(sources, is_unspaced):
            return (
                "--lead takes words between blanks, and most sources have none: choose another tokenizer "
                "(rouge_tokenizer: zh, ja-mecab or char)"
            )
        return None


def _tokenizer_of_bleu(name: str, user: str) -> Callable[[str], str] | None:
    return None if name == PLAIN.tokenizer else tokenizing(name, user)


def _normalized(text: str, protocol: RougeProtocol) -> str:
    if protocol.mask_digits:
        text = _DIGIT.sub("#", text)
    return text if protocol.keep_unk else _UNK.sub("", text)
