"""The page's tables, one function each; the seven questions of schemas/views are answered by their queries, cut to a number."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..console import safe
from ..impact import Impact
from ..rules import SEVERITY_ORDER, rules
from ..tables.broker_releases import REASONS, WORST_FIRST
from ..tables.client_libraries import advice_of
from ..tables.spec import CLIENT, software
from ..tables.views import views
from .clients import VERDICTS, client_id
from .scope import Scope
from .table import LIMIT, TEXT, Column, Table, cell, read

_OF_RULE = 25
"""Violations of one rule that are shown at most."""
_OF_WORD = 100
"""Rows of one outcome or reason that are shown at most."""
_NOT_BREAKING = 200
"""Clients that are shown of a verdict at most, but for those who would break."""
OUTCOMES: Mapping[str, str] = {
    "negotiated": "The broker accepted the first ApiVersions request.",
    "fell_back": "The broker refused the version, and accepted a lower one that the client sent next.",
    "rejected_unsupported_version": "The broker refused the version, and the client sent no other.",
    "rejected_invalid_request": "The broker refused software name or version as invalid.",
    "negotiated_after_invalid_request": "Refused as invalid first, then accepted.",
    "rejected_other": "Refused with another error.",
    "not_sent": "The connection's start is in the log, and it holds no ApiVersions.",
    "not_observed": "The start is not in the log: SASL hides it, or the connection is older than the log.",
}
"""Every outcome of ApiVersions, in words."""
UNKNOWN: Mapping[str, str] = {
    "not_sent": "No ApiVersions was sent: the client does not say its name.",
    "not_observed": "The start of the connection is not in the log.",
    "version_without_name": "ApiVersions before v3 carries no name.",
    "version_rejected": "The broker refused the version of ApiVersions that carries the name.",
    "invalid_name": "The broker refused the name as invalid.",
    "invalid_request": "The broker refused the request as invalid.",
    "reset_by_older_version": "A later ApiVersions before v3 took the name back.",
    "not_logged": "The broker's release does not log names (before 2.5).",
}
"""Why a software name is unknown, in words."""


def who_breaks(
    verdict: Impact, places: Mapping[tuple[Any, ...], int], owners: Mapping[tuple[Any, ...], Sequence[str]]
) -> Table:
    """Who is not fine at the target: one row per client, with what it uses and why that is refused.

    Args:
        verdict: on the target.
        places: of clients in the inventory, by the columns that name a client.
        owners: of clients, by the same.
    """
    columns = (
        Column("verdict", "Verdict", "badge", filtered=True),
        Column("client_id", "Client id", "client"),
        Column("principal", "Principal"),
        Column("software", "Software"),
        Column("uses", "Requests it makes, and why not", "lines"),
        Column("requests", "Requests", "count"),
        Column("hosts", "Hosts", "texts"),
        Column("last_seen", "Last seen", "time"),
        Column("owners", "Owners", "texts"),
        Column("cluster", "Cluster", filtered=True),
    )
    table = Table("who_breaks", f"Clients that are not fine with Kafka {verdict.target}", columns, of="clients")
    by_client: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for use in verdict.rows:
        by_client.setdefault(tuple(use[name] for name in CLIENT), []).append(use)
    for who, uses in by_client.items():
        cluster, principal, own_id, name, version = who
        worst = min(WORST_FIRST.index(use["verdict"]) for use in uses)
        lines = [f"{use['api_name']} v{use['api_version']}: {_reason(use)}" for use in uses]
        lines += sorted({f"Upgrade to {found}" for use in uses if (found := advice_of(use))})
        hosts = sorted({host for use in uses for host in use["host_list"] or ()})
        seen = max(int(use["last_seen"].timestamp()) * 1_000_000 for use in uses)
        values = (
            VERDICTS[WORST_FIRST[worst]], client_id(own_id), principal, software(name, version),
            lines, sum(use["requests"] for use in uses), hosts, seen, owners.get(who, ()), cluster,
        )  # fmt: skip
        cells = [cell(v, c.kind) for v, c in zip(values, columns, strict=True)]
        table.rows.append([*cells, places.get(who)])
    table.total = sum(number for name, number in verdict.clients.items() if name != "ok")
    breaking = VERDICTS["removed"]
    others = [row for row in table.rows if row[0] != breaking]
    table.rows = [row for row in table.rows if row[0] == breaking][:LIMIT]
    table.choose = {"verdict": breaking} if table.rows else {}
    for word in VERDICTS.values():
        table.rows += [row for row in others if row[0] == word][:_NOT_BREAKING]
    return table


def _reason(use: Mapping[str, Any]) -> str:
    reason = REASONS.get(use["reason"], use["reason"])
    return f"{reason} ({use['refused_from']})" if use["refused_from"] else str(reason)


def releases_table(counts: Mapping[str, Mapping[str, int]]) -> Table:
    """The numbers behind the plot of releases."""
    columns = (Column("release", "Release"), *(Column(v, VERDICTS[v].capitalize(), "count") for v in WORST_FIRST))
    rows = [[name, *(by[verdict] for verdict in WORST_FIRST)] for name, by in counts.items()]
    return Table("releases", "Clients by verdict, for every known release", columns, rows, len(rows), "releases")


def fleet(scope: Scope) -> Table:
    """Software and versions, with who uses them."""
    columns = (
        Column("name", "Software", filtered=True),
        Column("version", "Version"),
        Column("clients", "Clients", "count"),
        Column("connections", "Connections", "count"),
        Column("hosts", "Hosts", "count"),
        Column("principals", "Principals", "count"),
        Column("requests", "Requests", "count"),
        Column("last_seen", "Last seen", "time"),
    )
    by = "client_software_name, client_software_version"
    sql = f"""
        SELECT c.client_software_name AS name, c.client_software_version AS version, w.clients, c.connections, c.hosts,
               c.principals, c.requests, c.last_seen
        FROM (SELECT {by}, count(*) AS connections, count(DISTINCT remote_host) AS hosts,
                     count(DISTINCT principal) AS principals, CAST(sum(requests) AS BIGINT) AS requests,
                     max(last_request_at) AS last_seen FROM {{connections}} WHERE role = 'client' GROUP BY {by}) AS c
        JOIN (SELECT {by}, count(*) AS clients FROM ({views()["who_connects"].sql}) AS a GROUP BY {by}) AS w
        ON c.client_software_name = w.client_software_name AND c.client_software_version = w.client_software_version"""
    table = Table("software", "Client software by name and version", columns, of="versions of software")
    return read(scope, table, sql, "connections DESC, name, version")


def negotiation(scope: Scope) -> Table:
    """How clients negotiate: the view's rows."""
    columns = (
        Column("api_versions_outcome", "Outcome", "word", filtered=True),
        Column("client_software_name", "Software"),
        Column("client_id", "Client id"),
        Column("connections", "Connections", "count"),
        Column("fallback_from", "Refused version", "count"),
        Column("fallback_to", "Accepted version", "count"),
        Column("fallback_kind", "Kind of fallback", "word", filtered=True),
        Column("cluster", "Cluster", filtered=True),
    )
    table = Table(
        "negotiation",
        f"Outcomes of ApiVersions by client, at most {_OF_WORD} rows of each",
        columns,
        of="combinations of client and outcome",
    )
    order = "CASE api_versions_outcome WHEN 'negotiated' THEN 1 ELSE 0 END, connections DESC, client_id, api_versions_outcome"
    return read(scope, table, views()["how_clients_negotiate"].sql, order, ("api_versions_outcome", _OF_WORD))


def outcomes(scope: Scope) -> Table:
    """How often each outcome of ApiVersions occurs."""
    table = _of_words("outcomes", "Connections by outcome of ApiVersions", "Outcome")
    return _worded(scope, table, "how_clients_negotiate", "api_versions_outcome", OUTCOMES)


def reasons_unknown(scope: Scope) -> Table:
    """How often each reason for an unknown software name occurs."""
    table = _of_words("reasons", "Connections of unknown software by reason", "Reason")
    return _worded(scope, table, "why_unknown", "reason_unknown", UNKNOWN)


def _of_words(name: str, caption: str, label: str) -> Table:
    columns = (
        Column("outcome", label, "word"),
        Column("meaning", "What it means", "prose"),
        Column("connections", "Connections", "count"),
        Column("client_ids", "Client ids", "count"),
    )
    return Table(name, caption, columns)


def _worded(scope: Scope, table: Table, view: str, column: str, words: Mapping[str, str]) -> Table:
    found = scope.ask(f"""
        SELECT {column}, CAST(sum(connections) AS BIGINT) AS connections, count(DISTINCT client_id) AS client_ids
        FROM ({views()[view].sql}) AS v GROUP BY {column} ORDER BY connections DESC, {column}""")
    table.rows = [[safe(name, TEXT), words.get(name, ""), connections, ids] for name, connections, ids in found]
    table.total = len(table.rows)
    return table


def unknown(scope: Scope) -> Table:
    """Clients whose software is unknown: the view's rows."""
    columns = (
        Column("reason_unknown", "Reason", "word", filtered=True),
        Column("client_id", "Client id"),
        Column("principal", "Principal"),
        Column("remote_host", "Host"),
        Column("connections", "Connections", "count"),
        Column("invalid_software_texts", "Names and versions that a broker refuses", "texts"),
        Column("cluster", "Cluster", filtered=True),
    )
    table = Table(
        "unknown",
        f"Clients of unknown software, at most {_OF_WORD} rows of each reason",
        columns,
        of="combinations of client, host and reason",
    )
    order = "connections DESC, reason_unknown, client_id, principal, remote_host"
    return read(scope, table, views()["why_unknown"].sql, order, ("reason_unknown", _OF_WORD))


def broken_rules(scope: Scope) -> Table:
    """Each broken rule, with what it asks and what to do."""
    columns = (
        Column("severity", "Severity", "badge", filtered=True),
        Column("rule", "Rule", "word"),
        Column("kip", "KIP", "word", filtered=True),
        Column("violations", "Violations", "count"),
        Column("requests", "Requests", "count"),
        Column("rejected", "Rejected", "count"),
        Column("what", "What was found", "prose"),
        Column("advice", "What to do", "prose"),
    )
    found = scope.ask(f"""
        SELECT severity, rule, kip, count(*), CAST(sum(occurrences) AS BIGINT) AS requests, CAST(sum(rejected) AS BIGINT)
        FROM ({views()["who_misbehaves"].sql}) AS v GROUP BY severity, rule, kip ORDER BY {SEVERITY_ORDER}, count(*) DESC, rule""")
    table = Table("rules", "Broken rules", columns, of="rules")
    for severity, rule, kip, violations, requests, rejected in found:
        declared = rules().get(rule)
        words = (declared.what, declared.advice) if declared else ("", "")
        table.rows.append([severity, rule, kip, violations, requests, rejected, *words])
    table.total = len(table.rows)
    return table


def violations(scope: Scope) -> Table:
    """The most frequent violations of every rule: the view's rows."""
    columns = (
        Column("severity", "Severity", "badge", filtered=True),
        Column("rule", "Rule", "word", filtered=True),
        Column("message", "What was found; what is asked", "prose"),
        Column("occurrences", "Requests", "count"),
        Column("rejected", "Rejected", "count"),
        Column("last_at", "Last", "moment"),
        Column("grep", "grep -E in the broker's log", "code"),
        Column("broker", "Broker"),
        Column("connection_id", "Connection id", "code"),
        Column("group_id", "Group"),
        Column("cluster", "Cluster", filtered=True),
    )
    order = f"{SEVERITY_ORDER}, occurrences DESC, rule, broker, connection_id, last_at"
    table = Table("violations", f"Violations, at most {_OF_RULE} of each rule", columns, of="violations")
    return read(scope, table, views()["who_misbehaves"].sql, order, ("rule", _OF_RULE))


def processes(scope: Scope) -> Table:
    """Client instances: the view's rows."""
    columns = (
        Column("instance_id", "Client instance id", "code"),
        Column("id_kinds", "Stands in", "texts"),
        Column("client_ids", "Client ids", "texts"),
        Column("software", "Software", "texts"),
        Column("hosts", "Hosts", "texts"),
        Column("two_hosts_at_once", "Two hosts at once", "flag"),
        Column("brokers", "Brokers", "texts"),
        Column("connections", "Connections", "count"),
        Column("first_seen", "First seen", "time"),
        Column("last_seen", "Last seen", "time"),
        Column("cluster", "Cluster", filtered=True),
    )
    table = Table("processes", "Client processes by client instance id", columns, of="client instances")
    order = "CASE WHEN two_hosts_at_once THEN 0 ELSE 1 END, connections DESC, instance_id"
    return read(scope, table, views()["client_processes"].sql, order)


def savings(scope: Scope) -> Table:
    """What caching client ids would save: the view's rows, and the difference."""
    columns = (
        Column("client_id", "Client id"),
        Column("bytes_sent_again", "Client ids sent again", "bytes"),
        Column("bytes_of_instance_ids", "Instance ids, 16 bytes a request", "bytes"),
        Column("difference", "Difference", "bytes"),
        Column("cluster", "Cluster", filtered=True),
    )
    sql = f"SELECT *, bytes_sent_again - bytes_of_instance_ids AS difference FROM ({views()['client_id_caching'].sql}) AS s"
    table = Table("savings", "Bytes by client id", columns, of="client ids")
    return read(scope, table, sql, "bytes_sent_again DESC, client_id, cluster")
