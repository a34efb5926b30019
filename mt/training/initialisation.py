"""The start of a run from pretrained word vectors, or from the tokenizers and weights of another run.

Vectors come first: `load_pretrained` fills tables from a file (`read_vectors`). Then `load_earlier` loads a run, and
`initialise` takes its weights; `require_same_sizes` names the option that prevents it."""

import functools
from collections import Counter
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mt import checkpoint
from mt.common.options import parse
from mt.config import Config
from mt.data.tokenizer import EOS, Tokenizer, Tokenizers
from mt.data.tokenizer.processor import SPACE
from mt.data.tokenizer.sampling import model_type
from mt.device import shapes_alone
from mt.errors import UserError
from mt.models.config import ModelConfig
from mt.models.seq2seq import Seq2Seq
from mt.text_io import opened, without_mark

# Pretrained word vectors for the tables of a new run: GloVe, word2vec, fastText and BPEmb, as text.

_TABLES = {"source": "frontend.table.weight", "target": "decoder.embedding.table.weight"}
_REMEDY = "give a text file of GloVe or word2vec, a word and its numbers in each line, between blanks"
_LONGEST_HEADER = 40
"""The most characters of a header, the number of vectors and their size."""
_LARGEST = float(np.finfo(np.float32).max)


def load_pretrained(model: Seq2Seq, tokenizers: Tokenizers, config: Config) -> Iterator[str]:
    """Puts the vectors of `embedding.pretrained` into the tables of a new model; yields a report of each table.

    Vectors of a file are scaled together to the standard deviation of a new table. Words that the file lacks stay at
    random. Raises UserError where a file cannot be read, or has vectors of another size, or no vector of the
    vocabulary.
    """
    # A table of each side, with the file of that side or of both.
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
    """Puts the vectors of a file into a table [V, D], and returns a report of their number."""
    names = dict(_names(tokenizer))
    size = table.shape[1]
    vectors, remarks = read_vectors(path, {name for each in names.values() for name in each}, size)
    # A file of pieces marks the beginnings of words, as the vocabulary does, and then `er` is no word.
    of_pieces = any(len(name) > 1 and name.startswith(SPACE) for name in vectors)
    # The token of each piece that the file knows, with its vector.
    found = {}
    for token, (piece, *words) in names.items():
        known = [name for name in ([piece] if of_pieces else words) if name in vectors]
        if known:
            found[token] = vectors[known[0]]
    if not found:
        raise UserError(
            f"{path} has a vector of no piece of the vocabulary: give a file of the language of that side, or prepare "
            "with dataset.tokenizer.model_type=word"
        )
    # They are scaled to the standard deviation of a new table.
    loaded = torch.from_numpy(np.stack([*found.values()])).double()  # squares of large numbers are beyond float32
    deviation = loaded.square().mean().sqrt().item()
    table[[*found]] = (loaded * (size**-0.5 / deviation if deviation else 1.0)).to(table)
    ordinary = len(tokenizer) - EOS - 1
    start = f"{len(found):,} of {ordinary:,} pieces start from {path}, {ordinary - len(found):,} at random"
    return "; ".join([start, *remarks])


def _names(tokenizer: Tokenizer) -> Iterator[tuple[int, list[str]]]:
    """Yields the id of each ordinary piece, and its names: the piece itself and, where it may be a whole word, the word
    as it is and in small letters."""
    of_words = model_type(tokenizer) == "word"
    for token in range(EOS + 1, len(tokenizer)):
        [piece] = tokenizer.pieces([token])
        word = piece.removeprefix(SPACE)
        whole = word and (of_words or piece.startswith(SPACE))
        yield token, [piece, *dict.fromkeys((word, word.lower()))] if whole else [piece]


def read_vectors(path: Path, words: Container[str], size: int) -> tuple[dict[str, np.ndarray], list[str]]:
    """Reads the first vector of each of some words from a file, which may end in `.gz` or `.zst`. A first line of two
    numbers is the header of word2vec.

    Returns the vectors, [size] float32 each, and remarks. They count the lines that are not UTF-8, of which a long file
    may have some, of words that were cut to a number of bytes. They tell a file with fewer vectors than its header says
    (of a copy that was cut short, or of its most frequent words alone). Raises UserError where the file cannot be read
    or has no vectors, or a line is not a word and `size` numbers.
    """
    vectors: dict[str, np.ndarray] = {}
    announced = count = undecodable = 0
    with opened(path) as file:
        for number, raw in enumerate(file, start=1):
            try:
                line = raw.decode()
            except UnicodeDecodeError:
                line = raw.decode(errors="replace")
                undecodable += 1
            line = line.rstrip(" \r\n")
            if number == 1:
                line = without_mark(line)
                # Two whole numbers alone are no word and its vector.
                is_header = line.count(" ") == 1 and line.replace(" ", "").isdecimal() and len(line) <= _LONGEST_HEADER
                _require_size(path, line, is_header, size)
                if is_header:
                    announced = int(line.split(" ")[0])
                    continue
            count += 1
            # From the right, since a word may hold blanks.
            word, *numbers = line.rsplit(" ", size) if line.count(" ") > size else line.split(" ")
            # A word with blanks, as GloVe has some, does not end in a number: that would be one number too many.
            if len(numbers) != size or (" " in word and _is_number(word.rpartition(" ")[2])):
                raise UserError(f"{path}, line {number}: expected a word and {size} numbers; {_REMEDY}")
            # Of millions of words only those of the vocabulary are kept, and of several vectors of one the first.
            if word in words and word not in vectors:
                if not all(map(_is_number, numbers)):
                    raise UserError(f"{path}, line {number}: a vector has an entry that is no finite number; {_REMEDY}")
                vectors[word] = np.array([*map(float, numbers)], dtype=np.float32)
    if not count:
        raise UserError(f"{path} has no vectors: {_REMEDY}")
    remarks = {
        f"{undecodable:,} of its lines are not UTF-8": undecodable > 0,
        f"it has {count:,} of the {announced:,} vectors that its first line names": count < announced,
    }
    return vectors, [remark for remark, is_true in remarks.items() if is_true]


def _require_size(path: Path, line: str, is_header: bool, size: int) -> None:
    """Raises UserError where the first line of a file says, or shows, another size of its vectors."""
    # A header, as of word2vec, has the number of words, then the size; other lines have a word, then its vector.
    numbers = line.split(" ")[1:]
    found = int(numbers[0]) if is_header else len(numbers)
    if not numbers or not all(map(_is_number, numbers)) or not found or "\t" in line:
        raise UserError(f"{path}, line 1: expected a word and {size} numbers; {_REMEDY}")
    if found != size:
        raise UserError(
            f"{path} has vectors of {found} numbers, and embedding.embedding_dim={size}: set "
            f"embedding.embedding_dim={found} (and decoder.readout_size, or embedding.tie_output=false)"
        )


def _is_number(text: str) -> bool:
    """Returns whether a text is a number that float32 can hold."""
    try:
        return abs(float(text)) <= _LARGEST
    except ValueError:
        return False


# A run that starts from the tokenizers and the weights of another.

_SHARING = ("tie_output", "share")
"""Options of `embedding` that make one tensor of two."""
_EMBEDDED = ("decoder.embedding", "decoder.output")
Difference = tuple[tuple[str, ...], Any, Any]
"""The path of an option, and its values in the earlier run and in the new one."""


@dataclass(frozen=True)
class Earlier:
    """The run that a new one starts from."""

    name: str
    """The earlier run, as the user wrote it."""
    update: int
    model: Seq2Seq
    tokenizers: Tokenizers
    config: Config


def load_earlier(name: str, folder: Path | None = None) -> Earlier:
    """Loads the best checkpoint of a run, or the checkpoint that `name` is. folder: of the new run.

    Raises UserError where it cannot be loaded, and where it lies in the folder of the new run.
    """
    try:
        located = checkpoint.locate(Path(name), "best")
        if folder is not None and located.is_relative_to(folder.resolve()):
            raise UserError(f"this is the folder of the new run itself: choose another, or go on by resume={folder}")
        model, tokenizers, config = checkpoint.load_model(located, "best")
    except UserError as error:
        raise UserError(f"init_from={name}: {error}") from None
    return Earlier(name, checkpoint.load_meta(located).update, model, tokenizers, config)


def inherited_tokenizers(run: Path) -> Tokenizers | None:
    """Returns the tokenizers of a run that took them from another run; None where they were learnt from its corpus."""
    if checkpoint.load_config(run).init_from is None:
        return None
    return Tokenizers.load(checkpoint.locate(run, "last"))


def initialise(model: Seq2Seq, tokenizers: Tokenizers, config: Config) -> str:
    """Puts the weights of the run that `config.init_from` names into a new model; returns a table of their counts.

    tokenizers: of the new model. Raises UserError where they are not that run's, or tensors differ in size.
    """
    earlier = load_earlier(config.init_from or "")
    require_same_sizes(earlier, config)
    if tokenizers.digest() != earlier.tokenizers.digest():
        raise UserError(
            f"the corpus was cut by other tokenizers than those of init_from={earlier.name}: prepare it with that "
            "run's tokenizers, as `mt train init_from=...` does"
        )
    state = earlier.model.state_dict()
    shapes = {name: tensor.shape for name, tensor in model.state_dict().items()}
    # A tensor of another shape belongs to a module of another kind, which starts anew.
    taken = {name: tensor for name, tensor in state.items() if tensor.shape == shapes.get(name)}
    model.load_state_dict(taken, strict=False)
    return _table(earlier, model, set(taken))


def require_same_sizes(earlier: Earlier, config: Config) -> None:
    """Raises UserError where the model of this configuration has tensors of other sizes than the earlier run's. Only a
    module of another kind, such as another attention, may have them."""
    for option in _SHARING:
        if getattr(config.embedding, option) and not getattr(earlier.config.embedding, option):
            raise UserError(
                f"embedding.{option}=true makes one table of two, which init_from={earlier.name} has learnt apart: set "
                f"embedding.{option}=false"
            )
    if misfits := _misfits(earlier, config, _groups_of_another_kind(earlier.config, config)):
        raise UserError(_refusal(earlier, config, misfits[0]))


def _groups_of_another_kind(before: ModelConfig, after: ModelConfig) -> set[str]:
    """Returns the groups of options, such as attention, with another choice: tensors that do not fit start anew."""
    return {path[0] for path, old, _ in _differences(before, after) if isinstance(old, Mapping)}


def _group(name: str) -> str:
    """Returns the group of options that a tensor belongs to."""
    if name.startswith(_EMBEDDED):
        return "embedding"
    return "attention" if name.startswith("decoder.attention.") else name.partition(".")[0]


def _misfits(earlier: Earlier, config: Config, groups: set[str]) -> list[str]:
    """Returns the tensors that the model of a configuration has in another shape, without the tensors of `groups`."""
    with shapes_alone():
        wanted = Seq2Seq(config, *earlier.tokenizers.sizes).state_dict()
    return [
        name
        for name, tensor in earlier.model.state_dict().items()
        if name in wanted and wanted[name].shape != tensor.shape and _group(name) not in groups
    ]


def _refusal(earlier: Earlier, config: Config, misfit: str) -> str:
    """Names the option to blame for tensors of other sizes. That is one that by itself changes their sizes, else the
    first different one that cannot be changed by itself."""
    # The candidates: options that by themselves change sizes, before options that cannot be tried alone.
    groups = _groups_of_another_kind(earlier.config, config)
    culprits: list[Difference] = []
    for path, old, new in _differences(earlier.config, config):
        alone = earlier.config.model_dump(mode="json")
        functools.reduce(dict.__getitem__, path[:-1], alone)[path[-1]] = new
        try:
            is_blamed = bool(_misfits(earlier, parse(alone, Config), groups))
        except UserError:
            culprits.append((path, old, new))
        else:
            culprits[:0] = [(path, old, new)] if is_blamed else []
    # The sentence names the first of them, with both values.
    shape = list(earlier.model.state_dict()[misfit].shape)
    start = f"init_from={earlier.name} has tensors of other sizes than this run ({misfit}: {shape})"
    if not culprits:
        return f"{start}: leave out the options of the model, which are that run's then"
    path, old, new = culprits[0]
    option = "/".join(path) if isinstance(old, Mapping) else ".".join(path)
    differ = f"it has {option}={_shown(old)}, and this run {option}={_shown(new)}"
    return f"{start}: {differ}; leave that out, or set {option}={_shown(old)}"


def _shown(value: Any) -> str:
    value = value["name"] if isinstance(value, Mapping) else value
    return str(value).lower() if isinstance(value, bool) else str(value)


def _differences(before: ModelConfig, after: ModelConfig) -> list[Difference]:
    """Returns the options of the model that differ, with both values; a group with another choice as a whole."""

    def unequal(old: Any, new: Any, path: tuple[str, ...]) -> Iterator[Difference]:
        if all(isinstance(value, Mapping) for value in (old, new)) and old.get("name") == new.get("name"):
            for name in new:
                yield from unequal(old.get(name), new[name], (*path, name))
        elif old != new:
            yield path, old, new

    fields = set(ModelConfig.model_fields)
    old, new = (config.model_dump(mode="json", include=fields) for config in (before, after))
    return list(unequal(old, new, ()))


def _table(earlier: Earlier, model: Seq2Seq, taken: set[str]) -> str:
    """Writes a table of the numbers of each module that were taken, are new, and were left out."""
    counts = {column: Counter[str]() for column in ("taken", "new", "left out")}
    # Each tensor is counted once.
    tensors, earlier_tensors = (
        dict([*each.named_parameters(), *each.named_buffers()]) for each in (model, earlier.model)
    )
    for name, tensor in tensors.items():
        counts["taken" if name in taken else "new"][_module(name)] += tensor.numel()
    for name, tensor in earlier_tensors.items():
        counts["left out"][_module(name)] += tensor.numel() * (name not in taken)
    modules = sum(counts.values(), Counter[str]())  # a sum leaves out what is 0 in all columns
    heading = f"starts from {earlier.name} (update {earlier.update} on {earlier.config.dataset.name})"
    lines = [heading, f"  {'numbers of':<22}" + "".join(f"{column:>14}" for column in counts)]
    lines += [f"  {module:<22}" + "".join(f"{column[module]:>14,}" for column in counts.values()) for module in modules]
    return "\n".join(lines)


def _module(name: str) -> str:
    """Returns `decoder.attention` for decoder.attention.energy.weight, and `encoder` for encoder.lstm.weight."""
    inner = name.split(".")
    return ".".join(inner[:2]) if inner[0] == "decoder" and len(inner) > 2 else inner[0]
