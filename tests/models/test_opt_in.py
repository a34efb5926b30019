"""A subclass that overrides a piece of what it inherits trains with it as it decodes: no fast path goes around it, and
it claims nothing that may not hold."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from mt.kernels.lstm import LSTM
from mt.models.attention import ATTENTIONS, build_attention
from mt.models.attention.base import Attention
from mt.models.attention.energy import ENERGIES, Scaled
from mt.models.attention.global_ import as_dot_products
from mt.models.decoders import DECODERS, Decoder, DecoderParts
from mt.models.decoders.base import Recurrence
from mt.models.encoders import ENCODERS, Encoded
from mt.models.frontends import FRONTENDS
from mt.models.frontends.embedding import Embedding, EmbeddingConfig
from tests.components import dense

SIZE = 6
VOCABULARY = 13
SIZES = {"hidden_size": SIZE, "readout_size": SIZE, "attention_dim": 5, "max_source_length": 12, "window": 2}


def small(kind: Any, **options: Any) -> Any:
    return kind.Config(**{name: value for name, value in SIZES.items() if name in kind.Config.model_fields} | options)


def derived(kind: Any, **pieces: Any) -> Any:
    """A subclass with these pieces."""
    return type(f"Other{kind.__name__}", (kind,), pieces)


def built(kind: type[Attention]) -> Attention:
    return kind(small(kind, **({"context": "last"} if issubclass(kind, ATTENTIONS["none"]) else {})), SIZE, SIZE)


def changed(parent: Any, piece: str, change: Callable[[Tensor], Tensor]) -> Callable[..., Any]:
    """The piece, whose first tensor is another one."""

    def other(self: Any, *arguments: Any, **options: Any) -> Any:
        outcome = getattr(parent, piece)(self, *arguments, **options)
        if isinstance(outcome, Tensor):
            return change(outcome)
        parts = change(outcome[0]), *outcome[1:]
        return type(outcome)(*parts) if hasattr(outcome, "_fields") else parts

    return other


def agrees(attention: Attention, batch: Any, hard: bool = False) -> None:
    """The law of the attention, and of decoders around it: with input feeding, and with all steps at once."""
    memory = attention.init_memory(batch.encoded)
    together = attention(batch.queries, memory, hard=hard)
    alone = Attention.forward(attention, batch.queries, memory, hard=hard)
    torch.testing.assert_close(together.weights, alone.weights, atol=3e-6, rtol=1e-5)
    torch.testing.assert_close(together.contexts, alone.contexts, atol=3e-6, rtol=1e-5)
    for decoder in decoders(attention, "luong", DECODERS["luong"]):
        follows_the_law(decoder, batch, hard)


def decoders(attention: Attention, name: str, kind: Any) -> list[Decoder]:
    embedding = Embedding(EmbeddingConfig(embedding_dim=SIZE, dropout=0.0), VOCABULARY)
    parts = DecoderParts(embedding, attention, SIZE, SIZE, tied=False)
    feeding = ({}, {"input_feeding": True}) if name == "luong" else ({},)
    return [kind(small(DECODERS[name], **options), parts).eval() for options in feeding]


def follows_the_law(decoder: Decoder, batch: Any, hard: bool = False) -> None:
    tokens = torch.randint(1, VOCABULARY, (len(batch.mask), 5), generator=torch.Generator().manual_seed(4))
    values = batch.values.masked_fill(~batch.mask[..., None], 0.0)
    memory = decoder.init_memory(Encoded(values, values, batch.mask, values[:, 0]))
    with torch.no_grad():
        readouts, attended = decoder(tokens, memory, hard=hard)
        state = decoder.init_state(memory, hard=hard)
        for step, token in enumerate(tokens.unbind(1)):
            prediction = decoder.step(token, memory, state, hard=hard)
            state = prediction.state
            torch.testing.assert_close(decoder.output(readouts[:, step]), prediction.logits, atol=1e-5, rtol=1e-5)
            weights = dense(prediction.attended, memory.mask.shape[1])
            torch.testing.assert_close(attended.weights[:, step], weights, atol=3e-6, rtol=1e-5)


@pytest.mark.parametrize("name", ATTENTIONS)
def test_attentions(name: str, batch, shake) -> None:
    kind = ATTENTIONS[name]
    attention, parent = (shake(built(each)) for each in (derived(kind, step=changed(kind, "step", torch.sin)), kind))
    assert not (attention.monotonic or attention.supports_wait_k), "claims of the parent that may not hold"
    for hard in (False, True) if kind.supports_hard else (False,):
        agrees(attention, batch, hard)
        ours, theirs = (
            each(batch.queries, each.init_memory(batch.encoded), hard=hard).contexts for each in (attention, parent)
        )
        assert (ours - theirs).abs().max() > 1e-3, "what is overridden without effect tests nothing"
    assert derived(kind, opts_into=("forward",)).forward is kind.forward


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("energy", ENERGIES)
def test_energies(energy: str, scaled: bool, batch, shake) -> None:
    """One that overrides what an energy is, in every attention with energies of a choice."""
    kind = ENERGIES[energy]
    bent = derived(kind, forward=changed(kind, "forward", torch.sin))
    for name, chosen in ATTENTIONS.items():
        fields = chosen.Config.model_fields
        if "energy" not in fields and name != energy:
            continue
        options = {"energy": small(kind)} if "energy" in fields else {}
        attention = build_attention(
            small(chosen, **options, **({"scaled": scaled} if "scaled" in fields else {})), 6, 6
        )
        place = attention.energy if isinstance(attention.energy, Scaled) else attention
        place.energy = bent(small(kind), SIZE, SIZE, normalized=scaled)
        attention = shake(attention)
        assert as_dot_products(attention, attention.init_memory(batch.encoded), 3) is None
        for hard in (False, True) if chosen.supports_hard else (False,):
            agrees(attention, batch, hard)


def test_a_scaling_that_computes_something_else(batch, shake) -> None:
    attention = build_attention(small(ATTENTIONS["general"]), SIZE, SIZE)
    attention.energy = derived(Scaled, forward=changed(Scaled, "forward", torch.sin))(attention.energy.energy)
    agrees(shake(attention), batch)


PIECES = {"luong": ["_combine"], "bahdanau": ["_readouts"], "gnmt": ["_upper_layers"], "ssru": ["_upper_layers"]}


@pytest.mark.parametrize(
    ("name", "piece"), [(name, piece) for name in DECODERS for piece in ("_make_query", "_read_out", *PIECES[name])]
)
def test_decoders(name: str, piece: str, batch, shake) -> None:
    kind = DECODERS[name]
    for decoder in decoders(
        built(ATTENTIONS["general"]), name, derived(kind, **{piece: changed(kind, piece, torch.sin)})
    ):
        follows_the_law(shake(decoder), batch)


@pytest.mark.parametrize("kind", [Recurrence, LSTM])
def test_a_recurrence_that_computes_something_else(kind: Any, batch, shake) -> None:
    _, decoder = decoders(built(ATTENTIONS["general"]), "luong", DECODERS["luong"])
    part = decoder.recurrence if kind is Recurrence else decoder.recurrence.cells
    part.__class__ = derived(kind, forward=changed(kind, "forward", torch.sin))
    follows_the_law(shake(decoder), batch)


@pytest.mark.parametrize("name", ENCODERS)
def test_encoders_and_frontends_that_compute_something_else_claim_nothing(name: str) -> None:
    kind = ENCODERS[name]
    options = {"causal": True} if "causal" in kind.Config.model_fields else {}
    encoder = derived(kind, forward=changed(kind, "forward", torch.sin))(small(kind, **options), SIZE)
    assert not (encoder.causal or encoder.incremental)
    with pytest.raises(NotImplementedError, match="needs the whole source"):
        encoder.extend(torch.zeros(1, 1, SIZE), torch.ones(1, 1, dtype=torch.bool), None, torch.tensor([True]))
    assert not any(derived(front, forward=lambda *_: None).incremental for front in FRONTENDS.values())
