"""The metrics that can be computed here: METEOR needs a package and Java, which the tests do without."""

import shutil
from importlib.util import find_spec

from mt.metrics import METRICS

METEOR = find_spec("pycocoevalcap") is not None and shutil.which("java") is not None
USABLE = [name for name in METRICS if METEOR or name != "meteor"]
