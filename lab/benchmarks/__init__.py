"""Benchmarks of the package beside other ways to the same rows: `python -m lab.benchmarks`."""
