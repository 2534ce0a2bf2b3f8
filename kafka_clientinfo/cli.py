"""The command kafka-clientinfo; the jobs under jobs/ are the same commands with a session of their own.

Exit codes: 0 done, 1 failure (or a warehouse that `verify` finds faults in), 2 usage, 3 an upgrade would break clients.
"""

import argparse
import io
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import __version__, console, failures
from .errors import ClientInfoError, ConfigError
from .settings import Settings, load_settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from .pipeline import RunReport

_FAILURES = frozenset({"unreadable", "rewritten"})
_BREAKS = 3
_VIOLATIONS = "list who broke which rule, with an expression that finds it in the log"
_MAINTAIN = "compact and cluster the tables, delete unused files and, with retention, requests of old connections"
_VERIFY = "check that the tables are what they should be (exit code 1 where they are not)"
_UPGRADE = "tell who would break at another release of Kafka (exit code 3 when somebody would)"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="kafka-clientinfo",
        description="Rebuild every client connection from Kafka's request log, as Delta tables.",
    )
    parser.add_argument("--version", action="version", version=f"kafka-clientinfo {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, text in (
        ("run", "read new log bytes and build all tables"),
        ("ingest", "only read: requests, rejected_records, ingested_files"),
        ("build", "only build the other tables, from requests"),
    ):
        command = commands.add_parser(name, help=text, description=text)
        if name != "build":
            command.add_argument(
                "logs",
                nargs="+",
                metavar="LOGS",
                help="log files, folders (every kafka-request.log* below) or globs; also as URIs (s3://bucket/logs)",
            )
        _common(command, "name of the cluster that wrote the logs")
    _upgrade_arguments(commands.add_parser("upgrade", help=_UPGRADE, description=_UPGRADE))
    _violations_arguments(commands.add_parser("violations", help=_VIOLATIONS, description=_VIOLATIONS))
    _maintain_arguments(commands.add_parser("maintain", help=_MAINTAIN, description=_MAINTAIN))
    _common(commands.add_parser("verify", help=_VERIFY, description=_VERIFY))
    return parser


def _upgrade_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("--target", metavar="RELEASE", help="release of Kafka, up or down, such as 4.0.1")
    command.add_argument("--all-targets", action="store_true", help="every known release as a matrix")
    _common(command, "only this cluster")


def _violations_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("--rule", action="append", default=[], metavar="R", help="only this rule; may be repeated")
    command.add_argument("--since", metavar="T", help="only what happened at this time (ISO 8601, UTC) or later")
    _common(command, "only this cluster")


def _maintain_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--retention-days", type=int, metavar="N", help="delete requests of connections that ended N days ago; 0: none"
    )
    command.add_argument(
        "--vacuum-hours", type=int, metavar="H", help="delete files that no table has held for H hours (168)"
    )
    _common(command)


def _common(command: argparse.ArgumentParser, cluster: str | None = None) -> None:
    """What every command takes; `cluster` is what --cluster means for it, where it does."""
    command.add_argument("--warehouse", required=True, metavar="DIR", help="folder or URI of the Delta tables")
    if cluster is not None:
        command.add_argument("--cluster", metavar="NAME", help=cluster)
    command.add_argument("--conf", metavar="FILE", help="settings in TOML; see conf/local.toml")
    command.add_argument("--json", action="store_true", help="print one JSON object instead of text")


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
        code = _COMMANDS[arguments.command](arguments, spark)
        _forget_spark_log()
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
        where = ["KAFKA_CLIENTINFO_DEBUG=1 shows where", *(f"Spark's log is {path}" for path in _spark_logs)]
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


def _settings(arguments: argparse.Namespace, spark: "SparkSession | None") -> Settings:
    conf = dict(spark.sparkContext.getConf().getAll()) if spark is not None else {}
    return load_settings(arguments.conf, conf, cluster=arguments.cluster)


_spark_logs: list[str] = []
"""Where the sessions that this process has started write; removed when a command goes well."""


def _forget_spark_log() -> None:
    while _spark_logs:
        Path(_spark_logs.pop()).unlink(missing_ok=True)


def _session(settings: Settings) -> "SparkSession":
    from .engine.session import local_session

    descriptor, log_file = tempfile.mkstemp(prefix="kafka-clientinfo-spark-", suffix=".log")
    os.close(descriptor)
    _spark_logs.append(log_file)
    return local_session(settings, log_file=log_file)


def _step(name: str) -> Callable[[argparse.Namespace, "SparkSession | None"], int]:
    def step(arguments: argparse.Namespace, spark: "SparkSession | None") -> int:
        settings = _settings(arguments, spark)
        show = None if arguments.json else console.progress()
        if show is not None:
            show("starting Spark")
        session = spark or _session(settings)
        from . import pipeline

        action: Callable[..., RunReport] = getattr(pipeline, name)
        inputs = [arguments.logs] if name != "build" else []
        started = time.monotonic()
        report = action(session, *inputs, arguments.warehouse, settings, show)
        elapsed = time.monotonic() - started
        if show is not None:
            sys.stderr.write("\r\x1b[K")
        print(_as_json(report) if arguments.json else _as_text(report, elapsed, session, arguments.warehouse))
        failed = any(problem.kind in _FAILURES for problem in report.problems) or any(f["error"] for f in report.files)
        return 1 if failed else 0

    return step


def _upgrade(arguments: argparse.Namespace, spark: "SparkSession | None") -> int:
    from .tables.broker_releases import release

    if arguments.target is None and not arguments.all_targets:
        raise ConfigError("no target is given; name one with --target, or use --all-targets")
    if arguments.target is not None:
        release(arguments.target)  # before Spark starts
    session = spark or _session(_settings(arguments, spark))
    from . import upgrade

    found = upgrade.impact(session, arguments.warehouse, arguments.target, arguments.all_targets, arguments.cluster)
    print(json.dumps(asdict(found), ensure_ascii=True, default=str) if arguments.json else upgrade.as_text(found))
    return _BREAKS if found.breaks else 0


def _violations(arguments: argparse.Namespace, spark: "SparkSession | None") -> int:
    from . import listing

    chosen = listing.Chosen.of(arguments.rule, arguments.since, arguments.cluster)  # before Spark starts
    session = spark or _session(_settings(arguments, spark))
    rows, total = listing.violations(session, arguments.warehouse, chosen)
    print(listing.as_json(rows, total) if arguments.json else listing.as_text(rows, total))
    return 0


def _maintain(arguments: argparse.Namespace, spark: "SparkSession | None") -> int:
    conf = dict(spark.sparkContext.getConf().getAll()) if spark is not None else {}
    settings = load_settings(
        arguments.conf, conf, retention_days=arguments.retention_days, vacuum_hours=arguments.vacuum_hours
    )
    show = None if arguments.json else console.progress()
    session = spark or _session(settings)
    from .lake import maintenance

    report = maintenance.maintain(session, arguments.warehouse, settings, show)
    if show is not None:
        sys.stderr.write("\r\x1b[K")
    print(json.dumps(asdict(report), ensure_ascii=True) if arguments.json else maintenance.as_text(report))
    return 0


def _verify(arguments: argparse.Namespace, spark: "SparkSession | None") -> int:
    conf = dict(spark.sparkContext.getConf().getAll()) if spark is not None else {}
    session = spark or _session(load_settings(arguments.conf, conf))
    from . import verification

    checks = verification.verify(session, arguments.warehouse)
    print(verification.as_json(checks) if arguments.json else verification.as_text(checks))
    return 0 if all(check.ok for check in checks) else 1


_COMMANDS: dict[str, Callable[[argparse.Namespace, "SparkSession | None"], int]] = {
    **{name: _step(name) for name in ("run", "ingest", "build")},
    "upgrade": _upgrade,
    "violations": _violations,
    "maintain": _maintain,
    "verify": _verify,
}


def _as_json(report: "RunReport") -> str:
    return json.dumps(asdict(report), ensure_ascii=True, default=str)


def _as_text(report: "RunReport", elapsed: float, spark: "SparkSession", warehouse: str) -> str:
    from .summary import findings

    parts = [_files(report, elapsed)]
    if report.tables:
        parts.append("Tables in " + console.safe(warehouse) + "\n" + _tables(report))
        parts += [
            f"{title}\n{console.columns(header, rows)}" for title, header, rows in findings(spark, warehouse) if rows
        ]
    return "\n\n".join(parts)


def _files(report: "RunReport", elapsed: float) -> str:
    read = sum(file["to_offset"] - file["from_offset"] for file in report.files)
    requests = sum(file["requests"] for file in report.files)
    lines = [
        f"Read {len(report.files)} files, {console.number(read)} bytes of log, {console.number(requests)} requests"
        f" in {elapsed:.1f} s; {len(report.unchanged)} files have nothing new."
    ]
    if report.too_late:
        lines.append(
            f"  too late: {console.number(report.too_late)} requests of connections that retention has deleted; not kept"
        )
    rows: list[Sequence[Any]] = [
        (f["broker"], f["requests"], f["rejected"], sum(f["ignored"].values()), f["pending_bytes"], f["path"])
        for f in report.files
    ]
    if rows:
        lines.append(console.columns(("broker", "requests", "rejected", "ignored", "waiting bytes", "path"), rows))
    lines += [
        f"  {problem.kind}: {console.safe(problem.path)}: {console.safe(problem.detail)}" for problem in report.problems
    ]
    lines += [f"  damaged: {console.safe(f['path'])}: {console.safe(f['error'])}" for f in report.files if f["error"]]
    return "\n".join(lines)


def _tables(report: "RunReport") -> str:
    return console.columns(("table", "rows"), list(report.tables.items()))
