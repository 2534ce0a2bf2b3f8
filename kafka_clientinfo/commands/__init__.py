"""The commands of `kafka-clientinfo`: one module each, with its arguments, its text and its JSON."""

from types import ModuleType

from . import (
    build,
    clients,
    completion,
    connection,
    diff,
    ingest,
    maintain,
    parse,
    report,
    run,
    scan,
    sql,
    summary,
    tables,
    upgrade,
    verify,
    violations,
)

_IN_ORDER = (
    run, ingest, build, scan, parse, summary, clients, connection, upgrade, violations, diff, report, tables, sql, maintain,
    verify, completion,
)  # fmt: skip
COMMANDS: dict[str, ModuleType] = {module.__name__.rpartition(".")[2]: module for module in _IN_ORDER}
"""By name, in the order of the help: each has `HELP`, `add_arguments(parser)` and `execute(context)`, which returns the exit code; some
have `EXAMPLES`, command lines for their help, and `STOPPED`, what they say at Ctrl-C; the others say that nothing was changed."""

__all__ = ["COMMANDS"]
