"""Makes the log of online decoding that the field's tools read: sentences with delays."""

from collections.abc import Sequence

from mt.common.comparable import comparable
from mt.decoding.translation import Translation
from mt.metrics.instances import Instance
from mt.metrics.latency import LatencyUnit

_EOS = "</s>"  # among the tokens of a translation


def simultaneous(
    translations: Sequence[Translation],
    sources: Sequence[str],
    references: Sequence[Sequence[str]],
    unit: LatencyUnit,
    *,
    speech: bool = False,
) -> list[Instance]:
    """Returns the sentences of a split; none where it was not decoded online.

    Of several references the first is taken, since these tools know one, in the form in which it is compared: the
    length that they count depends on its blanks. speech: whether delays are milliseconds.
    """
    if all(translation.word_delays is None for translation in translations):
        return []
    # A newline is what SimulEval has there, but would count as a subword.
    end = "" if unit == "subword" else "\n"
    return [
        Instance(
            index=index,
            prediction=translation.text,
            delays=_delays(translation, unit),
            reference=comparable(group[0]) + end,
            source=" ".join(source.split()),
            source_length=_length(source, speech) if translation.source_words is None else translation.source_words,
            prediction_spm=_subwords(translation) if unit == "subword" else None,
            speech=speech,
        )
        for index, (translation, source, group) in enumerate(zip(translations, sources, references, strict=True))
    ]


def _length(source: str, speech: bool) -> int:
    """Returns the length of a source that was not decoded, since it is blank."""
    return 0 if speech else len(source.split())


def _delays(translation: Translation, unit: LatencyUnit) -> tuple[int, ...]:
    if translation.word_delays is None or translation.words_read is None:  # the source is blank
        return ()
    if unit == "subword":
        return tuple(translation.words_read[: len(_subwords(translation))].tolist())
    words = zip(translation.word_delays, translation.text.split(), strict=True)
    return tuple(delay for delay, word in words for _ in (word if unit == "char" else [word]))


def _subwords(translation: Translation) -> tuple[str, ...]:
    """Returns the tokens before EOS."""
    return translation.tokens[:-1] if translation.tokens[-1:] == (_EOS,) else translation.tokens
