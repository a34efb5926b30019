"""Our latency against that of SimulEval 1.1.4 and OmniSTEval 0.1.10 themselves; our models in SimulEval's evaluator."""

import random
from pathlib import Path

import pytest

from mt.data.tokenizer import TokenizerConfig, Tokenizers
from mt.decoding.load import load
from mt.evaluation.report import Changes, report
from mt.metrics.bleu import Bleu
from mt.metrics.latency import LOG, Instance, score_latency, write_log
from mt.search.config import OnlineConfig
from tests.environments import call, python_with

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def python() -> Path:
    """That of an environment with SimulEval and OmniSTEval."""
    return python_with(ROOT / "tests/simuleval-requirements.txt")


WORDS = ["a", "Haus", "über", "den", "Fluss", ".", "Straßen,", "x-y", "鳥"]
COUNT = 1000


def instances(unit: str, seed: int) -> list[Instance]:
    """Sentences of 1 to 30 words, with hypotheses that are empty, begin late, or are longer or shorter than references;
    some references have blanks too many."""
    draw = random.Random(seed)
    result = []
    for index in range(COUNT):
        source, reference, words = (draw.choices(WORDS, k=draw.randint(1, 30)) for _ in range(3))
        words = [] if index % 50 == 7 else words
        begin = len(source) if index % 11 == 3 else draw.randint(1, len(source))
        text = (" " if index % 100 else "  ").join(reference) + (" \n" if index % 70 == 5 else "\n")
        pieces = tuple("".join(f"▁{word}" for word in words)) if unit == "subword" else None
        delays = sorted(
            draw.randint(begin, len(source)) for _ in pieces or (words if unit == "word" else "".join(words))
        )
        given = {"source": " ".join(source), "source_length": len(source), "prediction_spm": pieces}
        text = text.strip() if unit == "subword" else text
        result.append(Instance(index=index, prediction=" ".join(words), delays=tuple(delays), reference=text, **given))
    return result


def simuleval(python: Path, folder: Path, *arguments: object) -> dict[str, float]:
    """The scores that `simuleval --score-only` prints, by our names."""
    metrics = ["--quality-metrics", "BLEU", "--latency-metrics", "AL", "LAAL", "AP", "DAL"]
    out = call(python, "-m", "simuleval.cli", "--score-only", "--output", folder, *metrics, *arguments)
    names, values = out.splitlines()
    return {name.lower(): float(value) for name, value in zip(names.split(), values.split()[1:], strict=True)}


def omnisteval(python: Path, folder: Path, references: list[str], level: str) -> dict[str, float]:
    """The scores that OmniSTEval writes, by our names."""
    (folder / "references").write_text("".join(f"{line.rstrip()}\n" for line in references))
    files = ["--hypothesis_file", folder / LOG, "--ref_sentences_file", folder / "references"]
    call(python, "-m", "omnisteval.cli", "shortform", *files, level, "--output_folder", folder / "out")
    lines = dict(line.split("\t") for line in (folder / "out/scores.tsv").read_text().splitlines()[1:])
    named = {"yaal": "YAAL (CU)", "al": "AL (CU)", "laal": "LAAL (CU)", "ap": "AP (CU)", "dal": "DAL (CU)"}
    named |= {"swf": "Simultaneous Words Fraction (%)", "efsw": "Expected Simul. Words Fraction (%)"}
    return {name: float(lines[theirs]) for name, theirs in named.items()}


@pytest.mark.parametrize("unit", ["word", "char"])
def test_our_scores_are_theirs(python: Path, unit: str, tmp_path: Path) -> None:
    log = instances(unit, seed=1)
    write_log(tmp_path, log)
    ours = {name: score.score for name, score in score_latency(log, unit).items()}
    texts = [instance.reference or "" for instance in log]
    bleu = Bleu().score([i.prediction for i in log], [[text.strip()] for text in texts])["bleu"].score
    theirs = simuleval(python, tmp_path, "--eval-latency-unit", unit)
    assert theirs.pop("bleu") == pytest.approx(bleu, abs=1e-3)
    assert theirs == pytest.approx({name: ours[name] for name in theirs}, abs=1e-3)
    shorter = score_latency(log, unit, reference_length=False)
    theirs = simuleval(python, tmp_path, "--eval-latency-unit", unit, "--no-use-ref-len")
    for name in ("al", "ap"):
        assert theirs[name] == pytest.approx(shorter[name].score, abs=1e-3)
    stripped = [instance.model_copy(update={"reference": (instance.reference or "").strip()}) for instance in log]
    ours = {name: score.score for name, score in score_latency(stripped, unit).items()}
    theirs = omnisteval(python, tmp_path, texts, f"--{unit}_level")
    assert ours.pop("erasure") == 0  # of a stream
    assert theirs == pytest.approx(ours, abs=1e-3)


def test_subwords_are_counted_as_theirs(python: Path, tmp_path: Path) -> None:
    config = TokenizerConfig(vocab_size=60)
    tokenizer = Tokenizers.train(config, [(" ".join(WORDS), "Straßen und Häuser, über den Fluss.")] * 4).target
    (tmp_path / "tokenizer.model").write_bytes(tokenizer.model)
    log = instances("subword", seed=2)
    write_log(tmp_path, log)
    model = ["--eval-latency-unit", "spm", "--eval-latency-spm-model", tmp_path / "tokenizer.model"]
    theirs = simuleval(python, tmp_path, *model)
    ours = score_latency(log, "subword", subwords=tokenizer.count_pieces)
    for name in ("al", "laal", "ap", "dal"):
        assert theirs[name] == pytest.approx(ours[name].score, abs=1e-3)


HOW = {
    "file": ["--agent", ROOT / "scripts/simuleval_agent.py", "--run", "RUN"],
    "folder": ["--system-dir", "SYSTEM"],  # names the class
}


@pytest.mark.parametrize("how", HOW)
def test_the_evaluator_notes_the_delays_of_our_own_log(python, how, trained_hard, corpus, texts, tmp_path):
    report(load(trained_hard, device="cpu"), corpus.split("test"), "test", tmp_path / "ours", Changes(OnlineConfig()))
    system = tmp_path / "system"
    system.mkdir()
    # Paths are taken from the folder.
    (system / "run").symlink_to(trained_hard)
    (system / "main.yaml").write_text("agent_class: scripts.simuleval_agent.Agent\nrun: run\nsearch: online\n")
    places = {"RUN": trained_hard, "SYSTEM": system}
    options = [places.get(option, option) for option in HOW[how]]
    files = ["--source", texts / "test.en", "--target", texts / "test.de", "--output", tmp_path / "theirs"]
    call(python, "-m", "simuleval.cli", *options, *files, "--no-progress-bar", "--latency-metrics", "AL", "DAL")
    ours, theirs = ((tmp_path / whose / LOG).read_text() for whose in ("ours/hypotheses", "theirs"))
    assert theirs == ours and len(ours.splitlines()) == 10
