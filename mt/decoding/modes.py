"""Which searches suit a model: hard or soft, online, wait-k.

`reads_hard` says how a search reads the attention. `require_compatible` refuses a search that a model cannot do, and
`unmet` names what the model lacks.
"""

import contextlib
import math
from collections.abc import Iterator, Mapping
from copy import copy
from typing import Any

import torch

from mt.common.options import as_written
from mt.data.fields import FIELDS
from mt.errors import UserError
from mt.models.attention import ATTENTIONS
from mt.models.encoders import ENCODERS
from mt.models.ensemble import Ensemble
from mt.models.seq2seq import Seq2Seq
from mt.search.config import BeamConfig, SearchConfig
from mt.search.policies import OnlineConfig, WaitKConfig, require_attention

DecodableModel = Seq2Seq | Ensemble
"""A trained model, or several. Memory and state are trees of batch-first tensors."""


@contextlib.contextmanager
def evaluation_mode(model: DecodableModel) -> Iterator[None]:
    """Returns a context in which a model computes without dropout and noise. Afterwards its parts train as before."""
    if not model.training:
        yield
        return
    # Frozen parts are in evaluation mode already, and have to stay so.
    in_training = [module for module in model.modules() if module.training]
    model.eval()
    try:
        yield
    finally:
        for module in in_training:
            module.training = True


def online_model(model: DecodableModel) -> Seq2Seq:
    """Returns the model for a search that writes while it reads. Raises UserError where it is an ensemble."""
    if model.as_online_model is None:
        raise UserError(
            "an ensemble reads the whole source before it writes, since each of its models would stop elsewhere: give "
            f"one run, or choose {as_written('search', 'beam')} or {as_written('search', 'greedy')}"
        )
    return model.as_online_model


def as_searched(model: DecodableModel, search: SearchConfig) -> DecodableModel:
    """Returns a model as a search reads it. Where the search has a threshold, its logit is taken from the energies of
    monotonic attention. Only the modules on the way to their bias are copied."""
    threshold = getattr(search, "threshold", None)
    if threshold is None:
        return model
    changed = module = _copied(model)
    for name in ("decoder", "attention", "energy"):
        module._modules[name] = module = _copied(module._modules[name])
    # An energy is compared with 0, so the logit of the threshold is taken from its bias.
    bias = module._parameters["bias"]
    module._parameters["bias"] = torch.nn.Parameter(bias.detach() - math.log(threshold / (1 - threshold)))
    return changed


def _copied(module: Any) -> Any:
    """Returns a module with the same parts, which may be replaced."""
    other = copy(module)
    other._modules = dict(module._modules)
    other._parameters = dict(module._parameters)
    return other


# Whether a search reads the attention of a model hard, and the refusals of searches that a model cannot do.


def reads_hard(search: SearchConfig, model: DecodableModel) -> bool:
    """Returns whether this search reads the attention of this model hard. The two must be compatible."""
    # Online search writes where the attention decides to stop, and wait-k by counting alone.
    if isinstance(search, OnlineConfig):
        return True
    return not isinstance(search, WaitKConfig) and search.mode != "soft" and model.supports_hard


def extends(search: SearchConfig, model: DecodableModel) -> bool:
    """Returns whether a search writes with this model while its encoder reads on; other streams draft anew."""
    # The models of an ensemble would stop at different positions.
    single_model = model.as_online_model
    if single_model is None or not search.extends:
        return False
    return single_model.online if isinstance(search, OnlineConfig) else single_model.supports_wait_k


def attends(model: DecodableModel) -> bool:
    """Returns whether a model, or an ensemble, learns where to attend."""
    single_model = model.as_online_model
    return model.uses_source if single_model is None else single_model.decoder.attention.learns_weights


def wait_k_of(search: SearchConfig, model: DecodableModel) -> int | None:
    """Returns k of wait-k, by which each step sees a part of the source; None where it sees all that is there."""
    return search.sees(0) if extends(search, model) else None


def require_compatible(search: SearchConfig, model: DecodableModel) -> None:
    """Raises UserError where this search does not fit this model."""
    if search.timed:
        _require_policy(search, model)
    drafting = search.drafting
    if drafting.mode == "hard" and not model.supports_hard:
        raise UserError(
            f"{as_written('search.mode', 'hard')} needs an attention that can choose one position, and this model's "
            f"cannot: choose {as_written('search.mode', 'soft')}, or train with "
            f"attention={_which(ATTENTIONS, 'supports_hard')}"
        )
    # A beam may also weigh what was attended to.
    if isinstance(drafting, BeamConfig) and drafting.penalties:
        drafting.penalties.require_readable(hard=reads_hard(drafting, model), uses_source=model.uses_source)


def _require_policy(search: SearchConfig, model: DecodableModel) -> None:
    """Raises UserError where a search that writes while it reads does not fit this model."""
    field = FIELDS[model.frontend.field]
    if not field.written and field.milliseconds is None:
        raise UserError(
            f"{as_written('search', search.name)} translates a text or a sound while it arrives, and this model reads "
            f"neither: choose {as_written('search', 'beam')} or {as_written('search', 'greedy')}"
        )
    # A policy that looks at the attention needs one.
    if isinstance(search, OnlineConfig) and not online_model(model).decoder.attention.monotonic:
        raise UserError(
            f"{as_written('search', 'online')} writes up to where the attention stops: it needs an attention that "
            f"stops (attention={_which(ATTENTIONS, 'monotonic')}); train such a model, or choose "
            f"{as_written('search', 'alignatt')}"
        )
    require_attention(search, attends(model))


def require_extending(search: SearchConfig, model: DecodableModel) -> None:
    """Raises UserError where a model that is trained for a search which extends cannot write while it reads."""
    if isinstance(search, WaitKConfig):
        require_wait_k(online_model(model), as_written("search", "wait_k"))
    elif search.extends and not extends(search, model):
        single_model = online_model(model)
        other = as_written("search", "wait_k" if single_model.supports_wait_k else "greedy or beam")
        raise UserError(
            f"{as_written('search', search.name)} writes while it reads: it needs "
            f"{unmet(single_model, wait_k=False)}; train such a model, or choose {other}"
        )


def require_wait_k(model: Seq2Seq, option: str) -> None:
    """Raises UserError where the model cannot read a source by the prefix mask of wait-k. option: for the sentence."""
    if not model.supports_wait_k:
        raise UserError(
            f"{option} shows the model only the source tokens read so far: it needs {unmet(model, wait_k=True)}; "
            "train such a model, or leave it out"
        )


def unmet(model: Seq2Seq, *, wait_k: bool) -> str:
    """Names what a model lacks to write while it reads, in words and options. wait_k: whether it would write by wait-k,
    else where its attention stops."""
    # In the order in which a source passes them: front-end, encoder, the decoder's first state, attention.
    lacking = []
    if not model.frontend.incremental:
        lacking.append(model.frontend.incremental_with or "sources that arrive piece by piece, as texts and sounds do")
    if not model.encoder.incremental:
        causal = _which(ENCODERS, "incremental")
        lacking.append(f"an encoder that does not read the whole source first (encoder={causal})")
    if model.decoder.needs_full_source:
        lacking.append("decoder.init_hidden=zeros")
    claim = "supports_wait_k" if wait_k else "monotonic"
    if not getattr(model.decoder.attention, claim):
        kind = "a soft attention that knows nothing of the source's length" if wait_k else "an attention that stops"
        lacking.append(f"{kind} (attention={_which(ATTENTIONS, claim)})")
    *others, last = lacking
    return f"{', '.join(others)} and {last}" if others else last


def _which(table: Mapping[str, Any], claim: str) -> str:
    """Lists the choices of a table whose classes make a claim, such as `monotonic`."""
    *others, last = (name for name, kind in table.items() if getattr(kind, claim))
    return f"{', '.join(others)} or {last}"
