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
    def intel(self) -> bool:
        return self.vendor == "GenuineIntel"


@cache
def processor() -> Processor:
    """Returns what is known of the first processor: nothing on systems other than Linux on x86."""
    try:
        lines = Path("/proc/cpuinfo").read_text().partition("\n\n")[0].splitlines()
    except OSError:  # another system
        return Processor()
    fields = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return Processor(fields.get("vendor_id", ""), frozenset(fields.get("flags", "").split()))
