"""Codes of languages as files write them: `zh-CN`, `zh_cn` and `ZH-CN` are one (RFC 5646, section 2.1.1)."""

from collections.abc import Iterable

from mt.errors import UserError


def normalised(code: str) -> str:
    """Returns the one spelling of a code: `zh-cn`."""
    return code.strip().lower().replace("_", "-")


def choose(asked: str, known: Iterable[str], where: str) -> str | None:
    """Returns the code among those that are known which is meant: as it is written, else in another spelling, else the
    one language or script with a region: `zh` means `zh-CN`, and `zh-CN` means `zh-Hans-CN` (RFC 4647, section 3.3.2).

    None where there is none. where: what to call the place that knows them, in an error.

    Raises:
        UserError: several are meant.
    """
    codes = [*dict.fromkeys(known)]
    if asked in codes:
        return asked
    wanted = normalised(asked)
    meant = [code for code in codes if normalised(code) == wanted] or [code for code in codes if _means(wanted, code)]
    if len(meant) > 1:
        raise UserError(
            f"{where} has {' and '.join(sorted(meant))}, and {asked} may be either: set dataset.source and "
            "dataset.target to one of them"
        )
    return meant[0] if meant else None


def _means(wanted: str, code: str) -> bool:
    """Whether all parts of a code are among those of another, in their order, and both begin with one language."""
    language, *subtags = wanted.split("-")
    parts = iter(normalised(code).split("-"))
    return bool(language) and next(parts) == language and all(subtag in parts for subtag in subtags)
