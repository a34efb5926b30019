"""Whether the parts of a run fit together, asked before anything is made."""

from typing import Any

import torch

from mt.config import Config
from mt.config.optimizer import DecayConfig
from mt.data.corpus import SPLITS, Corpus, Training
from mt.decoding.modes import decodes_hard, require_wait_k
from mt.distributed import ProcessGroup, code_digest
from mt.errors import UserError, nearest
from mt.evaluation.scoring import metrics_of
from mt.metrics import METRICS, score_names
from mt.models.seq2seq import Seq2Seq
from mt.training.batches import batches_per_update
from mt.training.sampling import require_samplable


def chosen_metric(config: Config) -> str:
    """Returns what chooses the best checkpoint: `training.metric`, else the first score of the dataset."""
    return config.training.metric or METRICS[config.dataset.metrics[0]].main()


def require_fit(config: Config, corpus: Corpus, model: Seq2Seq) -> None:
    """Raises UserError where search, prefix mask, metrics or the lengths of the corpus do not suit the model."""
    decodes_hard(config.search, model)
    if config.training.wait_k is not None:
        require_wait_k(model, min(config.training.wait_k), "training.wait_k")
    metrics_of(config.dataset)
    require_measured(config, model)
    require_samplable(config.training, corpus.tokenizers, model)
    require_short(corpus, model)
    require_falling(config)


def require_work(config: Config, training: Training, processes: ProcessGroup) -> None:
    """Raises UserError where a process would have no batch to compute."""
    accumulation = config.training.gradient_accumulation
    batch_tokens = config.training.batch_tokens
    if processes.size > accumulation:
        raise UserError(
            f"{processes.size} processes share the batches of an update, which are training.gradient_accumulation="
            f"{accumulation}: set it to {processes.size} or a multiple of that (an update is then of so many batches "
            f"of {batch_tokens:,} tokens: training.batch_tokens), or start {accumulation}"
        )
    counts = batches_per_update(training, config)
    if counts is not None and sum(counts) < processes.size:
        raise UserError(
            f"{processes.size} processes share the batches of an epoch, which are {sum(counts)}: lower "
            f"training.batch_tokens={batch_tokens}, or start fewer processes"
        )


def require_alike(config: Config, corpus: Corpus, processes: ProcessGroup) -> None:
    """Raises UserError where processes that are to train together have not the same configuration, corpus or code."""
    facts: dict[str, Any] = {"the code of mt": code_digest(), "the corpus": corpus.meta["fingerprint"]}
    waiting: list[tuple[str, Any]] = [("", config.model_dump(mode="json"))]
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, dict):
            waiting += [(f"{name}.{key}".removeprefix("."), part) for key, part in value.items()]
        else:
            facts[name] = value
    processes.require_alike(facts)


def require_measured(config: Config, model: Seq2Seq) -> None:
    """Raises UserError where the metric that chooses the best checkpoint is none that validation measures."""
    names = ["loss", *score_names(config.dataset.metrics)]
    if model.supports_hard:
        names += [f"{name}_{mode}" for name in names for mode in ("soft", "hard")]
    chosen = chosen_metric(config)
    if chosen not in names:
        raise UserError(f"training.metric={chosen} is not measured: {nearest(chosen, names)}")


def require_falling(config: Config) -> None:
    """Raises UserError where the schedule could never lower the learning rate."""
    schedule = config.optimizer.schedule
    lr = config.optimizer.lr
    if isinstance(schedule, DecayConfig) and schedule.floor > lr:
        raise UserError(
            f"optimizer.schedule.floor={schedule.floor:g} is above optimizer.lr={lr:g}, so that the rate would never "
            "fall: lower the floor, or raise optimizer.lr"
        )


def require_short(corpus: Corpus, model: Seq2Seq) -> None:
    """Raises UserError where a source of the corpus has more positions than the model is defined for."""
    longest = model.max_source_length
    for name in SPLITS if longest is not None else ():
        split = corpus.split(name)
        lengths = model.encoded_lengths(torch.from_numpy(split.lengths()[0])).numpy()
        if len(lengths) and lengths.max() > longest:
            unit = "tokens" if split.source.written else "positions"
            raise UserError(
                f"source {int(lengths.argmax()) + 1} of {name} has {lengths.max()} {unit}, and this model reads at "
                f"most {longest}: raise max_source_length of the attention, its energy or the encoder, whichever "
                "limits, or lower dataset.cleaning.max_length"
            )
