"""Rows of `connections` and `api_usage` for tests of what upgrades mean: who used which version, and what limited it."""

from typing import Any

from tests.frames import at

PRODUCE, FETCH, JOIN, HEARTBEAT = (0, "PRODUCE"), (1, "FETCH"), (11, "JOIN_GROUP"), (68, "CONSUMER_GROUP_HEARTBEAT")


def connection(name: str, outcome: str = "negotiated", **given: Any) -> dict[str, Any]:
    """A client's connection; `name` is its connection id and its client id."""
    return {
        "cluster": "c", "broker": "b", "connection_id": name, "opened_at": at(0), "opened_seq": 0, "role": "client",
        "remote_host": "10.0.0.9", "principal": "User:alice", "client_id": name, "client_software_name": "unknown",
        "client_software_version": "unknown", "api_versions_outcome": outcome,
    } | given  # fmt: skip


def usage(api: tuple[int, str], version: int, advertised_max: int | None = None, **given: Any) -> dict[str, Any]:
    """Ten requests of one version."""
    return {
        "opened_at": at(0), "opened_seq": 0, "api_key": api[0], "api_name": api[1], "api_version": version,
        "requests": 10, "errors": 0, "first_at": at(1), "last_at": at(2), "info_only": False,
        "advertised_max": advertised_max,
    } | given  # fmt: skip
