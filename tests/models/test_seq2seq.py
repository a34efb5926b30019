"""The whole model keeps the laws of its parts."""

import pytest
import torch
from torch import Tensor

from mt.errors import UserError
from mt.models.attention.energy import DotConfig, GeneralConfig, LocationConfig
from mt.models.attention.global_ import GlobalConfig
from mt.models.attention.monotonic import MonotonicConfig
from mt.models.attention.none import NoneConfig
from mt.models.decoders.luong import LuongConfig
from mt.models.encoders.conv import ConvConfig
from mt.models.encoders.recurrent import BiLSTMConfig, LSTMConfig
from mt.models.frontends.embedding import EmbeddingConfig
from mt.models.seq2seq import ModelConfig, Seq2Seq


def small(attention=GlobalConfig(), **parts) -> ModelConfig:  # noqa: B008 - frozen
    return ModelConfig(
        **{
            "embedding": EmbeddingConfig(embedding_dim=5),
            "encoder": BiLSTMConfig(hidden_size=3),
            "decoder": LuongConfig(hidden_size=6, readout_size=5),
            "attention": attention,
            **parts,
        }
    )


@pytest.fixture
def source(batch) -> Tensor:
    tokens = torch.randint(1, 20, batch.mask.shape, generator=torch.Generator().manual_seed(0))
    return tokens.masked_fill(~batch.mask, 0)


def test_forward_is_step_in_a_loop_and_alone_is_as_in_a_batch(case, batch, source, shake):
    model = shake(Seq2Seq(small(case.config), 20, 14), scale=0.5)
    target = torch.randint(1, 14, (8, 6), generator=torch.Generator().manual_seed(1))
    features, reads = model(source, batch.mask, target, hard=case.hard)
    weights = reads.weights
    logits = model.decoder.output(features)
    for row, length in enumerate(batch.mask.sum(1).tolist()):
        memory = model.remember(source[row : row + 1, :length], batch.mask[row : row + 1, :length])
        state = model.init_state(memory)
        for i, token in enumerate(target[row]):
            prediction = model.step(token[None], memory, state, hard=case.hard)
            state = prediction.state
            torch.testing.assert_close(prediction.logits[0], logits[row, i], atol=3e-6, rtol=1e-5)
            torch.testing.assert_close(prediction.weights[0], weights[row, i, :length], atol=2e-6, rtol=0)


@pytest.mark.parametrize(
    ("parts", "online"),
    [
        (
            {
                "encoder": LSTMConfig(hidden_size=6),
                "decoder": LuongConfig(hidden_size=6, readout_size=5, init_hidden="zeros"),
            },
            True,
        ),
        (
            {
                "encoder": BiLSTMConfig(hidden_size=3),
                "decoder": LuongConfig(hidden_size=6, readout_size=5, init_hidden="zeros"),
            },
            False,
        ),
        (
            {
                "encoder": LSTMConfig(hidden_size=6),
                "decoder": LuongConfig(hidden_size=6, readout_size=5, init_hidden="final_state"),
            },
            False,
        ),
    ],
)
def test_online_is_what_reads_nothing_beyond_its_last_stop(parts, online: bool, shake):
    model = shake(Seq2Seq(small(MonotonicConfig(energy=GeneralConfig()), **parts), 20, 14))
    with torch.no_grad():
        model.attention.energy.gain.fill_(3.0)
        model.attention.energy.bias.zero_()
    assert model.online == online
    sources = torch.randint(4, 20, (40, 9), generator=torch.Generator().manual_seed(2))
    target = torch.arange(1, 7).expand(40, 6)

    def run(tokens: Tensor) -> tuple[Tensor, Tensor]:
        """Logits [40, 6, 14] and stops [40, 6]."""
        memory = model.remember(tokens, tokens > 0)
        state, logits, stops = model.init_state(memory), [], []
        for token in target.unbind(1):
            prediction = model.step(token, memory, state, hard=True)
            state = prediction.state
            logits.append(prediction.logits)
            stops.append(prediction.stops)
        return torch.stack(logits, 1), torch.stack(stops, 1)

    before, stops = run(sources)
    # Of each sentence, everything to the right of the last position that was selected is exchanged.
    reached = stops.masked_fill(stops == 9, 0).amax(1, keepdim=True)
    assert ((reached > 0) & (reached < 8)).sum() > 5
    changed = torch.where(torch.arange(9) > reached, 23 - sources, sources)
    after, _ = run(changed)
    # The steps that had selected something stay as they were, if and only if the model is online.
    assert torch.equal(after[stops < 9], before[stops < 9]) == online


def test_a_global_attention_is_not_online():
    parts = {
        "encoder": LSTMConfig(hidden_size=6),
        "decoder": LuongConfig(hidden_size=6, readout_size=5, init_hidden="zeros"),
    }
    assert not Seq2Seq(small(**parts), 20, 14).online


def test_a_decoder_that_could_know_nothing_of_the_source_is_refused():
    blind, nothing = NoneConfig(context="zeros"), LuongConfig(hidden_size=6, readout_size=5, init_hidden="zeros")
    with pytest.raises(UserError) as refusal:
        Seq2Seq(small(blind, decoder=nothing), 20, 14)
    assert str(refusal.value) == (
        "with decoder.init_hidden=zeros and attention.context=zeros nothing of the source reaches the decoder: set "
        "decoder.init_hidden=final_state or attention.context=last"
    )
    Seq2Seq(small(blind), 20, 14)
    Seq2Seq(small(NoneConfig(context="last"), decoder=nothing), 20, 14)


def test_without_attention_the_source_is_known_from_the_first_state(batch, source, shake):
    model = shake(Seq2Seq(small(NoneConfig()), 20, 14))
    target = torch.ones(8, 3, dtype=torch.int64)
    features, _ = model(source, batch.mask, target)
    others, _ = model(torch.where(batch.mask, 20 - source, 0), batch.mask, target)
    assert ((features - others).abs().amax((1, 2)) > 1e-3).all()


@pytest.mark.parametrize(
    ("encoder", "attention", "longest"),
    [
        (BiLSTMConfig(hidden_size=3), GlobalConfig(), None),
        (BiLSTMConfig(hidden_size=3), GlobalConfig(energy=LocationConfig(max_source_length=9)), 9),
        (BiLSTMConfig(hidden_size=3), MonotonicConfig(energy=LocationConfig(max_source_length=9)), 9),
        (ConvConfig(hidden_size=6, longest=7), GlobalConfig(), 7),
        (ConvConfig(hidden_size=6, longest=7), GlobalConfig(energy=LocationConfig(max_source_length=9)), 7),
        (ConvConfig(hidden_size=6, longest=9), GlobalConfig(energy=LocationConfig(max_source_length=7)), 7),
    ],
)
def test_the_longest_source_is_what_encoder_and_attention_can_read(encoder, attention, longest):
    model = Seq2Seq(small(attention, encoder=encoder), 20, 14)
    assert model.max_source_length == longest
    if longest is not None:
        model.remember(torch.ones(1, longest, dtype=torch.int64), torch.ones(1, longest, dtype=torch.bool))
        with pytest.raises(UserError, match=f"a source of {longest + 1} tokens is longer than the {longest} that"):
            model.remember(torch.ones(1, longest + 1, dtype=torch.int64), torch.ones(1, longest + 1, dtype=torch.bool))


@pytest.mark.parametrize("tied", [False, True])
def test_matrices_start_uniform_but_for_word_vectors(tied: bool):
    model = Seq2Seq(small(init=0.02, embedding=EmbeddingConfig(embedding_dim=5, tie_output=tied)), 40, 40)
    tables = {id(embedding.table.weight) for embedding in (model.source_embedding, model.target_embedding)}
    for name, parameter in model.named_parameters():
        if id(parameter) in tables:
            assert parameter[1:].std().item() == pytest.approx(5**-0.5, rel=0.3), name
            assert parameter.any(-1).tolist() == [False] + [True] * 39
        elif parameter.dim() > 1:
            assert 0.01 < parameter.abs().max() <= 0.02, name
    assert (id(model.decoder.output.weight) in tables) == tied


def test_shared_tables():
    shared = Seq2Seq(small(embedding=EmbeddingConfig(embedding_dim=5, share=True)), 14, 14)
    assert shared.source_embedding is shared.target_embedding
    apart = Seq2Seq(small(), 14, 14)
    assert apart.source_embedding is not apart.target_embedding
    assert sum(p.numel() for p in apart.parameters()) - sum(p.numel() for p in shared.parameters()) == 14 * 5


def test_sharing_refuses_two_vocabularies():
    with pytest.raises(UserError) as refusal:
        Seq2Seq(small(embedding=EmbeddingConfig(embedding_dim=5, share=True)), 20, 14)
    assert str(refusal.value) == (
        "embedding.share needs one vocabulary, but the source has 20 pieces and the target 14: set "
        "dataset.tokenizer.joint=true or embedding.share=false"
    )


def test_dot_refuses_unequal_sizes_by_their_options():
    with pytest.raises(UserError, match=r"decoder states of size 6 with encoder states of size 8.*decoder\.hidden"):
        Seq2Seq(small(GlobalConfig(energy=DotConfig()), encoder=BiLSTMConfig(hidden_size=4)), 20, 14)


def test_dropout_is_of_training_alone(batch, source):
    model = Seq2Seq(small(embedding=EmbeddingConfig(embedding_dim=5, dropout=0.5)), 20, 14)
    target = torch.ones(8, 3, dtype=torch.int64)
    first, second = (model.eval()(source, batch.mask, target)[0] for _ in range(2))
    assert torch.equal(first, second)
    first, second = (model.train()(source, batch.mask, target)[0] for _ in range(2))
    assert not torch.equal(first, second)
