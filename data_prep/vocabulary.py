"""The tokenizers of an earlier run, with pieces for what they do not know of a new corpus."""

from collections.abc import Iterator
from itertools import islice

from data_prep.clean import drop_reason
from data_prep.sources import open_source
from mt.data.dataset import DatasetConfig
from mt.data.fields import build_field
from mt.data.tokenizer import Tokenizers, extend_sides
from mt.errors import UserError


def extended(config: DatasetConfig, tokenizers: Tokenizers, most: int) -> Tokenizers:
    """Extends the tokenizers of an earlier run, see `extend_sides`, by what is learnt from
    the first `config.tokenizer.sample` training pairs, less those that are dropped.

    Raises UserError where the text cannot be read, or no pair is left of it.
    """
    pairs = list(_pairs(config))
    if not pairs:
        raise UserError(
            f"cleaning drops all training pairs of {config.name} that init.vocabulary=extend reads: check that the two "
            "sides are what you meant, or loosen dataset.cleaning"
        )
    return extend_sides(tokenizers, pairs, most)


def _pairs(config: DatasetConfig) -> Iterator[tuple[str | None, str]]:
    written = build_field(config.field).written
    sample = min(config.tokenizer.sample, config.limit or config.tokenizer.sample)
    for example in islice(open_source(config).splits["train"].read(), sample):
        source = example.source if written else None
        if drop_reason(source, example.target, config.cleaning) is None:
            yield source, example.target
