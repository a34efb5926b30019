"""What is read of the processor that Linux describes."""

import pytest

from mt.kernels.processor import first_processor


@pytest.mark.parametrize(
    ("text", "amd", "mkl_is_slow", "bfloat16_is_slow"),
    [
        ("", False, False, False),
        ("processor\t: 0\nFeatures\t: fp asimd\n\n", False, False, False),
        ("vendor_id\t: AuthenticAMD\nflags\t\t: sse avx2\n\nflags: avx512f\n", True, False, False),
        ("vendor_id\t: AuthenticAMD\nflags\t\t: sse avx512f avx512_bf16\n\n", True, True, False),
        ("vendor_id\t: GenuineIntel\nflags\t\t: sse avx512f avx512_bf16\n\n", False, False, True),
        ("vendor_id\t: GenuineIntel\nflags\t\t: avx512f avx512_bf16 amx_bf16\n\n", False, False, False),
    ],
)
def test_what_is_slow_on_the_first_processor(text: str, amd: bool, mkl_is_slow: bool, bfloat16_is_slow: bool) -> None:
    known = first_processor(text)
    assert (known.amd, known.mkl_is_slow, known.bfloat16_is_slow) == (amd, mkl_is_slow, bfloat16_is_slow)
