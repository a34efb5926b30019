"""BLEU (Papineni et al. 2002) and chrF (Popović 2015), as sacreBLEU computes them. The one door to sacrebleu."""

from collections.abc import Mapping, Sequence
from typing import Any

from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.significance import PairedTest

from mt.errors import UserError, nearest
from mt.metrics.score import Score, reference_count, require_pairs
from mt.metrics.significance import SAMPLES, Paired, where_different

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
    return _corpus_score(_bleu(tokenizer), hypotheses, references)


def chrf(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Score:
    """Corpus chrF2, 0 to 100: character n-grams up to 6, no word n-grams. Needs no tokenizer, whatever the language.

    Raises:
        UserError: unequal counts, nothing to score, or a sentence without reference.
    """
    return _corpus_score(CHRF(), hypotheses, references)


def paired_bleu(
    systems: Mapping[str, Sequence[str]], references: Sequence[Sequence[str]], *, tokenizer: str = "13a"
) -> dict[str, Paired]:
    """BLEU of several systems, each beside the first, by sacreBLEU's paired bootstrap. Raises UserError as `bleu`."""
    return _paired(_bleu(tokenizer), systems, references)


def paired_chrf(systems: Mapping[str, Sequence[str]], references: Sequence[Sequence[str]]) -> dict[str, Paired]:
    """chrF of several systems, each beside the first, by sacreBLEU's paired bootstrap. Raises UserError as `chrf`."""
    return _paired(CHRF(), systems, references)


def _bleu(tokenizer: str) -> BLEU:
    if tokenizer not in TOKENIZERS:
        raise UserError(f"there is no BLEU tokenizer {tokenizer!r}: {nearest(tokenizer, TOKENIZERS)}")
    # `force` only silences the advice that the text looks tokenised, which some of the data sets are by nature.
    return BLEU(tokenize=tokenizer, force=True)


def _corpus_score(metric: BLEU | CHRF, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Score:
    require_pairs(hypotheses, references)
    result = metric.corpus_score(hypotheses, _streams(references))
    return Score(result.score, metric.get_signature().format())


def _paired(
    metric: BLEU | CHRF, systems: Mapping[str, Sequence[str]], references: Sequence[Sequence[str]]
) -> dict[str, Paired]:
    for hypotheses in systems.values():
        require_pairs(hypotheses, references)
    test = PairedTest(list(systems.items()), {"": metric}, _streams(references), test_type="bs", n_samples=SAMPLES)
    signatures, table = test()
    [(name, signature)] = signatures.items()
    results: list[Any] = table[name]
    p_values = [None, *(where_different(other.p_value, other.score, results[0].score) for other in results[1:])]
    return {
        system: Paired(result.score, signature.format(), float(result.mean), float(result.ci), p_value)
        for system, result, p_value in zip(systems, results, p_values, strict=True)
    }


def _streams(references: Sequence[Sequence[str]]) -> Any:
    """One stream per reference number, as sacreBLEU wants it, with None (which its type hints forget) where it ends."""
    reference_count(references)
    most = max(len(group) for group in references)
    return [[group[n] if n < len(group) else None for group in references] for n in range(most)]
