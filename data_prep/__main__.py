"""`python -m data_prep dataset=... [dry_run=true]`: make the prepared corpus, or only show what it would be."""

from pathlib import Path
from typing import Any

import hydra
from omegaconf import DictConfig, OmegaConf

from data_prep.prepare import prepare
from data_prep.preview import preview
from mt.config import parse
from mt.data.dataset import DatasetConfig
from mt.errors import reported

_CONF = Path(__file__).resolve().parent.parent / "conf"


@hydra.main(version_base=None, config_path=str(_CONF), config_name="data_prep")
def main(composed: DictConfig) -> None:
    with reported():
        plain: Any = OmegaConf.to_container(composed.dataset, resolve=True)
        config = parse(plain, DatasetConfig, "dataset")
        if composed.dry_run:
            for line in preview(config):
                print(line)
        else:
            print(prepare(config, Path(composed.corpora)))


if __name__ == "__main__":
    main()
