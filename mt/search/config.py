"""The choice of a search, the one function through which a batch is decoded, and searches with some options changed.

The options are read without torch, too, where an exported model decodes (`mt.decoding.onnx`).
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, get_args

import numpy as np
from pydantic import Field

from mt.common.options import Options, parse
from mt.errors import UserError
from mt.search.beam import search
from mt.search.coverage import Coverage
from mt.search.hypothesis import Hypothesis
from mt.search.options import MAX_BEAM_SIZE, BeamConfig, GreedyConfig
from mt.search.policies import (
    AgreeConfig,
    AlignAttConfig,
    ExtendingOptions,
    OnlineConfig,
    RetranslateConfig,
    WaitKConfig,
)
from mt.search.processor import Processor
from mt.search.sampling import SampleConfig, generators, sample
from mt.search.stepper import Stepper

Precision = Literal["fp32", "bf16", "fp16", "int8"]
"""The number format of products. int8: in the steps of a search that is not online. Sources are read in bfloat16 then
where the processor has it, and all else is in float32. fp16 is for GPUs."""
PRECISIONS: tuple[Precision, ...] = get_args(Precision)

_Offline = GreedyConfig | SampleConfig | RetranslateConfig | BeamConfig
_Config = _Offline | OnlineConfig | WaitKConfig | AlignAttConfig | AgreeConfig
SEARCHES: dict[str, type[_Config]] = {kind.model_fields["name"].default: kind for kind in get_args(_Config)}
SearchConfig = Annotated[_Config, Field(discriminator="name")]


def width(config: SearchConfig) -> int:
    """Returns the most hypotheses of a sentence that are extended side by side."""
    return getattr(config, "beam_size", getattr(config, "samples", 1))


def decode(
    config: SearchConfig,
    stepper: Stepper,
    source_lengths: Sequence[int],
    sources: Sequence[np.ndarray] = (),
    processors: Sequence[Processor] = (),
) -> Sequence[Sequence[Hypothesis]]:
    """Returns for each sentence of a batch its hypotheses, best first: `n_best` of several, or where `utility` is to
    choose all, samples in the order in which they were drawn; else one.

    stepper: for wait-k, one that hides from each step what has not been read by then. source_lengths: in tokens, EOS
    included. sources: the rows of the batch, on which samples depend. processors: those to run beside the ones of the
    options. Raises UserError as the searches do.
    """
    limits = [config.longest(length) for length in source_lengths]
    processors = [*processors, *config.rules(len(limits))]
    if isinstance(config, SampleConfig):
        drawing = [generators(config.seed, source, config.samples) for source in sources]
        drawn = sample(stepper, limits, drawing, temperature=config.temperature, processors=processors)
        if config.utility is not None:
            return drawn
        return [sorted(samples, key=lambda one: -one.score)[: config.n_best] for samples in drawn]
    if isinstance(config, ExtendingOptions):
        return config.simulated(stepper, source_lengths, processors)
    # A search that redrafts translates a whole source just as it makes each of its drafts.
    drafting = config.drafting
    if isinstance(drafting, GreedyConfig):
        return search(stepper, limits, processors=processors)
    return search(
        stepper,
        limits,
        beam_size=drafting.beam_size,
        length_penalty=drafting.length_penalty,
        # Minimum Bayes risk compares the whole beam, and chooses afterwards.
        n_best=drafting.n_best if drafting.utility is None else drafting.beam_size,
        coverage=drafting.penalties and Coverage.before(drafting.penalties, source_lengths),
        processors=processors,
    )


class _Group(Options):
    """Gives the sentences of errors the names that options have in YAML."""

    search: SearchConfig


def revised_search(config: SearchConfig, changes: Mapping[str, Any]) -> SearchConfig:
    """Returns a configuration with some options changed.

    A change of `name` leaves out the options that the search so named does not have, unless they are among `changes`.
    A changed limit of length replaces the limit before: `max_length` replaces `max_ratio` and `max_extra`, and
    `max_ratio` replaces `max_length`. Raises UserError for what is impossible.
    """
    name = changes.get("name", config.name)
    # The options that stay: a name that does not exist is left for the validation to refuse.
    fields = set((SEARCHES.get(name, type(config)) if isinstance(name, str) else type(config)).model_fields)
    # A new limit would otherwise be combined with the old one, of which the lower counts.
    if changes.get("max_ratio") is not None:
        fields -= {"max_length"}
    elif changes.get("max_length") is not None:
        fields -= {"max_ratio", "max_extra"}
    plain = {name: value for name, value in config.model_dump(mode="json").items() if name in fields}
    return parse({"search": plain | dict(changes)}, _Group).search


def n_best_search(config: SearchConfig, n: int) -> SearchConfig:
    """Returns a search that reports `n` hypotheses of each source. A sampling search draws at least that
    many; any other becomes a beam search that is at least that wide. Raises UserError where `n` is not possible."""
    if not isinstance(n, int) or not 1 <= n <= MAX_BEAM_SIZE:
        raise UserError(f"n={n!r} translations of a text are not possible: ask for 1 to {MAX_BEAM_SIZE}")
    if isinstance(config, SampleConfig):
        return revised_search(config, {"samples": max(n, config.samples), "n_best": n})
    beam_size = max(n, getattr(config, "beam_size", BeamConfig().beam_size))
    return revised_search(config, {"name": "beam", "beam_size": beam_size, "n_best": n})


def with_default_limits(config: SearchConfig, usual: SearchConfig) -> SearchConfig:
    """Returns this search with the limits of length of the usual one, unless it has its own."""
    if config.limited or not usual.limited:
        return config
    limits = {name: getattr(usual, name) for name in ("max_ratio", "max_extra", "max_length")}
    # None means that an option is not set, and must not hide a usual limit.
    return type(config)(**limits | {name: value for name, value in config if value is not None})


def require_search(search: object) -> None:
    """Raises UserError for what is no configuration of a search."""
    if not isinstance(search, tuple(SEARCHES.values())):
        raise UserError(
            f"search is of type {type(search).__name__}: give a configuration of mt.search.config, such as "
            "BeamConfig(beam_size=5)"
        )
