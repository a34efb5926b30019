"""What models and searches refuse: options that do not go together, and what the sentence names."""

from typing import Any

import pytest

from mt.common.options import Options, parse
from mt.models.attention import ATTENTIONS
from mt.models.config import ModelConfig
from mt.models.encoders import ENCODERS
from mt.models.seq2seq import Seq2Seq
from mt.search.config import SearchConfig
from tests.refusals.sentences import require_refusal

COPY = "decoder.copy=true copies pieces of the source .*"
MODELS: list[tuple[dict[str, Any], str]] = [
    *(
        ({"encoder": {"name": name, "hidden_size": 7}}, "encoder.hidden_size=7 is odd.*each direction: choose 8")
        for name, kind in ENCODERS.items()
        if getattr(kind, "directions", 1) == 2
    ),
    (
        {"attention": {"name": "dot"}, "encoder": {"name": "bilstm", "hidden_size": 8}},
        "decoder states of size .* with encoder states of size 8.*decoder.hidden_size=8.*attention=general",
    ),
    (
        {"decoder": {"init_hidden": "zeros"}, "attention": {"name": "none", "context": "zeros"}},
        "with decoder.init_hidden=zeros and attention.context=zeros nothing of the source .*=final_state or .*=last",
    ),
    (
        {"embedding": {"share": True}},
        "embedding.share needs one vocabulary, .* source has 20 pieces and the target 14.*joint=true or .*share=false",
    ),
    (
        {"embedding": {"embedding_dim": 3}, "decoder": {"readout_size": 5}},
        "embedding.tie_output .* decoder.readout_size is 5 and embedding.embedding_dim is 3.*tie_output=false",
    ),
    ({"decoder": {"copy": True}, "attention": {"name": "none"}}, f"{COPY}and attention=none attends to none of them"),
    ({"decoder": {"copy": True}, "frontend": {"name": "image"}}, f"{COPY}and frontend=image reads no text"),
    *(
        ({option: 1.0, "attention": {"name": "none", "context": context}}, f"{option}=1 prices the weights of an att")
        for option in ("doubly_stochastic_weight", "coverage_weight")
        for context in ("zeros", "last")
    ),
    *(
        ({"attention": {"name": name, "quantity_weight": 0.1}}, r"attention.quantity_weight=0\.1 is the price of")
        for name, kind in ATTENTIONS.items()
        if "quantity_weight" in kind.Config.model_fields and kind.Config.model_fields["mass_preservation"].default
    ),
    *(
        ({"attention": {"name": "marginal"}, "decoder": decoder}, "attention=marginal sums over .* decoder=luong with")
        for decoder in (
            {"name": "bahdanau"},
            {"name": "gnmt"},
            {"name": "ssru"},
            {"name": "luong", "input_feeding": True},
            {"name": "luong", "copy": True},
        )
    ),
    (
        {"frontend": {"name": "logmel", "causal": True, "normalization": "utterance"}},
        "frontend.normalization=utterance needs the whole sound",
    ),
    *(
        ({"decoder": decoder | {"recurrent_dropout": 0.2}}, "decoder.recurrent_dropout=0.2 draws one mask for all step")
        for decoder in ({"name": "bahdanau"}, {"name": "luong", "input_feeding": True})
    ),
]
SEARCHES: list[tuple[dict[str, Any], str]] = [
    ({"name": "beam", "n_best": 6}, r"search.n_best=6 asks for more .* keeps \(5\): set search.beam_size=6 or more"),
    (
        {"name": "greedy", "min_length": 5, "max_length": 5},
        "search.min_length=5 leaves no room for EOS within search.max_length=5: lower the one or raise the ",
    ),
    ({"name": "greedy", "n_best": 2}, "unknown option search.n_best here: "),
    ({"name": "greedy", "beam_size": 2}, "unknown option search.beam_size here: "),
    ({"name": "online", "length_penalty": 0.5}, "unknown option search.length_penalty here: "),
    ({"name": "online", "mode": "hard"}, "unknown option search.mode here: "),
    ({"name": "bean"}, r"search\.name=bean is an invalid choice: did you mean beam"),
]


class Group(Options):
    search: SearchConfig


@pytest.mark.parametrize(("changes", "facts"), MODELS, ids=str)
def test_a_model(changes: dict[str, Any], facts: str) -> None:
    usual = {"decoder": {"name": "luong"}, "encoder": {"name": "bilstm"}, "frontend": {"name": "embedding"}}
    plain = {
        group: usual.get(group, {}) | value if isinstance(value, dict) else value for group, value in changes.items()
    }
    require_refusal(lambda: Seq2Seq(ModelConfig(**plain), 20, 14), f"^.*{facts}")


@pytest.mark.parametrize(("plain", "facts"), SEARCHES, ids=str)
def test_a_search(plain: dict[str, Any], facts: str) -> None:
    require_refusal(lambda: parse({"search": plain}, Group), f"^{facts}")
