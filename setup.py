"""What pyproject.toml cannot say: parts of a clone that are packages of `mt` in the wheel, under names nobody else has."""

from setuptools import find_packages, setup

PARTS = {"mt.conf": "conf", "mt.scripts": "scripts"}

setup(
    packages=[*find_packages(include=["mt", "mt.*", "data_prep", "data_prep.*"]), *PARTS],
    package_dir=PARTS,
    package_data={"mt.conf": ["**/*.yaml"]},
)
