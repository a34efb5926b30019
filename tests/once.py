"""Command lines of tests: common options, and those of one test before them."""


def once(*arguments: str) -> list[str]:
    """Returns a command line with each option once: the last of those that are given more than once."""
    return list({argument.partition("=")[0]: argument for argument in arguments}.values())
