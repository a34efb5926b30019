"""The photographs of RSICD, where they are: trained on with all captions, scored against the human ones."""

from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from data_prep.prepare import prepare
from data_prep.sources import open_source
from mt.cli.command import CONF
from mt.common.options import parse
from mt.data.corpus import Corpus
from mt.data.dataset import DatasetConfig
from mt.data.tokenizer import EOS, UNK
from mt.evaluation.scoring import metrics_of

RSICD = Path(__file__).parents[3] / "shared/data/rsicd"


@pytest.mark.skipif(not RSICD.is_dir(), reason="needs ../shared/data/rsicd")
def test_splits_do_not_overlap_and_test_has_the_human_captions():
    with initialize_config_dir(str(CONF), version_base="1.3"):
        plain = compose("data_prep", ["dataset=rsicd", f"dataset.folder={RSICD}"])["dataset"]
    dataset = parse(OmegaConf.to_container(plain), DatasetConfig)
    source = open_source(dataset)
    pictures = {
        split: [example.source for example in source.splits[split].read()] for split in ("train", "dev", "test")
    }
    assert len(pictures["dev"]) == 300 and len(pictures["test"]) == 1_094
    assert len(pictures["train"]) == 25_000 - 5 * 300 and len({*pictures["train"]}) == 4_700
    assert not {*pictures["train"]} & {*pictures["dev"]} and not {*pictures["train"]} & {*pictures["test"]}
    references = [text for each in source.splits["test"].read() for text in (each.target, *each.more_references)]
    assert len(references) == 2_899 and all(text == text.lower() for text in references)


# The data set of pronunciations: a table without names, of which letters are read and whole phones written.


WORDS = {"bragging": "B R AE1 G IH0 NG", "inlow": "IH2 N L OW1", "o'brien": "OW0 B R AY1 AH0 N"}


def test_letters_are_read_and_whole_phones_written(tmp_path: Path):
    for split in ("train", "dev"):
        rows = (f"{word}\t{phones}\n" for word, phones in WORDS.items())
        (tmp_path / f"{split}.tsv").write_text("".join(rows), encoding="utf-8")
    with initialize_config_dir(str(CONF), version_base="1.3"):
        plain = compose("data_prep", ["dataset=cmudict", f"dataset.folder={tmp_path}"])["dataset"]
    dataset = parse(OmegaConf.to_container(plain), DatasetConfig)
    corpus = Corpus.open(prepare(dataset, tmp_path / "corpora", progress=False))
    assert {split: len(corpus.split(split)) for split in ("train", "dev", "test")} == {"train": 3, "dev": 3, "test": 3}
    for (word, phones), (source, target) in zip(WORDS.items(), corpus.split("dev").ids(range(3)), strict=True):
        assert UNK not in [*source, *target] and source[-1] == target[-1] == EOS
        # Before the letters stands the mark of a word's beginning.
        assert len(source) == 1 + len(word) + 1 and len(target) == len(phones.split()) + 1
        assert corpus.tokenizers.target.decode(target.tolist()) == phones
    assert [metric.name for metric in metrics_of(dataset)] == ["wer", "accuracy"]
