"""What stands on the page, in which order, and what is left out where it would be too long."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from .. import __version__
from ..errors import WarehouseError
from ..impact import Impact
from ..tables.broker_releases import WORST_FIRST
from ..tables.spec import software
from ..tables.views import views
from . import answers, plots
from .buckets import Buckets, buckets, open_by_software
from .clients import VERDICTS, Inventory, Limits, connection_columns
from .page import Plot, Section, embedded, page
from .scope import Scope
from .table import Column, Table

MOST_BYTES = 8_000_000
"""Bytes of the data at most; the page is a little longer."""
_COLOURS = {"removed": "var(--bad)", "deprecated": "var(--warn)", "unknown": "var(--unsure)", "ok": "var(--good)"}
_SEVERITIES = {"error": "var(--bad)", "warning": "var(--warn)", "info": "var(--unsure)"}
_OUTCOMES = {"plain": "var(--s0)", "refused": "var(--bad)", "unseen": "var(--rest)"}
_BARS = 14
"""Bars of a plot at most."""


def report(scope: Scope, verdict: Impact, limits: Limits | None = None) -> str:
    """The page about a part of a warehouse.

    Args:
        scope: which part.
        verdict: on a release, for the clients in scope.
        limits: of the inventory; fewer where the page would be too long.

    Returns:
        HTML.

    Raises:
        WarehouseError: no client's connection is in scope.
    """
    return _Contents(scope, verdict, limits or Limits()).page()


class _Contents:
    def __init__(self, scope: Scope, verdict: Impact, limits: Limits) -> None:
        self.scope, self.verdict, self.target = scope, verdict, str(verdict.target)
        ((self.connections, self.brokers, self.requests, self.named, first, last),) = scope.ask(
            "SELECT count(*), count(DISTINCT broker), CAST(sum(requests) AS BIGINT), "
            "CAST(sum(CASE WHEN client_software_name = 'unknown' THEN 0 ELSE 1 END) AS BIGINT), "
            "unix_micros(min(opened_at)), unix_micros(max(last_request_at)) FROM {connections} WHERE role = 'client'"
        )
        if not self.connections:
            raise WarehouseError(
                "no client's connection is in this part of the warehouse; choose another --cluster, --since or --until"
            )
        self.buckets = _within(scope, first, last)
        self.inventory = Inventory(scope, self.target, limits, self.buckets).read()
        self.tables: dict[str, Table] = {}
        self.limits = limits
        self.span = f"{_day(first)} to {_day(last)} UTC"

    def page(self) -> str:
        sections = [
            self._who_breaks(),
            self._fleet(),
            self._over_time(),
            self._negotiation(),
            self._misbehaviour(),
            self._unknown(),
            self._processes(),
            self._caching(),
            self._who_connects(),
        ]
        data = self._data()
        while len(embedded(data).encode()) > MOST_BYTES and self.limits.clients > 1:
            self.limits = self.limits.halved()
            self.inventory.cut(self.limits)
            for table in self.tables.values():
                table.halve()
            data = self._data()
        footer = f"Made by kafka-clientinfo {__version__} at {datetime.now(UTC):%Y-%m-%d %H:%M} UTC. All times are UTC."
        return page("Kafka clients", sections, footer, data)

    def _data(self) -> dict[str, Any]:
        return {
            "tables": {name: table.as_json() for name, table in self.tables.items()},
            "details": self.inventory.details,
            "connectionColumns": connection_columns(),
            "buckets": {
                "start": self.buckets.start // 1_000_000,
                "seconds": self.buckets.width // 1_000_000,
                "words": self.buckets.words,
            },
            "target": self.target,
        }

    def _add(self, *added: Table) -> list[str]:
        self.tables |= {table.name: table for table in added}
        return [table.name for table in added]

    def _who_breaks(self) -> Section:
        by = self.verdict.clients
        counts = {name: {v: by_[v] for v in WORST_FIRST} for name, by_ in self.verdict.by_release.items()}
        total, breaking = sum(by.values()), by["removed"]
        clients = "client" if total == 1 else "clients"
        verdict = (
            f"{breaking:,} of {total:,} {clients} would break"
            if breaking
            else f"None of {total:,} {clients} would break"
        )
        scope = f"{self.connections:,} connections to {self.brokers:,} brokers, {self.span}"
        notes = list(self.verdict.cannot_tell)
        if self.scope.is_part:
            notes.append(
                "The span chooses clients by when they were seen; how many requests they made with a version is of all time."
            )
        drawn = plots.stacked_by_release(
            counts,
            VERDICTS,
            _COLOURS,
            self.target,
            "Clients by verdict for every release; the table below has the numbers",
        )
        return Section(
            "who_breaks",
            f"Kafka {self.target}: {verdict}",
            f"{_QUESTIONS['who_breaks']} Judged by {scope}.",
            notes,
            [(f"{by[name]:,}", words) for name, words in VERDICTS.items()],
            link="Upgrade",
            plots=[Plot("Clients by verdict, for every known release", drawn)],
            tables=self._add(answers.who_breaks(self.verdict, self.inventory.places, self.scope.owners)),
            collapsed=dict.fromkeys(self._add(answers.releases_table(counts)), "Numbers for every release"),
        )

    def _fleet(self) -> Section:
        table = answers.fleet(self.scope)
        rows = [(software(row[0], row[1]), row[3], "unknown" if row[0] == "unknown" else "known") for row in table.rows]
        drawn = plots.bars(
            rows[:_BARS],
            {"known": "var(--s0)", "unknown": "var(--rest)"},
            "Connections by software and version",
            "connections",
        )
        figures = [
            (f"{self.inventory.table.total:,}", "clients"),
            (f"{self.connections:,}", "connections"),
            (f"{self.requests:,}", "requests"),
            (f"{self.brokers:,}", "brokers"),
            (f"{100 * self.named / self.connections:.0f} %", "of connections say their software"),
        ]
        return Section(
            "software",
            "Software",
            "Which software, in which versions, connects?",
            figures=figures,
            plots=[Plot(f"Connections by software and version, the {len(rows[:_BARS])} most frequent", drawn)],
            tables=self._add(table),
        )

    def _over_time(self) -> Section:
        found = open_by_software(self.scope, self.buckets, plots.SERIES)
        lines = {software(*key) if key else plots.OTHERS: line for key, line in found.items()}
        drawn = plots.over_time(
            lines,
            self.buckets.start,
            self.buckets.width,
            "Open connections over time by software; the table below has the numbers",
        )
        columns = [Column("time", "From", "time"), *(Column(n, n, "count") for n in lines)]
        rows = [
            [(self.buckets.start + n * self.buckets.width) // 1_000_000, *values]
            for n, values in enumerate(zip(*lines.values(), strict=True))
        ]
        name = "open_connections"
        table = Table(
            name, f"Connections open at some time in each {self.buckets.words}", columns, rows, len(rows), "times"
        )
        return Section(
            "connections_over_time",
            "Over time",
            f"When are clients connected? Counted for each {self.buckets.words} in which a connection is open at some time.",
            plots=[Plot(f"Open connections of clients, for each {self.buckets.words}", drawn)],
            collapsed=dict.fromkeys(self._add(table), "Numbers over time"),
        )

    def _negotiation(self) -> Section:
        summary = answers.outcomes(self.scope)
        kind = {"not_sent": "unseen", "not_observed": "unseen", "negotiated": "plain", "fell_back": "plain"}
        rows = [(row[0], row[2], kind.get(row[0], "refused")) for row in summary.rows]
        drawn = plots.bars(rows, _OUTCOMES, "Connections by outcome of ApiVersions", "connections")
        return Section(
            "how_clients_negotiate",
            "Negotiation",
            _QUESTIONS["how_clients_negotiate"],
            plots=[Plot("Connections by outcome of ApiVersions", drawn)],
            tables=self._add(summary, answers.negotiation(self.scope)),
        )

    def _misbehaviour(self) -> Section:
        summary = answers.broken_rules(self.scope)
        rows = [(row[1], row[3], row[0]) for row in summary.rows]
        label = "Violations by rule"
        drawn = [Plot(label, plots.bars(rows[:_BARS], _SEVERITIES, label, "violations"))] if rows else []
        figures = [
            (f"{sum(row[3] for row in summary.rows if row[0] == name):,}", words) for name, words in _COUNTED.items()
        ]
        return Section(
            "who_misbehaves",
            "Violations",
            _QUESTIONS["who_misbehaves"],
            figures=figures,
            plots=drawn,
            tables=self._add(summary, answers.violations(self.scope)),
        )

    def _unknown(self) -> Section:
        summary = answers.reasons_unknown(self.scope)
        return Section(
            "why_unknown",
            "Unknown clients",
            _QUESTIONS["why_unknown"],
            tables=self._add(summary, answers.unknown(self.scope)),
        )

    def _processes(self) -> Section:
        return Section(
            "client_processes",
            "Processes",
            _QUESTIONS["client_processes"],
            [
                "Only clients that send a client instance id (KIP-1313, KIP-714) or a member id of the newer group protocols are here."
            ],
            tables=self._add(answers.processes(self.scope)),
        )

    def _caching(self) -> Section:
        ((again, ids),) = self.scope.ask(
            "SELECT CAST(sum(bytes_sent_again) AS BIGINT), CAST(sum(bytes_of_instance_ids) AS BIGINT) "
            f"FROM ({views()['client_id_caching'].sql}) AS v"
        )
        return Section(
            "client_id_caching",
            "Client-id caching",
            _QUESTIONS["client_id_caching"],
            figures=[
                (_bytes(again or 0), "of client ids sent again"),
                (_bytes(ids or 0), "of instance ids, if every request carried one"),
            ],
            tables=self._add(answers.savings(self.scope)),
        )

    def _who_connects(self) -> Section:
        notes = [
            f"A client's details name its newest {self.limits.connections} connections at most; the warehouse has all.",
        ]
        if self.scope.is_part:
            notes.append(
                "Requests and first seen are of all time; connections, hosts and last seen are of the chosen span."
            )
        return Section(
            "who_connects", "All clients", _QUESTIONS["who_connects"], notes, tables=self._add(self.inventory.table)
        )


_COUNTED: Mapping[str, str] = {"error": "errors", "warning": "warnings", "info": "notes"}


_QUESTIONS: Mapping[str, str] = {
    "who_breaks": "Who breaks when the brokers are upgraded, why, and whose is it?",
    "how_clients_negotiate": "How did each client negotiate its versions (KIP-35, KIP-511)?",
    "who_misbehaves": "Who breaks which rule, and where does it stand in the log?",
    "why_unknown": "Why does the broker not know the software of these clients?",
    "client_processes": "Which process is it, across its connections to all brokers?",
    "client_id_caching": "What would the client-id caching of KIP-1313 save?",
    "who_connects": "Who connects, with which software, from where and how often? A client id leads to its details below the table.",
}
"""The page's words for each view."""


def _within(scope: Scope, first: int, last: int) -> Buckets:
    """The span of the data, but no more of it than the scope."""
    since = round(scope.filters.since.timestamp() * 1_000_000) if scope.filters.since else first
    until = round(scope.filters.until.timestamp() * 1_000_000) - 1 if scope.filters.until else last
    return buckets(max(first, min(since, last)), max(min(last, until), first))


def _day(micros: int) -> str:
    return f"{datetime.fromtimestamp(micros // 1_000_000, UTC):%Y-%m-%d %H:%M}"


def _bytes(number: int) -> str:
    size = float(number)
    for unit in ("B", "KB", "MB", "GB"):
        if abs(size) < 1_000:
            return f"{number:,} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1_000
    return f"{size:,.1f} TB"
