"""Cleaning: which training pairs stay, and what dev and test must be."""

from collections.abc import Iterable, Iterator, Sequence

from mt.data.corpus import Example
from mt.data.dataset import CleaningConfig
from mt.data.fields import SourceError
from mt.data.words import count_words
from mt.data.writer import Reader
from mt.errors import UserError
from mt.text_io import is_blank


def drop_reason(source: str | None, target: str, config: CleaningConfig) -> str | None:
    """Says why a training pair is dropped, with the option, or returns None. Duplicates: see `data_prep.shards`.

    source: None where it is no text.
    """
    if source is None:
        source = target
    shorter, longer = sorted((count_words(source), count_words(target)))
    if is_blank(source) or is_blank(target):
        return "empty"
    if shorter < config.min_length:
        return f"shorter than {config.min_length} words (min_length)"
    if longer > config.max_length:
        return f"longer than {config.max_length} words (max_length)"
    # In characters as well: a spelling is one word, and its phones or letters set apart by blanks are many.
    if longer > config.max_ratio * shorter and _character_ratio(source, target) > config.max_ratio:
        return f"length ratio over {config.max_ratio:g} (max_ratio)"
    return None


def drop_reasons(
    sources: Sequence[str], targets: Sequence[str], config: CleaningConfig, reader: Reader
) -> list[str | None]:
    """Returns `drop_reason` of each pair, and that of sources that are no text and not fit for training.

    Raises SourceError where one cannot be read at all.
    """
    if reader.field.written:
        return [drop_reason(source, target, config) for source, target in zip(sources, targets, strict=True)]
    reasons = [drop_reason(None, target, config) for target in targets]
    read: str | None = None
    unfit: str | None = None
    for number, source in enumerate(sources):
        if source != read:  # pairs of one source come one after another
            read = source
            unfit = _unfit(source, reader)
        reasons[number] = unfit or reasons[number]
    return reasons


def require_readable(source: str, reader: Reader) -> None:
    """Raises SourceError where a source of dev or test is no text and cannot be read."""
    if not reader.field.written:
        reader.require_readable(source)


def _unfit(source: str, reader: Reader) -> str | None:
    """Says why a source that is no text is not fit for training."""
    try:
        reader.require_readable(source)
    except SourceError as error:
        if error.reason is None:
            raise
        return error.reason
    return None


def _character_ratio(source: str, target: str) -> float:
    """Divides the characters of the longer text by those of the shorter; neither is blank."""
    shorter, longer = sorted((len(source.strip()), len(target.strip())))
    return longer / shorter


def checked(examples: Iterable[Example], config: CleaningConfig, sides: tuple[str, str]) -> Iterator[Example]:
    """Yields the pairs of dev or test: scores need every line, so a bad one is refused rather than dropped.

    A further reference that is blank is none; the other texts stay as they are.

    Args:
        sides: what to call them in an error, such as `data/test.en, line`.

    Raises:
        UserError: a side is empty, or longer than `max_evaluation_length`.
    """
    for number, example in enumerate(examples, start=1):
        for text, side in zip((example.source, example.target), sides, strict=True):
            words = count_words(text)
            if is_blank(text):
                raise UserError(
                    f"{side} {number} is empty, and dev and test are scored line by line: "
                    "fill it in, or remove the line from both sides"
                )
            if words > config.max_evaluation_length:
                raise UserError(
                    f"{side} {number} has {words:,} words, more than the {config.max_evaluation_length:,} of "
                    "dataset.cleaning.max_evaluation_length: raise that, or remove the line from both sides"
                )
        yield example._replace(more_references=tuple(text for text in example.more_references if not is_blank(text)))
