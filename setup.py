"""What pyproject.toml cannot say: folders of a clone are packages of `mt` in the wheel, which has no other name.

There `data_prep` is `mt.data_prep`, so that nothing of anybody else's is in its way, and every import of it says so. An
editable installation leaves the clone as it is.
"""

import re
import sys
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

EDITABLE = "editable_wheel" in sys.argv
PREPARATION = find_packages(include=["data_prep", "data_prep.*"])
PARTS = {"mt.conf": "conf", "mt.scripts": "scripts", "mt.data_prep": "data_prep"}
IMPORT = re.compile(r"^(\s*(?:from|import) )data_prep\b", re.MULTILINE)


class BuildModules(build_py):
    """Copies modules as setuptools does, and names `data_prep` in their imports as it is called in the wheel."""

    def build_module(self, module, module_file, package):
        path, copied = super().build_module(module, module_file, package)
        file = Path(path)
        file.write_text(IMPORT.sub(r"\1mt.data_prep", file.read_text(encoding="utf-8")), encoding="utf-8")
        return path, copied


setup(
    packages=[
        *find_packages(include=["mt", "mt.*"]),
        "mt.conf",
        *(f"mt.{name}" for name in find_packages(include=["scripts", "scripts.*"])),
        *(f"mt.{name}" for name in PREPARATION),
        *(PREPARATION if EDITABLE else ()),
    ],
    package_dir=PARTS,
    package_data={"mt": ["py.typed"], "mt.conf": ["**/*.yaml"], "mt.data_prep": ["**/*.txt"]},
    cmdclass={"build_py": BuildModules},
)
