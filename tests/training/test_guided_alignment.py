"""Guided alignment: links of a file reach the pieces of a batch, and the attention learns them."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.functional import pad

from data_prep.prepare import prepare
from data_prep.stream import open_corpus
from mt import load
from mt.common.options import parse
from mt.config import Config
from mt.data.corpus import Corpus
from mt.data.tokenizer import Tokenizers, units
from mt.errors import UserError
from mt.evaluation.teacher_forcing import teacher_forced_pass
from mt.metrics.alignment import to_pharaoh
from mt.models.attention import ATTENTIONS
from mt.models.seq2seq import Seq2Seq
from mt.training.batches import epoch_groups, with_sampled_pieces
from mt.training.start import begin
from mt.training.train import train

Guided = Callable[..., tuple[Config, Corpus]]
KINDS: dict[str, dict[str, Any]] = {
    "word": {},
    "bpe": {"bpe_dropout": 0.4},
    "unigram": {"unigram_alpha": 0.02},
}


@pytest.fixture(scope="session")
def links(texts: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The languages are word for word; each third pair has no links."""
    path = tmp_path_factory.mktemp("links") / "train.pharaoh"
    lines = (texts / "train.en").read_text().splitlines()
    path.write_text(
        "".join(
            " ".join(f"{i}-{i}" for i in range(len(line.split()))) * (number % 3 > 0) + "\n"
            for number, line in enumerate(lines)
        )
    )
    return path


@pytest.fixture
def guided(configure: Callable[..., Config], corpora: Path, links: Path, texts: Path) -> Guided:
    def made(kind: str = "word", dataset: Any = (), training: Any = (), **changes: Any) -> tuple[Config, Corpus]:
        tokenizer = {"model_type": kind, "vocab_size": 100 if kind == "word" else 70}
        whole = {"name": kind, "source": "en", "target": "de", "folder": str(texts), "tokenizer": tokenizer}
        options = {"guided_alignment": str(links), "average_checkpoints": 1, "plots": 0} | dict(training)
        config = configure({"dataset": whole | dict(dataset), "training": options, **changes})
        return config, open_corpus(config.dataset, corpora)

    return made


def batches(config: Config, corpus: Corpus, epoch: int = 1) -> list[Any]:
    training = with_sampled_pieces(corpus.training, corpus.tokenizers, config.training)
    return [batch for group in epoch_groups(training, config, epoch) for batch in group]


@pytest.mark.parametrize("kind", [*KINDS])
@pytest.mark.parametrize("sampled", [False, True])
@pytest.mark.parametrize("streaming", [False, True])
def test_every_piece_is_linked_to_the_pieces_of_its_word(
    kind: str, sampled: bool, streaming: bool, guided: Guided
) -> None:
    options = KINDS[kind] if sampled else {}
    config, corpus = guided(kind, {"streaming": streaming}, options)
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


def test_cleaning_drops_links_with_their_pairs(guided: Guided, links: Path, texts: Path, tmp_path: Path) -> None:
    folder = tmp_path / "texts"
    shutil.copytree(texts, folder)
    pairs = [
        ("a b", "x y", "0-1"),
        ("", "x", ""),
        ("a b", "x y", "1-0"),
        ("c", "z " * 30, "0-3"),
        ("c d", "z w", "1-1"),
    ]
    for name, column in (("en", 0), ("de", 1)):
        (folder / f"train.{name}").write_text("".join(f"{pair[column]}\n" for pair in pairs))
    path = tmp_path / "some.pharaoh"
    path.write_text("".join(f"{pair[2]}\n" for pair in pairs))
    dataset = {"folder": str(folder), "cleaning": {"drop_duplicates": True}}
    _, corpus = guided("word", dataset, {"guided_alignment": str(path)})
    train_split = corpus.split("train")
    assert train_split.texts([0, 1]) == [("a b", "x y"), ("c d", "z w")] and len(train_split) == 2
    found = train_split.read([1, 0]).links
    assert [pairs.tolist() for pairs in found] == [[[1, 1]], [[0, 1]]]


@pytest.mark.parametrize("kind", ["word", "bpe", "char"])
@pytest.mark.parametrize("words", ["blanks", "marks"])
def test_words_that_show_nothing_or_share_a_piece_take_no_place_of_another(
    kind: str, words: str, guided: Guided, texts: Path, tmp_path: Path
) -> None:
    """A soft hyphen alone is a word between blanks that shows nothing; marks in a word may share a piece."""
    folder = tmp_path / "texts"
    shutil.copytree(texts, folder)
    pairs = [
        ("sink \u00ad cats", "die \u00ad Katzen"),
        ("\u00ad", "die"),
        ("e\u0301 cats", "é Katzen"),
        ("a.. b", "a\u200d b"),
    ]
    for name, column in (("en", 0), ("de", 1)):
        (folder / f"train.{name}").write_text("".join(f"{pair[column]}\n" for pair in pairs * 20))
    path = tmp_path / "some.pharaoh"
    unit = "spaced" if words == "blanks" else "word"
    counts = [[len(units(text, unit)) for text in pair] for pair in pairs]
    path.write_text("".join(" ".join(f"{i}-{j}" for i in range(a) for j in range(b)) + "\n" for a, b in counts * 20))
    _, corpus = guided(kind, {"folder": str(folder), "link_words": words}, {"guided_alignment": str(path)})
    split = corpus.split("train")
    rows = range(len(split))
    for found, (source, target) in zip(split.read(rows).links, split.ids(rows), strict=True):
        # All words are linked to all, so that all pieces are but EOS.
        assert not len(found) or found.tolist() == [
            [i, j] for i in range(len(source) - 1) for j in range(len(target) - 1)
        ]
    assert len(split.read([0]).links[0]) >= 4


def test_links_of_mixed_corpora_follow_one_another(guided: Guided, links: Path, texts: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "train.en").write_text("cats see\nbig dogs\n")
    (other / "train.de").write_text("Katzen sehen\ngroßen Hunde\n")
    path = tmp_path / "all.pharaoh"
    path.write_text(links.read_text() + "0-1\n1-0\n")
    _, corpus = guided("word", {"mix": [{"folder": str(other)}]}, {"guided_alignment": str(path)})
    split = corpus.split("train")
    rows = [240, 241]
    assert [found.tolist() for found in split.read(rows).links] == [[[0, 1]], [[1, 0]]]
    assert len(split.read([1]).links[0]) == len(split.texts([1])[0][0].split())


LEARNING = ("general", "bahdanau", "coverage", "monotonic", "mocha", "stochastic", "local_p")


@pytest.mark.parametrize("name", LEARNING)
def test_the_attention_learns_the_links(name: str, guided: Guided, tmp_path: Path) -> None:
    config, corpus = guided(
        training={"guided_alignment_weight": 5.0, "epochs": 6}, attention={"name": name}, search={"name": "greedy"}
    )
    run = begin(config, corpus, tmp_path / "run")
    train(run)
    run.close()
    lines = [json.loads(line) for line in (run.folder / "metrics.jsonl").read_text().splitlines()]
    curve = [line["links_loss"] for line in lines if line["kind"] == "train"]
    assert curve[0] > 1.5 * curve[-1] > 0
    sources = [pair[0] for pair in corpus.split("dev").texts(range(12))]
    targets = [pair[1] for pair in corpus.split("dev").texts(range(12))]
    found = [pair.links for pair in load(run.folder, device="cpu").align(sources, targets)]
    right = sum(
        len({(i, i) for i in range(len(text.split()))} & pair) for text, pair in zip(sources, found, strict=True)
    )
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
    rows = {name: part for name, part in batch._asdict().items() if isinstance(part, torch.Tensor)}
    some = type(batch)(**{name: part[with_links] for name, part in rows.items()})
    torch.testing.assert_close(model(some).links, whole.links, rtol=1e-5, atol=1e-4)
    others = type(batch)(**{name: part[~with_links] for name, part in rows.items()})
    assert float(model(others).links.detach()) == 0


def test_the_curve_is_of_the_links_and_the_weight_of_the_loss(guided: Guided, tmp_path: Path) -> None:
    curves = []
    for number, weight in enumerate((0.05, 0.1)):
        config, corpus = guided(training={"guided_alignment_weight": weight, "max_updates": 1, "log_every": 1})
        run = begin(config, corpus, tmp_path / str(number))
        train(run)
        run.close()
        [line] = [json.loads(one) for one in (run.folder / "metrics.jsonl").read_text().splitlines() if "lr" in one]
        curves.append((line["links_loss"], line["auxiliary_loss"]))
    (one, cheap), (two, dear) = curves
    assert one == two > 0
    assert cheap == pytest.approx(0.05 * one) and dear == pytest.approx(0.1 * one)


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        (lambda lines: lines[:-2], r"\.pharaoh ends before pair 239 of train, and must have a line for each"),
        (lambda lines: [*lines, "0-0"], r"\.pharaoh, line 241: there is no training pair for it, since train has 240"),
        (lambda lines: ["0-0", "0:1", *lines[2:]], r"\.pharaoh, line 2: '0:1' is not a link: write i-j"),
        (
            lambda lines: ["0-0", "0-9", *lines[2:]],
            r"line 2: the link 0-9 joins a word .* set dataset\.link_words=marks",
        ),
        (lambda lines: None, r"\.pharaoh is no file: give one in Pharaoh format"),
    ],
)
def test_links_of_another_text_are_refused(
    lines: Callable[[list[str]], list[str] | None], sentence: str, guided: Guided, links: Path, tmp_path: Path
) -> None:
    path = tmp_path / "wrong.pharaoh"
    changed = lines(links.read_text().splitlines())
    if changed is not None:
        path.write_text("".join(f"{line}\n" for line in changed))
    with pytest.raises(UserError, match=sentence):
        guided(training={"guided_alignment": str(path)})


NONE = {"name": "none"}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"attention": NONE}, "which words are linked, and attention=none learns nothing"),
        ({"encoder": {"name": "pyramid"}}, "encoder=pyramid leaves no value for each"),
        ({"training": {"wait_k": [3]}}, r"with training\.wait_k some are not read in time"),
        ({"init_from": "RUN", "training": {"objective": "minimum_risk"}}, "translations that have no links"),
        ({"dataset": {"links": "others"}}, "name different links of the training pairs"),
    ],
)
def test_what_cannot_be_guided_is_refused(changes: dict[str, Any], sentence: str, plain: dict[str, Any]) -> None:
    whole = json.loads(json.dumps(plain))
    for key, value in ({"training": {}} | changes).items():
        if key == "training":
            value = whole["training"] | {"guided_alignment": "links"} | value
        whole[key] = {**whole[key], **value} if key == "dataset" else value
    with pytest.raises(UserError, match=sentence):
        parse(whole, Config)


def test_links_join_texts_and_are_of_a_file(plain: dict[str, Any]) -> None:
    dataset = plain["dataset"]
    audio = dataset | {"field": {"name": "audio"}, "links": "a"}
    with pytest.raises(UserError, match="joins words of two texts, and the sources of tiny are audio"):
        parse(plain | {"dataset": audio, "frontend": {"name": "logmel"}}, Config)
    with pytest.raises(UserError, match=r"dataset\.link_words=marks is of links, and there are none"):
        parse(plain | {"dataset": dataset | {"link_words": "marks"}}, Config)
    with pytest.raises(UserError, match=r"a stream is never whole: set dataset\.streaming=false"):
        parse(plain | {"dataset": dataset | {"links": "eflomal", "streaming": True}}, Config)


def test_all_attentions_that_learn_have_probabilities_of_links(guided: Guided) -> None:
    names = [name for name, attention in ATTENTIONS.items() if attention.learns_weights]
    assert len(names) > 8
    for name in names:
        config, corpus = guided(attention={"name": name})
        torch.manual_seed(0)
        model = Seq2Seq(config, *corpus.tokenizers.sizes)
        batch = batches(config, corpus)[0].read()
        model(batch).links.backward()
        gradients = [weight.grad for weight in model.decoder.attention.parameters()]
        assert any(gradient is not None and gradient.any() for gradient in gradients), name


def test_the_corpus_is_another_with_other_links(
    guided: Guided, links: Path, corpora: Path, tmp_path: Path, configure: Callable[..., Config]
) -> None:
    config, _ = guided()
    folder = prepare(config.dataset, corpora, progress=False)
    moved = shutil.copy(links, tmp_path / "elsewhere")
    config, _ = guided(training={"guided_alignment": str(moved)})
    assert prepare(config.dataset, corpora, progress=False) == folder
    Path(moved).write_text("\n" + links.read_text().partition("\n")[2])
    Path(moved).write_text(Path(moved).read_text().replace("0-0", "", 1))
    assert prepare(config.dataset, corpora, progress=False) != folder


FROZEN = ["frontend", "encoder", "decoder"]


def test_an_aligner_learns_the_links_and_leaves_every_translation_as_it_was(
    guided: Guided, trained: Path, texts: Path, tmp_path: Path
) -> None:
    # Links that no attention would have: of each word to the last but one.
    counts = [len(line.split()) for line in (texts / "train.en").read_text().splitlines()]
    path = tmp_path / "odd.pharaoh"
    path.write_text("".join(" ".join(f"{count - 2}-{j}" for j in range(count)) + "\n" for count in counts))
    options = {"guided_alignment": str(path), "freeze": FROZEN, "epochs": 3, "validate_every": 1000}
    dataset = {"name": "tiny", "cleaning": {"drop_duplicates": False}}
    config, _ = guided("word", dataset, options, init_from=str(trained), aligner_size=24)
    corpus = open_corpus(config.dataset, tmp_path, Tokenizers.load(trained / "checkpoints/best"))
    run = begin(config, corpus, tmp_path / "run")
    train(run)
    run.close()
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
    one = type(batch)(**{name: part[:1] for name, part in batch._asdict().items() if isinstance(part, torch.Tensor)})
    longer = one._replace(source=pad(one.source, (0, 3)), source_mask=pad(one.source_mask, (0, 3)), linked=None)
    torch.testing.assert_close(model(longer).aligned[..., :-3], whole[:1], atol=1e-5, rtol=1e-4)
    other = one.target_out.clone()
    other[0, 2] = other[0, 2] % 20 + 5
    changed = model(one._replace(target_out=other)).aligned
    assert not torch.equal(changed[:, 2], whole[:1, 2]) and torch.equal(changed[:, 4], model(one).aligned[:, 4])


def test_an_aligner_is_of_texts(plain: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=r"aligner_size=8 aligns the words of a text, and encoder=pyramid"):
        parse(plain | {"aligner_size": 8, "encoder": {"name": "pyramid"}}, Config)
