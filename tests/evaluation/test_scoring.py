"""By what a dataset is scored, and what is said of it before anything is."""

from collections.abc import Callable
from pathlib import Path

import pytest

from mt.config import Config
from mt.data.corpus import Corpus
from mt.data.dataset import PHRASEBOOK, DatasetConfig
from mt.evaluation.scoring import metrics_of, notes_of
from mt.metrics.base import PLAIN, Settings
from mt.models.seq2seq import Seq2Seq
from mt.training.log import heading
from mt.training.loop import Progress

CHINESE = [["今天从早上开始下雨3度"], ["他们昨天卖了3本书"]]


def dataset(**options) -> DatasetConfig:
    return DatasetConfig(source="en", target="zh", folder="x", **options)


def test_metrics_have_all_that_a_dataset_says_of_them() -> None:
    [plain] = metrics_of(dataset(metrics=("rouge",)))
    assert plain.settings == Settings(target_language="zh")
    [metric] = metrics_of(dataset(metrics=("rouge",), bleu_tokenizer="char", rouge_tokenizer="zh"))
    assert metric.settings == Settings("zh", "char", type(PLAIN)(tokenizer="zh"))
    [metric] = metrics_of(PHRASEBOOK.model_copy(update={"metrics": ("bleu",)}), lowercase=True)
    assert metric.settings.lowercase


@pytest.mark.parametrize(
    ("options", "online", "expected_notes"),
    [
        ({"metrics": ("rouge", "wer")}, False, ["ROUGE's tokenizer a-z0-9 sees ", "WER counts words between blanks"]),
        ({"metrics": ("rouge", "bleu"), "rouge_tokenizer": "zh"}, False, []),
        ({"metrics": ("bleu",), "bleu_tokenizer": "13a"}, False, ["BLEU's tokenizer 13a looks for words between "]),
        ({"metrics": ("bleu",)}, True, ["latency counts words between blanks"]),
        ({"metrics": ("bleu",), "latency_unit": "char"}, True, []),
    ],
)
def test_what_cannot_judge_is_said(options, online: bool, expected_notes: list[str]) -> None:
    notes = notes_of(dataset(**options), CHINESE, online=online)
    assert all(note.startswith(begin) for note, begin in zip(notes, expected_notes, strict=True))


def test_a_run_says_it_before_it_begins(configure: Callable[..., Config], corpus: Corpus) -> None:
    config = configure({})
    model = Seq2Seq(config, *(len(side) for side in corpus.tokenizers))

    def begun(**options) -> list[str]:
        changed = config.model_copy(update={"dataset": config.dataset.model_copy(update=options)})
        text = heading(changed, corpus, model, Path("run"), Progress(), None)
        return [line for line in text.split("\n") if line.startswith("note ")]

    assert begun() == []
    assert [line[:40] for line in begun(metrics=("truth",))] == ["note      truth understands captions of "]
