"""Whether a search reads the attention of a model hard, and the refusals of searches that a model cannot do."""

import torch

from mt.decoding.model import DecodableModel, single_model
from mt.errors import UserError
from mt.models.seq2seq import Seq2Seq
from mt.search.config import BeamConfig, OnlineConfig, SearchConfig, WaitKConfig
from mt.search.limits import MAX_LENGTH


def decodes_hard(search: SearchConfig, model: DecodableModel) -> bool:
    """Returns whether this search reads this model's attention hard. Raises UserError where they do not go together."""
    if isinstance(search, OnlineConfig):
        one = single_model(model)
        if not one.online:
            raise UserError(
                f"search=online writes while it reads: it needs {_frontend(one)}an encoder that does not read the "
                "whole source first (encoder=lstm, gru, ssru, embedding or lc_bilstm), decoder.init_hidden=zeros and "
                "an attention that stops (attention=monotonic, mocha, matcha or milk); train such a model, or choose "
                "search=greedy or search=beam"
            )
        return True
    if isinstance(search, WaitKConfig):
        require_wait_k(single_model(model), search.k, "search=wait_k")
        return False
    if search.mode == "hard" and not model.supports_hard:
        raise UserError(
            "search.mode=hard needs an attention that can choose one position, and this model's cannot: choose "
            "search.mode=soft, or train with attention=monotonic, mocha, matcha, milk or stochastic"
        )
    hard = search.mode != "soft" and model.supports_hard
    if isinstance(search, BeamConfig):
        search.penalties.require_readable(hard=hard, uses_source=model.uses_source)
    return hard


def require_wait_k(model: Seq2Seq, k: int, option: str) -> None:
    """Raises UserError where the model cannot read the source by the prefix mask of k. option: what asks for it."""
    if not model.supports_wait_k:
        raise UserError(
            f"{option} shows the model only the source tokens read so far: it needs {_frontend(model)}encoder=lstm, "
            "gru, ssru, embedding or lc_bilstm, decoder.init_hidden=zeros and a soft attention that knows nothing of "
            "the source's length (attention=dot, general, concat, location, bahdanau or local_m); train such a model, "
            "or leave it out"
        )
    least = int(model.encoder.read_for(torch.tensor(0), torch.tensor(MAX_LENGTH)))
    if k < least:
        raise UserError(
            f"{option} with k={k} would write before anything is known, since this encoder looks ahead and needs "
            f"{least} source tokens for its first value: choose k={least} or more, or another encoder"
        )


def _frontend(model: Seq2Seq) -> str:
    """Returns the option of this model's front-end with which it is incremental, as a part of a sentence."""
    option = model.frontend.incremental_with
    return f"{option}, " if option else ""
