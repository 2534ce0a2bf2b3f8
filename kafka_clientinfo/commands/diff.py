"""The command `diff`: what changed among clients from one day to another.

Figures come from `connections` (who was there, with which software), `api_usage` with `upgrade_impact` (who used a
version that the target refuses) and `violations`. Each row of these has a first and a last request; it counts on every day
(UTC) that this span touches. So a connection that lasts for days is there on all of them, also on one on which it sent
nothing, with the software it had at its end; and a violation counts once for each connection and day, however often it
occurred, as occurrences are not known by day. The verdict on a version is that of the whole warehouse, on both days.
"""

import argparse
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from ..errors import ConfigError, WarehouseError
from ..filters import Filters, Scope, add_filters, given_time
from ..protocol import UNKNOWN
from ..rules import SEVERITY_ORDER
from ..tables.broker_releases import release
from ..tables.spec import CLIENT, software
from .context import Context, add_warehouse
from .output import Table, add_formats, limit_of, show
from .ownership import GROUP, SAME_CONNECTION, WITH_CONNECTION, grouped

HELP = "compare two days: clients that are new, gone, changed, unknown, breaking or misbehaving (exit code 3, see the README)"
EXAMPLES = (
    "diff --from 2026-11-20 --to 2026-11-21 --warehouse /data/clientinfo",
    "diff --from 7d --to yesterday --target 4.0.1 --warehouse /data/clientinfo --json",
)
_WORSE = 3
_SHOWN = 20
_WHO = ("cluster", "principal", "client_id")
"""Columns that name a client across a change of its software."""
_DAY = re.compile(r"\d{4}-\d\d-\d\d|\d{1,6}d")
_NAMED_DAYS = {"today": "0d", "yesterday": "1d"}
_COUNTS = ("connections", "hosts", "host", "first_seen", "last_seen")
"""What is told of each client or use: connections, hosts, one of these, and the first and last time."""
ByKey = dict[tuple[Any, ...], dict[str, Any]]
"""Rows by the values of some of their columns."""
KeyedRows = list[tuple[tuple[Any, ...], dict[str, Any]]]
"""Rows, each behind the values of these columns."""


@dataclass(frozen=True)
class _Day:
    """What a warehouse has of one day.

    Attributes:
        clients: by the columns of `_WHO`: software (texts, `unknown` among them), reasons why it is unknown, and `_COUNTS`
            of the connections that touch the day.
        breaking: uses that the target refuses, by `_WHO`, api_name and api_version.
        violations: by severity, whom they blame, rule, `_WHO` and group.
    """

    clients: ByKey
    breaking: ByKey
    violations: ByKey


def add_arguments(parser: argparse.ArgumentParser) -> None:
    days = "a date in UTC such as 2026-11-21, yesterday, today, or 7d for seven days ago"
    parser.add_argument("--from", dest="from_day", required=True, metavar="DAY", help=f"the earlier day: {days}")
    parser.add_argument("--to", dest="to_day", required=True, metavar="DAY", help="the later day")
    parser.add_argument("--target", metavar="RELEASE", help="also compare who would break at this release of Kafka")
    add_warehouse(parser)
    add_filters(parser, "cluster", "principal", "client")
    add_formats(parser, _SHOWN)


def execute(context: Context) -> int:
    given = context.arguments
    first, second = given_day(given.from_day, "--from"), given_day(given.to_day, "--to")
    if first >= second:
        raise ConfigError(f"--from is {first} and --to {second}; give an earlier day with --from")
    scope, waiting = context.scope("connections")
    notes = [*_check_days(scope, (first, second)), *waiting]
    found = _changes(*(_day(_on(day, scope), given.target) for day in (first, second)))
    document = {"from": str(first), "to": str(second), "target": given.target}
    shown = [table.first(limit_of(given)) for table in found]
    document |= {table.name: table.dicts() for table in shown}
    if not any(table.rows for table in found):
        notes.insert(0, f"Nothing changed from {first} to {second}.")
    show(given, shown, notes, document)
    return _WORSE if _is_worse(found) else 0


def given_day(text: str, option: str, now: datetime | None = None) -> date:
    """A day in UTC from an argument: a date, today, yesterday, or 7d for seven days ago.

    Raises:
        ConfigError: when it is none.
    """
    day = _NAMED_DAYS.get(text, text)
    if _DAY.fullmatch(day):
        with suppress(ConfigError):
            if (found := given_time(day, option, now).date()) < date.max:  # no midnight follows the last day
                return found
    raise ConfigError(
        f"{option} is {text!r}; give a date such as 2026-11-21, yesterday, today, or 7d for seven days ago"
    )


def _check_days(scope: Scope, days: Iterable[date]) -> list[str]:
    """Notes on days of which logs are not whole.

    Raises:
        WarehouseError: there is no connection on a day.
    """
    of_cluster = replace(scope, filters=Filters(cluster=scope.filters.cluster))
    ((first, last),) = of_cluster.query("SELECT min(opened_at), max(last_request_at) FROM {connections} AS c")
    notes = []
    for day in days:
        ((number,),) = _on(day, of_cluster).query("SELECT count(*) FROM {connections} AS c")
        if not number:
            known = f"it has those of {first:%Y-%m-%d} to {last:%Y-%m-%d}" if first else "it has none"
            raise WarehouseError(f"{scope.tables.root} has no connection on {day}; {known}")
        if first.date() == day:
            notes.append(
                f"The first request is of {first:%Y-%m-%d %H:%M} UTC; what was before on that day is not known."
            )
        if last.date() == day:
            notes.append(f"The last request is of {last:%Y-%m-%d %H:%M} UTC; what came later on that day is not known.")
    return notes


def _on(day: date, scope: Scope) -> Scope:
    begin = datetime.combine(day, time(), UTC)
    return replace(scope, filters=replace(scope.filters, since=begin, until=begin + timedelta(days=1)))


def _day(of_day: Scope, target: str | None) -> _Day:
    return _Day(_clients(of_day), _breaking(of_day, target) if target is not None else {}, _violations(of_day))


def _clients(of_day: Scope) -> ByKey:
    key = ", ".join((*CLIENT, "reason_unknown", "remote_host"))
    rows = of_day.query(
        f"SELECT {key}, count(*) AS connections, min(opened_at) AS first_seen, max(last_request_at) AS last_seen "
        f"FROM {{connections}} AS c WHERE role = 'client' GROUP BY {key}"
    ).dicts()
    return {who: _client(of_client) for who, of_client in grouped(rows, _WHO).items()}


def _client(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    hosts = {row["remote_host"] or UNKNOWN for row in rows}
    return {
        "software": sorted({software(*(row[name] for name in CLIENT[3:])) for row in rows}),
        "reasons": sorted({row["reason_unknown"] for row in rows} - {None}),
        "connections": sum(row["connections"] for row in rows),
        "hosts": len(hosts),
        "host": min(hosts),
        "first_seen": min(row["first_seen"] for row in rows),
        "last_seen": max(row["last_seen"] for row in rows),
    }


def _apart(of_day: Scope) -> tuple[Scope, Filters]:
    """What is asked for of rows without a client's columns, and of clients."""
    principal, client = of_day.filters.principal, of_day.filters.client
    of_rows = replace(of_day, filters=replace(of_day.filters, principal=None, client=None))
    return of_rows, Filters(principal=principal, client=client)


def _breaking(of_day: Scope, target: str) -> ByKey:
    of_rows, of_client = _apart(of_day)
    own = ", ".join(f"c.{name}" for name in CLIENT)
    uses = (
        f"SELECT {own}, t.api_key, t.api_name, t.api_version, count(*) AS connections, "
        "count(DISTINCT c.remote_host) AS hosts, min(c.remote_host) AS host, min(t.first_at) AS first_seen, "
        f"max(t.last_at) AS last_seen FROM {{api_usage}} AS t JOIN {{connections}} AS c ON {SAME_CONNECTION} "
        f"WHERE c.role = 'client' AND {of_client.where()} GROUP BY {own}, t.api_key, t.api_name, t.api_version"
    )
    same = " AND ".join(f"u.{name} IS NOT DISTINCT FROM i.{name}" for name in (*CLIENT, "api_key", "api_version"))
    refused = f"i.refused_by['{release(target).name}']"
    rows = of_rows.query(
        f"SELECT u.*, {refused} AS reason FROM ({uses}) AS u JOIN {{upgrade_impact}} AS i ON {same} "
        f"WHERE {refused} IS NOT NULL ORDER BY u.connections DESC, u.client_software_name",
        of_client.parameters,
    ).dicts()
    found: ByKey = {}
    for row in rows:  # of one client's software the most frequent one stands for all
        row["software"] = software(*(row[name] for name in CLIENT[3:]))
        found.setdefault(tuple(row[name] for name in (*_WHO, "api_name", "api_version")), row)
    return found


def _violations(of_day: Scope) -> ByKey:
    names = ("severity", "blames", "rule", *_WHO, "group_id")
    of_rows, of_client = _apart(of_day)
    rows = of_rows.query(
        f"SELECT {', '.join(names)}, count(*) AS number, max(last_at) AS last_at, min({SEVERITY_ORDER}) AS place "
        f"FROM (SELECT t.severity, t.blames, t.rule, t.cluster, c.principal, c.client_id, {GROUP} AS group_id, t.last_at "
        f"FROM {WITH_CONNECTION}) AS v WHERE {of_client.where()} GROUP BY {', '.join(names)}",
        of_client.parameters,
    ).dicts()
    return {tuple(row[name] for name in names): row for row in rows}


def _changes(before: _Day, after: _Day) -> list[Table]:
    """What changed from one day to another, one table for each kind of change."""
    changed, unknown = [], []
    for who, later in after.clients.items():
        if who in before.clients:
            earlier = before.clients[who]["software"]
            both = later | {"before": earlier, "after": later["software"]}
            known = set(later["software"]) - {UNKNOWN}
            if known and known != set(earlier) - {UNKNOWN}:
                changed.append((who, both))
            if UNKNOWN in later["software"] and UNKNOWN not in earlier:
                unknown.append((who, both))
    new, gone = _without(after.clients, before.clients), _without(before.clients, after.clients)
    breaking = _without(after.breaking, before.breaking)
    return [
        _of_clients("new", "New clients", ("software",), new),
        _of_clients("gone", "Clients that are gone", ("software",), gone),
        _of_clients("changed_software", "Clients with other software", ("before", "after"), changed),
        _of_clients("newly_unknown", "Clients with newly unknown software", ("before", "reasons"), unknown),
        _of_clients(
            "newly_breaking", "Clients that would newly break", ("software", "api_name", "api_version", "reason"), breaking
        ),
        _more_violations(before.violations, after.violations),
    ]  # fmt: skip


def _of_clients(name: str, title: str, columns: Sequence[str], found: KeyedRows) -> Table:
    """A table of clients, those with most connections first."""
    columns = (*columns, *_COUNTS)
    rows = [(*key[: len(_WHO)], *(row[column] for column in columns)) for key, row in found]
    rows.sort(key=lambda row: (-row[-len(_COUNTS)], _texts(row)))
    return Table(title, (*_WHO, *columns), rows, name=name)


def _more_violations(before: ByKey, after: ByKey) -> Table:
    more = [
        (row["place"], (*key, earlier, row["number"], row["last_at"]))
        for key, row in after.items()
        if row["number"] > (earlier := before.get(key, {"number": 0})["number"])
    ]
    more.sort(key=lambda item: (item[0], -item[1][-2], _texts(item[1])))
    columns = ("severity", "blames", "rule", *_WHO, "group_id", "before", "after", "last_at")
    title = "More violations, by connections or groups"
    return Table(title, columns, [line for _, line in more], name="more_violations")


def _is_worse(found: Iterable[Table]) -> bool:
    """Whether a client newly breaks, or may have broken a rule of severity error that it did not break on the earlier day."""
    by_name = {table.name: table for table in found}
    new = [row for row in by_name["more_violations"].dicts() if not row["before"]]
    errors = any(row["severity"] == "error" and row["blames"] in ("client", "either") for row in new)
    return errors or bool(by_name["newly_breaking"].rows)


def _without(found: ByKey, others: ByKey) -> KeyedRows:
    return [(key, row) for key, row in found.items() if key not in others]


def _texts(row: tuple[Any, ...]) -> list[str]:
    return [str(value) for value in row]
