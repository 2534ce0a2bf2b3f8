"""The command kafka-clientinfo; the jobs under jobs/ are the same commands with a session of their own.

Exit codes: 0 done, 1 failure (or a warehouse that `verify` finds faults in), 2 usage, 3 an upgrade would break clients.
"""

import argparse
import io
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from . import __version__, console, failures
from .commands import COMMANDS
from .commands.context import Context, forget_spark_logs, spark_logs
from .errors import ClientInfoError, ConfigError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="kafka-clientinfo",
        description="Rebuild every client connection from Kafka's request log, as Delta tables.",
    )
    parser.add_argument("--version", action="version", version=f"kafka-clientinfo {__version__}")
    added = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, command in COMMANDS.items():
        command.add_arguments(added.add_parser(name, help=command.HELP, description=command.HELP))
    return parser


def main(argv: Sequence[str] | None = None, spark: "SparkSession | None" = None) -> int:
    """Run a command.

    Args:
        argv: arguments; those of the process when None.
        spark: a session to use; a local one is started when None.

    Returns:
        The exit code.
    """
    try:
        arguments = _parser().parse_args(argv)
    except SystemExit as stop:
        return int(stop.code or 0)
    try:
        _check_texts(arguments)
        code: int = COMMANDS[arguments.command].execute(Context(arguments, spark))
        forget_spark_logs()
        return code
    except ConfigError as error:
        return _fail(error, 2)
    except ClientInfoError as error:
        return _fail(error, 1)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # whoever read the output has had enough
        return 0
    except Exception as error:
        if os.environ.get("KAFKA_CLIENTINFO_DEBUG"):
            raise
        where = ["KAFKA_CLIENTINFO_DEBUG=1 shows where", *(f"Spark's log is {path}" for path in spark_logs())]
        return _fail(f"{failures.told(error, arguments.warehouse)} ({'; '.join(where)})", 1)
    except KeyboardInterrupt:
        return _fail("stopped; what was committed is whole, and the next run goes on from there", 1)


def _check_texts(arguments: argparse.Namespace) -> None:
    """Texts that no table or path can hold are told before Spark starts."""
    for option in ("warehouse", "cluster"):
        text = getattr(arguments, option, None)
        if text is not None:
            console.argument(f"--{option}", text)
    if not arguments.warehouse.strip():
        raise ConfigError("--warehouse is empty; name a folder or URI for the Delta tables")


def entry() -> None:
    """The console script."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a client id must not fail the print on a terminal without UTF-8
    sys.exit(main())


def _fail(error: object, code: int) -> int:
    print(f"kafka-clientinfo: {console.safe(error)}", file=sys.stderr)
    return code
