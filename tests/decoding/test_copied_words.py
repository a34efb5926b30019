"""A vocabulary of words, whose unknown ones are copied by what they are (See et al. 2017, section 2.2)."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from mt.config import Config
from mt.data.fields import TEXT
from mt.data.split import Examples, NumberedPairs
from mt.data.tokenizer import EOS, UNK, Tokenizer, TokenizerConfig, Tokenizers, train
from mt.decoding import runs
from mt.decoding.runs import torch_translator
from mt.decoding.translator import Translator
from mt.errors import UserError
from mt.evaluation.likelihood import likelihoods
from mt.metrics.sentence import SENTENCE_SCORES
from mt.models.seq2seq import Seq2Seq
from mt.search.config import BeamConfig, GreedyConfig, OnlineConfig, SearchConfig, WaitKConfig

TEXTS = ["the cat sees a dog .", "a dog says: the house", "two cats, a house ."]
SOURCES = ["Ada sees (Baŋfu) .", "Zoë and Ada and Zoë", "the cat says: Quux, Ada .", "the dog"]


@pytest.fixture(scope="module")
def tokenizers() -> Tokenizers:
    both = train(TokenizerConfig(model_type="word", vocab_size=40), TEXTS * 3)
    return Tokenizers(both, both)


@pytest.fixture
def translator(tokenizers: Tokenizers, configure: Callable[..., Config]) -> Callable[..., Translator]:
    def made(attention: str, encoder: str = "bilstm", *, search: SearchConfig) -> Translator:
        decoder = {
            "name": "luong",
            "copy": True,
            "dropout": 0.0,
            "init_hidden": "zeros",
            "readout_size": 32,
            "hidden_size": 32,
        }
        options = {
            "encoder": {"name": encoder, "hidden_size": 32},
            "decoder": decoder,
            "attention": {"name": attention},
        }
        config = configure(options).model_copy(update={"search": search})
        model = Seq2Seq(config, len(tokenizers.source), len(tokenizers.target))
        generator = torch.Generator().manual_seed(2)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.normal_(0, 0.5, generator=generator)
            if attention == "monotonic":
                model.decoder.attention.energy.gain.fill_(1.0)
                model.decoder.attention.energy.bias.fill_(1.0)
            model.decoder.copying.gate.weight.zero_()
            model.decoder.output.bias[EOS] = -1.0
            model.decoder.copying.gate.bias.fill_(-2.0)
        return torch_translator(model.eval(), tokenizers, config)

    return made


def test_ids_are_those_of_the_words_in_their_order(tokenizers: Tokenizers) -> None:
    words: list[str] = []
    source = tokenizers.source.numbering(words, grows=True)
    target = tokenizers.target.numbering(words, grows=False)
    size = len(source)
    (ids,) = source.encode(["Ada sees (Baŋfu) and Ada ."])
    numbered = [token for token in ids if token >= size]
    assert sorted({*numbered}) == [*range(size, size + len(words))] and ids[0] == size
    assert target.decode(ids) == "Ada sees (Baŋfu) and Ada ."
    (others,) = target.encode(["Zoë sees Ada"])
    assert others[0] == UNK and others[-2] == size and target.decode(others) == "⁇ sees Ada"
    assert tokenizers.source.encode(["Ada"]) == [[UNK, EOS]]
    assert target.pieces(ids)[0] == "▁Ada"
    before = [*words]
    source.encode(["Quux Ada"])
    assert words[: len(before)] == before, "what comes later changes no earlier id"


@pytest.mark.parametrize("attention", ["general", "monotonic"])
@pytest.mark.parametrize("beam", [1, 3])
def test_forced_scores_are_those_of_search(attention: str, beam: int, translator: Callable[..., Translator]) -> None:
    search = GreedyConfig(max_length=6) if beam == 1 else BeamConfig(beam_size=beam, n_best=beam, max_length=6)
    ours = translator(attention, search=search)
    size = len(ours.tokenizers.target)
    copied = 0
    for source, translations in zip(SOURCES, ours.n_best(SOURCES), strict=True):
        for one in translations:
            (forced,) = likelihoods(ours, [source], [one.ids], length_penalty=0.0)
            log_prob = forced.log_prob
            expected = one.score * (1.0 if beam == 1 else ((5 + len(one.ids)) / 6) ** search.length_penalty)
            assert log_prob == pytest.approx(expected, abs=1e-5)
            new = [place for place, token in enumerate(one.ids) if token >= size]
            copied += len(new)
            assert all(one.tokens[place].removeprefix("▁") in source and "⁇" not in one.tokens[place] for place in new)
    assert copied > 3


@pytest.mark.parametrize(
    ("attention", "search"),
    [
        ("monotonic", OnlineConfig(max_ratio=1.2, max_extra=4)),
        ("general", WaitKConfig(k=2, max_ratio=1.2, max_extra=4)),
    ],
)
def test_a_stream_is_offline_decoding(
    attention: str, search: SearchConfig, translator: Callable[..., Translator]
) -> None:
    ours = translator(attention, "lstm", search=search)
    size = len(ours.tokenizers.target)
    copied = 0
    for source, offline in zip(SOURCES, ours.translate(SOURCES), strict=True):
        session = ours.stream()
        for word in source.split():
            session.read(word)
        session.finish()
        assert session.tokens == offline.ids and session.text == offline.text
        copied += sum(token >= size for token in session.tokens)
    assert copied > 1


def test_words_are_numbered_while_a_source_is_encoded(
    translator: Callable[..., Translator], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once, and not again for the numbers."""
    ours = translator("general", search=GreedyConfig())
    encode, seen = Tokenizer.encode, []
    monkeypatch.setattr(Tokenizer, "encode", lambda self, texts: seen.append(texts) or encode(self, texts))
    assert max(map(max, ours.encoded(SOURCES))) >= len(ours.tokenizers.target)
    assert seen == [[source] for source in SOURCES]


@pytest.mark.parametrize("utility", ["chrf", "rougeL"])
def test_a_utility_compares_the_words_of_the_source(utility: str, translator: Callable[..., Translator]) -> None:
    search = BeamConfig(beam_size=6, n_best=6, max_length=6)
    ours = translator("general", search=search)
    score = SENTENCE_SCORES[utility]()
    named = 0
    chosen = ours.n_best(SOURCES, search=search.model_copy(update={"utility": utility}))
    for best, candidates in zip(chosen, ours.n_best(SOURCES), strict=True):
        texts = [one.text for one in candidates]
        weights = np.exp([one.score * ((5 + len(one.ids)) / 6) ** search.length_penalty for one in candidates])
        expected = score.matrix(texts, texts) @ (weights / weights.sum())
        scores = {text: float(value) for text, value in zip(texts, expected, strict=True)}
        assert [one.score for one in best] == pytest.approx([scores[one.text] for one in best], abs=1e-3)
        named += any(token >= len(ours.tokenizers.target) for one in best for token in one.ids)
    assert named > 1


def test_graphs_of_a_copying_model_of_words_are_refused(translator: Callable[..., Translator]) -> None:
    """By what the vocabulary is: options say nothing of a word model that was brought from elsewhere."""
    pytest.importorskip("onnx")
    from mt.export.graphs import require_known_words

    ours = translator("general", search=GreedyConfig())
    model = ours.model.as_online_model
    assert model is not None
    with pytest.raises(UserError, match=r"copies words that its vocabulary lacks .*without --format onnx"):
        require_known_words(model, ours.tokenizers.target)
    pieces = train(TokenizerConfig(model_type="char", vocab_size=40), TEXTS)
    require_known_words(model, pieces)


def test_ensembles_of_some_that_copy_words_are_refused(
    translator: Callable[..., Translator], monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = translator("general", search=GreedyConfig())
    config = ours.config.model_copy(update={"decoder": ours.config.decoder.model_copy(update={"copy": False})})
    plain = Seq2Seq(config, *ours.tokenizers.sizes)
    loaded = {"copies": (ours.model, ours.tokenizers, ours.config), "plain": (plain, ours.tokenizers, config)}
    monkeypatch.setattr(runs, "load_model", lambda path, checkpoint: loaded[path.name])
    for names in (["copies", "plain"], ["plain", "copies"]):
        with pytest.raises(UserError, match=r"some copy words .* lacks, .* with the same decoder.copy"):
            runs.load_runs([*map(Path, names)], "best", "cpu", None)
    runs.load_runs([Path("copies"), Path("copies")], "best", "cpu", None)


class Texts:
    """Pairs as a split has them."""

    source = TEXT
    lengths = None

    def __init__(self, tokenizer: Tokenizer, pairs: list[tuple[str, str]]) -> None:
        self.tokenizer = tokenizer
        self.pairs = pairs

    def texts(self, indices: np.ndarray) -> list[tuple[str, str]]:
        return [self.pairs[i] for i in indices]

    def read(self, indices: np.ndarray) -> Examples:
        sides = zip(*self.texts(indices), strict=True)
        return Examples(*([np.array(ids, np.int32) for ids in self.tokenizer.encode(side)] for side in sides))


def test_pairs_have_the_ids_of_their_own_words(tokenizers: Tokenizers) -> None:
    tokenizer = tokenizers.target
    size = len(tokenizer)
    pairs = Texts(tokenizer, [("the dog", "Quux"), ("Ada sees Zoë", "Zoë Quux Ada"), ("Zoë", "Zoë")])
    plain, numbered, alone = zip(*NumberedPairs(pairs, tokenizer).read(np.array([0, 1, 2]))[:2], strict=True)
    assert [part.tolist() for part in plain] == [part.tolist() for [part] in pairs.read(np.array([0]))[:2]]
    assert numbered[0][[0, 2]].tolist() == [size, size + 1] and numbered[1].tolist() == [size + 1, UNK, size, EOS]
    assert alone[0].tolist() == alone[1].tolist() == [size, EOS]
