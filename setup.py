"""What pyproject.toml cannot say: folders of a clone are packages of `mt` in the wheel, under names of its own."""

from setuptools import find_packages, setup

PARTS = {"mt.conf": "conf", "mt.scripts": "scripts", "mt.scripts.benchmarks": "scripts/benchmarks"}

setup(
    packages=[*find_packages(include=["mt", "mt.*", "data_prep", "data_prep.*"]), *PARTS],
    package_dir=PARTS,
    package_data={"mt": ["py.typed"], "mt.conf": ["**/*.yaml"], "data_prep": ["**/*.txt"]},
)
