"""Command lines of tests: common options, and those of one test before them."""


def once(*arguments: str) -> list[str]:
    """A command line in which those at the end go before the earlier ones of the same options, which are left out."""
    return list({argument.partition("=")[0]: argument for argument in arguments}.values())
