"""Word vectors from elsewhere, in which the tables of a new run start: GloVe, word2vec, fastText and BPEmb, as text."""

from collections.abc import Container, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from mt.config import Config
from mt.data.tokenizer import EOS, Tokenizer, Tokenizers
from mt.data.tokenizer.marks import SPACE
from mt.data.tokenizer.sampling import model_type
from mt.errors import UserError
from mt.models.seq2seq import Seq2Seq
from mt.text_io import opened

_TABLES = {"source": "frontend.table.weight", "target": "decoder.embedding.table.weight"}
_REMEDY = "give a text file of GloVe or word2vec, a word and its numbers in each line, between blanks"
_LARGEST = float(np.finfo(np.float32).max)


def load_pretrained(model: Seq2Seq, tokenizers: Tokenizers, config: Config) -> Iterator[str]:
    """Puts the vectors of `embedding.pretrained` into the tables of a new model; yields of each table what was found.

    Vectors of a file are scaled together, so that their numbers vary as much as those that a table starts with. What
    the file lacks stays at random. Raises UserError where a file cannot be read, has vectors of another size, or none
    that is asked for.
    """
    options = config.embedding
    tensors = model.state_dict()
    files = {"source": options.pretrained_source, "target": options.pretrained_target}
    for (side, of_side), tokenizer in zip(files.items(), tokenizers, strict=True):
        table = tensors.get(_TABLES[side])
        if table is None and of_side is not None:
            raise UserError(
                f"embedding.pretrained_{side}={of_side} is of words, and frontend={config.frontend.name} reads none: "
                "leave it out"
            )
        name = of_side or options.pretrained
        if table is None or name is None or (options.share and side == "source"):  # one table is loaded once
            continue
        both = "source and target" if options.share else side
        yield f"vectors   {both}: {_fill(table, tokenizer, Path(name))}"


@torch.no_grad()
def _fill(table: Tensor, tokenizer: Tokenizer, path: Path) -> str:
    """Puts the vectors of a file into a table [V, D], and returns how many it has, in words."""
    names = dict(_names(tokenizer))
    size = table.shape[1]
    vectors, undecodable = read_vectors(path, {name for each in names.values() for name in each}, size)
    # A file of pieces marks those that begin words, as the vocabulary does, and then `er` is no word.
    of_pieces = any(len(name) > 1 and name.startswith(SPACE) for name in vectors)
    rows = {}
    for token, (piece, *words) in names.items():
        known = [name for name in ([piece] if of_pieces else words) if name in vectors]
        if known:
            rows[token] = vectors[known[0]]
    if not rows:
        raise UserError(
            f"{path} has a vector of no piece of the vocabulary: give a file of the language of that side, or prepare "
            "with dataset.tokenizer.model_type=word"
        )
    loaded = torch.from_numpy(np.stack([*rows.values()])).double()  # squares of large numbers are beyond float32
    deviation = loaded.square().mean().sqrt().item()
    table[[*rows]] = (loaded * (size**-0.5 / deviation if deviation else 1.0)).to(table)
    ordinary = len(tokenizer) - EOS - 1
    start = f"{len(rows):,} of {ordinary:,} pieces start from {path}, {ordinary - len(rows):,} at random"
    return f"{start}; {undecodable:,} of its lines are not UTF-8" if undecodable else start


def _names(tokenizer: Tokenizer) -> Iterator[tuple[int, list[str]]]:
    """Yields each piece but the special ones with its names: as it is, and, if it may be a whole word, that word as it
    is and in small letters."""
    of_words = model_type(tokenizer) == "word"
    for token in range(EOS + 1, len(tokenizer)):
        [piece] = tokenizer.pieces([token])
        word = piece.removeprefix(SPACE)
        whole = word and (of_words or piece.startswith(SPACE))
        yield token, [piece, *dict.fromkeys((word, word.lower()))] if whole else [piece]


class Vectors(NamedTuple):
    """What a file has of some words."""

    of_words: dict[str, np.ndarray]
    """[size] float32 each."""
    undecodable: int
    """How many lines are not UTF-8. A long file may have some, of words that were cut to a number of bytes."""


def read_vectors(path: Path, words: Container[str], size: int) -> Vectors:
    """Reads the vectors of some words, of each the first, from a file that may end in `.gz` or `.zst`. A first line of
    two numbers, which say how many vectors there are and of which size (word2vec), is none.

    Raises UserError where the file cannot be read or has no vectors, or a line is not a word and so many numbers.
    """
    vectors: dict[str, np.ndarray] = {}
    undecodable = 0
    empty = True
    with opened(path) as file:
        for number, raw in enumerate(file, start=1):
            try:
                line = raw.decode()
            except UnicodeDecodeError:
                line = raw.decode(errors="replace")
                undecodable += 1
            line = line.rstrip(" \r\n")
            if number == 1:
                header = len(line.split(" ")) == 2 and line.replace(" ", "").isdecimal()
                _require_size(path, int(line.split(" ")[1]) if header else _count_numbers(line), size)
                if header:
                    continue
            empty = False
            word, *numbers = line.rsplit(" ", size) if line.count(" ") > size else line.split(" ")
            # A word with blanks in it, as GloVe has some, ends in no number: that would be one number too many.
            if len(numbers) != size or (" " in word and _is_number(word.rpartition(" ")[2])):
                raise UserError(f"{path}, line {number}: expected a word and {size} numbers; {_REMEDY}")
            if word in words and word not in vectors:
                vectors[word] = _numbers(path, number, numbers)
    if empty:
        raise UserError(f"{path} has no vectors: {_REMEDY}")
    return Vectors(vectors, undecodable)


def _count_numbers(line: str) -> int:
    """Returns how many numbers follow the word of a line; 0 where what follows is something else."""
    return line.count(" ") if _is_number(line.rpartition(" ")[2]) else 0


def _require_size(path: Path, found: int, size: int) -> None:
    if not found:
        raise UserError(f"{path}, line 1: expected a word and {size} numbers; {_REMEDY}")
    if found != size:
        raise UserError(
            f"{path} has vectors of {found} numbers, and embedding.embedding_dim={size}: set "
            f"embedding.embedding_dim={found} (and decoder.readout_size, or embedding.tie_output=false)"
        )


def _numbers(path: Path, line: int, numbers: list[str]) -> np.ndarray:
    if not all(map(_is_number, numbers)):
        raise UserError(f"{path}, line {line}: a vector has something that is no finite number in it; {_REMEDY}")
    return np.array([*map(float, numbers)], dtype=np.float32)


def _is_number(text: str) -> bool:
    """Returns whether a text is a number that float32 can hold."""
    try:
        return abs(float(text)) <= _LARGEST
    except ValueError:
        return False
