"""The command `diff`: compares the clients of two days, or of the hours from two times on.

docs/howto/diff.md says which time a day or a time stands for. Rows of tables count on every day from their first request to the last:

- A connection that lasts for days counts on each of them, even if it sent nothing on that day, with the software that it
  had at its end.
- A violation counts once for each connection and day, because the tables hold no number of occurrences by day.
- The verdict on a version is that of the whole warehouse, on both days.
"""

import argparse
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from typing import Any, NamedTuple

from ..config.rules import SEVERITY_ORDER
from ..errors import ConfigError, WarehouseError
from ..printable import safe
from ..protocol import UNKNOWN
from ..questions.filters import NAMED_DAYS, TIME_FORMS, Scope, add_filters, given_time
from ..questions.presenter import software
from ..questions.queries import grouped, same
from ..questions.refused import NO_VERSION
from ..questions.trust import of_cluster
from ..releases.broker_releases import release
from ..tables.spec import CLIENT
from .context import SOMETHING_FOUND, Context, add_warehouse
from .output import Table, add_formats, instant, limit_of, show
from .ownership import GROUP

HELP = "compare two days: new, gone, breaking, refused (exit code 3)"
EXAMPLES = (
    "diff --from 2026-11-20 --to 2026-11-21 --warehouse /data/clientinfo",
    "diff --from 7d --to yesterday --target 4.0.1 --warehouse /data/clientinfo --json",
    "diff --from 2h --to 1h --warehouse /data/clientinfo",
)
_SHOWN = 20
_LONGEST = 60
_WHO = ("cluster", "principal", "client_id")
_DAY = re.compile(rf"[\dW-]+[dw]?|{'|'.join(NAMED_DAYS)}")
"""A form of time that stands for a whole day; every other one stands for the time from then on."""
_ONE_DAY = timedelta(days=1)
_COUNTS = ("connections", "hosts", "host", "first_seen", "last_seen")
"""The columns about each client or use: numbers of connections and of hosts, one host, first and last time."""
ByKey = dict[tuple[Any, ...], dict[str, Any]]
KeyedRows = list[tuple[tuple[Any, ...], dict[str, Any]]]


class Span(NamedTuple):
    """What counts as one of the two days; `name` is the day, or the time from which on it is a span."""

    begin: datetime
    end: datetime
    name: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--from", dest="from_day", required=True, metavar="T", help=f"the earlier day, or time: {TIME_FORMS}"
    )
    parser.add_argument("--to", dest="to_day", required=True, metavar="T", help="the later one, as --from")
    parser.add_argument("--target", metavar="RELEASE", help="also compare who would break at this release of Kafka")
    add_warehouse(parser)
    add_filters(parser, "cluster", "principal", "client")
    add_formats(parser, _SHOWN)


def execute(context: Context) -> int:
    arguments = context.arguments
    first, second = given_spans(arguments.from_day, arguments.to_day)
    scope, waiting = context.scope("connections")
    logged = [_clusters(scope, span) for span in (first, second)]
    notes = [*_check_spans(scope, (first, second)), *_not_compared(first, second, *logged), *waiting]
    both = logged[0] & logged[1]
    covered = [_is_covered(scope, span, both) for span in (first, second)]
    changes = _changes(_in(first, scope), _in(second, scope), arguments.target, both, *covered)
    document = {"from": first.name, "to": second.name, "target": arguments.target}
    shown = [table.first(limit_of(arguments)) for table in changes]
    document |= {table.name: table.dicts() for table in shown}
    if not any(table.rows for table in changes):
        is_certain = all(covered) and logged[0] == logged[1]
        so_far = "" if is_certain else ", as far as the logs show: they do not hold every request of both"
        notes.insert(0, f"Nothing changed from {first.name} to {second.name}{so_far}.")
    show(arguments, shown, notes, document)
    return SOMETHING_FOUND if _is_worse(changes) else 0


def given_spans(earlier: str, later: str, now: datetime | None = None) -> tuple[Span, Span]:
    now = now or datetime.now(UTC)
    (first, name), (second, other) = _begin(earlier, "--from", now), _begin(later, "--to", now)
    if first >= second:
        raise ConfigError(f"--from is {name} and --to {other}; give an earlier day with --from")
    length = min(_ONE_DAY, second - first)
    return Span(first, first + length, name), Span(second, second + length, other)


def _begin(text: str, option: str, now: datetime) -> tuple[datetime, str]:
    at, is_day = given_time(text, option, now), _DAY.fullmatch(text)
    at = datetime.combine(at.date(), time(), UTC) if is_day else at
    if at > datetime.max.replace(tzinfo=UTC) - _ONE_DAY:
        raise ConfigError(f"{option} is {text!r}; give an earlier time: this day is the calendar's last")
    return at, str(at.date()) if is_day else instant(at)


def _check_spans(scope: Scope, spans: Iterable[Span]) -> list[str]:
    whole = of_cluster(scope)
    ((first, last),) = whole.query("SELECT min(opened_at), max(last_request_at) FROM {connections} AS c")
    notes = []
    for span in spans:
        ((number,),) = _in(span, whole).query("SELECT count(*) FROM {connections} AS c")
        if not number:
            known = f"it has those of {first:%Y-%m-%d} to {last:%Y-%m-%d}" if first else "it has none"
            raise WarehouseError(f"{scope.tables.root} has no connection on {span.name}; {known}")
        if span.begin < first < span.end:
            notes.append(f"The first request is of {first:%Y-%m-%d %H:%M} UTC; what was before is not known.")
        if span.begin <= last < span.end:
            notes.append(f"The last request is of {last:%Y-%m-%d %H:%M} UTC; what came later is not known.")
    return notes


def _clusters(scope: Scope, span: Span) -> set[str]:
    rows = _in(span, of_cluster(scope)).query("SELECT DISTINCT cluster FROM {connections} AS c")
    return {cluster for (cluster,) in rows}


def _not_compared(first: Span, second: Span, before: set[str], after: set[str]) -> list[str]:
    return [
        f"{safe(cluster, _LONGEST)}: no request of {span.name} in the logs, not compared."
        for cluster in sorted(before ^ after)
        for span in ([first] if cluster in after else [second])
    ]


def _is_covered(scope: Scope, span: Span, clusters: set[str]) -> bool:
    """Return whether the logs of these clusters' brokers hold every request of a span, but for its end: else silence says nothing.

    The end is the last hour of a day.
    """
    rows = of_cluster(scope).query("SELECT cluster, covered_from, covered_until FROM {log_coverage} AS l")
    needed = span.end - (span.end - span.begin) / 24
    return bool(clusters) and all(
        first and first <= span.begin and until >= needed for cluster, first, until in rows if cluster in clusters
    )


def _in(span: Span, scope: Scope) -> Scope:
    return replace(scope, filters=replace(scope.filters, since=span.begin, until=span.end))


def _clients(scope: Scope) -> ByKey:
    """Return the clients of a day, by `_WHO`.

    Each has its software (names with versions, or `unknown`), the reasons why it is unknown, and `_COUNTS` of the
    connections that count on this day.
    """
    key = ", ".join((*CLIENT, "reason_unknown", "remote_host"))
    rows = scope.query(
        f"SELECT {key}, count(*) AS connections, min(opened_at) AS first_seen, max(last_request_at) AS last_seen "
        f"FROM {{connections}} AS c WHERE role = 'client' GROUP BY {key}"
    ).dicts()
    return {who: _client(client_rows) for who, client_rows in grouped(rows, _WHO).items()}


def _client(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    hosts = {row["remote_host"] or UNKNOWN for row in rows}
    return {
        "software": sorted({software(row["client_software_name"], row["client_software_version"]) for row in rows}),
        "reasons": sorted({row["reason_unknown"] for row in rows} - {None}),
        "connections": sum(row["connections"] for row in rows),
        "hosts": len(hosts),
        "host": min(hosts),
        "first_seen": min(row["first_seen"] for row in rows),
        "last_seen": max(row["last_seen"] for row in rows),
    }


def _breaking(scope: Scope, target: str) -> ByKey:
    own = ", ".join(CLIENT)
    uses = (
        f"SELECT {own}, api_key, api_name, api_version, count(*) AS connections, "
        "count(DISTINCT remote_host) AS hosts, min(remote_host) AS host, min(first_at) AS first_seen, "
        "max(last_at) AS last_seen FROM {api_usage} AS t WHERE role = 'client' "
        f"GROUP BY {own}, api_key, api_name, api_version"
    )
    refused = f"i.refused_by['{release(target).name}']"
    rows = scope.query(
        f"SELECT u.*, {refused} AS reason FROM ({uses}) AS u JOIN {{upgrade_impact}} AS i ON {same('u', 'i', (*CLIENT, 'api_key', 'api_version'))} "
        f"WHERE {refused} IS NOT NULL ORDER BY u.connections DESC, u.client_software_name"
    ).dicts()
    uses_by_key: ByKey = {}
    for row in rows:  # rows are ordered by connections: the client's most frequent software stands for all
        row["software"] = software(row["client_software_name"], row["client_software_version"])
        uses_by_key.setdefault(tuple(row[name] for name in (*_WHO, "api_name", "api_version")), row)
    return uses_by_key


def _refused(scope: Scope) -> ByKey:
    key = (*_WHO, "api_name", "api_version", "host")
    rows = scope.tables.query(
        "WITH refused AS (SELECT cluster, client.principal AS principal, client.client_id AS client_id, is_client_known AS is_known, "
        f"api_name, api_version, remote_host AS host, logged_at FROM {{refusals}} AS r WHERE rule IN {NO_VERSION}) "
        f"SELECT {', '.join(key)}, is_known, count(*) AS requests, min(logged_at) AS first_seen, max(logged_at) AS last_seen "
        f"FROM refused WHERE {scope.filters.where('logged_at', 'logged_at')} GROUP BY {', '.join(key)}, is_known",
        scope.filters.parameters,
    ).dicts()
    return {tuple(row[name] for name in (*key, "is_known")): row for row in rows}


def _violations(scope: Scope) -> ByKey:
    names = ("severity", "blames", "rule", *_WHO, "group_id")
    rows = scope.query(
        f"SELECT {', '.join(names)}, count(*) AS number, max(last_at) AS last_at, min({SEVERITY_ORDER}) AS severity_rank "
        f"FROM (SELECT t.severity, t.blames, t.rule, t.cluster, t.principal, t.client_id, {GROUP} AS group_id, t.last_at "
        f"FROM {{violations}} AS t) AS v GROUP BY {', '.join(names)}"
    ).dicts()
    return {tuple(row[name] for name in names): row for row in rows}


def _changes(
    before: Scope, after: Scope, target: str | None, compared: set[str], was_covered: bool, is_covered: bool
) -> list[Table]:
    """Return one table for each kind of change from the earlier to the later day.

    Clients that are not seen on the later day are gone only if the logs would have shown them (`is_covered`), and those that
    are not seen on the earlier one are new only if these would have (`was_covered`). Those of other clusters than `compared`
    are neither.
    """
    lacking = "; the logs do not hold all of the {} day"
    not_seen = "Clients that are gone" if is_covered else f"Clients that were not seen{lacking.format('later')}"
    not_seen_before = "New clients" if was_covered else f"Clients that were not seen before{lacking.format('earlier')}"
    clients_before, clients = _clients(before), _clients(after)
    is_compared = was_covered and {who[_WHO.index("cluster")] for who in clients} <= compared
    breaks = "Clients that would newly break" + ("" if is_compared else lacking.format("earlier"))
    changed, unknown = [], []
    for who, later in clients.items():
        if who in clients_before:
            earlier = clients_before[who]["software"]
            both = later | {"before": earlier, "after": later["software"]}
            named = set(later["software"]) - {UNKNOWN}
            if named and named != set(earlier) - {UNKNOWN}:
                changed.append((who, both))
            if UNKNOWN in later["software"] and UNKNOWN not in earlier:
                unknown.append((who, both))
    new, gone = (
        [(who, row) for who, row in rows if who[_WHO.index("cluster")] in compared]
        for rows in (_without(clients, clients_before), _without(clients_before, clients))
    )
    breaking = [] if target is None else _without(_breaking(after, target), _breaking(before, target))
    return [
        _client_table("new", not_seen_before, ("software",), new),
        _client_table("gone", not_seen, ("software",), gone),
        _client_table("changed_software", "Clients with other software", ("before", "after"), changed),
        _client_table("newly_unknown", "Clients with newly unknown software", ("before", "reasons"), unknown),
        _client_table("newly_breaking", breaks, ("software", "api_name", "api_version", "reason"), breaking),
        _newly_refused(_refused(before), _refused(after)),
        _more_violations(_violations(before), _violations(after)),
    ]  # fmt: skip


def _client_table(name: str, title: str, columns: Sequence[str], keyed_rows: KeyedRows) -> Table:
    columns = (*columns, *_COUNTS)
    rows = [(*key[: len(_WHO)], *(row[column] for column in columns)) for key, row in keyed_rows]
    rows.sort(key=lambda row: (-row[-len(_COUNTS)], list(map(str, row))))
    return Table(title, (*_WHO, *columns), rows, name=name)


def _newly_refused(before: ByKey, after: ByKey) -> Table:
    columns = (*_WHO, "api_name", "api_version", "host", "is_known", "requests", "first_seen", "last_seen")
    rows = [tuple(row[name] for name in columns) for _, row in _without(after, before)]
    rows.sort(key=lambda row: (-row[-3], list(map(str, row))))
    title = "Refused requests of which the earlier day has none in any server.log"
    return Table(title, columns, rows, name="newly_refused")


def _more_violations(before: ByKey, after: ByKey) -> Table:
    more = [
        (row["severity_rank"], (*key, earlier, row["number"], row["last_at"]))
        for key, row in after.items()
        if row["number"] > (earlier := before.get(key, {"number": 0})["number"])
    ]
    more.sort(key=lambda item: (item[0], -item[1][-2], list(map(str, item[1]))))
    columns = ("severity", "blames", "rule", *_WHO, "group_id", "before", "after", "last_at")
    title = "More violations, by connections or groups"
    return Table(title, columns, [line for _, line in more], name="more_violations")


def _is_worse(changes: Iterable[Table]) -> bool:
    """Return whether a client newly breaks or violates a rule of severity error that may blame it, or a request is newly refused."""
    by_name = {table.name: table for table in changes}
    new = [row for row in by_name["more_violations"].dicts() if not row["before"]]
    errors = any(row["severity"] == "error" and row["blames"] in ("client", "either") for row in new)
    return errors or bool(by_name["newly_breaking"].rows or by_name["newly_refused"].rows)


def _without(rows: ByKey, others: ByKey) -> KeyedRows:
    return [(key, row) for key, row in rows.items() if key not in others]
