"""What pyproject.toml cannot say: conf/ of a clone is within the package `mt` of the wheel, which reads it."""

from setuptools import find_packages, setup

setup(
    packages=[*find_packages(include=["mt", "mt.*", "data_prep", "data_prep.*"]), "mt.conf"],
    package_dir={"mt.conf": "conf"},
    package_data={
        "mt": ["py.typed"],
        "mt.comparison": ["*.html"],
        "mt.explorer": ["*.js", "*.css"],
        "mt.markup": ["*.txt"],
        "mt.conf": ["**/*.yaml"],
        "data_prep": ["**/*.txt", "*.json"],
    },
)
