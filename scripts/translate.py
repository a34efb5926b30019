"""`python scripts/translate.py ...` is `mt translate ...`: see --help."""

import mt.cli.startup  # isort: skip # noqa: F401 - Ctrl-C ends at once while modules load
from functools import partial

from mt.__main__ import call

main = partial(call, "translate")

if __name__ == "__main__":
    main()
