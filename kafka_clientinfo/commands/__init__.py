"""The commands of `kafka-clientinfo`: one module each, with its arguments, its text and its JSON."""

from importlib import import_module

COMMANDS = {
    name: import_module(f"{__name__}.{name}")
    for name in (
        "run", "ingest", "build", "scan", "parse", "summary", "clients", "topics", "activity", "connection", "upgrade",
        "violations", "diff", "watch", "report", "runs", "tables", "sql", "maintain", "forget", "verify", "completion",
    )
}  # fmt: skip
"""The command modules by name, in the order of the help.

Each has `HELP`, `EXAMPLES` (command lines for its help), `add_arguments(parser)` and `execute(context)`, which returns the
exit code, or None for 0. Some have `STOPPED` (their message at Ctrl-C; by default it says that nothing was changed).
"""
