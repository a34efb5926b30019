# rule: each rule stands beside the examples that it must catch, to be read together
"""The rules of the house, executed: imports, doors, state, sizes, configuration. Each is shown to catch a violation."""

import ast
import importlib
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from mt.models.attention import ATTENTIONS
from mt.models.encoders import ENCODERS

ROOT = Path(__file__).parents[1]
OURS = ("mt", "data_prep", "scripts", "train")
# The floors of the house, from the ground up. A module imports from lower floors, and from its own package; packages of
# one floor do not know each other. The longest name that fits a module decides.
FLOORS: tuple[tuple[str, ...], ...] = (
    ("mt.errors", "mt.step"),
    ("mt.kernels",),
    ("mt.common",),
    ("mt.batch", "mt.device", "mt.storage", "mt.text_io", "mt.trees"),
    ("mt.distributed",),
    ("mt.ops",),
    ("mt.data", "mt.models", "mt.search", "mt.metrics", "mt.plots", "mt.explorer"),
    ("mt.config", "mt.constraints"),
    ("mt.checkpoint", "mt.markup"),
    ("mt.decoding",),
    ("mt.evaluation",),
    ("mt", "mt.training", "mt.comparison", "mt.export", "mt.serve"),
    ("data_prep",),
    ("mt.cli",),
    ("mt.__main__",),
    ("data_prep.__main__",),
    ("scripts",),
    ("train",),
)
# Preparation needs neither a model nor torch: its processes are many, and begin often.
PREPARATION = ("data_prep", "mt.data", *(name for floor in FLOORS[:5] for name in floor if name != "mt.kernels"))
ENTRIES = ("train", "scripts", "mt.cli")
# The one door of each dependency, or the few.
DOORS = {
    "hydra": ENTRIES,
    "omegaconf": ENTRIES,
    "sentencepiece": ("mt.data.tokenizer",),
    "sacrebleu": ("mt.metrics.bleu", "data_prep.cuts"),
    "rouge_score": ("mt.metrics.rouge",),
    "jiwer": ("mt.metrics.wer",),
    "soundfile": ("mt.data.fields.recordings",),
    "PIL": ("mt.data.fields.image",),
    "matplotlib": ("mt.plots",),
    "tabulate": ("mt.comparison.columns", "scripts"),
    "jinja2": ("mt.comparison.page", "mt.explorer", "mt.serve", "scripts"),
    "tqdm": ("mt.common.terminal",),
    "filelock": ("mt.storage",),
    "tensorboard": ("mt.training.log",),
    "torch.utils.tensorboard": ("mt.training.log",),
    "numba": ("mt.kernels.compiled",),
    "triton": ("mt.kernels.triton_kernels",),
    "simuleval": ("scripts.simuleval_agent",),
    "huggingface_hub": ("mt.decoding.load", "data_prep.sources.hub"),
    "fastapi": ("mt.serve", "scripts.benchmarks.serve"),
    "starlette": ("mt.serve",),
    "uvicorn": ("mt.serve.server", "scripts.benchmarks.serve"),
    "prometheus_client": ("mt.serve",),
    "sentencex": ("mt.markup.sentences",),
    "onnx": ("mt.export.graphs",),
    "onnxscript": ("mt.export.graphs",),
    "onnxruntime": ("mt.decoding.onnx", "mt.export.graphs"),
}
NEEDED = {
    "mt.kernels": {"torch", "numpy", "numba", "triton", "jaxtyping", *sys.stdlib_module_names},
    "mt.ops": {"torch", "jaxtyping", *sys.stdlib_module_names},
}
NAMES = {*ATTENTIONS, *ENCODERS}

Rule = Callable[[str, ast.Module, str], Iterator[tuple[int, str]]]


def within(module: str, package: str) -> bool:
    return module == package or module.startswith(package + ".")


def imported(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Every imported name in full, as `from a import b` may mean module a.b."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide the layers"
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def home(module: str) -> tuple[str, int]:
    """The package that a module belongs to, and its floor."""
    fitting = [(name, floor) for floor, names in enumerate(FLOORS) for name in names if within(module, name)]
    return max(fitting, key=lambda result: len(result[0]))


def layers(module: str, tree: ast.Module, text: str) -> Iterator[tuple[int, str]]:
    """Imports go down the house only; mt/ops needs torch and a notation of shapes alone, mt/kernels compilers and their
    arrays, too."""
    package, floor = home(module)
    for line, name in imported(tree):
        if any(within(name, root) for root in ("mt", "data_prep", "scripts", "train")):
            other, below = home(name)
            barred = package == "data_prep" and other not in PREPARATION
            if barred or not (below < floor or other == package):
                yield line, f"{module} imports {name}"
        elif name.split(".")[0] not in NEEDED.get(package, {name.split(".")[0]}):
            yield line, f"{module} imports {name}"


def doors(module: str, tree: ast.Module, text: str) -> Iterator[tuple[int, str]]:
    """A dependency that has a door is imported there alone."""
    for line, name in imported(tree):
        for dependency, allowed in DOORS.items():
            if within(name, dependency) and not any(within(module, door) for door in allowed):
                yield line, f"{name} is imported in {module}"


def no_state(module: str, tree: ast.Module, text: str) -> Iterator[tuple[int, str]]:
    """In mt/models, an attribute is assigned in __init__ or never; one of a class, when the class is made."""
    if not within(module, "mt.models"):
        return
    for function in functions(tree):
        if function.name in ("__init__", "__init_subclass__"):
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, (ast.Store, ast.Del)):
                yield node.lineno, f"{ast.unparse(node)} is assigned in {function.name}"
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("setattr", ".register_buffer")):
                yield node.lineno, f"{ast.unparse(node)} in {function.name}"
            if isinstance(node, (ast.Global, ast.Nonlocal)):
                yield node.lineno, f"{ast.unparse(node)} in {function.name}"


def no_kwargs(module: str, tree: ast.Module, text: str) -> Iterator[tuple[int, str]]:
    """Every function of mt/ says what it takes: keywords are named, or unpacked from a TypedDict that names them."""
    for node in ast.walk(tree):
        if not within(module, "mt") or not isinstance(node, ast.arguments) or node.kwarg is None:
            continue
        if node.kwarg.annotation is None or not ast.unparse(node.kwarg.annotation).startswith("Unpack["):
            yield node.kwarg.lineno, f"**{node.kwarg.arg} in {module}"


def no_type_tests(module: str, tree: ast.Module, text: str) -> Iterator[tuple[int, str]]:
    """Search and training ask a model what it can do, never what it is, be it by class or by name."""
    searching = ("mt.search", "mt.decoding.network", "mt.decoding.torch_network", "mt.decoding.translator")
    if not any(within(module, package) for package in ("mt.training", "mt.evaluation", *searching)):
        return
    parts = {name.rsplit(".", 1)[1] for _, name in imported(tree) if within(name, "mt.models")}
    for node in ast.walk(tree):
        tested: list[ast.expr] = []
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("isinstance", "issubclass"):
            tested = node.args[1:]
        elif isinstance(node, ast.Compare):
            tested = [node.left, *node.comparators]
            if any(re.search(r"\btype\(|__class__", ast.unparse(side)) for side in tested):
                yield node.lineno, ast.unparse(node)
        elif isinstance(node, ast.MatchClass):
            tested = [node.cls]
        for part in (inner for expression in tested for inner in ast.walk(expression)):
            if getattr(part, "id", None) in parts or getattr(part, "value", None) in NAMES:
                yield node.lineno, ast.unparse(node)


def sizes(module: str, tree: ast.Module, text: str) -> Iterator[tuple[int, str]]:
    """Functions up to 50 lines, files up to 400, constructors up to 7 arguments; `# rule: why` excuses one."""
    lines = text.splitlines()
    if len(lines) > 400 and "# rule:" not in lines[0]:
        yield 1, f"{module} has {len(lines)} lines"
    for function in functions(tree):
        length = (function.end_lineno or 0) - function.lineno + 1
        arguments = function.args.posonlyargs + function.args.args + function.args.kwonlyargs
        if "# rule:" in lines[function.lineno - 1]:
            continue
        if length > 50:
            yield function.lineno, f"{function.name} has {length} lines"
        if function.name == "__init__" and len(arguments) - 1 > 7:
            yield function.lineno, f"a constructor has {len(arguments) - 1} arguments"


def no_packing(module: str, tree: ast.Module, text: str) -> Iterator[tuple[int, str]]:
    """One statement a line: `a, b = x, y` swaps what it names, and does not save lines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple):
            targets = {ast.unparse(one) for left in node.targets if isinstance(left, ast.Tuple) for one in left.elts}
            read = {ast.unparse(part) for part in ast.walk(node.value) if isinstance(part, ast.expr)}
            if targets and not targets & read:
                yield node.lineno, ast.unparse(node)


def no_machine(module: str, tree: ast.Module, text: str) -> Iterator[tuple[int, str]]:
    """How a layer is computed on this machine is asked for in mt/kernels alone."""
    if not any(within(module, name) for name in ("mt.models", "mt.search", "mt.training", "mt.decoding", "mt.ops")):
        return
    asked = {"is_compiling", "is_autocast_enabled", "get_autocast_dtype", "mkldnn", "ContextVar", "environ", "getenv"}
    for node in ast.walk(tree):
        if getattr(node, "attr", getattr(node, "id", None)) in asked:
            yield node.lineno, ast.unparse(node)
    for line, name in imported(tree):
        if within(name, "mt.kernels.processor"):
            yield line, f"{name} is imported in {module}"


RULES: tuple[Rule, ...] = (layers, doors, no_state, no_kwargs, no_type_tests, sizes, no_packing, no_machine)


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    yield from (node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))


@cache
def modules() -> list[tuple[str, ast.Module, str]]:
    """Dotted name, tree and text of every module of the project."""
    paths = [ROOT / "train.py", *(path for folder in OURS for path in sorted((ROOT / folder).rglob("*.py")))]
    parts = [path.relative_to(ROOT).with_suffix("").parts for path in paths]
    names = [".".join(part[:-1] if part[-1] == "__init__" else part) for part in parts]
    texts = [path.read_text(encoding="utf-8") for path in paths]
    return [(name, ast.parse(text), text) for name, text in zip(names, texts, strict=True)]


def violations(rule: Rule, module: str, text: str, tree: ast.Module | None = None) -> list[str]:
    return [f"{module}:{line}: {what}" for line, what in rule(module, tree or ast.parse(text), text)]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_house_keeps(rule: Rule):
    assert len(modules()) > 40
    assert [result for module, tree, text in modules() for result in violations(rule, module, text, tree)] == []


def floors_shown() -> str:
    """The floors as mt/README.md draws them, from the top."""
    rows = [", ".join(name.removeprefix("mt.") for name in floor) for floor in reversed(FLOORS)]
    return "\n".join(f"    {row}" for row in rows)


def test_the_diagram_of_the_floors_is_that_of_the_rule():
    assert f"\n\n{floors_shown()}\n\n" in (ROOT / "mt" / "README.md").read_text(encoding="utf-8")


def test_abstract_methods_are_enforced():
    """`abstractmethod` alone does nothing: a class whose metaclass is not ABCMeta can be built without the method."""
    checked = 0
    for module, tree, text in modules():
        for node in ast.walk(tree) if "@abstractmethod" in text else ():
            body = node.body if isinstance(node, ast.ClassDef) else ()
            names = {each.name for each in body if "abstractmethod" in decorators(each)}
            if names:
                kind = getattr(importlib.import_module(module), node.name)
                assert names <= getattr(kind, "__abstractmethods__", set()), f"{module}.{node.name} is no ABC"
                checked += len(names)
    assert checked >= 20


def decorators(node: ast.AST) -> set[str]:
    return {ast.unparse(each) for each in getattr(node, "decorator_list", [])}


def test_tests_are_of_readable_size():
    texts = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py")}
    assert [result for name, text in texts.items() for result in violations(sizes, name, text)] == []


LONG = "def f():\n" + "    x = 1\n" * 50


@pytest.mark.parametrize(
    ("rule", "module", "text"),
    [
        (layers, "mt.ops.new", "from mt.models.base import x"),
        (layers, "mt.ops.new", "import numpy"),
        (layers, "mt.models.new", "from mt import search"),
        (layers, "mt.errors", "import mt.device"),
        (layers, "mt.training.new", "def f():\n    from mt.cli.command import compose"),
        (layers, "data_prep.new", "from mt.models.seq2seq import Seq2Seq"),
        (doors, "mt.training.new", "from omegaconf import OmegaConf"),
        (doors, "mt.training.train", "from torch.utils.tensorboard import SummaryWriter"),
        (no_state, "mt.models.new", "class A:\n    def step(self):\n        self.last = 1"),
        (no_state, "mt.models.new", "class A:\n    def step(self):\n        a, self.b = 1, 2"),
        (no_state, "mt.models.new", "class A:\n    def step(self):\n        self.register_buffer('x', y)"),
        (no_state, "mt.models.new", "def f():\n    global x"),
        (no_kwargs, "mt.new", "def f(**options): ..."),
        (no_kwargs, "mt.new", "f = lambda **options: options"),
        (no_type_tests, "mt.search.new", "if type(model) is MoChA: ..."),
        (no_type_tests, "mt.training.new", "from mt.models.attention import Global\nisinstance(a, (int, Global))"),
        (no_type_tests, "mt.training.new", "from mt.models.attention import Global\nmatch a:\n    case Global(): ..."),
        (no_type_tests, "mt.training.new", "if config.attention.name == 'mocha': ..."),
        (sizes, "mt.new", LONG),
        (sizes, "mt.new", "x = 1\n" * 401),
        (sizes, "mt.new", "class A:\n    def __init__(self, a, b, c, d, *, e, f, g, h): ..."),
        (no_packing, "mt.new", "a, b = x, y"),
        (no_packing, "mt.new", "self.a, self.b = 0, []"),
        (no_machine, "mt.models.new", "if torch.compiler.is_compiling(): ..."),
        (no_machine, "mt.models.new", "os.environ['A']"),
        (no_machine, "mt.decoding.new", "torch.is_autocast_enabled('cpu')"),
        (no_machine, "mt.ops.new", "from mt.kernels.processor import processor"),
    ],
)
def test_a_rule_catches(rule: Rule, module: str, text: str):
    assert violations(rule, module, text)


def test_names_may_be_swapped_and_unpacked():
    assert not violations(no_packing, "mt.new", "a, b = b, a\na, b = f(x)\na, b = b, a + b")


def test_an_exception_says_why():
    assert not violations(sizes, "mt.new", LONG.replace("def f():", "def f():  # rule: one table, read as a whole"))
    assert not violations(sizes, "mt.new", "# rule: one table, read as a whole\n" + "x = 1\n" * 401)
