"""The contents of the page: sections and tables of page.toml, figures, plots, and what is left out of a page that is too long.

A page is too long if its data has more than `MOST_BYTES`: then the clients, their details and the rows of each table are
halved until it fits.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any

from .. import __version__
from ..config.rules import rules
from ..errors import WarehouseError
from ..protocol import UNKNOWN
from ..questions.filters import Scope
from ..questions.impact import Impact
from ..questions.presenter import (
    IN_WORDS,
    OTHERS,
    REFUSED_ALREADY,
    counted,
    explained,
    identity,
    on_some,
    software,
    to_do,
    version_numbers,
    ways_of_libraries,
    why,
)
from ..questions.probable import without_a_name
from ..questions.queries import grouped
from ..questions.topics import coverage
from ..questions.trust import FIRST_AT_INFO, missing_hours, unseen_starts
from ..releases.broker_releases import ACCEPTED, REFUSED, UNDECIDED, WORST_FIRST
from ..tables.spec import CLIENT
from . import plots
from .clients import Inventory, Limits, OwnersOfClients
from .over_time import Buckets, buckets, connections_over_time, requests_over_time
from .page import NONE, Section, embedded, page
from .table import LIMIT, Table, declarations, declared, read

_EPOCH = datetime.fromtimestamp(0, UTC)
MOST_BYTES = 8_000_000
"""The largest number of bytes of the page's data; the page is a little longer."""
_COLOURS = dict(zip(IN_WORDS, ("var(--bad)", "var(--warn)", "var(--unsure)", "var(--s3)", "var(--good)"), strict=True))
_SEVERITIES = {"error": "var(--bad)", "warning": "var(--warn)", "info": "var(--unsure)"}
_COUNTED = {"error": "errors", "warning": "warnings", "info": "notes"}
_NOT_AT_INFO = ("rebalances", "unused_topics")
"""Tables for which the requests at INFO are too few."""
_MOST_BARS = 14
_NOT_BREAKING = 200
"""The largest number of clients shown per verdict; for the verdict "would break" it is `LIMIT`."""


def report(
    scope: Scope,
    verdict: Impact,
    owners: OwnersOfClients = MappingProxyType({}),
    limits: Limits | None = None,
    by_owner: Sequence[Sequence[Any]] = (),
) -> str:
    """Make the page about a scope of a warehouse, as HTML; the limits are halved until the page is short enough.

    `by_owner` are the rows of the table by_owner, if there are owners.

    Raises:
        WarehouseError: no client's connection is in scope.
    """
    return _Contents(scope, verdict, owners, limits or Limits(), by_owner).page()


class _Contents:
    def __init__(
        self, scope: Scope, verdict: Impact, owners: OwnersOfClients, limits: Limits, by_owner: Sequence[Sequence[Any]]
    ) -> None:
        self.by_owner = by_owner
        self.scope, self.verdict, self.target, self.owners = scope, verdict, str(verdict.target), owners
        self.is_part = scope.filters.since is not None or scope.filters.until is not None
        ((self.connections, self.brokers, self.requests, self.named, observed, first, last, clusters),) = scope.query(
            "SELECT count(*), count(DISTINCT (cluster, broker)), CAST(sum(requests) AS BIGINT), "
            "CAST(sum(CASE WHEN client_software_name = 'unknown' THEN 0 ELSE 1 END) AS BIGINT), "
            "count(CASE WHEN start = 'observed' THEN 1 END), min(opened_at), max(last_request_at), count(DISTINCT cluster) "
            "FROM {connections} WHERE role = 'client'"
        )
        if not self.connections:
            raise WarehouseError(
                "no client's connection is in this part of the warehouse; choose another --cluster, --since or --until"
            )
        self.buckets = _within(scope, first, last)
        self.inventory = Inventory(scope, self.target, limits, self.buckets, owners, verdict.refusals)
        self.tables: dict[str, Table] = {}
        self.limits = limits
        breaking, total = verdict.clients[REFUSED], sum(verdict.clients.values())
        total += verdict.doubts.clients_refused_already
        self.words = {
            "target": self.target,
            "some": "None of " if not breaking else f"{breaking:,} of " if breaking < total else "",
            "clients": counted(total, "client"),
            "connections": f"{self.connections:,}",
            "observed": "all" if observed == self.connections else f"{observed:,}",
            "brokers": counted(self.brokers, "broker") + (f" of {clusters:,} clusters" if clusters > 1 else ""),
            "span": f"{first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M} UTC",
            "bucket": self.buckets.words,
        }

    def page(self) -> str:
        sections = [
            self._who_breaks(),
            self._section("who_uses_topics", notes=coverage(self.scope)),
            self._activity(),
            self._software(),
            self._over_time(),
            *([] if self.verdict.doubts.is_only_info else [self._misbehaviour()]),
            self._unknown(),
            self._logs(),
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
            "connectionColumns": [{"label": one.label, "kind": one.kind} for one in self.inventory.connections],
            "buckets": {
                "start": self.buckets.start // 1_000_000,
                "seconds": self.buckets.width // 1_000_000,
                "words": self.buckets.words,
            },
            "target": self.target,
            "logs": read(self.scope, "spans_of_logs").rows,
        }

    def _section(self, name: str, *tables: Table, **attributes: Any) -> Section:
        """Return a section of page.toml with further attributes, and read those of its tables that are not given."""
        data = declarations()["sections"][name]
        texts = {text: data[text].format(**self.words) for text in ("title", "question")}
        section = Section(name=name, **(data | texts | attributes))
        if self.verdict.doubts.is_only_info:
            section = replace(
                section,
                tables=[table for table in section.tables if table not in _NOT_AT_INFO],
                collapsed={table: line for table, line in section.collapsed.items() if table not in _NOT_AT_INFO},
            )
        self.tables |= {table.name: table for table in tables}
        for table in (*section.tables, *section.collapsed):
            if table not in self.tables:
                self.tables[table] = read(self.scope, table)
        return section

    def _who_breaks(self) -> Section:
        counts = {
            name: {verdict: numbers[verdict] for verdict in IN_WORDS}
            for name, numbers in self.verdict.by_release.items()
        }
        releases = declared("releases").with_rows([name, *numbers.values()] for name, numbers in counts.items())
        notes = [*filter(None, [unseen_starts(self.scope)]), *self.verdict.cannot_tell]
        if self.is_part:
            notes.append(
                "The span chooses the clients that were seen in it; their numbers of requests per version are of all time."
            )
        label = "Clients by verdict, for releases from today's on; the table below has the numbers of all"
        colours = {
            name: colour for name, colour in _COLOURS.items() if name != REFUSED_ALREADY or self.verdict.refused_already
        }
        since = _first_release(self.verdict)
        later = {name: numbers for name, numbers in counts.items() if version_numbers(name) >= since}
        drawn = plots.stacked_by_release(later, IN_WORDS, colours, self.target, label)
        if self.verdict.clients.get(REFUSED):
            notes.insert(0, _if_library_is_unknown(str(self.verdict.target)))
        tables = [_who_breaks(self.verdict, self.inventory, self.owners)]
        if self.by_owner:
            tables.insert(0, declared("by_owner").with_rows(self.by_owner))
        words = dict(IN_WORDS)
        if limits := _limits_of_fine(self.verdict):
            words[ACCEPTED] += " as far as seen"
        numbers_of_clients = self.verdict.clients | {REFUSED_ALREADY: self.verdict.doubts.clients_refused_already}
        if not self.verdict.refused_already:
            del words[REFUSED_ALREADY]
        else:
            tables.insert(0, _refused(self.verdict))
        figures = [(f"{numbers_of_clients[name]:,}", text) for name, text in words.items()]
        if self.verdict.doubts.is_only_info:  # clients that are fine stand last
            fine = numbers_of_clients[ACCEPTED]
            figures[-1] = (f"{fine:,}", f"{words[ACCEPTED]}; {OTHERS}") if fine else (NONE, OTHERS)
        return self._section(
            "who_breaks",
            *tables,
            releases,
            tables=[table.name for table in tables],
            notes=[*limits, *notes],
            figures=figures,
            plots=[("Clients by verdict, for releases from today's on", drawn)],
        )

    def _activity(self) -> Section:
        table, drawn = requests_over_time(self.scope)
        return self._section("who_is_slow", table, plots=drawn)

    def _software(self) -> Section:
        table = read(self.scope, "software")
        rows = [
            (software(name, version), connections, UNKNOWN if name == UNKNOWN else "known")
            for name, version, _, connections, *_ in table.rows[:_MOST_BARS]
        ]
        colours = {"known": "var(--s0)", UNKNOWN: "var(--rest)"}
        drawn = plots.bars(rows, colours, "Connections by software and version", "connections")
        figures = [
            (f"{self.inventory.table.total:,}", "clients"),
            (f"{self.connections:,}", "connections"),
            (f"{self.requests:,}", "requests"),
            (f"{self.brokers:,}", "brokers"),
            (f"{100 * self.named / self.connections:.0f} %", "of connections state their software"),
        ]
        caption = f"Connections by software and version, the {len(rows)} most frequent"
        return self._section("software", table, figures=figures, plots=[(caption, drawn)])

    def _over_time(self) -> Section:
        table, plot = connections_over_time(self.scope, self.buckets)
        return self._section("connections_over_time", table, plots=[plot])

    def _misbehaviour(self) -> Section:
        broken = read(self.scope, "rules")
        for row in broken.rows:
            if rule := rules().get(row[2]):
                row[-2:] = [rule.what, rule.advice]
        rows = [(rule, violations, severity) for severity, _, rule, _, violations, *_ in broken.rows]
        label = "Violations by rule"
        drawn = [(label, plots.bars(rows[:_MOST_BARS], _SEVERITIES, label, "violations"))] if rows else []
        sums = {name: sum(number for _, number, severity in rows if severity == name) for name in _COUNTED}
        figures = [(f"{sums[name]:,}", words) for name, words in _COUNTED.items()]
        return self._section("who_misbehaves", broken, figures=figures, plots=drawn)

    def _logs(self) -> Section:
        notes = [*declarations()["sections"]["what_the_log_shows"]["notes"], *filter(None, [missing_hours(self.scope)])]
        if self.verdict.doubts.is_only_info:
            notes.append(
                "At INFO, violations, rebalances, unused topics and bytes a day are not logged, so that this page has none of them."
            )
        return self._section("what_the_log_shows", notes=notes)

    def _unknown(self) -> Section:
        unnamed, probable = without_a_name(self.scope)
        figures = [(f"{unnamed:,}", f"of {self.connections:,} connections give no name")]
        if unnamed:
            share = f"of them probably belong to a known library ({100 * probable / unnamed:.0f} %)"
            figures.append((f"{probable:,}", share))
        return self._section("why_unknown", figures=figures)

    def _who_connects(self) -> Section:
        notes = [
            f"A client's details name its newest {self.limits.connections} connections at most; the warehouse has all.",
        ]
        if self.is_part:
            notes.append(
                "Requests and first seen are of all time; connections, hosts and last seen are of the chosen span."
            )
        return self._section("who_connects", self.inventory.table, notes=notes)


def _who_breaks(verdict: Impact, inventory: Inventory, owners: OwnersOfClients) -> Table:
    table = declared("who_breaks", target=str(verdict.target))
    for client, uses in grouped(verdict.rows, CLIENT).items():
        cluster, principal, own_id, *of_software = client
        worst = min(WORST_FIRST.index(use["verdict"]) for use in uses)
        lines = [
            f"{use['api_name']} v{use['api_version']}{on_some(use)}: {why(explained(use['reason']), use['refused_from'], '')}"
            for use in uses
        ]
        what_to_do = sorted(
            {f"{text[0].upper()}{text[1:]}" for use in uses if (text := to_do(use, str(verdict.target)))}
        )
        if not what_to_do and worst == WORST_FIRST.index(UNDECIDED):
            what_to_do = [f"Try it with Kafka {verdict.target} before the upgrade"]
        hosts = sorted({host for use in uses for host in use["host_list"] or ()})
        seen = max(int(use["last_seen"].timestamp()) * 1_000_000 for use in uses)
        table.add(
            IN_WORDS[WORST_FIRST[worst]], identity(own_id), principal, software(*of_software), owners.get(client, ()), lines,
            what_to_do, sum(use["requests"] for use in uses), inventory.topics.get(client, ()), hosts, seen, cluster,
            inventory.rows_by_client.get(client),
        )  # fmt: skip
    table.total = sum(number for name, number in verdict.clients.items() if name != ACCEPTED)
    breaking = IN_WORDS[REFUSED]
    by_word = {word: [row for row in table.rows if row[0] == word] for word in IN_WORDS.values()}
    table.choose = {"verdict": breaking} if by_word[breaking] else {}
    table.rows = [row for word, rows in by_word.items() for row in rows[: LIMIT if word == breaking else _NOT_BREAKING]]
    return table


def _if_library_is_unknown(target: str) -> str:
    ways = ", ".join(f"{name} {least}" for name, least, _, _ in ways_of_libraries(target))
    return f"If a client's library is not known, these releases or later ones work with Kafka {target}: {ways}."


def _first_release(verdict: Impact) -> tuple[int, ...]:
    """Return the numbers of the oldest release of today's brokers, or of the target if that is older; () if none is known."""
    todays = [version_numbers(row["release"].partition(" to ")[0]) for row in verdict.brokers if row["release"]]
    todays = todays or ([version_numbers(FIRST_AT_INFO)] if verdict.doubts.is_only_info else [])
    return min([*todays, version_numbers(str(verdict.target))]) if todays else ()


def _refused(verdict: Impact) -> Table:
    table = declared("refused")
    for row in verdict.refused_already[:LIMIT]:
        table.add(
            row["remote_host"], f"{row['api_name']} v{row['api_version']}", row["requests"],
            int(row["last_at"].timestamp()) * 1_000_000, [identity(one["client_id"]) for one in row["named_clients"]],
            row["requests"] - row["named_requests"],
            [identity(one) for one in row["client_ids"]] if row["named_requests"] < row["requests"] else [],
            row["broker"], row["cluster"],
        )  # fmt: skip
    table.total = len(verdict.refused_already)
    return table


def _limits_of_fine(verdict: Impact) -> list[str]:
    """Return sentences on clients that count as fine and may not be, as the log does not show all that they send."""
    notes = []
    if verdict.refused_already:
        requests = counted(sum(row["requests"] for row in verdict.refused_already), "request")
        notes.append(
            f"Brokers refused {requests} in the last day of the logs already (view refused_requests): of "
            f"{counted(verdict.doubts.clients_refused_already, 'client')} that would count as fine by other requests. Clients from hosts of "
            f"refused requests that name no client, and that count as fine: {verdict.doubts.fine_beside_refused:,}."
        )
    if verdict.doubts.barely_seen:
        notes.append(
            f"Of the clients that are fine, {verdict.doubts.barely_seen:,} were seen with requests for metadata and versions only."
        )
    return notes


def _within(scope: Scope, first: datetime, last: datetime) -> Buckets:
    since, until, micro = scope.filters.since or first, scope.filters.until, timedelta(microseconds=1)
    span = (max(first, since), last if until is None else min(last, until - micro))
    return buckets(*((time - _EPOCH) // micro for time in span))
