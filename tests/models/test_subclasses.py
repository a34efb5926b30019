"""The laws run over all subclasses, and find one that changes a step and not the `forward` that replaces it. Pieces
that no fast path replaces may be changed alone."""

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from mt.models.attention import ATTENTIONS
from mt.models.attention.base import Attention
from mt.models.attention.energy import ENERGIES, Energy
from mt.models.decoders import DECODERS, Decoder, DecoderParts
from mt.models.encoders import ENCODERS, Encoded, Encoder
from mt.models.frontends import FRONTENDS
from mt.models.frontends.base import Frontend
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
    memory = decoder.init_memory(Encoded(values, batch.mask, values[:, 0]))
    with torch.no_grad():
        readouts, attended = decoder(tokens, memory, hard=hard)
        state = decoder.init_state(memory, hard=hard)
        for step, token in enumerate(tokens.unbind(1)):
            prediction = decoder.step(token, memory, state, hard=hard)
            state = prediction.state
            torch.testing.assert_close(decoder.output(readouts[:, step]), prediction.logits, atol=1e-5, rtol=1e-5)
            weights = dense(prediction.attended, memory.mask.shape[1])
            torch.testing.assert_close(attended.weights[:, step], weights, atol=3e-6, rtol=1e-5)


def concrete(kind: type) -> Iterator[type]:
    """Yields all subclasses in mt that can be constructed."""
    for child in kind.__subclasses__():
        if child.__module__.startswith("mt.") and not inspect.isabstract(child) and "Config" in vars(child):
            yield child
        yield from concrete(child)


@pytest.mark.parametrize(
    ("base", "table"),
    [(Attention, ATTENTIONS), (Encoder, ENCODERS), (Decoder, DECODERS), (Frontend, FRONTENDS), (Energy, ENERGIES)],
)
def test_the_laws_run_over_all_subclasses(base: type, table: dict[str, type]) -> None:
    """As they run over the tables."""
    assert {*concrete(base)} == {*table.values()}


# The `forward` of one that mixes predictions takes more than the law's.
LAWFUL = {name: kind for name, kind in ATTENTIONS.items() if not kind.mixes_predictions}
FAST = [name for name, kind in LAWFUL.items() if kind.forward is not Attention.forward]


@pytest.mark.parametrize("name", FAST)
def test_the_law_finds_a_forward_that_no_longer_fits_its_step(name: str, batch, shake) -> None:
    kind = ATTENTIONS[name]
    attention = shake(built(derived(kind, step=changed(kind, "step", torch.sin))))
    with pytest.raises(AssertionError):
        agrees(attention, batch)
    agrees(shake(built(derived(kind, step=attention.step.__func__, forward=Attention.forward))), batch)
