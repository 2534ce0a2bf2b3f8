"""A small warehouse in which clients wrote what a page must not take for anything but text, and its report."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from kafka_clientinfo import cli
from kafka_clientinfo.connections.violations import WHO
from tests.commands.conftest import ask  # noqa: F401
from tests.frames import START
from tests.report.pages import TARGET, data_of
from tests.report.tables_on_disk import write_warehouse

HOSTILE = (
    "<script>document.title='owned'</script>",
    "</script><script>document.title='owned'</script>",
    '"><img src="https://nowhere.invalid/x" onerror="document.title=1">',
    "<!-- ", "]]>", "&lt;b&gt;", "\u202egnp.exe\u2066", "A" * 32_768, "nul\x00nul", "line\u2028\u2029\r\nbreak",
    "javascript:alert(1)", "{{7*7}}${7*7}", "'; DROP TABLE connections; --", "=cmd|' /C calc'!A0", "\ud7ff\U0010ffff", "",
)  # fmt: skip
"""Client ids."""
_KEY = ("cluster", "broker", "connection_id", "opened_at", "opened_seq")
_CLIENT = ("cluster", "principal", "client_id", "client_software_name", "client_software_version")


def at(minutes: float) -> datetime:
    return START + timedelta(minutes=minutes)


def connection(number: int, client_id: str | None, cluster: str = "orders") -> dict[str, Any]:
    """One of a client's, a minute long; every third client is unknown."""
    is_unknown = number % 3 == 0
    return {
        "cluster": cluster, "broker": f"broker-{number % 2}", "connection_id": f"10.0.0.1:9092-10.0.0.{number}:50000-0-{number}",
        "opened_at": at(number), "opened_seq": 0, "last_request_at": at(number + 1), "requests": number + 1, "start": "observed",
        "role": "client", "remote_host": f"10.0.0.{number}", "listener": "PLAINTEXT", "security_protocol": "PLAINTEXT",
        "principal": client_id if number % 2 else None, "client_id": client_id,
        "api_versions_outcome": "not_sent" if is_unknown else "negotiated", "client_id_redundant_bytes": 10 * number,
        "instance_id_bytes": 16 * number, "client_software_name": "unknown" if is_unknown else (client_id or "kgo")[:200],
        "client_software_version": "unknown" if is_unknown else "1.0", "reason_unknown": "not_sent" if is_unknown else None,
        "invalid_software_texts": [client_id] if is_unknown and client_id else [],
    }  # fmt: skip


def tables() -> dict[str, list[dict[str, Any]]]:
    """Each hostile client once, and plain ones on two clusters; every second one breaks, every fifth one misbehaves."""
    ids = [*HOSTILE, *(f"app-{n}" for n in range(40))]
    connections = [connection(n, name) for n, name in enumerate(ids)]
    connections += [connection(100 + n, f"pay-{n}", "payments") for n in range(5)]
    connections.append(connection(200, "broker-1", "orders") | {"role": "broker"})
    clients = [row for row in connections if row["role"] == "client"]
    found: dict[str, list[dict[str, Any]]] = {"connections": connections, "client_inventory": [], "upgrade_impact": []}
    found |= {"violations": [], "client_instances": []}
    key = {name: clients[0][name] for name in _KEY}
    usage = {
        "api_key": 1, "api_name": "FETCH", "api_version": 3, "first_at": START, "last_at": at(60), "info_only": False,
    }  # fmt: skip
    found |= {"api_usage": [key | usage, key | usage | {"cluster": "payments"}]}
    for n, row in enumerate(clients):
        who = {name: row[name] for name in _CLIENT}
        seen = {"first_seen": row["opened_at"], "last_seen": row["last_request_at"]}
        api = {"api_key": 1, "api_name": "FETCH"}
        apis = [api | {"min_version": 3, "max_version": 3, "requests": row["requests"]}]
        found["client_inventory"].append(who | seen | {
            "hosts": [row["remote_host"]], "brokers": [row["broker"]], "listeners": ["PLAINTEXT"], "groups": [row["client_id"]],
            "connections": 1, "requests": row["requests"], "host_count": 1, "security_protocols": ["PLAINTEXT"], "apis": apis,
        })  # fmt: skip
        verdicts = {
            "refused_by": {TARGET: "below_range"} if n % 2 else {}, "undecided_by": {} if n % 4 else {TARGET: "needs_kraft"},
            "deprecated_by": {},
        }  # fmt: skip
        use = api | {"api_version": 3, "requests": row["requests"], "hosts": 1, "host_list": [row["remote_host"]]}
        found["upgrade_impact"].append(who | seen | use | verdicts)
        if n % 5 == 0:
            example = {"logged_at": row["opened_at"], "correlation_id": 7, "grep": f"^{n}"}
            found["violations"].append({name: row[name] for name in (*_KEY, *WHO)} | {
                "rule": "client_id_changed", "severity": "warning", "blames": "either", "kip": "KIP-1313", "occurrences": 2,
                "first_at": row["opened_at"], "last_at": row["opened_at"], "example": example,
                "message": f"client id '{row['client_id']}'; asked",
            })  # fmt: skip
        if n % 7 == 0:
            found["client_instances"].append(seen | {
                "cluster": row["cluster"], "instance_id": f"id{n}", "id_kinds": ["header"], "client_ids": [row["client_id"]],
                "two_hosts_at_once": False, "connections": 1,
            })  # fmt: skip
    ledger = [{"file_id": name, "cluster": name, "broker": "b", "path": "p"} for name in ("orders", "payments")]
    return found | {"ingested_files": ledger}


@pytest.fixture(scope="session")
def hostile_warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_warehouse(tmp_path_factory.mktemp("hostile") / "w", tables())


@pytest.fixture(scope="session")
def hostile_page(hostile_warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("page") / "report.html"
    arguments = ["report", "--warehouse", str(hostile_warehouse), "--output", str(output), "--target", TARGET]
    assert cli.main(arguments) == 0
    return output


@pytest.fixture(scope="session")
def page(hostile_page: Path) -> str:
    return hostile_page.read_text("utf-8")


@pytest.fixture(scope="session")
def data(page: str) -> dict[str, Any]:
    return data_of(page)
