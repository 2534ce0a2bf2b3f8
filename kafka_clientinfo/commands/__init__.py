"""The commands of `kafka-clientinfo`: one module each, with its arguments, its text and its JSON."""

from types import ModuleType

from . import build, ingest, maintain, parse, run, upgrade, verify, violations

COMMANDS: dict[str, ModuleType] = {
    module.__name__.rpartition(".")[2]: module
    for module in (run, ingest, build, parse, upgrade, violations, maintain, verify)
}
"""By name, in the order of the help: each has `HELP`, `add_arguments(parser)` and `execute(context)`, which returns the exit code."""

__all__ = ["COMMANDS"]
