"""Scores of a model on a split. First comes the log of delays, then `evaluate`, which compares decoded text with raw
references, and last the scores of a validation."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from mt.config import Config
from mt.data.split import Split
from mt.decoding.modes import reads_hard, wait_k_of
from mt.decoding.translation import Translation
from mt.decoding.translator import Translator
from mt.decoding.unknown_words import UnknownWords
from mt.errors import UserError
from mt.evaluation.scoring import metrics_of
from mt.evaluation.teacher_forcing import teacher_forced_pass
from mt.metrics.base import Score
from mt.metrics.latency import Instance, LatencyUnit, erased, finalised, score_latency
from mt.metrics.repetition import repeated_trigrams, text_statistics
from mt.search.config import SearchConfig, revised_search
from mt.text_io import comparable

# The log of online decoding that SimulEval and OmniSTEval read: sentences with delays.

_EOS = "</s>"  # among the tokens of a translation


def simultaneous(
    translations: Sequence[Translation],
    sources: Sequence[str],
    references: Sequence[Sequence[str]],
    unit: LatencyUnit,
    *,
    speech: bool = False,
    subwords: Callable[[str], Sequence[str]] = str.split,
) -> list[Instance]:
    """Returns a split's sentences with their delays; nothing if the search reports no delays.

    Of several references the first is taken, since these tools know only one. Its white space is normalised, because
    the length that they count depends on it. speech: whether delays are in milliseconds. subwords: cuts a text.
    """
    if all(translation.timing is None for translation in translations):
        return []
    cuts: dict[LatencyUnit, Callable[[str], Sequence[str]]]
    cuts = {"word": str.split, "char": _characters, "subword": subwords}
    # Only blank sources are not decoded, and have no timing.
    lengths = [0 if speech else len(source.split()) for source in sources]
    # SimulEval keeps the newline of a reference; as a subword it would be counted.
    end = "" if unit == "subword" else "\n"
    return [
        Instance(
            index=index,
            prediction=translation.text,
            delays=_delays(translation, unit),
            reference=comparable(group[0]) + end,
            source=" ".join(source.split()),
            source_length=translation.timing.source_words if translation.timing else lengths[index],
            prediction_spm=_subwords(translation) if unit == "subword" else None,
            speech=speech,
            # Only re-translation takes words back.
            erased=sum(
                erased(*pair)
                for pair in pairwise(map(cuts[unit], (translation.timing and translation.timing.updates) or ()))
            ),
        )
        for index, (translation, source, group) in enumerate(zip(translations, sources, references, strict=True))
    ]


def _delays(translation: Translation, unit: LatencyUnit) -> tuple[int, ...]:
    timing = translation.timing
    if timing is None:  # the source is blank
        return ()
    if unit == "subword":
        return timing.words_read[: len(_subwords(translation))]
    if unit == "word":
        return timing.word_delays
    if timing.updates is not None:
        return tuple(timing.updated[count - 1] for count in finalised([*map(_characters, timing.updates)]))
    words = zip(timing.word_delays, translation.text.split(), strict=True)
    return tuple(delay for delay, word in words for _ in word)


def _characters(text: str) -> str:
    """Returns a text without blanks."""
    return "".join(text.split())


def _subwords(translation: Translation) -> tuple[str, ...]:
    """Returns the tokens before EOS."""
    return translation.tokens[:-1] if translation.tokens[-1:] == (_EOS,) else translation.tokens


# Scores of a model on a split.

MODES = ("soft", "hard")


@dataclass(frozen=True)
class Evaluation:
    """A decoded split with its scores."""

    translations: list[Translation]
    scores: dict[str, Score]
    seconds: float
    """The time of decoding."""
    instances: list[Instance]
    """The sentences with their delays, if they were decoded online."""
    replaces_unknown: bool
    """Whether unknown words were replaced."""
    statistics: dict[str, float]
    """See `text_statistics`."""

    @property
    def tokens_per_second(self) -> float:
        """Returns the speed in target tokens, EOS included."""
        return sum(len(translation.tokens) for translation in self.translations) / self.seconds

    def counts(self) -> dict[str, float]:
        """Returns the numbers of `results.json` about decoding itself."""
        counts = self.statistics | {"cut": count_cut(self.translations)}
        if self.replaces_unknown:
            counts["replaced_unknown"] = sum(translation.replaced_unknown for translation in self.translations)
        return counts | {"seconds": self.seconds, "tokens_per_second": self.tokens_per_second}

    def values(self) -> dict[str, float]:
        """Returns the scores as numbers."""
        return {name: score.score for name, score in self.scores.items()}


def evaluate(
    translator: Translator,
    split: Split,
    search: SearchConfig,
    *,
    limit: int | None = None,
    unit: LatencyUnit | None = None,
    unknown_words: UnknownWords | None = None,
    progress: bool = False,
) -> Evaluation:
    """Decodes a split (its first `limit` sentences) and scores it by the metrics of its dataset. If the search reports
    delays, latency is scored, too.

    unit: the unit of latency; by default the dataset's. unknown_words: replaces the unknown words of the hypotheses.
    Raises UserError if the search drafts anew, whose earlier drafts would keep theirs.
    """
    if unknown_words is not None and search.timed and not translator.network.extends(search):
        raise UserError(
            f"--replace-unknown changes the last of the drafts that search={search.name} makes, and none before: "
            "leave it out, or choose another search"
        )
    sources = split.column("source")[:limit]
    references = split.column("references")[:limit]
    # The model decodes the encoded rows of the corpus, as in training; texts are for the words of links.
    encoded = split.read(np.arange(len(sources))).sources
    began = time.perf_counter()
    texts = [translator.config.dataset.located(source) for source in sources]
    translations = [best for best, *_ in translator.decode(encoded, search, texts=texts, progress=progress)]
    if unknown_words is not None:
        translations = [unknown_words.replaced(*pair) for pair in zip(translations, sources, strict=True)]
    seconds = time.perf_counter() - began
    # Metrics of texts, then statistics that are no metrics, then latency if there are delays.
    scores: dict[str, Score] = {}
    hypotheses = [translation.text for translation in translations]
    for metric in metrics_of(translator.config.dataset, lowercase=translator.tokenizers.target.lowercases):
        scores |= metric.score(hypotheses, references)
    written = translator.field.written
    statistics = text_statistics(hypotheses, [group[0] for group in references], sources if written else None)
    unit = unit or translator.config.dataset.latency_unit
    speech = translator.field.milliseconds is not None
    target = translator.tokenizers.target
    # Subwords are those of the text, without EOS.
    instances = simultaneous(
        translations, sources, references, unit, speech=speech, subwords=lambda text: target.split(text)[:-1]
    )
    scores |= score_latency(instances, unit, subwords=target.count_pieces)
    return Evaluation(translations, scores, seconds, instances, unknown_words is not None, statistics)


def count_cut(translations: Sequence[Translation]) -> int:
    """Counts the translations that ended at their limit of length."""
    return sum(translation.cut for translation in translations)


class Validation(NamedTuple):
    """The results of a validation on the dev split."""

    scores: dict[str, float]
    translations: list[Translation]
    attention_stats: dict[str, float]
    """Empty for an attention that does not use the source."""

    def counts(self) -> dict[str, float]:
        """Returns the numbers that are logged beside the scores."""
        texts = [translation.text for translation in self.translations]
        return {"repeated_trigrams": repeated_trigrams(texts), "cut": count_cut(self.translations)}


def dev_scores(translator: Translator, split: Split, limit: int | None, *, progress: bool = False) -> Validation:
    """Scores a validation. Decoding is greedy, or by a beam of `validate_beam`; runs with an online search use that.

    If the attention can be hard, losses and scores are also reported as `<name>_soft` and `<name>_hard`. `gap_<name>`
    is the difference hard - soft, and the plain `<name>` has the mode of the run's search. `loss` and `perplexity` are
    always of soft attention, as in training.
    """
    model = translator.model
    waits = wait_k_of(translator.config.search, model) is not None
    usual = translator.config.search if waits else _search_of_validations(translator.config)
    # A soft attention is decoded once, others in both modes.
    searches = {"soft": usual}
    if model.supports_hard:
        searches = {mode: revised_search(usual, {"mode": mode}) for mode in MODES}
    forced = teacher_forced_pass(translator, split, searches["soft"])
    scores = {"loss": forced.loss, "perplexity": forced.perplexity}
    stats = forced.stats.scores() if model.uses_source else {}
    if not model.supports_hard:
        decoded = evaluate(translator, split, usual, limit=limit, progress=progress)
        return Validation(scores | decoded.values(), decoded.translations, stats)
    forced_hard = teacher_forced_pass(translator, split, searches["hard"])
    losses = {"soft": forced.loss, "hard": forced_hard.loss}
    if translator.network.extends(translator.config.search):
        searches["hard"] = translator.config.search  # finds what greedy search finds, with delays
    by_mode = {
        mode: evaluate(translator, split, search, limit=limit, progress=progress) for mode, search in searches.items()
    }
    # Scores of each mode, of the run's own mode, and their differences.
    used = by_mode["hard" if reads_hard(usual, model) else "soft"]
    for mode, decoded in by_mode.items():
        named = {"loss": losses[mode]} | decoded.values()
        scores |= {f"{name}_{mode}": value for name, value in named.items()}
    scores |= used.values()
    for name in ("loss", *by_mode["soft"].scores):
        scores[f"gap_{name}"] = scores[f"{name}_hard"] - scores[f"{name}_soft"]
    return Validation(scores, used.translations, stats | {"disagreement": forced.stats.disagreement(forced_hard.stats)})


def _search_of_validations(config: Config) -> SearchConfig:
    """Returns greedy search, or a beam without the options that only one mode of an attention supports."""
    beam_size = config.training.validate_beam
    if beam_size == 1:
        return revised_search(config.search, {"name": "greedy"})
    changes = {"name": "beam", "beam_size": beam_size, "n_best": 1, "utility": None, "coverage_penalty": 0.0}
    return revised_search(config.search, changes)
