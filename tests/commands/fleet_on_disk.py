"""A small warehouse without Spark: clients that share what they are called, on hosts of several owners, on two days."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from kafka_clientinfo.config.rules import rules
from kafka_clientinfo.connections.table import OF_CONNECTION
from kafka_clientinfo.connections.violations import WHO
from kafka_clientinfo.tables.spec import CONNECTION_KEY, table_spec
from tests.frames import at
from tests.questions.activity_on_disk import WHO as WHO_ACTS
from tests.questions.activity_on_disk import opened as opened_connections
from tests.questions.activity_on_disk import sent
from tests.report.tables_on_disk import write_warehouse

DAY = datetime(2026, 11, 21, tzinfo=UTC)
HOSTILE = "'; DROP|`<script>\u202e\n\"*_[x](y)"
TARGET = "4.0.1"
APIS = {"PRODUCE": 0, "FETCH": 1, "METADATA": 3}


def use(
    client_id: str | None, host: str | None, api: str = "METADATA", version: int = 12, **given: Any
) -> dict[str, Any]:
    """One connection that uses one version of one API, an hour after the day's start, for a minute.

    `given` has day (of its start; 0), hours (that it lasts), requests, refused (the reason), undecided, groups, violations (rule
    and severity), info_only, advice (more columns of `upgrade_impact`), and columns of `connections`.
    """
    return {"client_id": client_id, "remote_host": host, "api": api, "version": version} | given


def failure(connection_id: str, host: str, at: datetime, **given: Any) -> dict[str, Any]:
    """A request of Produce v2 that a broker refused, as its server.log has it."""
    return {
        "cluster": "c", "broker": "b", "file_id": "s", "byte_offset": int(at.timestamp()), "ingested_at": at, "detail": "d",
        "api_key": 0, "api_name": "PRODUCE", "api_version": 2, "reason": "unsupported_version",
        "connection_id": connection_id, "remote_host": host, "logged_at": at,
    } | given  # fmt: skip


def fleet(
    root: Path,
    uses: Iterable[Mapping[str, Any]],
    offers: Mapping[str, int] | None = None,
    failures: Iterable[Mapping[str, Any]] = (),
) -> Path:
    """Write a warehouse of such connections; figures of clients are what the pipeline would derive of them.

    `offers` are the highest versions that the broker offers, by API; without them, no range is logged.
    """
    tables: dict[str, list[dict[str, Any]]] = {name: [] for name in ("connections", "api_usage", "violations")}
    tables |= {"connection_groups": [], "client_activity": []}
    if failed := list(map(dict, failures)):
        tables["failed_requests"] = failed
    inventory: dict[tuple[Any, ...], dict[str, Any]] = {}
    impact: dict[tuple[Any, ...], dict[str, Any]] = {}
    for number, given in enumerate(uses):
        opened = DAY + timedelta(days=given.get("day", 0), hours=1, seconds=number)
        closed = opened + timedelta(hours=given.get("hours", 0), minutes=1)
        where = {"cluster": given.get("cluster", "c"), "broker": given.get("broker", "b")}
        key = where | {"connection_id": f"{number}", "opened_at": opened, "opened_seq": 0}
        requests = given.get("requests", 10)
        connection = key | {
            "last_request_at": closed, "requests": requests, "role": "client", "remote_host": given["remote_host"],
            "principal": "User:ANONYMOUS", "client_id": given["client_id"], "client_software_name": "kgo",
            "client_software_version": "v1.0", "start": "observed", "api_versions_attempts": [],
        }  # fmt: skip
        connection |= {name: given[name] for name in table_spec("connections").column_names if name in given}
        tables["connections"].append(connection)
        names = ("cluster", "principal", "client_id", "client_software_name", "client_software_version")
        who = {name: connection[name] for name in names}
        api = {"api_key": APIS[given["api"]], "api_name": given["api"], "api_version": given["version"]}
        of_connection = {name: connection[name] for name in OF_CONNECTION if name in connection}
        counted = {"requests": requests, "first_at": opened, "last_at": closed}
        counted["info_only"] = given.get("info_only", False)
        tables["api_usage"].append(key | of_connection | api | counted)
        tables["connection_groups"] += [
            key | of_connection | {"group_id": group, "takes_part": True} for group in given.get("groups", ())
        ]
        tables["violations"] += [_violation(connection, *broken) for broken in given.get("violations", ())]
        tables["client_activity"] += _activity(connection, api["api_name"], number)
        if connection["role"] != "client":
            continue
        verdicts = {f"{name}_by": {TARGET: given[name]} if name in given else {} for name in ("refused", "undecided")}
        at_target = verdicts | {"deprecated_by": {}} | given.get("advice", {})
        _add(inventory, who, {}, connection)
        _add(impact, who | api, at_target, connection)
    tables |= {"client_inventory": list(inventory.values()), "upgrade_impact": list(impact.values())}
    tables["broker_api_versions"] = _offered(offers)
    clusters = sorted({"c", *(row["cluster"] for row in tables["connections"])})
    whole = [{"began_at": at(-86_400), "ended_at": at(9 * 86_400)}]
    tables["ingested_files"] = [
        {"file_id": name, "cluster": name, "broker": "b", "path": "p", "debug_runs": whole} for name in clusters
    ]
    return write_warehouse(root, tables)


def _violation(connection: Mapping[str, Any], rule: str, severity: str) -> dict[str, Any]:
    return {name: connection[name] for name in (*CONNECTION_KEY, *WHO)} | {
        "rule": rule, "severity": severity, "blames": rules()[rule].blames, "occurrences": 2, "rejected": None,
        "first_at": connection["opened_at"], "last_at": connection["last_request_at"], "message": "found; asked",
    }  # fmt: skip


def _offered(offers: Mapping[str, int] | None) -> list[dict[str, Any]]:
    """What `broker_api_versions` has of the one broker."""
    broker = {"cluster": "c", "broker": "b"}
    if offers is None:
        return [broker | {"api_key": 1}]
    answer = broker | {"listener": "L", "last_seen": DAY, "min_version": 0}
    return [answer | {"api_key": APIS[api], "max_version": highest} for api, highest in offers.items()]


def _activity(connection: Mapping[str, Any], api: str, number: int) -> list[dict[str, Any]]:
    """What `client_activity` has of a connection: requests in its first minute, a tenth of them slow, and its opening."""
    begin = connection["opened_at"].replace(minute=0, second=0)
    who = {name: connection[name] for name in WHO_ACTS} | {"bucket": begin}
    times = [1.0 + number % 5, *([40.0 * (1 + number % 3)] * (connection["requests"] // 10))]
    times += [0.5] * (connection["requests"] - len(times))
    throttle, errors = 2.5 * (number % 4 == 0), {3: number} if number % 6 == 5 else {}
    return [sent(*times, api=api, throttle=throttle, errors=errors, **who), opened_connections(1, **who)]


def _add(rows: dict[Any, dict[str, Any]], key: Mapping[str, Any], more: Any, connection: Mapping[str, Any]) -> None:
    """Count a connection into the row of its key."""
    opened, closed = connection["opened_at"], connection["last_request_at"]
    none = {"connections": 0, "requests": 0, "host_list": [], "first_seen": opened, "last_seen": closed}
    row = rows.setdefault(tuple(key.values()), dict(key) | none | dict(more))
    row["connections"] += 1
    row["requests"] += connection["requests"]
    row["host_list"] = sorted({*row["host_list"], connection["remote_host"]} - {None})
    row["hosts"] = row["host_list"] if "api_key" not in key else len(row["host_list"])
    row["host_count"] = len(row["host_list"])
    row["first_seen"], row["last_seen"] = min(row["first_seen"], opened), max(row["last_seen"], closed)
