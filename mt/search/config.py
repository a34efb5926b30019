"""The options of search, and the one function through which a batch is decoded.

The options are read without torch, too, where an exported model decodes (`mt.onnx`).
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self, get_args

import numpy as np
from pydantic import Field, model_validator

from mt.common.options import Options, parse
from mt.errors import UserError
from mt.search.beam import search
from mt.search.constraints import Constraints
from mt.search.hypothesis import Hypothesis
from mt.search.limits import MAX_LENGTH, LengthOptions
from mt.search.online import online, wait_k
from mt.search.stepper import Stepper

MAX_BEAM_SIZE = 1000
Precision = Literal["fp32", "bf16", "fp16", "int8"]
"""In which products are computed: int8 is of the steps of a search that is not online; then sources are read in
bfloat16 where the processor has it, and all else is in float32. fp16 is for GPUs."""
PRECISIONS: tuple[Precision, ...] = get_args(Precision)


class _CommonOptions(LengthOptions):
    """What all searches have in common."""

    no_repeat_ngram_size: int = Field(0, ge=0, le=1000)
    """n: no n tokens in a row occur twice in a hypothesis (Paulus et al. 2018, section 2.5: 3); 0 blocks nothing."""
    batch_tokens: int = Field(4096, ge=1, le=1 << 20)
    """Source tokens decoded at once, padding included."""

    @property
    def constraints(self) -> Constraints:
        return Constraints(self.min_length, self.no_repeat_ngram_size)


class GreedyConfig(_CommonOptions):
    """The most probable token at each step."""

    name: Literal["greedy"] = "greedy"
    mode: Literal["auto", "soft", "hard"] = "auto"
    """How a monotonic attention reads. hard: it stops at one position; soft: as in training; auto: hard if it can."""


class BeamConfig(_CommonOptions):
    """The best of several hypotheses that are extended side by side."""

    name: Literal["beam"] = "beam"
    beam_size: int = Field(5, ge=1, le=MAX_BEAM_SIZE)
    """Hypotheses kept per sentence."""
    length_penalty: float = Field(0.6, ge=0, le=100, allow_inf_nan=False)
    """Exponent of the length penalty, 0 for none (Wu et al. 2016, equation 14; 0.6: Vaswani et al. 2017)."""
    n_best: int = Field(1, ge=1, le=MAX_BEAM_SIZE)
    """Hypotheses reported per sentence, at most `beam_size`."""
    mode: Literal["auto", "soft", "hard"] = "auto"
    """As in `GreedyConfig`."""

    @model_validator(mode="after")
    def _keeps_what_it_reports(self) -> Self:
        if self.n_best > self.beam_size:
            raise UserError(
                f"search.n_best={self.n_best} asks for more hypotheses than the beam keeps ({self.beam_size}): set "
                f"search.beam_size={self.n_best} or more"
            )
        return self


class OnlineConfig(_CommonOptions):
    """Greedy search that reports how much of the source had been read at each token; the attention reads hard."""

    name: Literal["online"] = "online"


class WaitKConfig(_CommonOptions):
    """Greedy search whose target token t, counted from 1, sees the first k + t - 1 source tokens alone, of which it
    reports the delays (Ma et al. 2019, section 3.1)."""

    name: Literal["wait_k"] = "wait_k"
    k: int = Field(3, ge=1, le=MAX_LENGTH)
    """Source tokens read before the first target token; from then on one for each."""


SEARCHES: dict[str, type[GreedyConfig | BeamConfig | OnlineConfig | WaitKConfig]] = {
    "greedy": GreedyConfig,
    "beam": BeamConfig,
    "online": OnlineConfig,
    "wait_k": WaitKConfig,
}
SearchConfig = Annotated[GreedyConfig | BeamConfig | OnlineConfig | WaitKConfig, Field(discriminator="name")]


def is_online(config: SearchConfig) -> bool:
    """Whether it writes while it reads: its hypotheses have delays, and are computed in float32, since decisions that
    sit at a threshold must not depend on the batch."""
    return isinstance(config, OnlineConfig | WaitKConfig)


def waits(config: SearchConfig) -> int | None:
    """k of wait-k, which the memory of a source must know (see `decode`); None for other searches."""
    return config.k if isinstance(config, WaitKConfig) else None


def without_removed(plain: dict[str, Any]) -> dict[str, Any]:
    """The `config.json` of a checkpoint without the options of search that versions before 0.3 had, and that changed no
    hypothesis."""
    search = plain.get("search")
    if not isinstance(search, dict):
        return plain
    return plain | {"search": {name: value for name, value in search.items() if name != "cuda_graphs"}}


class _Group(Options):
    """Gives the sentences of errors the names that options have in YAML."""

    search: SearchConfig


def revised_search(config: SearchConfig, changes: Mapping[str, Any]) -> SearchConfig:
    """A configuration with some options changed.

    A change of `name` leaves out the options that the search so named does not have, unless they are among `changes`.
    What is said of the limit of hypotheses takes the place of what was: `max_length` that of `max_ratio` and
    `max_extra`, and `max_ratio` that of `max_length`. Raises UserError for what is impossible.
    """
    fields = set(SEARCHES.get(changes.get("name", config.name), type(config)).model_fields)
    if changes.get("max_ratio") is not None:
        fields -= {"max_length"}
    elif changes.get("max_length") is not None:
        fields -= {"max_ratio", "max_extra"}
    plain = {name: value for name, value in config.model_dump(mode="json").items() if name in fields}
    return parse({"search": plain | dict(changes)}, _Group).search


def limited_as(config: SearchConfig, usual: SearchConfig) -> SearchConfig:
    """This search, limited as the usual one where it does not say itself how long a hypothesis may become."""
    if config.limited or not usual.limited:
        return config
    limits = usual.model_dump(mode="json", include={"max_ratio", "max_extra", "max_length"})
    return parse({"search": limits | config.model_dump(mode="json", exclude_none=True)}, _Group).search


def require_search(given: object) -> None:
    """Raises UserError for what is no configuration of a search."""
    if not isinstance(given, tuple(SEARCHES.values())):
        raise UserError(
            f"search is of type {type(given).__name__}: give a configuration of mt.search.config, such as "
            "BeamConfig(beam_size=5)"
        )


def online_search(config: SearchConfig) -> SearchConfig:
    """This search where it is one that writes while it reads, else online search with the options that they share."""
    return config if is_online(config) else revised_search(config, {"name": "online"})


def decode(
    config: SearchConfig, stepper: Stepper, source_lengths: Sequence[int], read_for: np.ndarray | None = None
) -> Sequence[Sequence[Hypothesis]]:
    """For each sentence of a batch its hypotheses, best first: `n_best` of a beam, one otherwise.

    stepper: where the search `waits`, one that hides from each step what has not been read then.
    source_lengths: tokens, EOS included. read_for: see `online`. Raises UserError as the searches do.
    """
    if isinstance(config, GreedyConfig | BeamConfig):
        limits = [config.longest(length) for length in source_lengths]
        beam = config.model_dump(include={"beam_size", "length_penalty", "n_best"})
        return search(stepper, limits, constraints=config.constraints, **beam)
    # By the source tokens that have been read, from none to all of the longest source.
    limits = [config.longest(length) for length in range(max(source_lengths) + 1)]
    given: dict[str, Any] = {"source_lengths": source_lengths, "limits": limits, "constraints": config.constraints}
    if isinstance(config, WaitKConfig):
        hypotheses = wait_k(stepper, config.k, **given)
    else:
        hypotheses = online(stepper, **given, read_for=read_for)
    return [[hypothesis] for hypothesis in hypotheses]
