import os
import subprocess
import sys

import numpy as np
import pytest
import torch

from mt.common.memory import give_back
from mt.device import autocast, choose, has_bfloat16, peak_memory, reset_peak_memory
from mt.distributed import ProcessGroup
from mt.kernels.processor import processor
from tests.refusals.sentences import require_refusal


def test_auto_takes_what_is_there() -> None:
    assert choose("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")
    assert choose("cpu") == torch.device("cpu")


@pytest.mark.parametrize("name", ["cuda:99", "gpu", "cuda:", "xla", ""])
def test_a_device_that_is_absent_or_unknown_is_refused(name: str) -> None:
    absent = "is not on this machine: choose device=auto or device=cpu$"
    unknown = "is an invalid choice: .*choices: auto, cpu, cuda, cuda:1, "
    require_refusal(lambda: choose(name), f"^device={name} {absent if name == 'cuda:99' else unknown}")


FLAGS = "(torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32)"


def test_an_import_leaves_precision_and_warnings_as_they_are_and_loads_no_compiler() -> None:
    rest = "len(warnings.filters), signal.getsignal(signal.SIGINT), {**os.environ}"
    program = f"import os, signal, sys, torch, warnings\nstate = lambda: ({FLAGS}, {rest})\nbefore = state()\n"
    program += "import mt.ops, mt.kernels.additive\nassert not {'numba', 'triton'} & {*sys.modules}\n"
    for module in ("mt.device", "mt.distributed", "mt.models.seq2seq", "mt.cli.training"):
        program += f"import {module}\nassert before == state(), {module!r}\n"
    environment = os.environ | {"TORCH_ALLOW_TF32_CUBLAS_OVERRIDE": "1"}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)


def test_a_gpu_that_is_chosen_computes_in_full_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen: list[int] = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "set_device", chosen.append)
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", True)
    assert choose("cpu").type == "cpu" and torch.backends.cudnn.allow_tf32
    assert choose("cuda:1") == ProcessGroup(1, 2, 1).device("auto") == torch.device("cuda:1")
    assert not torch.backends.cudnn.allow_tf32 and chosen == [1]


def test_precision_of_products() -> None:
    matrix = torch.ones(2, 2)
    onednn = torch.backends.mkldnn.enabled
    with autocast(torch.device("cpu"), "fp16"):
        assert (matrix @ matrix).dtype == torch.float16 and not torch.backends.mkldnn.enabled
    assert torch.backends.mkldnn.enabled == onednn
    with autocast(torch.device("cpu"), "fp32"):
        assert (matrix @ matrix).dtype == torch.float32


@pytest.mark.parametrize("supported", [False, True])
def test_without_instructions_for_bfloat16_it_is_computed_in_float32(monkeypatch: pytest.MonkeyPatch, supported: bool):
    monkeypatch.setattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: supported)
    used = supported and not processor().bfloat16_is_slow
    matrix = torch.ones(2, 2)
    with autocast(torch.device("cpu"), "bf16"):
        assert (matrix @ matrix).dtype == (torch.bfloat16 if used else torch.float32)
    assert has_bfloat16(torch.device("cuda"))


CPU = torch.device("cpu")
MEBIBYTE = 2**20


@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="this system cannot begin anew")
def test_peak_memory_knows_what_is_no_longer_there_until_it_begins_anew() -> None:
    give_back()  # what tests before have left would be used again
    reset_peak_memory(CPU)
    before = peak_memory(CPU)
    assert 20 * MEBIBYTE < before < 2**40
    # Written to, so that it is resident, and given back.
    assert np.ones(128 * MEBIBYTE, np.uint8).all()
    assert peak_memory(CPU) > before + 120 * MEBIBYTE
    reset_peak_memory(CPU)
    assert peak_memory(CPU) < before + 60 * MEBIBYTE
