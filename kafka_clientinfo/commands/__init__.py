"""The commands of `kafka-clientinfo`: one module each, with its arguments, its text and its JSON."""

from importlib import import_module

FIRST = ("scan", "run", "upgrade", "report", "clients", "topics", "activity", "violations", "diff", "watch")
"""The commands that help lists first; the others follow under `more`."""
COMMANDS = {
    name: import_module(f"{__name__}.{name}")
    for name in (
        *FIRST, "summary", "connection", "sql", "tables", "runs", "ingest", "build", "parse", "maintain", "forget", "verify",
        "completion",
    )
}  # fmt: skip
"""The command modules by name, in the order of the help.

Each has `HELP`, `EXAMPLES` (command lines for its help), `add_arguments(parser)` and `execute(context)`, which returns the
exit code, or None for 0. Some have `STOPPED` (their message at Ctrl-C; by default it says that nothing was changed).
"""
