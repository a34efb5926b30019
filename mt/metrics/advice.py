"""What the data itself says against a metric, as sentences for a user."""

import re
from collections.abc import Sequence

from mt.metrics.base import References

NEAR_ZERO = 2.0
"""Of BLEU and ROUGE, in percent: below, their differences between checkpoints are chance."""
_SHARE = 0.9
"""Of the references that must be alike for it to be said."""
# Chinese and Japanese characters, kana, Hangul is left out (Korean has blanks), Thai, Lao, Khmer, Burmese.
_NO_BLANKS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")
_WORDS = ("13a", "intl", "none")


def uninformative(metric: str, scores: Sequence[float], references: References) -> str | None:
    """Why the score that chooses the best checkpoint cannot choose it, and which could; None where it can.

    BLEU counts up to four words in a row, and ROUGE words of the letters a-z: where the outputs are single words
    (transliteration, spelling, pronunciation) or of another script, they stay near zero however good a model is.

    Args:
        metric: the name of the score: bleu, rougeL, bleu_hard.
        scores: its value at each validation so far; None is said before the first.
        references: of the dev split.
    """
    if not scores or max(scores) >= NEAR_ZERO or not metric.startswith(("bleu", "rouge")):
        return None
    if _most(references, lambda text: len(text.split()) <= 1):
        why, better = "most references are single words", "accuracy,cer"
    elif _most(references, lambda text: len(text.split()) < 4):
        why, better = "most references have fewer than four words", "cer,wer"
    elif metric.startswith("rouge") and _most(references, lambda text: not re.search("[a-zA-Z]", text)):
        why, better = "ROUGE knows no letters but a-z", "chrf,bleu"
    else:
        return None
    return (
        f"{metric} is {max(scores):.2g} at most after {len(scores)} validation{'s' * (len(scores) > 1)} and cannot "
        f"choose a checkpoint, since {why}: train with 'dataset.metrics=[{better}]', or with training.metric=loss"
    )


def unsuited_tokenizer(tokenizer: str, references: References) -> str | None:
    """Why BLEU's tokenizer does not suit the script of the references, and which do; None where it does."""
    if tokenizer in _WORDS and _most(references, lambda text: bool(_NO_BLANKS.search(text))):
        return (
            f"BLEU's tokenizer {tokenizer} looks for words between blanks, and most references have none there: choose "
            "bleu_tokenizer zh, ja-mecab, flores200 or char, or name the target language (zh, ja)"
        )
    return None


def _most(references: References, test) -> bool:
    return sum(test(group[0]) for group in references) >= _SHARE * len(references)
