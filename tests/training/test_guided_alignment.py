"""Guided alignment: links of a file reach the pieces of a batch, and the attention learns them."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.functional import pad

from data_prep.prepare import open_corpus, prepare
from mt import load
from mt.common.links import to_pharaoh
from mt.config import Config
from mt.data.corpus import Corpus
from mt.data.dataset import LINK_UNITS
from mt.data.tokenizer import Tokenizers, units
from mt.errors import UserError
from mt.evaluation.teacher_forcing import teacher_forced_pass
from mt.models.seq2seq import Seq2Seq
from mt.training.start import begin
from mt.trees import select_rows
from tests.marks import chosen
from tests.refusals.sentences import require_refusal
from tests.training.runs import batches, finished, logged

Guided = Callable[..., tuple[Config, Corpus]]
KINDS: dict[str, dict[str, Any]] = {"word": {}, "bpe": {"bpe_dropout": 0.4}, "unigram": {"unigram_alpha": 0.02}}


@pytest.fixture(scope="module")
def links(word_for_word: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Word for word, and each third pair has none."""
    path = tmp_path_factory.mktemp("links") / "train.pharaoh"
    lines = word_for_word.read_text().splitlines()
    path.write_text("".join(f"{line * (number % 3 > 0)}\n" for number, line in enumerate(lines)))
    return path


@pytest.fixture
def guided(prepared: Guided, links: Path) -> Guided:
    def made(kind: str = "word", dataset: Any = (), training: Any = (), **changes: Any) -> tuple[Config, Corpus]:
        return prepared(kind, dataset, {"guided_alignment": str(links), **dict(training)}, **changes)

    return made


@pytest.fixture
def paired(guided: Guided, texts: Path, tmp_path: Path) -> Callable[..., Corpus]:
    """paired(pairs, ...): the corpus of some training pairs, each with its links."""

    def made(pairs: list[tuple[str, str, str]], kind: str = "word", **dataset: Any) -> Corpus:
        folder = shutil.copytree(texts, tmp_path / "texts")
        files = folder / "train.en", folder / "train.de", tmp_path / "train.pharaoh"
        for path, column in zip(files, zip(*pairs, strict=True), strict=True):
            path.write_text("".join(f"{line}\n" for line in column))
        dataset["folder"] = str(folder)
        return guided(kind, dataset, {"guided_alignment": str(tmp_path / "train.pharaoh")})[1]

    return made


@pytest.mark.parametrize("kind", [*KINDS])
@pytest.mark.parametrize("sampled", [False, True])
def test_every_piece_is_linked_to_the_pieces_of_its_word(kind: str, sampled: bool, guided: Guided) -> None:
    options = KINDS[kind] if sampled else {}
    config, corpus = guided(kind, {}, options)
    linked = 0
    for pending in batches(config, corpus):
        batch = pending.read()
        sides = batch.source, batch.target_out
        # Words are between blanks, so that a piece begins one where the tokenizer marks it.
        for source, target, rows in zip(*sides, batch.linked, strict=True):
            owners = []
            for ids, tokenizer in zip((source, target), corpus.tokenizers, strict=False):
                tokens = [i for i in ids.tolist() if i]
                starts = [tokenizer.begins_word(i, None) for i in tokens[:-1]]
                owners.append([*(np.cumsum(starts) - 1).tolist(), None] + [None] * (len(ids) - len(tokens)))
            alike = torch.tensor([[i is not None and i == j for i in owners[0]] for j in owners[1]]).float()
            expected = alike / alike.sum(1, keepdim=True).clamp(min=1)
            if rows.any():
                torch.testing.assert_close(rows, expected)
                linked += 1
    assert linked == 160  # two of three pairs


def test_cleaning_drops_links_with_their_pairs(paired: Callable[..., Corpus]) -> None:
    pairs = [
        ("a b", "x y", "0-1"),
        ("", "x", ""),
        ("a b", "x y", "1-0"),
        ("c", "z " * 30, "0-3"),
        ("c d", "z w", "1-1"),
    ]
    split = paired(pairs, cleaning={"drop_duplicates": True}).split("train")
    assert split.texts([0, 1]) == [("a b", "x y"), ("c d", "z w")] and len(split) == 2
    assert [found.tolist() for found in split.read([1, 0]).links] == [[[1, 1]], [[0, 1]]]


@pytest.mark.parametrize("kind", ["word", "bpe", "char"])
@pytest.mark.parametrize("words", [*LINK_UNITS])
def test_words_that_show_nothing_or_share_a_piece_take_no_place_of_another(kind, words, paired):
    """A soft hyphen alone is a word between blanks that shows nothing; marks in a word may share a piece."""
    texts = [
        ("sink \u00ad cats", "die \u00ad Katzen"),
        ("\u00ad", "die"),
        ("e\u0301 cats", "é Katzen"),
        ("a.. b", "a\u200d b"),
        ("10\u00a0000 \u00a0 cats\tsit\u3000on ", "zehn\u202ftausend\x1cKatzen"),
    ]
    counts = [[len(units(text, LINK_UNITS[words])) for text in pair] for pair in texts]
    links = [" ".join(f"{i}-{j}" for i in range(a) for j in range(b)) for a, b in counts]
    pairs = [(*pair, of_pair) for pair, of_pair in zip(texts, links, strict=True)]
    split = paired(pairs * 20, kind, link_words=words).split("train")
    rows = range(len(split))
    for found, (source, target) in zip(split.read(rows).links, split.read(rows).pairs, strict=True):
        # All words are linked to all, so that all pieces are but EOS.
        every = [[i, j] for i in range(len(source) - 1) for j in range(len(target) - 1)]
        assert not len(found) or found.tolist() == every
    assert len(split.read([0]).links[0]) >= 4


@pytest.mark.parametrize("kind", ["word", "bpe", "char"])
@pytest.mark.parametrize(
    ("words", "line", "linked"),
    [
        ("blanks", "0-0 2-1 3-2", [("10", "zehn"), ("10", "tausend"), ("000", "zehn"), ("000", "tausend")]),
        ("white_space", "0-0 1-1 2-2 3-3", [("10", "zehn"), ("000", "tausend")]),
    ],
)
def test_words_are_parted_as_the_aligner_parted_them(words, line, linked, kind, paired):
    """FastAlign and GIZA++ read a no-break space as a character of a word, and one alone as a word."""
    pair = "10\u00a0000 \u00a0 cats\tsit", "zehn\u202ftausend Katzen sitzen"
    corpus = paired([(*pair, line)] * 20, kind, link_words=words)
    split = corpus.split("train")
    [(source, target)] = split.read([0]).pairs
    owners = []
    for text, one in zip(pair, (corpus.tokenizers.source, corpus.tokenizers.target), strict=True):
        owners.append([one.masked(text).split()[place] for place in one.unit_ids(text, "white_space")[:-1]])
    assert [len(source) - 1, len(target) - 1] == [*map(len, owners)]
    found = {(owners[0][i], owners[1][j]) for i, j in split.read([0]).links[0]}
    assert found == {*linked, ("cats", "Katzen"), ("sit", "sitzen")}


LEARNING = ("general", "bahdanau", "coverage", "monotonic", "mocha", "stochastic", "local_p", "marginal")


@pytest.mark.parametrize("name", chosen(LEARNING, "general", "mocha", "marginal"))
def test_the_attention_learns_the_links(name: str, guided: Guided, tmp_path: Path) -> None:
    training = {"guided_alignment_weight": 5.0, "epochs": 6}
    config, corpus = guided(training=training, attention={"name": name}, search={"name": "greedy"})
    run = finished(begin(config, corpus, tmp_path / "run"))
    curve = [line["links_loss"] for line in logged(run.folder, "train")]
    assert curve[0] > 1.5 * curve[-1] > 0
    sources, targets = zip(*corpus.split("dev").texts(range(12)), strict=True)
    found = [pair.links for pair in load(run.folder, device="cpu").align(sources, targets)]
    right = sum(sum(i == j for i, j in pair) for pair in found)
    assert right > 0.8 * sum(len(text.split()) for text in sources)  # a chunk of mocha may lie before its stop


def test_pairs_without_links_cost_nothing(guided: Guided) -> None:
    config, corpus = guided()
    model = Seq2Seq(config, *corpus.tokenizers.sizes).eval()
    [first, *_] = batches(config, corpus)
    batch = first.read()
    with_links = batch.linked.flatten(1).any(1)
    assert 0 < with_links.sum() < len(with_links)
    whole = model(batch)
    assert torch.equal(whole.sum, model(batch._replace(linked=None)).sum)
    some, others = (select_rows(batch, rows.nonzero()[:, 0]) for rows in (with_links, ~with_links))
    torch.testing.assert_close(model(some).links, whole.links, rtol=1e-5, atol=1e-4)
    assert float(model(others).links.detach()) == 0


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        (lambda lines: lines[:-2], r"\.pharaoh ends before pair 239 of train, and must have a line for each"),
        (lambda lines: [*lines, "0-0"], r"\.pharaoh, line 241: there is no training pair for it, since train has 240"),
        (lambda lines: ["0-0", "0:1", *lines[2:]], r"\.pharaoh, line 2: '0:1' is not a link; write i-j"),
        (lambda lines: ["0-0", "0-9", *lines[2:]], r"line 2: the link 0-9 joins a word .*: no dataset\.link_words has"),
        (lambda lines: None, r"\.pharaoh is no file: give one in Pharaoh format"),
    ],
)
def test_links_of_another_text_are_refused(lines, sentence, guided, links, tmp_path):
    path = tmp_path / "wrong.pharaoh"
    changed = lines(links.read_text().splitlines())
    if changed is not None:
        path.write_text("".join(f"{line}\n" for line in changed))
    require_refusal(lambda: guided(training={"guided_alignment": str(path)}), sentence)


def test_a_link_beyond_the_words_names_the_words_that_it_fits(paired: Callable[..., Corpus]) -> None:
    with pytest.raises(UserError, match=r"line 1: the link 1-0 .* dataset\.link_words=white_space or marks has"):
        paired([("two\u00a0cats", "zwei Katzen", "1-0")] * 3)


LINKS = {"guided_alignment": "links"}
AUDIO = {"dataset": {"field": {"name": "audio"}, "links": "a"}, "frontend": {"name": "logmel"}}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"training": LINKS} | {"attention": {"name": "none"}}, "which words are linked, and attention=none learns"),
        ({"training": LINKS | {"wait_k": [3]}}, r"with training\.wait_k some are not read in time"),
        ({"training": LINKS, "dataset": {"links": "others"}}, "name different links of the training pairs"),
        (AUDIO, "joins words of two texts, and the sources of tiny are audio"),
        ({"dataset": {"link_words": "marks"}}, r"dataset\.link_words=marks is of links, and there are none"),
    ],
)
def test_what_cannot_be_guided_is_refused(changes, sentence, configure, plain):
    dataset = plain["dataset"] | changes.get("dataset", {})
    require_refusal(lambda: configure(changes | {"dataset": dataset}), sentence)


def test_the_corpus_is_another_with_other_links(guided, links, corpora, tmp_path, configure):
    config, _ = guided()
    folder = prepare(config.dataset, corpora, progress=False)
    moved = shutil.copy(links, tmp_path / "elsewhere")
    config, _ = guided(training={"guided_alignment": str(moved)})
    assert prepare(config.dataset, corpora, progress=False) == folder
    Path(moved).write_text("\n" + links.read_text().partition("\n")[2])
    Path(moved).write_text(Path(moved).read_text().replace("0-0", "", 1))
    assert prepare(config.dataset, corpora, progress=False) != folder


FROZEN = ["frontend", "encoder", "decoder"]
BEAM = {"search": {"name": "beam", "beam_size": 3}}


def test_an_aligner_learns_the_links_and_leaves_every_translation_as_it_was(guided, trained, texts, tmp_path):
    # Links that no attention would have: of each word to the last but one.
    counts = [len(line.split()) for line in (texts / "train.en").read_text().splitlines()]
    path = tmp_path / "odd.pharaoh"
    path.write_text("".join(" ".join(f"{count - 2}-{j}" for j in range(count)) + "\n" for count in counts))
    options = {"guided_alignment": str(path), "freeze": FROZEN, "epochs": 3, "validate_every": 1000}
    dataset = {"name": "tiny", "cleaning": {"drop_duplicates": False}}
    config, _ = guided("word", dataset, options, **BEAM, init_from=str(trained), aligner_size=24)
    corpus = open_corpus(config.dataset, tmp_path, Tokenizers.load(trained / "checkpoints/best"))
    run = finished(begin(config, corpus, tmp_path / "run"))
    before = load(trained, device="cpu")
    after = load(run.folder, device="cpu")
    sources, targets = zip(*corpus.split("dev").texts(range(12)), strict=True)
    assert after.translate(sources) == before.translate(sources)
    weights = before.network.in_torch().model.state_dict()
    assert all(torch.equal(after.network.in_torch().model.state_dict()[name], each) for name, each in weights.items())
    found = [pair.links for pair in after.align(sources, targets)]
    assert teacher_forced_pass(after, corpus.split("dev"), links=True).links == [*map(to_pharaoh, found)]
    with pytest.raises(UserError, match="a shift is of the attention, and the links of this run are its aligner's"):
        after.align(sources, targets, shift=True)
    counts = [len(text.split()) for text in sources]
    right = sum(len({(count - 2, j) for j in range(count)} & pair) for count, pair in zip(counts, found, strict=True))
    assert right > 0.9 * sum(counts)


def test_an_aligner_asks_with_the_word_that_it_looks_for(guided: Guided) -> None:
    """Its weights depend on the word itself and what the decoder says before and after, and not on padding."""
    config, corpus = guided(aligner_size=24)
    torch.manual_seed(0)
    model = Seq2Seq(config, *corpus.tokenizers.sizes).eval()
    batch = batches(config, corpus)[0].read()
    whole = model(batch).aligned
    torch.testing.assert_close(whole.sum(-1), torch.ones_like(whole[..., 0]))
    one = select_rows(batch, torch.tensor([0]))
    longer = one._replace(source=pad(one.source, (0, 3)), source_mask=pad(one.source_mask, (0, 3)), linked=None)
    torch.testing.assert_close(model(longer).aligned[..., :-3], whole[:1], atol=1e-5, rtol=1e-4)
    other = one.target_out.clone()
    other[0, 2] = other[0, 2] % 20 + 5
    changed = model(one._replace(target_out=other)).aligned
    before = model(one).aligned
    assert not torch.equal(changed[:, 2], whole[:1, 2]) and torch.equal(changed[:, 4], before[:, 4])
    # The step behind a word has read it, and no earlier one.
    read = one.target_in.clone()
    read[0, 3] = other[0, 2]
    changed = model(one._replace(target_in=read)).aligned
    assert not torch.equal(changed[:, 2], before[:, 2]) and torch.equal(changed[:, :2], before[:, :2])
