"""A tiny language pair, its prepared corpus, and one small run trained on it, shared by all tests that need one."""

import os

from mt.cli.startup import spinning_bound  # isort: skip

# Before torch is imported, and for the processes that tests start: on tensors this small a second thread only waits.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.update(spinning_bound(os.environ))

import gc
import json
import logging
import random
import shutil
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import absl.logging
import jaxtyping
import pytest
import torch

from data_prep.prepare import prepare
from mt import Translator, load
from mt.common.options import parse
from mt.config import Config
from mt.data.corpus import Corpus
from mt.export.folder import export
from mt.training.start import begin
from mt.training.train import train_and_test
from tests import marks

gc.disable()  # until all is imported and collected, which stays

# Without a GPU, Triton's kernels run in its interpreter. It asks when it is imported, if it is installed.
if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")

# Hydra closes handlers when it sets up logging, and that of absl, which rouge-score brings, would close with it the
# stream that pytest captures.
absl.logging.get_absl_handler().python_handler.setStream(sys.__stderr__)

# One word of each; the empty one may be left out. Word for word, with umlauts and a word in another script.
SLOTS = [
    {"the": "die", "two": "zwei", "three": "drei"},
    {"": "", "big": "großen", "green": "grünen"},
    {"cats": "Katzen", "dogs": "Hunde", "birds": "鳥"},
    {"see": "sehen", "find": "finden", "leave": "verlassen"},
    {"streets": "Straßen", "bridges": "Brücken", "houses": "Häuser"},
]
SIZES = {"train": 240, "dev": 12, "test": 10}

TESTS = Path(__file__).parent
Configure = Callable[..., Config]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="run slow and exhaustive tests, too, and check all signatures")


def pytest_configure(config: pytest.Config) -> None:
    marks.FULL = config.getoption("full")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves what is marked as slow or exhaustive to the full run, unless somebody chooses by marks."""
    if config.getoption("full") or config.option.markexpr:
        return
    left = {item for item in items if item.get_closest_marker("slow") or item.get_closest_marker("exhaustive")}
    config.hook.pytest_deselected(items=[*left])
    items[:] = [item for item in items if item not in left]


def pytest_collection_finish() -> None:
    """Lets Python look for cycles to free, less often than usual, and not in what was imported and collected."""
    gc.freeze()
    gc.set_threshold(10_000, 10, 10)
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Checks the shapes in signatures while operations are tested, and of models the laws, which run over all tables of
    components. Elsewhere the same functions are called with the same kinds of arguments, at twice the time, so that
    only the full run checks them there, too."""
    checked = any((TESTS / part) in item.path.parents for part in ("kernels", "ops", "laws"))
    jaxtyping.config.update("jaxtyping_disable", not (checked or item.config.getoption("full")))
    return (yield)


@pytest.fixture
def foreground() -> Iterator[None]:
    """Signals as in a process that a terminal started. In the background of a script, some would be ignored, and what
    a test starts would inherit that."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
    usual = (signal.default_int_handler, *(signal.SIG_DFL,) * 4)
    before = [signal.signal(number, handler) for number, handler in zip(numbers, usual, strict=True)]
    yield
    after = tuple(signal.getsignal(number) for number in numbers)
    for number, handler in zip(numbers, before, strict=True):
        signal.signal(number, handler)
    assert after == usual


@pytest.fixture
def three_threads() -> Iterator[None]:
    """PyTorch, and compiled loops beside it, compute in three threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


@pytest.fixture(autouse=True)
def no_set_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands that are called in this process set nothing up in it."""
    monkeypatch.setattr("mt.__main__.set_up", lambda: None)


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    """What Hydra sets up for a sweep writes to the standard output of that one test, which is closed after it."""
    yield
    root = logging.getLogger()
    for handler in [handler for handler in root.handlers if type(handler) is logging.StreamHandler]:
        root.removeHandler(handler)
        root.setLevel(logging.WARNING)


@pytest.fixture(scope="session")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with train.en, train.de, dev.en, ..."""
    folder = tmp_path_factory.mktemp("texts")
    draw = random.Random(1)
    for split, size in SIZES.items():
        pairs = [[draw.choice(list(slot.items())) for slot in SLOTS] for _ in range(size)]
        for side, name in enumerate(("en", "de")):
            lines = [" ".join(pair[side] for pair in sentence if pair[side]) for sentence in pairs]
            (folder / f"{split}.{name}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def plain(texts: Path) -> dict[str, Any]:
    """The configuration of the small run, as plain data."""
    return {
        "dataset": {
            "name": "tiny",
            "source": "en",
            "target": "de",
            "folder": str(texts),
            "tokenizer": {"model_type": "word", "vocab_size": 100},
            "cleaning": {"drop_duplicates": False},
        },
        "embedding": {"embedding_dim": 32, "dropout": 0.0},
        "encoder": {"name": "bilstm", "hidden_size": 32},
        "decoder": {"name": "luong", "hidden_size": 32, "readout_size": 32, "dropout": 0.0},
        "attention": {"name": "general"},
        "optimizer": {"name": "adam", "lr": 0.02, "warmup": 0, "schedule": {"name": "constant"}},
        "training": {"epochs": 12, "batch_tokens": 120, "validate_every": 40, "average_checkpoints": 2, "plots": 2},
        "search": {"name": "beam", "beam_size": 3},
        "device": "cpu",
    }


@pytest.fixture(scope="session")
def configure(plain: dict[str, Any]) -> Configure:
    """Gives the configuration of the small run with some of its options changed: `{"training": {"epochs": 1}}`."""

    def changed(changes: Mapping[str, Any] = {}) -> Config:
        whole = json.loads(json.dumps(plain))
        for name, value in changes.items():
            replaced = isinstance(value, Mapping) and "name" not in value
            whole[name] = {**whole.get(name, {}), **value} if replaced else value
        return parse(whole, Config)

    return changed


@pytest.fixture(scope="session")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where prepared corpora are kept."""
    return tmp_path_factory.mktemp("corpora")


@pytest.fixture(scope="session")
def corpus(configure: Configure, corpora: Path) -> Corpus:
    return Corpus.open(prepare(configure().dataset, corpora, progress=False))


def finished(config: Config, corpora: Path, folder: Path) -> Path:
    """Trains and tests a run on its corpus, which is prepared where it is not there yet; returns the folder."""
    run = begin(config, Corpus.open(prepare(config.dataset, corpora, progress=False)), folder)
    train_and_test(run)
    return folder


@pytest.fixture(scope="session")
def trained(configure: Configure, corpora: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run. It is shared: copy it before changing it."""
    return finished(configure(), corpora, tmp_path_factory.mktemp("runs") / "trained")


@pytest.fixture(scope="module")
def translator(trained: Path) -> Translator:
    return load(trained, device="cpu")


@pytest.fixture(scope="module")
def hard(trained_hard: Path) -> Translator:
    """A translator whose attention can be hard, and which can decode online."""
    return load(trained_hard, device="cpu")


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> Path:
    """A copy of the finished run, to be damaged."""
    return Path(shutil.copytree(trained, tmp_path / "run", symlinks=True))


@pytest.fixture
def last(run: Path) -> Path:
    return (run / "checkpoints/last").resolve()


@pytest.fixture(scope="session")
def trained_hard(configure: Configure, corpora: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run whose attention can be hard, and which can decode online."""
    changes = {
        "encoder": {"name": "lstm", "hidden_size": 32},
        "decoder": {"hidden_size": 32, "readout_size": 32, "init_hidden": "zeros"},
        "attention": {"name": "mocha", "chunk_size": 2},
        "training": {"epochs": 2, "average_checkpoints": 1},
        "search": {"name": "greedy"},
    }
    return finished(configure(changes), corpora, tmp_path_factory.mktemp("runs") / "hard")


@pytest.fixture(scope="session")
def graphs(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The finished run as graphs of ONNX."""
    for library in ("onnx", "onnxscript", "onnxruntime"):
        pytest.importorskip(library, reason="the extra onnx is not installed")
    folder = tmp_path_factory.mktemp("exports") / "onnx"
    export(trained, folder, format="onnx")
    return folder


@pytest.fixture
def unchecked() -> Iterator[None]:
    """Without the check of signatures, as at run time, to reach what a function refuses by itself."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


# A headless Chromium. It ends with its module, since its event loop would keep others of the process from running.

PROGRAM = shutil.which("chromium") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install '.[test]'")
    if PROGRAM is None:
        pytest.skip("no chromium is installed, as Debian's package `chromium` has it")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=PROGRAM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def tab(chromium: Any) -> Iterator[Any]:
    """An empty tab. A page that throws, or asks for what its policy forbids, fails its test."""
    context = chromium.new_context(viewport={"width": 1300, "height": 900}, accept_downloads=True)
    tab = context.new_page()
    tab.expected = []  # parts of messages that a test provokes
    faults: list[str] = []
    asked: list[str] = []
    tab.on("pageerror", lambda error: faults.append(str(error)))
    tab.on("console", lambda message: faults.append(message.text) if message.type in ("error", "warning") else None)
    tab.on("request", lambda request: asked.append(request.url))
    tab.set_default_timeout(5000)
    yield tab
    context.close()
    assert [fault for fault in faults if not any(part in fault for part in tab.expected)] == []
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:", "http://127.0.0.1", "about:"))] == []


@pytest.fixture
def microphone(tab: Any) -> Callable[[], None]:
    """microphone(): a page that is open hears a tone in place of a microphone."""
    tone = """() => { navigator.mediaDevices.getUserMedia = async () => {
        const context = new AudioContext();
        const tone = context.createOscillator();
        const end = context.createMediaStreamDestination();
        tone.connect(end);
        tone.start();
        return end.stream;
    }; }"""
    return lambda: tab.evaluate(tone)
