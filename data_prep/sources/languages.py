"""Codes of languages as files write them: `zh-CN`, `zh_cn` and `ZH-CN` are one (RFC 5646, section 2.1.1)."""

from collections.abc import Iterable

from mt.errors import UserError


def normalised(code: str) -> str:
    """Returns the one spelling of a code: `zh-cn`."""
    return code.strip().lower().replace("_", "-")


def choose(code: str, known: Iterable[str], where: str) -> str | None:
    """Returns the one of the known codes that a code means: the same, else one of another spelling, else the only one
    with a script or a region besides: `zh` means `zh-CN`, and `zh-CN` means `zh-Hans-CN` (RFC 4647, section 3.3.2).

    None where there is none. where: what to call the place that knows them, in an error.

    Raises:
        UserError: several are meant.
    """
    codes = [*dict.fromkeys(known)]
    if code in codes:
        return code
    spelling = normalised(code)
    meant = [one for one in codes if normalised(one) == spelling] or [one for one in codes if _means(spelling, one)]
    if len(meant) > 1:
        raise UserError(
            f"{where} has {' and '.join(sorted(meant))}, and {code} may be either: set dataset.source and "
            "dataset.target to one of them"
        )
    return meant[0] if meant else None


def _means(code: str, longer: str) -> bool:
    """Returns whether all parts of a code are among those of a longer one, in their order, and both begin with one
    language."""
    language, *subtags = code.split("-")
    parts = iter(normalised(longer).split("-"))
    return bool(language) and next(parts) == language and all(subtag in parts for subtag in subtags)
