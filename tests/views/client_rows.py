"""Rows of connections and of client_instances that tests of client instance ids are made of."""

import base64
from collections.abc import Sequence
from typing import Any

from kafka_clientinfo.config.settings import Settings
from tests.asking import asked
from tests.engines import collected
from tests.frames import at, frame


def kafka_id(number: int) -> str:
    return base64.urlsafe_b64encode(number.to_bytes(16, "big")).rstrip(b"=").decode()


def carries(connection_id: str, opened: float = 0, last: float = 10, **given: Any) -> dict[str, Any]:
    """A client's connection with ids."""
    return {
        "cluster": "c", "broker": "b", "connection_id": connection_id, "opened_at": at(opened), "opened_seq": 0,
        "last_request_at": at(last), "requests": 1, "start": "observed", "role": "client", "remote_host": "h1",
        "principal": "User:alice", "client_id": "a", "client_software_name": "kgo", "client_software_version": "1",
        "instance_id_different": 0, "other_instance_ids": [], "member_ids": [], "member_id_alignment": "none",
        "header_v3_requests": 1 if "client_instance_id" in given else 0,
        "api_versions_attempts": [] if "client_instance_id" in given else [(3, 0, None, None)],
        "lowest_correlation_id": 0, "highest_correlation_id": 2,
    } | given  # fmt: skip


def scenario(name: str, client: str, broker: str, certain: bool = True) -> dict[str, Any]:
    return {"telemetry_scenario": name, "scenario_certain": certain, "client_by_kip": client, "broker_by_kip": broker}


def findings(session: Any, instances: Any, connections: Sequence[dict[str, Any]], settings: Settings) -> list[Any]:
    """The findings of the lists in client_instances; `connections` are the rows that it was made of."""
    given = {"client_instances": instances, "connections": frame(session, "connections", list(connections))}
    return collected(asked(session, "findings_client_instances", settings, **given))


UNCERTAIN = scenario("UUID-R", "either", "either", certain=False)
