"""The kind of this machine's processor, on which the faster way to a product depends."""

from functools import cache
from pathlib import Path
from typing import NamedTuple


class Processor(NamedTuple):
    vendor: str = ""
    """As processors say it themselves: AuthenticAMD, GenuineIntel."""
    instructions: frozenset[str] = frozenset()
    """By the names that Linux gives them."""

    @property
    def amd(self) -> bool:
        return self.vendor == "AuthenticAMD"

    @property
    def intel(self) -> bool:
        return self.vendor == "GenuineIntel"


@cache
def processor() -> Processor:
    """The first one; nothing is known of it on systems other than Linux on x86."""
    try:
        lines = Path("/proc/cpuinfo").read_text().partition("\n\n")[0].splitlines()
    except OSError:  # another system
        return Processor()
    told = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return Processor(told.get("vendor_id", ""), frozenset(told.get("flags", "").split()))
