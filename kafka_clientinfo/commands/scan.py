"""The command `scan`: answers questions about a few logs, without Spark, Java or a warehouse.

The same rules as those of a run make the tables, in memory (see `kafka_clientinfo.scan`). The questions are those of `summary`,
`upgrade`, `topics` and `activity`. With --follow, the command answers them again and again while standard input goes on.
"""

import argparse
import logging
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from ..config.owners import Owners
from ..config.settings import Settings
from ..config.toml_files import shown
from ..errors import ConfigError, pip_install
from ..printable import argument, safe
from ..questions import topics
from ..questions.activity import BY
from ..questions.filters import Scope
from ..questions.impact import Impact, impact
from ..questions.presenter import counted
from ..questions.refused import Refusals, refusals
from ..questions.trust import info_logs, partly_logged, unseen_starts
from ..releases.broker_releases import NO_TARGET, releases
from ..warehouse.stages import log, say
from . import activity, text_tables, upgrade
from .context import SOMETHING_FOUND, Context, add_settings
from .output import Table, add_formats, as_text, ask, folded, is_text, limit_of, show
from .run import NO_REQUESTS, add_logs, not_read, totals
from .summary import SHOWN, findings

if TYPE_CHECKING:
    from ..ingestion.in_process import Reading
    from ..scan import MemoryTables

HELP = "answer from a few logs, without Java or a warehouse"
EXAMPLES = (
    "scan /var/log/kafka/kafka-request.log --upgrade 4.0.1",
    "scan - --follow --every 10 < kafka-request.log",
    "scan kafka-request.log --activity client --top p99",
)
STOPPED = "stopped before an answer; run it again, or with fewer logs"
_FIRST_ANSWER_SECONDS = 1
_SECONDS_ON_TERMINAL, _SECONDS_ELSEWHERE = 2, 60
_LEAST_EVERY, _MOST_EVERY = 0.1, 86_400
_BUSY = 4
"""The pause after an answer is at least this many times as long as the answer took, so that most time goes to reading."""
_LINES_WITHOUT_ROWS = 23
_MINIMUMS = (
    "Minimum versions of the policy are not judged here: they are compared in Java; `kafka-clientinfo run` does."
)
_CLEAR = "\x1b[H\x1b[2J"
_OF_FILE = ("path", "broker", "to_offset", "records", "requests", "rejected", "pending_bytes", "error")
_WHO = (
    "SELECT * FROM {who_connects} AS w "
    "ORDER BY connections DESC, cluster, client_software_name, client_software_version, principal, client_id"
)
_TABLES_OF_ANSWERS = (
    "connections", "violations", "api_usage", "upgrade_impact", "broker_api_versions", "topic_usage", "known_topics",
    "client_inventory",
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_logs(parser, "; or - for standard input")
    parser.add_argument(
        "--upgrade", "--target", metavar="RELEASE", help="also list who would break at this release of Kafka"
    )
    parser.add_argument("--topic", metavar="TOPIC", help="also list the clients of this topic, by its name or id")
    parser.add_argument(
        "--activity",
        choices=[name for name in BY if name != "owner"],
        help="also show requests, times, errors and throttling over time, by this",
    )
    activity.add_top(parser)
    parser.add_argument("--follow", action="store_true", help="answer again and again while standard input goes on")
    parser.add_argument(
        "--every",
        type=_seconds,
        metavar="SECONDS",
        help=f"time between two answers (on a terminal: {_SECONDS_ON_TERMINAL}, elsewhere: {_SECONDS_ELSEWHERE})",
    )
    add_settings(parser, "name of the cluster that wrote the logs")
    add_formats(parser, SHOWN)


def _seconds(text: str) -> float:
    with suppress(ValueError):
        if _LEAST_EVERY <= (seconds := float(text)) <= _MOST_EVERY:
            return seconds
    raise argparse.ArgumentTypeError(f"{shown(text)}; give seconds from {_LEAST_EVERY} to {_MOST_EVERY:,}")


def execute(context: Context) -> int:
    arguments = context.arguments
    if arguments.follow and arguments.logs != ["-"]:
        raise ConfigError("--follow is for standard input: pipe a log into `kafka-clientinfo scan - --follow`")
    if arguments.topic is not None:
        argument("--topic", arguments.topic)
    if arguments.top is not None and arguments.activity is None:
        raise ConfigError("--top is for --activity: add --activity client")
    settings = context.settings(cluster=arguments.cluster)
    try:
        import duckdb

        from ..scan import MemoryTables
    except ImportError as error:
        raise ConfigError(f"scan needs DuckDB ({error}); {pip_install('answers')}") from None
    with tempfile.TemporaryDirectory(prefix="kafka-clientinfo-scan-") as scratch:
        scan = _Scan(context, settings, lambda: MemoryTables(settings, scratch))
        try:
            scan.read()
            return scan.answer()
        except (duckdb.InterruptException, RuntimeError) as error:
            if "interrupt" in str(error).lower():  # DuckDB turns Ctrl-C during a query into this error
                raise KeyboardInterrupt from None
            raise


class _Scan:
    """One reading of logs into tables, with an answer at its end and, with --follow, also before."""

    _reading: "Reading"
    _tables: "MemoryTables"

    def __init__(self, context: Context, settings: Settings, new_tables: Callable[[], "MemoryTables"]) -> None:
        self._arguments = context.arguments
        self._context, self._shows = context, not context.arguments.follow
        self._new_tables = new_tables
        self._started = time.monotonic()
        self._next = self._started + _FIRST_ANSWER_SECONDS
        self._is_stopped = False
        self._settings = settings
        self._is_planned = False
        self._notes_on_activity: Sequence[str] = ()
        self._refused = Refusals()

    def read(self) -> None:
        """Read all logs. With --follow, the first Ctrl-C ends the reading, and a second one stops the command."""
        from ..ingestion.in_process import Reading
        from ..ingestion.reading_progress import TaskCounter, watched
        from ..ingestion.split_statistics import overlaps

        self._say("read and parse")
        with self._stopping() if self._arguments.follow else nullcontext():
            waiting = self._tick if self._arguments.follow else lambda: None
            logs, with_servers = self._arguments.logs, self._settings.server_logs
            self._reading = Reading(logs, self._settings, with_servers, waiting, self._start_over)
            self._start_over()  # DuckDB starts threads, and the processes of the reading are there already
            self._is_planned = True
            detail = partial(say, is_detail=True) if self._shows and log.isEnabledFor(logging.DEBUG) else None
            with watched(self._reading.size, detail) as folder, closing(TaskCounter(folder, 0)) as counter:
                self._reading.on_read = counter.add
                for part in self._reading.parts():
                    self._tables.add(part)
            self._reading.problems += overlaps(self._reading.files)
        self._say("derive")

    def _start_over(self) -> None:
        self._tables = self._new_tables()

    def _say(self, stage: str) -> None:
        if self._shows:
            say(stage)

    @contextmanager
    def _stopping(self) -> Iterator[None]:
        """Let the first Ctrl-C only set `_is_stopped`; the handler from before gets the second one."""
        before = signal.getsignal(signal.SIGINT)

        def stop(*_: object) -> None:
            self._is_stopped = True
            signal.signal(signal.SIGINT, before)

        signal.signal(signal.SIGINT, stop)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def _tick(self) -> None:
        """End the reading after Ctrl-C; else answer again if it is time to."""
        if not self._is_planned:
            if self._is_stopped:
                raise KeyboardInterrupt  # nothing was read yet, so there is nothing to answer
            return
        if self._is_stopped:
            self._reading.end()
        elif time.monotonic() >= self._next:
            for part in self._reading.flush():
                self._tables.add(part)
            begun = time.monotonic()
            if self._has_requests:
                self.answer()
            ended = time.monotonic()
            every = self._arguments.every or (_SECONDS_ON_TERMINAL if self._fills_terminal else _SECONDS_ELSEWHERE)
            self._next = ended + max(every, _BUSY * (ended - begun))

    @property
    def _fills_terminal(self) -> bool:
        """Whether each answer replaces the one before it on the terminal."""
        arguments = self._arguments
        return bool(arguments.follow and is_text(arguments) and text_tables.is_terminal(sys.stdout))

    def answer(self) -> int:
        """Derive the tables from the requests so far and print the answers.

        Returns:
            The exit code: 3 if a client would break at --upgrade, 1 if a file was not read to its end or no file has a
            request, else 0.
        """
        self._tables.set_files(self._reading.files)
        asked = {"client_activity": self._arguments.activity, "connection_groups": self._arguments.upgrade}
        self._tables.derive((*_TABLES_OF_ANSWERS, *(name for name, option in asked.items() if option)))
        limit = limit_of(self._arguments)
        if self._fills_terminal and self._arguments.limit is None:
            parts = 5 + (self._arguments.activity is not None)
            limit = max(3, (shutil.get_terminal_size().lines - _LINES_WITHOUT_ROWS) // parts)
        scope, target = Scope(self._tables), self._arguments.asked_release
        self._refused = refusals(scope)
        verdict = impact(scope, target, limit=limit) if target and (self._has_requests or self._refused.kinds) else None
        if verdict is not None:
            upgrade.add_groups(verdict, scope)
        _, *answers = of_log = self._of_log(limit)
        if self._shows:
            self._context.end_progress()
        tables = of_log if verdict is None else [*of_log, *upgrade.as_tables(verdict)]
        document: dict[str, Any] = {table.name: table for table in of_log}
        document["problems"] = [asdict(problem) for problem in self._reading.problems]
        document["refused_already"] = self._refused.kinds
        if verdict is not None:
            document["upgrade"] = verdict.document()
        show(self._arguments, tables, document=document, text=lambda: self._text(answers, verdict))
        if self._refused.kinds or (verdict is not None and verdict.breaks):
            return SOMETHING_FOUND
        return int(self._reading.is_incomplete or not self._has_requests)

    @property
    def _has_requests(self) -> bool:
        return any(report["requests"] for report in self._reading.reports)

    def _of_log(self, limit: int) -> list[Table]:
        reports = self._reading.reports
        rows = [tuple(report[name] for name in _OF_FILE) for report in reports]
        scope = Scope(self._tables)
        clients = ask(scope, "Who connects", _WHO, None, limit, "clients")
        return [
            Table("", _OF_FILE, rows, name="files"),
            clients,
            *findings(scope, limit),
            *self._of_topics(scope, limit),
            *self._of_activity(limit),
        ]

    def _of_topics(self, scope: Scope, limit: int) -> list[Table]:
        tables = [ask(scope, "Topics", topics.ALL, None, limit, "topics")]
        title = "Topics that nobody wrote or read from unused_since to covered_until"
        if (unused := ask(scope, title, topics.UNUSED, None, limit, "unused_topics")).rows:
            tables.append(unused)
        if self._arguments.topic is not None:
            statement, parameters = topics.clients_of(scope, self._arguments.topic)
            title = f"Clients of the topic {safe(self._arguments.topic)}"
            tables.append(ask(scope, title, statement, parameters, limit, "topic"))
        return tables

    def _of_activity(self, limit: int) -> list[Table]:
        by, top = self._arguments.activity, self._arguments.top or "requests"
        if by is None:
            return []
        scope = Scope(self._tables, bucket_minutes=self._settings.bucket_minutes)
        title = f"Activity by {by}, the most {activity.WORDS[top]} first"
        for_text = is_text(self._arguments)
        table, self._notes_on_activity = activity.answered(scope, by, top, limit, for_text, Owners(), title)
        return [table]

    def _text(self, answers: list[Table], verdict: Impact | None) -> str:
        if verdict is None and not self._refused.kinds and not self._has_requests:
            return (_CLEAR if self._fills_terminal else "") + f"{self._headline()}\n\n{folded(NO_REQUESTS)}"
        in_blocks = not self._fills_terminal  # the rows that fit on a full terminal are counted as lines
        notes = list(self._notes_on_activity)
        if in_blocks:
            notes += topics.coverage(Scope(self._tables), self._settings.unused_topic_hours)
        if any(low is not None for _, low in self._settings.policy.software):
            notes.append(_MINIMUMS)
        answered = as_text(answers, notes, "--limit 0 and --json", in_blocks)
        if verdict is not None:
            texts = [self._headline(), upgrade.as_text(verdict), answered]
        else:
            scope, newest = Scope(self._tables), list(releases())[-1]
            more = f" {NO_TARGET} --upgrade RELEASE says who, why and what to do."
            sentence, doubts = upgrade.at_release(scope, newest, self._refused, more)
            limits = filter(None, (unseen_starts(scope), info_logs(scope), partly_logged(scope)))
            below = folded("\n".join([sentence, *limits]))
            texts = [
                self._headline(),
                *upgrade.already_refused(self._refused.kinds, doubts.fine_beside_refused),
                answered,
                below,
            ]
        return (_CLEAR if self._fills_terminal else "") + "\n\n".join(texts)

    def _headline(self) -> str:
        reports = self._reading.reports
        read, records, requests, rejected, waiting = totals(
            reports, "to_offset", "records", "requests", "rejected", "pending_bytes"
        )
        lines = [
            f"Read {counted(len(reports), 'file')}, {read} bytes of log, {records} records: {requests} requests, {rejected} rejected,"
            f" in {time.monotonic() - self._started:.1f} s"
        ]
        lines += [f"  {line}" for line in not_read(self._reading.problems, reports)]
        if any(report["pending_bytes"] for report in reports):
            lines.append(f"  {waiting} bytes of records that are not finished")
        return folded("\n".join(lines))
