"""Training sets whose texts are cut into pieces anew in every epoch (subword regularisation)."""

from collections.abc import Iterable, Sequence, Sized

import numpy as np

from mt.config import TrainingConfig
from mt.data.corpus import EpochPart, Pairs, Training
from mt.data.fields import Field
from mt.data.tokenizer import Tokenizer, Tokenizers
from mt.data.tokenizer.sampling import BPEDropout, PieceSampler, UnigramSampling, model_type
from mt.errors import UserError
from mt.models.seq2seq import Seq2Seq

Samplers = tuple[PieceSampler | None, PieceSampler | None]
"""What cuts sources and what cuts targets; None for a side that stays as it is."""
_OPTIONS = {"bpe": "bpe_dropout", "unigram": "unigram_alpha"}


def with_sampled_pieces(training: Training, tokenizers: Tokenizers, options: TrainingConfig) -> Training:
    """Returns the training set with the texts of each side cut as `bpe_dropout` and `unigram_alpha` say; itself where
    they say nothing."""
    if not options.samples_pieces:
        return training
    source = _sampler(tokenizers.source, options)
    target = source if tokenizers.joint else _sampler(tokenizers.target, options)
    return SampledPieces(training, (source, target))


def require_samplable(options: TrainingConfig, tokenizers: Tokenizers, model: Seq2Seq) -> None:
    """Raises UserError where an option samples pieces of another type of vocabulary than both sides have, or the model
    cannot read sources that become longer."""
    kinds = {side: model_type(tokenizer) for side, tokenizer in zip(("source", "target"), tokenizers, strict=True)}
    wanted = {"bpe": options.bpe_dropout > 0, "unigram": options.unigram_alpha is not None}
    for kind, option in _OPTIONS.items():
        if wanted[kind] and kind not in kinds.values():
            others = " and ".join(dict.fromkeys(kinds.values()))
            fitting = [f"set training.{_OPTIONS[other]}" for other in _OPTIONS if other in kinds.values()]
            remedy = " or ".join([*fitting, f"prepare with dataset.tokenizer.model_type={kind}"])
            raise UserError(
                f"training.{option} samples pieces of a {kind} vocabulary, and this corpus is cut by {others}: {remedy}"
            )
        if wanted[kind] and model.max_source_length is not None:
            raise UserError(
                f"training.{option} makes sources longer, and this model reads at most {model.max_source_length} "
                f"positions: choose another attention or encoder, or leave training.{option} out"
            )


def _sampler(tokenizer: Tokenizer, options: TrainingConfig) -> PieceSampler | None:
    kind = model_type(tokenizer)
    if kind == "bpe" and options.bpe_dropout:
        return BPEDropout(tokenizer, options.bpe_dropout)
    if kind == "unigram" and options.unigram_alpha is not None:
        return UnigramSampling(tokenizer, options.unigram_alpha)
    return None


class SampledPieces:
    """A training set in other pieces in every epoch: a function of the seed, the epoch and the batch. So a run that
    goes on sees those of a run that does not stop, and several processes see those of one."""

    def __init__(self, training: Training, samplers: Samplers) -> None:
        self._training = training
        self._samplers = samplers

    def parts(self) -> Iterable[EpochPart]:
        parts = self._training.parts()
        sampled = (_SampledPart(part, self._samplers, number) for number, part in enumerate(parts))
        return [*sampled] if isinstance(parts, Sized) else sampled


class _SampledPart:
    def __init__(self, part: EpochPart, samplers: Samplers, number: int) -> None:
        self.source = part.source
        self.lengths = part.lengths
        self.ids = part.ids
        self.transcripts = part.transcripts
        self._part = part
        self._samplers = samplers
        self._number = number

    def of_epoch(self, seed: int, epoch: int) -> Pairs:
        return _SampledPairs(self._part.of_epoch(seed, epoch), self._samplers, (seed, epoch, self._number))


class _SampledPairs:
    """The pairs of one epoch. Their lengths, by which batches are made, are those of the best pieces."""

    def __init__(self, pairs: Pairs, samplers: Samplers, key: tuple[int, int, int]) -> None:
        self.source: Field = pairs.source
        self.lengths = pairs.lengths
        self.transcripts = pairs.transcripts
        self._pairs = pairs
        self._samplers = samplers
        self._key = key

    def ids(self, indices: Sequence[int] | np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """Returns the (source row, target ids) of a batch, sampled. Each example is in one batch of an epoch, which its
        first one names."""
        random = np.random.default_rng((*self._key, int(indices[0])))
        sources, targets = map(list, zip(*self._pairs.ids(indices), strict=True))
        of_source, of_target = self._samplers
        if of_source is not None and self.source.written:
            sources = of_source.sample(sources, random)
        if of_target is not None:
            targets = of_target.sample(targets, random)
        return list(zip(sources, targets, strict=True))
