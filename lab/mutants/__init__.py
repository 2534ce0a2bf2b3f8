"""Mutants of protocol and logs: which changes of the code no test notices; `python -m lab.mutants --help`."""
