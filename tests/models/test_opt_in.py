"""A subclass that overrides a piece of what it inherits trains with it as it decodes: no fast path goes around it, and
it claims nothing that may not hold."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from mt.kernels.lstm import LSTM
from mt.models.attention import ATTENTIONS, build_attention
from mt.models.attention.base import Attention, Memory
from mt.models.attention.energy import ENERGIES, Scaled
from mt.models.attention.global_ import as_dot_products
from mt.models.decoders import DECODERS, Decoder, DecoderParts
from mt.models.decoders.base import Recurrence
from mt.models.encoders import ENCODERS, Encoded
from mt.models.frontends import FRONTENDS
from mt.models.frontends.embedding import Embedding, EmbeddingConfig
from tests.components import dense
from tests.marks import exhaustive

SIZE = 6
VOCABULARY = 13


def small(kind: Any, **options: Any) -> Any:
    sizes = {"hidden_size": SIZE, "readout_size": SIZE, "attention_dim": 5, "max_source_length": 12, "window": 2}
    return kind.Config(**{name: value for name, value in sizes.items() if name in kind.Config.model_fields} | options)


def derived(kind: type, **pieces: Any) -> Any:
    """A subclass with these pieces."""
    return type(f"Other{kind.__name__}", (kind,), pieces)


def built(kind: type[Attention]) -> Attention:
    return kind(small(kind, **({"context": "last"} if kind is ATTENTIONS["none"] else {})), SIZE, SIZE)


def half_step(parent: type[Attention]) -> Callable[..., Any]:
    def step(self: Any, query: Tensor, memory: Memory, state: Any, *, hard: bool = False) -> Any:
        taken = parent.step(self, query, memory, state, hard=hard)
        attended = taken.attended._replace(weights=0.5 * taken.attended.weights)
        return taken._replace(context=0.5 * taken.context, attended=attended)

    return step


def agrees(attention: Attention, batch: Any, hard: bool) -> None:
    """The law of the attention, and of decoders around it: with input feeding, and with all steps at once."""
    memory = attention.init_memory(batch.encoded)
    together = attention(batch.queries, memory, hard=hard)
    alone = Attention.forward(attention, batch.queries, memory, hard=hard)
    torch.testing.assert_close(together.weights, alone.weights, atol=3e-6, rtol=1e-5)
    torch.testing.assert_close(together.contexts, alone.contexts, atol=3e-6, rtol=1e-5)
    for decoder in decoders(attention, {"luong": DECODERS["luong"]}):
        follows_the_law(decoder, batch, hard)


def decoders(attention: Attention, chosen: dict[str, Any] | None = None) -> list[Decoder]:
    embedding = Embedding(EmbeddingConfig(embedding_dim=SIZE, dropout=0.0), VOCABULARY)
    parts = DecoderParts(embedding, attention, SIZE, SIZE, tied=False)
    made = []
    for name, kind in (chosen or DECODERS).items():
        for options in ({}, {"input_feeding": True}) if "input_feeding" in kind.Config.model_fields else ({},):
            made.append(kind(small(DECODERS[name], **options), parts).eval())
    return made


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
            width = memory.mask.shape[1]
            weights = dense(prediction.attended, width)
            torch.testing.assert_close(attended.weights[:, step], weights, atol=3e-6, rtol=1e-5)


@pytest.mark.parametrize("name", ATTENTIONS)
def test_attentions(name: str, batch, shake) -> None:
    kind = ATTENTIONS[name]
    attention = shake(built(derived(kind, step=half_step(kind))))
    parent = shake(built(kind))
    assert not (attention.monotonic or attention.supports_wait_k), "claims of the parent that may not hold"
    for hard in (False, True) if kind.supports_hard else (False,):
        agrees(attention, batch, hard)
        ours, theirs = (
            each(batch.queries, each.init_memory(batch.encoded), hard=hard).contexts for each in (attention, parent)
        )
        assert (ours - theirs).abs().max() > 1e-3, "what is overridden without effect tests nothing"


@pytest.mark.parametrize("name", ATTENTIONS)
def test_a_subclass_that_opts_into_its_parents_fast_paths_has_them(name: str, batch, shake) -> None:
    kind = ATTENTIONS[name]
    plain = derived(kind)
    named = derived(kind, opts_into=("forward",))
    assert plain.forward is Attention.forward and named.forward is kind.forward
    for each in (plain, named):
        for hard in (False, True) if kind.supports_hard else (False,):
            agrees(shake(built(each)), batch, hard)


@pytest.mark.parametrize(
    ("energy", "scaled"),
    [
        *((energy, bool(number % 2)) for number, energy in enumerate(ENERGIES)),
        *exhaustive(*((energy, not number % 2) for number, energy in enumerate(ENERGIES))),
    ],
)
def test_energies(energy: str, scaled: bool, batch, shake) -> None:
    """One that overrides what an energy is, in every attention with energies of a choice."""
    kind = ENERGIES[energy]
    bent = derived(kind, forward=lambda self, queries, keys: kind.forward(self, queries, keys).sin())
    for name, chosen in ATTENTIONS.items():
        if "energy" in chosen.Config.model_fields:
            options = {"energy": small(kind)} | ({"scaled": scaled} if "scaled" in chosen.Config.model_fields else {})
        elif name == energy:
            options = {"scaled": scaled}
        else:
            continue
        attention = build_attention(small(chosen, **options), SIZE, SIZE)
        other = bent(small(kind), SIZE, SIZE, normalized=scaled)
        if isinstance(attention.energy, Scaled):
            attention.energy.energy = other
        else:
            attention.energy = other
        attention = shake(attention)
        assert as_dot_products(attention, attention.init_memory(batch.encoded), 3) is None
        agrees(attention, batch, False)
        if chosen.supports_hard:
            agrees(attention, batch, True)


def test_a_scaling_that_computes_something_else(batch, shake) -> None:
    bent = derived(Scaled, forward=lambda self, queries, keys: Scaled.forward(self, queries, keys).sin())
    attention = build_attention(small(ATTENTIONS["general"]), SIZE, SIZE)
    attention.energy = bent(attention.energy.energy)
    agrees(shake(attention), batch, False)


def shifted(parent: Any, piece: str) -> Callable[..., Any]:
    """The piece, whose first tensor is another one."""

    def other(self: Any, *arguments: Any) -> Any:
        outcome = getattr(parent, piece)(self, *arguments)
        if isinstance(outcome, Tensor):
            return outcome.sin()
        changed = outcome[0].sin(), *outcome[1:]
        return type(outcome)(*changed) if hasattr(outcome, "_fields") else changed

    return other


@pytest.mark.parametrize(
    ("name", "piece"),
    [
        *((name, piece) for name in DECODERS for piece in ("_make_query", "_read_out")),
        *(("luong", "_combine"), ("bahdanau", "_readouts"), ("gnmt", "_upper_layers")),
        ("ssru", "_upper_layers"),
    ],
)
def test_decoders(name: str, piece: str, batch, shake) -> None:
    kind = derived(DECODERS[name], **{piece: shifted(DECODERS[name], piece)})
    for decoder in decoders(built(ATTENTIONS["general"]), {name: kind}):
        follows_the_law(shake(decoder), batch)


def test_a_recurrence_that_computes_something_else(batch, shake) -> None:
    for kind in (Recurrence, LSTM):
        bent = derived(kind, forward=shifted(kind, "forward"))
        _, decoder = decoders(built(ATTENTIONS["general"]), {"luong": DECODERS["luong"]})
        part = decoder.recurrence if kind is Recurrence else decoder.recurrence.cells
        part.__class__ = bent
        follows_the_law(shake(decoder), batch)


@pytest.mark.parametrize("name", ENCODERS)
def test_encoders_that_compute_something_else_claim_nothing(name: str, shake) -> None:
    kind = ENCODERS[name]
    options = {"causal": True} if "causal" in kind.Config.model_fields else {}
    encoder = derived(kind, forward=shifted(kind, "forward"))(small(kind, **options), SIZE)
    assert not (encoder.causal or encoder.incremental)
    with pytest.raises(NotImplementedError, match="needs the whole source"):
        encoder.extend(torch.zeros(1, 1, SIZE), torch.ones(1, 1, dtype=torch.bool), None, torch.tensor([True]))


@pytest.mark.parametrize("name", ["bilstm", "bigru", "lstm", "gru"])
def test_recurrent_encoders_encode_a_source_alone_as_in_a_batch(name: str, batch, shake) -> None:
    """With a piece that the ways to encode a batch could go around."""
    kind = ENCODERS[name]

    def encoded(self: Any, values: Tensor, state: Any, mask: Tensor) -> Encoded:
        return kind._encoded(self, values.sin(), state, mask)

    encoder = shake(derived(kind, _encoded=encoded)(small(kind), SIZE))
    values = batch.values.masked_fill(~batch.mask[..., None], 0.0)
    with torch.no_grad():
        together = encoder(values, batch.mask)
        for row, length in enumerate(batch.mask.sum(1).tolist()):
            alone = encoder(values[row : row + 1, :length], batch.mask[row : row + 1, :length])
            torch.testing.assert_close(together.values[row, :length], alone.values[0], atol=1e-5, rtol=1e-5)


def test_frontends_that_compute_something_else_claim_nothing() -> None:
    for kind in FRONTENDS.values():
        assert not derived(kind, forward=lambda self, source, mask: (source, mask)).incremental
