"""Finds the packages; schemas/ and conf/, which stand beside the package in a checkout, go inside it. The rest is in pyproject.toml."""

from setuptools import find_namespace_packages, find_packages, setup

DATA = ("schemas", "conf")

setup(
    packages=[
        *find_packages(include=["kafka_clientinfo*", "pyspark_kafka_request_log"]),
        *(f"kafka_clientinfo.{name}" for name in find_namespace_packages(include=[f"{folder}*" for folder in DATA])),
    ],
    package_dir={f"kafka_clientinfo.{folder}": folder for folder in DATA},
)
