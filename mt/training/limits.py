"""How long the hypotheses of a run may become, chosen from its training pairs."""

import torch

from mt.config import Config
from mt.data.corpus import Corpus
from mt.models.seq2seq import Seq2Seq
from mt.search.limits import line_above


def with_limits(config: Config, corpus: Corpus, model: Seq2Seq) -> Config:
    """Returns the configuration with `search.max_ratio` and `search.max_extra` as the training pairs ask for, where it
    sets no limit. Of a stream, the sample is looked at that its vocabulary was learnt from."""
    search = config.search
    train = corpus.split("train")
    if search.limited or not len(train):
        return config
    sources, targets = train.lengths()
    ratio, extra = line_above(model.frontend.output_lengths(torch.from_numpy(sources)).numpy(), targets)
    limits = {"max_ratio": ratio, "max_extra": search.max_extra or extra}
    return config.model_copy(update={"search": search.model_copy(update=limits)})
