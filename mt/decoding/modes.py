"""Which searches suit a model: hard or soft, online, wait-k.

`reads_hard` says how a search reads the attention. `require_compatible` refuses a search that a model cannot do, and
`unmet` names what the model lacks.
"""

import contextlib
from collections.abc import Iterator

from mt.common.options import as_written
from mt.data.fields import FIELDS
from mt.errors import UserError
from mt.models.ensemble import Ensemble
from mt.models.seq2seq import Seq2Seq
from mt.search.config import BeamConfig, OnlineConfig, RetranslateConfig, SearchConfig, WaitKConfig

DecodableModel = Seq2Seq | Ensemble
"""A trained model, or several. Memory and state are trees of batch-first tensors."""


@contextlib.contextmanager
def evaluation_mode(model: DecodableModel) -> Iterator[None]:
    """Returns a context in which a model computes without dropout and noise. Afterwards its parts train as before."""
    if not model.training:
        yield
        return
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


# Whether a search reads the attention of a model hard, and the refusals of searches that a model cannot do.


def reads_hard(search: SearchConfig, model: DecodableModel) -> bool:
    """Returns whether this search reads the attention of this model hard. The two must be compatible."""
    if isinstance(search, OnlineConfig):
        return True
    return not isinstance(search, WaitKConfig) and search.mode != "soft" and model.supports_hard


def require_compatible(search: SearchConfig, model: DecodableModel) -> None:
    """Raises UserError where this search does not fit this model."""
    if isinstance(search, RetranslateConfig):
        require_words(written=FIELDS[model.frontend.field].written)
        search = search.of_prefixes
    # Searches that write while they read need most of a model.
    if isinstance(search, OnlineConfig):
        single_model = online_model(model)
        if not single_model.online:
            other = as_written("search", "wait_k" if single_model.supports_wait_k else "greedy or beam")
            raise UserError(
                f"{as_written('search', 'online')} writes while it reads: it needs "
                f"{unmet(single_model, wait_k=False)}; train such a model, or choose {other}"
            )
    elif isinstance(search, WaitKConfig):
        require_wait_k(online_model(model), search.k, as_written("search", "wait_k"))
    elif search.mode == "hard" and not model.supports_hard:
        raise UserError(
            f"{as_written('search.mode', 'hard')} needs an attention that can choose one position, and this model's "
            f"cannot: choose {as_written('search.mode', 'soft')}, or train with "
            "attention=monotonic, mocha, matcha, milk or stochastic"
        )
    # A beam may also weigh what was attended to.
    if isinstance(search, BeamConfig):
        search.penalties.require_readable(hard=reads_hard(search, model), uses_source=model.uses_source)


def require_words(*, written: bool) -> None:
    """Raises UserError for re-translation of sources that are no texts. written: whether they are."""
    if not written:
        raise UserError(
            f"{as_written('search', 'retranslate')} translates anew with each word of a text, and this model reads no "
            f"texts: choose {as_written('search', 'online')}, greedy or beam"
        )


def require_wait_k(model: Seq2Seq, k: int, option: str) -> None:
    """Raises UserError where the model cannot read a source by the prefix mask of wait-k. option: for the sentence."""
    if not model.supports_wait_k:
        raise UserError(
            f"{option} shows the model only the source tokens read so far: it needs {unmet(model, wait_k=True)}; "
            "train such a model, or leave it out"
        )


def unmet(model: Seq2Seq, *, wait_k: bool) -> str:
    """Names what a model lacks to write while it reads, in words and options. wait_k: whether it would write by wait-k,
    else where its attention stops."""
    attention = model.decoder.attention
    # In the order in which a source passes them: front-end, encoder, the decoder's first state, attention.
    lacking = []
    if not model.frontend.incremental:
        lacking.append(model.frontend.incremental_with or "sources that arrive piece by piece, as texts and sounds do")
    if not model.encoder.incremental:
        lacking.append("an encoder that does not read the whole source first (encoder=lstm, gru, ssru or none)")
    if model.decoder.needs_full_source:
        lacking.append("decoder.init_hidden=zeros")
    if wait_k and not attention.supports_wait_k:
        lacking.append(
            "a soft attention that knows nothing of the source's length (attention=dot, general, location, "
            "bahdanau, local_m or marginal)"
        )
    if not wait_k and not attention.monotonic:
        lacking.append("an attention that stops (attention=monotonic, mocha, matcha or milk)")
    *others, last = lacking
    return f"{', '.join(others)} and {last}" if others else last
