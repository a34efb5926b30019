"""Word vectors from elsewhere: which pieces they are of, their size, and the sentences for files that are none."""

import gzip
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from mt.config import Config
from mt.data.corpus import Corpus
from mt.data.tokenizer import Tokenizer, TokenizerConfig, Tokenizers, train
from mt.errors import UserError
from mt.models.seq2seq import Seq2Seq
from mt.training.initialisation import load_pretrained
from tests.refusals.sentences import require_refusal

SIZE = 32
WORDS = ["cats", "dogs", "Hunde", "two", "elsewhere", "!"]


def line(word: str, size: int = SIZE) -> str:
    """A word and its vector: i + 0.5, i + 1.5, ... of the i-th word."""
    start = WORDS.index(word) if word in WORDS else 50
    return " ".join([word, *(f"{start + place}.5" for place in range(size))])


def vector(word: str) -> torch.Tensor:
    return torch.arange(float(SIZE)) + WORDS.index(word) + 0.5


@pytest.fixture
def file(tmp_path: Path) -> Callable[..., Path]:
    def written(*lines: str, name: str = "vectors.txt") -> Path:
        path = tmp_path / name
        path.write_text("".join(f"{each}\n" for each in lines), encoding="utf-8")
        return path

    return written


Tables = dict[str, torch.Tensor]


@pytest.fixture
def loaded(configure: Callable[..., Config], corpus: Corpus) -> Callable[..., tuple[Tables, Tables, list[str]]]:
    """loaded(pretrained=...): the tables of a new model before and after, and what is said of them."""

    def made(tokenizers: Tokenizers = corpus.tokenizers, **files: Path) -> tuple[Tables, Tables, list[str]]:
        config = configure({"embedding": {"embedding_dim": SIZE, **{name: str(path) for name, path in files.items()}}})
        torch.manual_seed(0)
        model = Seq2Seq(config, *tokenizers.sizes)
        before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        notes = [*load_pretrained(model, tokenizers, config)]
        return before, model.state_dict(), notes

    return made


def changed(before: Tables, after: Tables, table: str) -> list[int]:
    name = f"{table}.table.weight"
    return (after[name] != before[name]).any(1).nonzero().flatten().tolist()


def index(tokenizer: Tokenizer, piece: str) -> int:
    return tokenizer.pieces(range(len(tokenizer))).index(piece)


@pytest.mark.parametrize("header", [[], [f"5 {SIZE}"]], ids=["GloVe", "word2vec"])
def test_words_start_from_their_vectors_in_both_tables_and_others_at_random(header, loaded, corpus, file):
    again = line("cats").replace("1.5", "9")
    path = file(*header, line("cats"), line("Hunde"), line("elsewhere"), line("dogs"), again)
    before, after, notes = loaded(pretrained=path)
    known = {word: index(corpus.tokenizers.source, f"▁{word}") for word in ("cats", "dogs", "Hunde")}
    for table in ("frontend", "decoder.embedding"):
        assert {*changed(before, after, table)} == {*known.values()}
        rows = after[f"{table}.table.weight"][[*known.values()]]
        for word, row in zip(known, rows, strict=True):
            torch.testing.assert_close(row, rows[0, 0] / vector("cats")[0] * vector(word))
        assert rows.square().mean().sqrt().item() == pytest.approx(SIZE**-0.5)
    assert torch.equal(after["decoder.output.weight"], after["decoder.embedding.table.weight"])
    total = len(corpus.tokenizers.source) - 4
    note = f"3 of {total} pieces start from {path}, {total - 3} at random"
    assert notes == [f"vectors   {side}: {note}" for side in ("source", "target")]


def test_each_side_may_have_a_file_of_its_own(loaded: Callable[..., Any], corpus: Corpus, file: Callable[..., Path]):
    english = file(line("cats"), name="en.txt")
    german = file(line("Hunde"), name="de.txt")
    before, after, notes = loaded(pretrained_source=english, pretrained=german)
    source = corpus.tokenizers.source
    assert changed(before, after, "frontend") == [index(source, "▁cats")]
    assert changed(before, after, "decoder.embedding") == [index(source, "▁Hunde")]
    assert str(english) in notes[0] and str(german) in notes[1]


def test_a_table_that_both_sides_share_is_loaded_once(configure, corpus, file):
    config = configure({"embedding": {"embedding_dim": SIZE, "share": True, "pretrained": str(file(line("cats")))}})
    model = Seq2Seq(config, *corpus.tokenizers.sizes)
    [note] = load_pretrained(model, corpus.tokenizers, config)
    assert note.startswith("vectors   source and target: 1 of")


@pytest.mark.parametrize(
    ("words", "pieces"),
    [
        pytest.param(["the", "e"], {"▁the", "▁The"}, id="a part of a word is no word"),
        pytest.param(["▁the", "e"], {"▁the", "e"}, id="a file of pieces"),
        pytest.param(["▁", "the"], {"▁the", "▁The"}, id="the mark of a piece may be a word"),
        pytest.param(["The", "the"], {"▁the", "▁The"}, id="capitals"),
    ],
)
def test_pieces_of_bpe(words: list[str], pieces: set[str], loaded: Callable[..., Any], file: Callable[..., Path]):
    tokenizer = train(TokenizerConfig(model_type="bpe", vocab_size=15), ["the the The The Thee he"] * 9)
    assert {*pieces, "e"} <= {*tokenizer.pieces(range(len(tokenizer)))}
    path = file(*map(line, words))
    before, after, _ = loaded(Tokenizers(tokenizer, tokenizer), pretrained=path)
    assert {*tokenizer.pieces(changed(before, after, "frontend"))} == pieces


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ([line("cats", 20)], r"vectors.txt has vectors of 20 numbers, and embedding.embedding_dim=32: set .*=20"),
        (["9 300", line("cats", 300)], r"vectors.txt has vectors of 300 numbers"),
        ([line("cats"), line("dogs", 31)], r"vectors.txt, line 2: expected a word and 32 numbers; give a text file of"),
        ([line("two"), line("cats").replace(" 3.5", " nan")], r"line 2: a vector has an entry that is no finite"),
        ([line("two"), line("cats").replace(" 3.5", " 1e39")], r"line 2: a vector has an entry that is no finite"),
        (["9" * 5000 + " 3"], r"vectors.txt has vectors of 1 numbers|line 1: expected a word and 32 numbers"),
        (
            [line("cats").replace(" ", "\t", 1)],
            r"line 1: expected a word and 32 numbers; .* numbers in each line, between",
        ),
        (
            [line("cats").replace(" ", "  ")],
            r"vectors.txt, line 1: expected a word and 32 numbers; give a text file of",
        ),
        (["\x1f\x8b\x08 and what else is compressed"], r"vectors.txt, line 1: expected a word and 32 numbers"),
        ([], r"vectors.txt has no vectors: give a text file of"),
        ([f"0 {SIZE}"], r"vectors.txt has no vectors: give a text file of"),
        ([line("elsewhere")], r"vectors.txt has a vector of no piece of the vocabulary: give a file of the"),
    ],
)
def test_what_is_no_file_of_vectors_is_refused(lines, sentence, loaded, file):
    require_refusal(lambda: loaded(pretrained=file(*lines)), sentence)


@pytest.mark.parametrize("header", [[], [f"3 {SIZE}"]], ids=["GloVe", "word2vec"])
def test_the_first_word_is_read_behind_a_byte_order_mark(header: list[str], loaded, corpus, file) -> None:
    path = file(*header, line("cats"), line("dogs"), line("Hunde"))
    path.write_text("\ufeff" + path.read_text())
    before, after, [note, _] = loaded(pretrained=path)
    words = [index(corpus.tokenizers.source, f"▁{word}") for word in ("cats", "dogs", "Hunde")]
    assert changed(before, after, "frontend") == sorted(words)
    assert note.endswith("at random")


def test_a_file_with_fewer_vectors_than_its_header_says_is_told(loaded: Callable[..., Any], file) -> None:
    *_, notes = loaded(pretrained=file(f"2000000 {SIZE}", line("cats"), line("dogs")))
    assert notes[0].endswith("at random; it has 2 of the 2,000,000 vectors that its first line names")


@pytest.mark.parametrize(("name", "sentence"), [("pipe", "is no regular file"), (".", "Is a directory")])
def test_what_is_no_file_is_refused_at_once(name: str, sentence: str, loaded: Callable[..., Any], tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")  # which nobody writes to
    require_refusal(lambda: loaded(pretrained=tmp_path / name), rf"cannot be read \({sentence}")


def test_a_compressed_file_and_the_largest_numbers_of_float32(loaded, corpus, tmp_path):
    path = tmp_path / "vectors.vec.gz"
    path.write_bytes(gzip.compress(f"cats{' 3e38' * SIZE}\ndogs{' -3e38' * SIZE}\n".encode()))
    _, after, notes = loaded(pretrained=path)
    assert "source: 2 of" in notes[0]
    row = after["frontend.table.weight"][index(corpus.tokenizers.source, "▁cats")]
    torch.testing.assert_close(row, torch.full_like(row, SIZE**-0.5))


def test_lines_in_another_encoding_and_words_with_blanks_are_passed_over(loaded: Callable[..., Any], tmp_path: Path):
    path = tmp_path / "latin1.txt"
    words = ("cats", "Tür", "Öl", ". . .", "at name@domain x")
    path.write_bytes("\n".join(map(line, words)).encode("latin-1"))
    *_, notes = loaded(pretrained=path)
    assert "source: 1 of" in notes[0] and notes[0].endswith("at random; 2 of its lines are not UTF-8")


def test_a_source_without_words_has_no_vectors(configure: Callable[..., Config], corpus: Corpus) -> None:
    config = configure({"embedding": {"embedding_dim": SIZE, "pretrained_source": "glove.txt"}})
    model = Seq2Seq(config, *corpus.tokenizers.sizes)
    del model.frontend.table
    with pytest.raises(UserError, match=r"embedding.pretrained_source=glove.txt is of words, and frontend="):
        [*load_pretrained(model, corpus.tokenizers, config)]
