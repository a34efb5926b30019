"""Our log of a text in simulstream's scorers: its definitions written out here, and simulstream 1.0.0 itself."""

import json
import random
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

import mt
from examples.simulstream_log import main, write
from mt.evaluation.score import evaluate
from mt.metrics.latency import erased, finalised, length_adaptive_average_lagging
from tests.environments import ROOT, call, python_with
from tests.marks import exhaustive

# One segment a file: the whole hypothesis is its text, and nothing is cut again.
DRIVER = """
import json, sys, types
from types import SimpleNamespace
folder = sys.argv[1]
for name in ("mweralign", "mweralign.segmenter"):
    sys.modules[name] = types.ModuleType(name)
sys.modules["mweralign"].mweralign = SimpleNamespace(align_texts=lambda references, hypothesis: hypothesis)
sys.modules["mweralign.segmenter"].CJSegmenter = None
from simulstream.config import yaml_config
from simulstream.metrics.readers import LogReader, YamlReferenceReader
from simulstream.metrics.scorers.latency import LatencyScoringSample
from simulstream.metrics.scorers.latency.stream_laal import StreamLaal
from simulstream.metrics.stats import NormalizedErasure
reader = LogReader(yaml_config(f"{folder}/eval.yaml"), f"{folder}/metrics.jsonl")
references = YamlReferenceReader(f"{folder}/audio.yaml", f"{folder}/references.txt").references
outputs = reader.final_outputs_and_latencies()
samples = [LatencyScoringSample(name, outputs[name], references[name]) for name in references]
print(json.dumps({
    "erasure": NormalizedErasure().compute(reader),
    "delays": [sample.hypothesis.ideal_delays for sample in samples],
    "laal": StreamLaal(SimpleNamespace(latency_unit="word")).score(samples).ideal_latency,
}))
"""


class Scores(NamedTuple):
    erasure: float
    delays: list[list[float]]
    laal: float


def by_definition(folder: Path) -> Scores:
    """What simulstream's documentation says of a log: words are deleted from the end, and have the delay of the line
    that brought them; deletions are divided by the words that stay; LAAL is the mean over segments that have words."""
    words: dict[int, list[tuple[str, float]]] = {}
    deleted = 0
    for line in map(json.loads, (folder / "metrics.jsonl").read_text().splitlines()):
        if "generated_tokens" not in line:
            continue
        before = words.setdefault(line["id"], [])
        gone = len(line["deleted_tokens"])
        assert [word for word, _ in before[len(before) - gone :]] == line["deleted_tokens"]
        deleted += gone
        del before[len(before) - gone :]
        before += [(word, line["total_audio_processed"]) for word in line["generated_tokens"]]
    delays = [[delay for _, delay in words[number]] for number in sorted(words)]
    segments = (folder / "audio.yaml").read_text().splitlines()
    lengths = [int(line.split("duration: ")[1].rstrip("}")) for line in segments]
    references = (folder / "references.txt").read_text().splitlines()
    words_of = [len(reference.split()) for reference in references]
    return Scores(deleted / sum(map(len, delays)), delays, mean_lag(delays, lengths, words_of))


def mean_lag(delays: list[list[float]], sources: list[int], references: list[int]) -> float:
    """LAAL of a set, of which blank translations are left out."""
    segments = zip(delays, sources, references, strict=True)
    return fmean(length_adaptive_average_lagging(row, *sizes) for row, *sizes in segments if row)


def by_simulstream(folder: Path) -> Scores:
    python = python_with(ROOT / "tests/streams-requirements.txt")
    return Scores(**json.loads(call(python, "-c", DRIVER, folder).splitlines()[-1]))


SCORERS = pytest.mark.parametrize("scores_of", [by_definition, *exhaustive(by_simulstream)])


@SCORERS
def test_updates_have_our_erasure_and_delays(scores_of: Callable[[Path], Scores], tmp_path: Path) -> None:
    draw = random.Random(3)
    sources, references, translations, updates_of = [], [], [], []
    for index in range(300):
        length = draw.randint(1, 12)
        drafts: list[list[str]] = [draw.choices("abc", k=draw.randint(0, 9)) for _ in range(length)]
        drafts[-1] = drafts[-1] if index % 20 else []
        sources.append(" ".join(["x"] * length))
        references.append(" ".join(draw.choices("abcd", k=draw.randint(1, 9))) + (" " * (index % 3)))
        timing = SimpleNamespace(updates=tuple(map(" ".join, drafts)), updated=range(1, len(drafts) + 1))
        translations.append(SimpleNamespace(text=" ".join(drafts[-1]), timing=timing))
        updates_of.append(drafts)
    # A blank line has no translation.
    sources.append("")
    references.append("a")
    translations.append(SimpleNamespace(text="", timing=None))
    made: Any = translations
    write(tmp_path, sources, references, made)
    scores = scores_of(tmp_path)
    delays = [finalised(drafts) for drafts in updates_of]
    changes = sum(erased(*pair) for drafts in updates_of for pair in pairwise(drafts))
    lengths = [len(reference.split()) for reference in references]
    laal = mean_lag(delays, [len(drafts) for drafts in updates_of], lengths[:-1])
    assert scores.delays == [*delays, []]
    assert scores.erasure == pytest.approx(changes / sum(map(len, delays)), abs=1e-6)
    assert scores.laal == pytest.approx(laal, abs=1e-6)


@SCORERS
@pytest.mark.parametrize(
    ("search", "model"),
    [
        (mt.RetranslateConfig(), "trained"),
        (mt.RetranslateConfig(step=2, mask_k=1), "trained"),
        (mt.AlignAttConfig(f=1), "trained"),
        (mt.OnlineConfig(), "trained_hard"),
    ],
    ids=["retranslate", "masked", "alignatt", "online"],
)
def test_a_run_has_our_scores(scores_of, search, model, corpus, request, tmp_path):
    translator = mt.load(request.getfixturevalue(model), device="cpu")
    split = corpus.split("test")
    ours = evaluate(translator, split, translator.search_for(search))
    references = [group[0] for group in split.column("references")]
    write(tmp_path, split.column("source"), references, ours.translations)
    scores = scores_of(tmp_path)
    assert scores.delays == [list(instance.delays) for instance in ours.instances]
    assert scores.erasure == pytest.approx(ours.scores["erasure"].score, abs=1e-6)
    assert scores.laal == pytest.approx(ours.scores["laal"].score, abs=1e-6)
    assert (scores.erasure > 0) == (search.name == "retranslate")


def test_a_folder_that_is_there_stays(tmp_path, monkeypatch, capsys):
    (tmp_path / "metrics.jsonl").write_text("mine")
    monkeypatch.setattr("sys.argv", ["simulstream_log", "RUN", "test.en", "test.de", str(tmp_path)])
    with pytest.raises(SystemExit):
        main()
    assert "is there already: name a new folder, or remove it" in capsys.readouterr().err
    assert (tmp_path / "metrics.jsonl").read_text() == "mine"
