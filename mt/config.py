"""The root configuration."""

from typing import Literal, Self

from pydantic import Field, model_validator

from mt.data.dataset import DatasetConfig
from mt.device import DEVICES
from mt.metrics import Metric, build, require_known
from mt.metrics.bleu import require_tokenizer
from mt.metrics.options import Options
from mt.models.seq2seq import ModelConfig
from mt.search.config import SearchConfig
from mt.training.config import TrainingConfig
from mt.training.optimizer import AdamConfig, OptimizerConfig


class Config(ModelConfig, frozen=True, extra="forbid", strict=True):
    """Everything that makes a run: with the raw text and the code, these values determine its result."""

    dataset: DatasetConfig = DatasetConfig(generator="phrasebook")
    optimizer: OptimizerConfig = AdamConfig()
    training: TrainingConfig = TrainingConfig()
    search: SearchConfig = SearchConfig()
    seed: int = Field(1, ge=0)
    """Of the weights, the order of batches, dropout and noise."""
    device: str = Field("auto", pattern=f"^({DEVICES})$")
    """auto: a GPU where there is one."""
    precision: Literal["fp32", "bf16"] = "fp32"
    """bf16: matrix products in bfloat16 (torch.autocast), weights in float32; about twice as fast where the hardware
    has it."""

    def metrics(self) -> list[Metric]:
        """The metrics of the dataset, for its target language: training, comparison and scripts score by these.

        Raises UserError where one cannot be used here: its tokenizer is not installed.
        """
        return build(self.dataset.metrics, Options(self.dataset.target, self.dataset.bleu_tokenizer))

    @model_validator(mode="after")
    def _metrics_exist(self) -> Self:
        require_known(self.dataset.metrics, "dataset.metrics")
        require_tokenizer(self.dataset.bleu_tokenizer, "dataset.bleu_tokenizer")
        return self
