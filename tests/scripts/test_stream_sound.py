"""Sound all the way: a run that hears, its stream from files and pipes, its latency, its real-time factor."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import mt
from data_prep.generated import morse
from data_prep.prepare import prepare
from mt.common.options import parse
from mt.config import Config
from mt.data.corpus import Corpus
from mt.data.fields.audio import quantised, resampled
from mt.decoding.translator import Translator
from mt.search.policies import OnlineConfig
from mt.training.start import begin
from mt.training.train import train_and_test
from tests.environments import ROOT, call, python_with
from tests.refusals.sentences import require_refusal

from .conftest import Outcome

soundfile = pytest.importorskip("soundfile", reason="needs the extra `speech`")

SAMPLE_RATE = 16_000
SCRIPTS = Path(__file__).parents[2] / "scripts"
DATA = {"name": "morse", "source": "sound", "target": "text", "generator": "morse", "metrics": ["cer", "wer"]}
DATA |= {"field": {"name": "audio", "rate": morse.RATE, "max_seconds": 60.0}, "workers": 1}
PLAIN = {
    "dataset": DATA | {"tokenizer": {"model_type": "char", "vocab_size": 40}},
    "frontend": {"name": "logmel", "bands": 12, "channels": 4, "causal": True},
    "embedding": {"embedding_dim": 16},
    "encoder": {"name": "lstm", "hidden_size": 24},
    "decoder": {"name": "luong", "hidden_size": 24, "readout_size": 16, "init_hidden": "zeros"},
    "attention": {"name": "mocha", "chunk_size": 2, "energy_bias": 0.1},
    "training": {"max_updates": 3, "batch_tokens": 4000, "average_checkpoints": 1, "plots": 0},
    "search": {"name": "online", "max_ratio": 0.1},
    "device": "cpu",
}


@pytest.fixture(scope="module")
def sounds(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    with pytest.MonkeyPatch.context() as patch:
        small = morse.generate(1, {"train": 30, "dev": 3, "test": 4})
        patch.setattr(morse, "generate", lambda: small)
        config = parse(PLAIN, Config)
        return Corpus.open(prepare(config.dataset, tmp_path_factory.mktemp("corpora"), progress=False))


@pytest.fixture(scope="module")
def run(sounds: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = begin(parse(PLAIN, Config), sounds, tmp_path_factory.mktemp("runs") / "run")
    train_and_test(run)
    return run.folder


@pytest.fixture(scope="module")
def translator(run: Path) -> Translator:
    """Whose run stops early and often, and writes letters."""
    return mt.load(run, device="cpu")


@pytest.fixture(scope="module")
def sound(sounds: Corpus, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, np.ndarray]:
    """The first of the test split as a file, and its samples."""
    [(row, _)] = sounds.split("test").read([0]).pairs
    path = tmp_path_factory.mktemp("sounds") / "sound.flac"
    soundfile.write(path, row.ravel(), morse.RATE)
    return path, row.ravel()


@pytest.fixture
def stream(call: Callable[..., Outcome], run: Path) -> Callable[..., Outcome]:
    return lambda *flags, data=b"": call("stream", run, "--device", "cpu", *flags, stdin=data)


def test_files_and_raw_samples_are_what_translate_gives(stream, translator: Translator, sound) -> None:
    path, samples = sound
    expected = translator.translate(path)
    assert len(expected.text) > 3
    note = stream("--audio", path).err  # of a hypothesis that was cut, or none
    assert bool(note) == expected.cut and note.count("\n") == expected.cut
    assert stream("--audio", path) == (f"{expected.text}\n", note, 0)
    raw = samples.astype("<i2").tobytes()
    for odd in (b"", b"x"):
        assert stream("--audio", "-", data=raw + odd) == (f"{expected.text}\n", note, 0)
    session = translator.stream()
    session.read(samples)
    session.finish()
    assert session.source_read == 10 * -(-len(samples) // 40)


def test_what_cannot_be_heard(stream, tmp_path: Path) -> None:
    assert stream("--audio", "-") == stream("--audio", "-", data=b"x") == ("\n", "", 0)
    for arguments, data, sentence in [
        (["--audio", tmp_path / "none.wav"], b"", f"{tmp_path}/none.wav cannot be read (No such file or directory)"),
        ([], b"", "this run reads audio: name the sound by --audio FILE, or send raw samples and add --audio -"),
        (["--audio", "-"], b"RIFF\0\0\0\0WAVEfmt ", "standard input is a wav file, and not samples alone"),
    ]:
        done = stream(*arguments, data=data)
        assert (done.out, done.status, done.err.count("\n")) == ("", 2, 1)
        assert done.err.startswith(f"error: {sentence}")


def test_latency_is_in_milliseconds_and_its_log_is_of_speech(run: Path, translator: Translator, sounds: Corpus) -> None:
    results = json.loads((run / "results.json").read_text())
    rows = [row for row, _ in sounds.split("test").read(range(4)).pairs]
    lines = [json.loads(line) for line in (run / "hypotheses/instances.log").read_text().splitlines()]
    assert [line["source_length"] for line in lines] == [10 * len(row) for row in rows]
    for line, row in zip(lines, rows, strict=True):
        session = translator.stream(unit="word")
        session.read(row.ravel())
        session.finish()
        assert line["prediction"].split() == session.words and line["elapsed"] == line["delays"]
        # What is known with the last place is counted as written at the end.
        assert all(0 <= ours - theirs <= 30 for ours, theirs in zip(line["delays"], session.delays, strict=True))
    assert "|unit:word|source:ms|" in results["al"]["signature"] and results["ap"]["score"] > 0
    assert (run / "hypotheses/config.yaml").read_text().splitlines()[0] == "source_type: speech"


def test_the_real_time_factor(run: Path, sound, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    from benchmarks.stream import main

    main(["--run", str(run), "--audio", str(sound[0]), "--json"])
    [result] = json.loads(capsys.readouterr().out).values()
    assert result["sound_seconds"] == pytest.approx(len(sound[1]) / morse.RATE, abs=0.01)
    assert result["real_time_factor"] == pytest.approx(result["processor_seconds"] / result["sound_seconds"])
    assert 0 < result["longest_piece_ms"] <= 1000 * result["processor_seconds"]
    require_refusal(lambda: main(["--run", str(run)]), r"^--run RUN goes with --audio FILE or --text FILE: give both$")


@pytest.mark.slow
def test_simulstream_writes_what_a_session_writes(run, translator, sounds, tmp_path):
    python = python_with(ROOT / "tests/streams-requirements.txt")
    paths = [tmp_path / f"{number}.wav" for number in range(2)]
    # simulstream reads 16,000 samples a second, and the run fewer.
    assert morse.RATE < SAMPLE_RATE
    for path, (row, _) in zip(paths, sounds.split("test").read(range(2)).pairs, strict=True):
        samples = resampled(row.ravel().astype(np.float32) / 32_768, morse.RATE, SAMPLE_RATE)
        soundfile.write(path, quantised(samples), SAMPLE_RATE, subtype="PCM_16")
    (tmp_path / "wavs").write_text("".join(f"{path}\n" for path in paths))
    plain = {"type": "examples.simulstream_processor.Processor", "run": str(run), "device": "cpu", "unit": "char"}
    (tmp_path / "mt.yaml").write_text(json.dumps(plain | {"speech_chunk_size": 0.7, "search": {"name": "online"}}))
    files = ["--speech-processor-config", tmp_path / "mt.yaml", "--wav-list-file", tmp_path / "wavs"]
    log = tmp_path / "metrics.jsonl"
    languages = ["--tgt-lang", "de", "--src-lang", "en"]
    call(python, "-m", "simulstream.inference", *files, "--metrics-log-file", log, *languages)
    lines = [line for line in map(json.loads, log.read_text().splitlines()) if "generated_tokens" in line]
    assert not any(line["deleted_tokens"] for line in lines)
    for number, path in enumerate(paths):
        own = [line for line in lines if line["id"] == number]
        samples = soundfile.read(path)[0].astype(np.float32)
        assert len(own) > 3 and own[-1]["total_audio_processed"] == pytest.approx(len(samples) / SAMPLE_RATE)
        session = translator.stream(OnlineConfig(), unit="char")
        session.read(resampled(samples, SAMPLE_RATE, morse.RATE))
        session.finish()
        assert "".join(token for line in own for token in line["generated_tokens"]) == session.text
        assert len(session.text) > 3
