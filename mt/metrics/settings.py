"""The settings of metrics. Every metric is made with all of them and uses those that concern it."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class RougeProtocol:
    """The settings of ROUGE that a benchmark of summarization agrees on. All of them stand in the signature."""

    measure: Literal["f1", "recall"] = "f1"
    limit_bytes: int | None = None
    """The bytes of UTF-8 to which each hypothesis is cut, within a word too; references are never cut. None: all."""
    mask_digits: bool = False
    """Whether digits become `#` on both sides, of which rouge-score's tokenizer makes a blank: numbers do not count."""
    keep_unk: bool = True
    """Whether the tokens `<unk>`, `unk` and `UNK` count as words, or are taken out of both sides."""
    multi: Literal["max", "mean"] = "max"
    """How several references count: the one with the highest measure, for each score by itself (Lin 2004, 2.1), or the
    mean over all. Figures published on DUC are means: ROUGE-1.5.5 averages by default."""
    stem: bool = True
    """Whether Porter stems of words longer than three letters are compared. They are English, and made with
    rouge-score's tokenizer alone."""
    tokenizer: str = "a-z0-9"
    """The name of rouge-score's tokenizer, which knows these letters alone, or of one of BLEU's: see
    `mt.metrics.rouge.ROUGE_TOKENIZERS`."""


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
    """What a metric is made with."""

    target_language: str | None = None
    """The code of the language that is scored (`de`, `zh-CN`, `jpn`), or the ending of its files."""
    bleu_tokenizer: str | None = None
    """The name of BLEU's tokenizer; None: that of the target language."""
    rouge: RougeProtocol = PLAIN
    lowercase: bool = False
    """Whether capitals are compared as small letters, as for a model whose tokenizer writes no others."""


DEFAULT = Settings()
