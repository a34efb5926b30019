"""The kind of this machine's processor, by which strategies are chosen."""

from functools import cache
from pathlib import Path
from typing import NamedTuple


class Processor(NamedTuple):
    vendor: str = ""
    """AuthenticAMD or GenuineIntel, as processors name themselves."""
    instructions: frozenset[str] = frozenset()
    """The sets of instructions, by the names that Linux gives them: avx512f, amx_bf16."""

    @property
    def amd(self) -> bool:
        return self.vendor == "AuthenticAMD"

    @property
    def mkl_is_slow(self) -> bool:
        """Whether MKL computes with vectors of 256 bits where there are 512 (see `linear.matrix_product`)."""
        return self.amd and "avx512f" in self.instructions

    @property
    def bfloat16_is_slow(self) -> bool:
        """Whether products in bfloat16 are slower than in float32. On Intel's processors they are fast by AMX alone,
        which virtual machines may hide. By AVX-512 a product takes 1.7 times as long as in float32."""
        return self.vendor == "GenuineIntel" and "amx_bf16" not in self.instructions


@cache
def processor() -> Processor:
    """Returns this machine's first processor, without any facts on systems other than Linux on x86."""
    try:
        return first_processor(Path("/proc/cpuinfo").read_text())
    except OSError:  # another system
        return Processor()


def first_processor(cpuinfo: str) -> Processor:
    """Returns the first processor. cpuinfo: the text of /proc/cpuinfo."""
    # The processors of a machine are taken to be alike.
    lines = cpuinfo.partition("\n\n")[0].splitlines()
    fields = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return Processor(fields.get("vendor_id", ""), frozenset(fields.get("flags", "").split()))
