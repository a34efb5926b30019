"""Learnt tags: drawn around linked phrases of training pairs, written by the model, and checked before they are put."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mt import load
from mt.common.options import parse
from mt.config import Config
from mt.data.corpus import Corpus
from mt.data.tags import Mark, drawn, found, inserted
from mt.decoding.translator import Translator
from mt.errors import UserError
from mt.evaluation.markup import markup_scores
from mt.models.seq2seq import Seq2Seq
from mt.training.batches import epoch_groups, with_learnt_tags, with_sampled_pieces
from mt.training.run import require_fit
from mt.training.start import begin
from tests.training.runs import finished

Tagged = Callable[..., tuple[Config, Corpus]]
KINDS: dict[str, dict[str, Any]] = {"word": {}, "bpe": {"bpe_dropout": 0.3}, "unigram": {"unigram_alpha": 0.02}}
SYMBOLS = np.arange(100, 112).reshape(4, 3)


@pytest.fixture(scope="module")
def tagged(prepared: Tagged, word_for_word: Path) -> Tagged:
    """Pairs that are word for word the same, with symbols for four tags."""

    def made(kind: str = "word", training: Any = (), tags: int = 4, **changes: Any) -> tuple[Config, Corpus]:
        tokenizer = {"model_type": kind, "vocab_size": 100, "tags": tags}
        options = {"learnt_tags": 0.5, "guided_alignment": str(word_for_word)} | dict(training)
        return prepared(kind, {"tokenizer": tokenizer}, options, **changes)

    return made


def pairs_of(config: Config, corpus: Corpus, epoch: int = 1, sampled: bool = True) -> list[tuple[Any, Any, Any]]:
    """The (source ids, target ids, links) of an epoch, batch by batch."""
    training = with_sampled_pieces(corpus.training, corpus.tokenizers, config.training) if sampled else corpus.training
    training = with_learnt_tags(training, corpus.tokenizers, config.training)
    rows = []
    for group in epoch_groups(training, config, epoch):
        for batch in group:
            sources, targets, _, links = batch.part.read(batch.indices)
            rows += zip(sources, targets, links or [None] * len(sources), strict=True)
    return rows


def listed(rows: Any) -> list[Any]:
    return [[None if part is None else part.tolist() for part in row] for row in rows]


@pytest.mark.parametrize("kind", [*KINDS])
def test_tags_stand_around_linked_phrases_and_leave_texts_as_they_are(kind: str, tagged: Tagged) -> None:
    config, corpus = tagged(kind, KINDS[kind])
    tokenizer = corpus.tokenizers.source
    symbols = {*tokenizer.tags.ravel().tolist()}
    assert tokenizer.tags.shape == (4, 3) and len(symbols) == 12
    rows = pairs_of(config, corpus)
    with_tags = 0
    for source, target, links in rows:
        sides = [[int(i) for i in side] for side in (source, target)]
        tags = [[(place, i) for place, i in enumerate(side) if i in symbols] for side in sides]
        assert sorted(i for _, i in tags[0]) == sorted(i for _, i in tags[1])
        assert all(found(side, tokenizer.tags).keys() for side, some in zip(sides, tags, strict=True) if some)
        with_tags += bool(tags[0])
        # Between the symbols of a tag are as many words on both sides, which are word for word the same.
        spans = [found(side, tokenizer.tags) for side in sides]
        for number, span in spans[0].items():
            counts = []
            for side, (low, high) in zip(sides, (span, spans[1][number]), strict=True):
                counts.append([len(tokenizer.decode(side[:place]).split()) for place in (low, high)])
            assert counts[0] == counts[1] and (counts[0][0] < counts[0][1]) == (span[0] < span[1])
        assert {(sides[0][i] in symbols) == (sides[1][j] in symbols) for i, j in links.tolist()} <= {True}
        assert all(sides[0][i] == sides[1][j] for i, j in links.tolist() if sides[0][i] in symbols)
    assert 0.4 < with_tags / len(rows) < 0.6
    best = [tokenizer.decode(row) for pair in corpus.split("train").ids(np.arange(240)) for row in pair]
    assert sorted(best) == sorted(tokenizer.decode(side) for source, target, _ in rows for side in (source, target))


def test_tags_are_a_function_of_seed_epoch_and_pair(tagged: Tagged) -> None:
    config, corpus = tagged("bpe", KINDS["bpe"])
    rows = listed(pairs_of(config, corpus))
    assert rows == listed(pairs_of(config, corpus))
    assert sorted(map(str, rows)) != sorted(map(str, listed(pairs_of(config, corpus, epoch=2))))
    other = config.model_copy(update={"seed": 2})
    assert sorted(map(str, rows)) != sorted(map(str, listed(pairs_of(other, corpus))))
    # A pair has the same tags in whatever batch it is.
    [part] = with_learnt_tags(corpus.training, corpus.tokenizers, config.training).parts()
    pairs = part.of_epoch(1, 1)
    alone = [[side[0] for side in pairs.read(np.array([number]))[:2]] for number in (7, 3)]
    assert listed(alone) == listed(zip(*pairs.read(np.array([7, 3]))[:2], strict=True))
    # Links for the tags alone guide nothing.
    config, corpus = tagged(training={"guided_alignment_weight": 0})
    assert all(links is None for *_, links in pairs_of(config, corpus))


def test_drawn_tags_are_nested_alike_on_both_sides() -> None:
    """Of random links with crossings: no tag leaves another on one side alone, and no link leaves a phrase."""
    random = np.random.default_rng(1)
    kinds = set()
    for _ in range(300):
        links = np.unique(random.integers(0, 8, (9, 2)), axis=0)
        source, target = drawn(links, 4, random)
        for mine, his in zip(source, target, strict=True):
            inside = (links[:, 0] >= mine.begin) & (links[:, 0] < mine.end)
            between = (links[:, 1] >= his.begin) & (links[:, 1] < his.end)
            assert mine.empty == his.empty and (mine.empty or (inside == between).all())
        for i in range(len(source)):
            for j in range(i):
                relation = source[i].relation(source[j])
                assert relation == target[i].relation(target[j]) != "crossing"
                kinds.add((relation, source[i].empty, source[j].empty))
        row = np.arange(9)
        for side in (source, target):
            whole, places = inserted(row, side, SYMBOLS)
            assert whole[places].tolist() == row.tolist() and len(whole) == 9 + sum(2 - mark.empty for mark in side)
            stack: list[int] = []
            for token in whole[whole >= 100].tolist():
                number, part = divmod(token - 100, 3)
                assert part != 1 or stack.pop() == number
                stack += [number] * (part == 0)
            assert not stack
    assert {("inside", False, False), ("inside", True, False), ("apart", False, False)} <= kinds
    assert drawn(np.zeros((0, 2), np.int64), 4, random) == ([], [])


def test_symbols_that_are_doubled_or_alone_are_no_tags() -> None:
    opening, closing, empty = SYMBOLS.T.tolist()
    ids = [opening[0], 5, closing[0], closing[1], opening[1], opening[2], empty[3], 6, empty[3]]
    assert found(ids, SYMBOLS) == {0: (0, 2)}
    assert found([empty[3], 3], SYMBOLS) == {3: (0, 0)}
    row, _ = inserted(np.array([7, 8, 3]), [Mark(1, 0, 2), Mark(0, 1, 2), Mark(2, 1, 1), Mark(3, 2, 2)], SYMBOLS)
    assert row.tolist() == [opening[1], 7, empty[2], opening[0], 8, closing[0], closing[1], empty[3], 3]


@pytest.fixture(scope="module")
def learnt(tagged: Tagged, tmp_path_factory: pytest.TempPathFactory) -> Translator:
    """A model that was trained with tags in nearly all pairs."""
    options = {"learnt_tags": 0.9, "guided_alignment_weight": 1.0, "epochs": 12, "validate_every": 1000}
    config, corpus = tagged("word", options)
    run = finished(begin(config, corpus, tmp_path_factory.mktemp("learnt") / "run"))
    return load(run.folder, device="cpu", checkpoint="last")


def test_a_model_writes_the_tags_that_it_has_learnt(learnt: Translator, texts: Path) -> None:
    sides = [(texts / f"test.{side}").read_text().splitlines() for side in ("en", "de")]
    marked, gold = ([in_tags(line) for line in side] for side in sides)
    documents = learnt.translate(marked, format="html", tags="learnt")
    assert sum(one.text == wanted for one, wanted in zip(documents, gold, strict=True)) > 6
    scores = {name: one.score for name, one in markup_scores(learnt, marked, gold).items()}
    assert scores["complete"] == scores["complete_learnt"] == 100
    assert scores["tags_learnt"] > 80 < scores["tags_written"]
    # Links put what the model has no symbols for: further tags, and those around several sentences.
    many = " ".join(f"<i>{word}</i>" for word in ("two", "big", "green", "cats", "see", "houses"))
    assert learnt.translate(many, format="html", tags="learnt").text.count("<i>") == 6
    assert learnt.translate("<p><i>Two cats. Big dogs.</i></p>", format="html", tags="learnt").text.count("<i>") == 1
    # Without tags nothing is different, and words of sentences are those of texts without them.
    plain_text = learnt.translate(sides[0][0])
    assert learnt.translate(sides[0][0], format="html", tags="learnt").text == plain_text.text
    sentence = documents[0].sentences[0]
    assert {j for _, j in sentence.links} <= {*range(len(sentence.text.split()))} and sentence.confidence > 0


def in_tags(line: str) -> str:
    words = line.split()
    return " ".join([words[0], f"<i>{words[1]}</i>", *words[2:]])


def test_tags_that_cannot_be_learnt_or_put_are_refused(
    learnt: Translator, translator: Translator, tagged: Tagged, plain: dict[str, Any]
) -> None:
    text = "the <i>big</i> cats"
    with pytest.raises(UserError, match=r"^tags=learnt is of a run that was trained with training\.learnt_tags"):
        translator.translate(text, format="html", tags="learnt")
    with pytest.raises(UserError, match=r"^tags=.*other"):
        translator.translate(text, format="html", tags="other")  # type: ignore[call-overload]
    with pytest.raises(UserError, match="glossary do not go together"):
        learnt.translate(text, format="html", tags="learnt", glossary={"cats": ["Katzen"]})
    config, corpus = tagged(tags=0)
    model = Seq2Seq(config, *corpus.tokenizers.sizes)
    with pytest.raises(UserError, match=r"this vocabulary has none: prepare with dataset\.tokenizer\.tags=8"):
        require_fit(config, corpus, model)
    config, corpus = tagged()
    model = Seq2Seq(config, *corpus.tokenizers.sizes)
    model.max_source_length = 30
    with pytest.raises(UserError, match=r"learnt_tags makes sources longer, and this model reads at most 30"):
        require_fit(config, corpus, model)
    training = plain["training"] | {"learnt_tags": 0.5}
    with pytest.raises(UserError, match="and there are no links: set"):
        parse(plain | {"training": training}, Config)
    useless = plain["training"] | {"guided_alignment": "links", "guided_alignment_weight": 0}
    with pytest.raises(UserError, match="leaves links without a use"):
        parse(plain | {"training": useless}, Config)
