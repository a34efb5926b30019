"""The photographs of RSICD, where they are: trained on with all captions, scored against the human ones."""

from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from data_prep.sources import open_source
from mt.cli.command import CONF
from mt.common.options import parse
from mt.data.dataset import DatasetConfig

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
