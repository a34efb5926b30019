"""BLEU (Papineni et al. 2002) and chrF (Popović 2015), as sacreBLEU computes them. The one door to sacrebleu."""

from collections.abc import Sequence

from sacrebleu.metrics import BLEU, CHRF

from mt.errors import UserError, nearest
from mt.metrics.score import Score, reference_count, require_pairs

# Of sacreBLEU's tokenizers those that neither download a model nor need a further package.
TOKENIZERS = ("13a", "char", "intl", "none", "zh")


def bleu(hypotheses: Sequence[str], references: Sequence[Sequence[str]], *, tokenizer: str = "13a") -> Score:
    """Corpus BLEU, 0 to 100: cased, up to 4-grams, exponential smoothing (sacreBLEU's defaults).

    Args:
        hypotheses: detokenised sentences.
        references: references[i] holds all references of sentence i; sentences may have different numbers of them.
        tokenizer: "13a" for text with spaces; "char" for Japanese, "zh" for Chinese (13a would take a whole
            Japanese clause for one word); "intl" splits at Unicode punctuation; "none" for text tokenised already.

    Raises:
        UserError: unequal counts, nothing to score, a sentence without reference, or an unknown tokenizer.
    """
    if tokenizer not in TOKENIZERS:
        raise UserError(f"there is no BLEU tokenizer {tokenizer!r}: {nearest(tokenizer, TOKENIZERS)}")
    # `force` only silences the advice that the text looks tokenised, which some of the data sets are by nature.
    return _corpus_score(BLEU(tokenize=tokenizer, force=True), hypotheses, references)


def chrf(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Score:
    """Corpus chrF2, 0 to 100: character n-grams up to 6, no word n-grams. Needs no tokenizer, whatever the language.

    Raises:
        UserError: unequal counts, nothing to score, or a sentence without reference.
    """
    return _corpus_score(CHRF(), hypotheses, references)


def _corpus_score(metric: BLEU | CHRF, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Score:
    require_pairs(hypotheses, references)
    reference_count(references)
    most = max(len(group) for group in references)
    # sacreBLEU wants one stream per reference number, with None (which its type hints forget) where there are fewer.
    streams = [[group[n] if n < len(group) else None for group in references] for n in range(most)]
    result = metric.corpus_score(hypotheses, streams)  # type: ignore[arg-type]
    return Score(result.score, metric.get_signature().format())
