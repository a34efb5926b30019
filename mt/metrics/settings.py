"""What may be chosen about metrics. Every metric is made with all of it and takes what concerns it."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class RougeProtocol:
    """What a benchmark of summarization agrees on. All of it stands in the signature."""

    measure: Literal["f1", "recall"] = "f1"
    limit_bytes: int | None = None
    """Bytes of UTF-8 that each hypothesis is cut to, in the midst of a word too; references are never cut."""
    mask_digits: bool = False
    """Digits become `#` on both sides, of which rouge-score's tokenizer makes a blank: numbers do not count."""
    keep_unk: bool = True
    """Whether the tokens `<unk>`, `unk` and `UNK` count as words, or are taken out of both sides."""
    multi: Literal["max", "mean"] = "max"
    """Of several references: the one with the highest measure, for each score by itself (Lin 2004, 2.1), or the mean
    over all. Figures published on DUC are means: ROUGE-1.5.5 averages unless it is told otherwise."""
    stem: bool = True
    """Compare Porter stems of words longer than three letters. They are English: with rouge-score's tokenizer alone."""
    tokenizer: str = "a-z0-9"
    """rouge-score's, which knows these letters alone, or one of BLEU's: see `mt.metrics.rouge.ROUGE_TOKENIZERS`."""


PLAIN = RougeProtocol()
ROUGE_PROTOCOLS = {
    "plain": PLAIN,
    # Rush et al. 2015: lower case, digits as `#`. Which test set it is (their sample of 1,951 pairs, or the 2,000 that
    # it was filtered from) is the data's business.
    "gigaword": RougeProtocol(mask_digits=True),
    # DUC 2003 and 2004, task 1: recall at 75 bytes, four references.
    "duc": RougeProtocol(measure="recall", limit_bytes=75),
}


@dataclass(frozen=True)
class Settings:
    target_language: str | None = None
    """Code of the language that is scored (`de`, `zh-CN`, `jpn`), or the ending of its files."""
    bleu_tokenizer: str | None = None
    """BLEU's tokenizer; None: by the target language."""
    rouge: RougeProtocol = PLAIN
    lowercase: bool = False
    """Whether capitals are compared as small letters: of a model whose tokenizer writes no others."""


DEFAULT = Settings()
