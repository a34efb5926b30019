"""What is read of the processor that Linux describes."""

from pathlib import Path

import pytest

from mt.kernels.processor import Processor, first_processor, processor


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "vendor_id\t: GenuineIntel\nflags\t\t: sse avx512f\n\n",
            Processor("GenuineIntel", frozenset({"sse", "avx512f"})),
        ),
        (
            "vendor_id\t: AuthenticAMD\nflags\t\t: sse\n\nflags: avx512f\n",
            Processor("AuthenticAMD", frozenset({"sse"})),
        ),
        ("processor\t: 0\nFeatures\t: fp asimd\n\n", Processor()),
        ("", Processor()),
    ],
)
def test_the_first_processor_is_known(text: str, expected: Processor) -> None:
    assert first_processor(text) == expected


def test_this_machine_is_described_without_an_error() -> None:
    path = Path("/proc/cpuinfo")
    assert processor() == (first_processor(path.read_text()) if path.exists() else Processor())


@pytest.mark.parametrize(
    ("vendor", "instructions", "mkl_is_slow", "bfloat16_is_slow"),
    [
        ("", "", False, False),
        ("AuthenticAMD", "avx2", False, False),
        ("AuthenticAMD", "avx512f avx512_bf16", True, False),
        ("GenuineIntel", "avx512f avx512_bf16", False, True),
        ("GenuineIntel", "avx512f avx512_bf16 amx_bf16", False, False),
    ],
)
def test_what_is_slow(vendor: str, instructions: str, mkl_is_slow: bool, bfloat16_is_slow: bool) -> None:
    known = Processor(vendor, frozenset(instructions.split()))
    assert (known.mkl_is_slow, known.bfloat16_is_slow) == (mkl_is_slow, bfloat16_is_slow)
    assert known.amd == (vendor == "AuthenticAMD")
