"""The command kafka-clientinfo; the jobs under jobs/ are the same commands with a session of their own.

The exit codes are a part of the interface; docs/reference/exit-codes.md lists them.
"""

import argparse
import io
import os
import re
import shlex
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from difflib import get_close_matches
from itertools import takewhile
from typing import TYPE_CHECKING, Any, NoReturn

from . import __version__
from .commands import COMMANDS, FIRST, text_tables
from .commands.context import Context
from .errors import ClientInfoError, ConfigError, missing_extra
from .printable import argument
from .releases.broker_releases import other_release, release
from .spark.failures import failure_message

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DONE, FAILURE, USAGE, STOPPED = 0, 1, 2, 130
_UNCHANGED = "stopped; nothing was changed"
_QUOTE = "; quote the query, as in 'SELECT * FROM who_connects'"

_RELEASE = re.compile(r"v?\d+(\.\d+)*", re.ASCII)


class _Parser(argparse.ArgumentParser):
    """A parser that reports output errors, and names mistyped options in place of required ones.

    argparse ignores it if help cannot be written, as on a full disk.
    """

    _words: Sequence[str] = ()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse as argparse does, keep the words for the errors, and note as `own_parser` that of the command, if any."""
        self._words = sys.argv[1:] if args is None else list(args)
        arguments, unknown = super().parse_known_args(self._words, namespace)
        arguments.own_parser = getattr(arguments, "own_parser", self)  # the command's is the first to end
        return arguments, unknown

    def error(self, message: str) -> NoReturn:
        """End with the message; if required arguments are missing, name the words that were probably meant."""
        begin, separator, missing = message.partition("required: ")
        if separator and self._words:
            missing = ", ".join(map(self._with_typo, missing.split(", ")))
            loose = list(takewhile(lambda word: not word.startswith("-"), self._words))
            message = begin + separator + missing + (_QUOTE if _takes_query(self) and len(loose) > 1 else "")
        super().error(message)

    def _with_typo(self, option: str) -> str:
        names = (word.partition("=")[0] for word in self._words if word.startswith("--"))
        unknown = [name for name in names if not any(known.startswith(name) for known in _options(self))]
        near = get_close_matches(option, unknown, 1) if option.startswith("--") else []
        return f"{option} (there is {near[0]})" if near else option

    def format_help(self) -> str:
        if self._subparsers is None:
            return super().format_help()
        more = [name for name in COMMANDS if name not in FIRST]
        parts = [self.format_usage(), f"{self.description}\n", _listed("commands", FIRST), _listed("more", more)]
        return "\n".join([*parts, "kafka-clientinfo COMMAND --help shows the options of a command, with examples.\n"])

    def _print_message(self, message: str, file: Any = None) -> None:
        if message and file is not None and file is sys.stdout:
            text_tables.output(message.removesuffix("\n"))
        else:
            super()._print_message(message, file)


def command_line() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="kafka-clientinfo",
        description="Who connects to your Kafka brokers, and who breaks when you upgrade? Kafka's request logs say it.",
    )
    parser.add_argument("--version", action="version", version=f"kafka-clientinfo {__version__}")
    added = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, command in COMMANDS.items():
        below = "\n".join(["examples:", *(f"  kafka-clientinfo {example}" for example in command.EXAMPLES)])
        layout = argparse.RawDescriptionHelpFormatter
        one = added.add_parser(name, help=command.HELP, description=command.HELP, epilog=below, formatter_class=layout)
        command.add_arguments(one)
    parser.set_defaults(parser=parser)  # for the command `completion`
    return parser


def _listed(title: str, names: Sequence[str]) -> str:
    return "\n".join([f"{title}:", *(f"  {name:<12}{COMMANDS[name].HELP}" for name in names), ""])


def _unknown(words: Sequence[str], parser: argparse.ArgumentParser) -> str:
    options = _options(parser)
    meant = [near for word in words if word.startswith("--") for near in get_close_matches(word, options, 1)]
    if "--target" in options:
        meant += [f"--target {word}" for word in words if _RELEASE.fullmatch(word)]
    hint = f"; did you mean {meant[0]}?" if meant else ""
    if not meant and _takes_query(parser) and not words[0].startswith("-"):
        hint = _QUOTE
    return f"unrecognized arguments: {' '.join(words)}{hint}"


def _options(parser: argparse.ArgumentParser) -> list[str]:
    return [option for action in parser._actions for option in action.option_strings if option.startswith("--")]


def _takes_query(parser: argparse.ArgumentParser) -> bool:
    """Return whether the command takes a query in SQL, which a shell cuts into words unless it is quoted."""
    return any(action.metavar == "QUERY" for action in parser._actions)


def main(argv: Sequence[str] | None = None, spark: "SparkSession | None" = None) -> int:
    """Run a command and return its exit code."""
    try:
        if not (sys.argv[1:] if argv is None else argv):
            command_line().print_help()
            return USAGE
        arguments, unknown = command_line().parse_known_args(argv)
        if unknown:
            arguments.own_parser.error(_unknown(unknown, arguments.own_parser))
        following = _following(arguments)
    except SystemExit as stop:
        return int(stop.code or DONE)
    except ClientInfoError as error:
        return _fail(error, USAGE if isinstance(error, ConfigError) else FAILURE)
    context = Context(arguments, spark)
    try:
        _check(arguments)
        with context.showing_progress():
            code: int = COMMANDS[arguments.command].execute(context) or DONE
        context.forget_spark_log()
        if following and (context.has_news or arguments.then_writes_metrics):
            if not context.has_news:  # nothing rings
                following += ["--since", datetime.now(UTC).isoformat()]
            if arguments.then_watches_all:  # what runs of other clusters brought has rung after these
                following += ["--cluster", context.settings(cluster=arguments.cluster).cluster]
            code = main(following, context.session() if context.has_session else None) or code
        return code
    except (Exception, KeyboardInterrupt) as error:
        if isinstance(error, KeyboardInterrupt) or context.interrupted.is_set():
            context.forget_spark_log()
            return _fail(getattr(COMMANDS[arguments.command], "STOPPED", _UNCHANGED), STOPPED)
        if isinstance(error, ClientInfoError):
            return _fail(error, USAGE if isinstance(error, ConfigError) else FAILURE)
        if os.environ.get("KAFKA_CLIENTINFO_DEBUG"):
            raise
        if cause := missing_extra(error):
            return _fail(cause, FAILURE)
        where = ["KAFKA_CLIENTINFO_DEBUG=1 shows where"]
        if context.spark_log is not None:
            where.append(f"Spark's log is {context.spark_log}")
        return _fail(f"{failure_message(error, getattr(arguments, 'warehouse', ''))} ({'; '.join(where)})", FAILURE)


def _following(arguments: argparse.Namespace) -> list[str]:
    """Return the command line of --then, with the warehouse and the session of the call; empty without --then.

    Its --target becomes the argument `then_target`, for the answer of the run, `then_watches_all` is whether it watches
    the clusters of other runs, too, and `then_writes_metrics` whether it writes a file that must not grow old.
    """
    if getattr(arguments, "then", None) is None:
        return []
    try:
        words = shlex.split(arguments.then)
    except ValueError as error:
        raise ConfigError(f"--then {arguments.then!r} cannot be read: {error}") from None
    for option in ("warehouse", "conf"):
        if (given := getattr(arguments, option)) is not None:
            words += [f"--{option}", given]
    following, unknown = command_line().parse_known_args(words)
    if unknown:
        following.own_parser.error(_unknown(unknown, following.own_parser))
    arguments.then_writes_metrics = getattr(following, "metrics", None) is not None
    arguments.then_watches_all = following.command == "watch" and following.cluster is None
    if (target := getattr(following, "target", None)) is not None:
        arguments.then_target = release(target).name
    return words


def _check(arguments: argparse.Namespace) -> None:
    """Refuse an invalid warehouse, cluster or release before anything is opened; put measured releases for others."""
    for option in ("warehouse", "cluster"):
        if (text := getattr(arguments, option, None)) is not None:
            argument(f"--{option}", text)
    if "warehouse" in arguments and arguments.warehouse.strip().rstrip(":/") in ("", "file", "dbfs"):
        raise ConfigError(f"--warehouse is {arguments.warehouse!r}; name a folder or URI for the Delta tables")
    arguments.asked_release = None
    for option in ("target", "upgrade"):
        if (asked := getattr(arguments, option, None)) is not None:
            measured, arguments.asked_release = release(asked), asked
            sentence = other_release(asked, measured)
            if sentence is not None and arguments.command != "watch":  # cron would post it each hour
                text_tables.complain(sentence)
            setattr(arguments, option, measured.name)


def entry(argv: Sequence[str] | None = None, spark: "SparkSession | None" = None) -> None:
    """Run a command as this process's only work; see `main`.

    Raises:
        SystemExit: with the exit code, if that is not 0. On success this returns, as Databricks counts any SystemExit
            as a failed task.
    """
    _open_streams()
    code = main(argv, spark)
    try:
        text_tables.output()
    except ClientInfoError as error:
        code = _fail(error, FAILURE)
    if code:
        sys.exit(code)


def job(command: str) -> None:
    """Run a command with this process's arguments in the active Spark session, or in a new one; see `entry`."""
    from pyspark.sql import SparkSession

    session = SparkSession.builder.appName(f"kafka_clientinfo {command}").getOrCreate()
    entry([command, *sys.argv[1:]], session)


def _open_streams() -> None:
    """Open closed standard streams on the null device, as the next file to be opened would take their number.

    If standard output is closed, it is opened for reading only, so that writing to it fails and is reported.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDONLY if descriptor == 1 else os.O_RDWR)  # takes the lowest free number
    sys.stdout = sys.stdout or open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a client id must not fail the print on a terminal without UTF-8


def _fail(error: object, code: int) -> int:
    text_tables.complain(error)
    return code
