"""Training texts that are cut into other pieces in every epoch (subword regularisation).

`sampled_pieces` returns the transform of examples, a function of those of a batch and of a random generator, which
every epoch and every batch has anew. The checks of its options stand above it.
"""

from collections.abc import Callable

import numpy as np

from mt.config import TrainingConfig
from mt.data.corpus import Corpus
from mt.data.links import moved
from mt.data.split import Examples
from mt.data.tokenizer import Tokenizer
from mt.data.tokenizer.sampling import BPEDropout, PieceSampler, UnigramSampling, model_type
from mt.errors import UserError
from mt.models.seq2seq import Seq2Seq

Transform = Callable[[Examples, np.random.Generator], Examples]
_OPTIONS = {"bpe": "bpe_dropout", "unigram": "unigram_alpha"}
_CHECKED = 100  # pairs


def samples_pieces(options: TrainingConfig) -> bool:
    """Returns whether training texts are cut into other pieces in every epoch."""
    return options.bpe_dropout > 0 or options.unigram_alpha is not None


def require_sampling(options: TrainingConfig, corpus: Corpus, model: Seq2Seq) -> None:
    """Raises UserError where the vocabulary cannot write the pieces that an option draws, the model cannot read sources
    that become longer, or sampled pieces would be another text."""
    if not samples_pieces(options):
        return
    # The vocabularies: an option samples pieces of one kind.
    kinds = [*map(model_type, corpus.tokenizers)]
    wanted = {"bpe": options.bpe_dropout > 0, "unigram": options.unigram_alpha is not None}
    for kind, option in _OPTIONS.items():
        if wanted[kind] and kind not in kinds:
            others = " and ".join(dict.fromkeys(kinds))
            fitting = [f"set training.{_OPTIONS[other]}" for other in _OPTIONS if other in kinds]
            remedy = " or ".join([*fitting, f"prepare with dataset.tokenizer.model_type={kind}"])
            raise UserError(
                f"training.{option} samples pieces of a {kind} vocabulary, and this corpus is cut by {others}: {remedy}"
            )
    # The model: sampled pieces are shorter, so that sources have more of them.
    for option in _OPTIONS.values():
        if getattr(options, option) and model.max_source_length is not None:
            raise UserError(
                f"training.{option} makes sources longer, and this model reads at most {model.max_source_length} "
                f"positions: choose another attention or encoder, or leave training.{option} out"
            )
    require_same_texts(options, corpus)


def require_same_texts(options: TrainingConfig, corpus: Corpus) -> None:
    """Raises UserError where sampled pieces of the first training pairs decode to another text than the best ones."""
    pairs = corpus.split("train")
    # The ids of the first pairs, side by side with sampled ones.
    sides = zip(*pairs.read(range(min(len(pairs), _CHECKED))).pairs, strict=True)
    for tokenizer, best, written in zip(corpus.tokenizers, sides, (pairs.source.written, True), strict=False):
        sampler = _sampler(tokenizer, options) if written else None
        sampled = best if sampler is None else sampler.sample(best, np.random.default_rng(0))
        for best_ids, sampled_ids in zip(best, sampled, strict=True):
            text = tokenizer.decode(best_ids)
            changed = text if sampled_ids is best_ids else tokenizer.decode(sampled_ids)
            if text != changed:
                raise UserError(
                    f"pieces of this vocabulary cannot be sampled: {text!r} would become {changed!r}; leave out "
                    "training.bpe_dropout and training.unigram_alpha"
                )


def _sampler(tokenizer: Tokenizer, options: TrainingConfig) -> PieceSampler | None:
    kind = model_type(tokenizer)
    if kind == "bpe" and options.bpe_dropout:
        return BPEDropout(tokenizer, options.bpe_dropout)
    if kind == "unigram" and options.unigram_alpha is not None:
        return UnigramSampling(tokenizer, options.unigram_alpha)
    return None


def sampled_pieces(options: TrainingConfig, corpus: Corpus) -> Transform | None:
    """Returns a transform that segments texts anew by `bpe_dropout` and `unigram_alpha`, and moves links with them;
    None where the options ask for none."""
    if not samples_pieces(options):
        return None
    # A joint vocabulary has one sampler for both sides; sound and pictures have none.
    tokenizers = corpus.tokenizers
    source = _sampler(tokenizers.source, options)
    target = source if tokenizers.joint else _sampler(tokenizers.target, options)
    samplers = (source if corpus.split("train").source.written else None, target)
    widths = [np.empty(0) if sampler is None else sampler.widths for sampler in (source, target)]

    def transform(examples: Examples, random: np.random.Generator) -> Examples:
        # Rows of ids, then the links between their new positions.
        sides = zip(samplers, examples[:2], strict=True)
        drawn = [rows if sampler is None else sampler.sample(rows, random) for sampler, rows in sides]
        links = examples.links
        if links is not None:
            pairs = zip(*drawn, strict=True)
            links = [moved(*of_pair, widths) for of_pair in zip(links, examples.pairs, pairs, strict=True)]
        return examples._replace(sources=drawn[0], targets=drawn[1], links=links)

    return transform
