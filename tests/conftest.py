"""Which tests run and what they may leave behind, and a browser. What is imported here takes no time, since the process
that hands tests to others imports it, too, before they begin; tests/tiny.py has what takes longer."""

import os

from mt.cli.startup import spinning_bound  # isort: skip

# Before torch is imported, and for the processes that tests start: on tensors this small a second thread only waits.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.update(spinning_bound(os.environ))

import gc
import logging
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jaxtyping
import pytest

from tests import marks

gc.disable()  # until all is imported and collected, which stays

TESTS = Path(__file__).parent


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="run slow and exhaustive tests, too, and check all signatures")


def pytest_configure(config: pytest.Config) -> None:
    marks.FULL = config.getoption("full")
    if not config.getoption("numprocesses", None):  # it runs tests itself
        config.pluginmanager.import_plugin("tests.tiny")


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
