"""The one door to ONNX Runtime: the graphs of an exported folder, verified and run."""

import os
from pathlib import Path
from typing import Any

import numpy as np

from mt.errors import UserError
from mt.input_files import read_json, sha256
from mt.onnx.manifest import ENCODER, FORMAT, MANIFEST, STEP, Manifest
from mt.onnx.search import Advance, Step
from mt.parsing import parse

_REMEDY = "copy the folder again"


class Networks:
    """The encoder and the step of one model, on the CPU."""

    def __init__(self, folder: Path) -> None:
        """Raises UserError where the folder is damaged, of another format, or ONNX Runtime is not installed."""
        self.manifest = _verified(folder)
        # Threads of both would wait for work at the same time, and take the processors from each other; the encoder is
        # a tenth of the work, most of it one step after another.
        self._encoder, self._step = _session(folder / ENCODER, 1), _session(folder / STEP, _threads())
        self._asked = {each.name for each in self._step.get_inputs()}
        self._told = [each.name for each in self._encoder.get_outputs()]

    def read(self, ids: np.ndarray, beam_size: int) -> Advance:
        """Encodes a source; returns what takes its steps, of up to `beam_size` hypotheses. ids: [S], EOS last."""
        found = dict(zip(self._told, self._encoder.run(None, {"source": ids[None].astype(np.int64)}), strict=True))
        # Repeated once: a step of fewer hypotheses sees the first rows of it.
        memory = {name: found[name].repeat(beam_size, 0) for name in self._asked if name.startswith("memory.")}
        names = sorted((name for name in found if name.startswith("state.")), key=lambda name: int(name[6:]))
        state, hard = [found[name] for name in names], self.manifest.hard

        def advance(tokens: list[int], rows: list[int]) -> Step:
            nonlocal state
            if rows != list(range(len(state[0]))):  # else each continues itself, as in greedy search
                state = [part[rows] for part in state]
            given = {name: part[: len(rows)] for name, part in memory.items()} | {"tokens": np.array(tokens)}
            given |= {name: part for name, part in zip(names, state, strict=True) if name in self._asked}
            log_probs, weights, *rest = self._step.run(None, given)
            stops, first = (rest.pop(0), rest.pop(0)) if hard else (None, None)
            state = rest
            return Step(log_probs, weights, stops, first)

        return advance


def _verified(folder: Path) -> Manifest:
    path = folder / MANIFEST
    if not path.is_file():
        raise UserError(
            f"{folder} holds no graphs for engine=onnx: make them with scripts/export.py RUN DIR --format onnx, and "
            "give DIR"
        )
    plain = read_json(path, _REMEDY)
    if (known := plain.get("format")) != FORMAT:
        raise UserError(
            f"{folder} was exported in format {known}, and this version reads {FORMAT}: export the run again"
        )
    manifest = parse(plain, Manifest, str(path))
    for name, expected in manifest.sha256.items():
        if Path(name).name != name or not (folder / name).is_file():
            raise UserError(f"{folder}/{name} is missing: {_REMEDY}")
        if sha256(folder / name) != expected:
            raise UserError(f"{folder}/{name} is not the file that was exported (its SHA-256 differs): {_REMEDY}")
    if missing := {ENCODER, STEP, "config.json"} - set(manifest.sha256):
        raise UserError(f"{path} lists no SHA-256 of {min(missing)}: {_REMEDY}")
    return manifest


def _threads() -> int:
    """For a step of a single sentence, whose products are shared by as many as OMP_NUM_THREADS says, otherwise two."""
    asked = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0]  # OpenMP takes one for each level of nesting
    return int(asked) if asked.isdecimal() else min(2, os.cpu_count() or 1)


def _session(path: Path, threads: int) -> Any:
    try:
        import onnxruntime  # Not above: who decodes with torch needs none.
    except ImportError as error:
        raise UserError(f"engine=onnx needs ONNX Runtime ({error}): pip install onnxruntime") from None
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors alone
    options.intra_op_num_threads = threads
    try:
        return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # it has a class for each kind of fault, under no common one
        raise UserError(f"{path} cannot be loaded ({' '.join(str(error).split())[:200]}): {_REMEDY}") from None
